"""The training loop, evaluation and prediction: many steps inside one compiled call."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from bert_tf.data.batches import Batches
from bert_tf.data.progress import Progress
from bert_tf.errors import InputError
from bert_tf.modeling.losses import WeightedSum, total_loss
from bert_tf.training.checkpoints import Checkpoints
from bert_tf.training.interruption import Interruption
from bert_tf.training.optimizer import AdamWeightDecay

# Control comes back to Python at least about this often, for the progress line and for Ctrl-C.
_SECONDS_PER_CALL = 2.0

# Among a step's sums: whether its loss or gradient was not finite, so that it was skipped.
_BAD = "bad_step"

SumsFunction = Callable[[dict[str, tf.Tensor], dict[str, tf.Tensor]], dict[str, WeightedSum]]


@dataclass(frozen=True)
class Limits:
    """Where a training call begins and ends, how often it saves, and how many of its steps may fail: all in steps."""

    first_step: int
    last_step: int
    save_checkpoints_steps: int
    iterations_per_loop: int
    max_bad_steps: int = 0


class Trainer:
    """Model, loss and optimizer, compiled into one function that runs many steps."""

    def __init__(
        self,
        model: keras.Model,
        sums: SumsFunction,
        optimizer: AdamWeightDecay,
        global_step: tf.Variable,
        seed: int,
        jit_compile: bool = False,
    ):
        """Compiles nothing before the first step.

        Args:
          model: The model to train.
          sums: From (logits, batch) to the sums behind losses and metrics.
          optimizer: What updates the model's variables.
          global_step: int64[], how many steps the model has been trained for.
          seed: The seed of all dropout masks.
          jit_compile: Whether XLA compiles the step.
        """
        self.model = model
        self.optimizer = optimizer
        self.global_step = global_step
        self._sums = sums
        self._seed = seed
        self._step = tf.function(self._train_step, jit_compile=jit_compile)

    def _train_step(self, batch):
        """Updates the model once and returns the batch's sums."""
        # The dropout seed follows from (seed, step) alone: a resumed run draws the masks that the unbroken one would have drawn.
        seed = tf.random.experimental.stateless_fold_in(tf.constant([self._seed, 0], tf.int64), self.global_step)
        with tf.GradientTape() as tape:
            sums = self._sums(self.model(batch, training=True, seed=seed), batch)
            loss = total_loss(sums)
        gradients = tape.gradient(loss, [variable.value for variable in self.optimizer.variables])
        norm, _ = self.optimizer.apply(gradients, self.global_step, tf.math.is_finite(loss))
        self.global_step.assign_add(1)
        sound = tf.math.is_finite(loss) & tf.math.is_finite(norm)
        one, bad = tf.ones([]), tf.cast(~sound, tf.float32)
        sums |= {name: WeightedSum(value, one, 0.0 * one) for name, value in (("loss", loss), ("gradient_norm", norm))}
        # a bad step counts in no mean
        kept = {name: WeightedSum(*(tf.where(sound, value, 0.0) for value in part[:2]), part.epsilon) for name, part in sums.items()}
        return kept | {_BAD: WeightedSum(bad, one, 0.0 * one)}

    @tf.function(reduce_retracing=True)
    def _steps(self, iterator, count):
        """Runs `count` steps and returns their sums, added up."""
        outputs = self._step.get_concrete_function(iterator.element_spec).structured_outputs
        totals = tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), outputs)
        for _ in tf.range(count):
            sums = self._step(next(iterator))
            totals = {name: part.plus(totals[name]) for name, part in sums.items()}
        return totals

    def train(self, batches: Batches, limits: Limits, checkpoints: Checkpoints, log_dir: str) -> None:
        """Trains from `first_step` up to `last_step`, saving as it goes and at the end.

        Raises:
          InputError: Too many steps whose loss or gradient is not finite, or a data file that cannot be read any more.
          Preempted: SIGTERM came; a checkpoint of the last finished step is written. After Ctrl-C, KeyboardInterrupt in the same way.
        """
        with Interruption() as interruption:
            self._train(batches, limits, checkpoints, log_dir, interruption)

    def _train(self, batches: Batches, limits: Limits, checkpoints: Checkpoints, log_dir: str, interruption: Interruption) -> None:
        writer = tf.summary.create_file_writer(log_dir)
        iterator = iter(batches.dataset(limits.first_step, limits.last_step - limits.first_step))
        step, num_bad, seconds_per_step, state, count = limits.first_step, 0, None, f"step {limits.first_step}", 0
        with writer.as_default(), Progress(limits.last_step - limits.first_step, "steps", "training") as progress:
            while step < limits.last_step:
                boundary = min(limits.last_step, (step // limits.save_checkpoints_steps + 1) * limits.save_checkpoints_steps)
                count = min(_call_length(seconds_per_step), limits.iterations_per_loop, boundary - step)
                started = time.monotonic()
                metrics = self._run(iterator, count, batches)
                seconds = time.monotonic() - started
                # the first call compiles, so its time says nothing about a step
                seconds_per_step = seconds / count if step > limits.first_step else None
                step += count
                bad = round(metrics.pop(_BAD) * count)
                num_bad += bad
                if bad:
                    self._tell_bad_steps(batches, limits, step - count, step, bad, num_bad)
                # the rate of the call's last step, not the mean over the call
                metrics["learning_rate"] = float(self.optimizer.schedule(tf.constant(step - 1, tf.int64)))
                if seconds_per_step is not None:
                    metrics["examples_per_second"] = batches.batch_size / seconds_per_step
                for name, value in metrics.items():
                    tf.summary.scalar(name, value, step=step)
                shown = (f"{name} {value:.4g}" for name, value in metrics.items() if name.endswith(("loss", "accuracy", "per_second")))
                state = f"step {step}, {', '.join(shown)}"
                progress.note(state)
                progress.advance(count)
                if step == limits.first_step + count:
                    progress.start_clock()
                    logging.info("step %d: loss %.4g", step, metrics["loss"])
                if step == boundary or interruption.requested:
                    prefix = checkpoints.save(step)
                    writer.flush()
                if interruption.requested and step < limits.last_step:
                    interruption.finish(prefix)
        logging.info("training ended at %s (means of the last %d steps)", state, count)

    def _tell_bad_steps(self, batches: Batches, limits: Limits, begin: int, end: int, bad: int, num_bad: int) -> None:
        """Warns of steps that were skipped among those from `begin` to `end`, or ends the training where they are too many."""
        what = f"{bad} of the steps {begin + 1} to {end} had a loss or gradient that is not finite"
        if num_bad <= limits.max_bad_steps:
            logging.warning("%s: skipped (%d so far, --max_bad_steps=%d)", what, num_bad, limits.max_bad_steps)
            return
        records = f", on {batches.where(begin)}" if end - begin == 1 else ""
        raise InputError(
            f"{what}{records}; they make {num_bad} with --max_bad_steps={limits.max_bad_steps}. The last checkpoint is kept: start "
            "again with a lower --learning_rate, in another --output_dir"
        )

    def _run(self, iterator, count: int, batches: Batches) -> dict[str, float]:
        with _named_failure(batches):
            totals = self._steps(iterator, tf.constant(count, tf.int64))
        return {name: float(part.mean()) for name, part in totals.items()}


def evaluate(model: keras.Model, sums: SumsFunction, batches: Batches, max_steps: int | None = None) -> dict[str, float]:
    """Returns the mean of every loss and metric over the batches, and their sum as `loss`."""
    num_steps = len(batches) if max_steps is None else min(len(batches), max_steps)
    logging.info("evaluating %d of %d examples", min(num_steps * batches.batch_size, batches.num_records), batches.num_records)

    @tf.function
    def step(batch):
        return sums(model(batch, training=False), batch)

    totals: dict[str, WeightedSum] = {}
    with Progress(num_steps, "steps", "evaluating") as progress, _named_failure(batches):
        for batch in batches.dataset(num_steps=num_steps):
            parts = step(batch)
            totals = {name: totals[name].plus(part) if name in totals else part for name, part in parts.items()}
            progress.advance(1)
    results = {name: float(part.mean()) for name, part in totals.items()}
    return results | {"loss": float(total_loss(totals))}


def predict(model: keras.Model, batches: Batches) -> dict[str, np.ndarray]:
    """Returns the logits of every real example, in the records' order: each float32[examples, ...]."""

    @tf.function
    def step(batch):
        return model(batch, training=False)

    parts: dict[str, list[np.ndarray]] = {}
    numbers = []
    with Progress(len(batches), "steps", "predicting") as progress, _named_failure(batches):
        for number, batch in enumerate(batches.dataset(num_steps=len(batches))):
            real = batch["is_real_example"].numpy().astype(bool)
            held = batches.numbers(number)
            numbers.append(held[real[: len(held)]])
            for name, logits in step(batch).items():
                parts.setdefault(name, []).append(logits.numpy()[real])
            progress.advance(1)
    order = np.argsort(np.concatenate(numbers))
    return {name: np.concatenate(arrays)[order] for name, arrays in parts.items()}


class _named_failure:
    """Turns TensorFlow's report of data that cannot be read into an InputError that names it."""

    def __init__(self, batches: Batches):
        self._batches = batches

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        failure = self._batches.failure_behind(error) if isinstance(error, tf.errors.OpError) else None
        if failure is not None:
            raise failure from error


def _call_length(seconds_per_step: float | None) -> int:
    return 1 if seconds_per_step is None else max(1, int(_SECONDS_PER_CALL / seconds_per_step))
