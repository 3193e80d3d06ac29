"""Rows of a task -> batches, by way of the TFRecords that the original leaves in output_dir."""

import os
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from absl import logging

from bert_tf.config import FinetuneConfig
from bert_tf.data.batches import Batches, BucketedBatches
from bert_tf.data.buckets import BucketPlan, choose_lengths
from bert_tf.data.records import RecordFile, serialize, write_records
from bert_tf.data.schema import RecordKind
from bert_tf.errors import InputError
from bert_tf.tasks.features import Featurizer
from bert_tf.tasks.spec import DEV, TEST, TRAIN, Row, file_of, role

# The files in output_dir that hold the features of each split, named as the original names them.
_RECORDS = {TRAIN: "train.tf_record", DEV: "eval.tf_record", TEST: "predict.tf_record"}


class Place(Protocol):
    """Where the records go, and whether all batches there must have one shape."""

    folder: str
    static_shapes: bool


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
    path = os.path.join(place.folder, file_of(_RECORDS[role(split)], split))
    cut_before = featurizer.num_cut
    lengths: list[int] = []

    def records():
        for row in rows:
            features = featurizer(row)
            lengths.append(sum(features["input_mask"]))
            yield serialize(features, kind)

    write_records([path], records())
    logging.info("%s: %d examples, %d of them cut to %d pieces", split, len(rows), featurizer.num_cut - cut_before, config.max_seq_length)
    buckets = config.fixed_buckets()
    if buckets is None:
        one_shape = (config.max_seq_length,)
        buckets = one_shape if place.static_shapes else choose_lengths(np.asarray(lengths), config.max_seq_length)
    elif place.static_shapes and len(buckets) > 1:
        raise InputError(f"bucket_lengths is {config.bucket_lengths!r}, but a TPU takes batches of one length; leave it out")
    logging.info("%s: %.1f pieces an example, in batches of length %s", split, np.mean(lengths), ", ".join(map(str, buckets)))
    plan = BucketPlan(np.asarray(lengths), buckets, batch_size, num_steps, config.random_seed if num_steps else None)
    axes = {"seq": config.max_seq_length, "labels": featurizer.num_outputs}
    return BucketedBatches([RecordFile(path)], kind, axes, batch_size, plan)
