"""A SavedModel that tags the tokens of sentences, of any length: tokens in, a tag for each out; core TensorFlow operations only."""

from collections.abc import Sequence

import tensorflow as tf

from bert_tf.serving.signatures import PROBE, ServingModule, pad


class TaggerModule(ServingModule):
    """Outputs on tokens: `tags` string[batch, tokens] and `probabilities` float32[batch, tokens, labels], in the labels asset's order.

    Sentences of fewer tokens than the longest are filled up with empty tokens, whose tags are empty and whose probabilities are 0. On
    ids and examples there is a tag for every piece.

    A sentence is tagged without its neighbours; longer than max_seq_length it is cut as `tasks/tag_features.py` cuts it. A token that
    the tokenizer makes nothing of is O, or the first label where there is no O.
    """

    def __init__(self, labels: Sequence[str], **options):
        """Takes the tags in the order of the logits, and what every serving module takes."""
        super().__init__(**options)
        self.labels = tf.constant(list(labels))
        self._outside = list(labels).index("O") if "O" in labels else 0

    def outputs(self, inputs):
        """Returns tags string[batch, seq] and probabilities float32[batch, seq, labels] for the encoder's inputs int32[batch, seq]."""
        return self._told(tf.nn.softmax(self.model(inputs, training=False)["classifier"]))

    def probes(self):
        """Returns what to ask a fresh export: two sentences, one of them longer than the longest input."""
        ids = super().probes()[1]
        long = [*PROBE.split(), *["sky"] * self.max_seq_length]
        return [{"signature": "serving_default", "tokens": [long, ["blue", *[""] * (len(long) - 1)]]}, ids]

    def text_signature(self):
        """Returns the function on sentences that are cut into `tokens`."""
        return tf.function(self.tag, input_signature=[tf.TensorSpec([None, None], tf.string, "tokens")], autograph=False)

    def tag(self, tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the outputs for string[batch, tokens]."""
        batch, width = tf.unstack(tf.shape(tokens))
        pieces = self.tokenizer(tf.reshape(tokens, [-1]))  # [batch, tokens] -> int32[batch x tokens, (pieces)]
        counts = tf.reshape(tf.cast(pieces.row_lengths(), tf.int32), [batch, width])
        lengths = tf.reduce_sum(counts, axis=1)  # of the sentences, in pieces: int32[batch]
        room = self.max_seq_length - 2
        size = tf.where(lengths <= room, lengths, -(-room // 2))
        num_windows = tf.maximum(1, -(-lengths // tf.maximum(size, 1)))
        logits, begins = self._window_logits(pieces.flat_values, lengths, num_windows, size, room)
        # each token's tag stands in one window, at its first piece
        firsts = tf.cumsum(counts, axis=1, exclusive=True)  # int32[batch, tokens]
        within = tf.minimum(firsts // tf.maximum(size, 1)[:, None], num_windows[:, None] - 1)
        windows = tf.cumsum(num_windows, exclusive=True)[:, None] + within
        is_asked = counts > 0
        places = tf.where(is_asked, 1 + firsts - tf.gather(begins, windows), 0)  # [CLS] comes first
        probabilities = tf.nn.softmax(tf.gather_nd(logits, tf.stack([windows, places], axis=-1)))
        certain = tf.one_hot(self._outside, tf.size(self.labels))
        told = self._told(tf.where(is_asked[..., None], probabilities, certain))
        is_token = tf.not_equal(tokens, "")
        return {
            "tags": tf.where(is_token, told["tags"], ""),
            "probabilities": tf.where(is_token[..., None], told["probabilities"], 0.0),
        }

    def _told(self, probabilities: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"tags": tf.gather(self.labels, tf.argmax(probabilities, axis=-1)), "probabilities": probabilities}

    def _window_logits(self, ids, lengths, num_windows, size, room):
        """Returns the logits of all windows, float32[windows, seq, labels], and where in its sentence each begins, int32[windows].

        Args:
          ids: int32[pieces], of all sentences.
          lengths: int32[batch], pieces of each sentence.
          num_windows: int32[batch], windows of each sentence.
          size: int32[batch], pieces whose tokens are tagged in the same window.
          room: Most pieces of a window.
        """
        owners = tf.repeat(tf.range(tf.size(lengths)), num_windows)  # [batch] -> [windows]
        numbers = tf.ragged.range(num_windows).flat_values
        own_size, own_length = tf.gather(size, owners), tf.gather(lengths, owners)
        begins = tf.minimum(numbers * own_size - (room - own_size) // 2, own_length - room)
        begins = tf.maximum(begins, 0)
        firsts = tf.gather(tf.cumsum(lengths, exclusive=True), owners) + begins
        shown = tf.minimum(own_length - begins, room)
        rows = tf.gather(ids, tf.ragged.range(firsts, firsts + shown))
        ones = tf.ones([tf.size(owners), 1], tf.int32)
        rows = tf.concat([ones * self._vocab.cls_id, rows, ones * self._vocab.sep_id], axis=1)
        inputs = {"input_ids": rows, "input_mask": tf.ones_like(rows), "segment_ids": tf.zeros_like(rows)}
        inputs = {name: pad(value, self._vocab.pad_id if name == "input_ids" else 0) for name, value in inputs.items()}
        return self.model(inputs, training=False)["classifier"], begins
