"""Tags of tokens: how they are read, scored and told."""

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.metrics import undefined
from bert_tf.tasks.tags import Tags, complete_tags, has_entities

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
ANSWER = Tags(TAGS)
RIGHT = [("B-PER", "I-PER", "O"), ("B-LOC",)]


def logits_of(*tags):
    """Returns logits that say these tags."""
    return np.float32([[3.0 * (label == tag) for label in TAGS] for tag in tags])


def test_tags_are_read_as_iob2_and_written_by_their_places():
    assert ANSWER.read("I-PER I-PER O I-LOC") == ("B-PER", "I-PER", "O", "B-LOC")
    assert ANSWER.feature(("O", "I-LOC")) == [0, 4] and ANSWER.feature(None) == []
    with pytest.raises(ValueError, match=r"^holds 'I-ORG', which is not one of O, B-PER, I-PER, B-LOC, I-LOC$"):
        ANSWER.read("O I-ORG")
    assert Tags(("NN", "I", "O")).read("I O I") == ("I", "O", "I")  # no entities


@pytest.mark.parametrize(
    "labels, message",
    [
        (("O",), "give two or more"),
        (("O", "B-X", "I-X", "O"), "give two or more, each once"),
        (("O", "I-X"), "without B-X; give O, and of each type both B- and I-"),
        (("O", "B-X"), "without I-X; give O"),
        (("B-X", "I-X"), "without O; give O"),
        (("O", "B-X", "I-X", "S-X"), "tag 'S-X' belongs to another scheme beside 'B-X'; give tags in IOB1 or IOB2"),
        (("O", "B-X", "I-X", "NN"), "tag 'NN' does not fit beside 'B-X'"),
    ],
)
def test_tags_that_do_not_go_together_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        Tags(labels)


def test_all_tags_of_a_task_follow_from_those_that_occur():
    assert complete_tags(["I-PER", "O", "B-LOC"]) == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    assert complete_tags(["VB", "NN"]) == ("NN", "VB") and not has_entities(["NN", "O"])


def test_scores_are_of_entities_and_the_accuracy_of_tokens():
    logits = logits_of("B-PER", "I-PER", "O", "B-PER")
    scores = ANSWER.scores(["entity_f1", "entity_precision"], RIGHT, logits)
    assert scores["entity_f1"] == scores["entity_precision"] == 0.5 and scores["accuracy"] == 0.75
    right = [1, 2, 0, 3]
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert scores["loss"] == pytest.approx(-np.log(probabilities[np.arange(4), right]).mean(), abs=1e-6)


def test_tokens_that_were_not_asked_for_are_outside_and_no_part_of_the_loss():
    logits = np.concatenate([logits_of("B-PER", "I-PER"), ANSWER.without_pieces(1), logits_of("B-LOC")])
    with np.errstate(all="raise", under="ignore"):
        scores = ANSWER.scores(["entity_f1"], RIGHT, logits)
        assert list(ANSWER.result_lines(logits))[2] == "1.0\t0.0\t0.0\t0.0\t0.0"
    assert scores["entity_f1"] == 1.0
    assert scores["loss"] == pytest.approx(ANSWER.scores([], [("B-PER", "I-PER", "B-LOC")], np.delete(logits, 2, 0))["loss"])


def test_where_no_token_was_asked_for_the_loss_is_undefined_and_says_why():
    with np.errstate(all="raise", under="ignore"):
        scores = ANSWER.scores(["entity_f1"], RIGHT, ANSWER.without_pieces(4))
    assert np.isnan(scores["loss"]) and scores["entity_f1"] == 0
    assert undefined(scores) == {"loss": "there is no finite prediction to take the mean over"}


def test_predictions_are_columns_with_a_blank_line_behind_each_sentence():
    logits = logits_of("B-PER", "I-PER", "O", "I-LOC")
    texts = [("Anna", "Bell", "sleeps"), ("Berlin",)]
    assert list(ANSWER.prediction_lines(["0", "1"], texts, logits)) == ["Anna B-PER", "Bell I-PER", "sleeps O", "", "Berlin I-LOC", ""]
    with pytest.raises(ValueError, match="logits of 5 tokens for sentences of 4"):
        list(ANSWER.prediction_lines(["0", "1"], texts, logits_of("O", "O", "O", "O", "O")))


def test_tables_count_entities_by_type_and_tokens_by_tag():
    tables = ANSWER.tables(RIGHT, logits_of("B-PER", "I-PER", "O", "B-PER"))
    assert list(tables["label_scores.tsv"]) == [
        "label\tprecision\trecall\tf1\trows\tpredicted",
        "PER\t0.500000\t1.000000\t0.666667\t1\t2",
        "LOC\tnan\t0.000000\t0.000000\t1\t0",
    ]
    assert list(tables["confusion_matrix.tsv"])[4] == "B-LOC\t0\t1\t0\t0\t0"
    none = Tags(("O", "B-X", "I-X"))
    assert list(none.tables([("O",)], np.float32([[1, 0, 0]]))["label_scores.tsv"])[1:] == ["X\tnan\tnan\tnan\t0\t0"]


def test_a_model_that_says_the_same_of_all_tokens_is_told():
    assert ANSWER.collapsed(RIGHT, logits_of(*["O"] * 4)) == "'O'"
    assert ANSWER.collapsed(RIGHT, logits_of("O", "O", "O", "B-PER")) is None
