"""Peak of memory of a pre-training step: bert_tf, in several ways, and transformers with torch, beside bert_tf's own estimate.

  python -m benchmarks.memory --input_file=train.tfrecord --torch_python=ENV/bin/python

base: 12 layers, hidden 768, 8 examples of length 128. Each side runs alone. Prints one JSON line, in GB.
"""

import argparse
import json
import sys

from benchmarks.pretrain import SHAPES, work_on
from benchmarks.rounds import Side, alternate
from bert_tf.config import BertConfig
from bert_tf.modeling.models import PretrainingModel
from bert_tf.training import memory, record


def main():
    """Runs all sides and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input_file", required=True, help="TFRecords of length 128 with 20 masked positions, ids below 30,522")
    parser.add_argument("--shape", default="base", choices=SHAPES)
    parser.add_argument("--torch_python", help="the interpreter of an environment with torch and transformers")
    options = parser.parse_args()
    peaks, estimates = {}, {}
    with work_on(options.input_file, options.shape, steps=2) as (work, _):
        config = BertConfig.from_json(json.dumps(work["shape"]))
        num_parameters = PretrainingModel(config).count_params()
        for dtype, number in (("float32", 4), ("mixed_bfloat16", 2)):
            for way in ({}, {"micro_batches": 2}, {"recompute": True}):
                name = " ".join(["bert_tf", dtype.removeprefix("mixed_"), *way])
                peaks[name] = _peak(Side(name, "bert_tf_pretrain", work | way | {"dtype": dtype}))
                rows = work["batch"] // way.get("micro_batches", 1)
                shape = memory.StepShape(rows, work["seq"], work["masks"], number, way.get("recompute", False), "micro_batches" in way)
                estimates[name] = memory.step_bytes(config, num_parameters, shape) / 1e9
            if options.torch_python:
                name = f"transformers {dtype.removeprefix('mixed_')}"
                peaks[name] = _peak(Side(name, "transformers_pretrain", work | {"dtype": dtype}, options.torch_python))
    figures = {"peak_memory_gb": peaks, "estimated_gb": estimates, "shape": options.shape, "command": " ".join(sys.argv)}
    print(json.dumps(record.surroundings() | figures))


def _peak(side):
    alternate([side], 1)
    return side.rounds[-1]["peak_memory_gb"]


if __name__ == "__main__":
    main()
