"""What every training workflow is built on: model, optimizer and step, what they start from, and the directory they end up in."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import keras
import tensorflow as tf
from absl import logging

from bert_tf.config import BertConfig, TrainingConfig
from bert_tf.convert.load import load_weights
from bert_tf.convert.names import GLOBAL_STEP, model_state, training_state
from bert_tf.data.batches import Batches
from bert_tf.errors import InputError
from bert_tf.training import strategy
from bert_tf.training.checkpoints import Checkpoints
from bert_tf.training.loop import Limits, SumsFunction, Trainer
from bert_tf.training.optimizer import AdamWeightDecay, LinearSchedule
from bert_tf.workflows import model_folder, run_directory


@dataclass
class TrainingRun:
    """A model at a step of its training.

    Attributes:
      model: The model, its weights loaded.
      step: How many steps it has been trained for.
    """

    model: keras.Model
    step: int
    _config: TrainingConfig
    _last_step: int
    _trainer: Trainer | None
    _checkpoints: Checkpoints

    def train(self, batches: Callable[[], Batches]) -> None:
        """Trains up to the last step; where that is reached already it says so, and the batches are not made."""
        config, last = self._config, self._last_step
        if self.step >= last:
            logging.info("%s: training is finished (step %d of %d), nothing left to train", config.output_dir, self.step, last)
            return
        logging.info("training from step %d to %d on %s", self.step, last, strategy.device())
        limits = Limits(self.step, last, config.save_checkpoints_steps, config.iterations_per_loop, config.max_bad_steps)
        self._trainer.train(batches(), limits, self._checkpoints, os.path.join(config.output_dir, "train"))
        self.step = last


@contextlib.contextmanager
def open_run(
    config: TrainingConfig,
    model_config: BertConfig,
    make_model: Callable[[], keras.Model],
    sums: SumsFunction,
    *,
    num_train_steps: int,
    num_warmup_steps: int,
    last_step: int,
    files: Mapping[str, str],
    data: Mapping[str, str],
    need_heads: bool,
    continue_from: str | None = None,
) -> Iterator[TrainingRun]:
    """Yields the run that the config means, loaded: from its own newest checkpoint, another run's state, weights, or nothing.

    Nothing is written before all that the run starts from has been read and checked. While a training run is open, no other one can
    be opened in its directory.

    Args:
      config: The run.
      model_config: The model's shape.
      make_model: Makes the model; called when the seeds are set.
      sums: From (logits, batch) to the sums behind losses and metrics.
      num_train_steps: Steps of the learning-rate schedule.
      num_warmup_steps: Steps over which the rate rises.
      last_step: Where this run ends.
      files: Texts that belong beside the checkpoints, by file name.
      data: What the model was made from, by what it is, as "vocabulary": a run goes on with the same only.
      need_heads: Whether the heads must be in --init_checkpoint.
      continue_from: The run, or checkpoint, whose training goes on here.

    Raises:
      InputError: What the user can mend.
    """
    strategy.set_up(config)
    identity = run_directory.identity(config, model_config, data)
    newest = run_directory.find_checkpoint(config, identity)
    model = make_model()
    global_step = tf.Variable(0, dtype=tf.int64, trainable=False, name=GLOBAL_STEP)
    layers = model_config.num_hidden_layers
    if config.do_train:
        schedule = LinearSchedule(config.learning_rate, num_train_steps, num_warmup_steps, config.lr_schedule == "continuous")
        optimizer = AdamWeightDecay(model.trainable_variables, schedule, config.bias_correction)
        trainer = Trainer(model, sums, optimizer, global_step, config.random_seed, config.jit_compile)
        state = training_state(optimizer.variables, optimizer.m, optimizer.v, layers, global_step)
    else:
        trainer, state = None, model_state(model.trainable_variables, layers, global_step)
    checkpoints = Checkpoints(config.output_dir, state, config.keep_checkpoint_max)
    step = 0
    if newest is not None:
        prefix, step = checkpoints.restore_newest()
        logging.info("going on from %s" if config.do_train else "weights of %s", prefix)
    elif continue_from is not None:
        prefix = model_folder.checkpoint_prefix(continue_from)
        step = checkpoints.restore(prefix, "give another --continue_from")
        run_directory.check_schedule(config, os.path.dirname(prefix))
        if config.do_train and step >= last_step:
            raise InputError(
                f"{prefix}: is at step {step} already, and this run ends at step {last_step}; give it as --init_checkpoint to start a new "
                "schedule"
            )
        logging.info("going on from %s at step %d of its schedule", prefix, step)
    elif config.init_checkpoint is not None:
        logging.info("%s", load_weights(model, config.init_checkpoint, config.allow_partial, need_heads))
    elif not config.do_train:
        raise InputError(f"{config.output_dir}: holds no checkpoint; give --do_train, or an --init_checkpoint")
    with run_directory.begun(config, identity, files, newest) if config.do_train else contextlib.nullcontext():
        yield TrainingRun(model, step, config, last_step, trainer, checkpoints)
