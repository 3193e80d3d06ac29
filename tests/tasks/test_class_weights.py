"""Weights of labels, balanced and given."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.class_weights import class_weights_of

LABELS = ("ham", "spam", "a:b")


def test_balanced_weights_make_every_label_count_the_same():
    rows = ["ham"] * 6 + ["spam"] * 3 + ["a:b"]
    weights = class_weights_of("balanced", LABELS, rows)
    assert weights == pytest.approx([10 / 18, 10 / 9, 10 / 3])  # as scikit-learn's compute_class_weight
    assert sum(weights[LABELS.index(label)] for label in rows) == pytest.approx(len(rows))


def test_given_weights_by_label_in_any_order():
    assert class_weights_of("spam:3, ham:0.5", LABELS, ["ham"]) == [0.5, 3.0, 1.0]
    assert class_weights_of("a:b:2", LABELS, ["ham"]) == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "text, message",
    [
        ("balanced", "no training row has the label 'spam'"),
        ("eggs:2", "'eggs:2' names none of ham, spam, a:b"),
        ("3,1", "'3' names none of"),
        ("spam:0", "the weight of 'spam' is '0'; give a number above 0"),
        ("spam:much", "the weight of 'spam' is 'much'"),
        ("spam:inf", "the weight of 'spam' is 'inf'"),
    ],
)
def test_weights_that_cannot_be_are_refused(text, message):
    with pytest.raises(InputError, match=f"class_weights.*{message}"):
        class_weights_of(text, LABELS, ["ham", "a:b"])
