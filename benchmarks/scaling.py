"""How pre-training speed grows with devices, and what cutting the batch costs: bert_tf against itself, in turn.

  python -m benchmarks.scaling --input_file=train.tfrecord --devices=1,2,4

The batch is the same for all: 4 layers, hidden 256, 32 examples of length 128. Without GPUs the devices are parts of the CPU, which
share its cores: then the figures show what the distribution itself costs, not a gain. Prints one JSON line.
"""

import argparse
import json
import sys

from benchmarks.pretrain import SHAPES, work_on
from benchmarks.rounds import Side, alternate, report
from bert_tf.training import record


def main():
    """Runs all ways and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input_file", required=True, help="TFRecords of length 128 with 20 masked positions, ids below 30,522")
    parser.add_argument("--shape", default="mini", choices=SHAPES)
    parser.add_argument("--devices", default="1,2", help="numbers of devices, separated by commas")
    parser.add_argument("--micro_batches", default="2,4", help="parts that the batch is cut into, on one device")
    parser.add_argument("--dtype", default="mixed_bfloat16", choices=("float32", "mixed_bfloat16"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    with work_on(options.input_file, options.shape, options.steps) as (work, _):
        ways = [{"devices": int(count)} for count in options.devices.split(",")]
        ways += [{"micro_batches": int(count)} for count in options.micro_batches.split(",") if count]
        sides = [
            Side(", ".join(f"{name} {count}" for name, count in way.items()), "bert_tf_pretrain", work | way | {"dtype": options.dtype})
            for way in ways
        ]
        alternate(sides, options.rounds)
    more = record.surroundings() | {"shape": options.shape, "command": " ".join(sys.argv)}
    print(json.dumps(report(sides, "useful_tokens_per_second", sides[0].name, more)))


if __name__ == "__main__":
    main()
