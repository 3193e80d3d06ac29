"""Which task a run is about, and its rows: known ones, and files of a user's own."""

import dataclasses

import pytest

from bert_tf.config import FinetuneConfig
from bert_tf.errors import InputError
from bert_tf.tasks.spec import CSV, DEV, JSONL, TEST, TRAIN, TSV
from bert_tf.workflows import task_rows


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.csv").write_text("text,label\ngood,spam\nbad,ham\nworse,spam\n")
    (tmp_path / "dev.csv").write_text("text,label\nfine,ham\n")
    return tmp_path


def own(folder, **changes):
    values = dict(task_name="mine", kind="classify", output_dir=str(folder / "run"), do_train=True, train_file=str(folder / "train.csv"))
    return FinetuneConfig(**(values | changes))


def test_labels_are_those_of_the_training_file_sorted(folder, caplog):
    with caplog.at_level("INFO", logger="absl"):
        spec = task_rows.find(own(folder), None)
    assert spec.labels == ("ham", "spam") and spec.metrics == ("accuracy", "f1", "matthews")
    assert "train.csv: ham (1 rows), spam (2 rows)" in caplog.text
    assert [row.label for row in task_rows.read(own(folder), spec, TRAIN)] == ["spam", "ham", "spam"]
    assert task_rows.model_files(spec) == {"labels.txt": "ham\nspam\n"}


def test_labels_may_be_given_in_any_order_and_more_than_there_are(folder):
    spec = task_rows.find(own(folder, labels="spam, ham,eggs"), None)
    assert spec.labels == ("spam", "ham", "eggs") and spec.metrics == ("accuracy", "macro_f1")
    with pytest.raises(InputError, match=r"train.csv, line 2: label 'spam' is not one of ham, eggs; mend the file, or --labels$"):
        task_rows.read(own(folder, labels="ham,eggs"), task_rows.find(own(folder, labels="ham,eggs"), None), TRAIN)


def test_a_label_not_seen_in_training_is_told_with_file_and_line(folder):
    (folder / "dev.csv").write_text("text,label\nfine,ham\nodd,eggs\n")
    config = own(folder, do_eval=True, dev_file=str(folder / "dev.csv"))
    with pytest.raises(InputError) as caught:
        task_rows.read_sets(config, task_rows.find(config, None), DEV)
    assert str(caught.value).startswith(f"{folder}/dev.csv, line 3: label 'eggs' is not one of ham, spam; mend the file, train with such")


def test_labels_and_thresholds_of_a_trained_model_come_from_its_folder(folder):
    trained = folder / "trained"
    trained.mkdir()
    for name in ("model.ckpt-5.index", "model.ckpt-5.data-00000-of-00001"):
        (trained / name).write_text("")
    config = own(folder, do_train=False, train_file=None, do_eval=True, dev_file=str(folder / "dev.csv"))
    with pytest.raises(InputError, match=rf"no labels: {trained} has no labels.txt beside its weights; give --labels"):
        task_rows.find(config, str(trained))
    (trained / "labels.txt").write_text("spam\nham\n")
    (trained / "thresholds.txt").write_text("0.25\n0.75\n")
    assert task_rows.find(config, str(trained)).labels == ("spam", "ham")
    several = dataclasses.replace(config, kind="multilabel")
    spec = task_rows.find(several, str(trained))
    assert spec.thresholds == (0.25, 0.75) and task_rows.model_files(spec)["thresholds.txt"] == "0.25\n0.75\n"
    assert task_rows.find(dataclasses.replace(several, threshold="0.4"), str(trained)).thresholds == (0.4, 0.4)
    with pytest.raises(InputError, match="there are 3 thresholds for 2 labels; give one, or one a label"):
        task_rows.find(dataclasses.replace(several, threshold="0.4,0.5,0.6"), str(trained))
    (trained / "thresholds.txt").write_text("half\n")
    with pytest.raises(InputError, match=r"thresholds.txt is damaged .*; give --threshold"):
        task_rows.find(several, str(trained))


def test_thresholds_given_to_a_run_stay_where_it_goes_on_without_the_flag(folder):
    config = own(folder, kind="multilabel")
    assert task_rows.find(config, None).thresholds == ()
    (folder / "run").mkdir()
    (folder / "run" / "thresholds.txt").write_text("0.25\n0.75\n")
    assert task_rows.find(config, None).thresholds == (0.25, 0.75)
    assert task_rows.find(dataclasses.replace(config, threshold="0.4"), None).thresholds == (0.4, 0.4)
    assert task_rows.find(dataclasses.replace(config, overwrite_output_dir=True), None).thresholds == ()


