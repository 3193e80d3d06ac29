"""What each kind reads, writes, scores and tells."""

import math

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.answers import Number, OneLabel, Unlabelled
from bert_tf.tasks.label_sets import SomeLabels, split_labels

LABELS = ("no", "yes", "perhaps")
COLOURS = ("red", "green", "blue")
# the logits of the report that a threshold was applied to the wrong thing, and the probabilities that they mean
LOGITS = np.float32([[0.5, 0.2, 2.0]])
PROBABILITIES = [0.622, 0.550, 0.881]


def test_one_label_is_read_and_written_by_its_place():
    answer = OneLabel(LABELS)
    assert [answer.feature(answer.read(label)) for label in LABELS] == [0, 1, 2]
    assert answer.feature(None) == 0
    assert answer.num_outputs == 3
    for text in ("", "-", "-1"):
        with pytest.raises(Unlabelled):
            answer.read(text)
    with pytest.raises(ValueError, match=r"^is not one of no, yes, perhaps$"):
        answer.read("No")


def test_a_label_may_be_called_minus_one():
    assert OneLabel(("-1", "0", "1")).read("-1") == "-1"


@pytest.mark.parametrize("text, number", [("3.8", 3.8), ("0", 0.0), ("-2e1", -20.0), ("5.000", 5.0)])
def test_a_number_is_read(text, number):
    assert Number().read(text) == number == Number().feature(Number().read(text))


