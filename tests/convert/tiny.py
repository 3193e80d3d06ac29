"""A model small enough to write and read many times, and writers of the two formats in which checkpoints come."""

from pathlib import Path

import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file

from bert_tf.config import BertConfig
from bert_tf.convert.names import expand
from bert_tf.modeling.models import PretrainingModel

CONFIG = BertConfig(
    vocab_size=11,
    hidden_size=8,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=12,
    max_position_embeddings=16,
    type_vocab_size=2,
)
ROWS = expand(CONFIG.num_hidden_layers)
BATCH = {
    "input_ids": np.array([[2, 5, 6, 7, 3], [2, 9, 3, 0, 0]], np.int32),
    "input_mask": np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32),
    "segment_ids": np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], np.int32),
}


def random_arrays(seed: int = 1, classes: int = 2) -> dict[str, np.ndarray]:
    """Returns an array for every row of the table that the original has, by our path, in our layout; no value is like another."""
    rng = np.random.default_rng(seed)
    shapes = {variable.path: tuple(variable.shape) for variable in PretrainingModel(CONFIG).weights}
    shapes |= {"classifier/output_weights": (classes, CONFIG.hidden_size), "classifier/output_bias": (classes,)}
    shapes |= {"squad/output_weights": (2, CONFIG.hidden_size), "squad/output_bias": (2,)}
    return {path: rng.normal(0, 0.5, shapes[path]).astype(np.float32) for path in ROWS if path in shapes}


def tf1_arrays(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the arrays by the original's names."""
    return {ROWS[path].tf1: array for path, array in arrays.items()}


def huggingface_arrays(arrays: dict[str, np.ndarray], prefix: str = "bert.", layer_norm: tuple[str, str] = ("weight", "bias")):
    """Returns the arrays by Hugging Face's names and in its layout, in one of its four spellings."""
    named = {}
    for path, array in arrays.items():
        name = (prefix if path.startswith("bert/") else "") + ROWS[path].huggingface
        if ".LayerNorm." in name:
            module, leaf = name.rsplit(".", 1)
            name = f"{module}.{layer_norm[('weight', 'bias').index(leaf)]}"
        named[name] = np.ascontiguousarray(array.T) if ROWS[path].transpose else array
    return named


def write_tf1(prefix: Path, arrays: dict[str, np.ndarray]) -> str:
    names = sorted(arrays)
    tf.raw_ops.SaveV2(
        prefix=str(prefix), tensor_names=names, shape_and_slices=[""] * len(names), tensors=[tf.constant(arrays[n]) for n in names]
    )
    return str(prefix)


def write_safetensors(folder: Path, arrays: dict[str, np.ndarray]) -> str:
    save_file(arrays, folder / "model.safetensors")
    return str(folder / "model.safetensors")
