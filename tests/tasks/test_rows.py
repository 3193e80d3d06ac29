"""Lines -> rows: quotes, columns, labels and what is refused."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.answers import CLASSIFY, MULTILABEL
from bert_tf.tasks.rows import parse_rows
from bert_tf.tasks.spec import CSV, DEV, JSONL, QUOTED_TSV, TEST, TRAIN, TSV, Columns, Row, TableFile, TableSource, TaskSpec
from bert_tf.tasks.table import find_task

MRPC, COLA, SST2, MNLI = (find_task(name) for name in ("mrpc", "cola", "sst-2", "mnli"))


def rows(spec, split, *lines):
    return list(parse_rows(lines, spec, split, "data/x.tsv"))


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
    with pytest.raises(InputError, match=r"line 3: label 'entails' is not one of contradiction, entailment, neutral"):
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


def own(file_format, **changes):
    """Returns a task of a user's own."""
    columns = dict(texts=("text",), label="label", id=None, needs_id=True) | changes.pop("columns", {})
    file = dict(format=file_format) | changes
    files = {split: TableFile((f"{split}.x",), **file) for split in (TRAIN, TEST)}
    return TaskSpec(
        "mine", CLASSIFY, ("0", "1"), ("accuracy",), TableSource(Columns(**columns), files, "check the flags", may_be_quoted=True)
    )


def texts(spec, *lines, split=TRAIN):
    return [(row.texts[0], row.label, row.where.removeprefix("data/x.tsv, ")) for row in rows(spec, split, *lines)]


def test_csv_texts_hold_commas_quotes_and_line_breaks():
    found = texts(own(CSV), "label,text", '1,"He said ""no"", twice"', '0,"one', "", 'two"', "", "1,plain 'quoted'")
    assert found == [('He said "no", twice', "1", "line 2"), ("one\n\ntwo", "0", "line 3"), ("plain 'quoted'", "1", "line 7")]


def test_a_csv_text_may_be_a_whole_document():
    long = "word " * 40_000
    assert texts(own(CSV), "label,text", f'1,"{long}"') == [(long, "1", "line 2")]


def test_tsv_is_read_with_quotes_as_characters_or_as_in_csv():
    line = '1\t"tab\tand ""quotes"""'
    assert texts(own(QUOTED_TSV), "label\ttext", line) == [('tab\tand "quotes"', "1", "line 2")]
    assert texts(own(TSV), "label\ttext", '1\t"an open quote') == [('"an open quote', "1", "line 2")]
    with pytest.raises(InputError, match=r"line 2: has 3 tab-separated .* quoted as in CSV, --file_format=quoted_tsv reads them"):
        rows(own(TSV), TRAIN, "label\ttext", line)


def test_a_known_task_knows_no_quoted_files():
    with pytest.raises(InputError, match=r"line 3: has 3 tab-separated columns where there should be 2; mend the row \(a text may hold"):
        rows(SST2, TRAIN, "sentence\tlabel", "good\t1", '"quoted\ttext"\t1')


def test_an_open_quote_is_told_where_it_opens():
    with pytest.raises(InputError, match=r"^data/x.tsv, line 3: cannot be read as CSV \(unexpected end of data\); a text"):
        rows(own(CSV), TRAIN, "label,text", "1,good", '1,"open', "0,bad", "1,good")
    with pytest.raises(InputError, match=r"^data/x.tsv, line 2: cannot be read as CSV \(',' expected after '\"'\)"):
        rows(own(CSV), TRAIN, "label,text", '1,"a" b')


def test_a_csv_row_of_another_number_of_columns_is_refused():
    with pytest.raises(InputError, match=r"^data/x.tsv, line 3: has 3 comma-separated columns where there should be 2; mend the row$"):
        rows(own(CSV), TRAIN, "label,text", "1,good", "1,good, really")


