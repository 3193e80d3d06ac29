"""Documents -> masked examples: TFRecords as google-research/bert writes them, and a manifest beside each file."""

import time
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
from absl import logging

from bert_tf.config import CreatePretrainingDataConfig, to_dict
from bert_tf.data.files import expand_patterns, output_files
from bert_tf.data.manifest import manifest_path, remove_manifests, write_manifests
from bert_tf.data.progress import Progress
from bert_tf.data.records import serialize, write_records
from bert_tf.data.schema import PRETRAINING
from bert_tf.data.text_files import read_lines, total_bytes
from bert_tf.errors import InputError
from bert_tf.pretraining.documents import Corpus, split_documents
from bert_tf.pretraining.masking import MaskingRules, assemble, is_cjk_piece, mask, to_features
from bert_tf.pretraining.sentence_pairs import NextSentenceBalance, Segments, running_text, sentence_pairs
from bert_tf.pretraining.tally import Tally
from bert_tf.text.casing import resolve_do_lower_case
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.workflows.model_folder import read_vocab, recorded_casing

# Above these shares a line warns that something is probably not as meant.
UNK_WARNING = 0.10
CJK_WARNING = 0.30
RANDOM_NEXT_WARNING = 0.55


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
    rules = MaskingRules.of_vocabulary(
        vocab, config.masked_lm_prob, config.max_predictions_per_seq, config.mask_shares(), config.do_whole_word_mask
    )
    _warn_of_predictions(config)

    corpus = _read_corpus(inputs, WordPieceTokenizer(vocab, do_lower_case))
    _check_corpus(corpus, inputs, config)
    unk_rate = _warn_of_text(corpus, vocab, config)
    rng = Random(config.random_seed)
    segments = _draw_segments(corpus, config, rng)
    rng.shuffle(segments)
    if len(segments) < len(outputs):
        raise InputError(f"--output_file: names {len(outputs)} files for {len(segments)} examples; name fewer")

    tally = Tally(config.max_seq_length)
    remove_manifests(outputs)
    counts = write_records(outputs, _records(corpus, segments, rules, config, tally, rng), config.compress)
    observed = tally.rates(config.use_nsp) | {"unk_rate": unk_rate}
    content = {
        "kind": PRETRAINING.name,
        "flags": to_dict(config),
        "vocabulary": {"path": config.vocab_file, "sha256": vocab.sha256, "size": len(vocab), "do_lower_case": do_lower_case},
        "counts": {
            "input_files": len(inputs),
            "documents": corpus.num_documents,
            "sentences": corpus.num_sentences,
            "tokens": len(corpus.ids),
            "examples": tally.examples,
        },
        "observed": observed,
    }
    write_manifests(outputs, counts, content)
    _report(content, outputs, time.monotonic() - begin)
    return content


def _read_corpus(paths: list[str], tokenizer: WordPieceTokenizer) -> Corpus:
    """Returns all documents of the files, each sentence tokenized once."""
    corpus = Corpus()
    with Progress(total_bytes(paths), "B", "tokenizing") as progress:
        for path in paths:
            before = corpus.num_documents
            for document in split_documents(read_lines(path, progress.advance)):
                corpus.add(tokenizer.encode(sentence) for sentence in document)
                progress.note(f"{corpus.num_documents} documents")
            if corpus.num_documents == before and len(paths) > 1:
                logging.warning("%s holds no sentence", path)
    return corpus


def _check_corpus(corpus: Corpus, paths: list[str], config: CreatePretrainingDataConfig) -> None:
    where = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    if corpus.num_documents == 0:
        raise InputError(f"--input_file: {where}: no sentence found; give text, one sentence a line, a blank line between documents")
    if corpus.num_documents == 1 and config.use_nsp:
        raise InputError(
            f"--input_file: {where}: one document only, but a random next sentence comes from another document; "
            "put blank lines between documents, or give --use_nsp=false"
        )


def _draw_segments(corpus: Corpus, config: CreatePretrainingDataConfig, rng: Random) -> list[Segments]:
    """Returns the stretches of text of all passes over the corpus, document by document."""
    balance = NextSentenceBalance()
    segments: list[Segments] = []
    for _ in range(config.dupe_factor):
        for document in range(corpus.num_documents):
            if config.use_nsp:  # [CLS] A [SEP] B [SEP]
                segments.extend(sentence_pairs(corpus, document, config.max_seq_length - 3, config.short_seq_prob, balance, rng))
            else:  # [CLS] A [SEP]
                segments.extend(running_text(corpus, document, config.max_seq_length - 2, config.short_seq_prob, rng))
    return segments


