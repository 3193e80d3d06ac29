"""The original's optimizer (google-research/bert, optimization.py), LAMB, and the learning-rate schedules."""

import abc
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence

import tensorflow as tf

BETA_1 = 0.9
BETA_2 = 0.999
EPSILON = 1e-6
WEIGHT_DECAY_RATE = 0.01  # decoupled from the gradient, as in AdamW
CLIP_NORM = 1.0

# On a CPU, variables of fewer numbers than this are updated sooner than XLA is called.
WORTH_COMPILING = 2**16

# From steps done, int64[], to a rate, float32[].
Schedule = Callable[[tf.Tensor], tf.Tensor]


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
        decayed = self.learning_rate * self._left((done - self._decay_from) / (self.num_train_steps - self._decay_from))
        if not self.num_warmup_steps:
            return decayed
        return tf.where(step < self.num_warmup_steps, self.learning_rate * done / self.num_warmup_steps, decayed)

    def _left(self, gone: tf.Tensor) -> tf.Tensor:
        """Returns the share of the peak that is left when this share of the way down is gone."""
        return tf.maximum(0.0, 1.0 - gone)


class CosineSchedule(LinearSchedule):
    """The rate rises as in the others, then falls from the peak along half a cosine: (1 + cos(pi x share of the way)) / 2."""

    def __init__(self, learning_rate: float, num_train_steps: int, num_warmup_steps: int):
        """Takes the peak rate and the two lengths in steps."""
        super().__init__(learning_rate, num_train_steps, num_warmup_steps, continuous=True)

    def _left(self, gone: tf.Tensor) -> tf.Tensor:
        return 0.5 * (1.0 + tf.cos(math.pi * tf.clip_by_value(gone, 0.0, 1.0)))


def decays(path: str) -> bool:
    """Returns whether weight decay applies to the variable with this path: not to LayerNorm and not to biases."""
    last = path.rsplit("/", 1)[-1]
    return last not in ("gamma", "beta", "bias", "output_bias")


class RateScales:
    """How the rate of each variable stands to the schedule's: 1, less for lower layers, 0 for frozen ones."""

    def __init__(self, num_hidden_layers: int, layer_decay: float = 1.0, freeze_embeddings: bool = False, num_frozen_layers: int = 0):
        """Takes the model's depth, the factor from each layer to the one below, and what is not trained at all."""
        self._num_hidden_layers = num_hidden_layers
        self._layer_decay = layer_decay
        self._first_trained = num_frozen_layers + 1 if num_frozen_layers else int(freeze_embeddings)

    def __call__(self, path: str) -> float:
        """Returns the factor for the variable with this path."""
        height = self._height(path)
        return 0.0 if height < self._first_trained else self._layer_decay ** (self._num_hidden_layers + 1 - height)

    def _height(self, path: str) -> int:
        """Returns 0 for the embeddings, 1 for the first layer, and for pooler and heads one more than for the last layer."""
        if "/embeddings/" in path:
            return 0
        layer = re.search(r"/layer_(\d+)/", path)
        return self._num_hidden_layers + 1 if layer is None else int(layer[1]) + 1


