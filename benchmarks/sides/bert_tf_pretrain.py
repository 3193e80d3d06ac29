"""bert_tf pre-training, batch after batch from its records, as `run_pretraining.py` runs them."""

import json
import sys
import time

import keras
import tensorflow as tf

from benchmarks.rounds import serve
from bert_tf.config import BertConfig
from bert_tf.data.batches import Batches, PackedBatches
from bert_tf.data.record_order import ShuffledRecords
from bert_tf.data.records import RecordFile
from bert_tf.data.schema import PRETRAINING
from bert_tf.modeling import losses
from bert_tf.modeling.models import PretrainingModel
from bert_tf.training.optimizer import WORTH_COMPILING, AdamWeightDecay, LinearSchedule
from bert_tf.training.record import peak_memory_bytes
from bert_tf.training.step import USEFUL, StepOptions, TrainStep
from bert_tf.training.strategy import distributed, is_cpu


def devices(count):
    """Returns a strategy over the first `count` GPUs, or over as many parts of the CPU where there is no GPU."""
    if count == 1:
        return tf.distribute.get_strategy()
    if not tf.config.list_physical_devices("GPU"):
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    found = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    if len(found) < count:
        raise SystemExit(f"{count} devices asked for, {len(found)} are there")
    return tf.distribute.MirroredStrategy([device.name for device in found[:count]])


def main():
    """Serves rounds of `steps` steps."""
    options = json.loads(sys.argv[1])
    strategy = devices(options.get("devices", 1))  # before anything else starts TensorFlow
    axes = {"seq": options["seq"], "masks": options["masks"]}
    kind = PackedBatches if options.get("pack") else Batches
    batches = kind(ShuffledRecords([RecordFile(options["records"])], 1), PRETRAINING, axes, options["batch"])
    shape = BertConfig.from_json(json.dumps(options["shape"]))
    with strategy.scope():
        model = PretrainingModel(
            shape, recompute=options.get("recompute", False), fuse=is_cpu(strategy), dtype=keras.DTypePolicy(options["dtype"])
        )
        optimizer = AdamWeightDecay(
            model.trainable_variables, LinearSchedule(1e-4, 100_000, 1_000), compile_from=WORTH_COMPILING if is_cpu(strategy) else None
        )
        global_step = tf.Variable(0, dtype=tf.int64, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
        how = StepOptions(1, num_micro_batches=options.get("micro_batches", 1))
        step = TrainStep(model, losses.PRETRAINING, optimizer, global_step, how, strategy)
    iterator = iter(distributed(strategy, batches, 0, 100_000))

    def run(steps=options["steps"]):
        started = time.monotonic()
        sums = step(iterator, tf.constant(steps, tf.int64))
        useful, loss = float(sums[USEFUL].total), float(sums["loss"].mean())
        seconds = time.monotonic() - started
        return {"useful_tokens_per_second": useful / seconds, "loss": loss, "peak_memory_gb": peak_memory_bytes() / 1e9}

    serve(lambda: run(options["warm_up_steps"]), run)


if __name__ == "__main__":
    main()
