from bisect import bisect_right
from collections import Counter
from random import Random

import pytest
from scipy.stats import chisquare

from bert_tf.pretraining.documents import Corpus
from bert_tf.pretraining.sentence_pairs import NextSentenceBalance, running_text, sentence_pairs, target_length, truncate_spans

# A test at a fixed seed either always passes or always fails; below this p-value the draw would be a one-in-a-thousand event.
P_VALUE = 1e-3


def make_corpus(rng: Random, num_documents: int, sentences: tuple[int, int], pieces: tuple[int, int]) -> Corpus:
    """Returns documents of so many sentences of so many pieces (least, most); every piece of the corpus is another id."""
    documents, following = [], 0
    for _ in range(num_documents):
        documents.append([])
        for _ in range(rng.randint(*sentences)):
            length = rng.randint(*pieces)
            documents[-1].append(range(following, following + length))
            following += length
    return Corpus.of_documents(documents)


def all_pairs(corpus: Corpus, max_num_pieces: int, short_seq_prob: float, seed: int, passes: int = 1):
    rng, balance = Random(seed), NextSentenceBalance()
    for _ in range(passes):
        for document in range(corpus.num_documents):
            for part in sentence_pairs(corpus, corpus.sentences_of(document), max_num_pieces, short_seq_prob, balance, rng):
                yield document, part


def document_of(corpus: Corpus, position: int) -> int:
    return corpus.document_of(bisect_right(corpus.sentence_starts, position) - 1)


@pytest.mark.parametrize(
    "sentences, pieces, max_num_pieces, short_seq_prob",
    [
        ((8, 12), (10, 10), 61, 0.0),  # hardly ever forced
        ((1, 30), (1, 40), 61, 0.1),
        ((1, 6), (5, 60), 61, 0.5),  # often forced
        ((5, 40), (70, 90), 61, 0.1),  # every sentence longer than an example
        ((2, 3), (1, 3), 2, 0.1),  # the shortest pair there is
    ],
)
def test_half_of_all_pairs_are_random_whatever_is_forced(sentences, pieces, max_num_pieces, short_seq_prob):
    corpus = make_corpus(Random(1), 400, sentences, pieces)
    labels = [part.is_random_next for _, part in all_pairs(corpus, max_num_pieces, short_seq_prob, seed=2, passes=5)]
    assert len(labels) > 3000
    assert chisquare([labels.count(True), labels.count(False)]).pvalue > P_VALUE


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_free_draws_are_fair(seed):
    rng, balance = Random(seed), NextSentenceBalance()
    draws = Counter(balance.draw(rng) for _ in range(20_000))
    assert chisquare([draws[True], draws[False]]).pvalue > P_VALUE


@pytest.mark.parametrize("forced_rate", [0.05, 0.2, 0.45])
def test_free_draws_pay_for_forced_ones(forced_rate):
    rng, balance = Random(7), NextSentenceBalance()
    labels = [balance.force() if rng.random() < forced_rate else balance.draw(rng) for _ in range(20_000)]
    assert chisquare([labels.count(True), labels.count(False)]).pvalue > P_VALUE


def _draw_after_forced(seed: int) -> bool:
    balance = NextSentenceBalance()
    balance.force()
    return balance.draw(Random(seed))


def test_the_debt_is_half_a_pair_and_paid_at_once_where_it_can_be():
    balance = NextSentenceBalance()
    assert balance.force() is True
    assert balance.debt == 0.5
    assert not balance.in_arrears
    assert not any(_draw_after_forced(seed) for seed in range(20))
    balance.draw(Random(1))
    assert balance.debt == 0
    assert any(balance.draw(Random(seed)) for seed in range(20))


def test_corpus_of_one_sentence_documents_can_only_be_random():
    corpus = make_corpus(Random(1), 20, (1, 1), (5, 9))
    assert all(part.is_random_next for _, part in all_pairs(corpus, 61, 0.1, seed=3))


