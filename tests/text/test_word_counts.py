"""Words counted in bulk are those of the basic tokenizer, line by line; and memory has a bound."""

from collections import Counter

import pytest

from bert_tf.text.vocab_learner import special_pieces
from bert_tf.text.word_counts import WordCounter, WordTable
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.conftest import SHARED, needs_shared
from tests.text.golden import cases, sweep, vocabulary


def one_by_one(texts, lower: bool) -> Counter[str]:
    tokenizer = WordPieceTokenizer(vocabulary("a"), lower)
    return Counter(word for text in texts for word in tokenizer.basic_words(text))


@pytest.mark.parametrize("lower", [True, False])
def test_the_words_of_every_code_point(lower):
    texts, *expected = zip(*sweep())
    assert WordCounter(lower)("\n".join(texts)) == Counter(word for row in expected[not lower] for word in row)


@needs_shared
@pytest.mark.parametrize("lower", [True, False])
def test_the_words_of_golden_cases_and_of_a_book(lower):
    texts = [case["text"] for case in cases()]
    texts += (SHARED / "data" / "corpus" / "books.heldout.txt").read_text(encoding="utf-8").split("\n")[:5000]
    found = WordCounter(lower)("\n".join(texts))
    assert found == one_by_one(texts, lower)
    assert found.total() > 50_000


def test_control_characters_that_python_takes_for_white_space_join_words():
    assert WordCounter(True)("a\x1cb c\x85d") == {"ab": 1, "cd": 1}


def test_words_seen_least_are_forgotten_and_counted():
    table = WordTable(3)
    table.add({"a": 5, "b": 1})
    table.add({"a": 1, "c": 2, "d": 1})
    assert table.counts == {"a": 6, "c": 2} and table.num_forgotten == 2
    table.add({"e": 4, "f": 2})
    assert table.counts == {"a": 6, "e": 4} and table.num_forgotten == 6
    assert table.total() == 16


def test_special_tokens_are_text():
    assert WordCounter(True)("[MASK]") == {"[": 1, "mask": 1, "]": 1}
    assert "[MASK]" in special_pieces()
