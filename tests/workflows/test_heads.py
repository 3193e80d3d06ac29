"""Every kind has a head, whose records hold what its answer writes and whose model and export give what it reads."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.data.records import parse_spec, serialize
from bert_tf.errors import InputError
from bert_tf.modeling import losses
from bert_tf.tasks.answers import CHOOSE, CLASSIFY, MULTILABEL, REGRESS, TAG
from bert_tf.tasks.spec import KINDS, Columns, Row, TableSource, TaskSpec
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.workflows.heads import HEADS, head_of

VOCAB = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two"])
CONFIG = BertConfig(
    vocab_size=7, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, max_position_embeddings=8,
    type_vocab_size=2, initializer_range=0.5,
)  # fmt: skip
LABELS = ("red", "green", "blue")
METRICS = {CLASSIFY: "accuracy", REGRESS: "pearson", MULTILABEL: "micro_f1", CHOOSE: "accuracy", TAG: "accuracy"}
TEXTS = {kind: [("one two",), ("two",)] for kind in KINDS} | {
    CHOOSE: [("one", "two", "one one", ""), ("two", "one", "two two", "one two")],
    TAG: [("one", "\u200b", "two"), ("two",)],
}
ROWS = {
    CLASSIFY: ("green", "red"),
    REGRESS: (2.5, -1.0),
    MULTILABEL: (("red", "blue"), ()),
    CHOOSE: ("2", "0"),
    TAG: (("green", "red", "blue"), ("blue",)),
}
INPUTS = {kind: {"text": ["one two", "two"]} for kind in KINDS} | {
    CHOOSE: {"text": ["one", "two"], "choices": [["two", "one one", ""], ["one", "two two", "one two"]]},
    TAG: {"tokens": [["one", "\u200b", "two"], ["two", "", ""]]},
}
OUTPUTS = {
    CLASSIFY: {"label", "probabilities"},
    REGRESS: {"prediction"},
    MULTILABEL: {"probabilities", "given"},
    CHOOSE: {"choice", "probabilities"},
    TAG: {"tags", "probabilities"},
}


def spec_of(kind):
    labels = {REGRESS: (), CHOOSE: ("0", "1", "2")}.get(kind, LABELS)
    choices = ("a", "b", "c") if kind == CHOOSE else ()
    return TaskSpec("toy", kind, labels, (METRICS[kind],), TableSource(Columns(("text",), choices=choices), {}))


@pytest.mark.parametrize("kind", KINDS)
def test_records_loss_model_and_export_of_a_kind_fit_each_other(kind):
    spec, head = spec_of(kind), HEADS[kind]
    featurizer = head.featurizer(spec, WordPieceTokenizer(VOCAB, True), 6)
    rows = [Row("0", texts, label, "") for texts, label in zip(TEXTS[kind], ROWS[kind])]
    records = [serialize(features, head.records) for features in featurizer.records(rows)]
    assert len(records) == featurizer.num_records(rows)
    batch = tf.io.parse_example(records, parse_spec(head.records, featurizer.axes))
    batch = {name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else value for name, value in batch.items()}
    keras.utils.set_random_seed(3)
    model = head.make_model(spec, CONFIG, False, keras.DTypePolicy("float32"), False)
    logits = model(batch, training=False)
    # what training lowers is what an evaluation tells
    trained = losses.total_loss(head.objective.sums(logits, batch)).numpy()
    found = featurizer.collect(rows, logits["classifier"].numpy())
    assert spec.answer.scores(spec.metrics, list(ROWS[kind]), found)["loss"] == pytest.approx(trained, rel=1e-5)
    module = head.module(spec.answer, model=model, vocab=VOCAB, do_lower_case=True, max_seq_length=6, is_pair=False)
    answers = module.signatures()["serving_default"](**{name: tf.constant(value) for name, value in INPUTS[kind].items()})
    assert answers.keys() == OUTPUTS[kind]
    lines = [line.split("\t") for line in spec.answer.result_lines(found)]
    numbers = answers["prediction" if kind == REGRESS else "probabilities"].numpy()
    if kind == TAG:
        numbers = numbers[np.asarray(INPUTS[kind]["tokens"]) != ""]
    numbers = numbers.reshape(len(lines), -1)
    np.testing.assert_allclose(numbers, np.asarray(lines, float), atol=1e-5)


def test_a_predicted_number_has_all_its_digits_whatever_the_precision():
    model = HEADS[REGRESS].make_model(spec_of(REGRESS), CONFIG, False, keras.DTypePolicy("mixed_bfloat16"), False)
    ids = tf.constant([[2, 5, 6, 3], [2, 6, 5, 3]])
    numbers = model({"input_ids": ids, "input_mask": tf.ones_like(ids), "segment_ids": tf.zeros_like(ids)}, training=False)["classifier"]
    assert np.any(numbers.numpy() != tf.cast(tf.cast(numbers, tf.bfloat16), tf.float32).numpy())


def test_weights_are_for_training_with_one_label_a_row():
    assert head_of(spec_of(CLASSIFY), None, ["red"]) is HEADS[CLASSIFY]
    assert head_of(spec_of(CLASSIFY), "balanced", []) is HEADS[CLASSIFY]  # nothing is trained
    weighted = head_of(spec_of(CLASSIFY), "red:3", ["red", "green"]).objective
    batch = {"label_ids": tf.constant([0, 1, 0]), "is_real_example": tf.constant([1, 1, 0])}
    np.testing.assert_array_equal(weighted.weights(batch)["classifier"], [3.0, 1.0, 0.0])
    with pytest.raises(InputError, match="class_weights is 'balanced', but the kind of toy is multilabel; it is for classify"):
        head_of(spec_of(MULTILABEL), "balanced", [("red",)])
