"""Evaluation and prediction, over all replicas: every example once, however the batches are cut."""

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from bert_tf.data.batches import Batches
from bert_tf.data.progress import Progress
from bert_tf.data.schema import IS_REAL
from bert_tf.modeling.losses import Objective, WeightedSum, total_loss
from bert_tf.training.strategy import distributed


class Evaluator:
    """Asks a model, again and again while it is trained; what it compiles the first time serves later."""

    def __init__(self, model: keras.Model, objective: Objective, strategy: tf.distribute.Strategy | None = None):
        """Compiles nothing before the first batch.

        Args:
          model: The model.
          objective: What it is, or was, trained for.
          strategy: The devices that its variables were created on; the default strategy where there is one device.
        """
        self._model, self._objective = model, objective
        self._strategy = strategy or tf.distribute.get_strategy()

    def evaluate(self, batches: Batches, max_steps: int | None = None) -> dict[str, float]:
        """Returns the mean of every loss and metric over the batches, and their sum as `loss`."""
        num_steps = len(batches) if max_steps is None else min(len(batches), max_steps)
        logging.info("evaluating %d of %d examples", min(num_steps * batches.batch_size, batches.num_records), batches.num_records)
        totals: dict[str, WeightedSum] = {}
        with Progress(num_steps, "steps", "evaluating") as progress, batches.named_failures():
            for batch in distributed(self._strategy, batches, 0, num_steps):
                parts = self._sums(batch)
                totals = {name: totals[name].plus(part) if name in totals else part for name, part in parts.items()}
                progress.advance(1)
        results = {name: float(part.mean()) for name, part in totals.items()}
        return results | {"loss": float(total_loss(totals))}

    def predict(self, batches: Batches) -> dict[str, np.ndarray]:
        """Returns the logits of every real example, in the records' order: each float32[examples, ...].

        Of batches of several lengths, [examples, seq] is as long as the longest, with -inf behind the shorter ones.
        """
        parts: dict[str, list[np.ndarray]] = {}
        numbers = []
        with Progress(len(batches), "steps", "predicting") as progress, batches.named_failures():
            for number, batch in enumerate(distributed(self._strategy, batches, 0, len(batches))):
                outputs = {name: value.numpy() for name, value in self._outputs(batch).items()}
                real = outputs.pop(IS_REAL.name).astype(bool)
                held = batches.numbers(number)
                numbers.append(held[real[: len(held)]])
                for name, logits in outputs.items():
                    parts.setdefault(name, []).append(logits[real])
                progress.advance(1)
        order = np.argsort(np.concatenate(numbers))
        return {name: _joined(arrays)[order] for name, arrays in parts.items()}

    @tf.function(reduce_retracing=True, autograph=False)
    def _sums(self, batch):
        def in_replica(batch):
            sums = self._objective.sums(self._model(batch, training=False), batch)
            local = {name: part[:2] for name, part in sums.items()}
            added = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, local)
            return {name: WeightedSum(*added[name], part.epsilon) for name, part in sums.items()}

        sums = self._strategy.run(in_replica, args=(batch,))
        return tf.nest.map_structure(lambda value: self._strategy.experimental_local_results(value)[0], sums)

    @tf.function(reduce_retracing=True, autograph=False)
    def _outputs(self, batch):
        def in_replica(batch):
            return self._model(batch, training=False) | {IS_REAL.name: batch[IS_REAL.name]}

        outputs = self._strategy.run(in_replica, args=(batch,))
        return tf.nest.map_structure(lambda value: self._strategy.gather(value, axis=0), outputs)


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    """Returns the batches' logits as one array."""
    lengths = [array.shape[1] if array.ndim > 1 else 0 for array in arrays]
    missing = [max(lengths) - length for length in lengths]
    if any(missing):
        arrays = [
            np.pad(array, [(0, 0), (0, more)] + [(0, 0)] * (array.ndim - 2), constant_values=-np.inf)
            for array, more in zip(arrays, missing)
        ]
    return np.concatenate(arrays)
