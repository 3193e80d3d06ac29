import os
import subprocess
import sys
from collections import Counter
from itertools import product

import pytest

from bert_tf.text import vocab_learner
from bert_tf.text.vocab_learner import learn, special_pieces
from tests.conftest import ROOT, SHARED, needs_shared


def test_worked_example():
    learned = learn({"low": 5, "lower": 2}, 19)
    alphabet = ["e", "l", "o", "r", "w", "##e", "##l", "##o", "##r", "##w"]
    assert learned.pieces == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *alphabet, "##ow", "low", "##er", "lower"]
    assert learned.num_alphabet == 10
    assert learned.num_dropped_characters == learned.dropped_rate == 0


def test_special_pieces_in_the_released_order():
    assert special_pieces(2) == ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def test_merges_as_a_plain_recount_would():
    # an independent learner: counts all pairs anew for each merge
    words = {"banana": 7, "bandana": 5, "nana": 4, "aaaa": 3, "an": 9, "anna": 2, "ababab": 2}
    spelled = {word: [word[0], *("##" + character for character in word[1:])] for word in words}
    merged: list[str] = []
    while True:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for pair in zip(spelled[word], spelled[word][1:]):
                pairs[pair] += count
        pairs = Counter({pair: count for pair, count in pairs.items() if count >= 3})
        if not pairs:
            break
        left, right = min(pairs, key=lambda pair: (-pairs[pair], pair))
        piece = left + right[2:]
        merged.append(piece)
        for word, pieces in spelled.items():
            joined: list[str] = []
            for new in pieces:
                joined[-1:] = [piece] if joined and (joined[-1], new) == (left, right) else [*joined[-1:], new]
            spelled[word] = joined
    expected = list(dict.fromkeys(merged))
    learned = learn(words, 1000, min_count=3)
    assert learned.pieces[len(special_pieces()) + learned.num_alphabet :] == expected
    assert len(expected) > 10


def test_exact_size_where_the_words_allow():
    words = {"".join(letters): 3 for letters in product("abcd", repeat=4)}
    for size in (20, 50, 100):
        pieces = learn(words, size).pieces
        assert len(pieces) == len(set(pieces)) == size
    assert len(learn(words, 10_000).pieces) < 10_000


def test_no_pair_seen_too_seldom_is_merged():
    assert learn({"ab": 4, "cd": 3}, 100, min_count=4).pieces[-1] == "ab"
    assert learn({"ab": 4, "cd": 3}, 100, min_count=5).pieces[-1] == "##d"


def test_merges_are_counted_in_the_commonest_words(monkeypatch):
    words = {"ab": 4, "cd": 3, "ef": 2, "gh": 2}
    monkeypatch.setattr(vocab_learner, "MOST_MERGED_WORDS", 3)
    learned = learn(words, 100)
    assert learned.pieces[-3:] == ["ab", "cd", "ef"] and learned.num_alphabet == 16


def test_letters_get_both_forms_and_marks_one():
    pieces = learn({"ab": 1, ",": 1, "中": 1, "x": 1}, 100).pieces
    assert pieces[5:] == [",", "a", "b", "x", "中", "##a", "##b"]


# 8 letters in 4,096 words, and 3,000 characters that stand alone, as many as Chinese text has: 1,000 of them common
LARGE_ALPHABET = {"".join(letters): 3 for letters in product("abcdefgh", repeat=4)}
LARGE_ALPHABET |= {chr(0x4E00 + number): 18 if number < 1000 else 1 for number in range(3000)}


def test_rare_characters_leave_a_large_alphabet():
    learned = learn(LARGE_ALPHABET, 3000, character_coverage=0.9)
    assert len(learned.pieces) == 3000
    assert learned.num_alphabet == 992 + 2 * 8  # the 1,000 commonest, letters among them
    assert learned.num_dropped_characters == 3008 - 1000
    assert learned.dropped_rate == pytest.approx((8 * 18 + 2000) / (4096 * 4 * 3 + 1000 * 18 + 2000))
    assert learn(LARGE_ALPHABET, 4000, character_coverage=1.0).num_dropped_characters == 0


