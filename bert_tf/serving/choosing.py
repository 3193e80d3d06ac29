"""A SavedModel that says which of several texts fits another; core TensorFlow operations only."""

import tensorflow as tf

from bert_tf.serving.signatures import INPUT_NAMES, PROBE, ServingModule


class ChooserModule(ServingModule):
    """Outputs: `choice` int32[batch], the number of the likeliest choice from 0, and `probabilities` float32[batch, choices].

    Raw text comes as `text` string[batch] and `choices` string[batch, choices], any number of them; where the task has words with which
    each choice begins, they are part of each choice here.
    """

    def __init__(self, num_choices: int, **options):
        """Takes how many choices a serialized example holds, and what every serving module takes."""
        super().__init__(**options | {"is_pair": True})
        self.num_choices = num_choices

    def outputs(self, inputs):
        """Returns choice and probabilities for the encoder's inputs int32[batch, choices, seq]."""
        probabilities = tf.nn.softmax(self.model(inputs, training=False)["classifier"])
        return {"choice": tf.argmax(probabilities, axis=-1, output_type=tf.int32), "probabilities": probabilities}

    def probes(self):
        """Returns what to ask a fresh export."""
        ids = {"input_ids": [[[0, 1], [1, 0]]], "input_mask": [[[1, 1], [1, 1]]], "segment_ids": [[[0, 0], [0, 1]]]}
        return [
            {"signature": "serving_default", "text": [PROBE, ""], "choices": [["", PROBE, "No."], [PROBE, "", "No."]]},
            {"signature": "ids", **ids},
        ]

    def ids_spec(self):
        """Returns what the signature `ids` takes: int32[batch, choices, seq] each."""
        return {name: tf.TensorSpec([None, None, None], tf.int32, name) for name in INPUT_NAMES}

    def example_shape(self):
        """Returns the shape of the encoder's inputs in a serialized example."""
        return [self.num_choices, self.max_seq_length]

    def text_signature(self):
        """Returns the function on raw text: `text` and `choices`."""
        spec = [tf.TensorSpec([None], tf.string, "text"), tf.TensorSpec([None, None], tf.string, "choices")]
        return tf.function(self.choose, input_signature=spec, autograph=False)

    def choose(self, text: tf.Tensor, choices: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the outputs for string[batch] and string[batch, choices]."""
        batch, num_choices = tf.unstack(tf.shape(choices))
        packed = self.pack(tf.repeat(text, num_choices), tf.reshape(choices, [-1]))  # -> int32[batch x choices, seq]
        return self.outputs({name: tf.reshape(value, [batch, num_choices, tf.shape(value)[1]]) for name, value in packed.items()})
