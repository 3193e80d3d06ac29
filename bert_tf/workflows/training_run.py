"""What every training workflow is built on: model, optimizer and step, what they start from, and the directory they end up in."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import keras
from absl import logging

from bert_tf.config import BertConfig, TrainingConfig
from bert_tf.convert.load import load_weights
from bert_tf.convert.names import training_state
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
    _trainer: Trainer
    _checkpoints: Checkpoints

    def train(self, batches: Callable[[], Batches], last_step: int) -> None:
        """Trains up to `last_step`; where that is reached already it says so, and the batches are not made."""
        if self.step >= last_step:
            logging.info("%s: training is finished (step %d of %d), nothing left to train", self._config.output_dir, self.step, last_step)
            return
        limits = Limits(self.step, last_step, self._config.save_checkpoints_steps, self._config.iterations_per_loop)
        self._trainer.train(batches(), limits, self._checkpoints, os.path.join(self._config.output_dir, "train"))
        self.step = last_step


@contextlib.contextmanager
def open_run(
    config: TrainingConfig,
    model_config: BertConfig,
    make_model: Callable[[], keras.Model],
    sums: SumsFunction,
    schedule: LinearSchedule,
    *,
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
      schedule: The learning rate.
      files: Texts that belong beside the checkpoints, by file name.
      data: Hashes of what is trained on, by what it is, as "training data": a run goes on with the same only.
      need_heads: Whether the heads must be in --init_checkpoint.
      continue_from: The run, or checkpoint, whose training goes on here.

    Raises:
      InputError: What the user can mend.
    """
    strategy.set_up(config)
    identity = run_directory.identity(config, model_config, data)
    newest = run_directory.find_checkpoint(config, identity)
    model = make_model()
    optimizer = AdamWeightDecay(model.trainable_variables, schedule, config.bias_correction)
    trainer = Trainer(model, sums, optimizer, config.random_seed, config.jit_compile)
    state = training_state(optimizer.variables, optimizer.m, optimizer.v, model_config.num_hidden_layers, trainer.global_step)
    checkpoints = Checkpoints(config.output_dir, state, config.keep_checkpoint_max)
    step = 0
    if newest is not None:
        step = checkpoints.restore(newest)
        logging.info("going on from %s", newest)
    elif continue_from is not None:
        prefix = model_folder.checkpoint_prefix(continue_from)
        step = checkpoints.restore(prefix, "give another --continue_from")
        logging.info("going on from %s at step %d of its schedule", prefix, step)
    elif config.init_checkpoint is not None:
        logging.info("%s", load_weights(model, config.init_checkpoint, config.allow_partial, need_heads))
    elif not config.do_train:
        raise InputError(f"{config.output_dir}: holds no checkpoint; give --do_train, or an --init_checkpoint")
    with run_directory.begun(config, identity, files) if config.do_train else contextlib.nullcontext():
        yield TrainingRun(model, step, config, trainer, checkpoints)
