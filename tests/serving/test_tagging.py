"""What an exported tagger says of sentences: the same as the records of `tasks/tag_features.py` give, of any length."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import TaggerConfig
from bert_tf.errors import InputError
from bert_tf.modeling.feature_tagging import FeatureTaggingModel
from bert_tf.modeling.models import TaggingModel
from bert_tf.serving.client import Predictor
from bert_tf.serving.export import export
from bert_tf.serving.tagging import TaggerModule
from bert_tf.tasks.spec import Columns, Row, TableSource, TaskSpec
from bert_tf.tasks.tag_features import TagFeaturizer, TokenFeaturizer
from tests.serving.conftest import CONFIG, MAX_SEQ_LENGTH, TOKENIZER, VOCAB

TAGS = ("B-X", "I-X", "O")
SPEC = TaskSpec("toy", "tag", TAGS, ("entity_f1",), TableSource(Columns(("1",), "2"), {}))
SENTENCES = [
    ["The", "sky", "is", "blue", "."],
    ["skyly"],
    ["a", "\u200b", "caf\u00e9", "\U0001f600", "xyz", "a\u00a0b"],
    [],
    ["\u200b"],
    ["blues", "a", "b", "skyly", "c"] * 9,  # over max_seq_length several times
    ["a"] * (MAX_SEQ_LENGTH - 2),
    ["a"] * (MAX_SEQ_LENGTH - 1),
    ["a,b.c!a,b.c!a,b.c!a,b.c!", "blue"],  # one token longer than a record
]

CLIENT = """
import json, sys
import tensorflow as tf
signature = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
answers = signature(tokens=tf.constant(json.loads(sys.argv[2])))
print(json.dumps({"tags": [[tag.decode() for tag in row] for row in answers["tags"].numpy().tolist()]}))
"""


@pytest.fixture(scope="module", params=["fine-tuned", "last", "sum_all"])
def model(request):
    keras.utils.set_random_seed(7)
    if request.param == "fine-tuned":
        return TaggingModel(CONFIG, len(TAGS))
    return FeatureTaggingModel(TaggerConfig(request.param, lstm_size=8), CONFIG, len(TAGS))


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    module = TaggerModule(TAGS, model=model, vocab=VOCAB, do_lower_case=True, max_seq_length=MAX_SEQ_LENGTH, is_pair=False)
    return export(module, str(tmp_path_factory.mktemp("tagger") / "export"), {"labels.txt": "B-X\nI-X\nO\n"}, module.probes())


def expected(model, sentences):
    """Returns the probabilities of all tokens by way of the records that training and evaluation see."""
    of_tokens = isinstance(model, FeatureTaggingModel)
    featurizer = (TokenFeaturizer if of_tokens else TagFeaturizer)(SPEC, TOKENIZER, MAX_SEQ_LENGTH)
    rows = [Row("0", tuple(tokens), None, "") for tokens in sentences]
    records = list(featurizer.records(rows))
    inputs = {name: np.asarray([record[name] for record in records], np.int32) for name in ("input_ids", "input_mask", "segment_ids")}
    if of_tokens:
        inputs = token_batch(model, inputs, np.asarray([record["label_mask"] for record in records]))
    logits = featurizer.collect(rows, model(inputs, training=False)["classifier"].numpy())
    return tf.nn.softmax(logits).numpy()


def token_batch(model, inputs, mask):
    """Returns what a run keeps of the records' tokens, record by record."""
    layers = np.stack([np.asarray(layer) for layer in model.encoder(inputs)["all_layers"]], axis=2)[:, :, list(model.layers_read)]
    vectors, is_token = np.zeros_like(layers), np.zeros_like(mask)
    for number, of_record in enumerate(mask.astype(bool)):
        count = of_record.sum()
        vectors[number, :count], is_token[number, :count] = layers[number, of_record], 1
    return {"token_vectors": vectors, "input_mask": is_token}


def test_sentences_of_any_length_are_tagged_as_in_evaluation(model, path):
    told = Predictor(path).tag(SENTENCES)
    assert [answer["tokens"] for answer in told] == SENTENCES
    found = np.asarray([row for answer in told for row in answer["probabilities"]])
    np.testing.assert_allclose(found, expected(model, SENTENCES), atol=1e-5)
    assert [tag for answer in told for tag in answer["tags"]] == [TAGS[id] for id in found.argmax(axis=1)]
    assert len({tag for answer in told for tag in answer["tags"]}) > 1
    assert told[4]["tags"] == ["O"] and told[2]["tags"][1] == "O"


def test_a_sentences_tags_do_not_depend_on_the_others_of_its_batch(path):
    predictor = Predictor(path)
    together = predictor.tag(SENTENCES)
    for sentence, answer in zip(SENTENCES, together):
        (alone,) = predictor.tag([sentence])
        assert alone["tags"] == answer["tags"]
        np.testing.assert_allclose(alone["probabilities"], answer["probabilities"], atol=1e-5)
    assert predictor.tag([]) == []


def test_another_process_needs_tensorflow_alone(path):
    rows = [["The", "sky", "is"], ["blue", "", ""]]
    done = subprocess.run([sys.executable, "-c", CLIENT, path, json.dumps(rows)], capture_output=True, text=True, check=True)
    tags = json.loads(done.stdout)["tags"]
    assert [[tag for tag in row if tag] for row in tags] == [answer["tags"] for answer in Predictor(path).tag([rows[0], ["blue"]])]
    assert tags[1][1:] == ["", ""]


def test_texts_are_cut_at_white_space(path):
    predictor = Predictor(path)
    assert predictor.predict(["The sky  is"]) == predictor.tag([["The", "sky", "is"]])
    with pytest.raises(InputError, match="its signature takes tokens, not text, text_pair"):
        predictor.predict(["The sky"], ["is"])
    with pytest.raises(InputError, match="a token is empty; leave it out"):
        predictor.tag([["The", ""]])
