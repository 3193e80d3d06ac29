"""What is in a SavedModel, what it answers in a process that knows TensorFlow only, and how writing it fails."""

import dataclasses
import os
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from bert_tf.config import BertConfig
from bert_tf.data.records import serialize
from bert_tf.data.schema import CLASSIFICATION
from bert_tf.errors import InputError
from bert_tf.serving.export import ExportError, export, has_export
from bert_tf.text.pack import pack
from bert_tf.text.vocab import Vocabulary
from tests.conftest import SHARED, needs_shared
from tests.serving.conftest import (
    CONFIG,
    LABELS,
    MAX_SEQ_LENGTH,
    PAIRS,
    TEXTS,
    TOKENIZER,
    VOCAB,
    Small,
    ask_in_another_process,
    make_encoder,
)

INPUTS = ("input_ids", "input_mask", "segment_ids")
TOLERANCE = 1e-5


def packed(texts, pairs=None):
    """The features of each text as the training data holds them: int32[batch, MAX_SEQ_LENGTH]."""
    ids_b = [TOKENIZER.encode(pair) or None for pair in pairs] if pairs else [None] * len(texts)
    rows = [pack(TOKENIZER.encode(a), b, MAX_SEQ_LENGTH, VOCAB) for a, b in zip(texts, ids_b)]
    return {name: np.asarray([row[name] for row in rows], np.int32) for name in INPUTS}


def probabilities(model, inputs):
    logits = model(inputs, training=False)["classifier"].numpy().astype(np.float64)
    return np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))


def serialized(inputs):
    return [
        serialize({name: inputs[name][row] for name in INPUTS} | {"label_ids": 0}, CLASSIFICATION)
        for row in range(len(inputs["input_ids"]))
    ]


def assert_three_times_the_same(answers):
    for turns in answers:
        for output, value in turns[0].items():
            assert value.tolist() == turns[1][output].tolist() == turns[2][output].tolist()


def assert_classified(answer, expected):
    np.testing.assert_allclose(answer["probabilities"], expected, atol=TOLERANCE, rtol=0)
    assert answer["label"].tolist() == [LABELS[number].encode() for number in expected.argmax(axis=1)]


SOME = (slice(None), slice(1, 2), slice(3, 6))  # batches of six, one and three texts
SHORTEST = {name: np.asarray([[number]], np.int32) for name, number in zip(INPUTS, (VOCAB.cls_id, 1, 0))}


def part_of(inputs, rows):
    return {name: value[rows] for name, value in inputs.items()}


def test_exports_in_a_process_that_knows_tensorflow_only(classifier, pair_classifier, encoder, tmp_path):
    """H38 and rows 13 to 15: raw text, ids and examples, batches of 1 and 3, lengths 1 and the longest."""
    every = packed(TEXTS)
    requests = []
    for path in (classifier.path, encoder.path):
        requests += [(path, "serving_default", {"text": TEXTS[rows]}) for rows in SOME]
        requests += [(path, "ids", part_of(every, rows)) for rows in SOME]
        requests += [(path, "examples", {"examples": serialized(part_of(every, rows))}) for rows in SOME]
        requests += [(path, "ids", SHORTEST)]
    requests += [(pair_classifier.path, "serving_default", {"text": TEXTS[rows], "text_pair": PAIRS[rows]}) for rows in SOME]
    said, answers = ask_in_another_process(requests, tmp_path)

    assert said["foreign"] == []
    outputs, of_encoder = ["label", "probabilities"], ["input_mask", "pooled_output", "sequence_output"]
    others = {"ids": [sorted(INPUTS), outputs], "examples": [["examples"], outputs]}
    assert said["signatures"] == {
        classifier.path: {"serving_default": [["text"], outputs], **others},
        pair_classifier.path: {"serving_default": [["text", "text_pair"], outputs], **others},
        encoder.path: {name: [inputs, of_encoder] for name, (inputs, _) in ({"serving_default": [["text"], 0]} | others).items()},
    }
    assert_three_times_the_same(answers)
    first = [turns[0] for turns in answers]
    check_classifier(first[:10], classifier.module.model, every)
    check_encoder(first[10:20], encoder.module.model, every)
    expected = probabilities(pair_classifier.module.model, packed(TEXTS, PAIRS))
    for answer, rows in zip(first[20:], SOME, strict=True):
        assert_classified(answer, expected[rows])


def check_classifier(answers, model, every):
    expected = probabilities(model, every)
    assert len({row.tobytes() for row in expected.round(3)}) >= 4  # the texts are told apart
    for answer, rows in zip(answers[:-1], 3 * SOME, strict=True):
        assert_classified(answer, expected[rows])
    assert_classified(answers[-1], probabilities(model, SHORTEST))


def check_encoder(answers, model, every):
    expected = {name: value.numpy() for name, value in model(every, training=False).items() if name != "all_layers"}
    lengths = every["input_mask"].sum(axis=1)
    for number, (answer, rows) in enumerate(zip(answers[:-1], 3 * SOME, strict=True)):
        np.testing.assert_allclose(answer["pooled_output"], expected["pooled_output"][rows], atol=TOLERANCE, rtol=0)
        # raw text is padded to the longest of the batch, ids and examples come as long as they are
        assert answer["sequence_output"].shape[1] == (lengths[rows].max() if number < len(SOME) else MAX_SEQ_LENGTH)
        assert answer["input_mask"].sum(axis=1).tolist() == lengths[rows].tolist()
        for row, length, found in zip(expected["sequence_output"][rows], lengths[rows], answer["sequence_output"]):
            np.testing.assert_allclose(found[:length], row[:length], atol=TOLERANCE, rtol=0)
    assert answers[-1]["sequence_output"].shape == (1, 1, CONFIG.hidden_size)