def test_a_label_that_elsewhere_means_unlabelled_is_told(folder, caplog):
    (folder / "train.csv").write_text("text,label\ngood,1\nbad,-1\nworse,-1\n")
    assert task_rows.find(own(folder), None).labels == ("-1", "1")
    assert "train.csv: '-1' is taken for a label; if its 2 rows are unlabelled, leave them out or give --labels" in caplog.text


@pytest.mark.parametrize(
    "content, message",
    [
        ("text,label\na,x\nb,x\n", "train.csv: all labels are 'x', from which nothing can be learned; check --label_column"),
        ("text,label\na,\nb,\n", "train.csv: there are no labels, from which nothing can be learned"),
        ("text,label\n", "train.csv: has no rows"),
        ("text,class\na,x\n", "train.csv: has no column 'label', which train rows of mine need .*names 'text, class'.*check --text_column"),
        ('text,label\na,"x\ty"\nb,z\n', r"train.csv: label 'x\\ty' is empty, or holds a tab"),
    ],
)
def test_a_training_file_without_labels_is_refused(folder, content, message):
    (folder / "train.csv").write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        task_rows.find(own(folder), None)
    assert "\n" not in str(caught.value)


def test_an_empty_column_is_refused_and_empty_texts_are_told(folder, caplog):
    (folder / "train.csv").write_text("text,label\n,spam\n  ,ham\n")
    with pytest.raises(InputError, match=r"train.csv, line 2: column 'text' is empty here and in all 2 rows; check --text_column"):
        task_rows.read(own(folder), task_rows.find(own(folder), None), TRAIN)
    (folder / "train.csv").write_text("text,label\n,spam\nx,ham\n")
    task_rows.read(own(folder), task_rows.find(own(folder), None), TRAIN)
    assert "train: 1 of 2 rows have no text in column text" in caplog.text


def test_several_labels_are_learned_one_by_one(folder):
    (folder / "train.tsv").write_text("text\tlabel\na\tred|blue\nb\t\nc\tblue | green\n")
    spec = task_rows.find(own(folder, kind="multilabel", train_file=str(folder / "train.tsv"), label_separator="|"), None)
    assert spec.labels == ("blue", "green", "red") and spec.thresholds == ()
    assert [row.label for row in task_rows.read(own(folder), spec, TRAIN)] == [("blue", "red"), (), ("blue", "green")]


def test_numbers_need_no_labels(folder):
    (folder / "train.tsv").write_text("text\tlabel\na\t1.5\nb\tmuch\n")
    config = own(folder, kind="regress", train_file=str(folder / "train.tsv"))
    spec = task_rows.find(config, None)
    assert spec.labels == () and task_rows.model_files(spec) == {}
    with pytest.raises(InputError, match=r"train.tsv, line 3: label 'much' is not a number; mend the file$"):
        task_rows.read(config, spec, TRAIN)
    with pytest.raises(InputError, match=r"task mine: labels are \['a', 'b'\], but the kind is regress"):
        task_rows.find(own(folder, kind="regress", labels="a,b"), None)


@pytest.mark.parametrize(
    "name, expected",
    [("a.TSV", TSV), ("a.txt", TSV), ("a.csv.gz", CSV), ("a.json", JSONL), ("gs://b/a.jsonl.bz2", JSONL)],
)
def test_the_format_goes_by_the_name(folder, name, expected):
    spec = task_rows.find(own(folder, labels="a,b", train_file=name), None)
    assert spec.table.files[TRAIN].format == expected


def test_a_format_that_the_name_does_not_tell_must_be_given(folder):
    with pytest.raises(InputError, match=r"data/rows: its name does not tell how it is written; give --file_format"):
        task_rows.find(own(folder, labels="a,b", train_file="data/rows"), None)
    spec = task_rows.find(own(folder, labels="a,b", train_file="data/rows", file_format="csv"), None)
    assert spec.table.files[TRAIN].format == CSV


def test_a_known_task_and_a_kind_do_not_go_together(folder):
    with pytest.raises(InputError, match="kind is classify, but task_name mrpc is a known task"):
        task_rows.find(own(folder, task_name="MRPC"), None)


