"""What every training workflow is built on: model, optimizer and step, what they start from, and the directory they end up in."""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from bert_tf.config import BertConfig, TrainingConfig
from bert_tf.convert.names import GLOBAL_STEP, model_state, training_state
from bert_tf.data.batches import Batches
from bert_tf.errors import InputError
from bert_tf.modeling.losses import Objective
from bert_tf.training import memory, precision, record, strategy
from bert_tf.training.checkpoints import Checkpoints, checkpoint_steps
from bert_tf.training.evaluation import Evaluator
from bert_tf.training.interruption import Interruption
from bert_tf.training.loop import Limits, Trainer
from bert_tf.training.optimizer import WORTH_COMPILING, AdamWeightDecay, CosineSchedule, Lamb, LinearSchedule, Optimizer, RateScales
from bert_tf.training.record import Throughput
from bert_tf.training.selection import Scoring, Selection, best_checkpoint, forget
from bert_tf.training.step import StepOptions, TrainStep
from bert_tf.workflows import run_directory
from bert_tf.workflows.starting_point import restore, restore_best


@dataclass
class TrainingRun:
    """A model at a step of its training.

    Attributes:
      model: The model, its weights loaded.
      step: How many steps its weights have been trained for.
      is_own: Whether the weights are the run's own, not those of --init_checkpoint as they are.
      folder: Where results go: --output_dir, and for a worker other than the chief a folder that is thrown away.
      is_chief: Whether this process is the one that exports.
      static_shapes: Whether all batches must have one shape: on a TPU.
      num_micro_batches: Parts that each device's share of a batch goes through in.
    """

    model: keras.Model
    step: int
    is_own: bool
    folder: str
    is_chief: bool
    static_shapes: bool
    num_micro_batches: int
    _make_model: Callable[[keras.DTypePolicy, bool], keras.Model]
    _evaluator: Evaluator
    _strategy: tf.distribute.Strategy
    _config: TrainingConfig
    _identity: Mapping[str, Any]
    _last_step: int
    _trainer: Trainer | None
    _checkpoints: Checkpoints

    def train(self, batches: Callable[[], Batches], scoring: Scoring | None = None) -> None:
        """Trains up to the last step; where that is reached already it says so, and the batches are not made.

        With --eval_steps it is judged by `scoring` as it goes, and left with the weights, and at the step, of the best checkpoint.
        """
        config, last = self._config, self._last_step
        selection = self._selection(scoring) if config.eval_steps and scoring is not None else None
        if self.step >= last or (selection is not None and selection.is_over):
            logging.info("%s: training is finished (step %d of %d), nothing left to train", config.output_dir, self.step, last)
            if not tf.io.gfile.exists(os.path.join(config.output_dir, run_directory.RUN_RECORD)):  # killed just before it was written
                self._write_record(self.step, Throughput())
            best = best_checkpoint(config.output_dir) if selection is None else self._best(selection)
        else:
            if selection is None and self.is_chief:
                forget(config.output_dir)
            self._train(batches(), selection)
            best = None if selection is None else self._best(selection)
        if best is not None and best != self._checkpoints.prefix(self.step):
            self.step = restore_best(self._checkpoints, best)

    def _selection(self, scoring: Scoring) -> Selection:
        """Returns the run's evaluations so far, with the one made up for that a kill prevented."""
        config = self._config
        selection = Selection(
            *(self._checkpoints, scoring, config.eval_steps, config.early_stopping_patience, self.step),
            writes=self.is_chief,
            is_new=config.overwrite_output_dir,
        )
        standing = selection.standing
        if any(abs(mean - own) > 1e-3 for mean, own in zip(strategy.Agreement(self._strategy)(*standing), standing)):
            raise InputError(f"{config.output_dir}: the workers see different states of evaluations.json; start all of them again")
        # killed between the two: saved, but not evaluated
        if self.step in checkpoint_steps(config.output_dir) and selection.is_due(self.step, self._last_step):
            with Interruption() as interruption:
                selection.assess(self.step)
                if interruption.requested is not None:
                    interruption.finish(self._checkpoints.prefix(self.step))
        return selection

    def _best(self, selection: Selection) -> str | None:
        # from memory, where all workers hold the same: the chief may not have written the file yet
        return None if selection.best_step is None else self._checkpoints.prefix(selection.best_step)

    def _train(self, batches: Batches, selection: Selection | None) -> None:
        config, first, last = self._config, self.step, self._last_step
        logging.info("training from step %d to %d on %s", first, last, strategy.describe(self._strategy))
        limits = Limits(first, last, config.save_checkpoints_steps, config.iterations_per_loop, config.max_bad_steps, config.eval_steps)
        throughput = self._trainer.train(batches, limits, self._checkpoints, os.path.join(self.folder, "train"), selection)
        self.step = int(self._trainer.step.global_step.numpy())
        self._write_record(first, throughput)

    def plain_model(self) -> keras.Model:
        """Returns the model on one device and in float32, which every server computes in: what an export is made of."""
        if self._strategy.num_replicas_in_sync == 1 and self.model.compute_dtype == "float32":
            return self.model
        plain = self._make_model(keras.DTypePolicy("float32"), False)
        for variable, trained in zip(plain.trainable_variables, self.model.trainable_variables, strict=True):
            variable.assign(trained.numpy())
        return plain

    def _write_record(self, first: int, throughput: Throughput) -> None:
        """Writes run.json."""
        rates, dtype = throughput.rates(), self.model.compute_dtype
        if rates:
            ceiling = record.ceiling_gflops(dtype)
            rates |= {"matmul_ceiling_gflops_per_second": ceiling, "share_of_ceiling": rates["gflops_per_second"] / ceiling}
        content = record.surroundings() | {
            "devices": strategy.describe(self._strategy),
            "precision": dtype,
            "first_step": first,
            "last_step": self.step,
            "training": rates,
            "peak_memory_bytes": record.peak_memory_bytes(),
            "run": self._identity,
        }
        run_directory.write_text(self.folder, run_directory.RUN_RECORD, json.dumps(content, indent=2, sort_keys=True) + "\n")

    def evaluate(self, batches: Batches, max_steps: int | None = None) -> dict[str, float]:
        """Returns the mean of every loss and metric over the batches, and the losses' sum as `loss`."""
        return self._evaluator.evaluate(batches, max_steps)

    def predict(self, batches: Batches) -> dict[str, np.ndarray]:
        """Returns the logits of every real example, in the records' order: each float32[examples, ...]."""
        return self._evaluator.predict(batches)


