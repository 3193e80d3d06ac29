"""Asking a model the questions of a file: its windows, its answers, and how these score."""

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging

from bert_tf.config import SquadConfig, to_dict
from bert_tf.data import saved_logits
from bert_tf.data.batches import Batches
from bert_tf.data.json_files import read_json
from bert_tf.data.records import serialize, write_records
from bert_tf.data.schema import SQUAD
from bert_tf.squad import scores
from bert_tf.squad.answers import AnswerSettings, Prediction, predict, prediction_files
from bert_tf.squad.questions import Question, check_ids, check_version, gold_answers, parse_squad
from bert_tf.squad.windows import FIRST_UNIQUE_ID, Window, Windower
from bert_tf.text.casing import warn_of_letters_taken_apart
from bert_tf.workflows import null_threshold, run_directory
from bert_tf.workflows.epochs import batches_by_length
from bert_tf.workflows.training_run import TrainingRun

# By name, start and end: for each window float32[positions], one for every position that is no padding.
WindowLogits = Mapping[str, Sequence[np.ndarray]]


def read_questions(path: str, version_2: bool) -> list[Question]:
    """Returns the questions of a file, and logs how many there are.

    Raises:
      InputError: It cannot be read, is not in SQuAD's format, or has unanswerable questions without --version_2_with_negative.
    """
    questions = parse_squad(read_json(path, "give a whole file in SQuAD's format"), path)
    check_version(questions, version_2)
    return questions


def texts_of(questions: Iterable[Question]) -> Iterable[str]:
    """Returns the questions' texts and their contexts, each once."""
    return dict.fromkeys(text for question in questions for text in (question.text, question.context))


def fingerprint(questions: Sequence[Question]) -> str:
    """Returns a hash of the questions, contexts and answers, in hexadecimal."""
    digest = hashlib.sha256()
    for question in questions:
        given = [(answer.text, answer.start) for answer in question.answers or ()]
        digest.update(repr((question.text, question.context, given, question.is_impossible)).encode())
    return digest.hexdigest()


