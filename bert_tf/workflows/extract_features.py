"""Lines of text -> JSON lines of what some of the encoder's layers say of each piece: the paper's feature-based use (section 5.3).

Lines of about one length go through the encoder together, some hundreds at a time, and come out in the order of the file. How many is
bounded by the memory that their values take, so a file may be of any size.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from bert_tf.config import ExtractFeaturesConfig
from bert_tf.convert.load import load_weights
from bert_tf.data.buckets import BucketPlan, choose_lengths
from bert_tf.data.files import atomic_write, output_files
from bert_tf.data.progress import Progress
from bert_tf.data.text_files import read_lines
from bert_tf.errors import InputError
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.models import ENCODER_INPUTS
from bert_tf.text.pack import fits, pack
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.workflows import model_folder

_SEPARATOR = " ||| "

# Of the values of the lines that are batched by length together: some 20,000 pieces of BERT-base's four layers.
_VALUES_BYTES = 256 << 20

# int32[seq] each, padded to max_seq_length: input_ids, input_mask, segment_ids
Inputs = dict[str, list[int]]


def run(config: ExtractFeaturesConfig) -> dict[str, int]:
    """Writes the output file, prints what came out and returns the counts: lines, pieces, cut.

    Raises:
      InputError: A file, a line or a layer that cannot serve; then nothing is written.
    """
    outputs = output_files(config.output_file, "output_file", [config.input_file])
    if len(outputs) > 1:
        raise InputError(f"--output_file: names {len(outputs)} files; give one")
    model_folder.find_checkpoint(config.init_checkpoint)  # that there is none comes before that nothing lies beside it
    vocab, model_config = model_folder.vocabulary_and_config(
        config.init_checkpoint, config.vocab_file, config.bert_config_file, config.do_lower_case, config.max_seq_length
    )
    indexes = config.layer_indexes()
    check_layers(indexes, model_config.num_hidden_layers)
    num_lines = count_lines(config.input_file)
    encoder = BertEncoder(model_config)
    logging.info("%s", load_weights(encoder, config.init_checkpoint, config.allow_partial))
    outputs_of = layer_outputs(encoder, indexes)
    packer = LinePacker(WordPieceTokenizer(vocab, bool(model_config.do_lower_case)), config.max_seq_length)
    most_pieces = _VALUES_BYTES // (len(indexes) * model_config.hidden_size * np.dtype(np.float32).itemsize)
    num_pieces = number = 0
    with Progress(num_lines, "lines", "extracting features") as progress, atomic_write(outputs[0]) as file:
        for window in windows(map(packer, read_lines(config.input_file)), most_pieces, config.batch_size):
            for ids, values in by_length(window, config.batch_size, outputs_of, progress):
                file.write(json_line(number, [vocab.pieces[id] for id in ids], indexes, values))
                number += 1
                num_pieces += len(ids)
    if packer.num_cut:
        logging.warning("%d of %d lines do not fit into --max_seq_length=%d and were cut", packer.num_cut, number, config.max_seq_length)
    print(f"{number:,} lines, {num_pieces:,} pieces, in {outputs[0]}")
    return {"lines": number, "pieces": num_pieces, "cut": packer.num_cut}


def check_layers(indexes: Iterable[int], num_layers: int) -> None:
    """Raises InputError unless the model has all of these layers."""
    for index in indexes:
        if not -num_layers <= index < num_layers:
            raise InputError(
                f"--layers: {index} is none of the model's {num_layers} layers; give numbers from {-num_layers} to {num_layers - 1}"
            )


def count_lines(path: str) -> int:
    """Returns how many lines the file has; each is looked at, so that a bad one is told before hours of work, not after.

    Raises:
      InputError: The file has no line, or one without text.
    """
    number = 0
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            raise InputError(f"{path}, line {number}: is empty; give a text a line")
    if not number:
        raise InputError(f"{path}: is empty; give a text a line")
    return number


class LinePacker:
    """Makes the encoder's inputs of a line, and counts the lines that it had to cut.

    Attributes:
      num_cut: Number of lines so far that did not fit.
    """

    def __init__(self, tokenizer: WordPieceTokenizer, max_seq_length: int):
        self.num_cut = 0
        self._tokenizer, self._max_seq_length = tokenizer, max_seq_length

    def __call__(self, line: str) -> Inputs:
        """Returns the inputs for the line's text, or for its two; a second text without any piece is left out, as the original does."""
        first, separator, second = line.strip().rpartition(_SEPARATOR)
        ids_a = self._tokenizer.encode(first if separator else second)
        ids_b = (self._tokenizer.encode(second) if separator else None) or None
        self.num_cut += not fits(ids_a, ids_b, self._max_seq_length)
        return pack(ids_a, ids_b, self._max_seq_length, self._tokenizer.vocab)


