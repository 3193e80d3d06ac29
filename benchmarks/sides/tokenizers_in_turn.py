"""One tokenizer on the lines of a file, on one core."""

import json
import sys
import time
from collections.abc import Callable
from itertools import islice, pairwise

from benchmarks.rounds import serve
from bert_tf.data.text_files import read_lines
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.workflows.model_folder import read_vocab

# A function from lines to whatever the library gives, and one that makes lists of ids out of that, which is not timed.
Tokenizer = tuple[Callable, Callable]


def bert_tf_fast(vocab_file: str, lower: bool) -> Tokenizer:
    """Ours."""
    from bert_tf.text.wordpiece_fast import FastTokenizer

    def lists(found):
        ids, splits = found
        return [ids[begin:end].tolist() for begin, end in pairwise(splits)]

    return FastTokenizer(read_vocab(vocab_file), lower).encode_batch, lists


def bert_tf_python(vocab_file: str, lower: bool) -> Tokenizer:
    """Our reference, with nothing remembered from the round before."""
    vocab = read_vocab(vocab_file)
    return lambda lines: list(map(WordPieceTokenizer(vocab, lower).encode, lines)), list


def tensorflow_text(vocab_file: str, lower: bool) -> Tokenizer:
    """Its fastest, with its limit of 100 bytes a word lifted to the original's 200 characters."""
    import tensorflow as tf
    import tensorflow_text as tf_text

    pieces = list(read_vocab(vocab_file).pieces)
    tokenizer = tf_text.FastBertTokenizer(pieces, max_bytes_per_word=200, token_out_type=tf.int32, lower_case_nfd_strip_accents=lower)
    return lambda lines: tokenizer.tokenize(tf.constant(lines)), lambda found: found.to_list()


def tokenizers(vocab_file: str, lower: bool) -> Tokenizer:
    """Hugging Face's, in Rust."""
    import tokenizers

    tokenizer = tokenizers.BertWordPieceTokenizer(vocab_file, lowercase=lower)

    def encode(lines):
        return tokenizer.encode_batch(lines, add_special_tokens=False)

    return encode, lambda found: [line.ids for line in found]


def transformers(vocab_file: str, lower: bool) -> Tokenizer:
    """Its BertTokenizer in plain Python, which version 5 calls the legacy one."""
    try:
        from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy as BertTokenizer
    except ImportError:
        from transformers import BertTokenizer

    tokenizer = BertTokenizer(vocab_file, do_lower_case=lower)
    return lambda lines: tokenizer(lines, add_special_tokens=False)["input_ids"], list


def keras_hub(vocab_file: str, lower: bool) -> Tokenizer:
    """Its BertTokenizer, which runs on tensorflow-text."""
    import keras_hub
    import tensorflow as tf

    tokenizer = keras_hub.models.BertTokenizer(vocabulary=vocab_file, lowercase=lower)
    return lambda lines: tokenizer(tf.constant(lines)), lambda found: found if isinstance(found, list) else found.to_list()


SIDES = {
    "bert_tf fast": bert_tf_fast,
    "bert_tf python": bert_tf_python,
    "tensorflow-text": tensorflow_text,
    "tokenizers": tokenizers,
    "transformers": transformers,
    "keras-hub": keras_hub,
}


def main():
    """Serves rounds over the whole text."""
    options = json.loads(sys.argv[1])
    size, lines = 0, []
    for line in islice(filter(str.strip, read_lines(options["input_file"])), 1_000_000):
        lines.append(line)
        size += len(line.encode("utf-8"))
        if size >= options["bytes"]:
            break
    tokenize, lists = SIDES[options["side"]](options["vocab_file"], options["lower"])
    reference = WordPieceTokenizer(read_vocab(options["vocab_file"]), options["lower"])
    different = sum(found != reference.encode(line) for line, found in zip(lines, lists(tokenize(lines)), strict=True))

    def run():
        started = time.perf_counter()
        tokenize(lines)
        return {"megabytes_per_second": size / 1e6 / (time.perf_counter() - started), "share_different": different / len(lines)}

    serve(lambda: None, run)


if __name__ == "__main__":
    main()
