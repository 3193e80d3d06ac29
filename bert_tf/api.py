"""The notebook's door: a tokenizer and an encoder from a path, without flags.

Example:
  tokenizer = bert_tf.load_tokenizer("uncased_L-12_H-768_A-12")
  encoder = bert_tf.load_encoder("uncased_L-12_H-768_A-12")
  vocab = tokenizer.vocab
  ids = np.array([[vocab.cls_id, *tokenizer.encode("The sky is blue."), vocab.sep_id]])
  outputs = encoder({"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)})
  outputs["pooled_output"]  # float32[1, 768]
"""

import os

import keras

from bert_tf.convert.load import load_weights
from bert_tf.errors import InputError
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.models import ENCODER_INPUTS
from bert_tf.text.casing import resolve_do_lower_case
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.workflows import model_folder


def load_tokenizer(path: str | os.PathLike[str], do_lower_case: bool | None = None) -> WordPieceTokenizer:
    """Returns the tokenizer of the model that the path means.

    Args:
      path: A run directory of this project, the prefix of a TF1 checkpoint or its directory, a Hugging Face directory, or a vocab.txt.
      do_lower_case: Whether to lower-case. By default what the model's folder records, else what the vocabulary looks like.

    Raises:
      InputError: No vocabulary is found, or the casing contradicts the model.
    """
    vocab_file = model_folder.find_vocab(path)
    if vocab_file is None:
        raise InputError(f"{os.fspath(path)}: no vocab.txt in this model's folder; give the path of the vocabulary itself")
    vocab = model_folder.read_vocab(vocab_file)
    recorded, source = model_folder.recorded_casing(vocab_file)
    return WordPieceTokenizer(vocab, resolve_do_lower_case(do_lower_case, vocab, recorded, source))


def load_encoder(path: str | os.PathLike[str], allow_partial: bool = False) -> keras.Model:
    """Returns the encoder of the model that the path means, with its weights, and prints which variables were read.

    Args:
      path: A run directory of this project, the prefix of a TF1 checkpoint or its directory, or a Hugging Face directory.
      allow_partial: Whether the checkpoint may lack some of the encoder's variables, which then have random values.

    Returns:
      A Keras model from a dict of input_ids, input_mask and segment_ids, int32[batch, seq], to a dict of sequence_output
      float32[batch, seq, hidden] and pooled_output float32[batch, hidden]. The outputs of all layers come from the encoder inside:
      `model.get_layer("bert")(inputs)["all_layers"]`.

    Raises:
      InputError: Nothing fit to read is there, or a variable is missing or has another shape.
    """
    config = model_folder.read_config(model_folder.find_config(path))
    vocab_file = model_folder.find_vocab(path)
    if vocab_file is not None:
        model_folder.check_fits(config, model_folder.read_vocab(vocab_file))
    encoder = BertEncoder(config)
    print(load_weights(encoder, path, allow_partial=allow_partial))
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in ENCODER_INPUTS}
    outputs = encoder(inputs)
    return keras.Model(inputs, {name: outputs[name] for name in ("sequence_output", "pooled_output")}, name="encoder")
