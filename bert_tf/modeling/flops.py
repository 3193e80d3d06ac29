"""How many floating-point operations a training step needs, by arithmetic."""

from collections.abc import Sequence

from bert_tf.config import BertConfig


def train_flops(config: BertConfig, positions: float, seq: float, rows: float, masks: float = 0) -> float:
    """Returns the operations of forward and backward pass over `positions` places in the batch.

    A product of [m, k] and [k, n] counts 2 m k n; the backward pass costs twice the forward one; what is not a matrix product is left
    out, as is anything computed a second time or that no loss depends on: in the last layer only keys and values are needed of all
    places, the rest of [CLS] and masked ones.

    For example, a layer of hidden size h has 12 h^2 weights in its products: 72 h^2 operations a position, and 12 h seq for attention.

    Args:
      config: The model's shape.
      positions: Examples x length, padding included.
      seq: The length that attention goes over.
      rows: Examples.
      masks: Masked positions that go through the vocabulary.
    """
    hidden, inner = config.hidden_size, config.intermediate_size
    keys_and_values = 6 * 2 * hidden * hidden
    others = 6 * (2 * hidden * hidden + 2 * hidden * inner) + 12 * hidden * seq
    layers = config.num_hidden_layers * keys_and_values * positions
    layers += others * ((config.num_hidden_layers - 1) * positions + rows + masks)
    vocabulary = 6 * (hidden * hidden + hidden * config.vocab_size) * masks
    return layers + 6 * hidden * hidden * rows + vocabulary


def head_flops(variables: Sequence, positions: float) -> float:
    """Returns the operations of a training step that leaves the encoder as it is and does not run it: of the head's products alone.

    Args:
      variables: What is trained: each of its matrices is multiplied once a position.
      positions: Examples x length, padding included.
    """
    return 6 * positions * sum(variable.shape.num_elements() for variable in variables if len(variable.shape) > 1)
