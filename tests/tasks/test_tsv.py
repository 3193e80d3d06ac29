"""Lines -> rows: quotes, columns, labels and what is refused."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.spec import DEV, TEST, TRAIN, Row
from bert_tf.tasks.table import find_task
from bert_tf.tasks.tsv import parse_tsv

MRPC, COLA, SST2, MNLI = (find_task(name) for name in ("mrpc", "cola", "sst-2", "mnli"))


def rows(spec, split, *lines):
    return list(parse_tsv(lines, spec, split, "data/x.tsv"))


def test_quotes_are_ordinary_characters():
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    first, second = rows(MRPC, DEV, header, '1\t7\t8\tHe said "no".\t"The pie does not fit.', '0\t7\t8\t"A", she said\t""')
    assert first == Row("0", ('He said "no".', '"The pie does not fit.'), "1", "data/x.tsv, line 2")
    assert second == Row("1", ('"A", she said', '""'), "0", "data/x.tsv, line 3")


def test_columns_go_by_name_in_any_order_with_others_between():
    official = rows(SST2, TRAIN, "sentence\tlabel", "it works \t1")
    other = rows(SST2, TRAIN, "note\tlabel\tsource\tsentence", "-\t1\tx\tit works ")
    assert official == other == [Row("0", ("it works ",), "1", "data/x.tsv, line 2")]


def test_cola_has_no_header_but_its_test_file_has():
    assert rows(COLA, DEV, "gj04\t1\t\tIt broke.", "cj99\t0\t*\tIt break.") == [
        Row("0", ("It broke.",), "1", "data/x.tsv, line 1"),
        Row("1", ("It break.",), "0", "data/x.tsv, line 2"),
    ]
    assert rows(COLA, TEST, "index\tsentence", "12\tIt broke.") == [Row("12", ("It broke.",), None, "data/x.tsv, line 2")]


@pytest.mark.parametrize("annotators", [1, 5])
def test_mnli_takes_the_gold_label_not_an_annotators(annotators):
    header = ["index", "promptID", "genre", "sentence1", "sentence2", *(f"label{i + 1}" for i in range(annotators)), "gold_label"]
    values = ["31", "9", "fiction", "A man runs.", "A man sits.", *["neutral"] * annotators, "contradiction"]
    (row,) = rows(MNLI, DEV, "\t".join(header), "\t".join(values))
    assert row == Row("31", ("A man runs.", "A man sits."), "contradiction", "data/x.tsv, line 2")


@pytest.mark.parametrize(
    "lines", [("index\tsentence", "4\tfine"), ("index\tsentence\tlabel", "4\tfine\t-1"), ("label\tindex\tsentence", "1\t4\tfine")]
)
def test_labels_of_a_test_split_are_never_read(lines):
    assert rows(SST2, TEST, *lines) == [Row("4", ("fine",), None, "data/x.tsv, line 2")]


@pytest.mark.parametrize("split", [TRAIN, DEV])
@pytest.mark.parametrize("label", ["-1", "-", "", " "])
def test_an_unlabelled_row_is_refused_where_labels_are_needed(split, label):
    with pytest.raises(InputError) as caught:
        rows(SST2, split, "index\tsentence\tlabel", "0\tgood\t1", f"1\tfine\t{label}")
    message = str(caught.value)
    assert message.startswith(f"data/x.tsv, line 3: label {label.strip()!r} means unlabelled")
    assert split in message and "\n" not in message


def test_an_unknown_label_is_refused_with_file_line_label_and_the_known_ones():
    with pytest.raises(InputError, match=r"line 3: label 'entails' is not one of mnli's labels contradiction, entailment, neutral"):
        rows(MNLI, TRAIN, "sentence1\tsentence2\tgold_label", "a\tb\tneutral", "a\tb\tentails")


@pytest.mark.parametrize("line, count", [("fine", 1), ("fine\t1\textra", 3), ("a\tb\tc\t1", 4)])
def test_a_row_of_another_number_of_columns_is_refused(line, count):
    with pytest.raises(InputError, match=rf"^data/x.tsv, line 3: has {count} tab-separated columns where there should be 2"):
        rows(SST2, TRAIN, "sentence\tlabel", "good\t1", line)


def test_a_cola_row_needs_its_four_columns():
    with pytest.raises(InputError, match=r"^data/x.tsv, line 1: has 2 tab-separated columns where there should be 4"):
        rows(COLA, TRAIN, "It broke.\t1")


@pytest.mark.parametrize("split, column", [(TRAIN, "label"), (DEV, "label"), (TEST, "sentence")])
def test_a_missing_column_is_refused_with_those_that_are_there(split, column):
    header = "index\tlabel" if column == "sentence" else "index\tsentence"
    with pytest.raises(InputError, match=rf"^data/x.tsv: has no column '{column}', which {split} rows of \S+ need .* names '{header[:5]}"):
        rows(SST2, split, header, "0\t1")


@pytest.mark.parametrize("lines, message", [((), "is empty"), (("", ""), "is empty"), (("sentence\tlabel", ""), "has no rows")])
def test_a_file_without_rows_is_refused(lines, message):
    with pytest.raises(InputError, match=rf"^data/x.tsv: {message}; it should hold the train rows of sst-2"):
        rows(SST2, TRAIN, *lines)


def test_an_empty_cola_file_is_refused():
    with pytest.raises(InputError, match=r"^data/x.tsv: has no rows"):
        rows(COLA, TRAIN)


def test_blank_lines_at_the_end_do_not_count_and_between_rows_are_refused():
    assert len(rows(SST2, TRAIN, "sentence\tlabel", "good\t1", "", "")) == 1
    with pytest.raises(InputError, match=r"^data/x.tsv, line 3: is blank"):
        rows(SST2, TRAIN, "sentence\tlabel", "good\t1", "", "", "bad\t0")
