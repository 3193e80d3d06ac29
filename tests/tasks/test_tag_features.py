"""Records of sentences: every token is tagged once, at its first piece, with its document around it."""

import functools
import itertools

import numpy as np
import pytest

from bert_tf.tasks.rows import parse_rows
from bert_tf.tasks.spec import DEV, Row
from bert_tf.tasks.table import find_task
from bert_tf.tasks.tag_features import TagFeaturizer
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.conftest import SHARED, needs_shared

CONLL = find_task("conll2003")
LETTERS = "abcdefghij"
VOCAB = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)])
CASED = WordPieceTokenizer(VOCAB, do_lower_case=False)


def shown(record):
    return " ".join(VOCAB.pieces[id] for id, real in zip(record["input_ids"], record["input_mask"]) if real)


def sentence(text, document=None, tags=None):
    tokens = tuple(text.split(" "))
    return Row("0", tokens, tags or ("O",) * len(tokens), "", document)


def test_the_first_piece_of_a_token_has_its_tag_and_the_others_none():
    (record,) = TagFeaturizer(CONLL, CASED, 8).records([sentence("abc d ef", tags=("B-PER", "O", "B-LOC"))])
    assert shown(record) == "[CLS] a ##b ##c d e ##f [SEP]"
    assert record["label_mask"] == [0, 1, 0, 0, 1, 1, 0, 0]
    assert record["label_ids"] == [0, 1, 0, 0, 0, 5, 0, 0]
    assert record["segment_ids"] == [0] * 8 and record["is_real_example"] == 1


def test_tokens_without_pieces_shift_no_tag():
    row = Row("0", ("a", "\u200b", "b", "c", "\ufe0f"), ("B-PER", "O", "O", "B-ORG", "O"), "")
    featurizer = TagFeaturizer(CONLL, WordPieceTokenizer(VOCAB, do_lower_case=True), 8)
    (record,) = featurizer.records([row])
    assert shown(record) == "[CLS] a b c [SEP]"
    assert record["label_ids"] == [0, 1, 0, 3, 0, 0, 0, 0] and record["label_mask"] == [0, 1, 1, 1, 0, 0, 0, 0]
    logits = np.zeros((1, 8, 9), np.float32)
    logits[0, [1, 2, 3], [1, 0, 3]] = 9  # what the model should say
    logits[0, [0, 4], 7] = 99  # what it says of [CLS] and [SEP]
    assert list(CONLL.answer.prediction_lines(["0"], [row.texts], featurizer.collect([row], logits))) == [
        *("a B-PER", "\u200b O", "b O", "c B-ORG", "\ufe0f O", "")
    ]
    # cased, a variation selector is a character like any other: an unknown one
    assert shown(next(TagFeaturizer(CONLL, CASED, 8).records([row]))) == "[CLS] a b c [UNK] [SEP]"


def test_a_sentence_stands_amid_its_document():
    rows = [sentence("a b", 0), sentence("c d e", 0), sentence("f", 0), sentence("g h", 0), sentence("i", 1), sentence("j", 1)]
    records = list(TagFeaturizer(CONLL, CASED, 7).records(rows))
    assert [(shown(record), record["label_mask"].index(1), sum(record["label_mask"])) for record in records] == [
        ("[CLS] a b c d e [SEP]", 1, 2),  # nothing before it: all the room is behind
        ("[CLS] b c d e f [SEP]", 2, 3),
        ("[CLS] d e f g h [SEP]", 3, 1),
        ("[CLS] d e f g h [SEP]", 4, 2),
        ("[CLS] i j [SEP]", 1, 1),  # nothing of another document
        ("[CLS] i j [SEP]", 2, 1),
    ]
    alone = list(TagFeaturizer(CONLL, CASED, 7).records([sentence("a b"), sentence("c d e")]))
    assert [shown(record) for record in alone] == ["[CLS] a b [SEP]", "[CLS] c d e [SEP]"]


@pytest.mark.parametrize("document", [None, 0])
@pytest.mark.parametrize("length", [5, 6, 7, 8, 11])
def test_every_token_of_a_long_sentence_is_tagged_once_with_text_on_both_sides(length, document):
    tokens = [letter * times for letter, times in zip(itertools.cycle(LETTERS), [1, 3, 1, 1, 2, 1, 12, 1] * 3)]
    rows = [sentence("a", document), sentence(" ".join(tokens), document), sentence("b c", document)]
    featurizer = TagFeaturizer(CONLL, CASED, length)
    records = list(featurizer.records(rows))
    assert featurizer.num_records(rows) == len(records)
    # the model here tells of each place its piece's id and its number in the sequence of records
    logits = np.asarray([[[*[id] * 8, number] for id in record["input_ids"]] for number, record in enumerate(records)], np.float32)
    found = featurizer.collect(rows, logits)
    firsts = [VOCAB.ids[token[0]] for row in rows for token in row.texts]
    np.testing.assert_array_equal(found[:, 0], firsts)
    assert sum(sum(record["label_mask"]) for record in records) == len(firsts)
    for record in records:
        pieces = sum(record["input_mask"])
        assert pieces <= length
        inside = [place for place, mask in enumerate(record["label_mask"]) if mask]
        if 1 < records.index(record) < len(records) - 2:
            assert all(0 < place < pieces - 1 for place in inside)
            assert all(place > (length - 2) // 4 for place in inside)  # at least so much on the left


def test_a_sentence_that_just_fits_is_not_cut():
    row = sentence("a b c d e f")
    assert [len(list(TagFeaturizer(CONLL, CASED, length).records([row]))) for length in (8, 7)] == [1, 2]


def test_a_sentence_without_any_piece_is_a_record_all_the_same():
    row = sentence("\u200b \u200c")
    featurizer = TagFeaturizer(CONLL, CASED, 8)
    (record,) = featurizer.records([row])
    assert shown(record) == "[CLS] [SEP]" and sum(record["label_mask"]) == 0
    assert list(map(np.argmax, featurizer.collect([row], np.ones((1, 8, 9), np.float32)))) == [0, 0]


@functools.cache
def dev_rows():
    return tuple(parse_rows((SHARED / "data/conll2003/eng.testa").read_text(encoding="utf-8").split("\n"), CONLL, DEV, "eng.testa"))


@needs_shared
@pytest.mark.parametrize("length", [16, 128])
def test_every_token_of_the_dev_set_is_tagged_once(length):
    vocab = Vocabulary.from_text((SHARED / "data/vocab/cased_vocab.txt").read_text(encoding="utf-8"))
    featurizer = TagFeaturizer(CONLL, WordPieceTokenizer(vocab, False), length)
    records = list(featurizer.records(dev_rows()))
    assert sum(sum(record["label_mask"]) for record in records) == 51362
    tags = [label_id for record in records for label_id, mask in zip(record["label_ids"], record["label_mask"]) if mask]
    assert tags == [id for row in dev_rows() for id in CONLL.answer.feature(row.label)]
    # almost all records are full: the average document is far longer
    assert np.mean([sum(record["input_mask"]) for record in records]) > 0.95 * length
