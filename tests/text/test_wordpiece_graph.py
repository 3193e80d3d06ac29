import functools
import json
import random
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from bert_tf.text import character_tables as tables
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.text.wordpiece_graph import GraphTokenizer
from tests.conftest import SHARED, needs_shared
from tests.text.golden import RELEASED, SIGMAS, cases, released_vocabulary, sweep, vocabulary

# Pieces of all kinds from what the random texts below are made of.
PIECES = ["a", "e", "##a", "##e", "ae", "##st", "##s", "##t", "st", "tea", "α", "σ", "##σ", "##ς", "##α", "β", ".", "'", "[", "\u4e00",
          "\u1112", "##\u1161", "##\u11ab", "##\u302e", "##\U0001d165", "i", "##I", "A", "##É", "é", "##e\u0301"]  # fmt: skip

LOAD_AND_TOKENIZE = """
import json, sys
import tensorflow as tf
path, texts = sys.argv[1:]
signature = tf.saved_model.load(path).signatures["serving_default"]
outputs = signature(tf.constant(json.load(open(texts))))
ids = tf.RaggedTensor.from_row_lengths(outputs["values"], outputs["lengths"])
assert not [name for name in sys.modules if name.startswith(("tensorflow_text", "bert_tf"))]
print(json.dumps(ids.to_list()))
"""


class Exported(tf.Module):
    def __init__(self, tokenizer):
        super().__init__()
        self.tokenizer = tokenizer

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def serve(self, texts):
        ids = self.tokenizer(texts)
        return {"values": ids.flat_values, "lengths": ids.row_lengths()}


@functools.cache
def own_tokenizers(lower: bool) -> tuple[GraphTokenizer, WordPieceTokenizer]:
    vocab = vocabulary(*PIECES)
    return GraphTokenizer(vocab, lower), WordPieceTokenizer(vocab, lower)


def assert_same(graph: GraphTokenizer, reference: WordPieceTokenizer, texts: list[str]) -> list[list[int]]:
    """Returns the ids, after comparing them and the offsets with those of the reference."""
    ids, starts, ends = (values.to_list() for values in graph.with_offsets(texts))
    assert graph(texts).to_list() == ids
    for text, *found in zip(texts, ids, starts, ends):
        tokens = reference.tokenize(text)
        assert found[0] == tokens.ids == reference.encode(text), ascii(text)
        assert list(zip(*found[1:])) == tokens.offsets, ascii(text)
    return ids


def words(graph: GraphTokenizer, texts: list[str]) -> list[list[str]]:
    return [[word.decode("utf-8") for word in row] for row in graph.basic_words(texts).to_list()]


@needs_shared
@pytest.mark.parametrize("name", RELEASED)
def test_ids_equal_the_original_and_offsets_the_reference(name):
    graph, reference = (kind(released_vocabulary(name), RELEASED[name]) for kind in (GraphTokenizer, WordPieceTokenizer))
    assert assert_same(graph, reference, [case["text"] for case in cases()]) == [case[name] for case in cases()]


@pytest.mark.parametrize("lower", [True, False])
def test_words_of_every_code_point_equal_the_original(lower):
    texts, *expected = zip(*sweep())
    found = words(own_tokenizers(lower)[0], list(texts))
    different = [f"U+{ord(text[1]):04X}: {a}, expected {b}" for text, a, b in zip(texts, found, expected[not lower]) if a != b]
    assert not different, f"{len(different)} differ: {different[:50]}"


def test_unassigned_private_and_non_characters_stay():
    texts = [f"a{char}B" for char in "\ue000\ufdd0\u0378\uffff\U000e1000\U0010ffff"]
    assert words(own_tokenizers(True)[0], texts) == [[text.lower()] for text in texts]


@pytest.mark.parametrize("lower", [True, False])
def test_random_texts_of_troublesome_characters(lower):
    texts = _random_texts(4000, seed=7)
    graph, reference = own_tokenizers(lower)
    ids = assert_same(graph, reference, texts)
    assert words(graph, texts) == [reference.basic_words(text) for text in texts]
    assert len({id for row in ids for id in row}) > 20  # the texts do reach the pieces


@pytest.mark.parametrize(("text", "expected"), SIGMAS)
def test_a_capital_sigma_is_final_at_the_end_of_a_white_space_token(text, expected):
    assert words(own_tokenizers(True)[0], [text]) == [expected]


