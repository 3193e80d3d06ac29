"""Asking a SavedModel from Python: loaded once, then any number of raw texts."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from bert_tf.data.text_files import read_lines
from bert_tf.errors import InputError, one_line


class Predictor:
    """An exported model in memory. Its signature takes any batch size and length, so no call compiles anything anew.

    Attributes:
      path: The version directory.
      input_names: What the signature takes: text, and text_pair for tasks on pairs; question and context; tokens; or text and choices.
      labels: What `probabilities` are of, in their order; empty where the model is no classifier.
    """

    def __init__(self, path: str):
        """Loads the SavedModel in `path`, a version directory or its parent, of which the highest version is taken."""
        self.path = _version_directory(path)
        try:
            self._model = tf.saved_model.load(self.path)
        except Exception as error:  # the loader tells damage in many types: OpError, OSError, IndexError, ...
            raise InputError(f"{self.path}: cannot be loaded as a SavedModel ({one_line(error)}); export it again") from error
        if "serving_default" not in self._model.signatures:
            raise InputError(f"{self.path}: has no signature serving_default; export it again")
        self._signature = self._model.signatures["serving_default"]
        self.input_names = sorted(self._signature.structured_input_signature[1])
        labels = f"{self.path}/assets/labels.txt"
        self.labels = list(read_lines(labels)) if tf.io.gfile.exists(labels) else []

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Returns for each text, or pair of texts, the model's outputs by name as plain Python values.

        A model that answers questions takes them as texts and their contexts as second texts. An encoder's sequence_output is one
        vector a piece of the text, [CLS] and [SEP] included, without padding. A tagger takes texts whose tokens have white space between,
        and tells `tokens` too.

        Raises:
          InputError: The model takes pairs and none are given, or the reverse, or it takes no raw text; or the texts are no lists of
            the same length.
        """
        if isinstance(texts, str) or isinstance(pairs, str):
            raise InputError("the texts are one string; give a list of texts, even for one")
        wanted = ["text"] if pairs is None else ["text", "text_pair"]
        names = dict(zip(wanted, wanted))
        if self.input_names == ["context", "question"]:
            if pairs is None:
                raise InputError(f"{self.path}: answers questions on contexts; give the contexts too, as second texts")
            names = {"text": "question", "text_pair": "context"}
        elif self.input_names == ["choices", "text"]:
            raise InputError(f"{self.path}: chooses one of several texts; ask it from Python, by Predictor.choose")
        elif self.input_names == ["tokens"] and pairs is None:
            return self.tag([text.split() for text in texts])
        elif self.input_names == ["text"] and pairs is not None:
            raise InputError(f"{self.path}: takes one text, not pairs; leave the second texts out")
        elif self.input_names == ["text", "text_pair"] and pairs is None:
            raise InputError(f"{self.path}: takes pairs of texts; give the second texts too")
        elif self.input_names != wanted:
            raise InputError(f"{self.path}: its signature takes {', '.join(self.input_names)}, not {', '.join(wanted)}; give what it takes")
        if pairs is not None and len(pairs) != len(texts):
            raise InputError(f"{len(texts)} texts and {len(pairs)} second texts; give as many of each")
        if len(texts) == 0:
            return []
        inputs = {names["text"]: tf.constant(list(texts), tf.string)}
        if pairs is not None:
            inputs[names["text_pair"]] = tf.constant(list(pairs), tf.string)
        outputs = {name: value.numpy() for name, value in self._signature(**inputs).items()}
        mask = outputs.pop("input_mask", None)
        if mask is not None:
            outputs["sequence_output"] = [row[: int(kept.sum())] for row, kept in zip(outputs["sequence_output"], mask)]
        return [{name: _plain(values[row]) for name, values in outputs.items()} for row in range(len(texts))]

    def choose(self, texts: Sequence[str], choices: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Returns for each text the number of the choice that fits it best, from 0, and each choice's probability.

        Raises:
          InputError: The model does not choose, or there are not as many choices for each text.
        """
        if self.input_names != ["choices", "text"]:
            raise InputError(f"{self.path}: its signature takes {', '.join(self.input_names)}, not text and choices; give what it takes")
        if len(texts) != len(choices) or len(set(map(len, choices))) > 1:
            raise InputError(f"{len(texts)} texts and {len(choices)} lists of choices; give a list for each text, all of the same length")
        if len(texts) == 0:
            return []
        outputs = self._signature(text=tf.constant(list(texts), tf.string), choices=tf.constant([list(row) for row in choices], tf.string))
        numbers, probabilities = (outputs[name].numpy().tolist() for name in ("choice", "probabilities"))
        return [{"choice": number, "probabilities": row} for number, row in zip(numbers, probabilities)]

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Returns for each sentence its tokens, their tags, and their probabilities, a list a token.

        Raises:
          InputError: The model is no tagger, or a token is empty.
        """
        if self.input_names != ["tokens"]:
            raise InputError(f"{self.path}: its signature takes {', '.join(self.input_names)}, not tokens; give what it takes")
        if any(not token for tokens in sentences for token in tokens):
            raise InputError("a token is empty; leave it out")
        width = max(map(len, sentences), default=0)
        rows = [[*tokens, *[""] * (width - len(tokens))] for tokens in sentences]
        outputs = self._signature(tokens=tf.constant(rows, tf.string, [len(rows), width]))
        tags, probabilities = (outputs[name].numpy() for name in ("tags", "probabilities"))
        return [
            {
                "tokens": list(tokens),
                "tags": [tag.decode("utf-8") for tag in tags[row][: len(tokens)]],
                "probabilities": probabilities[row][: len(tokens)].tolist(),
            }
            for row, tokens in enumerate(sentences)
        ]


def _plain(value: Any) -> Any:
    """Returns a NumPy value as text, number or list."""
    return value.decode("utf-8") if isinstance(value, bytes) else value.tolist()


def _version_directory(path: str) -> str:
    if tf.io.gfile.exists(f"{path}/saved_model.pb"):
        return path
    names = [name.rstrip("/") for name in tf.io.gfile.listdir(path)] if tf.io.gfile.isdir(path) else []
    versions = sorted(int(name) for name in names if name.isdigit())
    if not versions:
        if not tf.io.gfile.exists(path):
            raise InputError(f"{path}: is not there; give an export directory, as runs/mrpc/export")
        within = f"{path.rstrip('/')}/export"
        mend = f"give {within}" if tf.io.gfile.isdir(within) else "give an export directory, as runs/mrpc/export"
        raise InputError(f"{path}: holds no SavedModel; {mend}")
    return f"{path}/{versions[-1]}"
