"""The fast tokenizer gives the reference's ids: on the golden cases, over all code points, on real and on random text."""

import datetime
import functools
import pickle
import random
import subprocess
import sys
import unicodedata

import numpy as np
import pytest

from bert_tf.text import wordpiece_fast
from bert_tf.text.character_tables import CASED, IGNORABLE, character_tables
from bert_tf.text.characters import character_classes, character_patterns
from bert_tf.text.wordpiece import MAX_WORD_CHARS, WordPieceTokenizer
from bert_tf.text.wordpiece_fast import FastTokenizer, bulk_tokenizer
from tests.conftest import ROOT, SHARED, needs_shared
from tests.text.golden import RELEASED, SIGMAS, cases, released_vocabulary, sweep, vocabulary

CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def alphabet(chars) -> list[str]:
    return [*chars, *(f"##{char}" for char in chars)]


@functools.cache
def own_pair(lower: bool) -> tuple[FastTokenizer, WordPieceTokenizer]:
    """Both tokenizers with every character that tensorflow-text and the original treat differently in the vocabulary."""
    own = wordpiece_fast._own_classes(character_classes())
    different = map(chr, np.flatnonzero(own != wordpiece_fast._library_classes()))
    chars = dict.fromkeys([*"abcdeiABEstασςΣβéÉ.,'[]#\u4e00\u1112\u1161\u11ab\u302e\ue000\ue001\uf8ff\U0001d165", *different])
    vocab = vocabulary(*alphabet(chars), "ab", "##st", "tea", "##\u1161\u11ab", "e\u0301", "##e\u0301", "a.b", "", "a b", "##")
    return FastTokenizer(vocab, lower), WordPieceTokenizer(vocab, lower)


def assert_same(fast: FastTokenizer, reference: WordPieceTokenizer, texts) -> int:
    """Returns the number of different ids, after comparing those of each text."""
    ids, splits = fast.encode_batch(texts)
    assert (ids.dtype, splits.dtype, len(splits), splits[-1]) == (np.int32, np.int64, len(texts) + 1, len(ids))
    for text, begin, end in zip(texts, splits, splits[1:]):
        assert ids[begin:end].tolist() == reference.encode(text), ascii(text)
    return len(set(ids.tolist()))


@needs_shared
@pytest.mark.parametrize("name", RELEASED)
def test_ids_equal_the_original(name):
    fast = FastTokenizer(released_vocabulary(name), RELEASED[name])
    ids, splits = fast.encode_batch([case["text"] for case in cases()])
    assert len(cases()) == 1888
    for case, begin, end in zip(cases(), splits, splits[1:]):
        assert ids[begin:end].tolist() == case[name], ascii(case["text"])
    for case in cases()[::40]:
        assert fast.encode(case["text"]) == case[name]


@needs_shared
@pytest.mark.parametrize("name", RELEASED)
def test_every_code_point_under_the_released_vocabularies(name):
    vocab = released_vocabulary(name)
    texts = [text for text, *_ in sweep()]
    assert_same(FastTokenizer(vocab, RELEASED[name]), WordPieceTokenizer(vocab, RELEASED[name]), texts)


@pytest.mark.parametrize("lower", [True, False])
def test_every_code_point_equals_the_original(lower):
    # Each word of the sweep is a piece here, so that no two words look alike.
    texts, *expected = zip(*sweep())
    expected = expected[not lower]
    vocab = vocabulary(*dict.fromkeys(word for row in expected for word in row))
    ids, splits = FastTokenizer(vocab, lower).encode_batch(texts)
    pieces = [vocab.pieces[id] for id in ids]
    assert len(texts) == 144762
    different = [f"U+{ord(text[1]):04X}" for text, words, i, j in zip(texts, expected, splits, splits[1:]) if pieces[i:j] != words]
    assert not different


