"""How well a vocabulary suits a text, against the tokenizer's own pieces."""

import pytest

from bert_tf.text.coverage import Coverage, coverage_of
from bert_tf.text.word_counts import WordCounter
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.conftest import SHARED, needs_shared
from tests.text.golden import released_vocabulary, vocabulary


def test_worked_example():
    tokenizer = WordPieceTokenizer(vocabulary("the", "cat", "##s", "."), True)
    coverage = coverage_of(WordCounter(True)("The cats, the cat. \U0001f600 \U0001f600 dog"), tokenizer)
    assert coverage.figures(2) == {
        "words": 9,
        "unk_word_rate": round(4 / 9, 6),
        "pieces_per_word": round(10 / 9, 6),
        "whole_word_rate": round(4 / 9, 6),
        "unknown_words": {"\U0001f600": 2, ",": 1},
    }


def test_parts_add_up_and_nothing_has_no_shares():
    tokenizer = WordPieceTokenizer(vocabulary("a", "##b"), True)
    whole, parts = Coverage(), ["a ab b", "b c", ""]
    for part in parts:
        whole.add(coverage_of(WordCounter(True)(part), tokenizer))
    assert whole.figures(9) == coverage_of(WordCounter(True)(" ".join(parts)), tokenizer).figures(9)
    assert whole.figures(0)["unknown_words"] == {}
    assert Coverage().figures(9)["pieces_per_word"] is None


@needs_shared
@pytest.mark.parametrize("name, lower", [("uncased", True), ("multi_cased", False)])
def test_figures_are_those_of_the_tokenizer_on_the_same_text(name, lower):
    lines = (SHARED / "data" / "corpus" / "wikitext2_valid.txt").read_text(encoding="utf-8").split("\n")[:1500]
    vocab = released_vocabulary(name)
    tokenizer = WordPieceTokenizer(vocab, lower)
    words = pieces = unknown = whole = 0
    for line in lines:
        tokens = tokenizer.tokenize(line)
        of_word = {}
        for id, word in zip(tokens.ids, tokens.words):
            of_word.setdefault(word, []).append(id)
        words += len(of_word)
        pieces += len(tokens.ids)
        unknown += sum(ids == [vocab.unk_id] for ids in of_word.values())
        whole += sum(len(ids) == 1 and ids != [vocab.unk_id] for ids in of_word.values())
    coverage = coverage_of(WordCounter(lower)("\n".join(lines)), tokenizer)
    assert (coverage.words, coverage.pieces, coverage.unknown, coverage.whole) == (words, pieces, unknown, whole)
    assert words > 20_000 and coverage.unknown_words.counts.total() == unknown
