"""Parts of a spooled corpus -> files of records: what the worker processes do that make examples. Needs no TensorFlow."""

import gzip
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bert_tf.data.example_bytes import frame, serialize
from bert_tf.data.schema import pretraining_kind
from bert_tf.data.spool import Spool
from bert_tf.pretraining.documents import Corpus
from bert_tf.pretraining.masking import to_features
from bert_tf.pretraining.parts import ExampleRules, PartPlan, part_examples
from bert_tf.pretraining.tally import Tally


@dataclass(frozen=True)
class Part:
    """A part that was written.

    Attributes:
      path: Its file: the records that go into one output file after the other.
      sizes: Bytes of each such stretch, in turn; example n is in stretch n modulo their number.
      tally: What the examples turned out to be.
    """

    path: str
    sizes: tuple[int, ...]
    tally: Tally

    def shares(self, turn: int) -> Iterator[tuple[int, int, int]]:
        """Yields for each stretch the output file that it goes into, where it begins in the part's file, and its size.

        Args:
          turn: Number of examples in the parts before.
        """
        begin = 0
        for number, size in enumerate(self.sizes):
            yield (turn + number) % len(self.sizes), begin, size
            begin += size


@dataclass(frozen=True)
class PartWriter:
    """Makes the examples of a part and writes them into a file of its own.

    Attributes:
      spool: The corpus.
      plan: How it is cut into parts.
      rules: How examples are made.
      folder: Where the files go.
      num_outputs: Number of output files that the records go round.
      compress: Whether records are packed with gzip.
    """

    spool: Spool
    plan: PartPlan
    rules: ExampleRules
    folder: str
    num_outputs: int
    compress: bool

    @classmethod
    def open(
        cls, spool_folder: str, vocab_size: int, plan: PartPlan, rules: ExampleRules, folder: str, num_outputs: int, compress: bool
    ) -> "PartWriter":
        """Returns the writer of a process, which opens the spool, made for `vocab_size` ids."""
        return cls(Spool(spool_folder, vocab_size), plan, rules, folder, num_outputs, compress)

    def __call__(self, number: int) -> Part:
        """Returns the part of this number, written."""
        stretches = map(self.spool.stretch, self.plan.stretches_of(number))
        contents, tally = part_contents(self.spool, stretches, number, self.rules, self.num_outputs, self.compress)
        path = os.path.join(self.folder, f"part-{number}")
        with open(path, "wb") as file:
            file.writelines(contents)
        return Part(path, tuple(map(len, contents)), tally)


def examples_of_outputs(num_examples: int, num_outputs: int) -> list[int]:
    """Returns how many examples each output file holds when they go round in turn."""
    turns, rest = divmod(num_examples, num_outputs)
    return [turns + (number < rest) for number in range(num_outputs)]


def part_contents(
    corpus: Corpus, stretches: Iterable[range], number: int, rules: ExampleRules, num_outputs: int, compress: bool
) -> tuple[list[bytes | bytearray], Tally]:
    """Returns a part's records, in as many stretches of bytes as there are outputs, and what its examples turned out to be.

    Example n is in stretch n modulo `num_outputs`.
    """
    tally = Tally(rules.max_seq_length)
    kind = pretraining_kind(rules.objective, rules.is_masked, rules.masking.given_words > 0)
    outputs = [bytearray() for _ in range(num_outputs)]
    for segments, example in part_examples(corpus, stretches, number, rules):
        features = to_features(example, segments.is_random_next, rules.max_seq_length, rules.masking.max_predictions)
        outputs[tally.examples % num_outputs] += frame(serialize(features, kind))
        tally.add(example, segments)
    # nothing of the time or the machine in it, so that the same examples are the same bytes; files joined stay gzip files
    return [gzip.compress(content, mtime=0) if compress and content else content for content in outputs], tally
