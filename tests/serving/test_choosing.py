"""What an exported chooser says: the same for raw text, ids and serialized examples, as the records of training give."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling.models import ChoiceModel
from bert_tf.serving.choosing import ChooserModule
from bert_tf.serving.export import export
from bert_tf.tasks.choice_features import ChoiceFeaturizer
from bert_tf.tasks.spec import Columns, Row, TableSource, TaskSpec
from tests.serving.conftest import CONFIG, MAX_SEQ_LENGTH, TOKENIZER, VOCAB

SPEC = TaskSpec("toy", "choose", ("0", "1", "2"), ("accuracy",), TableSource(Columns(("text",), choices=("a", "b", "c")), {}))
ROWS = [
    ("The sky", "is blue.", "blues", ""),
    ("caf\u00e9 \U0001f600", "a b c " * 9, "\u200b", "a"),
    ("a b c " * 9, "is blue", "the sky " * 9, "!"),
]
NAMES = ("input_ids", "input_mask", "segment_ids")


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(11)
    return ChoiceModel(CONFIG, 1)


@pytest.fixture(scope="module")
def signatures(model, tmp_path_factory):
    module = ChooserModule(3, model=model, vocab=VOCAB, do_lower_case=True, max_seq_length=MAX_SEQ_LENGTH, is_pair=False)
    path = export(module, str(tmp_path_factory.mktemp("chooser") / "export"), {}, module.probes())
    loaded = tf.saved_model.load(path)
    return loaded.signatures  # the functions hold on to what they need


def records():
    featurizer = ChoiceFeaturizer(SPEC, TOKENIZER, MAX_SEQ_LENGTH)
    return [{name: record[name] for name in NAMES} for record in featurizer.records([Row("0", row, None, "") for row in ROWS])]


def test_raw_text_ids_and_examples_are_answered_alike(model, signatures):
    inputs = {name: np.reshape([record[name] for record in records()], (3, 3, MAX_SEQ_LENGTH)).astype(np.int32) for name in NAMES}
    expected = tf.nn.softmax(model(inputs, training=False)["classifier"]).numpy()
    assert np.ptp(expected) > 0.01
    texts = {"text": tf.constant([row[0] for row in ROWS]), "choices": tf.constant([row[1:] for row in ROWS])}
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={name: tf.train.Feature(int64_list=tf.train.Int64List(value=values)) for name, values in record.items()}
            )
        ).SerializeToString()
        for record in records()
    ]
    answers = [
        signatures["serving_default"](**texts),
        signatures["ids"](**{name: tf.constant(value) for name, value in inputs.items()}),
        signatures["examples"](examples=tf.constant(examples)),
    ]
    for answer in answers:
        np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)
        np.testing.assert_array_equal(answer["choice"], expected.argmax(axis=1))


def test_any_number_of_choices_in_any_order(signatures):
    ask = signatures["serving_default"]
    text, choices = tf.constant(["The sky"]), ["is blue.", "a", "blues", "the cafe", "!"]
    straight = ask(text=text, choices=tf.constant([choices]))["probabilities"].numpy()[0]
    turned = ask(text=text, choices=tf.constant([choices[::-1]]))["probabilities"].numpy()[0]
    np.testing.assert_allclose(turned, straight[::-1], atol=1e-5)
    two = ask(text=text, choices=tf.constant([choices[:2]]))["probabilities"].numpy()[0]
    np.testing.assert_allclose(two, straight[:2] / straight[:2].sum(), atol=1e-5)
