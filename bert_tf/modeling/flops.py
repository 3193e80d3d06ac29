"""How many floating-point operations a training step needs, by arithmetic."""

from bert_tf.config import BertConfig


def train_flops(config: BertConfig, positions: float, seq: float, masks: float = 0) -> float:
    """Returns the operations of forward and backward pass over `positions` places in the batch.

    A product of [m, k] and [k, n] counts 2 m k n; the backward pass costs twice the forward one; what is not a matrix product is left
    out, as is anything computed a second time.

    For example, a layer of hidden size h has 12 h^2 weights in its products: 72 h^2 operations a position, and 12 h seq for attention.

    Args:
      config: The model's shape.
      positions: Rows x row length, padding included.
      seq: The rows' length.
      masks: Masked positions that go through the vocabulary.
    """
    hidden, inner = config.hidden_size, config.intermediate_size
    weights = 4 * hidden * hidden + 2 * hidden * inner
    layers = config.num_hidden_layers * (6 * weights + 12 * hidden * seq) * positions
    rows = positions / seq
    vocabulary = 6 * (hidden * hidden + hidden * config.vocab_size) * masks
    return layers + 6 * hidden * hidden * rows + vocabulary
