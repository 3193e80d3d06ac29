"""Trains one model in several ways in a process with two CPU devices; run by test_replicas.py, as devices are fixed at start-up.

python -m tests.training.replicas records.tfrecord results.npz
"""

import sys

import keras
import numpy as np
import tensorflow as tf

from bert_tf.data.batches import Batches
from bert_tf.data.record_order import OrderedRecords, ShuffledRecords
from bert_tf.data.records import RecordFile
from bert_tf.data.schema import PRETRAINING
from bert_tf.modeling import losses
from bert_tf.modeling.models import PretrainingModel
from bert_tf.training.evaluation import Evaluator
from bert_tf.training.optimizer import AdamWeightDecay, Lamb, LinearSchedule
from bert_tf.training.step import StepOptions, TrainStep
from bert_tf.training.strategy import distributed
from tests.training.conftest import AXES, CONFIG

STEPS, BATCH = 20, 8


def train(
    path,
    strategy,
    num_micro_batches=1,
    kind=AdamWeightDecay,
    recompute=False,
    dtype="float32",
    clip_per_replica=False,
    fuse=False,
    asks=False,
):
    """Returns every step's figures and the weights after the last one; where it `asks`, scores and logits of the file too."""
    files = [RecordFile(path)]
    with strategy.scope():
        keras.utils.set_random_seed(3)
        model = PretrainingModel(CONFIG_WITHOUT_DROPOUT, recompute=recompute, fuse=fuse, dtype=keras.DTypePolicy(dtype))
        optimizer = kind(model.trainable_variables, LinearSchedule(1e-2, STEPS + 5, 4), compile_from=200 if fuse else None)
        global_step = tf.Variable(0, dtype=tf.int64, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    options = StepOptions(5, num_micro_batches=num_micro_batches, clip_per_replica=clip_per_replica)
    step = TrainStep(model, losses.PRETRAINING, optimizer, global_step, options, strategy)
    iterator = iter(distributed(strategy, Batches(ShuffledRecords(files, 5), PRETRAINING, AXES, BATCH), 0, STEPS))
    told = [step(iterator, tf.constant(1, tf.int64)) for _ in range(STEPS)]
    figures = {f"steps/{name}": np.asarray([float(each[name].mean()) for each in told]) for name in told[0]}
    figures |= {f"weights/{v.path}": v.numpy() for v in model.trainable_variables}
    figures["copies"] = np.asarray([_spread(v.value) for v in model.trainable_variables])
    if asks:
        # 11 examples: the second batch holds one, and nothing for a second replica
        whole = Batches(OrderedRecords(files), PRETRAINING, AXES, 10)
        evaluator = Evaluator(model, losses.PRETRAINING, strategy)
        figures |= {f"scores/{name}": value for name, value in evaluator.evaluate(whole).items()}
        figures |= {f"logits/{name}": value for name, value in evaluator.predict(whole).items()}
    return figures


def _spread(variable):
    """Returns the largest difference between the devices' copies of a variable."""
    copies = [np.asarray(copy) for copy in getattr(variable, "values", [variable])]
    return max(np.abs(copy - copies[0]).max() for copy in copies)


def clipped_by_halves(path):
    """Returns the losses and the weights of a loop written out: the gradients of a batch's halves, each clipped at 1, then averaged."""
    keras.utils.set_random_seed(3)
    model = PretrainingModel(CONFIG_WITHOUT_DROPOUT)
    optimizer = AdamWeightDecay(model.trainable_variables, LinearSchedule(1e-2, STEPS + 5, 4))
    batches = Batches(ShuffledRecords([RecordFile(path)], 5), PRETRAINING, AXES, BATCH).dataset(0, STEPS)
    told, norms = [], []
    for number, batch in enumerate(batches):
        means, gradients = [], []
        for half in (slice(None, BATCH // 2), slice(BATCH // 2, None)):
            part = {name: value[half] for name, value in batch.items()}
            with tf.GradientTape() as tape:
                means.append(losses.total_loss(losses.PRETRAINING.sums(model(part), part)))
            gradients.append(optimizer.gradients(tape, means[-1]))
            norms.append(float(tf.linalg.global_norm(list(gradients[-1].values()))))
        clipped = [{path: g / max(1.0, norm) for path, g in half.items()} for half, norm in zip(gradients, norms[-2:])]
        optimizer.apply({path: (clipped[0][path] + clipped[1][path]) / 2 for path in clipped[0]}, tf.constant(number, tf.int64))
        told.append(float(means[0] + means[1]) / 2)
    weights = {f"weights/{v.path}": v.numpy() for v in model.trainable_variables}
    return weights | {"steps/loss": np.asarray(told), "norms": np.asarray(norms)}


CONFIG_WITHOUT_DROPOUT = type(CONFIG)(**(vars(CONFIG) | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}))


def main(path, output):
    """Writes the results of every way."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    one, two = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    results = {
        "one": train(path, one, asks=True),
        "two": train(path, two, asks=True),
        "accumulated_2": train(path, one, 2),
        "accumulated_4": train(path, one, 4),
        "recomputed": train(path, one, recompute=True),
        "lamb": train(path, one, kind=Lamb),
        "two_lamb": train(path, two, kind=Lamb),
        "two_fused_accumulated_2": train(path, two, 2, fuse=True),
        "two_clipped": train(path, two, clip_per_replica=True),
        "halves": clipped_by_halves(path),
    }
    np.savez(output, **{f"{way}/{name}": value for way, values in results.items() for name, value in values.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
