"""Start-up: seconds from process start to the first finished step of fine-tuning, of run_classifier.py and of a keras-hub script, in turn.

  python -m benchmarks.startup --data_dir=MRPC --vocab_file=vocab.txt

Both read, tokenize, build the model (MiniLM's shape, random weights), compile and take one step of 32 examples. Prints one JSON line.
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


def seconds_until(command: list[str], told: str) -> float:
    """Starts the command and returns the seconds until a line of its output, or of its errors, holds `told`; then it is ended."""
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        seen = []
        for line in process.stdout:
            if told in line:
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
    folder = Path(tempfile.mkdtemp())
    (folder / "bert_config.json").write_text(json.dumps(MINILM | {"vocab_size": len(read_vocab(options.vocab_file))}))
    found = {"bert_tf": [], "keras-hub": []}
    for number in range(options.rounds):
        run = [
            *(
                sys.executable,
                "run_classifier.py",
                "--task_name=mrpc",
                f"--data_dir={options.data_dir}",
                f"--vocab_file={options.vocab_file}",
            ),
            *(f"--bert_config_file={folder}/bert_config.json", f"--output_dir={folder}/run-{number}", "--do_train"),
        ]
        found["bert_tf"].append(seconds_until(run, "step 1: loss"))
        work = {"task": "mrpc", "data_dir": options.data_dir, "vocab_file": options.vocab_file, "shape": MINILM, "batch": 32}
        work |= {"steps": 1, "warm_up_steps": 1, "dtype": "float32"}
        found["keras-hub"].append(seconds_until([sys.executable, "-m", "benchmarks.sides.keras_hub_finetune", json.dumps(work)], "{"))
        print(
            f"round {number + 1}: " + ", ".join(f"{name} {times[-1]:.1f} s" for name, times in found.items()), file=sys.stderr, flush=True
        )
    medians = {name: statistics.median(times) for name, times in found.items()}
    result = record.surroundings() | {"seconds_to_first_step": medians, "ratio": medians["bert_tf"] / medians["keras-hub"], "rounds": found}
    print(json.dumps(result | {"command": " ".join(sys.argv)}))


if __name__ == "__main__":
    main()
