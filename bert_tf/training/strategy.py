"""Devices and randomness, set once before anything is built, and how batches reach the devices."""

import json
import os
from collections.abc import Iterable

import keras
import tensorflow as tf
from absl import logging

from bert_tf.config import TrainingConfig
from bert_tf.data.batches import Batches, Shares
from bert_tf.errors import InputError, one_line

_NVIDIA_DEVICE = "/dev/nvidia0"


def set_up(config: TrainingConfig) -> None:
    """Seeds every generator and, where asked for, makes TensorFlow's operations deterministic."""
    keras.utils.set_random_seed(config.random_seed)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()


def connect(config: TrainingConfig) -> tf.distribute.Strategy:
    """Returns the devices that the config asks for; variables created in its scope live on all of them.

    Raises:
      InputError: Devices that are not there, or that the batch does not divide among.
    """
    kind = _kind(config)
    strategy = {"tpu": _connect_tpu, "multi_worker": _connect_workers, "mirrored": _connect_mirrored}.get(kind, _one_device)(config)
    replicas = strategy.num_replicas_in_sync
    for name, parts in (("train_batch_size", replicas * config.gradient_accumulation_steps), ("eval_batch_size", replicas)):
        if getattr(config, name) % parts:
            of = "1 device" if replicas == 1 else f"{replicas} devices"
            of += f" x {config.gradient_accumulation_steps} gradient_accumulation_steps" if parts != replicas else ""
            raise InputError(
                f"{name} is {getattr(config, name)}, which cannot be cut into {parts} equal parts ({of}); give a multiple of {parts}"
            )
    return strategy


def _kind(config: TrainingConfig) -> str:
    if config.distribution != "auto":
        return config.distribution
    if config.use_tpu:
        return "tpu"
    if _cluster():
        return "multi_worker"
    return "mirrored" if len(tf.config.list_logical_devices("GPU")) > 1 else "one_device"


def _cluster() -> dict:
    """Returns the cluster that TF_CONFIG describes, or an empty one."""
    try:
        return dict(json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {}))
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"TF_CONFIG is {os.environ['TF_CONFIG']!r}, no JSON object with a cluster; see docs/multi_gpu.md") from error


def _one_device(config: TrainingConfig) -> tf.distribute.Strategy:
    del config
    return tf.distribute.get_strategy()


def _connect_mirrored(config: TrainingConfig) -> tf.distribute.Strategy:
    del config
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    if len(devices) < 2:
        raise InputError(f"distribution is mirrored, but there is one device only ({device()}); leave the flag out")
    return tf.distribute.MirroredStrategy([each.name for each in devices])


def _connect_workers(config: TrainingConfig) -> tf.distribute.Strategy:
    del config
    if not _cluster().get("worker"):
        raise InputError("distribution is multi_worker, but TF_CONFIG names no workers; see docs/multi_gpu.md")
    return tf.distribute.MultiWorkerMirroredStrategy()


def _connect_tpu(config: TrainingConfig) -> tf.distribute.Strategy:
    remote = config.tpu_name not in (None, "local")
    for name in ("output_dir", "input_file", "data_dir", "init_checkpoint", "continue_from", "eval_input_file"):
        value = getattr(config, name, None)
        if value is not None and remote and not all(part.startswith("gs://") for part in value.split(",")):
            raise InputError(
                f"{name} is {value!r}, but a TPU reads and writes Cloud Storage only; give a gs:// path, in a bucket that the TPU's "
                "service account may use"
            )
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=config.tpu_name or "local", zone=config.tpu_zone, project=config.gcp_project
        )
        if remote:
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, tf.errors.OpError, RuntimeError) as error:
        raise InputError(
            f"the TPU {config.tpu_name or 'of this machine'} cannot be reached ({one_line(error)[:200]}); check --tpu_name, --tpu_zone and "
            "--gcp_project, and that it is running"
        ) from error
    return tf.distribute.TPUStrategy(resolver)


def distributed(strategy: tf.distribute.Strategy, batches: Batches, first_step: int, num_steps: int) -> Iterable:
    """Returns the batches of these steps, each in equal parts over the strategy's replicas."""

    def shares_of(context: tf.distribute.InputContext) -> tf.data.Dataset:
        local = context.num_replicas_in_sync // context.num_input_pipelines
        return batches.dataset(first_step, num_steps, Shares(context.input_pipeline_id * local, local, context.num_replicas_in_sync))

    return strategy.distribute_datasets_from_function(shares_of)


def is_tpu(strategy: tf.distribute.Strategy) -> bool:
    """Returns whether the devices are a TPU's: compiled for one shape, and blind to files that are not in Cloud Storage."""
    return isinstance(strategy, tf.distribute.TPUStrategy)


def is_cpu(strategy: tf.distribute.Strategy) -> bool:
    """Returns whether training runs on processors alone."""
    return not is_tpu(strategy) and not tf.config.list_physical_devices("GPU")


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Returns whether this process is the one of all workers that writes the run's files."""
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return True
    resolver = strategy.cluster_resolver
    has_chief = "chief" in resolver.cluster_spec().jobs
    return resolver.task_type == "chief" or (not has_chief and resolver.task_id == 0)


class Agreement:
    """What all workers decide together, so that every one of them runs the same steps in the same calls."""

    def __init__(self, strategy: tf.distribute.Strategy):
        """Takes the devices of all workers."""
        self._strategy = strategy
        self._alone = not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)

    def __call__(self, *values: float) -> list[float]:
        """Returns the mean of each value over the workers."""
        if self._alone:
            return list(values)
        return [float(value) for value in self._mean(tf.constant(values, tf.float32))]

    @tf.function(autograph=False)
    def _mean(self, values: tf.Tensor) -> tf.Tensor:
        def in_replica(own):
            # on the replica's device: an all-reduce asks where its values are
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, tf.identity(own))

        return self._strategy.experimental_local_results(self._strategy.run(in_replica, args=(values,)))[0]


def describe(strategy: tf.distribute.Strategy) -> str:
    """Returns what training runs on, in words."""
    replicas = strategy.num_replicas_in_sync
    if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return f"{replicas} devices of all workers ({device()} here)"
    if is_tpu(strategy):
        return f"a TPU with {replicas} cores"
    return device() if replicas == 1 else f"{replicas} devices ({device()})"


def device() -> str:
    """Returns what training runs on, in words."""
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        if os.path.exists(_NVIDIA_DEVICE):
            logging.warning(
                "there is an NVIDIA GPU that TensorFlow cannot use: pip install 'tensorflow[and-cuda]'; TF_CPP_MIN_LOG_LEVEL=0 shows "
                "what is missing"
            )
        return "the CPU"
    return tf.config.experimental.get_device_details(gpus[0]).get("device_name", "a GPU")
