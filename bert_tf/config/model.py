"""A model's shape: bert_config.json, and the named sizes."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Self

from bert_tf.config.fields import LARGEST_SIZE, require
from bert_tf.errors import InputError

HIDDEN_ACTIVATIONS = ("gelu", "gelu_exact", "relu", "tanh", "linear")

# name: (layers, hidden). Heads are hidden / 64 and the feed-forward size 4 x hidden, as in all released models
# (BERT paper section 3, and the miniatures of the google-research/bert README).
MODEL_SIZES = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}


@dataclass(frozen=True)
class BertConfig:
    """The shape of a model: bert_config.json of the released models. Unknown keys of that file are ignored."""

    vocab_size: int
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"  # the original's gelu: the tanh approximation; gelu_exact is Hugging Face's "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 16  # the original's default where the file has no value; released models say 2
    initializer_range: float = 0.02
    do_lower_case: bool | None = None  # not the original's; written by this project so that the casing travels with the model
    left_to_right: bool = False  # not the original's; each place attends to itself and what is before it alone (paper, table 5)

    def __post_init__(self) -> None:
        for name in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                     "max_position_embeddings", "type_vocab_size"):  # fmt: skip
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_SIZE
            require(whole, f"bert_config: {name} is {value!r}; give a whole number from 1 to {LARGEST_SIZE:,}")
        require(
            self.hidden_size % self.num_attention_heads == 0,
            f"bert_config: hidden_size {self.hidden_size} is not a multiple of num_attention_heads {self.num_attention_heads}; "
            "change one of the two",
        )
        require(
            self.hidden_act in HIDDEN_ACTIVATIONS,
            f"bert_config: hidden_act is {self.hidden_act!r}; give one of {', '.join(HIDDEN_ACTIVATIONS)}",
        )
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1
            require(number, f"bert_config: {name} is {value!r}; give a number from 0 up to, not including, 1")
        positive = isinstance(self.initializer_range, (int, float)) and 0 < self.initializer_range <= 1
        require(positive, f"bert_config: initializer_range is {self.initializer_range!r}; give a number above 0, at most 1")
        known = self.do_lower_case is None or isinstance(self.do_lower_case, bool)
        require(known, f"bert_config: do_lower_case is {self.do_lower_case!r}; give true or false, without quotes")
        known = isinstance(self.left_to_right, bool)
        require(known, f"bert_config: left_to_right is {self.left_to_right!r}; give true or false, without quotes")

    @classmethod
    def from_json(cls, text: str, source: str = "bert_config.json") -> Self:
        """Returns the config that the JSON text holds; `source` is its file, for error messages."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{source}: not valid JSON ({error}); give the model's bert_config.json") from error
        require(isinstance(values, dict), f"{source}: holds no JSON object; give the model's bert_config.json")
        require("vocab_size" in values, f"{source}: has no vocab_size; give the model's bert_config.json")
        names = {field.name for field in dataclasses.fields(cls)}
        if isinstance(values.get("hidden_act"), str):
            values["hidden_act"] = values["hidden_act"].lower()  # as the original reads it
        try:
            return cls(**{name: value for name, value in values.items() if name in names})
        except InputError as error:
            raise InputError(f"{source}: {error}") from error

    @classmethod
    def of_size(cls, size: str, vocab_size: int, **changes: Any) -> Self:
        """Returns a named size, tiny to large, for a vocabulary of `vocab_size` pieces."""
        require(size in MODEL_SIZES, f"model_size is {size!r}; give one of {', '.join(MODEL_SIZES)}")
        layers, hidden = MODEL_SIZES[size]
        values = dict(
            vocab_size=vocab_size,
            num_hidden_layers=layers,
            hidden_size=hidden,
            num_attention_heads=hidden // 64,
            intermediate_size=4 * hidden,
            type_vocab_size=2,
        )
        return cls(**(values | changes))

    def to_json(self) -> str:
        """Returns the bert_config.json text, keys sorted; what the original does not have is in it only where it says something."""
        values = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        if not self.left_to_right:
            del values["left_to_right"]
        return json.dumps(values, indent=2, sort_keys=True) + "\n"