def _records(
    corpus: Corpus, segments: list[Segments], rules: MaskingRules, config: CreatePretrainingDataConfig, tally: Tally, rng: Random
) -> Iterator[bytes]:
    """Yields a masked and serialized example for each stretch of text."""
    with Progress(len(segments), "examples", "writing") as progress:
        for part in segments:
            example = assemble(corpus.ids[part.a_begin : part.a_end], corpus.ids[part.b_begin : part.b_end], rules)
            example = mask(example, rules, rng)
            tally.add(example, part)
            features = to_features(example, part.is_random_next, config.max_seq_length, config.max_predictions_per_seq)
            yield serialize(features, PRETRAINING)
            progress.advance(1)


def _warn_of_predictions(config: CreatePretrainingDataConfig) -> None:
    wanted = config.max_seq_length * config.masked_lm_prob
    if config.max_predictions_per_seq > 2 * wanted + 1:
        logging.warning(
            "max_predictions_per_seq is %d, but a full example has %.0f masked positions (max_seq_length x masked_lm_prob): the rest "
            "is padding",
            config.max_predictions_per_seq,
            wanted,
        )
    elif config.max_predictions_per_seq < 0.9 * wanted:
        logging.warning(
            "max_predictions_per_seq is %d: of a full example %.1f %% will be masked, not the %.1f %% of masked_lm_prob; %.0f would do",
            config.max_predictions_per_seq,
            100 * config.max_predictions_per_seq / config.max_seq_length,
            100 * config.masked_lm_prob,
            np.ceil(wanted),
        )


def _warn_of_text(corpus: Corpus, vocab: Vocabulary, config: CreatePretrainingDataConfig) -> float:
    """Warns of text that suits the vocabulary or the flags badly; returns the share of pieces that are [UNK]."""
    frequency = np.bincount(np.frombuffer(corpus.ids, np.int32), minlength=len(vocab)) / len(corpus.ids)
    unk_rate = float(frequency[vocab.unk_id])
    if unk_rate > UNK_WARNING:
        logging.warning(
            "%.0f %% of the text's pieces are [UNK]: %s does not suit this text; check --vocab_file and --do_lower_case, or learn a "
            "vocabulary with build_vocab",
            100 * unk_rate,
            vocab.source,
        )
    if config.do_whole_word_mask:
        cjk_rate = float(frequency[[is_cjk_piece(piece) for piece in vocab.pieces]].sum())
        if cjk_rate > CJK_WARNING:
            logging.warning(
                "%.0f %% of the text's pieces are single Chinese characters, each a word to the tokenizer: do_whole_word_mask changes "
                "nothing for them",
                100 * cjk_rate,
            )
    return round(unk_rate, 6)


def _report(content: dict[str, Any], outputs: list[str], secs: float) -> None:
    counts, observed = content["counts"], content["observed"]
    files = outputs[0] if len(outputs) == 1 else f"{outputs[0]} and {len(outputs) - 1} more"
    mix = "/".join(f"{100 * share:.1f}" for share in observed["mask_mix"])
    text = f"{counts['documents']:,} documents, {counts['sentences']:,} sentences, {counts['tokens']:,} pieces"
    print(f"{text}, {observed['unk_rate']:.2%} [UNK]")
    print(f"{counts['examples']:,} examples in {files}, {secs:.0f} s")
    share = observed["random_next_share"]
    pairs = "no next sentences" if share is None else f"{share:.1%} with a random next sentence"
    print(
        f"masked {observed['mask_rate']:.1%} of the pieces ({mix} % [MASK]/same/random), {pairs}, {observed['short_share']:.1%} short, "
        f"{observed['padding_rate']:.1%} padding"
    )
    if share is not None and share > RANDOM_NEXT_WARNING:
        logging.warning(
            "%.0f %% of the next sentences are random, not half: most documents have one sentence only; give one sentence a line and a "
            "blank line between documents, not between sentences",
            100 * share,
        )
