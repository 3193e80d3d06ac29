"""Feature-based tagging: the frozen encoder's vectors of every record's tokens, computed once, for all mixes, epochs and runs."""

import functools
import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from bert_tf.config import FinetuneConfig
from bert_tf.data import token_vectors
from bert_tf.data.progress import Progress
from bert_tf.data.records import RecordFile, parse_spec
from bert_tf.data.schema import RecordKind
from bert_tf.modeling.models import ENCODER_INPUTS
from bert_tf.tasks.features import Featurizer
from bert_tf.tasks.spec import Row
from bert_tf.workflows import examples
from bert_tf.workflows.epochs import batches_by_length
from bert_tf.workflows.training_run import TrainingRun

# Records that go through the encoder together: of no run's choice, so that the same bits come out.
_AT_ONCE = 32
# A name under which the files are found again: with another meaning of the bytes, another number.
_VERSION = 1

# What is asked of the encoder: its inputs, and at which places.
_INPUTS = (*ENCODER_INPUTS, "label_mask")

_Parsed = dict[str, np.ndarray]


def batches(
    config: FinetuneConfig,
    training: TrainingRun,
    split: str,
    rows: Sequence[Row],
    featurizer: Featurizer,
    kind: RecordKind,
    batch_size: int,
    num_steps: int | None = None,
) -> token_vectors.TokenVectorBatches:
    """Writes the split's features beside the run and returns batches of what the encoder says of their tokens, by number of tokens.

    With `num_steps` they are shuffled, epoch after epoch; without it they are gone through once.
    """
    path, lengths = examples.write(config, training, split, rows, featurizer, kind)
    file, encoder = RecordFile(path), training.model.encoder
    parse = functools.partial(_parsed, file, parse_spec(kind, featurizer.axes))
    counts = np.concatenate([part["label_mask"].sum(axis=1) for part in parse(1024)])
    name = f"token_vectors.{_key(encoder, parse)}.tf_record"
    cache = os.path.join(config.feature_cache_dir or training.folder, name)
    num_layers, hidden = encoder.config.num_hidden_layers + 1, encoder.config.hidden_size
    size = int(counts.sum()) * num_layers * hidden * 2 / 1e6
    if tf.io.gfile.exists(cache):
        logging.info("%s: the encoder's vectors of %d tokens are in %s", split, counts.sum(), cache)
    else:
        logging.info("%s: computing the encoder's vectors of %d tokens, once: %.0f MB in %s", split, counts.sum(), size, cache)
        token_vectors.write(cache, _vectors(encoder, parse(_AT_ONCE), len(file)))
    vectors = token_vectors.TokenVectors(cache, counts, num_layers, hidden)
    make = functools.partial(token_vectors.TokenVectorBatches, vectors=vectors, layers=training.model.layers_read)
    return batches_by_length(
        *(config, training, split, path, kind, lengths, batch_size, num_steps), axes=featurizer.axes, make=make, unit="tokens"
    )


def _parsed(file: RecordFile, spec: dict[str, Any], size: int) -> Iterator[_Parsed]:
    """Yields what the file's records hold, so many at once: int64[records, seq] by name."""
    for first in range(0, len(file), size):
        records = file.read(np.arange(first, min(first + size, len(file))))
        yield {name: value.numpy() for name, value in tf.io.parse_example(records, spec).items()}


def _key(encoder: keras.Model, parse) -> str:
    """Returns a hash of all that the vectors follow from: the encoder's weights, and the ids that it is asked about."""
    digest = hashlib.sha256(f"{_VERSION} {encoder.config.hidden_act} {encoder.config.num_attention_heads}".encode())
    for variable in sorted(encoder.weights, key=lambda variable: variable.path):
        digest.update(f"{variable.path} {tuple(variable.shape)}".encode())
        digest.update(np.ascontiguousarray(variable.numpy()).data)
    for part in parse(1024):
        for name in _INPUTS:
            digest.update(f"{name} {part[name].shape}".encode())
            digest.update(part[name].data)
    return digest.hexdigest()[:32]


def _vectors(encoder: keras.Model, parts: Iterator[_Parsed], num_records: int) -> Iterator[np.ndarray]:
    """Yields float32[layers, tokens, hidden] of each record, of the first pieces of its tokens."""

    @tf.function(input_signature=[{name: tf.TensorSpec([None, None], tf.int32) for name in _INPUTS}], autograph=False)
    def encode(batch):
        places = tf.where(batch["label_mask"] > 0)  # [tokens, 2], record by record
        return [tf.gather_nd(layer, places) for layer in encoder(batch)["all_layers"]]  # -> layers x [tokens, hidden]

    with Progress(num_records, "records", "the encoder's vectors") as progress:
        for part in parts:
            length = int(part["input_mask"].sum(axis=1).max())
            batch = {name: tf.constant(part[name][:, :length], tf.int32) for name in _INPUTS}
            layers = np.stack([layer.numpy() for layer in encode(batch)])
            yield from np.split(layers, np.cumsum(part["label_mask"].sum(axis=1))[:-1], axis=1)
            progress.advance(len(part["input_mask"]))
