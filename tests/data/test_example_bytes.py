"""Bytes written without TensorFlow are those that TensorFlow writes."""

import random

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data.example_bytes import frame, serialize
from bert_tf.data.schema import CLASSIFICATION, PRETRAINING, RecordKind


def by_tensorflow(features, kind: RecordKind) -> bytes:
    example = tf.train.Example()
    for feature in kind.features:
        if feature.name in features:
            target = example.features.feature[feature.name]
            values = np.atleast_1d(features[feature.name]).tolist()
            (target.float_list if feature.dtype == "float32" else target.int64_list).value.extend(values)
    return example.SerializeToString(deterministic=True)


def pretraining_features(rng: random.Random, size: int, largest: int) -> dict:
    ids = [rng.randrange(largest) for _ in range(size)]
    return {
        "input_ids": ids,
        "input_mask": [rng.randrange(2) for _ in ids],
        "segment_ids": [rng.randrange(2) for _ in ids],
        "masked_lm_positions": sorted(rng.randrange(size) for _ in range(size // 6)),
        "masked_lm_ids": ids[: size // 6],
        "masked_lm_weights": [float(rng.random()) for _ in range(size // 6)],
        "next_sentence_labels": [rng.randrange(2)],
    }


@pytest.mark.parametrize("largest", [2, 128, 129, 16_384, 30_522, 119_547, 2**31, 2**62])
@pytest.mark.parametrize("size", [6, 128, 512])
def test_pretraining_examples(largest, size):
    rng = random.Random(1)
    for _ in range(20):
        features = pretraining_features(rng, size, largest)
        assert serialize(features, PRETRAINING) == by_tensorflow(features, PRETRAINING)


@pytest.mark.parametrize(
    "change",
    [
        {"label_ids": np.int64(7)},
        {"label_ids": -1},
        {"label_ids": [-(2**63)]},
        {"input_ids": np.arange(300)},
        {"input_ids": (127, 128)},
        {"input_ids": []},
        {"is_real_example": 1},
        {"not_in_the_table": [1]},
    ],
)
def test_numbers_of_any_kind(change):
    features = {"input_ids": [1, 2], "input_mask": [1, 0], "segment_ids": [0, 0], "label_ids": 3} | change
    assert serialize(features, CLASSIFICATION) == by_tensorflow(features, CLASSIFICATION)


def test_weights_are_float32():
    features = {"masked_lm_weights": [0.1, 1.0, 0.0, -2.5, 3.4e38]}
    assert serialize(features, PRETRAINING) == by_tensorflow(features, PRETRAINING)


def test_records_are_framed_as_tensorflow_frames_them(tmp_path):
    records = [b"", b"a", bytes(range(256)) * 20]
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for record in records:
            writer.write(record)
    assert (tmp_path / "theirs").read_bytes() == b"".join(map(frame, records))