@pytest.mark.parametrize("codes", ["assigned", pytest.param("all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("lower", [True, False])
def test_every_code_point_equals_the_reference(lower, codes):
    codes = assigned() if codes == "assigned" else CODES
    assert_same(*own_pair(lower), [f"a{chr(code)}B {chr(code)}" for code in codes])


def test_folding_a_text_is_folding_its_tokens():
    """What lets whole texts be folded at once: nothing in lower-casing or decomposition sees beyond a token."""
    classes, patterns, tables = character_classes(), character_patterns(), character_tables()
    properties = tables.properties[tables.pages[np.arange(0x110000) >> 8] + (np.arange(0x110000) & 255)]
    for code in CODES:
        folded = patterns.marks.sub("", unicodedata.normalize("NFD", chr(code).lower()))
        # what cuts text into tokens does so before and after, and nothing else comes to do so; what is dropped does not come back
        for kind in (classes.space, classes.cjk):
            assert [ord(char) in kind for char in folded] == [code in kind] * len(folded), hex(code)
        if code in classes.space or code in classes.cjk:
            assert len(folded) == 1 and not properties[code] & (CASED | IGNORABLE) and unicodedata.combining(chr(code)) == 0, hex(code)
        assert code in classes.dropped or not classes.dropped.intersection(map(ord, folded)), hex(code)
        assert len(folded) <= len(chr(code).encode())


@needs_shared
@pytest.mark.parametrize("name", RELEASED)
def test_every_line_of_a_book_corpus(name):
    lines = (SHARED / "data" / "corpus" / "books.heldout.txt").read_text(encoding="utf-8").split("\n")
    vocab = released_vocabulary(name)
    fast, reference = FastTokenizer(vocab, RELEASED[name]), WordPieceTokenizer(vocab, RELEASED[name])
    ids, splits = fast.encode_batch(lines)
    expected_ids, expected_splits = reference.encode_batch(lines)
    np.testing.assert_array_equal(splits, expected_splits)
    np.testing.assert_array_equal(ids, expected_ids)
    assert len(lines) > 19_000


@pytest.mark.parametrize(("text", "words"), SIGMAS)
def test_a_capital_sigma_is_final_at_the_end_of_a_white_space_token(text, words):
    vocab = vocabulary(*dict.fromkeys(words))
    assert [vocab.pieces[id] for id in FastTokenizer(vocab, True).encode(text)] == words


@pytest.mark.parametrize("char", ["a", "é", "α", "\u1112", "한", "\U0001d41a", "\u4e00", "e\u0301", "a\u200b", "."])
@pytest.mark.parametrize("lower", [True, False])
def test_the_limit_of_200_characters_is_counted_after_folding(char, lower):
    fast, reference = own_pair(lower)
    texts = [f"tea {char * count} tea" for count in (66, 67, 100, 101, 133, 199, 200, 201, 202, 400)] + [char * 5000, f"{char * 201}." * 3]
    assert_same(fast, reference, texts)


def test_the_limit_itself():
    fast, _ = own_pair(True)
    a, continued = fast.vocab.ids["a"], fast.vocab.ids["##a"]
    assert fast.encode("a" * MAX_WORD_CHARS) == [a] + [continued] * (MAX_WORD_CHARS - 1)
    assert fast.encode("a" * (MAX_WORD_CHARS + 1)) == [fast.vocab.unk_id]


@pytest.mark.parametrize("texts", [[], [""], ["", " ", ""], ["a"], ["", "a tea", "", "\u0301", "\0", "\ufffd"], ["a\nb\tc\r\n\u2028d"]])
@pytest.mark.parametrize("lower", [True, False])
def test_empty_texts_and_batches(texts, lower):
    fast, reference = own_pair(lower)
    assert_same(fast, reference, texts)
    expected = reference.encode_batch(texts)
    for found, wanted in zip(fast.encode_batch(texts), expected):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype


@pytest.mark.parametrize("lower", [True, False])
def test_private_and_half_characters_are_letters(lower):
    fast, reference = own_pair(lower)
    texts = [chr(code) + end for code in range(0xE000, 0xE040) for end in ("", "a", " \ue003 ", "\ue002\ue003")]
    assert_same(fast, reference, [*texts, "a\ud800", "\udfff", "a \ud83d b"])


def random_texts(rng: random.Random, count: int) -> list[str]:
    """Returns texts of assigned code points, from all over or of the kinds that tokenizers get wrong."""
    classes = character_classes()
    own = wordpiece_fast._own_classes(classes)
    different = np.flatnonzero(own != wordpiece_fast._library_classes()).tolist()
    kinds = [sorted(kind) for kind in (classes.dropped, classes.space, classes.punctuation, classes.marks)]
    kinds += [different, list(map(ord, "ΣΣΣσςΑαβ.'")), list(map(ord, "aAbBsStTeeiI")), list(map(ord, "ab  st")), range(0x20, 0x7F)]
    kinds += [[code for code in CODES if unicodedata.combining(chr(code)) and unicodedata.category(chr(code)) != "Mn"]]
    kinds += [range(0xAC00, 0xD7A4), range(0x4E00, 0x9FFF), range(0xE000, 0xE010), assigned()]
    texts = []
    for _ in range(count):
        chosen = rng.sample(kinds, rng.randint(1, 4))
        texts.append("".join(chr(rng.choice(rng.choice(chosen))) for _ in range(rng.choice([1, 3, 8, 20, 60, 250]))))
    return texts


@functools.cache
def assigned() -> list[int]:
    return [code for code in CODES if unicodedata.category(chr(code)) != "Cn"]


@pytest.mark.parametrize("lower", [True, False])
def test_random_texts(lower):
    assert assert_same(*own_pair(lower), random_texts(random.Random(5), 5000)) > 25


@pytest.mark.slow
@pytest.mark.parametrize("lower", [True, False])
def test_a_million_random_texts(lower):
    seed = datetime.date.today().toordinal()
    print(f"seed of the texts: {seed}")
    rng = random.Random(seed)
    pairs = [own_pair(lower)]
    if SHARED.is_dir():
        vocab = released_vocabulary("chinese" if lower else "multi_cased")
        pairs.append((FastTokenizer(vocab, lower), WordPieceTokenizer(vocab, lower)))
    for _ in range(50):
        texts = random_texts(rng, 10_000)
        for pair in pairs:
            assert_same(*pair, texts)


def test_pickled_it_gives_the_same():
    fast, _ = own_pair(True)
    assert pickle.loads(pickle.dumps(fast)).encode("A tea.") == fast.encode("A tea.")


def test_without_tensorflow_text_the_reference_takes_over_and_says_so_once():
    code = """
import sys
sys.modules["tensorflow_text"] = None
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece_fast import bulk_tokenizer
vocab = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b"])
for _ in range(2):
    ids, splits = bulk_tokenizer(vocab, True).encode_batch(["Ab \\u00e4", "", "b"])
    print(type(bulk_tokenizer(vocab, True)).__name__, ids.tolist(), splits.tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["WordPieceTokenizer [4, 5, 4, 1] [0, 3, 3, 4]"] * 2
    assert done.stderr.count("tensorflow-text is not installed") == 1


def test_with_it_the_fast_one_is_taken_where_it_pays():
    assert isinstance(bulk_tokenizer(vocabulary("a"), True), FastTokenizer)
    enough = wordpiece_fast.WORTH_FAST_CHARS
    assert isinstance(bulk_tokenizer(vocabulary("a"), True, num_chars=enough), FastTokenizer)
    assert isinstance(bulk_tokenizer(vocabulary("a"), True, num_chars=enough - 1), WordPieceTokenizer)


def test_texts_one_by_one():
    fast, reference = own_pair(True)
    texts = ["A tea.", "", " ", "st\u00e9"]
    assert fast.encode_each(texts) == reference.encode_each(texts) == [fast.encode(text) for text in texts]
    assert fast.encode_each([]) == []
