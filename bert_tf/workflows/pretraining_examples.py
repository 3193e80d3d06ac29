"""The records of pre-training, checked -> batches: masked when they were made, or masked as they are read."""

from collections.abc import Sequence
from dataclasses import dataclass

from absl import logging

from bert_tf import config as configs
from bert_tf.config import BertConfig, PretrainConfig
from bert_tf.config.fields import check_ngram
from bert_tf.data.batches import Batches, OrderedRecords, PackedBatches, ShuffledRecords, Transform
from bert_tf.data.dynamic_masking import DynamicMasking
from bert_tf.data.files import expand_patterns
from bert_tf.data.manifest import Manifest, is_manifest, read_manifest
from bert_tf.data.next_token import next_token_targets
from bert_tf.data.records import RecordFile, check_first_record, first_feature_names
from bert_tf.data.records import fingerprint as fingerprint_of
from bert_tf.data.schema import (
    CONTINUES_WORD,
    ENCODER_INPUTS,
    NEXT_TOKEN_PRETRAINING,
    PRETRAINING,
    PRETRAINING_KINDS,
    UNMASKED_PRETRAINING,
    UNMASKED_SEGMENTED_PRETRAINING,
    RecordKind,
)
from bert_tf.errors import InputError
from bert_tf.pretraining.masking import MaskingRules, predictions_advice
from bert_tf.text.vocab import Vocabulary

# the flag that an axis of the records follows
_FLAG_OF_AXIS = {"seq": "max_seq_length", "masks": "max_predictions_per_seq"}

# How records are masked whose maker did not say.
_MASKING_DEFAULTS = {"masked_lm_prob": 0.15, "mask_mix": "0.8,0.1,0.1", "do_whole_word_mask": False, "max_ngram": 1}

# What a file is, in words.
_WHAT = {
    PRETRAINING.name: "holds masks",
    UNMASKED_PRETRAINING.name: "was made with --masking=dynamic",
    UNMASKED_SEGMENTED_PRETRAINING.name: "was made with --masking=dynamic --word_segments",
    NEXT_TOKEN_PRETRAINING.name: "was made with --objective=next_token",
}

# The same whatever the run's --random_seed, so that runs are compared on the same masks.
_EVALUATION_SEED = 0


@dataclass(frozen=True)
class ExampleSet:
    """Record files of one kind.

    Attributes:
      files: The files.
      kind: One of PRETRAINING_KINDS.
      axes: The size of each axis and table.
      rules: How what is unmasked is masked; None where the records are.
    """

    files: list[RecordFile]
    kind: RecordKind
    axes: dict[str, int]
    rules: MaskingRules | None = None

    @property
    def fingerprint(self) -> str:
        """A hash of the files' content."""
        return fingerprint_of(self.files)

    @property
    def identity(self) -> str:
        """What two evaluations must share to be compared: the files' content and, where masks are drawn, how."""
        return self.fingerprint if self.masking is None else f"{self.fingerprint}, {self.masking}"

    @property
    def masking(self) -> str | None:
        """How masks are drawn, in words; None where none are."""
        if self.rules is None:
            return None
        mix = "/".join(f"{share:g}" for share in self.rules.mix)
        spans = f" in spans of up to {self.rules.max_ngram}" if self.rules.max_ngram > 1 else ""
        return f"{self.rules.masked_lm_prob:g} of the pieces, {mix}, {'whole words' if self.rules.whole_word else 'single pieces'}{spans}"

    def train_batches(self, config: PretrainConfig, num_micro_batches: int) -> Batches:
        """Returns shuffled batches, epoch after epoch, packed if so asked."""
        records = ShuffledRecords(self.files, config.random_seed)
        arguments = (records, self.kind, self.axes, config.train_batch_size, self._transform(config.random_seed))
        batches = PackedBatches(*arguments, num_micro_batches) if config.pack_sequences else Batches(*arguments)
        files = "1 file" if len(self.files) == 1 else f"{len(self.files)} files"
        masks = f"; masks are drawn anew in every epoch: {self.masking}" if self.masking else ""
        logging.info("training on %d examples in %s%s", batches.num_records, files, masks)
        return batches

    def eval_batches(self, batch_size: int) -> Batches:
        """Returns batches in the records' order; masks are those of one epoch and one seed, always the same."""
        return Batches(OrderedRecords(self.files), self.kind, self.axes, batch_size, self._transform(_EVALUATION_SEED))

    def _transform(self, seed: int) -> Transform | None:
        if self.kind is NEXT_TOKEN_PRETRAINING:
            return next_token_targets
        return None if self.rules is None else DynamicMasking(self.rules, seed)


def record_paths(patterns: str, flag_name: str) -> list[str]:
    """Returns the record files that a flag names, without their manifests."""
    paths = [path for path in expand_patterns(patterns, flag_name) if not is_manifest(path)]
    if not paths:
        raise InputError(f"--{flag_name}: {patterns!r} matches manifests only; name the record files")
    return paths


