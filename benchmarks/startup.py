"""Start-up: seconds from process start to the first finished step of fine-tuning, of run_classifier.py and of a keras-hub script, in turn.

  python -m benchmarks.startup --data_dir=MRPC --vocab_file=vocab.txt

Both read, tokenize, build the model (MiniLM's shape, random weights), compile and take one step of 32 examples; ours also with what
an earlier start has compiled (`--compile_cache_dir`). Prints one JSON line.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.finetune import MINILM
from benchmarks.rounds import ROOT
from bert_tf.training import record
from bert_tf.workflows.model_folder import read_vocab

FIRST_STEP = "step 1: loss"


def seconds_until(command: list[str], beginning: str) -> float:
    """Starts the command and returns the seconds until a line of its output, or of its errors, begins so; then it is ended."""
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        seen = []
        for line in process.stdout:
            if line.startswith(beginning):
                return time.monotonic() - started
            seen.append(line)
        raise SystemExit("".join(seen[-20:]))
    finally:
        process.kill()
        process.wait()


def main():
    """Runs both in turn and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--vocab_file", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = {"bert_tf": [], "bert_tf compiled before": [], "keras-hub": []}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "bert_config.json"
        config.write_text(json.dumps(MINILM | {"vocab_size": len(read_vocab(options.vocab_file))}))
        work = {"task": "mrpc", "data_dir": options.data_dir, "vocab_file": options.vocab_file, "shape": MINILM, "batch": 32}
        work |= {"steps": 1, "warm_up_steps": 1, "dtype": "float32"}
        theirs = [sys.executable, "-m", "benchmarks.sides.keras_hub_finetune", json.dumps(work)]

        def ours(name, *flags):
            files = (f"--data_dir={options.data_dir}", f"--vocab_file={options.vocab_file}", f"--bert_config_file={config}")
            script = (sys.executable, "run_classifier.py", "--task_name=mrpc", "--do_train", "--precision=float32")
            return [*script, *files, f"--output_dir={folder}/{name}", *flags]

        cache = f"--compile_cache_dir={folder}/compiled"
        seconds_until(ours("first", cache), FIRST_STEP)  # fills it
        for number in range(options.rounds):
            sides = [
                ("bert_tf", ours(f"run-{number}"), FIRST_STEP),
                ("bert_tf compiled before", ours(f"again-{number}", cache), FIRST_STEP),
                ("keras-hub", theirs, "{"),
            ]
            for name, command, beginning in sides if number % 2 else reversed(sides):  # none always has the colder file caches
                found[name].append(seconds_until(command, beginning))
            shown = ", ".join(f"{name} {times[-1]:.1f} s" for name, times in found.items())
            print(f"round {number + 1}: {shown}", file=sys.stderr, flush=True)
    medians = {name: statistics.median(times) for name, times in found.items()}
    ratios = {name: median / medians["keras-hub"] for name, median in medians.items()}
    result = record.surroundings() | {"seconds_to_first_step": medians, "ratio_to_keras-hub": ratios, "rounds": found}
    print(json.dumps(result | {"command": " ".join(sys.argv)}))


if __name__ == "__main__":
    main()