def test_json_lines():
    found = texts(own(JSONL), '{"text": "caf\\u00e9", "label": 1, "more": [1, {}]}', '{"label": "0", "text": null}')
    assert found == [("caf\u00e9", "1", "line 1"), ("", "0", "line 2")]
    assert texts(own(JSONL), '{"text": "a"}', split=TEST) == [("a", None, "line 1")]
    several = TaskSpec("mine", MULTILABEL, ("a", "b"), ("micro_f1",), own(JSONL).table)
    assert [row.label for row in rows(several, TRAIN, '{"text": "x", "label": ["b", "a"]}', '{"text": "x", "label": []}')] == [
        ("a", "b"),
        (),
    ]


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", r"line 1: not valid JSON \(.*\); give one object a line"),
        ("[1]", r"line 1: holds \[1\], no JSON object; give one object a line"),
        ('{"label": 1}', r"line 1: has no 'text', which train rows of mine need \(label are there\); check the flags"),
        ('{"text": {"en": "x"}, "label": 1}', 'line 1: text is {"en": "x"}; give a text or a number'),
        ('{"text": ["x"], "label": 1}', "line 1: text is"),
        ('{"text": "x", "label": ["a,b"]}', "label holds 'a,b', which holds the separator ','"),
        ('{"text": "x", "label": true}', "label 'true' is not one of 0, 1"),
        ('{"text": "x", "label": null}', "label '' means unlabelled"),
        ('{"text": "x", "label": NaN}', "line 1: label is NaN; give a text or a number"),
        ('{"text": Infinity, "label": 1}', "line 1: text is Infinity; give a text or a number"),
        (f'{{"text": "x", "label": 1{"0" * 400}}}', "label '1000"),
        ('{"text": "x", "label": "\\ud83d"}', "line 1: label holds half a surrogate pair at character 0; write the whole character"),
        ('{"text": "ab\\udc00", "label": 1}', "line 1: text holds half a surrogate pair at character 2"),
        ('{"text": "x", "label": ["\\ud83d", "b"]}', "line 1: label holds half a surrogate pair"),
    ],
)
def test_json_lines_that_are_none_are_refused(line, message):
    with pytest.raises(InputError, match=message):
        rows(own(JSONL), TRAIN, line)


def test_columns_go_by_number_too():
    spec = own(TSV, columns=dict(texts=("2", "3"), label="1"))
    assert rows(spec, TRAIN, "what\tfirst\tsecond", "1\ta\tb")[0].texts == ("a", "b")
    assert rows(spec, TRAIN, "3\t2\t1", "a\tb\t1")[0].texts == ("b", "a")  # a name goes before a number
    headless = own(TSV, columns=dict(texts=("2",), label="1"), has_header=False)
    assert texts(headless, "1\ta", "0\tb") == [("a", "1", "line 1"), ("b", "0", "line 2")]
    with pytest.raises(InputError, match=r"has no column '3', which train rows of mine need \(its header line names 'a, b'\); check the"):
        rows(own(TSV, columns=dict(texts=("3",))), TRAIN, "a\tb", "x\t1")
    with pytest.raises(InputError, match=r"has no column 'text'"):
        rows(own(TSV, has_header=False), TRAIN, "x\t1")


def test_an_id_column_that_was_asked_for_must_be_there():
    spec = own(CSV, columns=dict(id="key"))
    assert rows(spec, TEST, "key,text", "k7,a")[0].id == "k7"
    with pytest.raises(InputError, match="has no column 'key'"):
        rows(spec, TEST, "text", "a")
    with pytest.raises(InputError, match=r"line 2: id 'a\\tb' holds a tab or a line break"):
        rows(spec, TEST, "key,text", '"a\tb",x')


def test_only_rows_of_the_language_count():
    spec = find_task("xnli").in_language("de")
    header = "language\tgold_label\tsentence1\tsentence2\tpairID"
    lines = [header, "ar\tneutral\ta\tb\t1", "de\tcontradiction\tc\td\t1", "de\tentailment\te\tf\t2"]
    assert [(row.id, row.texts, row.label) for row in rows(spec, DEV, *lines)] == [
        ("1", ("c", "d"), "contradiction"),
        ("2", ("e", "f"), "entailment"),
    ]
    with pytest.raises(InputError, match="has no rows whose language is de; it should hold the dev rows of xnli"):
        rows(spec, DEV, *lines[:2])


def test_xnlis_training_rows_go_by_place_and_contradictory_is_contradiction():
    spec = find_task("xnli").in_language("zh")
    (first, second) = rows(spec, TRAIN, "premise\thypo\tlabel", "a\tb\tcontradictory", "c\td\tneutral")
    assert first == Row("0", ("a", "b"), "contradiction", "data/x.tsv, line 2")
    assert second.label == "neutral"


def test_broken_rows_of_a_file_that_is_known_for_them_are_left_out_and_counted(caplog):
    header, good = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "7\t1\t2\ta\tb\t1"
    with caplog.at_level("WARNING", logger="absl"):
        assert [row.id for row in rows(find_task("qqp"), TRAIN, header, "8\t1\t2\ta", "", "b\t0", good)] == ["7"]
    assert "data/x.tsv: 2 lines with too many or too few columns are left out" in caplog.text
    with pytest.raises(InputError, match="line 2: has 4 tab-separated columns where there should be 6"):
        rows(find_task("qqp"), TEST, header, "8\t1\t2\ta")
