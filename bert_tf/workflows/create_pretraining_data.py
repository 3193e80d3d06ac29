"""Documents -> masked examples: TFRecords as google-research/bert writes them, and a manifest beside each file.

With --masking=dynamic and --objective=next_token the examples are written unmasked.

In two halves, each done by all processes, each going on where a killed one was: the text is tokenized once, into a spool on disk
(`pretraining_text.py`), then examples are made from it (`pretraining_records.py`). Neither holds more than a few blocks of text or
parts of the examples in memory, however large the corpus is. The bytes written are the same for any number of processes.
"""

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import filelock
from absl import logging

from bert_tf.config import CreatePretrainingDataConfig, mask_shares, to_dict
from bert_tf.data.files import expand_patterns, make_folder, output_files
from bert_tf.data.ledger import remove_folder
from bert_tf.data.manifest import manifest_path, remove_manifests, write_manifests
from bert_tf.data.schema import pretraining_kind
from bert_tf.data.spool import SpoolWriter
from bert_tf.data.workers import default_num_processes
from bert_tf.errors import InputError, WorkerDied
from bert_tf.pretraining.masking import MaskingRules, predictions_advice
from bert_tf.pretraining.parts import ExampleRules, PartPlan
from bert_tf.text.casing import resolve_do_lower_case
from bert_tf.text.vocab import Vocabulary
from bert_tf.workflows.model_folder import read_vocab, recorded_casing
from bert_tf.workflows.pretraining_records import RecordsFolder, write_parts
from bert_tf.workflows.pretraining_text import fill_spool, text_form

# Above these shares a line warns that something is probably not as meant.
UNK_WARNING = 0.10
CJK_WARNING = 0.30
RANDOM_NEXT_WARNING = 0.55
# Below this part of the masks that are asked for a line warns, where words were given.
FEW_MASKS_WARNING = 0.5

# A part's examples and their bytes take half of that many bytes a piece while it is made; and small parts share out evenly.
_BYTES_A_PIECE = 64
# A long document is cut, so that parts come out of about one size.
_STRETCHES_A_PART = 8


