"""A checkpoint's arrays for a model with more pieces: new rows are the means of the rows that they stand in for."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bert_tf.config import BertConfig
from bert_tf.convert.names import expand
from bert_tf.convert.source import SourceWeights
from bert_tf.errors import InputError

# What has a row for each piece: the table, which is the output matrix of the masked language model too, and that one's bias.
_WORD_EMBEDDINGS, _OUTPUT_BIAS = "bert/embeddings/word_embeddings", "masked_lm/output_bias"


def with_new_rows(
    source: SourceWeights, config: BertConfig, vocab_size: int, replaced: Mapping[int, Sequence[int]]
) -> Iterator[tuple[str, np.ndarray]]:
    """Yields each variable of a checkpoint by the original's name, float32[...], with the tables of pieces longer.

    All other rows, and all other variables, are the checkpoint's own, bit for bit.

    Args:
      source: The checkpoint.
      config: The shape of its model.
      vocab_size: Rows that the tables are to have, not fewer than now.
      replaced: By the id of each new piece, the ids of the pieces whose mean it begins with.

    Raises:
      InputError: The checkpoint is not of this shape, or holds numbers that are no weights.
    """
    if _WORD_EMBEDDINGS not in source.names:
        raise InputError(f"{source.path}: holds no word embeddings; give a BERT checkpoint")
    rows = expand(config.num_hidden_layers)
    for path, name in source.names.items():
        is_table = path in (_WORD_EMBEDDINGS, _OUTPUT_BIAS)
        mend = "give the bert_config.json of this checkpoint"
        if path not in rows:
            raise InputError(f"{source.path}: has {name}, the config says num_hidden_layers {config.num_hidden_layers}; {mend}")
        size = source.shapes[path][0] if is_table else config.vocab_size
        if size != config.vocab_size:
            raise InputError(f"{source.path}: {name} has rows for {size} pieces, the config says vocab_size {config.vocab_size}; {mend}")
        array = source.read(path)
        if np.issubdtype(array.dtype, np.integer) or not np.isfinite(array.astype(np.float32)).all():
            raise InputError(f"{source.path}: {name} holds {array.dtype} numbers that are no finite weights; give a sound checkpoint")
        array = np.asarray(array, np.float32)
        yield rows[path].tf1, _longer(array, vocab_size, replaced) if is_table else array


def _longer(table: np.ndarray, size: int, replaced: Mapping[int, Sequence[int]]) -> np.ndarray:
    """Returns the table, float32[vocab, ...], with `size` rows and the means in place."""
    longer = np.zeros((size, *table.shape[1:]), np.float32)
    longer[: len(table)] = table
    for id, ids in replaced.items():
        longer[id] = table[list(ids)].mean(axis=0, dtype=np.float64)
    return longer
