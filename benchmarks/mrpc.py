"""MRPC from one set of weights, by run_classifier.py, in two ways, and by transformers with torch, in turn, over several seeds.

  python benchmarks/mrpc.py --model=DIR --data_dir=MRPC --torch_python=ENV/bin/python --output_dir=OUT --seeds=5

All take 3 epochs, batch 32, length 128, learning rate 5e-5 with 10 % warm-up, weight decay 0.01, clipping at 1, dropout 0.1, float32.
bert_tf batches by length in a drawn order, transformers draws its batches from all rows. transformers' AdamW corrects the bias of its
moments and its rate falls from the peak without a drop; the original's optimizer does neither. So bert_tf runs both ways, and the first
is compared like with like. Runs that are finished in OUT are not run again.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def ours(options, seed, *flags):
    """Returns dev accuracy, F1 and seconds of run_classifier.py with these flags added."""
    folder = Path(options.output_dir) / "-".join(["bert_tf", *(flag.lstrip("-") for flag in flags), str(seed)])
    started = time.monotonic()
    command = [
        *(sys.executable, str(HERE.parent / "run_classifier.py"), "--task_name=mrpc", f"--data_dir={options.data_dir}"),
        *(f"--init_checkpoint={options.model}", f"--output_dir={folder}", "--do_train", "--do_eval", "--num_train_epochs=3.0"),
        *("--train_batch_size=32", "--learning_rate=5e-5", "--max_seq_length=128", "--precision=float32", f"--random_seed={seed}", *flags),
    ]
    subprocess.run(command, check=True, cwd=HERE.parent)
    seconds = time.monotonic() - started
    lines = (folder / "eval_results.txt").read_text(encoding="utf-8").splitlines()
    results = dict(line.split(" = ") for line in lines)
    return {"seed": seed, "accuracy": float(results["eval_accuracy"]), "f1": float(results["eval_f1"]), "seconds": seconds}


def theirs(options, seed):
    """Returns dev accuracy, F1 and seconds of mrpc_transformers.py."""
    command = [options.torch_python, str(HERE / "mrpc_transformers.py"), f"--model={options.model}", f"--data_dir={options.data_dir}"]
    command += [f"--output_dir={options.output_dir}/transformers-{seed}", f"--seed={seed}"]
    started = time.monotonic()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1]) | {"seconds": time.monotonic() - started}


# name of each side, as in the names of its records, to what runs it; the last is what the others are compared with
SIDES = {
    "bert_tf, as transformers": lambda options, seed: ours(options, seed, "--bias_correction", "--lr_schedule=continuous"),
    "bert_tf": ours,
    "transformers with torch": theirs,
}


def compare(results):
    """Returns the table: mean and deviation of each side, and the differences of the means to the last side's, with standard errors."""
    lines = ["| | accuracy | F1 | seconds a run |", "| --- | --- | --- | --- |"]
    for side, runs in results.items():
        figures = [
            f"{100 * statistics.mean(r[m] for r in runs):.2f} ± {100 * statistics.stdev(r[m] for r in runs):.2f}"
            for m in ("accuracy", "f1")
        ]
        lines.append(f"| {side} | {' | '.join(figures)} | {statistics.mean(r['seconds'] for r in runs):.0f} |")
    *others, (_, reference) = results.items()
    for side, runs in others:
        for metric in ("accuracy", "f1"):
            first, second = ([run[metric] for run in each] for each in (runs, reference))
            error = math.sqrt(statistics.variance(first) / len(first) + statistics.variance(second) / len(second))
            difference = statistics.mean(first) - statistics.mean(second)
            lines.append(f"{side}, {metric}: difference of the means {100 * difference:+.2f}, its standard error {100 * error:.2f}")
    return "\n".join(lines)


def main():
    """Runs what is missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "data_dir", "torch_python", "output_dir"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    results = {side: [] for side in SIDES}
    for seed in range(1, options.seeds + 1):
        for side, run in SIDES.items():
            record = Path(options.output_dir) / f"{side.replace(' ', '_')}-{seed}.json"
            if not record.exists():
                record.parent.mkdir(parents=True, exist_ok=True)
                record.write_text(json.dumps(run(options, seed)), encoding="utf-8")
            results[side].append(json.loads(record.read_text(encoding="utf-8")))
            print(side, results[side][-1], flush=True)
    print(compare(results))


if __name__ == "__main__":
    main()
