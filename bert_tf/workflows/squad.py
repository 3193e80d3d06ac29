"""Questions on texts: SQuAD's JSON -> a trained model, its answers, their official scores and a SavedModel."""

import functools
import os
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from absl import logging

from bert_tf.config import BertConfig, SquadConfig
from bert_tf.data.batches import Batches
from bert_tf.data.records import serialize, write_records
from bert_tf.data.schema import SQUAD_TRAINING
from bert_tf.errors import InputError
from bert_tf.modeling import losses
from bert_tf.modeling.models import QuestionAnsweringModel
from bert_tf.serving.export import export
from bert_tf.serving.question_answering import QuestionAnsweringModule
from bert_tf.squad.questions import Question
from bert_tf.squad.windows import AnswerCounts, Window, Windower
from bert_tf.text.casing import warn_of_letters_taken_apart
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.training.selection import Scoring
from bert_tf.workflows import null_threshold, run_directory, tuned
from bert_tf.workflows.answering import Answering, fingerprint, read_questions, texts_of
from bert_tf.workflows.epochs import Examined, batches_by_length, check_start, num_train_steps, vocabulary_and_model
from bert_tf.workflows.training_run import TrainingRun, open_run

# Questions to ask a fresh export, one of them on many windows, so that what was written is known to answer as the model does.
_PROBE = {"question": ["What is blue?", ""], "context": ["The sky is blue. " * 100, "The sky"]}

# What is told of answers that are not as they should be, by the names of AnswerCounts.
_TOLD = {
    "displaced": "answers are not where answer_start says, but among the words there, and taken from there",
    "unfindable": "answers are not where answer_start says; their questions are left out",
    "in_no_window": "answers are in no window whole; a longer --max_seq_length or a smaller --doc_stride may hold them",
    "several": "questions have several answers; the first is trained on",
    "empty": "questions are on a context without any text; they are left out",
}
# Those of them that --strict refuses.
_STRICT = ("displaced", "unfindable")

_Targets = Mapping[str, int]


def run(config: SquadConfig) -> dict[str, Any]:
    """Returns what was reached: `global_step`, the evaluation's figures, and `export`, the SavedModel's path, where asked for.

    Raises:
      InputError: What the user can mend, before anything is trained.
    """
    vocab, model_config, windower, answering, training_questions = _prepared(config)
    _warn_of_gaps(config)
    windows = _training_windows(config, windower, training_questions)
    num_steps = num_train_steps(config, len(windows), "windows") if config.do_train else 0

    files = {"bert_config.json": model_config.to_json(), "vocab.txt": vocab.to_text()}
    results: dict[str, Any] = {}
    with open_run(
        config,
        model_config,
        lambda policy, fuse: QuestionAnsweringModel(model_config, config.recompute, fuse, dtype=policy),
        losses.SQUAD,
        num_train_steps=num_steps,
        num_warmup_steps=int(num_steps * config.warmup_proportion),
        last_step=num_steps,
        files=files,
        data={run_directory.TRAINING_DATA: fingerprint(training_questions), "vocabulary": vocab.sha256},
        need_heads=not config.do_train,  # without training, where answers begin and end must be in the checkpoint
    ) as training:
        if config.do_train:
            if training.step == 0 and config.init_checkpoint is None:
                logging.warning("no --init_checkpoint: training starts from random weights")
            training.train(lambda: _training_batches(config, training, windower, windows, num_steps), _scoring(config, training, answering))
        if answering is not None and (config.do_predict or config.do_eval):
            logits = answering.logits(training)
            predictions = answering.predictions(logits)
            best = answering.best_thresholds(predictions) if config.do_eval else {}
            tuned_before = functools.partial(tuned.before, config, training, null_threshold.NAME, null_threshold.is_sound)
            threshold = answering.threshold(best, training.folder, tuned.weights_of(config, training), tuned_before)
            answering.write_logits(training.folder, logits, training.step, predictions, threshold)
            if config.do_eval:
                results |= answering.scores(predictions, threshold) | best | {"global_step": training.step}
                run_directory.write_eval_results(training.folder, results)
            if config.do_predict:
                answering.write(training.folder, predictions, threshold)
        if config.do_export and training.is_chief:
            results["export"] = _export(config, training, model_config, vocab, files)
        return results | {"global_step": training.step}


def examine(config: SquadConfig) -> Examined:
    """Returns what there is to know of a run before it begins.

    Raises:
      InputError: What the user can mend, as far as it shows before windows and a model are made.
    """
    ready = _prepared(config)
    asked = "" if ready.answering is None else f", dev {ready.answering.fingerprint}"
    version = "squad-v2.0" if config.version_2_with_negative else "squad-v1.1"
    return Examined(version, "f1", f"train {fingerprint(ready.training_questions)}{asked}")


class _Prepared(NamedTuple):
    """What a run is made of, read and checked."""

    vocab: Vocabulary
    model_config: BertConfig
    windower: Windower
    answering: Answering | None
    training_questions: list[Question]


