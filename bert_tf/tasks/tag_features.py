"""Sentences whose tokens are tagged -> features: the pieces of a sentence, and of its document as many more as there is room for.

Every token is tagged in exactly one record, at its first piece, from what stands on both sides of it. A sentence that is longer than a
record is cut into several that overlap.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_tf.tasks.features import Features, Featurizer, encoded_texts
from bert_tf.tasks.logits import Logits
from bert_tf.tasks.spec import Row
from bert_tf.tasks.tags import Tags
from bert_tf.text.pack import num_special, pack


class Window(NamedTuple):
    """What one record shows, and the tokens that are tagged there.

    Attributes:
      ids: The ids of its pieces, without [CLS] and [SEP].
      tokens: The numbers of the tokens that are tagged, counted through all rows.
      places: Where the first piece of each of them stands in the record.
      label_ids: The id of each one's tag; empty where rows have none.
    """

    ids: list[int]
    tokens: list[int]
    places: list[int]
    label_ids: list[int]


class TagFeaturizer(Featurizer):
    """Makes the features of sentences: one record each, or several of a sentence that does not fit into one; nothing is ever cut."""

    def __call__(self, row: Row) -> Features:
        """Raises TypeError: a sentence may make several records, and its neighbours count."""
        raise TypeError("the records of sentences come from records()")

    def records(self, rows: Sequence[Row]) -> Iterator[Features]:
        """Yields input_ids, input_mask, segment_ids, label_ids and label_mask, int[seq] each, and is_real_example.

        label_mask is 1 where a token is tagged, at its first piece, and label_ids is 0 elsewhere, and where there are no tags.
        """
        for window in self._windows(rows):
            label_ids, label_mask = ([0] * self._max_seq_length for _ in range(2))
            for place, label_id in itertools.zip_longest(window.places, window.label_ids, fillvalue=0):
                label_ids[place], label_mask[place] = label_id, 1
            yield {
                **pack(window.ids, None, self._max_seq_length, self._tokenizer.vocab),
                "label_ids": label_ids,
                "label_mask": label_mask,
                "is_real_example": 1,
            }

    def num_records(self, rows: Sequence[Row]) -> int:
        """Returns how many records the rows make."""
        return sum(1 for _ in self._windows(rows))

    def collect(self, rows: Sequence[Row], logits: Logits) -> Logits:
        """Returns float32[tokens, labels], the logits of all tokens, from those of the records, float32[records, seq, labels]."""
        answer = self._spec.answer
        assert isinstance(answer, Tags)
        found = answer.without_pieces(sum(len(row.texts) for row in rows))
        for window, of_record in zip(self._windows(rows), logits, strict=True):
            found[window.tokens] = of_record[window.places]
        return found

    def _windows(self, rows: Sequence[Row]) -> Iterator[Window]:
        """Yields the records of the rows, those of a row together, in the rows' order."""
        first_token = 0
        encoded = encoded_texts(self._tokenizer, (token for row in rows for token in row.texts))
        for document in _documents(rows):
            # of the whole document, token by token: its pieces' ids
            pieces = list(itertools.islice(encoded, sum(len(row.texts) for row in document)))
            starts = [0, *itertools.accumulate(map(len, pieces))]
            ids = list(itertools.chain.from_iterable(pieces))
            first = 0
            for row in document:
                end = first + len(row.texts)
                label_ids = self._spec.label_feature(row.label)
                assert isinstance(label_ids, list)
                asked = [number for number in range(first, end) if pieces[number]]
                for begin, stop, of_window in self._stretches(starts[first], starts[end], len(ids), [starts[n] for n in asked]):
                    tagged = [asked[n] for n in of_window]
                    yield Window(
                        ids[begin:stop],
                        [first_token + number for number in tagged],
                        [1 + starts[number] - begin for number in tagged],  # [CLS] comes first
                        [label_ids[number - first] for number in tagged] if label_ids else [],
                    )
                first = end
            first_token += first

    def _stretches(self, first: int, end: int, total: int, firsts: list[int]) -> Iterator[tuple[int, int, list[int]]]:
        """Yields the stretches of a document's pieces that show a sentence: begin, end, and which of its tokens are tagged there.

        A sentence that fits stands in the middle of the document's pieces around it, or nearer to the document's border. A longer one
        is cut into parts of half a record, each shown with a quarter on both sides.

        Args:
          first: Where the sentence's pieces begin in the document.
          end: Where they end.
          total: Pieces of the document.
          firsts: Where each of its tokens begins.
        """
        room = self._max_seq_length - num_special(is_pair=False)
        size = end - first if end - first <= room else -(-room // 2)
        margin = (room - size) // 2
        owners = [(place - first) // size for place in firsts] if size else []
        for number in range(max(1, -(-(end - first) // max(size, 1)))):
            begin = max(0, min(first + number * size - margin, total - room))
            yield begin, min(begin + room, total), [n for n, owner in enumerate(owners) if owner == number]


def _documents(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yields the rows of each document; a row that is of none is one by itself."""
    for document, together in itertools.groupby(rows, key=lambda row: row.document):
        if document is None:
            yield from ([row] for row in together)
        else:
            yield list(together)
