"""A SavedModel that tags the tokens of sentences, of any length: tokens in, a tag for each out; core TensorFlow operations only."""

from collections.abc import Sequence

import tensorflow as tf

from bert_tf.serving.signatures import PROBE, ServingModule, pad
from bert_tf.tasks.tag_windows import Cut
from bert_tf.text.vocab import Vocabulary

LABEL_MASK = "label_mask"


class TaggerModule(ServingModule):
    """Outputs on tokens: `tags` string[batch, tokens] and `probabilities` float32[batch, tokens, labels], in the labels asset's order.

    Sentences of fewer tokens than the longest are filled up with empty tokens, whose tags are empty and whose probabilities are 0. On
    ids and examples there is a tag for every piece; a model on a frozen encoder tags words, and tells of each piece what it tells of the
    word.

    A sentence is tagged without its neighbours; longer than max_seq_length it is cut as `tasks/tag_features.py` cuts it. A token that
    the tokenizer makes nothing of is O, or the first label where there is no O.
    """

    def __init__(self, labels: Sequence[str], **options):
        """Takes the tags in the order of the logits, and what every serving module takes."""
        super().__init__(**options)
        self.labels = tf.constant(list(labels))
        self._outside = list(labels).index("O") if "O" in labels else 0
        self._starts = None if self._vocab is None else _starts(self._vocab)

    def outputs(self, inputs):
        """Returns tags string[batch, seq] and probabilities float32[batch, seq, labels] for the encoder's inputs int32[batch, seq]."""
        return self._told(tf.nn.softmax(self._logits(inputs, self._word_starts(inputs))))

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
        cut = Cut.of(lengths, self.max_seq_length, tf)
        inputs, begins = self._windows(pieces.flat_values, lengths, cut)
        # each token is tagged in one window, at its first piece
        firsts = tf.cumsum(counts, axis=1, exclusive=True)  # int32[batch, tokens]
        own = Cut(cut.room, cut.size[:, None], cut.count[:, None], tf)
        windows = tf.cumsum(cut.count, exclusive=True)[:, None] + own.owner(firsts)
        is_asked = counts > 0
        places = tf.where(is_asked, 1 + firsts - tf.gather(begins, windows), 0)  # [CLS] comes first
        indices = tf.stack([windows, places], axis=-1)
        mask = tf.scatter_nd(indices, tf.cast(is_asked, tf.int32), tf.shape(inputs["input_ids"]))
        probabilities = tf.nn.softmax(tf.gather_nd(self._logits(inputs, mask), indices))
        certain = tf.one_hot(self._outside, tf.size(self.labels))
        told = self._told(tf.where(is_asked[..., None], probabilities, certain))
        is_token = tf.not_equal(tokens, "")
        return {
            "tags": tf.where(is_token, told["tags"], ""),
            "probabilities": tf.where(is_token[..., None], told["probabilities"], 0.0),
        }

    def _told(self, probabilities: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"tags": tf.gather(self.labels, tf.argmax(probabilities, axis=-1)), "probabilities": probabilities}

    def _logits(self, inputs: dict[str, tf.Tensor], mask: tf.Tensor) -> tf.Tensor:
        """Returns the logits float32[batch, seq, labels] for the encoder's inputs, and where tokens begin: int32[batch, seq] each."""
        return self.model(inputs | {LABEL_MASK: mask}, training=False)["classifier"]

    def _word_starts(self, inputs: dict[str, tf.Tensor]) -> tf.Tensor:
        """Returns where tokens seem to begin, int32[batch, seq]: at pieces that are not special, and do not continue a word."""
        if self._starts is None:
            return inputs["input_mask"]
        ids = tf.minimum(inputs["input_ids"], tf.size(self._starts) - 1)  # the model's table may be longer than the vocabulary
        return inputs["input_mask"] * tf.gather(self._starts, ids)

    def _windows(self, ids: tf.Tensor, lengths: tf.Tensor, cut: Cut) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Returns the encoder's inputs for all windows, int32[windows, seq] each, and where in its sentence each begins, int32[windows].

        Args:
          ids: int32[pieces], of all sentences.
          lengths: int32[batch], pieces of each sentence.
          cut: How each of them is cut.
        """
        owners = tf.repeat(tf.range(tf.size(lengths)), cut.count)  # [batch] -> [windows]
        numbers = tf.ragged.range(cut.count).flat_values
        own_length = tf.gather(lengths, owners)
        begins = Cut(cut.room, tf.gather(cut.size, owners), tf.gather(cut.count, owners), tf).begin(numbers, 0, own_length)
        firsts = tf.gather(tf.cumsum(lengths, exclusive=True), owners) + begins
        shown = tf.minimum(own_length - begins, cut.room)
        rows = tf.gather(ids, tf.ragged.range(firsts, firsts + shown))
        ones = tf.ones([tf.size(owners), 1], tf.int32)
        rows = tf.concat([ones * self._vocab.cls_id, rows, ones * self._vocab.sep_id], axis=1)
        inputs = {"input_ids": rows, "input_mask": tf.ones_like(rows), "segment_ids": tf.zeros_like(rows)}
        return {name: pad(value, self._vocab.pad_id if name == "input_ids" else 0) for name, value in inputs.items()}, begins


def _starts(vocab: Vocabulary) -> tf.Tensor:
    """Returns for each piece whether it can begin a token, int32[vocab]."""
    special = {vocab.cls_id, vocab.sep_id, vocab.pad_id}
    return tf.constant([int(id not in special and not piece.startswith("##")) for id, piece in enumerate(vocab.pieces)], tf.int32)
