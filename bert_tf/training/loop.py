"""The training loop: many steps inside one compiled call, and between the calls what is told and saved."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import tensorflow as tf
from absl import logging

from bert_tf.data.batches import Batches
from bert_tf.data.progress import Progress
from bert_tf.errors import InputError
from bert_tf.modeling.flops import train_flops
from bert_tf.modeling.losses import Sums, WeightedSum
from bert_tf.training.checkpoints import Checkpoints
from bert_tf.training.interruption import Interruption
from bert_tf.training.record import Throughput
from bert_tf.training.selection import Selection
from bert_tf.training.step import BAD, USEFUL, TrainStep
from bert_tf.training.strategy import Agreement, distributed

# Control comes back to Python at least about this often, for the progress line and for Ctrl-C.
_SECONDS_PER_CALL = 2.0


@dataclass(frozen=True)
class Limits:
    """Where a training call begins and ends, how often it saves and is evaluated, and how many of its steps may fail: all in steps."""

    first_step: int
    last_step: int
    save_checkpoints_steps: int
    iterations_per_loop: int
    max_bad_steps: int = 0
    eval_steps: int = 0

    def next_stop(self, step: int) -> int:
        """Returns the first step after this one whose checkpoint is saved."""
        spacings = (spacing for spacing in (self.save_checkpoints_steps, self.eval_steps) if spacing)
        return min(self.last_step, *((step // spacing + 1) * spacing for spacing in spacings))


class Trainer:
    """Runs training steps, many in a call, and reports and saves between the calls."""

    def __init__(self, step: TrainStep):
        """Takes what one step does."""
        self.step = step

    def train(
        self, batches: Batches, limits: Limits, checkpoints: Checkpoints, log_dir: str, selection: Selection | None = None
    ) -> Throughput:
        """Trains from `first_step` up to `last_step`, saving as it goes and at the end; returns how fast it went.

        With a selection the model is evaluated after every `eval_steps`, and the training ends where that says so.

        Raises:
          InputError: Too many steps whose loss or gradient is not finite, or a data file that cannot be read any more.
          Preempted: SIGTERM came; a checkpoint of the last finished step is written. After Ctrl-C, KeyboardInterrupt in the same way.
        """
        with Interruption() as interruption:
            return self._train(batches, limits, checkpoints, log_dir, selection, interruption)

    def _train(self, batches, limits, checkpoints, log_dir, selection, interruption) -> Throughput:
        writer = tf.summary.create_file_writer(log_dir)
        iterator = iter(distributed(self.step.strategy, batches, limits.first_step, limits.last_step - limits.first_step))
        agree, throughput = Agreement(self.step.strategy), Throughput()
        step, num_bad, seconds_per_step, shown, count = limits.first_step, 0, None, "", 0
        with writer.as_default(), Progress(limits.last_step, "steps", "training", limits.first_step) as progress:
            while step < limits.last_step:
                boundary = limits.next_stop(step)
                count = min(_call_length(seconds_per_step), limits.iterations_per_loop, boundary - step)
                started = time.monotonic()
                sums = self._run(iterator, count, batches)
                seconds = time.monotonic() - started
                seconds, wish = agree(seconds, float(interruption.requested is not None))
                # the first call compiles, so its time says nothing about a step
                seconds_per_step = seconds / count if step > limits.first_step else None
                step += count
                metrics = {name: float(part.mean()) for name, part in sums.items()}
                bad = round(metrics.pop(BAD) * count)
                num_bad += bad
                if bad:
                    self._tell_bad_steps(batches, limits, step - count, step, bad, num_bad)
                # the rate of the call's last step, not the mean over the call
                metrics["learning_rate"] = float(self.step.optimizer.schedule(tf.constant(step - 1, tf.int64)))
                if seconds_per_step is not None:
                    metrics["examples_per_second"] = batches.batch_size / seconds_per_step
                    self._note(throughput, batches, count, seconds, sums[USEFUL])
                for name, value in metrics.items():
                    tf.summary.scalar(name, value, step=step)
                shown = _shown(metrics)
                progress.note(shown)
                progress.advance(count)
                if step == limits.first_step + count:
                    progress.start_clock()
                    logging.info("step %d: loss %.4g", step, metrics["loss"])
                if step == boundary or wish:
                    prefix = checkpoints.save(step)
                    writer.flush()
                if wish:
                    interruption.finish(prefix)
                if selection is not None and step == boundary and selection.is_due(step, limits.last_step):
                    for name, value in selection.assess(step).items():
                        tf.summary.scalar(f"evaluation/{name}", value, step=step)
                    (wish,) = agree(float(interruption.requested is not None))
                    if wish:
                        interruption.finish(prefix)
                    if selection.is_over:
                        break
        logging.info("training ended at step %d, %s (means of the last %d steps)", step, shown, count)
        return throughput

    def _note(self, throughput: Throughput, batches: Batches, steps: int, seconds: float, useful: WeightedSum) -> None:
        examples, positions = steps * batches.batch_size, float(useful.weight)
        throughput.seconds += seconds
        throughput.steps += steps
        throughput.examples += examples
        throughput.positions += positions
        throughput.useful_tokens += float(useful.total)
        masks = batches.axes.get("masks", 0) * examples
        throughput.flops += train_flops(self.step.model.encoder.config, positions, positions / examples, examples, masks)

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

    def _run(self, iterator, count: int, batches: Batches) -> Sums:
        with batches.named_failures():
            totals = self.step(iterator, tf.constant(count, tf.int64))
            return tf.nest.map_structure(lambda value: value.numpy(), totals)


def _shown(metrics: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in metrics.items() if name.endswith(("loss", "accuracy", "per_second")))


def _call_length(seconds_per_step: float | None) -> int:
    return 1 if seconds_per_step is None else max(1, int(_SECONDS_PER_CALL / seconds_per_step))
