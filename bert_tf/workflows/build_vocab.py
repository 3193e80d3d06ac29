"""Text files -> vocab.txt: counts the words of the basic tokenizer and learns WordPiece pieces from them."""

import time

from absl import logging

from bert_tf.config import BuildVocabConfig
from bert_tf.data.files import atomic_write, expand_patterns, output_files
from bert_tf.data.text_form import TextForm
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.vocab_learner import learn
from bert_tf.workflows.corpus_pass import count_words


def run(config: BuildVocabConfig) -> Vocabulary:
    """Writes the vocabulary, prints what came out and returns it.

    Raises:
      InputError: An input or output that cannot serve; then no file is left half-written.
    """
    begin = time.monotonic()
    inputs = expand_patterns(config.input_file, "input_file")
    (output,) = _one_output(output_files(config.output_file, "output_file", inputs))
    table = count_words(inputs, config.do_lower_case, TextForm(config.input_format, config.text_field), config.num_processes)
    words = table.counts
    if not words:
        where = inputs[0] if len(inputs) == 1 else f"{inputs[0]} and {len(inputs) - 1} more"
        raise InputError(f"--input_file: {where}: no word found; give text to learn from")
    learned = learn(
        words,
        config.vocab_size,
        min_count=config.min_count,
        character_coverage=config.character_coverage,
        num_unused=config.num_unused,
    )
    vocab = Vocabulary(learned.pieces, output)
    with atomic_write(output) as file:
        file.write(vocab.to_text())
    print(f"{table.total():,} words, {len(words):,} different, {time.monotonic() - begin:.0f} s")
    print(f"{len(vocab):,} pieces in {output}, {learned.num_alphabet:,} of them single characters")
    if table.num_forgotten:
        share = 100 * table.num_forgotten / table.total()
        logging.info("%.2f %% of the words were too rare to be kept in memory: nothing is learnt from them", share)
    if len(vocab) < config.vocab_size:
        logging.warning(
            "found %d pieces, not %d: no further pair of pieces was seen %d times; give more text, a lower --min_count or a smaller "
            "--vocab_size",
            len(vocab),
            config.vocab_size,
            config.min_count,
        )
    if learned.num_dropped_characters:
        text = "%s rare characters left out, %.4f%% of the text: their words become [UNK]"
        figures = (f"{learned.num_dropped_characters:,}", 100 * learned.dropped_rate)
        # at most what --character_coverage allows is as asked for; more is for want of room
        if learned.dropped_rate > 1 - config.character_coverage:
            logging.warning(f"{text}; give a larger --vocab_size", *figures)
        else:
            logging.info(text, *figures)
    return vocab


def _one_output(paths: list[str]) -> list[str]:
    if len(paths) > 1:
        raise InputError(f"--output_file: names {len(paths)} files; a vocabulary is one file")
    return paths