def _prepared(config: SquadConfig) -> _Prepared:
    if not (config.do_train or config.do_predict or config.do_eval or config.do_export):
        raise InputError("nothing to do: give at least one of --do_train, --do_predict, --do_eval and --do_export")
    check_start(config)
    vocab, model_config = vocabulary_and_model(config)
    tokenizer = WordPieceTokenizer(vocab, bool(model_config.do_lower_case))
    windower = Windower(tokenizer, config.max_seq_length, config.doc_stride, config.max_query_length)
    asks = config.do_predict or config.do_eval or (config.do_train and config.eval_steps > 0)
    answering = Answering(config, windower) if asks else None
    training_questions = read_questions(config.train_file, config.version_2_with_negative) if config.do_train else []
    if windower.lower_cases:
        warn_of_letters_taken_apart(texts_of(training_questions), config.train_file or "")
    return _Prepared(vocab, model_config, windower, answering, training_questions)


def _warn_of_gaps(config: SquadConfig) -> None:
    room = config.max_seq_length - config.max_query_length - 3
    if config.doc_stride > room:
        logging.warning(
            "doc_stride is %d, but beside a question of max_query_length %d there is room for %d pieces of a context: windows will not "
            "overlap, and an answer across their border is lost; give less",
            *(config.doc_stride, config.max_query_length, room),
        )


def _training_windows(config: SquadConfig, windower: Windower, questions: Sequence[Question]) -> list[tuple[Window, _Targets]]:
    """Returns the windows to train on, the questions in the original's order: shuffled by the seed.

    Raises:
      InputError: With --strict, an answer that is not where the file says; or no question is left.
    """
    shuffled = list(questions)
    random.Random(config.random_seed).shuffle(shuffled)
    counts = AnswerCounts()
    windows = list(windower.training_windows(shuffled, counts))
    for kind, what in _TOLD.items():
        count = getattr(counts, kind)
        if not count:
            continue
        first = counts.examples[kind][0]
        message = f"{config.train_file}: {count} of {len(questions)} {what} (the first: {first.removeprefix(f'{config.train_file}: ')})"
        if config.strict and kind in _STRICT:
            raise InputError(f"{message}; mend the file, or leave out --strict")
        logging.warning("%s", message)
        for place in counts.examples[kind] if config.verbose_logging else ():
            logging.info("  %s", place)
    if config.do_train and not windows:
        raise InputError(f"{config.train_file}: none of its {len(questions)} questions can be trained on; mend the file")
    if config.do_train and config.version_2_with_negative and not any(question.is_impossible for question in questions):
        logging.warning(
            "%s: has no unanswerable question (is_impossible), so the model will not learn when not to answer", config.train_file
        )
    return windows


def _training_batches(
    config: SquadConfig, training: TrainingRun, windower: Windower, windows: Sequence[tuple[Window, _Targets]], num_steps: int
) -> Batches:
    """Writes the windows beside the run, as the original does, and returns shuffled batches of them, by length."""
    path = os.path.join(training.folder, "train.tf_record")
    write_records([path], (serialize(windower.features(window) | dict(targets), SQUAD_TRAINING) for window, targets in windows))
    with_answer = sum(targets["end_positions"] > 0 for _, targets in windows)
    logging.info("train: %d windows, %d of them with an answer", len(windows), with_answer)
    lengths = [len(window) for window, _ in windows]
    return batches_by_length(config, training, "train", path, SQUAD_TRAINING, lengths, config.train_batch_size, num_steps)


def _scoring(config: SquadConfig, training: TrainingRun, answering: Answering | None) -> Scoring | None:
    if answering is None:
        return None
    metric = "best_f1" if config.version_2_with_negative else "f1"
    return Scoring(lambda: answering.evaluate(training), metric, answering.fingerprint)


def _export(config: SquadConfig, training: TrainingRun, model_config: BertConfig, vocab: Vocabulary, files: Mapping[str, str]) -> str:
    threshold = None
    if config.version_2_with_negative:
        threshold, found = config.null_score_diff_threshold, tuned.before(config, training, null_threshold.NAME, null_threshold.is_sound)
        if threshold is None:
            threshold = 0.0 if found is None else float(found[null_threshold.FIELD])
        files = {**files, null_threshold.NAME: null_threshold.to_json(threshold)}
    module = QuestionAnsweringModule(
        doc_stride=config.doc_stride,
        max_query_length=config.max_query_length,
        n_best_size=config.n_best_size,
        max_answer_length=config.max_answer_length,
        null_threshold=threshold,
        model=training.plain_model(),
        vocab=vocab,
        do_lower_case=bool(model_config.do_lower_case),
        max_seq_length=config.max_seq_length,
    )
    probes = [
        {"signature": "serving_default", **_PROBE},
        {"signature": "ids", "input_ids": [[0, 1]], "input_mask": [[1, 1]], "segment_ids": [[0, 0]]},
    ]
    path = export(module, os.path.join(config.output_dir, "export"), files, probes)
    logging.info("exported to %s", path)
    return path