def windows(lines: Iterable[Inputs], most_pieces: int, batch_size: int) -> Iterator[list[Inputs]]:
    """Yields the lines in stretches of full batches, each no longer than it takes to have `most_pieces`; the last is what is left."""
    window: list[Inputs] = []
    num_pieces = 0
    for inputs in lines:
        window.append(inputs)
        num_pieces += sum(inputs["input_mask"])
        if num_pieces >= most_pieces and len(window) % batch_size == 0:
            yield window
            window, num_pieces = [], 0
    if window:
        yield window


def by_length(
    window: Sequence[Inputs], batch_size: int, outputs_of: Callable[[dict[str, np.ndarray]], tf.Tensor], progress: Progress
) -> Iterator[tuple[list[int], np.ndarray]]:
    """Yields each line's ids, without padding, and its values float32[seq, layers, hidden], in the order of the lines.

    Args:
      window: The lines.
      batch_size: How many go through the encoder together: those of about one length, padded to that.
      outputs_of: What `layer_outputs` returns.
      progress: Is told of each batch.
    """
    columns = {name: np.array([inputs[name] for inputs in window], np.int32) for name in ENCODER_INPUTS}  # [lines, max_seq_length]
    lengths = columns["input_mask"].sum(axis=1, dtype=np.int64)
    plan = BucketPlan(lengths, choose_lengths(lengths, columns["input_mask"].shape[1]), batch_size)
    values: list[Any] = [None] * len(window)
    for step in range(plan.num_steps):
        places, length = plan.batch(step)
        outputs = outputs_of({name: column[places, :length] for name, column in columns.items()}).numpy()
        for place, output in zip(places, outputs):
            values[place] = output[: lengths[place]]
        progress.advance(len(places))
    for ids, length, value in zip(columns["input_ids"].tolist(), lengths, values):
        yield ids[:length], value


def layer_outputs(encoder: BertEncoder, indexes: Sequence[int]) -> Callable[[dict[str, np.ndarray]], tf.Tensor]:
    """Returns a function from a batch of encoder inputs, int32[batch, seq] each, to float32[batch, seq, layers, hidden].

    Args:
      encoder: The encoder.
      indexes: Of the layers, 0 the lowest one (not the embeddings) or -1 the highest.
    """

    @tf.function(input_signature=[{name: tf.TensorSpec([None, None], tf.int32) for name in ENCODER_INPUTS}], autograph=False)
    def outputs_of(inputs):
        layers = encoder(inputs)["all_layers"][1:]
        return tf.stack([layers[index] for index in indexes], axis=2)  # layers x [batch, seq, hidden] -> [batch, seq, layers, hidden]

    return outputs_of


def json_line(number: int, tokens: Sequence[str], indexes: Sequence[int], values: np.ndarray) -> str:
    """Returns the line of the output file, as the original writes it: values rounded to six decimals.

    Args:
      number: The line's number, from 0.
      tokens: Its pieces.
      indexes: Of the layers.
      values: float32[seq, layers, hidden].
    """
    # the same as round(float(x), 6): a float32 times a million is exact in float64
    rounded = np.round(values.astype(np.float64), 6).tolist()
    features = [
        {"token": token, "layers": [{"index": index, "values": layer} for index, layer in zip(indexes, layers)]}
        for token, layers in zip(tokens, rounded)
    ]
    return json.dumps({"linex_index": number, "features": features}) + "\n"