class Answering:
    """The questions of --predict_file, put to a model as often as it changes.

    Attributes:
      fingerprint: A hash of the questions.
    """

    def __init__(self, config: SquadConfig, windower: Windower):
        """Reads the file.

        Raises:
          InputError: What `read_questions` refuses, an id that occurs twice, or no answers where there is something to evaluate.
        """
        self._config, self._windower = config, windower
        self._settings = AnswerSettings(config.n_best_size, config.max_answer_length, config.version_2_with_negative)
        self._questions = read_questions(config.predict_file, config.version_2_with_negative)
        if windower.lower_cases:
            warn_of_letters_taken_apart(texts_of(self._questions), config.predict_file)
        check_ids(self._questions)
        evaluates = config.do_eval or (config.do_train and config.eval_steps > 0)
        self._gold = gold_answers(self._questions) if evaluates else {}
        self.fingerprint = fingerprint(self._questions)
        self._made: Batches | None = None

    @functools.cached_property
    def _windows(self) -> list[list[Window]]:
        """The windows of each question."""
        windows, next_id = [], FIRST_UNIQUE_ID
        for question in self._questions:
            windows.append(self._windower.windows(question, next_id))
            next_id += len(windows[-1])
        empty = sum(not of_one for of_one in windows)
        if empty:
            logging.warning("%s: %d questions are on a context without any text; they get no answer", self._config.predict_file, empty)
        cut = self._windower.num_cut(self._questions)
        logging.info(
            "predict: %d questions in %d windows, %d questions cut to %d pieces",
            *(len(self._questions), next_id - FIRST_UNIQUE_ID, cut, self._config.max_query_length),
        )
        return windows

    def _batches(self, training: TrainingRun) -> Batches:
        """Returns batches of the windows, written beside the run, as the original does, when first asked for."""
        if self._made is not None:
            return self._made
        path = os.path.join(training.folder, "eval.tf_record")
        windows = [window for of_one in self._windows for window in of_one]
        write_records([path], (serialize(self._windower.features(window), SQUAD) for window in windows))
        lengths, size = [len(window) for window in windows], self._config.predict_batch_size
        self._made = batches_by_length(self._config, training, "predict", path, SQUAD, lengths, size)
        return self._made

    def logits(self, training: TrainingRun) -> WindowLogits:
        """Returns what the model says of every window, in their order.

        Without padding, so that answers do not depend on what a window was batched with.
        """
        lengths = [len(window) for of_one in self._windows for window in of_one]
        if not lengths:
            return {"start": [], "end": []}
        found = training.predict(self._batches(training))
        return {name: [row[:length] for row, length in zip(found[name], lengths)] for name in ("start", "end")}

    def predictions(self, logits: WindowLogits) -> dict[str, Prediction]:
        """Returns by question id what the logits make of it."""
        starts, ends = iter(logits["start"]), iter(logits["end"])
        found = {}
        for question, windows in zip(self._questions, self._windows):
            of_windows = ([next(rows) for _ in windows] for rows in (starts, ends))
            found[question.id] = predict(windows, *of_windows, self._settings)
        return found

    @property
    def made_of(self) -> dict[str, Any]:
        """What must be equal for logits of two runs to be averaged, by what it is: the same windows."""
        version = {"version_2_with_negative": self._settings.version_2}
        return {"questions": self.fingerprint} | self._windower.made_of | version

    def write_logits(self, folder: str, logits: WindowLogits, step: int, predictions: Mapping[str, Prediction], threshold: float) -> None:
        """Writes the raw logits of all windows, with what they are of: for `workflows/ensemble.py`.

        They are one after another, `lengths` int32[windows] of them each: no place is taken by padding.
        """
        about = saved_logits.About(
            workflow=run_directory.workflow_of(self._config),
            config=to_dict(self._config),
            split="",
            made_of=self.made_of,
            step=step,
            all_alike=self._all_alike(predictions, threshold),
        )
        arrays = {name: np.concatenate([np.zeros(0, np.float32), *rows]) for name, rows in logits.items()}
        lengths = np.asarray([len(row) for row in logits["start"]], np.int32)
        saved_logits.write(folder, saved_logits.PREDICT_LOGITS, {**arrays, "lengths": lengths}, about)

    def _all_alike(self, predictions: Mapping[str, Prediction], threshold: float) -> str | None:
        """Returns the answer that all questions get, where that is one though the right ones differ; else None."""
        given = {prediction.answer(threshold) for prediction in predictions.values()}
        if len(given) != 1 or len({tuple(answers) for answers in self._gold.values()}) < 2:
            return None
        same = repr(answer) if (answer := given.pop()) else "no answer"
        logging.warning(
            "all %d questions get %s: the model has not begun to learn, or its training collapsed; try a lower --learning_rate, more "
            "epochs or another --random_seed",
            *(len(predictions), same),
        )
        return same

    def best_thresholds(self, predictions: Mapping[str, Prediction]) -> dict[str, float]:
        """Returns best_exact, best_f1 and the null thresholds that reach them; nothing where every question has an answer."""
        if not self._settings.version_2:
            return {}
        answers = {id: prediction.best.text if prediction.best else "" for id, prediction in predictions.items()}
        each = scores.question_scores(self._gold, answers, version_2=True)
        odds = {id: prediction.null_odds for id, prediction in predictions.items() if prediction.null_odds is not None}
        return scores.best_thresholds(self._gold, each, lambda id: bool(answers[id]), odds)

    def scores(self, predictions: Mapping[str, Prediction], threshold: float) -> dict[str, float]:
        """Returns exact_match and f1 in percent at a null threshold; for v2.0 also those of HasAns and NoAns."""
        answers = {id: prediction.answer(threshold) for id, prediction in predictions.items()}
        each = scores.question_scores(self._gold, answers, self._settings.version_2)
        return scores.summarize(self._gold, each, self._settings.version_2)

    def evaluate(self, training: TrainingRun) -> dict[str, float]:
        """Returns the scores during a training, for v2.0 at the threshold that is best for F1."""
        predictions = self.predictions(self.logits(training))
        best = self.best_thresholds(predictions)
        return self.scores(predictions, best.get("best_f1_thresh", 0.0)) | best

    def threshold(self, best: Mapping[str, float], folder: str, weights: str, tuned: Callable[[], Mapping[str, Any] | None]) -> float:
        """Returns the null threshold in force, and keeps it with the model where it was tuned now.

        It is that of the flag; else what was tuned for these weights before; else the best for F1 on these questions, where they are
        evaluated; else 0. So a test set that is evaluated later is scored at the threshold of the first, the dev set.

        Args:
          best: From `best_thresholds`; empty where nothing is evaluated.
          folder: Where it is kept.
          weights: What answers, as `tuned.write` takes it.
          tuned: Returns what was tuned for these weights before, as `tuned.read` does.
        """
        if not self._settings.version_2:
            return 0.0
        if self._config.null_score_diff_threshold is not None:
            return self._config.null_score_diff_threshold
        stored = tuned()
        if stored is not None:
            if best and stored["tuned_on"] != self.fingerprint:
                logging.info("%s: was tuned on other questions; it stays, and best_f1_thresh tells what these prefer", stored["path"])
            return float(stored[null_threshold.FIELD])
        if best:
            found = best["best_f1_thresh"]
            null_threshold.write(folder, found, best["best_f1"], weights, self.fingerprint)
            return found
        logging.info("null threshold 0: none was given, and none tuned for this model; --do_eval with a labelled file tunes it")
        return 0.0

    def write(self, folder: str, predictions: Mapping[str, Prediction], threshold: float) -> None:
        """Writes predictions.json, nbest_predictions.json and, for v2.0, null_odds.json as the original does."""
        files: Mapping[str, Any] = prediction_files(predictions, threshold)
        for name, content in files.items():
            path = run_directory.write_text(folder, name, json.dumps(content, indent=4) + "\n")
            logging.info("%d predictions in %s", len(predictions), path)
