"""What the fine-tuning workflows share: the model they start from, steps counted by epochs, and batches by length."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from absl import logging

from bert_tf.config import BertConfig, EpochsConfig
from bert_tf.convert.files import find_checkpoint
from bert_tf.data.batches import Batches, BucketedBatches
from bert_tf.data.buckets import BucketPlan, choose_lengths
from bert_tf.data.records import RecordFile
from bert_tf.data.schema import RecordKind
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from bert_tf.workflows import model_folder, run_directory


class Examined(NamedTuple):
    """What there is to know of a run before it begins.

    Attributes:
      task: Its task's name.
      metric: The figure in eval_results.txt that models are chosen by; higher is better.
      data: Hashes of what it trains and evaluates on.
    """

    task: str
    metric: str
    data: str


class Place(Protocol):
    """Where a run's records go, and whether all batches there must have one shape."""

    folder: str
    static_shapes: bool


def check_start(config: EpochsConfig) -> None:
    """Checks that there are weights to start from, where nothing is trained, and that what is given as such holds some.

    Raises:
      InputError: There are none.
    """
    start = run_directory.start_of(config)
    if start is not None:
        find_checkpoint(start)
    elif not config.do_train:
        raise InputError(f"{config.output_dir}: holds no checkpoint; give --do_train, or an --init_checkpoint")


def vocabulary_and_model(config: EpochsConfig) -> tuple[Vocabulary, BertConfig]:
    """Returns the vocabulary and the model's shape: from the flags, else from the folder of the checkpoint that the run starts from."""
    start = run_directory.start_of(config)
    return model_folder.vocabulary_and_config(
        start, config.vocab_file, config.bert_config_file, config.do_lower_case, config.max_seq_length
    )


def num_train_steps(config: EpochsConfig, num_examples: int, what: str = "training examples") -> int:
    """Returns how many whole batches there are in the epochs.

    Raises:
      InputError: Not one.
    """
    num_steps = int(num_examples / config.train_batch_size * config.num_train_epochs)
    if num_steps < 1:
        raise InputError(
            f"{num_examples} {what} make no batch of {config.train_batch_size} in {config.num_train_epochs} epochs; "
            "lower --train_batch_size or raise --num_train_epochs"
        )
    return num_steps


def batches_by_length(
    config: EpochsConfig,
    place: Place,
    name: str,
    path: str,
    kind: RecordKind,
    lengths: Sequence[int],
    batch_size: int,
    num_steps: int | None = None,
    axes: Mapping[str, int] | None = None,
) -> Batches:
    """Returns batches of a record file by its records' lengths.

    With `num_steps` they are shuffled, epoch after epoch; without it they are gone through once.

    Args:
      config: The run's flags.
      place: The run.
      name: What the records are, for the log.
      path: The record file.
      kind: What it holds.
      lengths: int[records], each record's pieces without padding.
      batch_size: Records a batch.
      num_steps: Steps of the whole training.
      axes: The lengths of the records' axes, where there are others than `seq`.
    """
    buckets = config.fixed_buckets()
    if buckets is None:
        one_shape = (config.max_seq_length,)
        buckets = one_shape if place.static_shapes else choose_lengths(np.asarray(lengths), config.max_seq_length)
    elif place.static_shapes and len(buckets) > 1:
        raise InputError(f"bucket_lengths is {config.bucket_lengths!r}, but a TPU takes batches of one length; leave it out")
    logging.info("%s: %.1f pieces an example, in batches of length %s", name, np.mean(lengths), ", ".join(map(str, buckets)))
    plan = BucketPlan(np.asarray(lengths), buckets, batch_size, num_steps, config.random_seed if num_steps else None)
    return BucketedBatches([RecordFile(path)], kind, axes or {"seq": config.max_seq_length}, batch_size, plan)
