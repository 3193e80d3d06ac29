"""A model and words -> the model with the words in its vocabulary: vocab.txt, bert_config.json and a checkpoint."""

import dataclasses
import os

import tensorflow as tf
from absl import logging

from bert_tf.config import ExtendVocabConfig
from bert_tf.convert.files import find_checkpoint
from bert_tf.convert.load import open_source
from bert_tf.convert.longer_vocabulary import with_new_rows
from bert_tf.data.files import atomic_write, expand_patterns, make_folder, remove_quietly
from bert_tf.data.text_files import read_lines
from bert_tf.data.text_form import TextForm
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.vocab_extension import Extension, choose_words, extend, parse_words
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.training.checkpoints import GLOBAL_STEP, Checkpoints, checkpoint_steps
from bert_tf.workflows.corpus_pass import count_words
from bert_tf.workflows.model_folder import CONFIG_NAME, VOCAB_NAME, vocabulary_and_config
from bert_tf.workflows.run_directory import RECORD

# The words that were added, with their ids and the pieces that they replace, tab-separated.
ADDED_WORDS_NAME = "added_words.tsv"


def run(config: ExtendVocabConfig) -> Extension:
    """Writes the longer model into output_dir, tells what came out and returns the vocabulary's extension.

    Raises:
      InputError: A model, words or a place that cannot serve; then nothing is written.
    """
    _check_output(config)
    vocab, model_config = vocabulary_and_config(config.init_checkpoint, config.vocab_file, config.bert_config_file, config.do_lower_case)
    lower = bool(model_config.do_lower_case)
    source = open_source(config.init_checkpoint)
    extension = extend(vocab, _words(config, vocab, lower), lower, config.use_unused_slots)
    longer = dataclasses.replace(model_config, vocab_size=max(model_config.vocab_size, len(extension.vocab)))
    replaced = {word.id: word.replaced for word in extension.added}
    arrays = dict(with_new_rows(source, model_config, longer.vocab_size, replaced))
    for name in source.unclaimed:
        logging.warning("%s: %s is no variable of BERT's; it is left out", source.path, name)

    make_folder(config.output_dir)
    # first, and written last: without a checkpoint the folder is no model
    remove_quietly(os.path.join(config.output_dir, "model.ckpt-0.index"))
    files = {
        VOCAB_NAME: extension.vocab.to_text(),
        CONFIG_NAME: longer.to_json(),
        ADDED_WORDS_NAME: "".join(f"{word.word}\t{word.id}\t{_spelled(vocab, word.replaced)}\n" for word in extension.added),
    }
    for name, text in files.items():
        with atomic_write(os.path.join(config.output_dir, name)) as file:
            file.write(text)
    variables = {name: tf.Variable(array) for name, array in arrays.items()} | {GLOBAL_STEP: tf.Variable(0, dtype=tf.int64)}
    prefix = Checkpoints(config.output_dir, variables, keep=1).save(0)
    print(f"{len(extension.added):,} words added, {extension.num_in_slots:,} of them in [unusedN] slots")
    print(f"{len(extension.vocab):,} pieces; the model is {prefix}")
    return extension


def _words(config: ExtendVocabConfig, vocab: Vocabulary, do_lower_case: bool) -> list[str]:
    """Returns the words to add, none of which is a piece."""
    tokenizer = WordPieceTokenizer(vocab, do_lower_case)
    if config.words_file is not None:
        lines = list(read_lines(config.words_file))
        words = parse_words(lines, tokenizer, config.words_file)
        num_known = len({line.strip() for line in lines} - {""}) - len(words)
        if num_known:
            logging.info("%d words of %s are pieces already", num_known, config.words_file)
        if not words:
            raise InputError(f"{config.words_file}: every word is a piece of {vocab.source} already; there is nothing to add")
        return words
    assert config.input_file is not None and config.num_words is not None
    inputs = expand_patterns(config.input_file, "input_file")
    form = TextForm(config.input_format, config.text_field)
    counts = count_words(inputs, do_lower_case, form, config.num_processes).counts
    words = choose_words(counts, config.num_words, tokenizer)
    if not words:
        raise InputError(f"--input_file: {config.input_file}: holds no word that is not a piece already; give text of the domain")
    if len(words) < config.num_words:
        logging.warning("found %d words that are no pieces yet, not %d", len(words), config.num_words)
    return words


def _check_output(config: ExtendVocabConfig) -> None:
    """Refuses a folder in which something else would be overwritten."""
    folder = find_checkpoint(config.init_checkpoint).folder
    if os.path.realpath(folder or ".") == os.path.realpath(config.output_dir):
        raise InputError(f"output_dir is {config.output_dir}, where the model itself lies; give another")
    if not tf.io.gfile.exists(config.output_dir):
        return
    if not tf.io.gfile.isdir(config.output_dir):
        raise InputError(f"output_dir is {config.output_dir}, a file; give a folder")
    is_run = tf.io.gfile.exists(os.path.join(config.output_dir, RECORD))
    if is_run or checkpoint_steps(config.output_dir) not in ([], [0]):
        raise InputError(f"output_dir is {config.output_dir}, which holds a training run; give another")


def _spelled(vocab: Vocabulary, ids: tuple[int, ...]) -> str:
    return " ".join(vocab.pieces[id] for id in ids)
