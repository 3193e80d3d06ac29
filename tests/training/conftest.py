"""A model of one layer and hidden size 16, and data for it that is learnt from a few steps."""

import numpy as np
import pytest

from bert_tf.config import BertConfig
from bert_tf.data.records import RecordFile, serialize, write_records
from bert_tf.data.schema import CLASSIFICATION, PRETRAINING

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
