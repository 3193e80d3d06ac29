"""SQuAD's official scores: exact match and F1 in percent, and the best threshold for null odds.

The definitions are those of evaluate-v1.1.py and evaluate-v2.0.py (rajpurkar.github.io/SQuAD-explorer). Two cases are settled here:
a question without a prediction counts as wrong under both versions (evaluate-v2.0.py leaves it out), and a threshold falls between
questions of different odds only, since equal odds are answered alike.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)

Answers = Mapping[str, Sequence[str]]
Scores = dict[str, float]


def normalize(text: str) -> str:
    """Returns the text in lower case without ASCII punctuation, articles and superfluous white space.

    For example, `normalize("The  Beatles'")` is "beatles".
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, answer: str) -> float:
    """Returns 1 where both are the same when normalized, else 0."""
    return float(normalize(prediction) == normalize(answer))


def f1(prediction: str, answer: str, version_2: bool = False) -> float:
    """Returns F1 over the words of both, normalized.

    Where one of them has no words, v2.0 says 1 if neither has, and v1.1 says 0.
    """
    predicted, right = normalize(prediction).split(), normalize(answer).split()
    if version_2 and not (predicted and right):
        return float(predicted == right)
    common = (Counter(predicted) & Counter(right)).total()
    if common == 0:
        return 0.0
    precision, recall = common / len(predicted), common / len(right)
    return 2 * precision * recall / (precision + recall)


def question_scores(answers: Answers, predictions: Mapping[str, str], version_2: bool) -> dict[str, Scores]:
    """Returns `exact_match` and `f1` from 0 to 1 of every question, by id: the best over the answers given.

    Args:
      answers: By question id the answers given, none for an unanswerable question.
      predictions: By question id the answer predicted; questions that are not in it score 0.
      version_2: Whether by the rules of v2.0, where an answer of no words is as good as none.
    """
    scores = {}
    for id, given in answers.items():
        if version_2:
            given = [answer for answer in given if normalize(answer)] or [""]
        prediction = predictions.get(id)
        if prediction is None or not given:
            scores[id] = {"exact_match": 0.0, "f1": 0.0}
        else:
            scores[id] = {
                "exact_match": max(exact_match(prediction, answer) for answer in given),
                "f1": max(f1(prediction, answer, version_2) for answer in given),
            }
    return scores


def summarize(answers: Answers, scores: Mapping[str, Scores], version_2: bool) -> Scores:
    """Returns exact_match and f1 in percent over all questions, and for v2.0 also over those with and without an answer.

    The latter are HasAns_exact, HasAns_f1, NoAns_exact and NoAns_f1; a group without questions is left out.
    """
    results = _percent(scores, list(scores))
    groups = {"HasAns": [id for id in scores if _has_answer(answers[id])], "NoAns": [id for id in scores if not _has_answer(answers[id])]}
    for name, ids in groups.items() if version_2 else ():
        if ids:
            part = _percent(scores, ids)
            results |= {f"{name}_exact": part["exact_match"], f"{name}_f1": part["f1"]}
    return results


def best_thresholds(
    answers: Answers, scores: Mapping[str, Scores], is_answered: Callable[[str], bool], null_odds: Mapping[str, float]
) -> Scores:
    """Returns the best exact match and F1 that a threshold reaches, in percent, and the lowest threshold that reaches each.

    The names are best_exact, best_exact_thresh, best_f1 and best_f1_thresh. A question whose odds are above the threshold is not
    answered.

    Args:
      answers: By question id the answers given.
      scores: By question id what its predicted answer scores, from `question_scores`.
      is_answered: Whether a question's prediction is any text.
      null_odds: By question id how much "no answer" is preferred; questions that are not in it keep their scores, right or wrong.
    """
    results: Scores = {}
    for metric, name in (("exact_match", "best_exact"), ("f1", "best_f1")):
        best, threshold = _best_threshold(answers, {id: each[metric] for id, each in scores.items()}, is_answered, null_odds)
        results |= {name: 100 * best / len(scores), f"{name}_thresh": threshold}
    return results


def _best_threshold(
    answers: Answers, scores: Mapping[str, float], is_answered: Callable[[str], bool], null_odds: Mapping[str, float]
) -> tuple[float, float]:
    """Returns the best sum of scores and the lowest threshold that reaches it."""
    ids = sorted((id for id in scores if id in null_odds), key=lambda id: null_odds[id])
    total = sum(scores[id] for id in scores if id not in null_odds) + sum(not _has_answer(answers[id]) for id in ids)
    if not ids:
        return total, 0.0
    # none is answered: below all odds, and at 0 where that is below them
    best, threshold = total, min(0.0, math.nextafter(null_odds[ids[0]], -math.inf))
    for number, id in enumerate(ids):
        if _has_answer(answers[id]):
            total += scores[id]
        elif is_answered(id):
            total -= 1
        is_last_of_equals = number + 1 == len(ids) or null_odds[ids[number + 1]] > null_odds[id]
        if is_last_of_equals and total > best:
            best, threshold = total, null_odds[id]
    return best, threshold


def _has_answer(answers: Sequence[str]) -> bool:
    return bool(answers)


def _percent(scores: Mapping[str, Scores], ids: Sequence[str]) -> Scores:
    return {metric: 100 * sum(scores[id][metric] for id in ids) / len(ids) for metric in ("exact_match", "f1")}
