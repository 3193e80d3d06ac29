"""The whole story in a few minutes: text -> vocabulary -> masked records -> pre-training -> fine-tuning -> SavedModel -> predictions.

Each step is a command that the reader can copy; nothing here does what a user could not.
"""

import shlex
import subprocess
import sys
import time
from pathlib import Path

from bert_tf.config import DemoConfig
from bert_tf.errors import InputError
from bert_tf.workflows.eval_results import read_eval_results

SAMPLE = Path(__file__).resolve().parent.parent / "sample"

# Sentences that no file of the sample holds.
_SENTENCES = (
    "Stir the soup slowly and add a pinch of salt.",
    "A bright moon rose above the clouds after the storm.",
    "She kneaded the dough until it was smooth.",
    "Through the telescope the planet showed a thin ring.",
)

# What both training scripts are told.
# float32, so that the figures are the same on every machine.
_TRAINING = {"max_seq_length": 40, "train_batch_size": 16, "save_checkpoints_steps": 1000, "random_seed": 1, "precision": "float32"}


def run(config: DemoConfig) -> dict[str, float]:
    """Returns the figures of the closing table: accuracy with and without pre-training, and the pre-training's own scores."""
    started = time.monotonic()
    folder = Path(config.output_dir)
    if not Path("run_classifier.py").exists():
        raise InputError("run_classifier.py is not in this directory; run the demo from the root of the repository")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sentences.txt").write_text("".join(f"{sentence}\n" for sentence in _SENTENCES), encoding="utf-8")
    for title, command in _steps(folder):
        _show_and_run(title, command)
    figures = _figures(folder)
    print(_table(folder, figures, time.monotonic() - started))
    return figures


def _steps(folder: Path) -> list[tuple[str, list[str]]]:
    """Returns the commands in order, each with what it does."""
    corpus, vocab, records, pretrained = SAMPLE / "corpus.txt", folder / "vocab.txt", folder / "pretraining.tfrecord", folder / "pretrained"
    tuning = {"task_name": "topic", "data_dir": SAMPLE, "vocab_file": vocab, "num_train_epochs": 6, "learning_rate": 5e-5} | _TRAINING
    return [
        (
            "Learn a WordPiece vocabulary",
            _command("-m bert_tf.cli.build_vocab", {"input_file": corpus, "output_file": vocab, "vocab_size": 2000}),
        ),
        (
            "Write masked TFRecords",
            _command(
                "create_pretraining_data.py",
                {"input_file": corpus, "output_file": records, "vocab_file": vocab, "max_seq_length": _TRAINING["max_seq_length"]}
                | {"max_predictions_per_seq": 6, "dupe_factor": 20},
            ),
        ),
        (
            "Pre-train a small BERT: masked words and next sentences",
            _command(
                "run_pretraining.py --do_train --do_eval",
                {"input_file": records, "vocab_file": vocab, "model_size": "tiny", "output_dir": pretrained, "max_predictions_per_seq": 6}
                | {"num_train_steps": 5000, "num_warmup_steps": 500, "learning_rate": 7e-4, "jit_compile": True}
                | _TRAINING,
            ),
        ),
        (
            "Fine-tune a classifier from it, evaluate it on held-out sentences, export a SavedModel",
            _command(
                "run_classifier.py --do_train --do_eval --do_export",
                {"init_checkpoint": pretrained, "output_dir": folder / "topic"} | tuning,
            ),
        ),
        (
            "For comparison: the same model from random weights",
            _command(
                "run_classifier.py --do_train --do_eval",
                {"bert_config_file": pretrained / "bert_config.json", "output_dir": folder / "topic_from_scratch"} | tuning,
            ),
        ),
        (
            "Predict raw sentences in a new process",
            _command("-m bert_tf.cli.predict", {"saved_model": folder / "topic" / "export", "input_file": folder / "sentences.txt"}),
        ),
    ]


def _command(script: str, flags: dict[str, object]) -> list[str]:
    """Returns what stands after `python`: the script with its switches, and --name=value for each flag."""
    return [*script.split(), *(f"--{name}={value}" for name, value in flags.items())]


def _show_and_run(title: str, arguments: list[str]) -> None:
    print(f"\n# {title}\n$ python {shlex.join(arguments)}", flush=True)
    done = subprocess.run([sys.executable, *arguments], check=False)
    if done.returncode:
        raise InputError(f"the command above ended with exit code {done.returncode}; see its own message")


def _figures(folder: Path) -> dict[str, float]:
    pretrained, tuned, scratch = (read_eval_results(str(folder / name)) for name in ("pretrained", "topic", "topic_from_scratch"))
    return {
        "masked_lm_accuracy": pretrained["masked_lm_accuracy"],
        "next_sentence_accuracy": pretrained["next_sentence_accuracy"],
        "accuracy": tuned["eval_accuracy"],
        "accuracy_from_scratch": scratch["eval_accuracy"],
    }


def _table(folder: Path, figures: dict[str, float], seconds: float) -> str:
    rows = (
        ("pre-training, on its own text: masked words right", f"{figures['masked_lm_accuracy']:.1%}", folder / "pretrained"),
        ("pre-training, on its own text: next sentences right", f"{figures['next_sentence_accuracy']:.1%}", folder / "pretrained"),
        ("held-out sentences right, fine-tuned from it", f"{figures['accuracy']:.1%}", folder / "topic"),
        ("held-out sentences right, from random weights", f"{figures['accuracy_from_scratch']:.1%}", folder / "topic_from_scratch"),
    )
    places = (
        ("vocabulary", folder / "vocab.txt"),
        ("masked TFRecords", folder / "pretraining.tfrecord"),
        ("SavedModel, for TensorFlow Serving", folder / "topic" / "export"),
        ("TensorBoard", f"tensorboard --logdir {folder}"),
    )
    lines = [f"\nReached in {seconds:.0f} s", *(f"  {what:<54}{value:>7}  {where}" for what, value, where in rows), "Files"]
    return "\n".join([*lines, *(f"  {what:<54}         {where}" for what, where in places)])
