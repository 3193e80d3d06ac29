"""A predictions file -> SQuAD's official scores. Without TensorFlow, so that the answer is there at once."""

import json
import math
from collections.abc import Collection, Mapping
from typing import Any

from absl import logging

from bert_tf.config import ScoreSquadConfig
from bert_tf.data.json_files import read_json
from bert_tf.errors import InputError
from bert_tf.squad import scores
from bert_tf.squad.questions import check_ids, gold_answers, is_version_2, parse_squad


def run(config: ScoreSquadConfig) -> dict[str, float]:
    """Returns exact_match and f1 in percent, prints them as one JSON line, and tells questions without a prediction.

    Of a v2.0 file also HasAns_exact, HasAns_f1, NoAns_exact and NoAns_f1; with --null_odds also best_exact, best_f1 and the
    thresholds that reach them. The predictions are scored as they are: --null_odds changes none of them.

    Raises:
      InputError: A file that cannot be read or holds something else.
    """
    dataset = read_json(config.dataset, "give a whole file in SQuAD's format")
    questions = parse_squad(dataset, config.dataset)
    check_ids(questions)
    gold = gold_answers(questions)
    version_2 = is_version_2(dataset, questions)
    predictions = _by_id(config.predictions, "answers", str)
    _tell_differences(config.predictions, predictions.keys(), gold.keys())
    each = scores.question_scores(gold, predictions, version_2)
    results = scores.summarize(gold, each, version_2)
    if config.null_odds is not None:
        odds = _null_odds(config.null_odds, gold.keys(), predictions.keys())
        results |= scores.best_thresholds(gold, each, lambda id: bool(predictions[id]), odds)
    print(json.dumps(results))
    return results


def _by_id(path: str, what: str, kind: type | tuple[type, ...]) -> dict[str, Any]:
    """Returns a JSON object from question ids to values of one type."""
    content = read_json(path, "write it again")
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds no JSON object; give one from question ids to {what}")
    for id, value in content.items():
        if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
            raise InputError(f"{path}: {id!r} has {value!r}; give an object from question ids to {what}")
    return content


def _null_odds(path: str, known: Collection[str], predicted: Collection[str]) -> Mapping[str, float]:
    """Returns the null odds of the questions that are predicted.

    Raises:
      InputError: Odds of a question that the data set does not have, or none of one that is predicted.
    """
    odds = _by_id(path, "null odds", (int, float))
    unknown = [id for id in odds if id not in known]
    if unknown:
        raise InputError(f"{path}: {_listed(unknown)} of {len(odds)} are not in --dataset; give the null odds of its questions")
    missing = [id for id in known if id in predicted and id not in odds]
    if missing:
        raise InputError(f"{path}: has no odds for {_listed(missing)} of {len(known)}; give the null odds of the same run")
    return {id: value for id, value in odds.items() if id in predicted}


def _tell_differences(path: str, predicted: Collection[str], known: Collection[str]) -> None:
    missing = [id for id in known if id not in predicted]
    if missing:
        logging.warning("%s: has no answer for %s of %d; they count as wrong", path, _listed(missing), len(known))
    unknown = [id for id in predicted if id not in known]
    if unknown:
        logging.warning("%s: %s of %d are not in --dataset; they do not count", path, _listed(unknown), len(predicted))


def _listed(ids: list[str]) -> str:
    return f"{len(ids)} questions (the first: {ids[0]})" if len(ids) > 1 else f"question {ids[0]}"
