"""Rows with choices: the official columns, a sequence for each choice, and what is told of them."""

import numpy as np
import pytest

from bert_tf.data.schema import CHOICE
from bert_tf.errors import InputError
from bert_tf.tasks.answers import CHOOSE
from bert_tf.tasks.choice_features import ChoiceFeaturizer
from bert_tf.tasks.choices import Choice, numbered
from bert_tf.tasks.rows import parse_rows
from bert_tf.tasks.spec import DEV, TEST, TRAIN, Columns, Row, TableSource, TaskSpec
from bert_tf.tasks.table import find_task
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.conftest import SHARED, needs_shared

SWAG = find_task("swag")
VOCAB = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two", "three", "four", "five", "she"])
TOY = WordPieceTokenizer(VOCAB, do_lower_case=True)
HEADER = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label"
PLAIN = TaskSpec("toy", CHOOSE, ("0", "1"), ("accuracy",), TableSource(Columns(("text",), choices=("a", "b")), {}))


def shown(features, seq):
    rows = np.reshape(features["input_ids"], (-1, seq))
    return [" ".join(VOCAB.pieces[id] for id in row if id) for row in rows]


def test_a_sequence_for_each_choice_which_begins_with_the_second_text():
    row = Row("0", ("One.", "She", "two", "", "three four", "four, five"), "2", "")
    featurizer = ChoiceFeaturizer(SWAG, TOY, 9)
    features = featurizer(row)
    assert shown(features, 9) == [
        "[CLS] one [UNK] [SEP] she two [SEP]",
        "[CLS] one [UNK] [SEP] she [SEP]",
        "[CLS] one [UNK] [SEP] she three four [SEP]",
        "[CLS] one [UNK] [SEP] she four [UNK] five [SEP]",
    ]
    assert features["segment_ids"][:9] == [0, 0, 0, 0, 1, 1, 1, 0, 0]
    assert features["label_ids"] == 2 and featurizer.length(features) == 9 and featurizer.num_cut == 0
    assert {name: np.size(value) for name, value in features.items()} == CHOICE.sizes(featurizer.axes)
    shorter = ChoiceFeaturizer(SWAG, TOY, 8)
    assert shown(shorter(row), 8)[3] == "[CLS] one [UNK] [SEP] she four [UNK] [SEP]" and shorter.num_cut == 1


def test_choices_alone_and_empty_ones():
    features = ChoiceFeaturizer(PLAIN, TOY, 6)(Row("0", ("one", "two", ""), None, ""))
    assert shown(features, 6) == ["[CLS] one [SEP] two [SEP]", "[CLS] one [SEP]"]
    assert features["label_ids"] == 0


def test_rows_of_the_official_columns():
    lines = [HEADER, '7,v,1,"One. She",One.,She,gold,two,"three, four",four,five,1', "8,v,2,x,One.,She,gold,a,b,c,d,0"]
    assert list(parse_rows(lines, SWAG, TRAIN, "train.csv")) == [
        Row("0", ("One.", "She", "two", "three, four", "four", "five"), "1", "train.csv, line 2"),
        Row("1", ("One.", "She", "a", "b", "c", "d"), "0", "train.csv, line 3"),
    ]
    # the official test file has no label column
    (row,) = parse_rows([line.rpartition(",")[0] for line in lines[:2]], SWAG, TEST, "test.csv")
    assert row.label is None and len(row.texts) == 6


@pytest.mark.parametrize(
    "lines, message",
    [
        (
            [HEADER, "7,v,1,x,One.,She,gold,a,b,c,d,4"],
            "train.csv, line 2: label '4' is not one of 0, 1, 2, 3; mend the file",
        ),
        ([HEADER, "7,v,1,x,One.,She,gold,a,b,c,d,"], "train.csv, line 2: label '' means unlabelled"),
        ([HEADER.replace("ending2", "end2"), "7,v,1,x,One.,She,gold,a,b,c,d,1"], "has no column 'ending2', which train rows of swag need"),
    ],
)
def test_what_is_refused(lines, message):
    with pytest.raises(InputError, match=message):
        list(parse_rows(lines, SWAG, TRAIN, "train.csv"))


def test_scores_and_predictions():
    answer = Choice(numbered(("a", "b", "c")))
    assert answer.num_outputs == 1 and answer.labels == ("0", "1", "2")
    logits = np.float32([[0, np.log(2), 0], [3, 0, 0]])
    scores = answer.scores(["accuracy"], ["1", "2"], logits)
    assert scores["accuracy"] == 0.5
    assert scores["loss"] == pytest.approx((np.log(2) + np.log(np.exp(3) + 2)) / 2)
    header, first, _ = answer.prediction_lines(["x", "y"], [("t",)] * 2, logits)
    assert header == "id\tlabel\tprobability_0\tprobability_1\tprobability_2"
    assert first.split("\t")[:2] == ["x", "1"] and float(first.split("\t")[3]) == pytest.approx(0.5)
    assert not answer.tables(["1", "2"], logits)


@needs_shared
def test_rows_of_swag_itself():
    lines = (SHARED / "data/swag/swag_val_head11.csv").read_text(encoding="utf-8").splitlines()
    rows = list(parse_rows(lines, SWAG, DEV, "val.csv"))
    assert len(rows) == 11
    assert rows[1].texts[:3] == (
        "He rides the motorcycle down the hall and into the elevator.",
        "He",
        "looks at a mirror in the mirror as he watches someone walk through a door.",
    )
    assert rows[1].label == "2"
