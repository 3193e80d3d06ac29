"""Which task a run is about, and its rows: a known task's, or a user's own."""

import dataclasses
import os
from collections import Counter
from collections.abc import Iterable, Sequence

import tensorflow as tf
from absl import logging

from bert_tf.config import FinetuneConfig
from bert_tf.convert.files import find_checkpoint
from bert_tf.data.rows import MissingSplit, read_raw_rows, read_rows, read_tfds_rows
from bert_tf.data.text_files import read_lines
from bert_tf.errors import InputError
from bert_tf.tasks.answers import CHOOSE, MULTILABEL, REGRESS, TAG, UNLABELLED
from bert_tf.tasks.choices import numbered
from bert_tf.tasks.column_files import LAST_COLUMN
from bert_tf.tasks.entities import to_iob2
from bert_tf.tasks.label_sets import split_labels
from bert_tf.tasks.spec import COLUMNS, CSV, JSONL, SPLITS, TRAIN, TSV, Columns, Row, TableFile, TableSource, TaskSpec
from bert_tf.tasks.table import find_task, is_known
from bert_tf.tasks.tags import ENTITY_METRICS, complete_tags, has_entities

LABELS_NAME = "labels.txt"
THRESHOLDS_NAME = "thresholds.txt"

_FORMATS = {".tsv": TSV, ".txt": TSV, ".csv": CSV, ".jsonl": JSONL, ".json": JSONL}
_PACKED = (".gz", ".bz2")
_ADVICE = (
    "check --text_column, --text_pair_column, --choice_columns, --label_column and --id_column (a name, or a number from 1), and "
    "--has_header"
)
# Metrics of a user's own task; the first chooses the best checkpoint.
_TWO_LABELS, _MORE_LABELS = ("accuracy", "f1", "matthews"), ("accuracy", "macro_f1")
_METRICS = {REGRESS: ("pearson", "spearman"), MULTILABEL: ("micro_f1", "macro_f1", "accuracy")}
# A label column with more different values than this may be a column of something else.
_MANY_LABELS = 100


def find(config: FinetuneConfig, start: str | None) -> TaskSpec:
    """Returns the task that the config means.

    Args:
      config: The run.
      start: What the run's weights come from, in whose folder a trained model's labels are.

    Raises:
      InputError: There is no such task; or it is the user's own, and its labels are not to be found, or none.
    """
    if config.kind is None:
        return find_task(config.task_name).in_language(config.language)
    if is_known(config.task_name):
        raise InputError(f"kind is {config.kind}, but task_name {config.task_name} is a known task; leave --kind out, or give another name")
    source = _own_files(config)
    if config.kind == REGRESS:
        return TaskSpec(config.task_name, REGRESS, _given_labels(config) or (), _METRICS[REGRESS], source)
    if config.kind == CHOOSE:
        return TaskSpec(config.task_name, CHOOSE, numbered(source.columns.choices), ("accuracy",), source)
    labels = _given_labels(config)
    if labels is None and config.do_train:
        labels = _learned_labels(config, source)
    if labels is None:
        labels = _stored_lines(start, LABELS_NAME)
    if labels is None:
        raise InputError(f"no labels: {start or config.output_dir} has no {LABELS_NAME} beside its weights; give --labels")
    thresholds = _thresholds(config, labels, start) if config.kind == MULTILABEL else ()
    _check_labels(labels, config)
    metrics = _own_metrics(config.kind, labels)
    return TaskSpec(config.task_name, config.kind, labels, metrics, source, label_separator=config.label_separator, thresholds=thresholds)


def read(config: FinetuneConfig, spec: TaskSpec, split: str) -> list[Row]:
    """Returns the rows of a split.

    Raises:
      MissingSplit: The source has no such split.
      InputError: It cannot be read, a row is not what it should be, or a column of texts is empty throughout.
    """
    if config.tfds_name is not None:
        rows = read_tfds_rows(spec, split, config.tfds_name, config.tfds_data_dir)
    else:
        rows = read_rows(spec, split, config.data_dir or "")
    if not config.document_context:
        rows = [dataclasses.replace(row, document=None) for row in rows]
    for place, column in enumerate(spec.table.columns.texts):
        empty = sum(not row.texts[place].strip() for row in rows)
        if empty == len(rows):
            raise InputError(f"{rows[0].where}: column {column!r} is empty here and in all {len(rows)} rows; {spec.table.advice}")
        if empty:
            logging.warning("%s: %d of %d rows have no text in column %s", split, empty, len(rows), column)
    return rows


def read_sets(config: FinetuneConfig, spec: TaskSpec, role: str) -> dict[str, list[Row]]:
    """Returns the rows of the task's dev or test set and, by their splits' names, of its further ones, as far as they are there."""
    main, *further = spec.sets(role)
    rows = {main: read(config, spec, main)}
    for split in further:
        try:
            rows[split] = read(config, spec, split)
        except MissingSplit as error:
            logging.warning("%s is left out: %s", split, error)
    return rows


def model_files(spec: TaskSpec) -> dict[str, str]:
    """Returns by name the files without which a model of the task cannot be understood."""
    files = {}
    if spec.labels and spec.kind != CHOOSE:
        files[LABELS_NAME] = "".join(f"{label}\n" for label in spec.labels)
    if spec.thresholds:
        files[THRESHOLDS_NAME] = "".join(f"{threshold}\n" for threshold in spec.thresholds)
    return files


