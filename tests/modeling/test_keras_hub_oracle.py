"""The encoder against another implementation, keras-hub's, with the same random weights."""

import os

import numpy as np
import pytest

from bert_tf.config import BertConfig
from bert_tf.modeling.encoder import BertEncoder

CONFIG = BertConfig(
    vocab_size=60,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=20,
    type_vocab_size=2,
)


@pytest.fixture(scope="module")
def backbone():
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    models = pytest.importorskip("keras_hub").models
    return models.BertBackbone(
        vocabulary_size=60,
        num_layers=2,
        num_heads=4,
        hidden_dim=32,
        intermediate_dim=48,
        dropout=0.0,
        max_sequence_length=20,
        num_segments=2,
    )


def test_same_weights_same_outputs(backbone):
    encoder, rng = BertEncoder(CONFIG), np.random.default_rng(5)
    for variable in encoder.weights:
        variable.assign(rng.normal(variable.path.endswith("gamma"), 0.2, variable.shape))
    copy_to(backbone, encoder)
    ids = rng.integers(1, 60, (3, 14)).astype("int32")
    mask = (np.arange(14) < np.array([[14], [9], [3]])).astype("int32")
    segments = (np.arange(14) >= np.array([[6], [4], [14]])).astype("int32") * mask
    expected = backbone({"token_ids": ids, "padding_mask": mask, "segment_ids": segments})
    found = encoder({"input_ids": ids, "input_mask": mask, "segment_ids": segments})
    np.testing.assert_allclose(found["sequence_output"] * mask[..., None], expected["sequence_output"] * mask[..., None], atol=1e-5)
    np.testing.assert_allclose(found["pooled_output"], expected["pooled_output"], atol=1e-5)


def copy_to(backbone, encoder):
    """Puts our weights into keras-hub's layers, whose attention kernels are [hidden, heads, head_dim] and [heads, head_dim, hidden]."""
    embeddings = encoder.embeddings
    backbone.get_layer("token_embedding").set_weights([embeddings.word_embeddings])
    backbone.get_layer("position_embedding").set_weights([embeddings.position_embeddings])
    backbone.get_layer("segment_embedding").set_weights([embeddings.token_type_embeddings])
    backbone.get_layer("embeddings_layer_norm").set_weights(embeddings.norm.get_weights())
    backbone.get_layer("pooled_dense").set_weights(encoder.pooler.get_weights())
    for number, ours in enumerate(encoder.transformer):
        theirs = backbone.get_layer(f"transformer_layer_{number}")
        attention = theirs._self_attention_layer
        for name in ("query", "key", "value"):
            kernel, bias = getattr(ours.attention, name).get_weights()
            getattr(attention, f"_{name}_dense").set_weights([kernel.reshape(32, 4, 8), bias.reshape(4, 8)])
        kernel, bias = ours.attention.output_dense.get_weights()
        attention._output_dense.set_weights([kernel.reshape(4, 8, 32), bias])
        theirs._self_attention_layer_norm.set_weights(ours.attention_norm.get_weights())
        theirs._feedforward_intermediate_dense.set_weights(ours.intermediate.get_weights())
        theirs._feedforward_output_dense.set_weights(ours.output_dense.get_weights())
        theirs._feedforward_layer_norm.set_weights(ours.output_norm.get_weights())
