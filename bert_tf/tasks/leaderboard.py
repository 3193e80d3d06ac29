"""Predictions -> the files that the GLUE leaderboard takes: a header, then index and answer of every row of the official test set."""

import math
from collections.abc import Iterable, Sequence

from bert_tf.errors import InputError
from bert_tf.tasks.answers import REGRESS
from bert_tf.tasks.spec import LeaderboardFile, TaskSpec

HEADER = "index\tprediction"


def submission_lines(spec: TaskSpec, file: LeaderboardFile, predictions: Iterable[str], path: str) -> list[str]:
    """Returns the file's lines, in the order of the official test set; numbers are cut to the task's span.

    For example, the lines "id, label, ..." and "0, entailment, ..." (with tabs) of predictions.tsv give the header and "0, entailment".

    Args:
      spec: The task.
      file: What is to be handed in.
      predictions: The lines of predictions.tsv.
      path: That file, for error messages.

    Raises:
      InputError: Another number of rows than the official test set has, ids that are not its row numbers, or an answer that is none.
    """
    answers: dict[int, str] = {}
    for number, line in enumerate(predictions, 1):
        id, answer, *_ = [*line.split("\t"), "", ""]
        if number == 1:
            expected = "prediction" if spec.kind == REGRESS else "label"
            if (id, answer) != ("id", expected):
                raise InputError(f"{path}: is no predictions.tsv of {spec.name} (it should begin with id and {expected}); predict again")
            continue
        where = f"{path}, line {number}"
        if not id.isdecimal() or int(id) >= file.num_rows or int(id) in answers:
            raise InputError(f"{where}: id {id!r} is no row of the official test set, or comes twice; predict the official test file")
        answers[int(id)] = _checked(spec, answer, where)
    if len(answers) != file.num_rows:
        raise InputError(
            f"{path}: has {len(answers)} rows, the official test set of {file.name} has {file.num_rows}; predict the official test file"
        )
    return _lines([answers[index] for index in range(file.num_rows)])


def majority_lines(spec: TaskSpec, file: LeaderboardFile) -> list[str]:
    """Returns the file's lines with the most frequent label for every row.

    Raises:
      InputError: There is no such label: the task is not one for which that is done.
    """
    if file.majority is None:
        raise InputError(f"majority_tasks: the most frequent label of {spec.name} is not handed in; leave it out, and give a run of it")
    return _lines([file.majority] * file.num_rows)


def _lines(answers: Sequence[str]) -> list[str]:
    return [HEADER, *(f"{index}\t{answer}" for index, answer in enumerate(answers))]


def _checked(spec: TaskSpec, answer: str, where: str) -> str:
    """Returns the answer, a number within its span."""
    if spec.kind != REGRESS:
        if answer not in spec.labels:
            raise InputError(f"{where}: {answer!r} is none of {', '.join(spec.labels)}; predict again")
        return answer
    try:
        number = float(answer)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise InputError(f"{where}: {answer!r} is not a number; predict again")
    low, high = spec.span or (-math.inf, math.inf)
    return str(min(max(number, low), high))