@pytest.mark.parametrize("texts", [[], [""], ["", " ", ""], ["a"], ["", "a tea", "", "a" * 200, "a" * 201, "\u0301"]])
@pytest.mark.parametrize("lower", [True, False])
def test_empty_and_single_batches(texts, lower):
    graph, reference = own_tokenizers(lower)
    assert_same(graph, reference, texts)
    ids = graph(tf.constant(texts, tf.string))
    assert (ids.dtype, ids.shape.rank, ids.nrows()) == (tf.int32, 2, len(texts))


def test_bytes_that_are_not_utf8_are_dropped_as_replacement_characters():
    graph, reference = own_tokenizers(True)
    texts = [b"a\xffe", b"a\xe4\xb8e", b"a\xed\xa0\x80e", b"\xf0\x9f\x98 st"]
    ids, starts, ends = (values.to_list() for values in graph.with_offsets(texts))
    decoded = [reference.tokenize(text.decode("utf-8", errors="replace")) for text in texts]
    assert [tokens.pieces for tokens in decoded] == [["ae"], ["ae"], ["ae"], ["st"]]
    assert ids == [tokens.ids for tokens in decoded]
    assert [list(zip(*row)) for row in zip(starts, ends)] == [tokens.offsets for tokens in decoded]


def test_runs_inside_a_dataset():
    graph, _ = own_tokenizers(True)
    dataset = tf.data.Dataset.from_tensor_slices(["a tea", "", "st a"]).batch(2).map(lambda texts: graph(texts).to_tensor())
    assert [batch.numpy().tolist() for batch in dataset] == [[[5, 14], [0, 0]], [[13, 5]]]


def test_a_saved_model_needs_tensorflow_only(tmp_path):
    texts = _random_texts(200, seed=8)
    vocab = vocabulary(*PIECES)
    if SHARED.is_dir():
        texts += [case["text"] for case in cases()]
        vocab = released_vocabulary("uncased")
    path = _export(GraphTokenizer(vocab, True), tmp_path)
    reference = WordPieceTokenizer(vocab, True)
    assert _tokenize_in_another_process(path, texts, tmp_path) == [reference.encode(text) for text in texts]
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    assert size < 4e6  # 30,522 pieces; 2 MB at the time of writing


def _export(tokenizer, folder):
    module = Exported(tokenizer)
    tf.saved_model.save(module, folder / "model", signatures=module.serve)
    model = saved_model_pb2.SavedModel.FromString((folder / "model" / "saved_model.pb").read_bytes())
    graph = model.meta_graphs[0].graph_def
    ops = {node.op for node in graph.node} | {node.op for function in graph.library.function for node in function.node_def}
    # ops of other libraries carry the library's name, as TFText>..., or are TensorFlow Text's older ones; Python functions run nowhere else
    strange = [op for op in ops if ">" in op or "Wordpiece" in op or "Sentence" in op or "PyFunc" in op]
    assert ops and not strange
    return folder / "model"


def _tokenize_in_another_process(path, texts, folder):
    (folder / "texts.json").write_text(json.dumps(texts))
    command = [sys.executable, "-c", LOAD_AND_TOKENIZE, str(path), str(folder / "texts.json")]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def _random_texts(count: int, seed: int) -> list[str]:
    """Returns texts of the characters that tokenizers get wrong, each mixing a few kinds."""
    table = tables.character_tables()
    codes = np.arange(0x110000)
    codes = codes[(codes < 0xD800) | (codes > 0xDFFF)]
    properties = table.properties[table.pages[codes >> 8] + (codes & 255)]
    bits = (tables.REORDERED, tables.IGNORABLE, tables.DROPPED, tables.MARK, tables.PUNCTUATION, tables.SPACE)
    kinds = [list(map(chr, codes[properties & bit > 0])) for bit in bits]
    kinds += [list(map(chr, codes[properties >> tables.COUNT_SHIFT > 1])), list(map(chr, table.combining_codes))]
    kinds += [list("ΣΣΣσςΑαβ.'"), list("aAsStTeeeIi"), list("éÉİß[].'"), list("\u4e00\u4e8c\u3007"), list("ae   st"), ["\ud55c", "\u1112"]]
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        chosen = rng.sample(kinds, rng.randint(1, 5))
        texts.append("".join(rng.choice(rng.choice(chosen)) for _ in range(rng.choice([3, 8, 20, 60, 250]))))
    return texts