def test_an_encoder_without_a_vocabulary_takes_ids(tmp_path):
    path = export(make_encoder(vocab=None), str(tmp_path), {}, [{"signature": "ids", **{name: [[1, 1]] for name in INPUTS}}])
    loaded = tf.saved_model.load(path)
    assert sorted(loaded.signatures["serving_default"].structured_input_signature[1]) == sorted(INPUTS)


def operations(path):
    """Returns the names of all operations in a SavedModel, those of its functions included."""
    saved = saved_model_pb2.SavedModel.FromString((Path(path) / "saved_model.pb").read_bytes())
    graphs = [meta_graph.graph_def for meta_graph in saved.meta_graphs]
    nodes = [node for graph in graphs for node in graph.node]
    nodes += [node for graph in graphs for function in graph.library.function for node in function.node_def]
    return {node.op for node in nodes}


@pytest.mark.parametrize("which", ["classifier", "pair_classifier", "encoder"])
def test_no_random_and_no_foreign_operation(which, request):
    found = operations(request.getfixturevalue(which).path)
    assert {"MatMul", "LookupTableFindV2"} <= found  # the model and the tokenizer are in there
    assert not [name for name in found if re.search("random|multinomial|dropout|rng|pyfunc", name, re.IGNORECASE)]
    # operations of other libraries carry their name, as TFText>..., or one of these
    assert not [
        name for name in found if ">" in name or re.search("sentence|wordpiece|tokeniz|normalizeutf8|casefold", name, re.IGNORECASE)
    ]


def test_assets_are_in_it_letter_by_letter(classifier):
    folder = Path(classifier.path) / "assets"
    assert sorted(os.listdir(folder)) == sorted(classifier.assets)
    for name, text in classifier.assets.items():
        assert (folder / name).read_bytes() == text.encode("utf-8")
    # H06: a piece that is U+2028 is one line
    vocab = Vocabulary.from_text((folder / "vocab.txt").read_text(encoding="utf-8"))
    assert (len(vocab), vocab.pieces) == (len(VOCAB), VOCAB.pieces)
    assert BertConfig.from_json((folder / "bert_config.json").read_text()) == CONFIG


PROBES = [{"signature": "serving_default", "text": ["ab", ""]}]


def test_versions_count_up(tmp_path):
    for name in ("7", "archive", "08x", "partial-3"):
        (tmp_path / name).mkdir()
    assert export(Small(), str(tmp_path), {}, PROBES) == f"{tmp_path}/8"
    assert export(Small(), str(tmp_path), {"a/b.txt": "x"}, PROBES) == f"{tmp_path}/9"
    assert (tmp_path / "9" / "assets" / "a" / "b.txt").read_text() == "x"
    assert export(Small(), str(tmp_path / "new" / "export"), {}, PROBES) == f"{tmp_path}/new/export/1"
    assert not [name for name in os.listdir(tmp_path) if name.startswith("partial-") and name != "partial-3"]


def test_what_a_killed_export_left_is_written_over(tmp_path):
    (tmp_path / "partial-1" / "variables").mkdir(parents=True)
    (tmp_path / "partial-1" / "stray").write_text("x")
    path = export(Small(), str(tmp_path), {}, PROBES)
    assert os.listdir(tmp_path) == ["1"] and "stray" not in os.listdir(path)


def test_a_model_that_answers_otherwise_when_reloaded_is_not_exported(tmp_path):
    export(Small(), str(tmp_path), {}, PROBES)
    clock = Small(lambda text: tf.fill(tf.shape(text), tf.timestamp()))
    with pytest.raises(ExportError, match="signature serving_default, output length: the reloaded model's answer differs"):
        export(clock, str(tmp_path), {}, PROBES)
    assert os.listdir(tmp_path) == ["1"]


def test_a_failure_on_the_way_leaves_no_half_version(tmp_path):
    with pytest.raises(KeyError):
        export(Small(), str(tmp_path), {}, [{"signature": "no_such"}])
    with pytest.raises(InputError, match=re.escape(str(tmp_path))) as caught:
        export(Small(), str(tmp_path), {"file": "x", "file/under": "y"}, PROBES)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"file/export: cannot be written .*check the path and its permissions") as caught:
        export(Small(), str(tmp_path / "file" / "export"), {}, PROBES)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["file"]


@needs_shared
def test_the_graph_of_a_real_vocabulary_is_small(tmp_path):
    vocab = Vocabulary.from_text((SHARED / "data" / "vocab" / "uncased_vocab.txt").read_text(encoding="utf-8"))
    module = make_encoder(vocab, dataclasses.replace(CONFIG, vocab_size=len(vocab)))
    path = export(module, str(tmp_path), {}, [])
    assert (Path(path) / "saved_model.pb").stat().st_size < 10e6


def test_what_a_killed_export_left_is_none(tmp_path):
    assert not has_export(str(tmp_path / "export"))
    (tmp_path / "export" / "partial-1").mkdir(parents=True)
    assert not has_export(str(tmp_path / "export"))
    (tmp_path / "export" / "1").mkdir()
    assert has_export(str(tmp_path / "export"))