def open_set(flag_name: str, config: PretrainConfig, model_config: BertConfig, vocab: Vocabulary | None) -> ExampleSet:
    """Returns the record files of the flag, each checked against the other flags by its manifest and by its first record.

    Raises:
      InputError: What does not fit; files of several kinds; another objective's; flags of masking where no mask is drawn.
    """
    paths = record_paths(getattr(config, flag_name), flag_name)
    files, manifests = [RecordFile(path) for path in paths], [read_manifest(path) for path in paths]
    kinds = [_kind_of(file, manifest) for file, manifest in zip(files, manifests)]
    if len(set(kinds)) > 1:
        other = next(number for number, kind in enumerate(kinds) if kind is not kinds[0])
        told = ", ".join(f"{paths[number]} {_WHAT[kinds[number].name]}" for number in (0, other))
        raise InputError(f"--{flag_name}: {told}; give files of one kind")
    kind = kinds[0]
    if (kind is NEXT_TOKEN_PRETRAINING) != (config.objective == "next_token"):
        raise InputError(
            f"{paths[0]}: {_WHAT[kind.name]}, but objective is {config.objective}; give --objective="
            f"{'next_token' if kind is NEXT_TOKEN_PRETRAINING else 'masked_lm'}, or data made with --objective={config.objective}"
        )
    axes = {"seq": config.max_seq_length, "masks": config.num_predictions}
    axes |= {"vocab": model_config.vocab_size, "segments": model_config.type_vocab_size}
    for file, manifest in zip(files, manifests):
        if manifest is not None:
            manifest.check_against(
                max_seq_length=config.max_seq_length,
                max_predictions_per_seq=config.max_predictions_per_seq if kind is PRETRAINING else None,
                use_nsp=config.use_nsp,
                model_vocab_size=model_config.vocab_size,
                vocab_sha256=vocab.sha256 if vocab is not None else None,
            )
        check_first_record(file, kind, axes, _FLAG_OF_AXIS)
        if manifest is not None and manifest.num_examples != len(file):
            raise InputError(
                f"{file.path}: holds {len(file)} examples, its manifest says {manifest.num_examples}; it was cut or made anew: make both "
                f"again, or remove {manifest.path}"
            )
    if kind in (PRETRAINING, NEXT_TOKEN_PRETRAINING):
        given = next((name for name in _MASKING_DEFAULTS if getattr(config, name) is not None), None)
        if given is not None and flag_name == "input_file":
            was = "was masked when it was made" if kind is PRETRAINING else "has nothing to be masked"
            raise InputError(f"{given} is given, but {paths[0]} {was}; leave it out, or use --masking=dynamic there")
        return ExampleSet(files, kind, axes)
    if vocab is None:
        raise InputError(f"{paths[0]}: made with --masking=dynamic, so masks are yet to be drawn from its vocabulary; give vocab_file")
    # ids beyond the vocabulary, though the model may have room for them, cannot be its pieces
    return ExampleSet(files, kind, axes | {"vocab": len(vocab)}, _rules(config, vocab, manifests))


def _kind_of(file: RecordFile, manifest: Manifest | None) -> RecordKind:
    """Returns the kind that the manifest tells, else the one that the first record looks like."""
    if manifest is not None and manifest.kind is not None:
        return PRETRAINING_KINDS.get(manifest.kind, PRETRAINING)
    names = first_feature_names(file)
    if names == {feature.name for feature in ENCODER_INPUTS}:
        return NEXT_TOKEN_PRETRAINING
    if "next_sentence_labels" in names and "masked_lm_positions" not in names:
        return UNMASKED_SEGMENTED_PRETRAINING if CONTINUES_WORD.name in names else UNMASKED_PRETRAINING
    return PRETRAINING


def _rules(config: PretrainConfig, vocab: Vocabulary, manifests: Sequence[Manifest | None]) -> MaskingRules:
    """Returns how to mask: by the flags, else as the files were made for, else as the original does."""
    chosen = {}
    for name, default in _MASKING_DEFAULTS.items():
        made = {manifest.content["flags"].get(name, default) if manifest is not None else default for manifest in manifests}
        given = getattr(config, name)
        if given is None and len(made) > 1:
            raise InputError(f"{name} is not given, and the record files were made for different ones: {sorted(made)}; give it")
        chosen[name] = made.pop() if given is None else given
    check_ngram(chosen["max_ngram"], chosen["do_whole_word_mask"])
    advice = predictions_advice(config.max_seq_length, chosen["masked_lm_prob"], config.max_predictions_per_seq)
    if advice is not None:
        logging.warning("%s", advice)
    mix = configs.mask_shares(chosen["mask_mix"])
    words = (chosen["do_whole_word_mask"], chosen["max_ngram"])
    return MaskingRules.of_vocabulary(vocab, chosen["masked_lm_prob"], config.max_predictions_per_seq, mix, *words)
