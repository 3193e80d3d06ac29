"""bert_tf fine-tuning on a task, batch after batch as `run_classifier.py` runs them."""

import json
import sys
import tempfile
import time
from typing import NamedTuple

import keras
import tensorflow as tf

from benchmarks.rounds import serve
from bert_tf.config import BertConfig, FinetuneConfig
from bert_tf.tasks.features import Featurizer
from bert_tf.tasks.spec import TRAIN
from bert_tf.tasks.table import find_task
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.training.optimizer import WORTH_COMPILING, AdamWeightDecay, LinearSchedule
from bert_tf.training.step import StepOptions, TrainStep
from bert_tf.training.strategy import distributed, is_cpu
from bert_tf.workflows import examples, model_folder, task_rows
from bert_tf.workflows.heads import head_of


class _Run(NamedTuple):
    """What the workflow asks of a run when it makes batches."""

    folder: str
    static_shapes: bool = False


def main():
    """Serves rounds of `steps` steps."""
    options = json.loads(sys.argv[1])
    spec, vocab = find_task(options["task"]), model_folder.read_vocab(options["vocab_file"])
    config = FinetuneConfig(
        task_name=options["task"], data_dir=options["data_dir"], output_dir=tempfile.mkdtemp(), do_train=True, max_seq_length=128,
        train_batch_size=options["batch"], bucket_lengths=options.get("bucket_lengths", "auto"),
    )  # fmt: skip
    shape = BertConfig.from_json(json.dumps(options["shape"] | {"vocab_size": len(vocab)}))
    rows, head = task_rows.read(config, spec, TRAIN), head_of(spec, None, ())
    featurizer = Featurizer(spec, WordPieceTokenizer(vocab, True), 128)
    batches = examples.batches(config, _Run(config.output_dir), TRAIN, rows, featurizer, head.records, options["batch"], 10_000)
    policy, strategy = keras.DTypePolicy(options["dtype"]), tf.distribute.get_strategy()
    fuse = is_cpu(strategy)
    model = head.make_model(spec, shape, False, policy, fuse)
    schedule = LinearSchedule(5e-5, 10_000, 1_000)
    optimizer = AdamWeightDecay(model.trainable_variables, schedule, compile_from=WORTH_COMPILING if fuse else None)
    step = TrainStep(model, head.objective, optimizer, tf.Variable(0, dtype=tf.int64), StepOptions(1))
    iterator = iter(distributed(strategy, batches, 0, 10_000))

    def run(steps=options["steps"]):
        started = time.monotonic()
        sums = step(iterator, tf.constant(steps, tf.int64))
        loss = float(sums["loss"].mean())
        return {"examples_per_second": steps * options["batch"] / (time.monotonic() - started), "loss": loss}

    serve(lambda: run(options["warm_up_steps"]), run)


if __name__ == "__main__":
    main()