def test_further_sets_are_read_where_they_are(tmp_path, caplog):
    header = "index\tsentence1\tsentence2\tgold_label"
    for name in ("dev_matched", "dev_mismatched", "test_matched"):
        (tmp_path / f"{name}.tsv").write_text(f"{header}\n0\t{name}\tb\tneutral\n")
    config = FinetuneConfig(task_name="mnli", output_dir="run", data_dir=str(tmp_path), do_eval=True, do_predict=True)
    spec = task_rows.find(config, None)
    assert {split: rows[0].texts[0] for split, rows in task_rows.read_sets(config, spec, DEV).items()} == {
        "dev": "dev_matched",
        "dev_mismatched": "dev_mismatched",
    }
    assert list(task_rows.read_sets(config, spec, TEST)) == ["test"]
    for left_out in ("test_mismatched", "test_ax"):
        assert f"{left_out} is left out: {tmp_path}: there is no " in caplog.text
    (tmp_path / "dev_matched.tsv").unlink()
    with pytest.raises(InputError, match=r"there is no dev_matched.tsv; give --data_dir"):
        task_rows.read_sets(config, spec, DEV)


@pytest.fixture
def columns(tmp_path):
    (tmp_path / "train.conll").write_text("-DOCSTART- O\n\nAnna I-PER\nsleeps O\n\nBerlin I-LOC\n\n-DOCSTART- O\n\nNo O\n")
    return tmp_path


def tagging(folder, **changes):
    return own(folder, **{"kind": "tag", "train_file": str(folder / "train.conll"), **changes})


def test_tags_are_completed_and_put_into_order(columns, caplog):
    with caplog.at_level("INFO", logger="absl"):
        spec = task_rows.find(tagging(columns), None)
    assert spec.labels == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    assert spec.metrics == ("entity_f1", "entity_precision", "entity_recall")
    assert "train.conll: O (2 tokens), B-LOC (1 tokens), I-LOC (0 tokens), B-PER (1 tokens), I-PER (0 tokens)" in caplog.text
    assert task_rows.find(tagging(columns, labels="O,B-PER,I-PER,B-LOC,I-LOC"), None).labels[1] == "B-PER"
    assert task_rows.find(tagging(columns, label_column="1", text_column="-1"), None).metrics == ("accuracy",)


def test_documents_are_forgotten_where_their_context_is_not_wanted(columns):
    for wanted, documents in ((True, [0, 0, 1]), (False, [None] * 3)):
        config = tagging(columns, document_context=wanted)
        assert [row.document for row in task_rows.read(config, task_rows.find(config, None), TRAIN)] == documents


def test_a_column_that_is_not_there_is_told(columns):
    with pytest.raises(InputError, match=r"train.conll, line 3: has 2 columns, so there is none of number 4; check --text_column and"):
        task_rows.find(tagging(columns, label_column="4"), None)


def test_the_test_set_of_conll2003_is_evaluated_where_it_is_there(columns, caplog):
    for name in ("eng.train", "eng.testa"):
        (columns / name).write_text("Anna NNP I-NP I-PER\n")
    config = FinetuneConfig(task_name="CoNLL-2003", data_dir=str(columns), output_dir=str(columns / "run"), do_eval=True)
    spec = task_rows.find(config, None)
    assert list(task_rows.read_sets(config, spec, DEV)) == ["dev"] and "there is no eng.testb or test.txt" in caplog.text
    (columns / "test.txt").write_text("Berlin NNP I-NP I-LOC\n")
    assert [row.label for row in task_rows.read_sets(config, spec, DEV)["dev_test"]] == [("B-LOC",)]
    assert [row.label for row in task_rows.read_sets(config, spec, TEST)["test"]] == [None]


def test_choices_are_numbered_and_need_no_labels_file(folder):
    (folder / "train.csv").write_text("text,label,yes,no\nIs it?,no,It is.,It is not.\n")
    config = own(folder, kind="choose", choice_columns="yes, no")
    spec = task_rows.find(config, None)
    assert spec.labels == ("0", "1") and spec.metrics == ("accuracy",) and task_rows.model_files(spec) == {}
    (row,) = task_rows.read(config, spec, TRAIN)
    assert row.texts == ("Is it?", "It is.", "It is not.") and row.label == "1"
