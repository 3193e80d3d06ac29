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
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
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
from bert_tf.pretraining.parts import ExampleRules
from bert_tf.startup import without_startup_chatter
from bert_tf.text.casing import resolve_do_lower_case
from bert_tf.text.vocab import Vocabulary
from bert_tf.workflows.model_folder import read_vocab, recorded_casing
from bert_tf.workflows.pretraining_job import Job, Made
from bert_tf.workflows.pretraining_records import RecordsFolder, write_parts
from bert_tf.workflows.pretraining_text import check_text, fill_spool, text_form, unk_rate, warn_of_text

# Above this share a line warns that something is probably not as meant.
RANDOM_NEXT_WARNING = 0.55
# Below this part of the masks that are asked for a line warns, where words were given.
FEW_MASKS_WARNING = 0.5


def run(config: CreatePretrainingDataConfig) -> dict[str, Any]:
    """Writes the records and their manifests, prints what came out and returns the manifests' common content.

    Raises:
      InputError: An input, output or vocabulary that cannot serve; then no file is left half-written.
    """
    begin = time.monotonic()
    job = _checked(config)
    outputs, vocab = job.outputs, job.vocab
    _warn_of_flags(config)
    with _engine(config.engine)(job) as made:
        if made.tally.examples < len(outputs):
            raise InputError(f"--output_file: names {len(outputs)} files for {made.tally.examples} examples; name fewer")
        content = {
            "kind": pretraining_kind(config.objective, config.is_masked, config.word_segments).name,
            "flags": to_dict(config),
            "vocabulary": {"path": config.vocab_file, "sha256": vocab.sha256, "size": len(vocab), "do_lower_case": job.do_lower_case},
            "counts": {
                "input_files": len(job.inputs),
                **{name: made.counts[name] for name in ("documents", "sentences", "tokens")},
                "examples": made.tally.examples,
            },
            "observed": made.tally.rates(config.use_nsp, config.is_masked) | {"unk_rate": unk_rate(made.counts)},
        }
        remove_manifests(outputs)
        made.move_out()
        write_manifests(outputs, made.num_examples, content)
    _report(content, config, outputs, time.monotonic() - begin)
    return content


def _checked(config: CreatePretrainingDataConfig) -> Job:
    """Returns what the flags ask for; raises InputError where that cannot be."""
    inputs = expand_patterns(config.input_file, "input_file")
    outputs = output_files(config.output_file, "output_file", [*inputs, config.vocab_file])
    output_files(",".join([*outputs, *map(manifest_path, outputs)]), "output_file", [*inputs, config.vocab_file])
    vocab = read_vocab(config.vocab_file)
    recorded, source = recorded_casing(config.vocab_file)
    do_lower_case = resolve_do_lower_case(config.do_lower_case, vocab, recorded, source)
    return Job(config, inputs, outputs, vocab, do_lower_case, _rules(config, vocab), text_form(config))


def _engine(name: str) -> Callable[[Job], AbstractContextManager[Made]]:
    """Returns what makes the records of a job."""
    if name == "local":
        return _made_here
    try:
        with without_startup_chatter():
            import apache_beam  # noqa: F401
    except ImportError as error:
        raise InputError(f"engine is beam, but apache-beam cannot be loaded ({error}); pip install 'bert_tf[beam]'") from error
    from bert_tf.workflows.pretraining_beam import made_by_pipeline

    return made_by_pipeline


@contextlib.contextmanager
def _made_here(job: Job) -> Iterator[Made]:
    """Yields what this machine's processes have made; the folder of what was unfinished goes afterwards."""
    config, vocab = job.config, job.vocab
    with _work_folder(config.work_dir, job.outputs[0]) as folder:
        spool_folder = os.path.join(folder, "text")
        text = fill_spool(job, spool_folder)
        check_text(text.counts, job.inputs, config.use_nsp)
        warn_of_text(text.counts, text.sentences_of_file, job)
        plan = job.plan(text.num_stretches, text.counts["tokens"])
        records = RecordsFolder(os.path.join(folder, "records"), _identity(config, text, vocab), job.outputs, config.max_seq_length)
        num_processes = config.num_processes or default_num_processes()
        write_parts(records, spool_folder, job.num_ids, plan, job.rules, len(job.outputs), config.compress, num_processes)
        yield Made(text.counts, records.tally, records.counts(), records.move_out)


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
    flags = {name: value for name, value in to_dict(config).items() if name not in ("num_processes", "work_dir", "beam_args")}
    return flags | {"vocab_sha256": vocab.sha256, "text": text.identity}


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


def _report(content: dict[str, Any], config: CreatePretrainingDataConfig, outputs: Sequence[str], secs: float) -> None:
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
