"""Rows with several choices -> features: a sequence for each choice, which stands as second text beside the row's first."""

from collections.abc import Sequence

from bert_tf.tasks.features import Features, Featurizer
from bert_tf.tasks.spec import Row, TaskSpec
from bert_tf.text.pack import fits, pack
from bert_tf.text.wordpiece import IdTokenizer


class ChoiceFeaturizer(Featurizer):
    """Makes the features of rows with choices, a record each, and counts the rows of which it had to cut a sequence."""

    def __init__(self, spec: TaskSpec, tokenizer: IdTokenizer, max_seq_length: int):
        """Takes the task, the tokenizer, and the length of each sequence."""
        super().__init__(spec, tokenizer, max_seq_length)
        self.axes = {"seq": max_seq_length, "choices": len(spec.labels)}

    def _texts(self, row: Row) -> Sequence[str]:
        """Returns the first text, and for each choice the second text and the choice, as one."""
        num_texts = self._spec.num_texts
        return [row.texts[0], *(" ".join([*row.texts[1:num_texts], choice]) for choice in row.texts[num_texts:])]

    def _features(self, row: Row, ids: Sequence[list[int]]) -> Features:
        """Returns input_ids, input_mask and segment_ids, int[choices x seq] each, choice after choice; label_ids and is_real_example.

        A sequence is [CLS] first text [SEP] second text and choice [SEP]; where there is no second text, the choice alone stands there.

        Args:
          row: The row.
          ids: The ids of what `_texts` returns of it.
        """
        first, seconds = ids[0], [second or None for second in ids[1:]]
        self.num_cut += not all(fits(first, second, self._max_seq_length) for second in seconds)
        packed = [pack(first, second, self._max_seq_length, self._tokenizer.vocab) for second in seconds]
        return {
            **{name: [number for sequence in packed for number in sequence[name]] for name in packed[0]},
            "label_ids": self._spec.label_feature(row.label),
            "is_real_example": 1,
        }

    def length(self, features: Features) -> int:
        """Returns how many pieces the longest sequence of a record is long, without padding."""
        mask, seq = features["input_mask"], self._max_seq_length
        assert isinstance(mask, list)
        return max(sum(mask[first : first + seq]) for first in range(0, len(mask), seq))
