import pytest
from absl import logging

from bert_tf.errors import InputError
from bert_tf.text.casing import cased_share, looks_cased, resolve_do_lower_case, warn_of_letters_taken_apart
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.conftest import needs_shared
from tests.text.golden import RELEASED, released_vocabulary, vocabulary

LOWER = vocabulary("red", "##s", *map(str, range(98)))
CASED = vocabulary("Red", "##S", *map(str, range(98)))
DESCRIBED = "vocab.txt is a cased vocabulary (2.0% of its pieces hold A to Z)"


@pytest.fixture
def warnings(monkeypatch):
    lines = []
    monkeypatch.setattr(logging, "warning", lambda message, *values: lines.append(message % values))
    return lines


def test_special_tokens_do_not_count():
    assert cased_share(vocabulary("[unused1]", "[UNUSED2]")) == 0
    assert cased_share(CASED) == 0.02


def test_over_one_percent_is_cased():
    assert not looks_cased(vocabulary("Red", *map(str, range(99))))
    assert looks_cased(vocabulary("Red", *map(str, range(98))))


@pytest.mark.parametrize(
    ("requested", "vocab", "recorded", "expected"),
    [
        (None, LOWER, None, True),
        (None, CASED, None, False),
        (None, LOWER, False, False),
        (None, LOWER, True, True),
        (None, CASED, False, False),
        (True, LOWER, None, True),
        (True, LOWER, True, True),
        (False, CASED, None, False),
        (False, CASED, False, False),
        (False, LOWER, False, False),
    ],
)
def test_resolves_without_a_word(requested, vocab, recorded, expected, warnings):
    assert resolve_do_lower_case(requested, vocab, recorded, "m/bert_config.json") is expected
    assert not warnings


def test_warns_where_only_the_vocabulary_looks_lower_cased(warnings):
    assert resolve_do_lower_case(False, LOWER, None, "m") is False
    assert len(warnings) == 1
    assert "vocab.txt looks lower-cased (0.0% of its pieces hold A to Z)" in warnings[0]


@pytest.mark.parametrize(
    ("requested", "vocab", "recorded", "message"),
    [
        (True, CASED, None, f"do_lower_case is true, but {DESCRIBED}: every capital would be lost; give --do_lower_case=false"),
        (False, LOWER, True, "do_lower_case is false, but m/bert_config.json records true for this model; give --do_lower_case=true"),
        (True, LOWER, False, "do_lower_case is true, but m/bert_config.json records false for this model; give --do_lower_case=false"),
        (True, CASED, False, "do_lower_case is true, but m/bert_config.json records false for this model; give --do_lower_case=false"),
        (None, CASED, True, f"m/bert_config.json records do_lower_case true, but {DESCRIBED}; put the files of one model together, or mend "
                            "the record"),
    ],
)  # fmt: skip
def test_refuses_contradictions(requested, vocab, recorded, message):
    with pytest.raises(InputError) as error:
        resolve_do_lower_case(requested, vocab, recorded, "m/bert_config.json")
    assert str(error.value) == message


@needs_shared
@pytest.mark.parametrize("name", RELEASED)
def test_released_vocabularies_look_as_they_are(name):
    assert looks_cased(released_vocabulary(name)) is not RELEASED[name]


def test_letters_that_lower_casing_takes_apart_are_told(warnings):
    # jamo as they are, kana without marks, and accents, of which nobody is surprised
    warn_of_letters_taken_apart(["caf\u00e9", "\u65e5\u672c\u304b", "\u1112\u1161\u11ab"], "train")
    assert not warnings
    warn_of_letters_taken_apart(["plain", "\ud55c\uad6d\uc5b4", "\u304c\u304e", "\u30d1"], "dev")
    (line,) = warnings
    assert line.startswith("dev: 3 of 4 texts hold Hangul or voiced kana, which an uncased model's tokenizer takes apart")
    words = [WordPieceTokenizer(LOWER, True).basic_words(text) for text in ("\ud55c", "\u304c")]
    assert words == [["\u1112\u1161\u11ab"], ["\u304b"]]
