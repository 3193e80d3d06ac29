"""Scores from one set of weights: by run_classifier.py, in two ways, and by transformers with torch, in turn, over several seeds.

  python -m benchmarks.scores --task=sts-b --model=DIR --data_dir=STS-B --torch_python=ENV/bin/python --output_dir=OUT --seeds=5

All sides have the task's rate, epochs, batch and length (`TASKS`), 10 % warm-up, weight decay 0.01, clipping at 1, dropout 0.1, float32.
The first is compared like with like: plainly shuffled batches, Adam with bias correction and epsilon 1e-6, and at every step the same
rate, which falls from its peak to 0. What is left between the two: an epoch's last batch, which transformers makes of what remains and
bert_tf fills up from the next epoch, and the tails of the head's initial weights. The second is bert_tf by default, which does as the
original does.
Runs that are finished in OUT are not run again.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.rounds import ROOT
from bert_tf.startup import child_environment
from bert_tf.workflows.eval_results import read_eval_results

_ALIKE = ("--bias_correction", "--lr_schedule=continuous", "--bucket_lengths=off")

# Columns are places in a line of the official files. No row of CoLA is longer than 64 pieces.
TASKS = {
    "mrpc": {
        **{"columns": (3, 4), "label": 0, "has_header": True, "scores": ("accuracy", "f1")},
        **{"learning_rate": 5e-5, "num_train_epochs": 3.0, "train_batch_size": 32, "max_seq_length": 128},
    },
    "cola": {
        **{"columns": (3,), "label": 1, "has_header": False, "scores": ("matthews", "accuracy")},
        **{"learning_rate": 1e-4, "num_train_epochs": 3.0, "train_batch_size": 32, "max_seq_length": 64},
    },
    "sts-b": {
        **{"columns": (7, 8), "label": 9, "has_header": True, "scores": ("pearson", "spearman")},
        **{"learning_rate": 1e-4, "num_train_epochs": 3.0, "train_batch_size": 32, "max_seq_length": 128},
    },
}
_SETTINGS = ("learning_rate", "num_train_epochs", "train_batch_size", "max_seq_length")


def ours(options, folder, seed, *flags):
    """Returns the dev scores of run_classifier.py with these flags added."""
    told = {name: TASKS[options.task][name] for name in _SETTINGS} | {"precision": "float32", "random_seed": seed}
    told |= {"task_name": options.task, "data_dir": options.data_dir, "init_checkpoint": options.model, "output_dir": folder}
    told["keep_checkpoint_max"] = 1
    command = [sys.executable, "-m", "run_classifier", "--do_train", "--do_eval", *flags]
    subprocess.run([*command, *(f"--{name}={value}" for name, value in told.items())], check=True, cwd=ROOT, env=child_environment())
    return {name.removeprefix("eval_"): value for name, value in read_eval_results(str(folder)).items()}


def theirs(options, folder, seed, sampling="random"):
    """Returns the dev scores of sides/transformers_scores.py."""
    told = {"model": options.model, "data_dir": options.data_dir, "output_dir": str(folder), "seed": seed, "sampling": sampling}
    command = [options.torch_python, "-m", "benchmarks.sides.transformers_scores", json.dumps(TASKS[options.task] | told)]
    done = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


# by the name of a side's folders and records: what the table calls it and what runs it; the last is what the others are compared with
SIDES = {
    "alike": ("bert_tf, as transformers", lambda options, folder, seed: ours(options, folder, seed, *_ALIKE)),
    "default": ("bert_tf", ours),
    # faster, but sorts within 50 batches, so that each 50 go from long texts to short ones
    "grouped": ("transformers, group_by_length", lambda options, folder, seed: theirs(options, folder, seed, "group_by_length")),
    "transformers": ("transformers with torch", theirs),
}


def compare(results, scores):
    """Returns the table: mean and deviation of each side, and the differences of the means to the last side's, with standard errors.

    Args:
      results: By side, what each of its runs reached.
      scores: The scores that are compared.
    """
    lines = [f"| | {' | '.join(scores)} | seconds a run |", f"|{' --- |' * (len(scores) + 2)}"]
    for side, runs in results.items():
        values = [[100 * run[score] for run in runs] for score in scores]
        cells = [f"{statistics.mean(each):.2f}" + (f" ± {statistics.stdev(each):.2f}" if len(each) > 1 else "") for each in values]
        lines.append(f"| {side} | {' | '.join(cells)} | {statistics.mean(run['seconds'] for run in runs):.0f} |")
    *others, (_, reference) = results.items()
    for side, runs in others if len(reference) > 1 else ():
        for score in scores:
            first, second = ([100 * run[score] for run in each] for each in (runs, reference))
            error = math.sqrt(statistics.variance(first) / len(first) + statistics.variance(second) / len(second))
            difference = statistics.mean(first) - statistics.mean(second)
            verdict = "below" if abs(difference) < 2 * error else "NOT below"
            lines.append(f"{side}, {score}: difference of the means {difference:+.2f}, {verdict} twice its standard error {error:.2f}")
    return "\n".join(lines)


def main():
    """Runs what is missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="mrpc", choices=tuple(TASKS))
    for name in ("model", "data_dir", "torch_python", "output_dir"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sides", nargs="+", default=["alike", "default", "transformers"], choices=tuple(SIDES))
    options = parser.parse_args()
    chosen = {name: side for name, side in SIDES.items() if name in options.sides}
    for name in ("model", "data_dir"):  # the sides run in another folder
        setattr(options, name, str(Path(getattr(options, name)).resolve()))
    results = {title: [] for title, _ in chosen.values()}
    for seed in range(1, options.seeds + 1):
        for name, (title, run) in chosen.items():
            folder = Path(options.output_dir).resolve() / options.task / f"{name}-{seed}"
            record = folder.with_suffix(".json")
            if not record.exists():
                folder.parent.mkdir(parents=True, exist_ok=True)
                started = time.monotonic()
                found = run(options, folder, seed)
                beside = record.with_suffix(".partial")
                beside.write_text(json.dumps(found | {"seed": seed, "seconds": time.monotonic() - started}), encoding="utf-8")
                beside.replace(record)
            results[title].append(json.loads(record.read_text(encoding="utf-8")))
            print(title, results[title][-1], flush=True)
    print(compare(results, TASKS[options.task]["scores"]))


if __name__ == "__main__":
    main()