@pytest.mark.parametrize("text", ["good", "nan", "inf", "-inf", "1e39", "1,5"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match=r"^is not a number$"):
        Number().read(text)


def test_a_number_outside_its_span_is_refused():
    with pytest.raises(ValueError, match=r"^is not a number from 0 to 5$"):
        Number(span=(0.0, 5.0)).read("-1")  # as published test sets have it


def test_several_labels_are_read_in_any_order():
    answer = SomeLabels(COLOURS, separator="|")
    assert answer.read("blue| red") == ("red", "blue")
    assert answer.feature(answer.read("blue|red|blue")) == [1, 0, 1]
    assert answer.feature(answer.read("")) == answer.feature(None) == [0, 0, 0]
    with pytest.raises(ValueError, match=r"^holds 'pink', which is not one of red, green, blue$"):
        answer.read("red|pink")
    with pytest.raises(ValueError, match=r"^is not one of red, green, blue$"):
        answer.read("red,blue")
    assert split_labels(" a ; ;b", ";") == ["a", "b"]


def test_thresholds_apply_to_probabilities_in_scores_and_predictions_alike():
    for thresholds, given, micro_f1 in (((0.6,) * 3, "red,blue", 1.0), ((), "red,green,blue", 0.8), ((0.7, 0.5, 0.5), "green,blue", 0.5)):
        answer = SomeLabels(COLOURS, thresholds=thresholds)
        assert answer.scores(["micro_f1"], [("red", "blue")], LOGITS)["micro_f1"] == pytest.approx(micro_f1)
        header, line = answer.prediction_lines(["7"], [("x",)], LOGITS)
        assert header == "id\tlabels\tprobability_red\tprobability_green\tprobability_blue"
        id, labels, *probabilities = line.split("\t")
        assert (id, labels) == ("7", given)
        np.testing.assert_allclose([float(value) for value in probabilities], PROBABILITIES, atol=1e-3)
        (result,) = answer.result_lines(LOGITS)
        assert result.split("\t") == probabilities


def test_losses_are_those_of_the_training():
    rng = np.random.default_rng(1)
    logits = rng.normal(scale=3, size=(20, 3)).astype(np.float32)
    right = rng.integers(0, 3, 20)
    softmax = np.exp(logits.astype(float)) / np.exp(logits.astype(float)).sum(1, keepdims=True)
    scores = OneLabel(LABELS).scores(["accuracy"], [LABELS[id] for id in right], logits)
    assert scores["loss"] == pytest.approx(-np.log(softmax[np.arange(20), right]).mean(), abs=1e-12)
    assert scores["accuracy"] == np.mean(logits.argmax(1) == right)
    numbers = rng.normal(size=20)
    assert Number().scores(["pearson"], list(numbers), logits[:, :1])["loss"] == pytest.approx(np.mean((logits[:, 0] - numbers) ** 2))
    marks = rng.random((20, 3)) < 0.5
    sigmoid = 1 / (1 + np.exp(-logits.astype(float)))
    loss = -np.where(marks, np.log(sigmoid), np.log(1 - sigmoid)).mean()
    sets = [tuple(label for label, given in zip(COLOURS, row) if given) for row in marks]
    assert SomeLabels(COLOURS).scores(["micro_f1"], sets, logits)["loss"] == pytest.approx(loss, abs=1e-9)


def test_large_logits_do_not_overflow():
    huge = np.float32([[1e4, -1e4, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        assert list(OneLabel(LABELS).result_lines(huge)) == ["1.0\t0.0\t0.0"]
        assert list(SomeLabels(COLOURS).result_lines(huge)) == ["1.0\t0.0\t0.5"]
        assert OneLabel(LABELS).scores([], ["yes"], huge)["loss"] == pytest.approx(2e4)
        assert SomeLabels(COLOURS).scores([], [("green",)], huge)["loss"] == pytest.approx((2e4 + math.log(2)) / 3)


def test_numbers_are_told_as_they_are():
    logits = np.float32([[3.25], [-0.5]])
    assert list(Number().result_lines(logits)) == ["3.25", "-0.5"]
    assert list(Number().prediction_lines(["a", "b"], [("x",), ("y",)], logits)) == ["id\tprediction", "a\t3.25", "b\t-0.5"]


@pytest.mark.parametrize(
    "answer, labels, logits, told",
    [
        (OneLabel(("0", "1")), ["0", "1"], [[0.1, 0.2], [0, 0.9]], "'1'"),
        (OneLabel(("0", "1")), ["1", "1"], [[0.1, 0.2], [0, 0.9]], None),  # all are right
        (OneLabel(("0", "1")), ["0", "1"], [[0.1, 0.2], [0.9, 0]], None),
        (Number(), [1.0, 4.0], [[2.5], [2.5]], "2.5"),
        (Number(), [1.0, 4.0], [[2.5], [2.50001]], "2.5"),
        (Number(), [1.0, 4.0], [[2.5], [2.51]], None),
        (SomeLabels(COLOURS), [("red",), ()], [[-1, -1, -1], [-2, -2, -2]], "none of the labels"),
        (SomeLabels(COLOURS), [("red",), ()], [[1, -1, 1], [2, -2, 2]], "'red,blue'"),
    ],
)
def test_a_model_that_says_the_same_of_all_rows_is_told(answer, labels, logits, told):
    assert answer.collapsed(labels, np.float32(logits)) == told


def test_tables_label_by_label():
    logits = np.float32([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    tables = {name: list(lines) for name, lines in OneLabel(LABELS).tables(["no", "yes", "yes", "yes"], logits).items()}
    assert tables == {
        "confusion_matrix.tsv": ["label\tno\tyes\tperhaps", "no\t1\t0\t0", "yes\t1\t1\t1", "perhaps\t0\t0\t0"],
        "label_scores.tsv": [
            "label\tprecision\trecall\tf1\trows\tpredicted",
            "no\t0.500000\t1.000000\t0.666667\t1\t2",
            "yes\t1.000000\t0.333333\t0.500000\t3\t1",
            "perhaps\t0.000000\tnan\t0.000000\t0\t1",
        ],
    }
    assert list(SomeLabels(COLOURS).tables([("red",)], LOGITS)) == ["label_scores.tsv"]
    assert Number().tables([1.0], logits[:1, :1]) == {}


def test_many_labels_have_no_tables():
    many = [str(number) for number in range(51)]
    assert OneLabel(many).tables(["1"], np.zeros((1, 51), np.float32)) == {}
    with pytest.raises(ValueError, match=r"^is not one of 0, 1, .*, 49 and 1 more$"):
        OneLabel(many).read("x")


@pytest.mark.parametrize("make", [lambda: OneLabel(("a",)), lambda: OneLabel(("a", "b", "a")), lambda: SomeLabels(()), lambda: Number("a")])
def test_labels_that_cannot_work_are_refused(make):
    with pytest.raises(InputError, match=r"^labels are "):
        make()
