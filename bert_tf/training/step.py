"""One update of the model from one batch: over replicas and micro batches, the same as if one device had seen the whole batch."""

from dataclasses import dataclass

import keras
import tensorflow as tf

from bert_tf.modeling.losses import Batch, Objective, Sums, WeightedSum, total_loss
from bert_tf.training.optimizer import CLIP_NORM, Optimizer
from bert_tf.training.precision import LossScale

# Among a step's sums: whether its loss or gradient was not finite, so that it was skipped.
BAD = "bad_step"
# Also among them: how many places of the batch hold text (the total) of how many (the weight).
USEFUL = "useful_tokens"


@dataclass(frozen=True)
class StepOptions:
    """How a step is computed.

    Attributes:
      seed: The seed of all dropout masks.
      jit_compile: Whether XLA compiles the step.
      num_micro_batches: Parts that each replica's share of the batch is cut into and goes through one after another.
      clip_per_replica: Whether each replica's gradient, of the mean loss over its share, is clipped before their mean is taken, as
        the original does on a TPU; otherwise it is the sum, of the mean loss over the whole batch, that is clipped.
    """

    seed: int
    jit_compile: bool = False
    num_micro_batches: int = 1
    clip_per_replica: bool = False


class TrainStep:
    """Model, objective and optimizer, compiled into a function that runs many steps."""

    def __init__(
        self,
        model: keras.Model,
        objective: Objective,
        optimizer: Optimizer,
        global_step: tf.Variable,
        options: StepOptions,
        strategy: tf.distribute.Strategy | None = None,
        loss_scale: LossScale | None = None,
    ):
        """Compiles nothing before the first step.

        Args:
          model: The model to train.
          objective: What it is trained for.
          optimizer: What updates its variables.
          global_step: int64[], how many steps the model has been trained for.
          options: How a step is computed.
          strategy: The devices that the variables were created on; the default strategy where there is one device.
          loss_scale: For a model in float16, what its loss is multiplied with.
        """
        self.model, self.objective, self.optimizer, self.global_step = model, objective, optimizer, global_step
        self.strategy = strategy or tf.distribute.get_strategy()
        self._options, self._loss_scale = options, loss_scale
        # without AutoGraph, here and below: rewriting Python code that needs no rewriting is half of the time that tracing takes
        self._one = tf.function(self._over_replicas, jit_compile=options.jit_compile, autograph=False)

    @tf.function(reduce_retracing=True, autograph=False)
    def __call__(self, iterator, count):
        """Runs `count` steps, int64[], on the iterator's batches and returns their sums, added up."""
        outputs = self._one.get_concrete_function(iterator.element_spec).structured_outputs
        totals = tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), outputs)

        def add(number, totals):
            sums = self._one(next(iterator))
            return number + 1, {name: part.plus(totals[name]) for name, part in sums.items()}

        return tf.while_loop(lambda number, _: number < count, add, [tf.zeros([], tf.int64), totals])[1]

    def _over_replicas(self, batch: Batch) -> Sums:
        """Runs one step and returns the sums of the whole batch."""
        sums = self.strategy.run(self._in_replica, args=(batch,))
        # summed over the replicas already: every one of them holds the same
        sums = tf.nest.map_structure(lambda value: self.strategy.experimental_local_results(value)[0], sums)
        self.global_step.assign_add(1)
        if self._loss_scale is None:
            return sums
        return sums | {BAD: sums[BAD]._replace(total=self._loss_scale.update(sums[BAD].total))}

    def _in_replica(self, batch: Batch) -> Sums:
        context = tf.distribute.get_replica_context()
        # Known before any loss has been computed: what each part of the batch counts in the whole.
        weights = tf.nest.map_structure(tf.reduce_sum, self.objective.weights(batch))
        if not self._options.clip_per_replica:
            weights = context.all_reduce(tf.distribute.ReduceOp.SUM, weights)
        gradients, loss, sums = self._accumulated(batch, weights, self._dropout_seed(context))
        own_norm = tf.zeros([])
        if self._options.clip_per_replica:
            gradients, own_norm = _clipped(gradients)
            # each adds its part to the mean over the replicas, whose norm needs no second clipping
            replicas = context.num_replicas_in_sync
            gradients, loss, own_norm = tf.nest.map_structure(lambda value: value / replicas, (gradients, loss, own_norm))
        mask = batch["input_mask"]
        sums[USEFUL] = WeightedSum(tf.cast(tf.reduce_sum(mask), tf.float32), tf.cast(tf.size(mask), tf.float32), tf.zeros([]))
        local = {name: part[:2] for name, part in sums.items()}
        gradients, loss, own_norm, added = context.all_reduce(tf.distribute.ReduceOp.SUM, (gradients, loss, own_norm, local))
        sums = {name: WeightedSum(*added[name], part.epsilon) for name, part in sums.items()}
        norm, _ = self.optimizer.apply(gradients, self.global_step.value(), tf.math.is_finite(loss))
        return _with_soundness(sums, loss, own_norm if self._options.clip_per_replica else norm)

    def _dropout_seed(self, context) -> tf.Tensor:
        """Returns int64[2], which follows from (seed, replica, step) alone: a resumed run draws the masks of the unbroken one."""
        replica = tf.cast(context.replica_id_in_sync_group, tf.int64)
        seed = tf.stack([tf.constant(self._options.seed, tf.int64), replica])
        return tf.random.experimental.stateless_fold_in(seed, self.global_step.value())

    def _accumulated(self, batch: Batch, weights: dict[str, tf.Tensor], seed: tf.Tensor):
        """Returns gradients, loss and sums of this replica's share of the batch, micro batch by micro batch."""
        count = self._options.num_micro_batches
        if count == 1:
            return self._gradients(batch, weights, seed)
        parts = {name: tf.reshape(value, tf.concat([[count, -1], tf.shape(value)[1:]], 0)) for name, value in batch.items()}
        for name, value in parts.items():
            value.set_shape([count, None, *batch[name].shape[1:]])
        one = tf.function(self._gradients, autograph=False)
        first = {name: value[0] for name, value in parts.items()}
        outputs = one.get_concrete_function(first, weights, seed).structured_outputs
        totals = tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), outputs)

        def add(number, totals):
            micro = {name: value[number] for name, value in parts.items()}
            found = one(micro, weights, tf.random.experimental.stateless_fold_in(seed, number))
            return number + 1, tf.nest.map_structure(tf.add, totals, found)

        _, (gradients, loss, sums) = tf.while_loop(lambda number, _: number < count, add, [0, totals], maximum_iterations=count)
        # a constant, which must not be added up
        sums = {name: part._replace(epsilon=part.epsilon / count) for name, part in sums.items()}
        return gradients, loss, sums

    def _gradients(self, batch: Batch, weights: dict[str, tf.Tensor], seed: tf.Tensor):
        with tf.GradientTape() as tape:
            sums = self.objective.sums(self.model(batch, training=True, seed=seed), batch)
            loss = total_loss(sums, weights)
            scale = None if self._loss_scale is None else self._loss_scale.scale.value()
            scaled = loss if scale is None else loss * scale
        gradients = self.optimizer.gradients(tape, scaled)
        if scale is not None:
            gradients = {path: gradient / scale for path, gradient in gradients.items()}
        return gradients, loss, sums


def _clipped(gradients: dict[str, tf.Tensor]) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """Returns the gradients, by their common norm no longer than the optimizer takes them, and that norm before, float32[]."""
    clipped, norm = tf.clip_by_global_norm(list(gradients.values()), CLIP_NORM)
    return dict(zip(gradients, clipped)), norm


def _with_soundness(sums: Sums, loss: tf.Tensor, norm: tf.Tensor) -> Sums:
    """Returns the sums of a step, loss and gradient norm among them; of a step that is not sound, that it was one, and zeros."""
    sound = tf.math.is_finite(loss) & tf.math.is_finite(norm)
    one, none = tf.ones([]), tf.zeros([])
    sums = sums | {"loss": WeightedSum(loss, one, none), "gradient_norm": WeightedSum(norm, one, none)}
    kept = {name: WeightedSum(*(tf.where(sound, value, 0.0) for value in part[:2]), part.epsilon) for name, part in sums.items()}
    return kept | {USEFUL: sums[USEFUL], BAD: WeightedSum(tf.cast(~sound, tf.float32), one, none)}
