"""A model of one layer and hidden size 16, and data for it that is learnt from a few steps."""

import dataclasses
import os

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.convert.names import training_state
from bert_tf.data.batches import Batches, BucketedBatches
from bert_tf.data.buckets import BucketPlan
from bert_tf.data.record_order import ShuffledRecords
from bert_tf.data.records import RecordFile, serialize, write_records
from bert_tf.data.schema import CLASSIFICATION, PRETRAINING
from bert_tf.modeling import losses
from bert_tf.modeling.models import ClassificationModel, PretrainingModel
from bert_tf.training.checkpoints import Checkpoints
from bert_tf.training.loop import Limits, Trainer
from bert_tf.training.optimizer import AdamWeightDecay, LinearSchedule
from bert_tf.training.step import StepOptions, TrainStep

SEQ, MASKS, VOCAB = 8, 3, 20
AXES = {"seq": SEQ, "masks": MASKS}
CONFIG = BertConfig(
    vocab_size=VOCAB,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=SEQ,
    type_vocab_size=2,
)
DROPOUT = dataclasses.replace(CONFIG, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)


class Run:
    """A training run as a workflow puts it together: always the same initial weights."""

    def __init__(self, file, folder, learning_rate=1e-2, batch_size=4, config=DROPOUT, kind=PRETRAINING, seed=5, jit_compile=False):
        keras.utils.set_random_seed(3)
        self.model = PretrainingModel(config) if kind is PRETRAINING else ClassificationModel(config, 2)
        optimizer = AdamWeightDecay(self.model.trainable_variables, LinearSchedule(learning_rate, 20, 2))
        step = tf.Variable(0, dtype=tf.int64, trainable=False)
        objective = losses.PRETRAINING if kind is PRETRAINING else losses.CLASSIFICATION
        self.trainer = Trainer(TrainStep(self.model, objective, optimizer, step, StepOptions(seed, jit_compile)))
        state = training_state(optimizer.variables, optimizer.m, optimizer.v, 1, step)
        self.state = state
        self.folder = str(folder)
        self.checkpoints = Checkpoints(self.folder, state, keep=3)
        self.batches = Batches(ShuffledRecords([file], seed), kind, AXES, batch_size)

    def train(self, last_step, first_step=0, save_checkpoints_steps=100, iterations_per_loop=100, max_bad_steps=0):
        limits = Limits(first_step, last_step, save_checkpoints_steps, iterations_per_loop, max_bad_steps)
        self.trainer.train(self.batches, limits, self.checkpoints, os.path.join(self.folder, "train"))
        return self

    def values(self):
        return {name: variable.numpy() for name, variable in self.state.items()}


def pretraining_features(rng, num_masks):
    ids = rng.integers(5, VOCAB, SEQ)
    return {
        "input_ids": ids,
        "input_mask": np.ones(SEQ, int),
        "segment_ids": np.repeat([0, 1], SEQ // 2),
        "masked_lm_positions": [*range(1, 1 + num_masks), *[0] * (MASKS - num_masks)],
        "masked_lm_ids": [*ids[1 : 1 + num_masks], *[0] * (MASKS - num_masks)],
        "masked_lm_weights": [1.0] * num_masks + [0.0] * (MASKS - num_masks),
        "next_sentence_labels": [int(ids[0] % 2)],
    }


def classification_features(rng):
    ids = rng.integers(5, VOCAB, SEQ)
    return {
        "input_ids": ids,
        "input_mask": np.ones(SEQ, int),
        "segment_ids": np.zeros(SEQ, int),
        "label_ids": int(ids[1] > 11),
        "is_real_example": 1,
    }


@pytest.fixture(scope="session")
def pretraining_file(tmp_path_factory):
    """11 examples with one, two or three masked positions."""
    path = str(tmp_path_factory.mktemp("pretraining") / "a.tfrecord")
    rng = np.random.default_rng(1)
    write_records([path], [serialize(pretraining_features(rng, 1 + number % MASKS), PRETRAINING) for number in range(11)])
    return RecordFile(path)


@pytest.fixture(scope="session")
def classification_file(tmp_path_factory):
    """11 examples of two classes."""
    path = str(tmp_path_factory.mktemp("classification") / "a.tfrecord")
    rng = np.random.default_rng(2)
    write_records([path], [serialize(classification_features(rng), CLASSIFICATION) for _ in range(11)])
    return RecordFile(path)


@pytest.fixture(scope="session")
def unbroken(pretraining_file, tmp_path_factory):
    """A run of 10 steps, each in a call of its own."""
    return Run(pretraining_file, tmp_path_factory.mktemp("unbroken")).train(10, iterations_per_loop=1)


@pytest.fixture(scope="session")
def by_length(tmp_path_factory):
    """A function from (buckets, batch size, steps or None) to batches of 23 examples of 2 to 8 pieces."""
    path = str(tmp_path_factory.mktemp("by_length") / "a.tfrecord")
    rng = np.random.default_rng(4)
    lengths = rng.integers(2, SEQ + 1, 23)
    rows = [classification_features(rng) | {"input_mask": [1] * length + [0] * (SEQ - length)} for length in lengths]
    write_records([path], [serialize(row, CLASSIFICATION) for row in rows])

    def batches(buckets, batch_size=4, num_steps=None):
        plan = BucketPlan(lengths, buckets, batch_size, num_steps, None if num_steps is None else 5)
        return BucketedBatches([RecordFile(path)], CLASSIFICATION, AXES, batch_size, plan)

    return batches
