"""Several short examples in one row: which example stands where, and what the batch looks like then.

Padding costs as much as text. An example is moved as a whole; block_ids tell the examples of a row apart, so that attention stays
inside each, and position_ids count from 0 in each. Everything here is NumPy: no file, no TensorFlow.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

# Row counts come in steps of this part of the batch, so that there are few shapes to compile.
_SHAPES = 8


def place(lengths: Integers, seq: int) -> tuple[Integers, Integers]:
    """Returns each example's row and its first place in it: the longest first, each into the first row with room for it.

    For example, `place(np.array([3, 5, 2]), 8)` is ([0, 0, 1], [5, 0, 0]).

    Args:
      lengths: int64[examples], 1 to `seq`.
      seq: The length of a row.
    """
    rows, offsets = np.zeros_like(lengths), np.zeros_like(lengths)
    used = np.zeros(len(lengths), np.int64)
    for example in np.argsort(-lengths, kind="stable"):
        row = int(np.argmax(used + lengths[example] <= seq))
        rows[example], offsets[example] = row, used[row]
        used[row] += lengths[example]
    return rows, offsets


def pack(batch: Mapping[str, npt.NDArray], num_groups: int = 1) -> dict[str, npt.NDArray]:
    """Returns the batch with its examples packed into fewer rows.

    input_ids, input_mask and segment_ids become [rows, seq]; block_ids and position_ids, [rows, seq], are new: block_ids are 0 for
    padding and count the examples of a row from 1. masked_lm_positions count through all rows, as do cls_positions int[batch], new
    too, which say where each example begins. All else stays one entry an example.

    Args:
      batch: The features of a batch: input_ids, input_mask, segment_ids int[batch, seq], masked_lm_positions int[batch, masks], ...
      num_groups: Equal parts of the batch that are packed apart, into the same number of rows each; masked_lm_positions and
        cls_positions count from 0 in each.
    """
    lengths = batch["input_mask"].sum(axis=1).astype(np.int64)
    size, seq = batch["input_ids"].shape
    part = size // num_groups
    placed = [place(lengths[first : first + part], seq) for first in range(0, size, part)]
    step = max(1, part // _SHAPES)
    num_rows = -(-max(int(rows.max()) + 1 for rows, _ in placed) // step) * step
    packed = {name: np.zeros((num_groups * num_rows, seq), batch["input_ids"].dtype) for name in ("input_ids", "input_mask", "segment_ids")}
    packed |= {name: np.zeros_like(packed["input_ids"]) for name in ("block_ids", "position_ids")}
    starts = np.concatenate([rows * seq + offsets for rows, offsets in placed])
    for example in range(size):
        group = example // part
        row, first = divmod(int(starts[example]), seq)
        row, length = row + group * num_rows, int(lengths[example])
        places = slice(first, first + length)
        for name in ("input_ids", "input_mask", "segment_ids"):
            packed[name][row, places] = batch[name][example, :length]
        packed["block_ids"][row, places] = packed["block_ids"][row].max() + 1
        packed["position_ids"][row, places] = np.arange(length)
    kept = {name: value for name, value in batch.items() if name not in packed}
    kept["masked_lm_positions"] = (batch["masked_lm_positions"] + starts[:, None]).astype(batch["masked_lm_positions"].dtype)
    return kept | packed | {"cls_positions": starts.astype(batch["input_ids"].dtype)}
