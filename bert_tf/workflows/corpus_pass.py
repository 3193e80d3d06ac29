"""Text files, block by block, through all processes: for the workflows that look at words and not at documents."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from bert_tf.data.block_words import BlockWordCounter
from bert_tf.data.progress import Progress
from bert_tf.data.text_blocks import TextBlock
from bert_tf.data.text_files import read_all_blocks, total_bytes
from bert_tf.data.text_form import TextForm
from bert_tf.data.workers import default_num_processes, run_in_order
from bert_tf.text.word_counts import WordTable

# The same for any number of processes: where rare words are forgotten depends on the blocks.
BLOCK_BYTES = 8 << 20
# Text that one process has done before others would have started.
WORTH_PROCESSES_BYTES = 32 << 20
# Words of which counts are kept, some 200 bytes each.
MOST_WORDS = 4_000_000


class BlockResult(Protocol):
    """What comes of a block."""

    @property
    def num_read(self) -> int:
        """Bytes read from disk for the block."""
        ...


Result = TypeVar("Result", bound=BlockResult)


def results_of_blocks(
    make_job: Callable[..., Callable[[TextBlock], Result]],
    arguments: tuple[object, ...],
    inputs: list[str],
    num_processes: int | None,
    label: str,
) -> Iterator[Result]:
    """Yields what a job makes of each block of the files, in their order; shows progress under the label.

    Raises:
      InputError: A file that cannot be read, or is not what it should be.
    """
    num_bytes = total_bytes(inputs)
    processes = (num_processes or default_num_processes()) if num_bytes > WORTH_PROCESSES_BYTES else 1
    with Progress(num_bytes, "B", label) as progress:
        for result in run_in_order(make_job, arguments, read_all_blocks(inputs, BLOCK_BYTES), processes):
            yield result
            progress.advance(result.num_read)


def count_words(inputs: list[str], do_lower_case: bool, form: TextForm, num_processes: int | None = None) -> WordTable:
    """Returns how often each word of the files was seen; words as the basic tokenizer cuts them."""
    table = WordTable(MOST_WORDS)
    for block in results_of_blocks(BlockWordCounter, (do_lower_case, form), inputs, num_processes, "counting words"):
        table.add(block.counts)
    return table
