"""Logits -> answers: n-best lists, predictions and null odds, made as google-research/bert makes them (run_squad.py)."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bert_tf.squad.projection import projected_text
from bert_tf.squad.windows import Window

Logits = npt.NDArray[np.floating[Any]]

# The original's answer where a model that must answer has no candidate.
NO_CANDIDATE = "empty"
# The original's score of the null answer before any window was seen: above all that logits add up to.
NO_WINDOW_SCORE = 1000000.0


@dataclass(frozen=True)
class AnswerSettings:
    """How answers are made of logits.

    Attributes:
      n_best_size: Starts and ends looked at in a window, and entries of an n-best list.
      max_answer_length: Most pieces of an answer.
      version_2: Whether a question may have no answer.
    """

    n_best_size: int = 20
    max_answer_length: int = 30
    version_2: bool = False


class Entry(NamedTuple):
    """One entry of an n-best list.

    Attributes:
      text: The context from `start` to `end`; empty for "no answer".
      probability: Its share among the entries.
      start_logit: Of its first piece.
      end_logit: Of its last piece.
      start: Its first character, counted in code points; 0, as `end`, where it is no part of the context.
      end: The place behind its last character.
      projected: The text that the original would write, by which entries are told apart.
    """

    text: str
    probability: float
    start_logit: float
    end_logit: float
    start: int
    end: int
    projected: str

    @property
    def score(self) -> float:
        """The sum of both logits, by which entries are ranked."""
        return self.start_logit + self.end_logit

    def to_json(self) -> dict[str, Any]:
        """Returns what nbest_predictions.json holds of it."""
        return {name: getattr(self, name) for name in ("text", "probability", "start_logit", "end_logit")}


@dataclass(frozen=True)
class Prediction:
    """What a model makes of one question.

    Attributes:
      n_best: At least one entry, the likeliest first.
      null_odds: How far "no answer" scores above the best answer; None where every question has one.
    """

    n_best: tuple[Entry, ...]
    null_odds: float | None

    @property
    def best(self) -> Entry | None:
        """The likeliest entry with text, or None where there is none."""
        return next((entry for entry in self.n_best if entry.text), None)

    def answer(self, threshold: float = 0.0) -> str:
        """Returns the answer's text; empty where the null odds are above the threshold, or where there is none."""
        if self.best is None or (self.null_odds is not None and self.null_odds > threshold):
            return ""
        return self.best.text


class _Candidate(NamedTuple):
    """A span of one window; `window` is None for "no answer"."""

    window: Window | None
    start: int
    end: int
    start_logit: float
    end_logit: float


def predict(
    windows: Sequence[Window], start_logits: Sequence[Logits], end_logits: Sequence[Logits], settings: AnswerSettings
) -> Prediction:
    """Returns what the logits say of one question.

    Args:
      windows: All windows of the question, in their order; perhaps none.
      start_logits: For each, float[positions]: how well an answer begins there; at least one for every position that is no padding.
      end_logits: The same for its end.
      settings: How answers are made.
    """
    candidates: list[_Candidate] = []
    null, null_score = _Candidate(None, 0, 0, 0.0, 0.0), NO_WINDOW_SCORE
    for window, starts, ends in zip(windows, start_logits, end_logits, strict=True):
        if settings.version_2 and float(starts[0]) + float(ends[0]) < null_score:
            null = _Candidate(None, 0, 0, float(starts[0]), float(ends[0]))
            null_score = null.start_logit + null.end_logit
        candidates += _candidates(window, starts, ends, settings)
    if settings.version_2:
        candidates.append(null)
    candidates.sort(key=lambda candidate: candidate.start_logit + candidate.end_logit, reverse=True)
    entries = _distinct(candidates, settings.n_best_size)
    if settings.version_2 and all(entry.projected for entry in entries):
        entries.append(_entry(null))
    if not entries:
        entries.append(Entry(NO_CANDIDATE, 0.0, 0.0, 0.0, 0, 0, NO_CANDIDATE))
    shares = _softmax([entry.score for entry in entries])
    prediction = Prediction(tuple(entry._replace(probability=share) for entry, share in zip(entries, shares)), None)
    if not settings.version_2:
        return prediction
    best = prediction.best
    # against no answer at all, the null answer's own score is what there is
    odds = null_score if best is None else null_score - best.start_logit - best.end_logit
    return Prediction(prediction.n_best, odds)


def prediction_files(predictions: Mapping[str, Prediction], threshold: float) -> dict[str, Any]:
    """Returns by name what predictions.json, nbest_predictions.json and, where there are null odds, null_odds.json hold."""
    files: dict[str, Any] = {
        "predictions.json": {id: prediction.answer(threshold) for id, prediction in predictions.items()},
        "nbest_predictions.json": {id: [entry.to_json() for entry in prediction.n_best] for id, prediction in predictions.items()},
    }
    odds = {id: prediction.null_odds for id, prediction in predictions.items() if prediction.null_odds is not None}
    return files | ({"null_odds.json": odds} if odds else {})


def _candidates(window: Window, starts: Logits, ends: Logits, settings: AnswerSettings) -> Iterator[_Candidate]:
    """Yields the spans among the window's likeliest starts and ends."""
    begin, end = window.offset, window.offset + window.count
    good_starts = [start for start in _best(starts, settings.n_best_size) if begin <= start < end]
    good_starts = [start for start in good_starts if window.has_most_context(start - begin + window.first)]
    good_ends = [last for last in _best(ends, settings.n_best_size) if begin <= last < end]
    for start in good_starts:
        for last in good_ends:
            if start <= last < start + settings.max_answer_length:
                yield _Candidate(window, start, last, float(starts[start]), float(ends[last]))


def _best(logits: Logits, count: int) -> list[int]:
    """Returns the positions of the highest logits, of equal ones the first."""
    best: list[int] = np.argsort(-np.asarray(logits), kind="stable")[:count].tolist()
    return best


def _distinct(candidates: Iterable[_Candidate], most: int) -> list[Entry]:
    """Returns up to `most` entries, in order: of those with one projected text the first; "no answer" is one of them."""
    seen: set[str] = set()
    entries: list[Entry] = []
    for candidate in candidates:
        if len(entries) >= most:
            break
        entry = _entry(candidate)
        if candidate.window is None or entry.projected not in seen:
            entries.append(entry)
        seen.add(entry.projected)
    return entries


def _entry(candidate: _Candidate) -> Entry:
    window = candidate.window
    if window is None:
        return Entry("", 0.0, candidate.start_logit, candidate.end_logit, 0, 0, "")
    shift = window.first - window.offset
    first, last, context = candidate.start + shift, candidate.end + shift, window.context
    return Entry(
        context.span_text(first, last),
        0.0,
        candidate.start_logit,
        candidate.end_logit,
        int(context.starts[first]),
        int(context.ends[last]),
        projected_text(context, first, last),
    )


def _softmax(scores: Sequence[float]) -> list[float]:
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]