def _own_metrics(kind: str, labels: Sequence[str]) -> tuple[str, ...]:
    if kind == TAG:
        return ENTITY_METRICS if has_entities(labels) else ("accuracy",)
    return _METRICS.get(kind) or (_TWO_LABELS if len(labels) == 2 else _MORE_LABELS)


def _own_files(config: FinetuneConfig) -> TableSource:
    texts = (config.text_column,) if config.text_pair_column is None else (config.text_column, config.text_pair_column)
    paths = dict(zip(SPLITS, (config.train_file, config.dev_file, config.test_file)))
    files = {
        split: TableFile((path,), has_header=config.has_header, format=_format(config, path))
        for split, path in paths.items()
        if path is not None
    }
    label_advice = "mend the file"
    choices = config.choices()
    if config.kind == CHOOSE:
        label_advice += f": give the number of the right choice, from 0 to {len(choices) - 1}, or the name of its column"
    elif config.kind != REGRESS:
        label_advice += ", or --labels" if config.labels else ", train with such rows too, or give --labels"
    if config.kind == TAG:
        columns = Columns(
            ("1" if config.text_column == "text" else config.text_column,),
            LAST_COLUMN if config.label_column == "label" else config.label_column,
        )
        return TableSource(columns, files, "check --text_column and --label_column (numbers from 1)", label_advice)
    columns = Columns(
        texts,
        config.label_column,
        config.id_column,
        needs_id=True,
        label_names=dict(zip(choices, numbered(choices))) if config.has_header else {},
        choices=choices,
    )
    return TableSource(columns, files, _ADVICE, label_advice, may_be_quoted=True)


def _format(config: FinetuneConfig, path: str) -> str:
    """Returns how the file is written: as the kind or the flag says, or by its name."""
    if config.kind == TAG:
        return COLUMNS
    if config.file_format != "auto":
        return config.file_format
    name = path.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    extension = os.path.splitext(name)[1]
    if extension not in _FORMATS:
        raise InputError(f"{path}: its name does not tell how it is written; give --file_format, as --file_format=csv")
    return _FORMATS[extension]


def _given_labels(config: FinetuneConfig) -> tuple[str, ...] | None:
    return None if config.labels is None else tuple(label.strip() for label in config.labels.split(","))


def _learned_labels(config: FinetuneConfig, source: TableSource) -> tuple[str, ...]:
    """Returns the labels of the training file's rows, sorted."""
    # raw rows are the same whatever the kind, and this one needs no labels to be known
    unlabelled = TaskSpec(config.task_name, REGRESS, (), _METRICS[REGRESS], source, label_separator=config.label_separator)
    raw = [row.label or "" for row in read_raw_rows(unlabelled, TRAIN, "")]
    if config.kind == MULTILABEL:
        counts = Counter(label for text in raw for label in split_labels(text, config.label_separator))
    elif config.kind == TAG:
        counts = Counter(label for text in raw for label in to_iob2(text.split(" ")))
    else:
        counts = Counter(text for text in raw if text)
    path = config.train_file
    if len(counts) < (1 if config.kind == MULTILABEL else 2):
        found = f"all labels are {next(iter(counts))!r}" if counts else "there are no labels"
        raise InputError(f"{path}: {found}, from which nothing can be learned; check --label_column")
    if len(counts) > _MANY_LABELS:
        logging.warning("%s: %d different labels in %d rows; is %r the right column?", path, len(counts), len(raw), config.label_column)
    for label in UNLABELLED:
        if label in counts and config.kind != TAG:
            logging.warning(
                "%s: %r is taken for a label; if its %d rows are unlabelled, leave them out or give --labels", path, label, counts[label]
            )
    labels = complete_tags(counts) if config.kind == TAG else tuple(sorted(counts))
    what = "tokens" if config.kind == TAG else "rows"
    told = ", ".join(f"{label} ({counts[label]} {what})" for label in labels[:_MANY_LABELS])
    logging.info("labels of %s: %s", path, told)
    return labels


def _check_labels(labels: Sequence[str], config: FinetuneConfig) -> None:
    """Checks that labels can stand in labels.txt and in a column."""
    separator = config.label_separator if config.kind == MULTILABEL else "\n"
    where = f"{config.train_file}: " if config.labels is None and config.do_train else ""
    for label in labels:
        if not label or any(character in label for character in ("\n", "\t", separator)):
            raise InputError(
                f"{where}label {label!r} is empty, or holds a tab, a line break or the separator of labels; give it another name"
            )


def _stored_lines(start: str | None, name: str) -> tuple[str, ...] | None:
    """Returns the lines of a file beside a model's weights, or None where there is no such model or file."""
    if start is None:
        return None
    folder = start if tf.io.gfile.isdir(start) else find_checkpoint(start).folder
    path = os.path.join(folder, name)
    return tuple(read_lines(path)) if tf.io.gfile.exists(path) else None


def _thresholds(config: FinetuneConfig, labels: Sequence[str], start: str | None) -> tuple[float, ...]:
    """Returns from which probability each label is given: what the flag says, else what was given to the trained model, or to this run."""
    thresholds = config.thresholds()
    if config.do_train:
        start = config.output_dir if tf.io.gfile.isdir(config.output_dir) and not config.overwrite_output_dir else None
    if thresholds is None:
        stored: Iterable[str] = _stored_lines(start, THRESHOLDS_NAME) or ()
        try:
            thresholds = tuple(float(line) for line in stored) or None
        except ValueError as error:
            raise InputError(f"{start}: its {THRESHOLDS_NAME} is damaged ({error}); give --threshold") from error
    if thresholds is not None and len(thresholds) == 1:
        thresholds *= len(labels)
    return thresholds or ()
