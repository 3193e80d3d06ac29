"""bert_tf pre-training, batch after batch from its records, as `run_pretraining.py` runs them."""

import json
import sys
import time

import keras
import tensorflow as tf

from benchmarks.rounds import serve
from bert_tf.config import BertConfig
from bert_tf.data.batches import Batches, PackedBatches, ShuffledRecords
from bert_tf.data.records import RecordFile
from bert_tf.data.schema import PRETRAINING
from bert_tf.modeling import losses
from bert_tf.modeling.models import PretrainingModel
from bert_tf.training.optimizer import AdamWeightDecay, LinearSchedule
from bert_tf.training.record import peak_memory_bytes
from bert_tf.training.step import USEFUL, StepOptions, TrainStep
from bert_tf.training.strategy import distributed


def main():
    """Serves rounds of `steps` steps."""
    options = json.loads(sys.argv[1])
    axes = {"seq": options["seq"], "masks": options["masks"]}
    kind = PackedBatches if options.get("pack") else Batches
    batches = kind(ShuffledRecords([RecordFile(options["records"])], 1), PRETRAINING, axes, options["batch"])
    model = PretrainingModel(BertConfig.from_json(json.dumps(options["shape"])), fuse=True, dtype=keras.DTypePolicy(options["dtype"]))
    optimizer = AdamWeightDecay(model.trainable_variables, LinearSchedule(1e-4, 100_000, 1_000))
    step = TrainStep(model, losses.PRETRAINING, optimizer, tf.Variable(0, dtype=tf.int64), StepOptions(1))
    iterator = iter(distributed(tf.distribute.get_strategy(), batches, 0, 100_000))

    def run(steps=options["steps"]):
        started = time.monotonic()
        sums = step(iterator, tf.constant(steps, tf.int64))
        useful, loss = float(sums[USEFUL].total), float(sums["loss"].mean())
        seconds = time.monotonic() - started
        return {"useful_tokens_per_second": useful / seconds, "loss": loss, "peak_memory_gb": peak_memory_bytes() / 1e9}

    serve(lambda: run(options["warm_up_steps"]), run)


if __name__ == "__main__":
    main()
