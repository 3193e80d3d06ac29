"""Rows of a task -> batches, by way of the TFRecords that the original leaves in output_dir."""

import os
from collections.abc import Sequence

from absl import logging

from bert_tf.config import FinetuneConfig
from bert_tf.data.batches import Batches
from bert_tf.data.records import serialize, write_records
from bert_tf.data.schema import RecordKind
from bert_tf.tasks.features import Featurizer
from bert_tf.tasks.spec import DEV, TEST, TRAIN, Row, file_of, role
from bert_tf.workflows.epochs import Place, batches_by_length

# The files in output_dir that hold the features of each split, named as the original names them.
_RECORDS = {TRAIN: "train.tf_record", DEV: "eval.tf_record", TEST: "predict.tf_record"}


def batches(
    config: FinetuneConfig,
    place: Place,
    split: str,
    rows: Sequence[Row],
    featurizer: Featurizer,
    kind: RecordKind,
    batch_size: int,
    num_steps: int | None = None,
) -> Batches:
    """Writes the split's features beside the run, as the original does, and returns batches of them, by length.

    With `num_steps` they are shuffled, epoch after epoch; without it they are gone through once.
    """
    path, lengths = write(config, place, split, rows, featurizer, kind)
    return batches_by_length(*(config, place, split, path, kind, lengths, batch_size, num_steps), axes=featurizer.axes)


def write(
    config: FinetuneConfig, place: Place, split: str, rows: Sequence[Row], featurizer: Featurizer, kind: RecordKind
) -> tuple[str, list[int]]:
    """Writes the split's features beside the run; returns the file and each record's length."""
    path = os.path.join(place.folder, file_of(_RECORDS[role(split)], split))
    cut_before = featurizer.num_cut
    lengths: list[int] = []

    def records():
        for features in featurizer.records(rows):
            lengths.append(featurizer.length(features))
            yield serialize(features, kind)

    write_records([path], records())
    logging.info(
        "%s: %d examples, %d of them cut to %d pieces", split, len(lengths), featurizer.num_cut - cut_before, config.max_seq_length
    )
    if len(lengths) != len(rows):
        logging.info("%s: %d rows, some of them in several examples", split, len(rows))
    return path, lengths
