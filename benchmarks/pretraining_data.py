r"""Pre-training data: MB of text a second from raw text to TFRecords, start-up included, of create_pretraining_data.py and others, in turn.

  python -m benchmarks.pretraining_data --input_file=corpus.txt --vocab_file=vocab.txt --dupe_factor=5 \
      --peer='original=PYTHON bert/create_pretraining_data.py'

A peer is a command that takes the original's flags, which are put behind it. Prints one JSON line, with the most memory that any one
process of a side held and the number of examples.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.rounds import ROOT
from bert_tf.data.records import RecordFile
from bert_tf.data.text_files import total_bytes
from bert_tf.data.workers import default_num_processes
from bert_tf.training import record


def run(command: list[str], output: Path) -> dict[str, float]:
    """Returns the seconds, the peak of memory of the largest process and the number of examples of one run."""
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    if status:
        raise SystemExit(f"{shlex.join(command)}: ended with exit code {os.waitstatus_to_exitcode(status)}")
    found = {"seconds": seconds, "peak_memory_gb": usage.ru_maxrss * 1024 / 1e9, "examples": len(RecordFile(str(output)))}
    output.unlink()
    return found


def main():
    """Runs all sides in turn and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input_file", required=True)
    parser.add_argument("--vocab_file", required=True)
    parser.add_argument("--dupe_factor", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    options = parser.parse_args()
    sides = {
        f"bert_tf, {n} processes": [sys.executable, "create_pretraining_data.py", f"--num_processes={n}"]
        for n in {1, default_num_processes()}
    }
    sides |= {name: shlex.split(command) for name, command in (peer.split("=", 1) for peer in options.peer)}
    rounds = {name: [] for name in sides}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.tfrecord"
        flags = [f"--{name}={getattr(options, name)}" for name in ("input_file", "vocab_file", "dupe_factor")]
        for number in range(options.rounds):
            for name, command in sides.items():
                rounds[name].append(run([*command, *flags, "--do_lower_case=true", f"--output_file={output}"], output))
                figures = ", ".join(f"{figure} {value:.4g}" for figure, value in rounds[name][-1].items())
                print(f"round {number + 1}, {name}: {figures}", file=sys.stderr, flush=True)
    megabytes = total_bytes([options.input_file]) / 1e6
    speeds = {name: megabytes / statistics.median(each["seconds"] for each in found) for name, found in rounds.items()}
    result = {"figure": "megabytes_per_second", "medians": speeds, "megabytes": megabytes, "rounds": rounds}
    print(json.dumps(result | record.surroundings() | {"command": " ".join(sys.argv)}))


if __name__ == "__main__":
    main()
