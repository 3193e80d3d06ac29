"""What a run starts from: its own checkpoints, another run's state, weights, or nothing."""

import os

import keras
from absl import logging

from bert_tf.config import TrainingConfig
from bert_tf.convert.load import load_weights
from bert_tf.errors import DamagedCheckpoint, InputError
from bert_tf.training.checkpoints import Checkpoints
from bert_tf.training.selection import best_checkpoint
from bert_tf.workflows import model_folder, run_directory


def restore(
    config: TrainingConfig,
    model: keras.Model,
    checkpoints: Checkpoints,
    newest: str | None,
    continue_from: str | None,
    last_step: int,
    need_heads: bool,
) -> tuple[int, str]:
    """Loads what the run starts from: its own newest checkpoint, another run's state, or weights, which are trained on from step 0.

    Returns:
      Its step, and what to tell of it.
    """
    best = best_checkpoint(config.output_dir) if newest is not None and not config.do_train else None
    if best is not None:
        return restore_best(checkpoints, best), ""
    if newest is not None:
        prefix, step = checkpoints.restore_newest()
        return step, f"going on from {prefix}" if config.do_train else f"weights of {prefix}"
    if continue_from is not None:
        prefix = model_folder.checkpoint_prefix(continue_from)
        step = checkpoints.restore(prefix, "give another --continue_from")
        run_directory.check_schedule(config, os.path.dirname(prefix))
        if config.do_train and step >= last_step:
            raise InputError(
                f"{prefix}: is at step {step} already, and this run ends at step {last_step}; give it as --init_checkpoint to start a new "
                "schedule"
            )
        return step, f"going on from {prefix} at step {step} of its schedule"
    if config.init_checkpoint is not None:
        report = load_weights(model, config.init_checkpoint, config.allow_partial, need_heads)
        logging.debug("not used: %s", ", ".join(report.unused))
        return 0 if config.do_train else report.step, str(report)
    if not config.do_train:
        raise InputError(f"{config.output_dir}: holds no checkpoint; give --do_train, or an --init_checkpoint")
    return 0, ""


def restore_best(checkpoints: Checkpoints, best: str) -> int:
    """Loads the checkpoint that was evaluated best, or the newest sound one where it is damaged, and returns its step."""
    try:
        step = checkpoints.restore(best, "taking the newest")
    except DamagedCheckpoint as error:
        logging.warning("%s", error)
        return checkpoints.restore_newest()[1]
    logging.info("weights of %s, which was evaluated best", best)
    return step
