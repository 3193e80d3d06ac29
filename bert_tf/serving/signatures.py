"""What a SavedModel answers: raw text, ids or serialized examples in, named outputs out; core TensorFlow operations only."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from bert_tf.data.schema import ENCODER_INPUTS
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece_graph import GraphTokenizer

# A sentence to ask a fresh export, so that what was written is known to answer as the model does.
PROBE = "The sky is blue."

INPUT_NAMES = tuple(feature.name for feature in ENCODER_INPUTS)


class ServingModule(tf.Module):
    """A model with its tokenizer inside; subclasses say what comes out."""

    def __init__(self, model: keras.Model, vocab: Vocabulary | None, do_lower_case: bool, max_seq_length: int, is_pair: bool):
        """Takes the model, its vocabulary (None: ids only), the casing, the longest input, and whether texts come in pairs."""
        super().__init__()
        self.model = model
        self.max_seq_length = max_seq_length
        self.is_pair = is_pair
        self._vocab = vocab
        self.tokenizer = GraphTokenizer(vocab, do_lower_case) if vocab is not None else None

    def outputs(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Returns the named outputs for the encoder's inputs int32[batch, seq]."""
        raise TypeError("a subclass says what comes out")

    def pack(self, texts: tf.Tensor, pairs: tf.Tensor | None) -> dict[str, tf.Tensor]:
        """Returns the encoder's inputs, int32[batch, seq], for string[batch] texts; seq is that of the longest, at most the limit.

        Pairs are cut as the original cuts them: piece by piece from the longer side, from the second on a tie. A second text without
        any piece is left out with its [SEP].
        """
        first = self.tokenizer(texts)  # int32[batch, (pieces)]
        ones = tf.ones_like(texts, tf.int32)[:, None]
        cls, sep = ones * self._vocab.cls_id, ones * self._vocab.sep_id
        if pairs is None:
            first = keep(first, tf.fill(tf.shape(texts), self.max_seq_length - 2))
            ids = tf.concat([cls, first, sep], axis=1)
            segments = tf.zeros_like(ids)
        else:
            second = self.tokenizer(pairs)
            length_a, length_b = (tf.cast(part.row_lengths(), tf.int32) for part in (first, second))
            has_b = tf.cast(length_b > 0, tf.int32)
            room = self.max_seq_length - 2 - has_b
            keep_b = tf.minimum(length_b, tf.maximum(room - length_a, room // 2))
            first, second = keep(first, room - keep_b), keep(second, keep_b)
            # [SEP] once where there is a second text, else an empty row
            last_sep = tf.RaggedTensor.from_row_lengths(tf.fill([tf.reduce_sum(has_b)], self._vocab.sep_id), tf.cast(has_b, tf.int64))
            left, right = tf.concat([cls, first, sep], axis=1), tf.concat([second, last_sep], axis=1)
            ids = tf.concat([left, right], axis=1)
            segments = tf.concat([tf.zeros_like(left), tf.ones_like(right)], axis=1)
        inputs = {"input_ids": ids, "input_mask": tf.ones_like(ids), "segment_ids": segments}
        return {name: pad(value, self._vocab.pad_id if name == "input_ids" else 0) for name, value in inputs.items()}

    def signatures(self) -> dict[str, tf.types.experimental.ConcreteFunction]:
        """Returns the signatures by name: `ids` and `examples`, and with a vocabulary `serving_default` on raw text."""
        signatures = {
            "ids": tf.function(self.outputs, input_signature=[self.ids_spec()], autograph=False),
            "examples": tf.function(self._from_examples, input_signature=[tf.TensorSpec([None], tf.string, "examples")], autograph=False),
        }
        signatures["serving_default"] = signatures["ids"] if self.tokenizer is None else self.text_signature()
        return {name: function.get_concrete_function() for name, function in signatures.items()}

    def ids_spec(self) -> dict[str, tf.TensorSpec]:
        """Returns what the signature `ids` takes: int32[batch, seq] each."""
        return {name: tf.TensorSpec([None, None], tf.int32, name) for name in INPUT_NAMES}

    def example_shape(self) -> list[int]:
        """Returns the shape of the encoder's inputs in a serialized example."""
        return [self.max_seq_length]

    def probes(self) -> list[dict[str, Any]]:
        """Returns what to ask a fresh export: for each probe its `signature` and that one's inputs by name."""
        texts = {"text": [PROBE, ""]} | ({"text_pair": ["", PROBE]} if self.is_pair else {})
        return [
            {"signature": "serving_default", **texts},
            {"signature": "ids", "input_ids": [[0, 1]], "input_mask": [[1, 1]], "segment_ids": [[0, 0]]},
        ]

    def text_signature(self) -> tf.types.experimental.PolymorphicFunction:
        """Returns the function on raw text: `text`, and `text_pair` where texts come in pairs."""
        strings = tf.TensorSpec([None], tf.string, "text")
        if not self.is_pair:
            return tf.function(lambda text: self.outputs(self.pack(text, None)), input_signature=[strings], autograph=False)
        pair_spec = [strings, tf.TensorSpec([None], tf.string, "text_pair")]
        return tf.function(lambda text, text_pair: self.outputs(self.pack(text, text_pair)), input_signature=pair_spec, autograph=False)

    def _from_examples(self, examples):
        spec = {name: tf.io.FixedLenFeature(self.example_shape(), tf.int64) for name in INPUT_NAMES}
        parsed = tf.io.parse_example(examples, spec)
        return self.outputs({name: tf.cast(value, tf.int32) for name, value in parsed.items()})


class ClassifierModule(ServingModule):
    """Outputs: `label` string[batch] and `probabilities` float32[batch, labels], in the order of the labels asset."""

    def __init__(self, labels: Sequence[str], **options):
        """Takes the label names in the order of the logits, and what every serving module takes."""
        super().__init__(**options)
        self.labels = tf.constant(list(labels))

    def outputs(self, inputs):
        """Returns label and probabilities for the encoder's inputs int32[batch, seq]."""
        probabilities = tf.nn.softmax(self.model(inputs, training=False)["classifier"])
        return {"label": tf.gather(self.labels, tf.argmax(probabilities, axis=-1)), "probabilities": probabilities}


class RegressorModule(ServingModule):
    """Output: `prediction` float32[batch]."""

    def outputs(self, inputs):
        """Returns the prediction for the encoder's inputs int32[batch, seq]."""
        return {"prediction": self.model(inputs, training=False)["classifier"][:, 0]}  # [batch, 1] -> [batch]


class MultilabelModule(ServingModule):
    """Outputs: `probabilities` float32[batch, labels], in the order of the labels asset, and `given` bool[batch, labels]."""

    def __init__(self, thresholds: Sequence[float], **options):
        """Takes from which probability each label is given, in the order of the logits, and what every serving module takes."""
        super().__init__(**options)
        self.thresholds = tf.constant(list(thresholds), tf.float32)

    def outputs(self, inputs):
        """Returns probabilities, and which labels are given, for the encoder's inputs int32[batch, seq]."""
        probabilities = tf.sigmoid(self.model(inputs, training=False)["classifier"])
        return {"probabilities": probabilities, "given": probabilities >= self.thresholds}


class EncoderModule(ServingModule):
    """Outputs: `sequence_output` float32[batch, seq, hidden], `pooled_output` float32[batch, hidden], `input_mask` int32[batch, seq].

    Of raw text only the mask says which vectors are the text's and which are padding's.
    """

    def outputs(self, inputs):
        """Returns sequence_output, pooled_output and input_mask for the encoder's inputs int32[batch, seq]."""
        encoded = self.model(inputs, training=False)
        vectors = {name: tf.cast(encoded[name], tf.float32) for name in ("sequence_output", "pooled_output")}
        return vectors | {"input_mask": tf.identity(inputs["input_mask"])}


def pad(rows: tf.RaggedTensor, value: int) -> tf.Tensor:
    """Returns the rows as a dense tensor; of an empty batch, one column wide, as the pooler looks at the first."""
    dense = rows.to_tensor(value)  # [batch, (pieces)] -> [batch, seq]
    return tf.pad(dense, [[0, 0], [0, tf.maximum(1 - tf.shape(dense)[1], 0)]], constant_values=value)


def keep(ids: tf.RaggedTensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    """Returns each row's first `lengths` pieces, lengths int32[batch]."""
    places = tf.ragged.range(tf.cast(ids.row_lengths(), tf.int32))
    kept = tf.ragged.boolean_mask(ids, places < tf.cast(lengths, tf.int32)[:, None])
    return tf.cast(kept, tf.int32)
