"""Features against the original's, on real rows, and what the goldens do not show."""

import gzip
import json
from functools import cache

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data.records import serialize
from bert_tf.data.rows import read_rows
from bert_tf.data.schema import CLASSIFICATION, REGRESSION
from bert_tf.tasks.answers import CLASSIFY
from bert_tf.tasks.choice_features import ChoiceFeaturizer
from bert_tf.tasks.features import Featurizer
from bert_tf.tasks.rows import parse_rows
from bert_tf.tasks.spec import DEV, TEST, Columns, Row, TableFile, TableSource, TaskSpec
from bert_tf.tasks.table import find_task
from bert_tf.tasks.tag_features import TagFeaturizer
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.text.wordpiece_fast import FastTokenizer
from tests.conftest import SHARED, needs_shared

TOY = WordPieceTokenizer(Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two", "three", "four"]), do_lower_case=True)
MRPC, COLA, MNLI = (find_task(name) for name in ("mrpc", "cola", "mnli"))


@cache
def uncased(tokenizer=WordPieceTokenizer):
    return tokenizer(
        Vocabulary.from_text((SHARED / "data" / "vocab" / "uncased_vocab.txt").read_text(encoding="utf-8")), do_lower_case=True
    )


@needs_shared
@pytest.mark.parametrize("tokenizer", [WordPieceTokenizer, FastTokenizer])
@pytest.mark.parametrize("spec, folder, max_seq_length", [(MRPC, "MRPC", 128), (MRPC, "MRPC", 32), (COLA, "CoLA", 64)])
def test_features_are_the_originals(spec, folder, max_seq_length, tokenizer):
    with gzip.open(SHARED / "golden" / "classifier" / f"{spec.name}_dev_{max_seq_length}.jsonl.gz", "rt", encoding="utf-8") as file:
        golden = [json.loads(line) for line in file]
    rows = read_rows(spec, DEV, str(SHARED / "data" / "glue" / folder))
    assert len(golden) == 200 <= len(rows)
    features = Featurizer(spec, uncased(tokenizer), max_seq_length).records(rows)
    for row, found, right in zip(rows, features, golden):
        assert [row.texts[0], row.texts[1] if len(row.texts) > 1 else None, row.label] == [right["text_a"], right["text_b"], right["label"]]
        assert found == {
            **{name: right[name] for name in ("input_ids", "input_mask", "segment_ids")},
            "label_ids": right["label_id"],
            "is_real_example": 1,
        }


@needs_shared
def test_rows_that_are_cut_are_counted():
    rows = read_rows(MRPC, DEV, str(SHARED / "data" / "glue" / "MRPC"))
    for max_seq_length in (32, 64, 128):
        featurizer = Featurizer(MRPC, uncased(), max_seq_length)
        for row in rows:
            featurizer(row)
        assert featurizer.num_cut == sum(sum(len(uncased().encode(text)) for text in row.texts) + 3 > max_seq_length for row in rows)
    assert featurizer.num_cut == 0  # no pair of MRPC's dev set needs more than 128


@pytest.mark.parametrize("kind", [Featurizer, ChoiceFeaturizer, TagFeaturizer])
def test_rows_in_bulk_are_the_rows_one_by_one(kind):
    # more texts than are tokenized at a time, of all lengths down to none
    texts = [" ".join(["one", "Two", "thr\u00e9e,", "\u4e00"][: number % 5]) for number in range(3000)]
    spec = find_task({Featurizer: "mrpc", ChoiceFeaturizer: "swag", TagFeaturizer: "conll2003"}[kind])
    num_texts = 6 if kind is ChoiceFeaturizer else 2
    rows = [Row("0", tuple(texts[first : first + num_texts]), None, "") for first in range(0, 3000, num_texts)]
    fast = FastTokenizer(TOY.vocab, True)
    found = list(kind(spec, fast, 12).records(rows))
    assert found == [next(iter(kind(spec, TOY, 12).records([row]))) for row in rows]
    assert len({str(features["input_ids"]) for features in found}) > 4


@pytest.mark.parametrize("max_seq_length, num_cut, ids", [(7, 0, [2, 5, 6, 3, 7, 8, 3]), (6, 1, [2, 5, 6, 3, 7, 3])])
def test_the_last_length_that_fits(max_seq_length, num_cut, ids):
    featurizer = Featurizer(MRPC, TOY, max_seq_length)
    assert featurizer(Row("0", ("one two", "three four"), "1", ""))["input_ids"] == ids
    assert featurizer.num_cut == num_cut


@pytest.mark.parametrize("second", ["", "   ", "\u200b"])
def test_a_second_text_without_pieces_is_left_out(second):
    features = Featurizer(MRPC, TOY, 7)(Row("0", ("one two", second), "1", ""))
    assert features["input_ids"] == [2, 5, 6, 3, 0, 0, 0]
    assert features["segment_ids"] == [0] * 7


def test_an_empty_text_is_not_an_error():
    assert Featurizer(COLA, TOY, 5)(Row("0", ("",), "0", ""))["input_ids"] == [2, 3, 0, 0, 0]


@pytest.mark.parametrize("label, id", [("contradiction", 0), ("entailment", 1), ("neutral", 2), (None, 0)])
def test_label_ids(label, id):
    assert Featurizer(MNLI, TOY, 8)(Row("0", ("one", "two"), label, ""))["label_ids"] == id


def test_a_number_is_its_own_feature():
    stsb = find_task("sts-b")
    featurizer = Featurizer(stsb, TOY, 8)
    assert [featurizer(Row("0", ("one", "two"), label, ""))["label_ids"] for label in (3.8, 0.0, None)] == [3.8, 0.0, 0.0]
    assert all(type(featurizer(Row("0", ("one", "two"), label, ""))["label_ids"]) is float for label in (3.8, None))
    record = tf.train.Example.FromString(serialize(featurizer(Row("0", ("one", "two"), 3.8, "")), REGRESSION))
    assert list(record.features.feature["label_ids"].float_list.value) == [np.float32(3.8)]


def test_the_features_are_those_of_the_record_table():
    values = Featurizer(COLA, TOY, 8)(Row("0", ("one",), "1", ""))
    assert {name: 1 if isinstance(value, int) else len(value) for name, value in values.items()} == CLASSIFICATION.sizes({"seq": 8})


def test_a_task_that_no_code_knows_needs_only_its_row():
    weather = TaskSpec(
        "weather",
        CLASSIFY,
        labels=("wet", "dry", "snow"),
        metrics=("accuracy",),
        table=TableSource(Columns(("today", "tomorrow"), label="sky", id="day"), {DEV: TableFile(("d.tsv",)), TEST: TableFile(("t.tsv",))}),
    )
    lines = ["day\tsky\ttoday\ttomorrow", "mon\tsnow\tone two\tthree", "tue\twet\tfour\tone"]
    rows = list(parse_rows(lines, weather, DEV, "d.tsv"))
    features = list(map(Featurizer(weather, TOY, 8), rows))
    assert [row.id for row in rows] == ["mon", "tue"]
    assert [values["label_ids"] for values in features] == [2, 0]
    assert features[0]["input_ids"] == [2, 5, 6, 3, 7, 3, 0, 0]
