"""How much memory a training step needs, by arithmetic, and how much there is: known before the first step runs out of it."""

import dataclasses
import re
from dataclasses import dataclass

import keras
import tensorflow as tf
from absl import logging

from bert_tf.config import BertConfig, TrainingConfig
from bert_tf.errors import InputError

# TensorFlow, its threads and the data pipeline.
_BASE_BYTES = 0.5e9
# Weights, their gradients, Adam's m and v, and what the update itself holds for a moment: float32 each.
_BYTES_PER_PARAMETER = 5 * 4
# Where gradients are added up over micro batches: the sum so far and the new one beside it.
_BYTES_PER_ACCUMULATED = 2 * 4
# What --auto_batch fills of the memory that is free: the arithmetic is not exact, and others use memory too.
_SAFE_SHARE = 0.85
_MEMORY_INFO = "/proc/meminfo"
# What a container may use, what it uses, and of that what files are kept in memory only as long as nobody else wants it.
_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat"),
)


@dataclass(frozen=True)
class StepShape:
    """What passes through the model at once on one device.

    Attributes:
      rows: Examples.
      seq: Their length.
      masks: Masked positions of each that go through the vocabulary.
      compute_bytes: Bytes a number: 4 in float32, 2 in half precision.
      recompute: Whether each layer keeps its input alone.
      accumulates: Whether it is one of several micro batches, whose gradients are added up.
    """

    rows: int
    seq: int
    masks: int
    compute_bytes: int
    recompute: bool = False
    accumulates: bool = False


def step_bytes(config: BertConfig, num_parameters: int, shape: StepShape) -> float:
    """Returns about how many bytes a training step holds at its peak, TensorFlow itself included.

    A layer keeps for its backward pass, a place: its input, queries, keys and values twice, the two results before and after each
    LayerNorm with their dropout masks, the wide layer before and after its activation, and for each head and each place looked at
    the softmax in float32 and, after dropout, in the precision of the products.

    Args:
      config: The model's shape.
      num_parameters: The model's parameters.
      shape: The batch, or the part of it that goes through at once.
    """
    places, number = shape.rows * shape.seq, shape.compute_bytes
    heads = config.num_attention_heads * shape.seq
    layer = number * (14 * config.hidden_size + 2 * config.intermediate_size + heads) + 4 * heads
    kept = number * config.hidden_size if shape.recompute else layer
    layers = config.num_hidden_layers * kept + (layer if shape.recompute else 0)
    # logits, what the softmax makes of them and their gradient
    vocabulary = shape.rows * shape.masks * config.vocab_size * (4 + 4 + 2 * number)
    # each variable once more in the precision of the products, and its gradient
    copies = 0 if number == 4 else 2 * number
    of_parameters = _BYTES_PER_PARAMETER + copies + (_BYTES_PER_ACCUMULATED if shape.accumulates else 0)
    return _BASE_BYTES + num_parameters * of_parameters + places * layers + vocabulary


def available_bytes() -> float | None:
    """Returns how much memory each device still has for this process, or None where the system does not say."""
    devices = [each.memory_limit for each in _local_devices() if each.device_type == "GPU"]
    if devices:
        return min(devices)
    with_limits = [_free_in_machine(), *(_free_in_container(*paths) for paths in _LIMITS)]
    known = [free for free in with_limits if free is not None]
    return min(known) if known else None


def micro_batches(config: BertConfig, num_parameters: int, shape: StepShape, free: float) -> int:
    """Returns the fewest equal parts of `shape.rows` of which one at a time fits into `free` bytes; all single where none does."""
    for count in range(1, shape.rows + 1):
        if shape.rows % count == 0 and step_bytes(config, num_parameters, _part(shape, count)) <= free:
            return count
    return shape.rows


def _part(whole: StepShape, count: int) -> StepShape:
    """Returns what goes through at once when `whole` is cut into so many parts."""
    return dataclasses.replace(whole, rows=max(1, whole.rows // count), accumulates=count > 1)


def num_micro_batches(config: TrainingConfig, model_config: BertConfig, model: keras.Model, num_replicas: int, free: float | None) -> int:
    """Returns how many parts a device's share of the batch goes through in, and tells how much memory that needs of what is free.

    Args:
      config: The run; with --auto_batch the parts are as few as fit, else what --gradient_accumulation_steps says.
      model_config: The model's shape.
      model: The model.
      num_replicas: On how many devices the batch is spread.
      free: What `available_bytes` said before the model was made.

    Raises:
      InputError: --auto_batch where `free` is None.
    """
    size = config.train_batch_size // num_replicas
    masks, number = config.num_predictions, tf.as_dtype(model.compute_dtype).size
    whole = StepShape(size, config.max_seq_length, masks, number, config.recompute)
    num_parameters, count = model.count_params(), config.gradient_accumulation_steps
    if config.auto_batch:
        if free is None:
            raise InputError("auto_batch is true, but how much memory is free is not known here; give --gradient_accumulation_steps")
        count = micro_batches(model_config, num_parameters, whole, _SAFE_SHARE * free)
        logging.info("--auto_batch: each device's %d examples go through in %d part%s", size, count, "" if count == 1 else "s")
    needed = step_bytes(model_config, num_parameters, _part(whole, count))
    if free is None:
        logging.info("a step needs about %.1f GB of memory", needed / 1e9)
    elif needed <= free:
        logging.info("a step needs about %.1f GB of memory; %.1f GB are free", needed / 1e9, free / 1e9)
    else:
        logging.warning(
            "a step needs about %.1f GB of memory and %.1f GB are free; %s need less",
            *(needed / 1e9, free / 1e9, "--recompute, --max_seq_length" if count == size else "--auto_batch and --recompute"),
        )
    return count


def _local_devices():
    if not tf.config.list_physical_devices("GPU"):
        return []
    from tensorflow.python.client import device_lib  # the only place that tells a GPU's memory

    return device_lib.list_local_devices()


def _free_in_machine() -> float | None:
    text = _read(_MEMORY_INFO)
    found = re.search(r"^MemAvailable:\s*(\d+) kB$", text or "", re.MULTILINE)
    return None if found is None else int(found[1]) * 1024


def _free_in_container(limit: str, used: str, parts: str) -> float | None:
    texts = [(_read(path) or "").strip() for path in (limit, used)]
    if not all(text.isdigit() for text in texts):
        return None
    cached = re.search(r"^(?:total_)?inactive_file (\d+)$", _read(parts) or "", re.MULTILINE)
    return float(texts[0]) - float(texts[1]) + (float(cached[1]) if cached else 0.0)


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:  # not Linux, or no such limit
        return None
