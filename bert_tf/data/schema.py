"""Every kind of record as one table: name, shape, dtype and role of each feature.

Writers, readers, models and export signatures take names and shapes from here; the names are google-research/bert's. Axes are
written by name: `seq` is max_seq_length, `masks` is max_predictions_per_seq; `vocab`, `segments` and `labels` are sizes of the model's
tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

# Roles: what a feature is to the model.
INPUT = "input"  # the encoder reads it
TARGET = "target"  # a loss compares with it
WEIGHT = "weight"  # how much a target counts


@dataclass(frozen=True)
class Feature:
    """One feature of a record.

    Attributes:
      name: Its key in the tf.train.Example.
      shape: Axis names and sizes.
      dtype: int64 or float32.
      role: What it is to the model.
      below: Its numbers are from 0 up to, not including, this size or the size of this axis.
      required: Whether it must be in the file.
    """

    name: str
    shape: tuple[str | int, ...]
    dtype: str
    role: str
    below: str | int | None = None
    required: bool = True


@dataclass(frozen=True)
class RecordKind:
    """A kind of record: what one serialized tf.train.Example holds."""

    name: str
    features: tuple[Feature, ...]

    def sizes(self, axes: Mapping[str, int]) -> dict[str, int]:
        """Returns how many numbers each feature holds, given the length of each axis."""
        sizes = {}
        for feature in self.features:
            size = 1
            for axis in feature.shape:
                size *= axes[axis] if isinstance(axis, str) else axis
            sizes[feature.name] = size
        return sizes

    def bounds(self, axes: Mapping[str, int]) -> dict[str, int]:
        """Returns, for each feature whose numbers have a known bound, the first number that is too large."""
        bounds = {}
        for feature in self.features:
            bound = axes.get(feature.below) if isinstance(feature.below, str) else feature.below
            if bound is not None:
                bounds[feature.name] = bound
        return bounds


ENCODER_INPUTS = (
    Feature("input_ids", ("seq",), "int64", INPUT, below="vocab"),
    Feature("input_mask", ("seq",), "int64", INPUT, below=2),
    Feature("segment_ids", ("seq",), "int64", INPUT, below="segments"),
)

# 1 for an example, 0 for one that only fills up the last batch. The original writes it for classification; files without it hold
# real examples only.
IS_REAL = Feature("is_real_example", (), "int64", WEIGHT, required=False)

PRETRAINING = RecordKind(
    "pretraining",
    (
        *ENCODER_INPUTS,
        Feature("masked_lm_positions", ("masks",), "int64", INPUT, below="seq"),
        Feature("masked_lm_ids", ("masks",), "int64", TARGET, below="vocab"),
        Feature("masked_lm_weights", ("masks",), "float32", WEIGHT),
        Feature("next_sentence_labels", (1,), "int64", TARGET, below=2),
        IS_REAL,
    ),
)

# Of --masking=dynamic: the pairs as they were, whose masks are drawn when they are read. Which pieces continue a word the vocabulary says.
UNMASKED_PRETRAINING = RecordKind(
    "pretraining with dynamic masking",
    (*ENCODER_INPUTS, Feature("next_sentence_labels", (1,), "int64", TARGET, below=2), IS_REAL),
)

# The same of texts that came cut into words: 1 where a piece continues the word before it.
CONTINUES_WORD = Feature("continues_word", ("seq",), "int64", INPUT, below=2)
UNMASKED_SEGMENTED_PRETRAINING = RecordKind(
    "pretraining with dynamic masking of given words", (*UNMASKED_PRETRAINING.features, CONTINUES_WORD)
)

# Of --objective=next_token: what is to be told at each place stands at the next one.
NEXT_TOKEN_PRETRAINING = RecordKind("next-token pretraining", (*ENCODER_INPUTS, IS_REAL))

# Every kind of pre-training, by name.
PRETRAINING_KINDS = {
    kind.name: kind for kind in (PRETRAINING, UNMASKED_PRETRAINING, UNMASKED_SEGMENTED_PRETRAINING, NEXT_TOKEN_PRETRAINING)
}


def pretraining_kind(objective: str, is_masked: bool, word_segments: bool) -> RecordKind:
    """Returns what records hold that are made with these flags."""
    if objective == "next_token":
        return NEXT_TOKEN_PRETRAINING
    if is_masked:
        return PRETRAINING
    return UNMASKED_SEGMENTED_PRETRAINING if word_segments else UNMASKED_PRETRAINING


CLASSIFICATION = RecordKind("classification", (*ENCODER_INPUTS, Feature("label_ids", (), "int64", TARGET, below="labels"), IS_REAL))

# A number in place of a label.
REGRESSION = RecordKind("regression", (*ENCODER_INPUTS, Feature("label_ids", (), "float32", TARGET), IS_REAL))

# For each label whether the example has it.
MULTILABEL = RecordKind("multilabel", (*ENCODER_INPUTS, Feature("label_ids", ("labels",), "int64", TARGET, below=2), IS_REAL))

# A sequence for each choice, and the number of the right one.
CHOICE = RecordKind(
    "choice",
    (
        *(replace(feature, shape=("choices", *feature.shape)) for feature in ENCODER_INPUTS),
        Feature("label_ids", (), "int64", TARGET, below="choices"),
        IS_REAL,
    ),
)

# A label for each token, at its first piece: where label_mask is 1. Tokens of the context, and further pieces, have none.
TAGGING = RecordKind(
    "tagging",
    (
        *ENCODER_INPUTS,
        Feature("label_ids", ("seq",), "int64", TARGET, below="labels"),
        Feature("label_mask", ("seq",), "int64", WEIGHT, below=2),
        IS_REAL,
    ),
)

# Windows to predict; to train on they have the answer's place too. Files of the original hold real windows only.
SQUAD = RecordKind("question answering", (Feature("unique_ids", (), "int64", INPUT), *ENCODER_INPUTS, IS_REAL))

SQUAD_TRAINING = RecordKind(
    "training question answering",
    (
        *SQUAD.features,
        Feature("start_positions", (), "int64", TARGET, below="seq"),
        Feature("end_positions", (), "int64", TARGET, below="seq"),
        Feature("is_impossible", (), "int64", TARGET, below=2),
    ),
)
