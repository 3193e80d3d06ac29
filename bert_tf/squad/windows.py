"""Questions -> windows -> features. Windows, features and their order are google-research/bert's (run_squad.py)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError
from bert_tf.squad.contexts import Context
from bert_tf.squad.questions import GivenAnswer, Question
from bert_tf.text.wordpiece import WordPieceTokenizer

# The original's first unique_ids.
FIRST_UNIQUE_ID = 1000000000

# Pieces of contexts that are kept for the next question on them, 16 bytes each.
_KEPT_PIECES = 5_000_000


class Spans:
    """The stretches of one context that the windows of one question hold: [first, first + count) in pieces, overlapping."""

    def __init__(self, num_pieces: int, room: int, doc_stride: int):
        """Cuts `num_pieces` into stretches of `room`, each `doc_stride` after the last; none where there are no pieces."""
        step = min(room, doc_stride)
        firsts = range(0, max(num_pieces - room, 0) + step, step) if num_pieces else ()
        self.bounds = [(first, min(room, num_pieces - first)) for first in firsts]

    def __len__(self) -> int:
        return len(self.bounds)

    @cached_property
    def best(self) -> npt.NDArray[np.int64]:
        """int64[pieces]: the stretch in which each piece has most context.

        That is the shorter of what it has on its left and on its right, and a hundredth of the stretch's length; the earlier of equals.
        """
        num_pieces = sum(self.bounds[-1]) if self.bounds else 0
        best, scores = np.zeros(num_pieces, np.int64), np.full(num_pieces, -1.0)
        for number, (first, count) in enumerate(self.bounds):
            within, here = np.arange(count), slice(first, first + count)
            score = np.minimum(within, count - 1 - within) + 0.01 * count
            better = score > scores[here]
            best[here][better], scores[here][better] = number, score[better]
        return best


@dataclass(frozen=True, slots=True)
class Window:
    """One input of the model: [CLS] question [SEP] a stretch of the context [SEP].

    Attributes:
      unique_id: Its number in the record file, as the original counts.
      number: Its place among the question's windows.
      query_ids: The question's ids, cut to max_query_length.
      context: The whole context.
      spans: The stretches of all windows of the question.
    """

    unique_id: int
    number: int
    query_ids: list[int]
    context: Context
    spans: Spans

    @property
    def first(self) -> int:
        """The first piece of the context that it holds."""
        return self.spans.bounds[self.number][0]

    @property
    def count(self) -> int:
        """How many pieces of the context it holds."""
        return self.spans.bounds[self.number][1]

    @property
    def offset(self) -> int:
        """Where the context begins in the input, behind [CLS] question [SEP]."""
        return len(self.query_ids) + 2

    def __len__(self) -> int:
        """Returns the number of positions without padding."""
        return self.offset + self.count + 1

    def piece_at(self, position: int) -> int | None:
        """Returns the context's piece at a position of the input, or None where another stands there."""
        within = position - self.offset
        return self.first + within if 0 <= within < self.count else None

    def has_most_context(self, piece: int) -> bool:
        """Returns whether no other window of the question shows the piece with more around it."""
        return bool(self.spans.best[piece] == self.number)


