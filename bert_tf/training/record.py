"""run.json: on what and how fast a run was trained, so that its figures can be read years later."""

import os
import platform
import re
import sys
import time
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import tensorflow as tf

_PACKAGES = ("tensorflow", "keras", "numpy", "tensorflow-text", "keras-hub", "bert_tf")
# A product large enough to run at the processor's best, small enough to take no time.
_CEILING_SIZE = 1024
_CEILING_SECONDS = 0.5


@dataclass
class Throughput:
    """What was done in how long, compilation left out.

    Attributes:
      seconds: Time inside the compiled loop.
      steps: Steps.
      examples: Examples.
      positions: Places in the batches, padding included.
      useful_tokens: Places that are not padding.
      flops: Floating-point operations that the steps needed.
    """

    seconds: float = 0.0
    steps: int = 0
    examples: int = 0
    positions: float = 0.0
    useful_tokens: float = 0.0
    flops: float = 0.0

    def rates(self) -> dict[str, float]:
        """Returns examples and useful tokens a second, the share of useful tokens and operations a second; nothing where none ran."""
        if not self.seconds:
            return {}
        return {
            "steps": self.steps,
            "seconds": self.seconds,
            "seconds_per_step": self.seconds / self.steps,
            "examples_per_second": self.examples / self.seconds,
            "useful_tokens_per_second": self.useful_tokens / self.seconds,
            "share_of_useful_tokens": self.useful_tokens / self.positions,
            "gflops_per_second": self.flops / self.seconds / 1e9,
        }


def surroundings() -> dict[str, Any]:
    """Returns the versions of what computes, and the hardware."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    gpus = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in tf.config.list_physical_devices("GPU")]
    hardware = {"processor": _processor(), "cores": os.cpu_count(), "gpus": gpus, "system": f"{platform.system()} {platform.release()}"}
    return {"versions": versions, "hardware": hardware}


def peak_memory_bytes() -> int | None:
    """Returns the largest memory this process has held, in bytes, or None where the system does not say."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def ceiling_gflops(dtype: str = "float32") -> float:
    """Returns how many billion operations a second a large matrix product reaches here and now: the most that a step can."""
    matrix = tf.random.stateless_normal([_CEILING_SIZE, _CEILING_SIZE], [1, 2], dtype=tf.as_dtype(dtype))
    tf.matmul(matrix, matrix).numpy()  # the first one allocates
    best, begun = float("inf"), time.monotonic()
    while time.monotonic() - begun < _CEILING_SECONDS:
        started = time.monotonic()
        tf.matmul(matrix, matrix)[0, 0].numpy()
        best = min(best, time.monotonic() - started)
    return 2 * _CEILING_SIZE**3 / best / 1e9


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            name = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    except OSError:  # not Linux
        name = None
    return name[1] if name else platform.processor() or platform.machine()