def test_random_text_comes_from_every_other_document_alike_and_never_from_the_same():
    corpus = make_corpus(Random(1), 12, (20, 20), (8, 8))
    counts: Counter[tuple[int, int]] = Counter()
    for document, part in all_pairs(corpus, 61, 0.1, seed=5, passes=300):
        other = document_of(corpus, part.b_begin)
        assert document_of(corpus, part.a_begin) == document_of(corpus, part.a_end - 1) == document
        assert document_of(corpus, part.b_end - 1) == other
        assert (other != document) == part.is_random_next
        if part.is_random_next:
            counts[(other - document) % 12] += 1
    assert set(counts) == set(range(1, 12))
    assert chisquare(list(counts.values())).pvalue > P_VALUE


def test_no_sentence_twice_and_true_pairs_are_neighbours():
    # whole sentences only, as nothing gets cut: 4 pieces a sentence, 16 in an example
    corpus = make_corpus(Random(1), 40, (12, 12), (4, 4))
    for seed in range(10):
        in_order: list[int] = []
        for _, part in all_pairs(corpus, 16, 0.0, seed):
            a, b = range(part.a_begin, part.a_end), range(part.b_begin, part.b_end)
            assert len(a) % 4 == len(b) % 4 == 0
            assert not set(a) & set(b)
            in_order += a
            if not part.is_random_next:
                assert b.start == a.stop
                in_order += b
        assert in_order == list(range(len(corpus.ids)))


def test_pairs_are_never_empty_nor_too_long():
    corpus = make_corpus(Random(4), 100, (1, 9), (1, 50))
    for max_num_pieces in (2, 3, 10, 61):
        for _, part in all_pairs(corpus, max_num_pieces, 0.3, seed=1):
            a, b = part.a_end - part.a_begin, part.b_end - part.b_begin
            assert a >= 1 and b >= 1 and a + b <= max_num_pieces


@pytest.mark.parametrize("short_seq_prob", [0.0, 0.1, 0.5, 1.0])
def test_short_lengths_are_drawn_for_each_chunk(short_seq_prob):
    # One document only for all chunks: a length drawn once a document would be short always or never.
    corpus = make_corpus(Random(1), 2, (20_000, 20_000), (1, 3))
    shorts = [part.is_short for _, part in all_pairs(corpus, 50, short_seq_prob, seed=9)]
    expected = short_seq_prob * (1 - 1 / 49)  # the uniform draw from 2 to 50 may hit 50
    if short_seq_prob > 0:
        assert chisquare([sum(shorts), len(shorts) - sum(shorts)], [expected * len(shorts), (1 - expected) * len(shorts)]).pvalue > P_VALUE
    else:
        assert not any(shorts)


def test_short_lengths_are_uniform_from_two():
    rng = Random(3)
    lengths = Counter(target_length(11, 1.0, rng) for _ in range(20_000))
    assert sorted(lengths) == list(range(2, 12))
    assert chisquare([lengths[length] for length in range(2, 12)]).pvalue > P_VALUE


def test_truncation_shortens_the_longer_part_at_either_end():
    fronts = 0
    for seed in range(2000):
        a_begin, a_end, b_begin, b_end = truncate_spans(0, 20, 100, 105, 15, Random(seed))
        assert (b_begin, b_end) == (100, 105)
        assert a_end - a_begin == 10
        fronts += a_begin
    assert chisquare([fronts, 20_000 - fronts]).pvalue > P_VALUE


def test_truncation_leaves_equal_parts_of_two_long_ones():
    a_begin, a_end, b_begin, b_end = truncate_spans(0, 100, 200, 290, 21, Random(1))
    assert (a_end - a_begin, b_end - b_begin) == (11, 10)


def test_running_text_leaves_nothing_out():
    corpus = make_corpus(Random(2), 30, (1, 40), (1, 30))
    rng = Random(1)
    position = 0
    for document in range(corpus.num_documents):
        end = corpus.sentence_starts[corpus.sentences_of(document).stop]
        for part in running_text(corpus, corpus.sentences_of(document), 62, 0.1, rng):
            assert part.a_begin == position
            assert part.b_begin == part.b_end
            assert not part.is_random_next
            assert 1 <= part.a_end - part.a_begin <= 62
            assert part.a_end <= end
            position = part.a_end
        assert position == end