@dataclass
class AnswerCounts:
    """How the answers given for training fared.

    Attributes:
      displaced: Answers that stand not where answer_start says, but within the words there: found, as the original finds them.
      unfindable: Answers that do not: their questions are left out, as the original leaves them out.
      in_no_window: Answers that no window holds whole: every window of theirs is taught that it has no answer.
      several: Questions with more than one answer, of which the first is taken.
      empty: Questions on a context without any piece, which make no window.
      examples: By kind, the places of all of them.
    """

    displaced: int = 0
    unfindable: int = 0
    in_no_window: int = 0
    several: int = 0
    empty: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, question: Question) -> None:
        """Counts one more."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.examples.setdefault(kind, []).append(question.where)


class Windower:
    """Makes the windows of questions, and their features."""

    def __init__(self, tokenizer: WordPieceTokenizer, max_seq_length: int, doc_stride: int, max_query_length: int):
        """Takes the tokenizer, the length of an input, the pieces between the starts of windows, and the most pieces of a question."""
        self._tokenizer, self._max_seq_length, self._doc_stride = tokenizer, max_seq_length, doc_stride
        self._max_query_length = max_query_length
        self._contexts: dict[str, Context] = {}
        self._num_kept = 0

    @property
    def lower_cases(self) -> bool:
        """Whether the tokenizer lower-cases."""
        return self._tokenizer.do_lower_case

    @property
    def made_of(self) -> dict[str, str | int | bool]:
        """What decides, beside the questions, which windows there are and what is in them."""
        return {
            "vocabulary": self._tokenizer.vocab.sha256,
            "do_lower_case": self._tokenizer.do_lower_case,
            "max_seq_length": self._max_seq_length,
            "doc_stride": self._doc_stride,
            "max_query_length": self._max_query_length,
        }

    def context(self, text: str) -> Context:
        """Returns the context that a text is; made once where questions on it come near to each other."""
        context = self._contexts.get(text)
        if context is None:
            context = Context.of(text, self._tokenizer)
            if self._num_kept + len(context) > _KEPT_PIECES:
                self._contexts.clear()
                self._num_kept = 0
            self._contexts[text] = context
            self._num_kept += len(context)
        return context

    def windows(self, question: Question, next_id: int = FIRST_UNIQUE_ID) -> list[Window]:
        """Returns the question's windows, numbered from `next_id` on; none where the context has no pieces."""
        query_ids = self._tokenizer.encode(question.text)[: self._max_query_length]
        context = self.context(question.context)
        spans = Spans(len(context), self._max_seq_length - len(query_ids) - 3, self._doc_stride)
        return [Window(next_id + number, number, query_ids, context, spans) for number in range(len(spans))]

    def num_cut(self, questions: Iterable[Question]) -> int:
        """Returns how many questions are longer than max_query_length."""
        return sum(len(self._tokenizer.encode(question.text)) > self._max_query_length for question in questions)

    def features(self, window: Window) -> dict[str, int | list[int]]:
        """Returns unique_ids, and input_ids, input_mask and segment_ids, int[seq] each."""
        vocab, padding = self._tokenizer.vocab, self._max_seq_length - len(window)
        held = window.context.ids[window.first : window.first + window.count].tolist()
        ids = [vocab.cls_id, *window.query_ids, vocab.sep_id, *held, vocab.sep_id]
        return {
            "unique_ids": window.unique_id,
            "input_ids": ids + [vocab.pad_id] * padding,
            "input_mask": [1] * len(window) + [0] * padding,
            "segment_ids": [0] * window.offset + [1] * (window.count + 1) + [0] * padding,
        }

    def training_windows(self, questions: Iterable[Question], counts: AnswerCounts) -> Iterator[tuple[Window, dict[str, int]]]:
        """Yields the windows of all questions to train on, each with its start_positions, end_positions and is_impossible.

        Both positions are 0, that of [CLS], in a window that does not hold the answer whole.
        """
        next_id = FIRST_UNIQUE_ID
        for question in questions:
            answer = None
            if not question.is_impossible:
                answer = self._answer_pieces(question, counts)
                if answer is None:
                    continue
            windows = self.windows(question, next_id)
            if not windows:
                counts.add("empty", question)
            next_id += len(windows)
            targets = [_positions(window, answer) for window in windows]
            if answer is not None and windows and not any(end for _, end in targets):
                counts.add("in_no_window", question)
            for window, (start, end) in zip(windows, targets):
                yield window, {"start_positions": start, "end_positions": end, "is_impossible": int(question.is_impossible)}

    def _answer_pieces(self, question: Question, counts: AnswerCounts) -> tuple[int, int] | None:
        """Returns the first and the last piece of the question's answer, or None where the context does not have it there.

        Pieces of the words around it, where they cut the answer out exactly, else of the whole words: 1895 of "(1895-1943)", and
        "Japanese" where the answer is "Japan".

        Raises:
          InputError: The question has no answer.
        """
        if not question.answers:
            raise InputError(
                f"{question.where}: question {question.id} has no answer to train on; give it one, or is_impossible and "
                "--version_2_with_negative"
            )
        if len(question.answers) > 1:
            counts.add("several", question)
        answer, context = question.answers[0], self.context(question.context)
        first, last = (context.word_at(place) for place in (answer.start, answer.start + len(answer.text) - 1))
        words = " ".join(answer.text.split())
        exact = stands_there(question.context, answer)
        among_words = answer.start >= 0 and first >= 0 and words in " ".join(context.words[first : last + 1])
        if not words or not (exact or among_words):
            counts.add("unfindable", question)
            return None
        if not exact:
            counts.add("displaced", question)
        begin, end = context.pieces_of_words(first, last)
        wanted = self._tokenizer.encode(answer.text)
        for place in range(begin, end + 2 - len(wanted)) if wanted else ():
            if context.ids[place : place + len(wanted)].tolist() == wanted:
                return place, place + len(wanted) - 1
        if end < begin:  # of characters that are no pieces
            counts.add("unfindable", question)
            return None
        return begin, end


def stands_there(context: str, answer: GivenAnswer) -> bool:
    """Returns whether the context has the answer's text where the answer says."""
    return answer.start >= 0 and context.startswith(answer.text, answer.start)


def _positions(window: Window, answer: tuple[int, int] | None) -> tuple[int, int]:
    """Returns the answer's first and last position in the window, or zeros where the window does not hold all of it."""
    if answer is None or answer[0] < window.first or answer[1] >= window.first + window.count:
        return 0, 0
    shift = window.offset - window.first
    return answer[0] + shift, answer[1] + shift
