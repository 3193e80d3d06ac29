"""Tokenizing: MB of text a second on one core, of bert_tf and other tokenizers with the same vocabulary, in turn.

  python -m benchmarks.tokenizer --input_file=corpus.txt --vocab_file=vocab.txt

Each side gets the lines as Python strings and gives ids without special tokens. Beside the speed stands on how many lines a side's ids
differ from the original's (as `bert_tf.text.wordpiece` gives them, which is checked against it). Sides whose package is not installed
are left out. Prints one JSON line.
"""

import argparse
import importlib.util
import json
import os
import sys

from benchmarks.rounds import Side, alternate, report
from bert_tf.training import record

# name: the package that it needs beside this one
SIDES = {
    "bert_tf fast": "tensorflow_text",
    "bert_tf python": "bert_tf",
    "tensorflow-text": "tensorflow_text",
    "tokenizers": "tokenizers",
    "transformers": "transformers",
    "keras-hub": "keras_hub",
}


def main():
    """Runs all sides and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input_file", required=True, help="text, a sentence a line")
    parser.add_argument("--vocab_file", required=True)
    parser.add_argument("--cased", action="store_true", help="do not lower-case")
    parser.add_argument("--megabytes", type=float, default=2.0, help="text a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="run the sides whose names hold this, separated by commas")
    options = parser.parse_args()
    os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "TF_NUM_INTRAOP_THREADS": "1"}
    work = {
        "input_file": options.input_file,
        "vocab_file": options.vocab_file,
        "lower": not options.cased,
        "bytes": options.megabytes * 1e6,
    }
    wanted = [name for name in SIDES if any(part in name for part in options.only.split(","))]
    missing = [name for name in wanted if importlib.util.find_spec(SIDES[name]) is None]
    sides = [Side(name, "tokenizers_in_turn", work | {"side": name}) for name in wanted if name not in missing]
    alternate(sides, options.rounds)
    more = record.surroundings() | {"left_out": missing, "command": " ".join(sys.argv)}
    reference = next((side.name for side in sides if side.name == "tensorflow-text"), sides[-1].name)
    result = report(sides, "megabytes_per_second", reference, more)
    result["share_of_lines_not_as_the_original"] = {side.name: side.rounds[0]["share_different"] for side in sides}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
