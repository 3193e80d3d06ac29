"""Rows -> features: what is written to TFRecords, by the task's kind. Names and values are google-research/bert's."""

from collections.abc import Iterator, Sequence

from bert_tf.tasks.answers import Feature
from bert_tf.tasks.logits import Logits
from bert_tf.tasks.spec import Row, TaskSpec
from bert_tf.text.pack import fits, pack
from bert_tf.text.wordpiece import WordPieceTokenizer

Features = dict[str, Feature]


class Featurizer:
    """Makes the features of a task's rows, a record each, and counts the rows whose texts it had to cut.

    Attributes:
      num_cut: Number of rows so far that did not fit.
      axes: The length of each axis of the records, by name.
    """

    def __init__(self, spec: TaskSpec, tokenizer: WordPieceTokenizer, max_seq_length: int):
        self.num_cut = 0
        self.axes = {"seq": max_seq_length, "labels": spec.answer.num_outputs}
        self._spec = spec
        self._tokenizer = tokenizer
        self._max_seq_length = max_seq_length

    def __call__(self, row: Row) -> Features:
        """Returns input_ids, input_mask and segment_ids, int[seq] each, and label_ids, as the task's kind has it, and is_real_example.

        A second text without any piece is left out with its [SEP], as the original does. A row of a test split has no label; its
        label_ids is 0.
        """
        ids_a = self._tokenizer.encode(row.texts[0])
        ids_b = (self._tokenizer.encode(row.texts[1]) if len(row.texts) > 1 else None) or None
        self.num_cut += not fits(ids_a, ids_b, self._max_seq_length)
        return {
            **pack(ids_a, ids_b, self._max_seq_length, self._tokenizer.vocab),
            "label_ids": self._spec.label_feature(row.label),
            "is_real_example": 1,
        }

    def records(self, rows: Sequence[Row]) -> Iterator[Features]:
        """Yields the features of all records of the rows, in their order."""
        return map(self, rows)

    def length(self, features: Features) -> int:
        """Returns how many pieces a record is long, without padding."""
        mask = features["input_mask"]
        assert isinstance(mask, list)
        return sum(mask)

    def num_records(self, rows: Sequence[Row]) -> int:
        """Returns how many records the rows make."""
        return len(rows)

    def collect(self, rows: Sequence[Row], logits: Logits) -> Logits:
        """Returns what the model says of the rows, as the task's answer takes it, from what it says of their records."""
        del rows
        return logits
