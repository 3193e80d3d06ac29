"""Pre-training speed: useful tokens a second of bert_tf and of transformers with torch on the same masked examples, in turn.

  python -m benchmarks.pretrain --input_file=train.tfrecord --shape=base --torch_python=ENV/bin/python

base: 12 layers, hidden 768, batch 8; mini: 4 layers, hidden 256, batch 32 (or --batch); vocabulary 30,522, both with MLM and NSP. Prints
one JSON line, with each side's peak of memory and the share of the matrix-multiply ceiling that bert_tf reached.
"""

import argparse
import contextlib
import json
import sys
import tempfile

import numpy as np
import tensorflow as tf

from benchmarks.rounds import Side, alternate, report
from bert_tf.config import BertConfig
from bert_tf.data.records import RecordFile, parse_spec
from bert_tf.data.schema import PRETRAINING
from bert_tf.modeling.flops import train_flops
from bert_tf.training import record

VOCAB = 30522
SHAPES = {"base": ("base", 8), "mini": ("mini", 32)}
_MOST_EXAMPLES = 1024


@contextlib.contextmanager
def work_on(input_file: str, shape: str, steps: int, batch: int | None = None):
    """Yields what every side is told, and the share of the places of its examples that hold text.

    Args:
      input_file: TFRecords of length 128 with 20 masked positions, ids below 30,522.
      shape: A name in SHAPES.
      steps: Steps a round.
      batch: Examples a step, where it is not the shape's own.
    """
    size, usual = SHAPES[shape]
    axes = {"seq": 128, "masks": 20}
    file = RecordFile(input_file)
    examples = tf.io.parse_example(file.read(np.arange(min(_MOST_EXAMPLES, len(file)))), parse_spec(PRETRAINING, axes))
    with tempfile.NamedTemporaryFile(suffix=".npz") as arrays:
        np.savez(arrays, **{name: value.numpy() for name, value in examples.items()})
        arrays.flush()
        work = axes | {"records": input_file, "arrays": arrays.name, "shape": json.loads(BertConfig.of_size(size, VOCAB).to_json())}
        yield work | {"batch": batch or usual, "steps": steps, "warm_up_steps": max(2, steps // 2)}, float(np.mean(examples["input_mask"]))


def main():
    """Runs all sides and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input_file", required=True, help="TFRecords of length 128 with 20 masked positions, ids below 30,522")
    parser.add_argument("--shape", default="mini", choices=SHAPES)
    parser.add_argument("--batch", type=int, help="examples a step; the shape's own by default")
    parser.add_argument("--torch_python", help="the interpreter of an environment with torch and transformers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--dtypes", default="mixed_bfloat16", help="separated by commas: float32, mixed_bfloat16")
    options = parser.parse_args()
    with work_on(options.input_file, options.shape, options.steps, options.batch) as (work, share):
        sides = []
        for dtype in options.dtypes.split(","):
            name = dtype.removeprefix("mixed_")
            sides.append(Side(f"bert_tf {name}", "bert_tf_pretrain", work | {"dtype": dtype}))
            if options.torch_python:
                sides.append(Side(f"transformers {name}", "transformers_pretrain", work | {"dtype": dtype}, options.torch_python))
        alternate(sides, options.rounds)
    ceilings = {dtype: record.ceiling_gflops(dtype) for dtype in ("float32", "bfloat16")}
    batch, config = work["batch"], BertConfig.from_json(json.dumps(work["shape"]))
    flops_per_token = train_flops(config, batch * 128, 128, batch, batch * 20) / (batch * 128) / share
    more = record.surroundings() | {
        "shape": options.shape,
        "batch": work["batch"],
        "matmul_ceiling_gflops_per_second": ceilings,
        "gflops_per_useful_token": flops_per_token / 1e9,
        "command": " ".join(sys.argv),
    }
    result = report(sides, "useful_tokens_per_second", sides[-1].name, more)
    result["share_of_ceiling"] = {
        side.name: result["medians"][side.name] * flops_per_token / 1e9 / ceilings[side.name.split()[1]]
        for side in sides
        if side.module == "bert_tf_pretrain"
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
