"""Rows -> features: what is written to TFRecords, by the task's kind. Names and values are google-research/bert's."""

from bert_tf.tasks.answers import Feature
from bert_tf.tasks.spec import Row, TaskSpec
from bert_tf.text.pack import fits, pack
from bert_tf.text.wordpiece import WordPieceTokenizer


class Featurizer:
    """Makes the features of a task's rows, and counts the rows whose texts it had to cut.

    Attributes:
      num_cut: Number of rows so far that did not fit.
      num_outputs: How many labels label_ids are of: what the model gives for a row.
    """

    def __init__(self, spec: TaskSpec, tokenizer: WordPieceTokenizer, max_seq_length: int):
        self.num_cut = 0
        self.num_outputs = spec.answer.num_outputs
        self._spec = spec
        self._tokenizer = tokenizer
        self._max_seq_length = max_seq_length

    def __call__(self, row: Row) -> dict[str, Feature]:
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
