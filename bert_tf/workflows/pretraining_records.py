"""The second half of create_pretraining_data: a spool of ids -> the output files, by all processes, part by part.

Parts are made in any order and appended in theirs, each example to the next output file in turn. Output files grow in the work folder
and get their names when all are whole.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from absl import logging

from bert_tf.data.files import move_into_place
from bert_tf.data.ledger import Ledger
from bert_tf.data.part_records import Part, PartWriter, examples_of_outputs
from bert_tf.data.progress import Progress
from bert_tf.data.workers import run_in_order
from bert_tf.pretraining.parts import ExampleRules, PartPlan
from bert_tf.pretraining.tally import Tally


class RecordsFolder:
    """The unfinished output files, and how far they are.

    Attributes:
      tally: What the examples so far turned out to be.
      num_parts: Parts that are in.
    """

    def __init__(self, folder: str, identity: Any, outputs: Sequence[str], max_seq_length: int):
        self._ledger = Ledger(folder, identity)
        self._outputs = outputs
        self.tally = Tally(**self._ledger.note["tally"]) if self._ledger.note else Tally(max_seq_length)
        self.num_parts: int = self._ledger.note.get("num_parts", 0)

    @property
    def path(self) -> str:
        """The folder."""
        return self._ledger.folder

    def add(self, part: Part) -> None:
        """Appends a part's records and removes its file."""
        with open(part.path, "rb") as file:
            for output, _, size in part.shares(self.tally.examples):
                self._ledger.append_from(_name(output), file, size)
        self.tally.merge(part.tally)
        self.num_parts += 1
        self._ledger.commit(tally=asdict(self.tally), num_parts=self.num_parts)
        os.remove(part.path)

    def counts(self) -> list[int]:
        """Returns how many examples each output file holds."""
        return examples_of_outputs(self.tally.examples, len(self._outputs))

    def move_out(self) -> None:
        """Gives the output files their names."""
        paths = [self._ledger.release(_name(number)) for number in range(len(self._outputs))]
        self._ledger.commit(**self._ledger.note)
        for path, output in zip(paths, self._outputs):
            if os.path.exists(path):  # else the process before this one came so far
                move_into_place(path, output)


def write_parts(
    records: RecordsFolder,
    spool_folder: str,
    vocab_size: int,
    plan: PartPlan,
    rules: ExampleRules,
    num_outputs: int,
    compress: bool,
    num_processes: int,
) -> None:
    """Makes the parts that are not yet in the folder and appends them to its files."""
    if records.num_parts:
        logging.info("%s: going on after %d of %d parts", records.path, records.num_parts, plan.num_parts)
    arguments = (spool_folder, vocab_size, plan, rules, records.path, num_outputs, compress)
    todo = range(records.num_parts, plan.num_parts)
    total = plan.num_stretches * plan.dupe_factor
    with Progress(total, "documents", "writing") as progress:
        done = 0

        def advance() -> None:
            nonlocal done
            now = records.num_parts * total // plan.num_parts
            progress.note(f"{records.tally.examples:,} examples")
            progress.advance(now - done)
            done = now

        advance()
        progress.start_clock()
        for part in run_in_order(PartWriter.open, arguments, todo, min(num_processes, max(len(todo), 1))):
            records.add(part)
            advance()


def _name(number: int) -> str:
    return f"output-{number}"
