"""Reads a Hugging Face BERT: config.json and model.safetensors.

Differences from the original that matter: dense kernels are stored transposed, `hidden_act: "gelu"` is the exact gelu, and the output
matrix of the masked language model, tied to the token embeddings, may be stored a second time.
"""

import json
import os
import tempfile
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from safetensors import SafetensorError, safe_open

from bert_tf.config import BertConfig
from bert_tf.convert.files import SAFETENSORS_NAME
from bert_tf.convert.names import huggingface_spellings
from bert_tf.convert.source import SourceWeights
from bert_tf.errors import InputError

CONFIG_NAME = "config.json"

# Hugging Face's names of activation functions (transformers.activations) and ours.
_ACTIVATIONS = {
    "gelu": "gelu_exact",
    "gelu_python": "gelu_exact",
    "gelu_new": "gelu",
    "gelu_fast": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
}

# The encoder's LayerNorm has the original's epsilon, 1e-12. Another one changes MiniLM's sequence_output (of size 6) by 3e-2 at 1e-5,
# 3e-3 at 1e-6 and 3e-4 at 1e-7, so up to this value by no more than rounding in float32 does (6e-5).
_LARGEST_LAYER_NORM_EPS = 1e-8

_POSITION_IDS = ("embeddings.position_ids", "bert.embeddings.position_ids")
_TIED = {"cls.predictions.decoder.weight": "embeddings.word_embeddings.weight", "cls.predictions.decoder.bias": "cls.predictions.bias"}


def read(file: str) -> SourceWeights:
    """Returns the variables of a safetensors file.

    Raises:
      InputError: The file is missing, damaged or no safetensors file.
    """
    try:
        local, keep_alive = _local_copy(file)
        handle = safe_open(local, framework="np")
        shapes = {name: handle.get_slice(name).get_shape() for name in handle.keys()}  # noqa: SIM118  the handle is no dict
    except (SafetensorError, OSError, tf.errors.OpError) as error:
        raise InputError(f"{file}: cannot be read as a safetensors file ({error}); copy it again, or give another") from error

    def read_tensor(name: str, _keep_alive=keep_alive) -> np.ndarray:
        return handle.get_tensor(name)

    spellings = huggingface_spellings()
    if "cls.predictions.bias" not in shapes and "cls.predictions.decoder.bias" in shapes:
        spellings["cls.predictions.decoder.bias"] = spellings.pop("cls.predictions.bias")

    def is_redundant(name: str) -> bool:
        if name in _POSITION_IDS:
            return True
        twin = _TIED.get(name)
        twin = next((spelling for spelling in (twin, f"bert.{twin}") if spelling in shapes), None)
        return twin is not None and np.array_equal(read_tensor(name), read_tensor(twin))

    return SourceWeights(file, shapes, read_tensor, spellings, transposes=True, quiet=is_redundant)


def is_config(file: str, values: Mapping[str, object]) -> bool:
    """Returns whether a config file, by its name or the JSON object in it, is Hugging Face's and not google-research/bert's."""
    return os.path.basename(file) == CONFIG_NAME or "model_type" in values or "transformers_version" in values


def config_from_json(text: str, source: str = CONFIG_NAME) -> BertConfig:
    """Returns the model's shape from the text of a Hugging Face config.json; `source` is its file, for messages.

    Raises:
      InputError: The file is broken, or describes a model that our encoder is not.
    """
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InputError(f"{source}: not valid JSON ({error}); give the model's {CONFIG_NAME}") from error
    if not isinstance(values, dict):
        raise InputError(f"{source}: holds no JSON object; give the model's {CONFIG_NAME}")
    _refuse_other_models(values, source)
    act = values.get("hidden_act", "gelu")
    if not isinstance(act, str) or act not in _ACTIVATIONS:
        raise InputError(f"{source}: hidden_act is {act!r}; supported are {', '.join(_ACTIVATIONS)}")
    # 2 is Hugging Face's default where the file has no value; google-research/bert's is 16
    ours = {"type_vocab_size": 2} | values | {"hidden_act": _ACTIVATIONS[act]}
    return BertConfig.from_json(json.dumps(ours), source)


def _refuse_other_models(values: Mapping[str, object], source: str) -> None:
    model_type = values.get("model_type", "bert")
    if model_type != "bert":
        raise InputError(f"{source}: model_type is {model_type!r}; only 'bert' can be read")
    positions = values.get("position_embedding_type", "absolute")
    if positions not in ("absolute", None):
        raise InputError(f"{source}: position_embedding_type is {positions!r}; only 'absolute' can be read")
    for name in ("is_decoder", "add_cross_attention"):
        if values.get(name):
            raise InputError(f"{source}: {name} is true; only encoders can be read")
    epsilon = values.get("layer_norm_eps", 0.0)
    if not isinstance(epsilon, (int, float)) or not 0 <= epsilon <= _LARGEST_LAYER_NORM_EPS:
        raise InputError(
            f"{source}: layer_norm_eps is {epsilon!r}, this encoder computes with 1e-12 and would give other outputs; only models with at "
            f"most {_LARGEST_LAYER_NORM_EPS} can be read"
        )


def _local_copy(file: str) -> tuple[str, tempfile.TemporaryDirectory | None]:
    """Returns a path that the safetensors library, which maps files into memory, can open, and what to hold on to until then."""
    if "://" not in file:
        return file, None
    folder = tempfile.TemporaryDirectory()
    local = os.path.join(folder.name, SAFETENSORS_NAME)
    tf.io.gfile.copy(file, local)
    return local, folder
