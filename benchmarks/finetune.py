"""Fine-tuning speed: examples a second of bert_tf, keras-hub and transformers with torch on the same task, in turn.

  python -m benchmarks.finetune --task=mrpc --data_dir=MRPC --vocab_file=vocab.txt --torch_python=ENV/bin/python

The model has MiniLM's shape (6 layers, hidden 384, 12 heads) and random weights; batch 32, length 128. Prints one JSON line.
"""

import argparse
import json
import sys

from benchmarks.rounds import Side, alternate, report
from bert_tf.training import record

MINILM = {
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
}


def main():
    """Runs all sides and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="mrpc", choices=("mrpc", "sst-2"))
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--vocab_file", required=True)
    parser.add_argument("--torch_python", help="the interpreter of an environment with torch and transformers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=23, help="steps a round; 115 are an epoch of MRPC")
    parser.add_argument("--only", default="", help="run the sides whose names hold this")
    options = parser.parse_args()
    work = {
        "task": options.task, "data_dir": options.data_dir, "vocab_file": options.vocab_file, "shape": MINILM, "batch": 32,
        "steps": options.steps, "warm_up_steps": options.steps,
    }  # fmt: skip
    sides = []
    for dtype in ("float32", "mixed_bfloat16"):
        name = dtype.removeprefix("mixed_")
        sides.append(Side(f"bert_tf {name}", "bert_tf_finetune", work | {"dtype": dtype}))
        sides.append(Side(f"keras-hub {name}", "keras_hub_finetune", work | {"dtype": dtype}))
        if options.torch_python:
            for padding in ("full", "by_length"):
                more = {"dtype": dtype, "padding": padding}
                sides.append(Side(f"transformers {name} {padding}", "transformers_finetune", work | more, options.torch_python))
    sides = [side for side in sides if options.only in side.name]
    alternate(sides, options.rounds)
    reference = "keras-hub float32" if any(side.name == "keras-hub float32" for side in sides) else sides[0].name
    ceilings = {dtype: record.ceiling_gflops(dtype) for dtype in ("float32", "bfloat16")}
    more = record.surroundings() | {"task": options.task, "matmul_ceiling_gflops_per_second": ceilings, "command": " ".join(sys.argv)}
    print(json.dumps(report(sides, "examples_per_second", reference, more)))


if __name__ == "__main__":
    main()