def test_rare_characters_fill_what_merges_leave():
    learned = learn(LARGE_ALPHABET, 10_000, character_coverage=0.9)
    assert learned.num_dropped_characters == 0
    assert len(learned.pieces) == len(set(learned.pieces)) < 10_000


def test_alphabet_that_does_not_fit_keeps_the_commonest():
    learned = learn({"a": 5, "b": 4, "c": 3, "d": 2}, 7)
    assert learned.pieces[5:] == ["a", "b"]
    assert learned.num_dropped_characters == 2
    assert learned.dropped_rate == pytest.approx(5 / 14)


def test_words_that_become_unknown_teach_nothing():
    learned = learn({"ab" * 101: 50, "": 3, "[MASK]": 9, "cd": 2}, 100)
    assert learned.pieces[5:] == ["c", "d", "##c", "##d", "cd"]


def test_no_words_give_special_pieces_only():
    assert learn({}, 100).pieces == special_pieces()


def test_equal_counts_do_not_depend_on_order_or_hash_seed():
    script = (
        "import sys; from itertools import product; from bert_tf.text.vocab_learner import learn\n"
        "words = [''.join(letters) for letters in product('abe', 'lmo', 'st', 'uv')][:30]\n"
        "words = words[::-1] if sys.argv[1] == 'reversed' else words\n"
        "print('\\n'.join(learn(dict.fromkeys(words, 10), 60).pieces))"
    )
    results = set()
    for seed, order in product("12", ("forward", "reversed")):
        env = os.environ | {"PYTHONHASHSEED": seed}
        results.add(subprocess.run([sys.executable, "-c", script, order], env=env, cwd=ROOT, capture_output=True, check=True).stdout)
    assert len(results) == 1
    assert len(results.pop().splitlines()) == 60


@needs_shared
def test_held_out_text_against_the_tokenizers_trainer():
    tokenizers = pytest.importorskip("tokenizers")
    normalizer, cutter = tokenizers.normalizers.BertNormalizer(lowercase=True), tokenizers.pre_tokenizers.BertPreTokenizer()
    corpus = SHARED / "data" / "corpus"
    # a part of the text: the trainer's time, not ours, is what the whole would cost
    train = (corpus / "books.train.txt").read_text(encoding="utf-8").split("\n")[:40_000]
    heldout = (corpus / "books.heldout.txt").read_text(encoding="utf-8").split("\n")

    oracle = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    oracle.normalizer, oracle.pre_tokenizer = normalizer, cutter
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=8000, special_tokens=special_pieces(), show_progress=False)
    oracle.train_from_iterator(train, trainer)

    def words(lines: list[str]) -> Counter[str]:
        return Counter(word for line in lines for word, _ in cutter.pre_tokenize_str(normalizer.normalize_str(line)))

    def measure(pieces: list[str]) -> tuple[float, int]:
        """Returns pieces a word and the number of unknown words, through the oracle's own tokenizer."""
        table = {piece: number for number, piece in enumerate(pieces)}
        model = tokenizers.models.WordPiece(table, unk_token="[UNK]", max_input_chars_per_word=200)
        total = unknown = 0
        for word, count in heldout_words.items():
            ids = [token.id for token in model.tokenize(word)]
            total += len(ids) * count
            unknown += ids.count(table["[UNK]"]) * count
        return total / heldout_words.total(), unknown

    heldout_words = words(heldout)
    ours = learn(words(train), 8000).pieces
    their_pieces = sorted(oracle.get_vocab(), key=oracle.get_vocab().get)
    assert len(ours) == len(their_pieces) == 8000
    our_rate, our_unknown = measure(ours)
    their_rate, their_unknown = measure(their_pieces)
    assert our_rate <= 1.05 * their_rate
    assert our_unknown <= their_unknown
