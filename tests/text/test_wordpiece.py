import pickle
import unicodedata
from itertools import pairwise

import pytest

from bert_tf.text.wordpiece import Tokens, WordPieceTokenizer
from tests.conftest import needs_shared
from tests.text.golden import RELEASED, SIGMAS, cases, released_vocabulary, sweep, vocabulary


def tokenize(text: str, *pieces: str, lower: bool = True) -> Tokens:
    return WordPieceTokenizer(vocabulary(*pieces), lower).tokenize(text)


def located(text: str, *pieces: str, lower: bool = True) -> list[tuple[str, tuple[int, int]]]:
    tokens = tokenize(text, *pieces, lower=lower)
    return list(zip(tokens.pieces, tokens.offsets))


@needs_shared
@pytest.mark.parametrize("name", RELEASED)
def test_ids_equal_the_original(name):
    tokenizer = WordPieceTokenizer(released_vocabulary(name), RELEASED[name])
    for case in cases():
        assert tokenizer.encode(case["text"]) == case[name], case["text"]
        assert tokenizer.tokenize(case["text"]).ids == case[name], case["text"]
    assert len(cases()) == 1888


@pytest.mark.parametrize("lower", [True, False])
def test_words_of_every_code_point_equal_the_original(lower):
    # The sweep is of Unicode 14, Python 3.11's; 15.0 and 15.1 (Python 3.12 and 3.13) change the words of none of its code points.
    tokenizer = WordPieceTokenizer(vocabulary(), lower)
    different = [
        f"U+{ord(text[1]):04X} {unicodedata.category(text[1])}: {tokenizer.basic_words(text)}, expected {words}"
        for text, *expected in sweep()
        if tokenizer.basic_words(text) != (words := expected[not lower])
    ]
    assert not different, f"{len(different)} differ under Unicode {unicodedata.unidata_version}: {different[:50]}"
    assert len(sweep()) == 144762


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("Größe α-Teilchen", ["große", "α", "-", "teilchen"], [("große", (0, 5)), ("α", (6, 7)), ("-", (7, 8)), ("teilchen", (8, 16))]),
        ("Bra\u0308n's", ["bran", "'", "s"], [("bran", (0, 5)), ("'", (5, 6)), ("s", (6, 7))]),
        ("\U0001f600 ok", ["ok"], [("[UNK]", (0, 1)), ("ok", (2, 4))]),
        ("cafe\u0301 x", ["cafe", "x"], [("cafe", (0, 5)), ("x", (6, 7))]),
        ("New  York-based", ["new", "york", "-", "based"], [("new", (0, 3)), ("york", (5, 9)), ("-", (9, 10)), ("based", (10, 15))]),
        ("\u200bab\u200b\u200b c\u0301\u200b", ["ab", "c"], [("ab", (1, 3)), ("c", (6, 8))]),
        ("a\u200bb", ["a", "##b"], [("a", (0, 1)), ("##b", (2, 3))]),
        ("\u0301 \u0301a", ["a"], [("a", (3, 4))]),
        ("ok\u6f22\u5b57ok", ["ok", "\u6f22", "\u5b57"], [("ok", (0, 2)), ("\u6f22", (2, 3)), ("\u5b57", (3, 4)), ("ok", (4, 6))]),
        ("\ud55c", ["\u1112", "##\u1161\u11ab"], [("\u1112", (0, 1)), ("##\u1161\u11ab", (0, 1))]),
        ("\u0130x", ["i", "##x"], [("i", (0, 1)), ("##x", (1, 2))]),
        ("unaffable!", ["un", "##aff", "##able", "!"], [("un", (0, 2)), ("##aff", (2, 5)), ("##able", (5, 9)), ("!", (9, 10))]),
        ("unaffably ok", ["un", "##aff", "##able", "ok"], [("[UNK]", (0, 9)), ("ok", (10, 12))]),
    ],
)
def test_offsets_are_code_points_of_the_original_text(text, pieces, expected):
    assert located(text, *pieces) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, ["[UNK]"]) for text in ("a\ue000b", "x\ufdd0y", "a\u0378b")),
        *((text, ["ab"]) for text in ("a\u00adb", "a\u200bb", "a\U000e0001b", "a\0b", "a\ufffdb", "a\x0bb", "a\x85b")),
        ("a\u3000b", ["[UNK]", "[UNK]"]),
    ],
)
@pytest.mark.parametrize("lower", [True, False])
def test_only_controls_and_format_characters_vanish(text, expected, lower):
    assert tokenize(text, "ab", lower=lower).pieces == expected
    tokenizer = WordPieceTokenizer(vocabulary("ab"), lower)
    assert [tokenizer.vocab.pieces[id] for id in tokenizer.encode(text)] == expected


@pytest.mark.parametrize(("text", "words"), SIGMAS)
def test_a_capital_sigma_is_final_at_the_end_of_a_white_space_token(text, words):
    assert WordPieceTokenizer(vocabulary(), do_lower_case=True).basic_words(text) == words


def test_over_200_characters_are_unknown():
    assert tokenize("a" * 200, "a", "##a").ids == [5] + [6] * 199
    assert located("a" * 201, "a", "##a") == [("[UNK]", (0, 201))]


def test_special_tokens_in_a_text_are_text():
    assert tokenize("[MASK]", "mask", "[", "]").pieces == ["[", "mask", "]"]


def test_words_are_numbered_through_the_text():
    assert tokenize("unaffable, un \u200b un", "un", "##aff", "##able", ",").words == [0, 0, 0, 1, 2, 3]


@pytest.mark.parametrize("text", ["", " \t\n", "\u200b", "\u0301"])
def test_nothing_to_tokenize(text):
    assert tokenize(text) == Tokens([], [], [], [])


def test_a_pickled_tokenizer_gives_the_same():
    tokenizer = WordPieceTokenizer(vocabulary("un", "##able"), do_lower_case=True)
    ids = tokenizer.encode("Unable")
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.encode("Unable") == ids == [5, 6]


@needs_shared
@pytest.mark.parametrize("name", RELEASED)
def test_offsets_point_at_what_the_piece_says(name):
    tokenizer = WordPieceTokenizer(released_vocabulary(name), RELEASED[name])
    plain = WordPieceTokenizer(vocabulary(), RELEASED[name])
    for case in cases():
        text, tokens = case["text"], tokenizer.tokenize(case["text"])
        assert all(left[0] <= right[0] and left[1] <= right[1] for left, right in pairwise(tokens.offsets))
        for piece, (start, end) in zip(tokens.pieces, tokens.offsets):
            assert 0 <= start < end <= len(text)
            if piece != "[UNK]":
                # alone, a sigma may take its other form; of a decomposed character, a piece may be a part
                seen = "".join(plain.basic_words(text[start:end])).replace("ς", "σ")
                spelled = piece.removeprefix("##").replace("ς", "σ")
                assert spelled in seen if RELEASED[name] else spelled == seen, (text, piece)
