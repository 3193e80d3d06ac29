"""The first half of create_pretraining_data: text files -> a spool of ids, by all processes, each sentence tokenized once."""

import os
from collections.abc import Iterable, Iterator
from itertools import islice

import tensorflow as tf
from absl import logging

from bert_tf.config import CreatePretrainingDataConfig
from bert_tf.data.block_tokenizer import BlockTokenizer
from bert_tf.data.progress import Progress
from bert_tf.data.spool import SpoolWriter
from bert_tf.data.text_blocks import TextBlock
from bert_tf.data.text_files import read_all_blocks, total_bytes
from bert_tf.data.text_form import TextForm
from bert_tf.data.workers import default_num_processes, run_in_order
from bert_tf.text.sentences import sentence_splitter
from bert_tf.text.vocab import Vocabulary

# Text that one process has tokenized before others would have started TensorFlow.
WORTH_PROCESSES_BYTES = 64 << 20

# A block takes up to so many times its size in text, sentences and ids while it is worked on, and waits before and after.
_BLOCK_SHARE = 32


def fill_spool(
    config: CreatePretrainingDataConfig,
    form: TextForm,
    inputs: list[str],
    vocab: Vocabulary,
    do_lower_case: bool,
    folder: str,
    stretch_pieces: int,
) -> SpoolWriter:
    """Tokenizes what is not yet in the folder's spool and returns its writer, which is whole.

    Args:
      config: The run's flags.
      form: What lines are, by these flags.
      inputs: The text files.
      vocab: The vocabulary.
      do_lower_case: Whether text is lower-cased.
      folder: Where the spool is, or comes to be.
      stretch_pieces: Pieces of a stretch of a long document.

    Raises:
      InputError: A file that cannot be read, or is not what the flags say.
    """
    if form.language:
        sentence_splitter(form.language)  # that it is not installed is told here, not by every process
    block_bytes = (config.memory_per_process_mb << 20) // _BLOCK_SHARE
    identity = [[_stamp(path) for path in inputs], vocab.sha256, do_lower_case, vars(form), block_bytes, stretch_pieces]
    writer = SpoolWriter(folder, identity, form.num_ids(len(vocab)))
    if writer.is_whole:
        logging.info("%s: going on with the text that was tokenized before", folder)
        return writer
    if writer.num_blocks:
        logging.info("%s: going on with %d documents that were tokenized before", folder, writer.counts["documents"])
    num_bytes = total_bytes(inputs)
    num_processes = (config.num_processes or default_num_processes()) if num_bytes > WORTH_PROCESSES_BYTES else 1
    with Progress(num_bytes, "B", "tokenizing") as progress:
        blocks = read_all_blocks(inputs, block_bytes)
        for block in islice(blocks, writer.num_blocks):
            progress.advance(block.num_read)
        progress.start_clock()
        told, sent = _noted(blocks)
        for tokenized in run_in_order(BlockTokenizer, (vocab, do_lower_case, form), told, num_processes):
            path, num_read = sent.pop(0)
            writer.add(tokenized, path)
            progress.note(f"{writer.counts['documents']:,} documents")
            progress.advance(num_read)
    writer.finish(stretch_pieces)
    return writer


def text_form(config: CreatePretrainingDataConfig) -> TextForm:
    """Returns what the lines of the text are, by the flags."""
    language = config.language if config.split_sentences else None
    return TextForm(config.input_format, config.text_field, language, config.word_segments)


def _noted(blocks: Iterable[TextBlock]) -> tuple[Iterator[TextBlock], list[tuple[str, int]]]:
    """Returns the same blocks, and a list to which each adds its file and the bytes read for it when it is taken."""
    sent: list[tuple[str, int]] = []

    def taken() -> Iterator[TextBlock]:
        for block in blocks:
            sent.append((block.path, block.num_read))
            yield block

    return taken(), sent


def _stamp(path: str) -> tuple[str, int, int]:
    """Returns by what a file is known to be the same: name, size and time."""
    found = tf.io.gfile.stat(path)
    return (path if "://" in path else os.path.realpath(path)), found.length, found.mtime_nsec