class Optimizer(abc.ABC):
    """What the optimizers share: moments m and v, clipping by the global norm, steps left out, rates by variable."""

    def __init__(
        self,
        variables: Sequence,
        schedule: Schedule,
        bias_correction: bool = False,
        rate_scale: Callable[[str], float] = lambda path: 1.0,
        compile_from: int | None = None,
    ):
        """Creates the moments.

        Args:
          variables: The model's trainable Keras variables.
          schedule: The rate.
          bias_correction: Whether m and v are corrected for their zero start.
          rate_scale: From a variable's path to the factor on its rate; 0 leaves it as it is.
          compile_from: Variables of at least so many numbers have their update compiled by XLA, into one pass over memory where
            TensorFlow makes many; None leaves all to TensorFlow.
        """
        self.variables = list(variables)
        self.schedule = schedule
        self.bias_correction = bias_correction
        self.m = [tf.Variable(tf.zeros(v.shape), trainable=False, name="adam_m") for v in self.variables]
        self.v = [tf.Variable(tf.zeros(v.shape), trainable=False, name="adam_v") for v in self.variables]
        self._scales = [rate_scale(v.path) for v in self.variables]
        self._compile_from = math.inf if compile_from is None else compile_from
        self._compiled = tf.function(self._update, jit_compile=True, autograph=False)

    def gradients(self, tape: tf.GradientTape, loss: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the gradients, dense, by the variables' paths: none for what is frozen or what the loss does not depend on."""
        trained = {v.path: v.value for v, scale in zip(self.variables, self._scales) if scale}
        found = tape.gradient(loss, trained)
        dense = {path: tf.convert_to_tensor(gradient) for path, gradient in found.items() if gradient is not None}
        for path, gradient in dense.items():
            # not tf.ensure_shape, which makes XLA take the shape for a dynamic one: six times slower
            gradient.set_shape(trained[path].shape)
        return dense

    def apply(self, gradients: Mapping[str, tf.Tensor], step: tf.Tensor, sound: tf.Tensor | bool = True) -> tuple[tf.Tensor, tf.Tensor]:
        """Updates every variable and returns the gradients' global norm before clipping and the rate used, float32[] each.

        Where the norm is not finite, or `sound` is false, everything stays as it was. Under a distribution strategy this is called in
        every replica with the same gradients, summed over the replicas.

        Args:
          gradients: float32, by the variables' paths; a variable without one stays as it is.
          step: int64[], how many updates came before.
          sound: bool[], whether the gradients are to be used.
        """
        numbers = [number for number, variable in enumerate(self.variables) if variable.path in gradients]
        # a gather's gradient comes as sparse slices, whose norm counts a repeated row more than once
        dense = [tf.convert_to_tensor(gradients[self.variables[number].path]) for number in numbers]
        norm = tf.linalg.global_norm(dense)
        rate = self.schedule(step)
        sound = tf.math.is_finite(norm) & sound
        # beyond the norm, down to it; not at all where the step is not sound
        factor = tf.where(sound, CLIP_NORM / tf.maximum(norm, CLIP_NORM), 0.0)
        shared = self._shared(factor, step, rate, sound)
        context = tf.distribute.get_replica_context()
        context.merge_call(self._update_all, args=(numbers, dense, shared))
        return norm, rate

    def _update_all(self, strategy, numbers, gradients, shared):
        """Updates the variables of these numbers, on every device."""
        for number, gradient in zip(numbers, gradients):
            variable, scale = self.variables[number], self._scales[number]
            own = functools.partial(self._update_one, scale=scale, decays=decays(variable.path))
            strategy.extended.update(variable.value, own, args=(self.m[number], self.v[number], gradient, shared), group=False)

    def _update_one(self, value, m, v, gradient, shared, scale, decays):
        # what differs from variable to variable goes in as a number: XLA compiles for each shape, not for each rate
        rate = shared["rate"] if scale == 1.0 else shared["rate"] * scale
        arguments = gradient, shared | {"rate": rate}, decays
        if value.shape.num_elements() < self._compile_from:
            self._update(value, m, v, *arguments)
        else:
            self._compiled(value, _copy_beside(m, value), _copy_beside(v, value), *arguments)

    def _corrections(self, step: tf.Tensor) -> tuple[tf.Tensor | float, tf.Tensor | float]:
        """Returns what m and v are multiplied with: 1, or with bias correction 1 / (1 - beta^updates)."""
        if not self.bias_correction:
            return 1.0, 1.0
        count = tf.cast(step + 1, tf.float32)
        return 1.0 / (1.0 - BETA_1**count), 1.0 / (1.0 - BETA_2**count)

    def _shared(self, factor: tf.Tensor, step: tf.Tensor, rate: tf.Tensor, sound: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns what the updates of all variables have in common, float32[] each: computed once, not for each."""
        m_scale, v_scale = self._corrections(step)
        keep, one = tf.cast(sound, tf.float32), tf.ones([])
        return {
            "factor": factor,
            "rate": keep * rate,
            "m_part": keep * (1.0 - BETA_1),
            "v_part": keep * (1.0 - BETA_2),
            "m_scale": m_scale * one,
            "v_scale": v_scale * one,
        }

    def _update(self, value, m, v, gradient, shared: dict[str, tf.Tensor], decays: bool) -> None:
        """Updates one variable and its moments."""
        gradient = tf.math.multiply_no_nan(gradient, shared["factor"])
        m.assign_add(shared["m_part"] * (gradient - m))
        v.assign_add(shared["v_part"] * (tf.square(gradient) - v))
        update = m * shared["m_scale"] / (tf.sqrt(v * shared["v_scale"]) + EPSILON)
        if decays:
            update += WEIGHT_DECAY_RATE * value
        value.assign_sub(shared["rate"] * self._trust(value, update, decays) * update)

    @abc.abstractmethod
    def _trust(self, value, update: tf.Tensor, decays: bool) -> tf.Tensor | float:
        """Returns the factor on the length of a variable's update."""


def _copy_beside(variable, value):
    """Returns the copy of a mirrored variable on the device of `value`.

    A tf.function takes all mirrored variables of one shape for the first one that it was traced with.
    """
    copies = tf.distribute.get_strategy().experimental_local_results(variable)
    return next(copy for copy in copies if copy.device == value.device)


class AdamWeightDecay(Optimizer):
    """Adam with decoupled weight decay and, by default, no bias correction; gradients are clipped together at norm 1.

    m <- 0.9 m + 0.1 g; v <- 0.999 v + 0.001 g^2; w <- w - rate x (m / (sqrt(v) + 1e-6) + 0.01 w).
    """

    def _trust(self, value, update, decays) -> float:
        return 1.0


class Lamb(Optimizer):
    """LAMB (You et al., 2019, algorithm 2): Adam's step of each variable, made as long as rate x the variable's own norm.

    r = m / (sqrt(v) + 1e-6) + 0.01 w; w <- w - rate x |w| / |r| x r. LayerNorm and biases take rate x r, as they do without decay.
    """

    def _trust(self, value, update, decays) -> tf.Tensor | float:
        if not decays:
            return 1.0
        length, wanted = tf.norm(update), tf.norm(value)
        return tf.where((length > 0) & (wanted > 0), wanted / length, 1.0)
