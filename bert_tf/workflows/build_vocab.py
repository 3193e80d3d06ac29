"""Text files -> vocab.txt: counts the words of the basic tokenizer and learns WordPiece pieces from them."""

import time
from collections import Counter

from absl import logging

from bert_tf.config import BuildVocabConfig
from bert_tf.data.files import atomic_write, expand_patterns, output_files
from bert_tf.data.progress import Progress
from bert_tf.data.text_files import read_lines, total_bytes
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.vocab_learner import learn, special_pieces
from bert_tf.text.wordpiece import WordPieceTokenizer


def run(config: BuildVocabConfig) -> Vocabulary:
    """Writes the vocabulary, prints what came out and returns it.

    Raises:
      InputError: An input or output that cannot serve; then no file is left half-written.
    """
    begin = time.monotonic()
    inputs = expand_patterns(config.input_file, "input_file")
    (output,) = _one_output(output_files(config.output_file, "output_file", inputs))
    words = count_words(inputs, config.do_lower_case)
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
    print(f"{words.total():,} words, {len(words):,} different, {time.monotonic() - begin:.0f} s")
    print(f"{len(vocab):,} pieces in {output}, {learned.num_alphabet:,} of them single characters")
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


def count_words(paths: list[str], do_lower_case: bool) -> Counter[str]:
    """Returns how often each word of the files was seen; words as the basic tokenizer cuts them."""
    # A word is cut out of what stands between spaces, so each such string needs to be looked into only once.
    strings: Counter[str] = Counter()
    with Progress(total_bytes(paths), "B", "counting words") as progress:
        for path in paths:
            for line in read_lines(path, progress.advance):
                strings.update(line.split(" "))
                progress.note(f"{len(strings):,} different")
    tokenizer = WordPieceTokenizer(Vocabulary(special_pieces()), do_lower_case)
    words: Counter[str] = Counter()
    for string, count in strings.items():
        for word in tokenizer.basic_words(string):
            words[word] += count
    return words


def _one_output(paths: list[str]) -> list[str]:
    if len(paths) > 1:
        raise InputError(f"--output_file: names {len(paths)} files; a vocabulary is one file")
    return paths
