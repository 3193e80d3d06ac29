"""What tags tokens on a frozen encoder: which layers' vectors it reads, how they are mixed, and how large its LSTM is."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Self

from bert_tf.config.fields import LARGEST_SIZE, require
from bert_tf.errors import InputError

CONCAT, WEIGHTED_SUM = "concat", "weighted_sum"

# The rows of the paper's table 7: the layers that are read, counted from the top as Python counts (None: all but the embeddings; 0 is the
# embeddings), and what becomes of them.
_MIXES: dict[str, tuple[tuple[int, ...] | None, str]] = {
    "embeddings": ((0,), CONCAT),
    "last": ((-1,), CONCAT),
    "second_to_last": ((-2,), CONCAT),
    "sum_last_four": ((-4, -3, -2, -1), WEIGHTED_SUM),
    "concat_last_four": ((-4, -3, -2, -1), CONCAT),
    "sum_all": (None, WEIGHTED_SUM),
}
FEATURE_MIXES = tuple(_MIXES)


@dataclass(frozen=True)
class TaggerConfig:
    """The tagger of feature-based tagging (BERT paper, section 5.3): what `tagger.json` holds.

    Attributes:
      feature_mix: One of `FEATURE_MIXES`.
      lstm_size: Units of the BiLSTM in each direction.
    """

    feature_mix: str
    lstm_size: int = 768

    def __post_init__(self) -> None:
        require(self.feature_mix in _MIXES, f"feature_mix is {self.feature_mix!r}; give one of {', '.join(FEATURE_MIXES)}")
        whole = isinstance(self.lstm_size, int) and not isinstance(self.lstm_size, bool) and 1 <= self.lstm_size <= LARGEST_SIZE
        require(whole, f"lstm_size is {self.lstm_size!r}; give a whole number from 1 to {LARGEST_SIZE:,}")

    @property
    def is_sum(self) -> bool:
        """Whether the layers' vectors are added up, each with a weight that is learned; otherwise they stand side by side."""
        return _MIXES[self.feature_mix][1] == WEIGHTED_SUM

    def layers(self, num_hidden_layers: int) -> tuple[int, ...]:
        """Returns the layers that are read, ascending, as the encoder's `all_layers` has them: 0 the embeddings, 1 the first layer.

        `TaggerConfig("concat_last_four").layers(12)` is (9, 10, 11, 12).

        Raises:
          InputError: The model has fewer layers.
        """
        wanted = _MIXES[self.feature_mix][0]
        if wanted is None:
            return tuple(range(1, num_hidden_layers + 1))
        require(
            -min(wanted) <= num_hidden_layers,
            f"feature_mix is {self.feature_mix}, but the model has {num_hidden_layers} layers; give another, as --feature_mix=last",
        )
        return tuple(layer if layer == 0 else num_hidden_layers + 1 + layer for layer in wanted)

    @classmethod
    def from_json(cls, text: str, source: str) -> Self:
        """Returns the config that the JSON text holds; `source` is its file, for error messages."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError, RecursionError, InputError) as error:
            raise InputError(f"{source}: is damaged ({error}); put back the file that the training wrote") from error

    def to_json(self) -> str:
        """Returns the text of tagger.json, keys sorted."""
        return json.dumps(dataclasses.asdict(self), indent=2, sort_keys=True) + "\n"
