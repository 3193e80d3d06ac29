"""Rows -> features: what is written to TFRecords, by the task's kind. Names and values are google-research/bert's."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from bert_tf.tasks.answers import Feature
from bert_tf.tasks.logits import Logits
from bert_tf.tasks.spec import Row, TaskSpec
from bert_tf.text.pack import fits, pack
from bert_tf.text.wordpiece import IdTokenizer

Features = dict[str, Feature]

# Texts handed to the tokenizer together: enough for the fast one, and few enough to stay in a processor's cache.
_TEXTS_AT_ONCE = 1024


class Featurizer:
    """Makes the features of a task's rows, a record each, and counts the rows whose texts it had to cut.

    Attributes:
      num_cut: Number of rows so far that did not fit.
      axes: The length of each axis of the records, by name.
    """

    def __init__(self, spec: TaskSpec, tokenizer: IdTokenizer, max_seq_length: int):
        self.num_cut = 0
        self.axes = {"seq": max_seq_length, "labels": spec.answer.num_outputs}
        self._spec = spec
        self._tokenizer = tokenizer
        self._max_seq_length = max_seq_length

    def __call__(self, row: Row) -> Features:
        """Returns the features of a row that makes one record."""
        (features,) = self.records([row])
        return features

    def records(self, rows: Sequence[Row]) -> Iterator[Features]:
        """Yields the features of all records of the rows, in their order."""
        encoded = encoded_texts(self._tokenizer, (text for row in rows for text in self._texts(row)))
        for row in rows:
            yield self._features(row, list(islice(encoded, len(self._texts(row)))))

    def _texts(self, row: Row) -> Sequence[str]:
        """Returns the texts of a row that are tokenized each by itself."""
        return row.texts

    def _features(self, row: Row, ids: Sequence[list[int]]) -> Features:
        """Returns input_ids, input_mask and segment_ids, int[seq] each, and label_ids, as the task's kind has it, and is_real_example.

        A second text without any piece is left out with its [SEP], as the original does. A row of a test split has no label; its
        label_ids is 0.

        Args:
          row: The row.
          ids: The ids of each of its texts.
        """
        ids_a, ids_b = ids[0], (ids[1] if len(ids) > 1 else None) or None
        self.num_cut += not fits(ids_a, ids_b, self._max_seq_length)
        return {
            **pack(ids_a, ids_b, self._max_seq_length, self._tokenizer.vocab),
            "label_ids": self._spec.label_feature(row.label),
            "is_real_example": 1,
        }

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


def encoded_texts(tokenizer: IdTokenizer, texts: Iterable[str]) -> Iterator[list[int]]:
    """Yields the ids of each text, many of which are tokenized at a time."""
    texts = iter(texts)
    while batch := list(islice(texts, _TEXTS_AT_ONCE)):
        yield from tokenizer.encode_each(batch)
