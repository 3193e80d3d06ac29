"""The original's optimizer (google-research/bert, optimization.py) and its learning-rate schedule."""

from collections.abc import Sequence

import tensorflow as tf

BETA_1 = 0.9
BETA_2 = 0.999
EPSILON = 1e-6
WEIGHT_DECAY_RATE = 0.01  # decoupled from the gradient, as in AdamW
CLIP_NORM = 1.0


class LinearSchedule:
    """The original's rate: init x step / warmup below warmup, then init x (1 - step / num_train_steps), down to 0.

    Steps count from 0, so the first update has rate 0 when there is a warmup. The decay is measured from step 0, not from the end
    of the warmup: at that point the rate drops from init to init x (1 - warmup / num_train_steps), in the original as here.
    The continuous form decays from the end of the warmup: init x (num_train_steps - step) / (num_train_steps - warmup).
    """

    def __init__(self, learning_rate: float, num_train_steps: int, num_warmup_steps: int, continuous: bool = False):
        """Takes the peak rate, the two lengths in steps, and whether the rate falls from the peak without a drop."""
        self.learning_rate = learning_rate
        self.num_train_steps = num_train_steps
        self.num_warmup_steps = num_warmup_steps
        self._decay_from = num_warmup_steps if continuous else 0

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Returns the rate, float32[], for the update that follows `step` finished ones (int64[])."""
        done = tf.cast(step, tf.float32)
        decayed = self.learning_rate * tf.maximum(0.0, 1.0 - (done - self._decay_from) / (self.num_train_steps - self._decay_from))
        if not self.num_warmup_steps:
            return decayed
        return tf.where(step < self.num_warmup_steps, self.learning_rate * done / self.num_warmup_steps, decayed)


def decays(path: str) -> bool:
    """Returns whether weight decay applies to the variable with this path: not to LayerNorm and not to biases."""
    last = path.rsplit("/", 1)[-1]
    return last not in ("gamma", "beta", "bias", "output_bias")


class AdamWeightDecay:
    """Adam with decoupled weight decay and, by default, no bias correction; gradients are clipped together at norm 1.

    m <- 0.9 m + 0.1 g; v <- 0.999 v + 0.001 g^2; w <- w - rate x (m / (sqrt(v) + 1e-6) + 0.01 w).
    """

    def __init__(self, variables: Sequence, schedule: LinearSchedule, bias_correction: bool = False):
        """Takes the model's trainable Keras variables, the schedule, and whether m and v are corrected for their zero start."""
        self.variables = list(variables)
        self.schedule = schedule
        self.bias_correction = bias_correction
        self.m = [tf.Variable(tf.zeros(v.shape), trainable=False, name="adam_m") for v in self.variables]
        self.v = [tf.Variable(tf.zeros(v.shape), trainable=False, name="adam_v") for v in self.variables]

    def apply(self, gradients: Sequence, step: tf.Tensor, sound: tf.Tensor | bool = True) -> tuple[tf.Tensor, tf.Tensor]:
        """Updates every variable and returns the gradients' global norm before clipping and the rate used, float32[] each.

        Where the norm is not finite, or `sound` is false, everything stays as it was.

        Args:
          gradients: One a variable, in order, float32; None leaves a variable as it is (the loss does not depend on it).
          step: int64[], how many updates came before.
          sound: bool[], whether the gradients are to be used.
        """
        slots = [slot for slot, gradient in zip(zip(self.variables, self.m, self.v), gradients) if gradient is not None]
        # a gather's gradient comes as sparse slices
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients if gradient is not None]
        clipped, norm = tf.clip_by_global_norm(dense, CLIP_NORM)
        rate = self.schedule(step)
        tf.cond(sound & tf.math.is_finite(norm), lambda: self._update(slots, clipped, step, rate), tf.no_op)
        return norm, rate

    def _update(self, slots: Sequence, gradients: Sequence, step: tf.Tensor, rate: tf.Tensor) -> tf.Operation:
        m_scale = v_scale = 1.0
        if self.bias_correction:
            count = tf.cast(step + 1, tf.float32)
            m_scale = 1.0 / (1.0 - BETA_1**count)
            v_scale = 1.0 / (1.0 - BETA_2**count)
        for (variable, m, v), gradient in zip(slots, gradients):
            m.assign(BETA_1 * m + (1.0 - BETA_1) * gradient)
            v.assign(BETA_2 * v + (1.0 - BETA_2) * tf.square(gradient))
            update = m * m_scale / (tf.sqrt(v * v_scale) + EPSILON)
            if decays(variable.path):
                update += WEIGHT_DECAY_RATE * variable.value
            variable.value.assign_sub(rate * update)
        return tf.no_op()  # what a branch of tf.cond returns; the assignments are run as they stand
