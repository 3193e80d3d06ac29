"""Words that become pieces: where they go, what they replace, and which are refused."""

import pytest

from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.vocab_extension import choose_words, extend, parse_words
from bert_tf.text.wordpiece import WordPieceTokenizer

LINES = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "co", "##vid", "##v", "##id", "the"]
VOCAB = Vocabulary(LINES)
UNCASED = WordPieceTokenizer(VOCAB, do_lower_case=True)


def test_slots_first_then_behind_the_last_piece():
    extension = extend(VOCAB, ["covid", "\U0001f600", "cov"], do_lower_case=True)
    assert extension.vocab.pieces == ("[PAD]", "covid", "\U0001f600", *LINES[3:], "cov")
    assert extension.added == (("covid", 1, (7, 8)), ("\U0001f600", 2, (3,)), ("cov", 12, (7, 9)))
    assert extension.num_in_slots == 2
    tokenizer = WordPieceTokenizer(extension.vocab, True)
    assert [tokenizer.encode(word) for word in ("Covid", "\U0001f600", "cov")] == [[1], [2], [12]]
    assert tokenizer.encode("the") == [VOCAB.ids["the"]]


def test_ids_of_old_pieces_stay():
    for slots in (True, False):
        longer = extend(VOCAB, ["covid"], True, slots).vocab
        assert all(longer.ids[piece] == id for piece, id in VOCAB.ids.items() if piece != "[unused0]")
        assert longer.ids["covid"] == (1 if slots else len(VOCAB)) and len(longer) == len(VOCAB) + (not slots)


def test_a_line_that_is_no_piece_stays_as_it_is():
    # U+2028 is a line of the Chinese vocabularies
    vocab = Vocabulary([*LINES, "\u2028", "cat"])
    assert extend(vocab, ["covid"], True).vocab.lines[-2:] == ("\u2028", "cat")


def test_a_vocabulary_without_mask_is_refused():
    with pytest.raises(InputError, match=r"vocab\.txt: the vocabulary has no piece '\[MASK\]'"):
        extend(Vocabulary([line for line in LINES if line != "[MASK]"]), ["covid"], True)


def test_words_of_a_file():
    assert parse_words(["covid", "", " vid ", "the"], UNCASED, "words.txt") == ["covid", "vid"]


@pytest.mark.parametrize(
    "lines, message",
    [
        (["covid-19"], "words.txt, line 1: 'covid-19' is no word, the tokenizer cuts it into covid - 19; give"),
        (["covid", "", "new york"], "words.txt, line 3: 'new york' is no word, the tokenizer cuts it into new york; give"),
        (["Covid"], "words.txt, line 1: 'Covid' is no word, the tokenizer makes covid of it; give"),
        (["\u200b"], "the tokenizer makes nothing of it; give"),
        (["##vid"], "the tokenizer cuts it into # # vid; give"),
        (["[MASK]"], "the tokenizer cuts it into [ mask ]; give"),
        (["covid", "vid", "covid"], "words.txt, line 3: 'covid' stands on line 1 too; give"),
        (["a" * 201], "has 201 characters, the tokenizer looks up 200 at most; give"),
        ([f"{n}-" for n in range(7)], "line 5: '4-' is no word, the tokenizer cuts it into 4 -; and 2 more; give"),
        (["", " "], "words.txt: holds no word; give one a line"),
    ],
)
def test_what_can_be_no_piece_is_refused_by_name_and_line(lines, message):
    with pytest.raises(InputError) as error:
        parse_words(lines, UNCASED, "words.txt")
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_cased_vocabulary_takes_capitals():
    cased = WordPieceTokenizer(VOCAB, do_lower_case=False)
    assert parse_words(["Covid", "covid"], cased, "words.txt") == ["Covid", "covid"]


def test_the_words_that_save_most():
    # covid: 2 pieces; vid and the two emojis: unknown, so as many as characters
    counts = {"covid": 10, "vid": 2, "the": 99, "\U0001f600": 7, "\U0001f601": 7, "co": 50, "a" * 201: 99}
    assert choose_words(counts, 3, UNCASED) == ["covid", "\U0001f600", "\U0001f601"]
    assert choose_words(counts, 10, UNCASED) == ["covid", "\U0001f600", "\U0001f601", "vid"]
