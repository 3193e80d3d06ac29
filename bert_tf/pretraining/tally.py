"""What a set of examples turned out to be: the rates that a manifest reports beside the flags that asked for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bert_tf.pretraining.masking import MaskedExample
from bert_tf.pretraining.sentence_pairs import Segments


@dataclass
class Tally:
    """Counts over examples.

    Attributes:
      max_seq_length: Length of every example with padding.
      examples: Number of examples.
      pieces: Number of pieces, [CLS] and [SEP] counted, padding not.
      outcomes: Masked positions by what became of them: AS_MASK, AS_ITSELF, AS_RANDOM.
      random_next: Number of examples with a random B.
      short: Number of examples drawn below the full length.
    """

    max_seq_length: int
    examples: int = 0
    pieces: int = 0
    outcomes: list[int] = field(default_factory=lambda: [0, 0, 0])
    random_next: int = 0
    short: int = 0

    def add(self, example: MaskedExample, segments: Segments) -> None:
        """Counts one example."""
        self.examples += 1
        self.pieces += len(example.input_ids)
        self.random_next += segments.is_random_next
        self.short += segments.is_short
        for outcome in example.outcomes:
            self.outcomes[outcome] += 1

    def merge(self, other: "Tally") -> None:
        """Adds what another tally counted."""
        self.examples += other.examples
        self.pieces += other.pieces
        self.random_next += other.random_next
        self.short += other.short
        self.outcomes = [own + more for own, more in zip(self.outcomes, other.outcomes, strict=True)]

    def rates(self, use_nsp: bool, is_masked: bool = True) -> dict[str, Any]:
        """Returns the observed rates, each rounded to six digits.

        mask_rate is the share of pieces that are masked, [CLS] and [SEP] counted as --masked_lm_prob counts them; mask_mix the shares in
        the order of the flag; masked_per_example their number; all three are None where nothing is masked yet. random_next_share is
        None without next sentences; padding_rate is the share of positions that hold no piece.
        """
        masked = sum(self.outcomes)
        return {
            "mask_rate": _share(masked, self.pieces) if is_masked else None,
            "mask_mix": _shares(self.outcomes) if is_masked else None,
            "masked_per_example": _share(masked, self.examples) if is_masked else None,
            "random_next_share": _share(self.random_next, self.examples) if use_nsp else None,
            "padding_rate": _share(self.examples * self.max_seq_length - self.pieces, self.examples * self.max_seq_length),
            "short_share": _share(self.short, self.examples),
        }


def _shares(counts: Sequence[int]) -> list[float]:
    return [_share(count, sum(counts)) for count in counts]


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0
