"""Lines of test_results.tsv and predictions.tsv, and that they give the numbers back."""

import numpy as np
import pytest

from bert_tf.tasks.predictions import number_lines, prediction_lines


def random_probabilities(rows, labels):
    raw = np.random.default_rng(5).exponential(size=(rows, labels)).astype(np.float32) ** 8
    return raw / raw.sum(axis=1, keepdims=True)


def test_test_results_are_the_originals():
    probabilities = np.float32([[0.1, 0.9], [1e-5, 0.99999], [1.0, 0.0]])
    assert list(number_lines(probabilities)) == ["0.1\t0.9", "1e-05\t0.99999", "1.0\t0.0"]


def test_the_probabilities_come_back_bit_for_bit():
    probabilities = random_probabilities(200, 3)
    lines = list(number_lines(probabilities))
    np.testing.assert_array_equal(np.float32([line.split("\t") for line in lines]), probabilities)


def test_predictions_carry_id_label_name_and_a_column_a_label():
    probabilities = np.float32([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1]])
    assert list(prediction_lines(["31", "77"], ["contradiction", "entailment", "neutral"], probabilities)) == [
        "id\tlabel\tprobability_contradiction\tprobability_entailment\tprobability_neutral",
        "31\tentailment\t0.2\t0.5\t0.3",
        "77\tcontradiction\t0.7\t0.2\t0.1",
    ]


def test_both_files_hold_the_same_numbers():
    probabilities = random_probabilities(50, 2)
    lines = list(prediction_lines([str(i) for i in range(50)], ["0", "1"], probabilities))[1:]
    assert [line.split("\t", 2)[2] for line in lines] == list(number_lines(probabilities))


def test_lists_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 3\) for 1 rows and 3 labels"):
        list(prediction_lines(["a"], ["x", "y", "z"], np.zeros((2, 3), np.float32)))
