"""Parameter counts of the released models: encoder with pooler, without heads."""

import gc

import keras
import pytest

from bert_tf.config import BertConfig
from bert_tf.modeling import encoder
from bert_tf.modeling.encoder import BertEncoder

RELEASED = [
    ("tiny", 30522, 4_385_920),
    ("small", 30522, 28_763_648),
    ("medium", 30522, 41_373_184),
    ("base", 30522, 109_482_240),
    ("base", 28996, 108_310_272),
    ("base", 21128, 102_267_648),
    ("base", 119547, 177_853_440),
    ("large", 30522, 335_141_888),
    ("large", 28996, 333_579_264),
]


@pytest.mark.parametrize("size, vocab_size, count", RELEASED)
def test_count_of_the_built_model(size, vocab_size, count, monkeypatch):
    # Drawing hundreds of millions of random numbers takes seconds and changes no shape.
    monkeypatch.setattr(encoder, "initializer", lambda config: keras.initializers.Zeros())
    model = BertEncoder(BertConfig.of_size(size, vocab_size))
    assert model.count_params() == sum(weight.value.shape.num_elements() for weight in model.weights) == count
    del model
    gc.collect()
