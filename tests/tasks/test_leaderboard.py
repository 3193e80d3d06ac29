"""Files of the leaderboard from predictions, and what is refused."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.leaderboard import majority_lines, submission_lines
from bert_tf.tasks.spec import TEST, LeaderboardFile
from bert_tf.tasks.table import find_task

RTE, STSB, WNLI = (find_task(name) for name in ("rte", "sts-b", "wnli"))
THREE = LeaderboardFile("X", 3)
HEADER = "id\tlabel\tprobability_entailment\tprobability_not_entailment"


def lines(spec, *predictions, header=HEADER):
    return submission_lines(spec, THREE, [header, *predictions], "runs/x/predictions.tsv")


def test_index_and_label_in_the_order_of_the_official_rows():
    found = lines(RTE, "2\tentailment\t0.9\t0.1", "0\tnot_entailment\t0.2\t0.8", "1\tentailment\t0.6\t0.4")
    assert found == ["index\tprediction", "0\tnot_entailment", "1\tentailment", "2\tentailment"]


def test_scores_are_cut_to_what_the_leaderboard_takes():
    found = lines(STSB, "0\t5.25", "1\t-0.125", "2\t3.5", header="id\tprediction")
    assert found == ["index\tprediction", "0\t5.0", "1\t0.0", "2\t3.5"]


@pytest.mark.parametrize(
    "predictions, message",
    [
        (["0\tentailment", "1\tentailment"], "has 2 rows, the official test set of X has 3; predict the official test file"),
        (["0\tentailment"] * 2, "line 3: id '0' is no row of the official test set, or comes twice"),
        (["3\tentailment"], "line 2: id '3' is no row of the official test set"),
        (["-1\tentailment"], "line 2: id '-1' is no row"),
        (["q7\tentailment"], "line 2: id 'q7' is no row"),
        (["0\t1"], "line 2: '1' is none of entailment, not_entailment; predict again"),
        (["0"], "line 2: '' is none of entailment"),
    ],
)
def test_predictions_that_are_not_the_official_rows_are_refused(predictions, message):
    with pytest.raises(InputError) as caught:
        lines(RTE, *predictions)
    assert str(caught.value).startswith("runs/x/predictions.tsv") and message in str(caught.value)


@pytest.mark.parametrize("number", ["much", "nan", ""])
def test_a_score_that_is_no_number_is_refused(number):
    with pytest.raises(InputError, match=f"line 2: '{number}' is not a number"):
        lines(STSB, f"0\t{number}", header="id\tprediction")


def test_predictions_of_another_kind_are_refused():
    with pytest.raises(InputError, match=r"is no predictions.tsv of sts-b \(it should begin with id and prediction\)"):
        lines(STSB, "0\tentailment")


def test_the_most_frequent_label_for_every_row():
    found = majority_lines(WNLI, WNLI.leaderboard[TEST])
    assert found[:2] == ["index\tprediction", "0\t0"] and len(found) == 147 and {line.split("\t")[1] for line in found[1:]} == {"0"}
    with pytest.raises(InputError, match="the most frequent label of rte is not handed in"):
        majority_lines(RTE, RTE.leaderboard[TEST])
