"""The first half of create_pretraining_data: text files -> a spool of ids, by all processes, each sentence tokenized once."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import tensorflow as tf
from absl import logging

from bert_tf.config import CreatePretrainingDataConfig
from bert_tf.data.block_tokenizer import BlockTokenizer
from bert_tf.data.progress import Progress
from bert_tf.data.spool import SpoolWriter
from bert_tf.data.text_blocks import TextBlock
from bert_tf.data.text_files import read_all_blocks, total_bytes
from bert_tf.data.text_form import TextForm
from bert_tf.data.workers import default_num_processes, run_in_order
from bert_tf.errors import InputError
from bert_tf.text.sentences import sentence_splitter
from bert_tf.workflows.pretraining_job import Job

# Text that one process has tokenized before others would have started TensorFlow.
WORTH_PROCESSES_BYTES = 64 << 20

# Above these shares a line warns that something is probably not as meant.
UNK_WARNING = 0.10
CJK_WARNING = 0.30

# A block takes up to so many times its size in text, sentences and ids while it is worked on, and waits before and after.
_BLOCK_SHARE = 32


def fill_spool(job: Job, folder: str) -> SpoolWriter:
    """Tokenizes what is not yet in the folder's spool and returns its writer, which is whole.

    Raises:
      InputError: A file that cannot be read, or is not what the flags say.
    """
    form, inputs, vocab, block_bytes = job.form, job.inputs, job.vocab, block_size(job.config)
    identity = [[_stamp(path) for path in inputs], vocab.sha256, job.do_lower_case, vars(form), block_bytes, job.stretch_pieces]
    writer = SpoolWriter(folder, identity, job.num_ids)
    if writer.is_whole:
        logging.info("%s: going on with the text that was tokenized before", folder)
        return writer
    if writer.num_blocks:
        logging.info("%s: going on with %d documents that were tokenized before", folder, writer.counts["documents"])
    num_bytes = total_bytes(inputs)
    num_processes = (job.config.num_processes or default_num_processes()) if num_bytes > WORTH_PROCESSES_BYTES else 1
    with Progress(num_bytes, "B", "tokenizing") as progress:
        blocks = read_all_blocks(inputs, block_bytes)
        for block in islice(blocks, writer.num_blocks):
            progress.advance(block.num_read)
        progress.start_clock()
        told, sent = _noted(blocks)
        for tokenized in run_in_order(BlockTokenizer, (vocab, job.do_lower_case, form), told, num_processes):
            path, num_read = sent.pop(0)
            writer.add(tokenized, path)
            progress.note(f"{writer.counts['documents']:,} documents")
            progress.advance(num_read)
    writer.finish(job.stretch_pieces)
    return writer


def text_form(config: CreatePretrainingDataConfig) -> TextForm:
    """Returns what the lines of the text are, by the flags; that a library to read them is not installed is told here, before any work."""
    form = TextForm(config.input_format, config.text_field, config.language if config.split_sentences else None, config.word_segments)
    if form.language:
        sentence_splitter(form.language)
    return form


def block_size(config: CreatePretrainingDataConfig) -> int:
    """Returns how many bytes of text make a block."""
    return (config.memory_per_process_mb << 20) // _BLOCK_SHARE


def check_text(counts: Mapping[str, int], inputs: Sequence[str], use_nsp: bool) -> None:
    """Raises InputError for text that no example can be made of."""
    where = inputs[0] if len(inputs) == 1 else f"{inputs[0]} and {len(inputs) - 1} more"
    if counts["documents"] == 0:
        raise InputError(f"--input_file: {where}: no sentence found; give text, one sentence a line, a blank line between documents")
    if counts["documents"] == 1 and use_nsp:
        raise InputError(
            f"--input_file: {where}: one document only, but a random next sentence comes from another document; "
            "put blank lines between documents, or give --use_nsp=false"
        )


def warn_of_text(counts: Mapping[str, int], sentences_of_file: Mapping[str, int], job: Job) -> None:
    """Warns of text that suits the vocabulary or the flags badly, and of files without any."""
    for path in job.inputs:
        if not sentences_of_file.get(path):
            logging.warning("%s holds no sentence", path)
    if unk_rate(counts) > UNK_WARNING:
        logging.warning(
            "%.0f %% of the text's pieces are [UNK]: %s does not suit this text; check --vocab_file and --do_lower_case, or learn a "
            "vocabulary with build_vocab",
            100 * unk_rate(counts),
            job.vocab.source,
        )
    if job.config.do_whole_word_mask and not job.config.word_segments:
        cjk_rate = counts["cjk"] / counts["tokens"]
        if cjk_rate > CJK_WARNING:
            logging.warning(
                "%.0f %% of the text's pieces are single Chinese characters, each a word to the tokenizer: do_whole_word_mask changes "
                "nothing for them; give text that is cut into words by spaces, and --word_segments",
                100 * cjk_rate,
            )


def unk_rate(counts: Mapping[str, int]) -> float:
    """Returns the share of the text's pieces that are [UNK]."""
    return round(counts["unknown"] / counts["tokens"], 6)


def _noted(blocks: Iterable[TextBlock]) -> tuple[Iterator[TextBlock], list[tuple[str, int]]]:
    """Returns the same blocks, and a list to which each adds its file and the bytes read for it when it is taken."""
    sent: list[tuple[str, int]] = []

    def taken() -> Iterator[TextBlock]:
        for block in blocks:
            sent.append((block.path, block.num_read))
            yield block

    return taken(), sent


def _stamp(path: str) -> tuple[str, int, int]:
    """Returns by what a file is known to be the same: name, size and time."""
    found = tf.io.gfile.stat(path)
    return (path if "://" in path else os.path.realpath(path)), found.length, found.mtime_nsec
