"""The rows of a task from its official files, or from TensorFlow Datasets."""

import os
import socket
import sys
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from bert_tf.data.text_files import read_lines
from bert_tf.errors import InputError, one_line
from bert_tf.tasks.rows import parse_raw_rows, parse_rows
from bert_tf.tasks.spec import TEST, RawRow, Row, TaskSpec, TfdsSource, role


class MissingSplit(InputError):
    """The source has no such split."""


def read_rows(spec: TaskSpec, split: str, data_dir: str) -> list[Row]:
    """Returns the split's rows from the task's file in `data_dir`, in the file's order.

    Raises:
      MissingSplit: The file is not there.
      InputError: What `parse_rows` and `read_lines` refuse.
    """
    path = _path(spec, split, data_dir)
    logging.info("%s: rows of %s", split, path)
    return list(parse_rows(read_lines(path), spec, split, path))


def read_raw_rows(spec: TaskSpec, split: str, data_dir: str) -> list[RawRow]:
    """Returns the same rows, whatever their labels are: to learn from them which labels there are."""
    path = _path(spec, split, data_dir)
    return list(parse_raw_rows(read_lines(path), spec, split, path))


def _path(spec: TaskSpec, split: str, data_dir: str) -> str:
    names = spec.table.files[split].names
    for name in names:
        path = os.path.join(data_dir, name)
        if tf.io.gfile.exists(path):
            return path
    if data_dir:
        raise MissingSplit(
            f"{data_dir}: there is no {' or '.join(names)}; give --data_dir the directory that holds the files of {spec.name}"
        )
    raise MissingSplit(f"{names[0]}: is not there; check --{split}_file")


def read_tfds_rows(spec: TaskSpec, split: str, tfds_name: str, tfds_data_dir: str | None = None) -> list[Row]:
    """Returns the split's rows from TensorFlow Datasets, in the order of their ids.

    TFDS stores rows in the order of a hash; sorted by id they are in the official files' order again, on which test_results.tsv relies.
    Labels go by the data set's own names for them, never by its numbers: its MNLI counts in another order than ours.

    Args:
      spec: The task.
      split: The split.
      tfds_name: A name as "glue/mrpc", with ":2.0.0" if it must be that version.
      tfds_data_dir: Where TFDS keeps its data; its own default if None.

    Raises:
      MissingSplit: No such split.
      InputError: No such data set or feature; a download that failed; or a label that the task does not have.
    """
    source = spec.tfds
    if source is None:
        raise InputError(f"--tfds_name={tfds_name}: {spec.name} has no form in TensorFlow Datasets here; give --data_dir")
    if split in source.elsewhere:
        tfds_name = source.elsewhere[split]
    try:
        builder = _prepared_builder(tfds_name, tfds_data_dir)
    except InputError as error:
        raise MissingSplit(str(error)) if split in source.elsewhere else error from error.__cause__
    tfds_split = next((name for name in source.splits[split] if name in builder.info.splits), None)
    if tfds_split is None:
        found = ", ".join(builder.info.splits)
        raise MissingSplit(f"--tfds_name={tfds_name}: has no split {' or '.join(source.splits[split])} ({found} are there); choose another")
    features = dict(builder.info.features.items())
    needed = [*source.columns.texts, *([] if role(split) == TEST else [source.columns.label])]
    for column in needed:
        if column not in features:
            found = ", ".join(sorted(features))
            raise InputError(f"--tfds_name={tfds_name}: has no feature {column} ({found} are there); give a data set of {spec.name}")
    label_feature = features.get(source.columns.label)
    class_names = getattr(getattr(label_feature, "feature", label_feature), "names", None)  # of a sequence's parts, or its own
    where = f"{builder.info.full_name}, {tfds_split}"
    try:
        records = list(builder.as_dataset(split=tfds_split, shuffle_files=False).as_numpy_iterator())
    except tf.errors.OpError as error:
        raise InputError(f"{builder.data_path}: cannot be read ({one_line(error)}); prepare {tfds_name} again") from error
    if not records:
        raise InputError(f"{where}: has no rows; prepare {tfds_name} again")
    if source.columns.id in features:
        records.sort(key=lambda record: record[source.columns.id])
    return [_tfds_row(spec, source, split, record, number, class_names, where) for number, record in enumerate(records)]


def _tfds_row(
    spec: TaskSpec, source: TfdsSource, split: str, record: Mapping[str, Any], number: int, class_names: list[str] | None, where: str
) -> Row:
    """Returns one record of a TFDS data set as a row."""
    columns = source.columns
    id = _text(record.get(columns.id, number))
    # where tokens are tagged, one column holds all of a row's texts, and the label's all of its tags
    labels = [] if columns.label not in record else [_label_name(value, class_names) for value in _values(record[columns.label])]
    return spec.make_row(
        split,
        id,
        [_text(value) for column in columns.texts for value in _values(record[column])],
        " ".join(columns.label_names.get(label, label) for label in labels) if labels else None,
        f"{where}, row {id}",
    )


def _values(value: Any) -> Sequence[Any]:
    """Returns the parts of a sequence, or the one value."""
    return list(value) if isinstance(value, np.ndarray) and value.ndim else [value]


def _label_name(value: Any, class_names: list[str] | None) -> str:
    """Returns the data set's name of a label; its number if it names none, or if it is -1: unlabelled."""
    if class_names and 0 <= value < len(class_names):
        return class_names[value]
    return _text(value)


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _prepared_builder(tfds_name: str, data_dir: str | None) -> Any:
    """Returns the builder of a data set that is on disk, downloaded now if it was not."""
    import tensorflow_datasets as tfds  # takes its time to load, and serves only here

    # With a version, even "any", TFDS looks first at what is on disk, whatever version of the data set its own code would make now.
    version = {} if ":" in tfds_name else {"version": "*.*.*"}
    try:
        builder = tfds.builder(tfds_name, data_dir=data_dir, **version)
    except (tfds.core.DatasetNotFoundError, ValueError, AssertionError) as error:
        reason = str(error).split("\n")[0].rstrip(". ")  # the lines after it list everything that TFDS has
        raise InputError(f"--tfds_name={tfds_name}: {reason}; give a name as glue/mrpc, and --tfds_data_dir where its data is") from error
    if builder.is_prepared():
        return builder
    try:
        if not _reachable(builder.url_infos or {}):
            raise ConnectionError("its servers cannot be reached")
        print(f"{tfds_name} is not in {builder.data_path}: downloading it", file=sys.stderr, flush=True)
        builder.download_and_prepare()
    except Exception as error:  # servers, archives and file systems fail in ways of their own
        raise InputError(
            f"--tfds_name={tfds_name}: is not in {builder.data_path} and cannot be downloaded ({one_line(error)[:300]}); "
            f"run `tfds build {tfds_name}` where there is a network and give its --data_dir as --tfds_data_dir, or give --data_dir"
        ) from error
    return builder


def _reachable(urls: Mapping[str, Any]) -> bool:
    """Returns whether a download may succeed: asked first because TFDS tries for minutes before it says that there is no network."""
    if not urls or urllib.request.getproxies():
        return True
    for host in {urllib.parse.urlsplit(url).hostname for url in urls}:
        try:
            socket.getaddrinfo(host, 443)
        except OSError:
            continue
        return True
    return False