def run(config: CreatePretrainingDataConfig) -> dict[str, Any]:
    """Writes the records and their manifests, prints what came out and returns the manifests' common content.

    Raises:
      InputError: An input, output or vocabulary that cannot serve; then no file is left half-written.
    """
    begin = time.monotonic()
    inputs = expand_patterns(config.input_file, "input_file")
    outputs = output_files(config.output_file, "output_file", [*inputs, config.vocab_file])
    output_files(",".join([*outputs, *map(manifest_path, outputs)]), "output_file", [*inputs, config.vocab_file])
    vocab = read_vocab(config.vocab_file)
    recorded, source = recorded_casing(config.vocab_file)
    do_lower_case = resolve_do_lower_case(config.do_lower_case, vocab, recorded, source)
    rules, form = _rules(config, vocab), text_form(config)
    _warn_of_flags(config)

    with _work_folder(config.work_dir, outputs[0]) as folder:
        part_pieces = (config.memory_per_process_mb << 20) // _BYTES_A_PIECE
        spool_folder = os.path.join(folder, "text")
        text = fill_spool(config, form, inputs, vocab, do_lower_case, spool_folder, part_pieces // _STRETCHES_A_PART)
        _check_text(text, inputs, config)
        unk_rate = _warn_of_text(text, vocab, config)
        plan = PartPlan.of_size(text.num_stretches, text.counts["tokens"], config.dupe_factor, part_pieces, config.random_seed)
        records = RecordsFolder(os.path.join(folder, "records"), _identity(config, text, vocab), outputs, config.max_seq_length)
        num_processes = config.num_processes or default_num_processes()
        write_parts(records, spool_folder, form.num_ids(len(vocab)), plan, rules, len(outputs), config.compress, num_processes)
        if records.tally.examples < len(outputs):
            raise InputError(f"--output_file: names {len(outputs)} files for {records.tally.examples} examples; name fewer")
        content = {
            "kind": pretraining_kind(config.objective, config.is_masked, config.word_segments).name,
            "flags": to_dict(config),
            "vocabulary": {"path": config.vocab_file, "sha256": vocab.sha256, "size": len(vocab), "do_lower_case": do_lower_case},
            "counts": {
                "input_files": len(inputs),
                **{name: text.counts[name] for name in ("documents", "sentences", "tokens")},
                "examples": records.tally.examples,
            },
            "observed": records.tally.rates(config.use_nsp, config.is_masked) | {"unk_rate": unk_rate},
        }
        remove_manifests(outputs)
        records.move_out()
        write_manifests(outputs, records.counts(), content)
    _report(content, config, outputs, time.monotonic() - begin)
    return content


def _rules(config: CreatePretrainingDataConfig, vocab: Vocabulary) -> ExampleRules:
    masking = MaskingRules.of_vocabulary(
        vocab,
        config.masked_lm_prob,
        config.max_predictions_per_seq,
        mask_shares(config.mask_mix),
        config.do_whole_word_mask,
        config.max_ngram,
        config.word_segments,
    )
    return ExampleRules(
        masking,
        config.max_seq_length,
        config.short_seq_prob,
        config.use_nsp,
        config.random_seed,
        config.is_masked,
        config.objective,
    )


@contextlib.contextmanager
def _work_folder(work_dir: str | None, output: str) -> Iterator[str]:
    """Yields the folder of what is unfinished, which is removed when all is done, or when the user has something to mend.

    What else ends the run leaves it, for the next one to go on from.

    Raises:
      InputError: Another run works in it.
    """
    name = os.path.basename(output)
    if "://" in output:  # there may be others of this name elsewhere
        name = f"{name}-{hashlib.sha256(output.encode()).hexdigest()[:16]}"
    beside = tempfile.gettempdir() if "://" in output else os.path.dirname(output)
    folder = os.path.join(work_dir or beside, f"{name}.work")
    existed = os.path.isdir(folder)
    make_folder(folder)
    lock = filelock.FileLock(os.path.join(folder, "lock"), timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise InputError(f"{folder}: another run is making these records; wait until it ends, or give another --output_file") from None
    if existed:
        logging.info("%s: going on with what an earlier run left", folder)
    is_needed = True
    try:
        yield folder
        is_needed = False
    except InputError as error:
        is_needed = isinstance(error, WorkerDied)
        raise
    finally:
        lock.release()
        if not is_needed:
            remove_folder(folder)


def _identity(config: CreatePretrainingDataConfig, text: SpoolWriter, vocab: Vocabulary) -> dict[str, Any]:
    """Returns what makes two runs' records the same, beside the text: JSON."""
    flags = {name: value for name, value in to_dict(config).items() if name not in ("num_processes", "work_dir")}
    return flags | {"vocab_sha256": vocab.sha256, "text": text.identity}


def _check_text(text: SpoolWriter, paths: list[str], config: CreatePretrainingDataConfig) -> None:
    where = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    if text.counts["documents"] == 0:
        raise InputError(f"--input_file: {where}: no sentence found; give text, one sentence a line, a blank line between documents")
    if text.counts["documents"] == 1 and config.use_nsp:
        raise InputError(
            f"--input_file: {where}: one document only, but a random next sentence comes from another document; "
            "put blank lines between documents, or give --use_nsp=false"
        )
    for path in paths:
        if not text.sentences_of_file.get(path):
            logging.warning("%s holds no sentence", path)


def _warn_of_flags(config: CreatePretrainingDataConfig) -> None:
    if config.is_masked:
        advice = predictions_advice(config.max_seq_length, config.masked_lm_prob, config.max_predictions_per_seq)
        if advice is not None:
            logging.warning("%s", advice)
    elif config.objective == "next_token":
        if config.dupe_factor > 1:
            logging.warning("dupe_factor is %d: further passes of next_token hold the same text, cut elsewhere", config.dupe_factor)
    elif config.dupe_factor > 1:
        logging.warning(
            "dupe_factor is %d, but with --masking=dynamic one pass has new masks in every epoch: further ones give new pairs only, at as "
            "many times the disk",
            config.dupe_factor,
        )


def _warn_of_text(text: SpoolWriter, vocab: Vocabulary, config: CreatePretrainingDataConfig) -> float:
    """Warns of text that suits the vocabulary or the flags badly; returns the share of pieces that are [UNK]."""
    unk_rate = text.counts["unknown"] / text.counts["tokens"]
    if unk_rate > UNK_WARNING:
        logging.warning(
            "%.0f %% of the text's pieces are [UNK]: %s does not suit this text; check --vocab_file and --do_lower_case, or learn a "
            "vocabulary with build_vocab",
            100 * unk_rate,
            vocab.source,
        )
    if config.do_whole_word_mask and not config.word_segments:
        cjk_rate = text.counts["cjk"] / text.counts["tokens"]
        if cjk_rate > CJK_WARNING:
            logging.warning(
                "%.0f %% of the text's pieces are single Chinese characters, each a word to the tokenizer: do_whole_word_mask changes "
                "nothing for them; give text that is cut into words by spaces, and --word_segments",
                100 * cjk_rate,
            )
    return round(unk_rate, 6)


def _report(content: dict[str, Any], config: CreatePretrainingDataConfig, outputs: list[str], secs: float) -> None:
    counts, observed = content["counts"], content["observed"]
    files = outputs[0] if len(outputs) == 1 else f"{outputs[0]} and {len(outputs) - 1} more"
    text = f"{counts['documents']:,} documents, {counts['sentences']:,} sentences, {counts['tokens']:,} pieces"
    print(f"{text}, {observed['unk_rate']:.2%} [UNK]")
    print(f"{counts['examples']:,} examples in {files}, {secs:.0f} s")
    share = observed["random_next_share"]
    pairs = "no next sentences" if share is None else f"{share:.1%} with a random next sentence"
    masks = "masks to be drawn in training" if config.objective == "masked_lm" else "for a left-to-right model, nothing masked"
    if observed["mask_mix"] is not None:
        mix = "/".join(f"{100 * share:.1f}" for share in observed["mask_mix"])
        masks = f"masked {observed['mask_rate']:.1%} of the pieces ({mix} % [MASK]/same/random)"
    print(f"{masks}, {pairs}, {observed['short_share']:.1%} short, {observed['padding_rate']:.1%} padding")
    if share is not None and share > RANDOM_NEXT_WARNING:
        logging.warning(
            "%.0f %% of the next sentences are random, not half: most documents have one sentence only; give one sentence a line and a "
            "blank line between documents, not between sentences",
            100 * share,
        )
    wanted = min(config.masked_lm_prob, config.max_predictions_per_seq / config.max_seq_length)
    if config.word_segments and config.is_masked and observed["mask_rate"] < wanted * FEW_MASKS_WARNING:
        logging.warning(
            "%.1f %% of the pieces are masked, not %.1f %%: most words are longer than what an example may mask; is the text cut into "
            "words by spaces, as --word_segments says?",
            100 * observed["mask_rate"],
            100 * wanted,
        )