@contextlib.contextmanager
def open_run(
    config: TrainingConfig,
    model_config: BertConfig,
    make_model: Callable[[keras.DTypePolicy, bool], keras.Model],
    objective: Objective,
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
      make_model: Makes the model of a precision, its elementwise parts compiled by XLA or not; called when the seeds are set.
      objective: What it is trained for.
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
    devices = strategy.connect(config)
    is_chief = strategy.is_chief(devices)
    model, trainer, state, num_micro_batches = _build(
        config, model_config, make_model, objective, num_train_steps, num_warmup_steps, devices
    )
    checkpoints = Checkpoints(config.output_dir, state, config.keep_checkpoint_max if is_chief else 0)
    step, told = restore(config, model, checkpoints, newest, continue_from, last_step, need_heads)
    with contextlib.ExitStack() as stack:
        folder = config.output_dir if is_chief else stack.enter_context(tempfile.TemporaryDirectory())
        if config.do_train and is_chief:
            stack.enter_context(run_directory.begun(config, identity, files, newest))
        if told:  # not before another run in the directory has been looked for
            logging.info("%s", told)
        is_own = config.do_train or newest is not None or continue_from is not None
        yield TrainingRun(
            *(model, step, is_own, folder, is_chief, strategy.is_tpu(devices), num_micro_batches, make_model),
            *(Evaluator(model, objective, devices), devices, config, identity, last_step, trainer, checkpoints),
        )


def _build(
    config: TrainingConfig,
    model_config: BertConfig,
    make_model: Callable[[keras.DTypePolicy, bool], keras.Model],
    objective: Objective,
    num_train_steps: int,
    num_warmup_steps: int,
    devices: tf.distribute.Strategy,
) -> tuple[keras.Model, Trainer | None, dict[str, Any], int]:
    """Creates on the devices the model and, to train it, optimizer and step.

    Returns:
      The model, what trains it, every variable by its name in a checkpoint, and how many micro batches a device's share goes through in.
    """
    free = None if strategy.is_tpu(devices) else memory.available_bytes()
    layers = model_config.num_hidden_layers
    with devices.scope():
        policy = precision.policy(config.precision, config.jit_compile)
        # where XLA compiles the whole step it fuses by itself; on GPUs it needs parts of CUDA that are not always there
        fuse = strategy.is_cpu(devices) and not config.jit_compile
        model = make_model(policy, fuse)
        global_step = tf.Variable(
            0, dtype=tf.int64, trainable=False, name=GLOBAL_STEP, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA
        )
        if not config.do_train:
            return model, None, model_state(model.trainable_variables, layers, global_step), config.gradient_accumulation_steps
        optimizer = _optimizer(config, model, layers, num_train_steps, num_warmup_steps, fuse)
        num_micro_batches = memory.num_micro_batches(config, model_config, model, devices.num_replicas_in_sync, free)
        options = StepOptions(config.random_seed, config.jit_compile, num_micro_batches, config.clip_per_replica)
        loss_scale = precision.LossScale() if policy.compute_dtype == "float16" else None
        trainer = Trainer(TrainStep(model, objective, optimizer, global_step, options, devices, loss_scale))
        state = training_state(optimizer.variables, optimizer.m, optimizer.v, layers, global_step)
        state |= {} if loss_scale is None else loss_scale.state()
    return model, trainer, state, num_micro_batches


def _optimizer(
    config: TrainingConfig, model: keras.Model, layers: int, num_train_steps: int, num_warmup_steps: int, fuse: bool
) -> Optimizer:
    if config.num_frozen_layers > layers:
        raise InputError(f"num_frozen_layers is {config.num_frozen_layers}, but the model has {layers} layers; give at most that")
    lengths = (config.learning_rate, num_train_steps, num_warmup_steps)
    schedule = CosineSchedule(*lengths) if config.lr_schedule == "cosine" else LinearSchedule(*lengths, config.lr_schedule == "continuous")
    scales = RateScales(layers, config.layer_decay, config.freeze_embeddings, config.num_frozen_layers)
    kind = {"adamw": AdamWeightDecay, "lamb": Lamb}[config.optimizer]
    return kind(model.trainable_variables, schedule, config.bias_correction, scales, WORTH_COMPILING if fuse else None)
