"""Exports of tiny models, and their answers as another process sees them that knows nothing but TensorFlow."""

import json
import subprocess
import sys
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.models import ClassificationModel
from bert_tf.serving.export import export
from bert_tf.serving.signatures import ClassifierModule, EncoderModule
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

MAX_SEQ_LENGTH = 12
LABELS = ("no", "yes", "vielleicht \u00e4")
# U+2028 is a piece of the Chinese vocabularies, and no line end.
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "sky", "is", "blue", "##s", "##ly", "cafe", "a", "b", "c", ",", ".", "!", "\U0001f600", "\u5929", "\u7a7a"]
VOCAB = Vocabulary([*SPECIAL, "\u2028", *WORDS])
TOKENIZER = WordPieceTokenizer(VOCAB, do_lower_case=True)
CONFIG = BertConfig(
    vocab_size=len(VOCAB),
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    # so that an export in training mode would show
    hidden_dropout_prob=0.9,
    attention_probs_dropout_prob=0.9,
    # so that answers differ
    initializer_range=0.5,
    max_position_embeddings=16,
    type_vocab_size=2,
)
TEXTS = [
    "",
    "The sky is blue.",
    "caf\u00e9 \U0001f600 \u5929\u7a7a skyly \U0001f680",
    "a b c " * 2000,
    " \t\u200b",
    "The\x00 SKY\u2028blues!",
]
PAIRS = ["The sky", "", "a " * 500, "b c " * 700, "\ufffd", "is it blue?"]

# Loads SavedModels, asks each request three times, and writes the answers.
CLIENT = """
import json, sys
import numpy as np, tensorflow as tf
loaded = {path: tf.saved_model.load(path) for path in sys.argv[3:]}
described = {
    path: {name: [sorted(f.structured_input_signature[1]), sorted(f.structured_outputs)] for name, f in model.signatures.items()}
    for path, model in loaded.items()
}
answers = {}
for number, (path, name, inputs) in enumerate(np.load(sys.argv[1], allow_pickle=True)["requests"]):
    for turn in range(3):
        for output, value in loaded[path].signatures[name](**{key: tf.constant(value) for key, value in inputs.items()}).items():
            answers[f"{number}/{turn}/{output}"] = value.numpy()
np.savez(sys.argv[2], **answers)
foreign = [name for name in sys.modules if name.split(".")[0] in ("bert_tf", "tensorflow_text", "sentencepiece", "transformers")]
print(json.dumps({"signatures": described, "foreign": foreign}))
"""


def ask_in_another_process(requests, folder):
    """Returns what a process that knows TensorFlow only says of the SavedModels, and for each request its three answers.

    Args:
      requests: For each, the SavedModel's path, the signature's name and its inputs.
      folder: Where to put files.
    """
    boxed = np.empty(len(requests), object)
    boxed[:] = requests
    np.savez(folder / "requests.npz", requests=boxed)
    paths = sorted({path for path, _, _ in requests})
    command = [sys.executable, "-c", CLIENT, str(folder / "requests.npz"), str(folder / "answers.npz"), *paths]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [[{}, {}, {}] for _ in requests]
    with np.load(folder / "answers.npz", allow_pickle=True) as stored:
        for key in stored.files:
            number, turn, output = key.split("/")
            answers[int(number)][int(turn)][output] = stored[key]
    return json.loads(done.stdout), answers


def make_classifier(is_pair, config=CONFIG):
    keras.utils.set_random_seed(1)
    model = ClassificationModel(config, len(LABELS))
    options = dict(vocab=VOCAB, do_lower_case=True, max_seq_length=MAX_SEQ_LENGTH, is_pair=is_pair)
    return ClassifierModule(LABELS, model=model, **options)


def make_encoder(vocab=VOCAB, config=CONFIG):
    keras.utils.set_random_seed(2)
    return EncoderModule(BertEncoder(config), vocab, True, MAX_SEQ_LENGTH, is_pair=False)


@pytest.fixture(scope="session")
def classifier(tmp_path_factory):
    """A classifier of single texts, exported after a step in training mode, as a run exports it."""
    module, folder = make_classifier(is_pair=False), tmp_path_factory.mktemp("classifier")
    batch = {name: tf.ones([2, 4], tf.int32) for name in ("input_ids", "input_mask", "segment_ids")}
    tf.function(module.model)(batch, training=True)
    assets = {"vocab.txt": VOCAB.to_text(), "bert_config.json": CONFIG.to_json(), "labels.txt": "".join(f"{label}\n" for label in LABELS)}
    probes = [{"signature": "serving_default", "text": TEXTS}, {"signature": "ids", **{name: [[2, 7, 3]] for name in batch}}]
    path = export(module, str(folder / "export"), assets, probes)
    return SimpleNamespace(module=module, path=path, folder=folder, assets=assets)


@pytest.fixture(scope="session")
def pair_classifier(tmp_path_factory):
    module, folder = make_classifier(is_pair=True), tmp_path_factory.mktemp("pairs")
    path = export(module, str(folder / "export"), {}, [{"signature": "serving_default", "text": TEXTS, "text_pair": PAIRS}])
    return SimpleNamespace(module=module, path=path, folder=folder)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory):
    module, folder = make_encoder(), tmp_path_factory.mktemp("encoder")
    path = export(module, str(folder / "export"), {}, [{"signature": "serving_default", "text": TEXTS}])
    return SimpleNamespace(module=module, path=path, folder=folder)


class Small(tf.Module):
    """A module that is quick to write and to load; what it answers to texts is up to `answer`."""

    def __init__(self, answer=tf.strings.length, is_pair=False):
        super().__init__()
        self._answer, self._is_pair = answer, is_pair

    def signatures(self):
        strings = [tf.TensorSpec([None], tf.string, name) for name in (("text", "text_pair") if self._is_pair else ("text",))]
        function = tf.function(lambda text, text_pair=None: {"length": self._answer(text)}, input_signature=strings)
        return {"serving_default": function.get_concrete_function()}
