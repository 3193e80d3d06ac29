"""How a config declares a field that is also a flag, and how its values are settled and checked.

A flag is declared once, as a field: its help text is the flag's help (`cli/flag_config.py` makes the flags).
"""

import dataclasses
import os
import types
import typing
from typing import Any

from bert_tf.errors import InputError

# Far beyond any model; a typing error that is larger would end in an allocation that no machine can do.
LARGEST_SIZE = 10_000_000
LARGEST_BATCH = 1_000_000
# Step numbers are int64, and as float32 in the schedule still told apart well enough.
MOST_STEPS = 10**12
MOST_EPOCHS = 1_000_000

# What pre-training learns to tell: pieces that were hidden, or the piece that comes next.
OBJECTIVES = ("masked_lm", "next_token")
# Published recipes stop at 3 (ALBERT) or 10 (SpanBERT).
_MOST_NGRAM = 100


def flag(
    default: Any = dataclasses.MISSING, *, help: str, identity: bool = True, required: bool = False, choices: tuple[str, ...] = ()
) -> Any:
    """Declares a config field that is also a flag.

    Args:
      default: The flag's default.
      help: The flag's help text.
      identity: Whether the value is part of what a run is: an output directory made with another value is refused.
      required: Whether a script stops without it.
      choices: The strings allowed, where the choice is closed.
    """
    metadata = {"help": help, "identity": identity, "required": required, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


def input_format_flag() -> Any:
    """Declares what the lines of text files are."""
    return flag(
        "auto", choices=("auto", "text", "jsonl"), help="What input files hold; auto: JSON lines where they are called .jsonl, else text."
    )


def text_field_flag() -> Any:
    """Declares which field of JSON lines is text."""
    return flag("text", help="The field of JSON lines that holds a document's text.")


def num_processes_flag() -> Any:
    """Declares how many processes work; `check_num_processes` checks it."""
    return flag(
        None, identity=False, help="Processes to work with; their number changes no byte of the output. Default: one for each core."
    )


def check_num_processes(num_processes: int | None) -> None:
    """Raises InputError unless so many processes can work."""
    require(num_processes is None or num_processes >= 1, f"num_processes is {num_processes}; give at least 1")


def require(condition: bool, message: str) -> None:
    """Raises InputError with the message unless the condition holds."""
    if not condition:
        raise InputError(message)


def settle(config: Any) -> None:
    """Makes what a notebook or a shell gives into the fields' own types, and checks that what is required is there."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if isinstance(value, str) and value.startswith("~") and _names_a_path(field.name):
            value = os.path.expanduser(value)  # shells do not, in --flag=~/runs
        if value == "" and field.default is None and field.name not in ("text", "text_pair"):
            value = None  # shell scripts pass --init_checkpoint=$VARIABLE, empty where there is none
        require(value is not None or not field.metadata["required"], f"{field.name} is missing; give it")
        object.__setattr__(config, field.name, value)


def _names_a_path(name: str) -> bool:
    return name.endswith(("_file", "_dir", "_checkpoint")) or name in ("continue_from", "saved_model")


def check_length(max_seq_length: int) -> None:
    """Raises InputError unless a sentence pair fits into this many pieces."""
    # [CLS] a [SEP] b [SEP] is the shortest sentence pair
    require(max_seq_length >= 5, f"max_seq_length is {max_seq_length}; give at least 5, room for [CLS] a [SEP] b [SEP]")
    require(max_seq_length <= LARGEST_SIZE, f"max_seq_length is {max_seq_length}; give at most {LARGEST_SIZE:,}")


def mask_shares(mask_mix: str) -> tuple[float, float, float]:
    """Returns the shares of masked positions that become [MASK], stay as they are, become a random piece."""
    try:
        shares = tuple(float(part) for part in mask_mix.split(","))
    except ValueError:
        shares = ()
    good = len(shares) == 3 and min(shares) >= 0 and abs(sum(shares) - 1) < 1e-6
    require(good, f"mask_mix is {mask_mix!r}; give three shares that sum to 1, as 0.8,0.1,0.1")
    return shares  # type: ignore[return-value]


def check_mask_prob(masked_lm_prob: float) -> None:
    """Raises InputError unless it is a share of pieces that can be masked."""
    require(0 < masked_lm_prob <= 1, f"masked_lm_prob is {masked_lm_prob}; give a share above 0, at most 1")


def check_ngram(max_ngram: int, whole_word: bool) -> None:
    """Raises InputError unless spans of so many words can be masked."""
    require(1 <= max_ngram <= _MOST_NGRAM, f"max_ngram is {max_ngram}; give 1 to {_MOST_NGRAM}; 3 is common")
    require(max_ngram == 1 or whole_word, f"max_ngram is {max_ngram}, but spans are of whole words; give do_whole_word_mask=true")


def check_use_nsp(objective: str, use_nsp: bool) -> None:
    """Raises InputError unless next sentences can be told under the objective."""
    require(
        objective == "masked_lm" or not use_nsp,
        f"use_nsp is true, but objective is {objective}: read from left to right, [CLS] sees no sentence; give use_nsp=false",
    )


def to_dict(config: Any) -> dict[str, Any]:
    """Returns a config's fields, ready for JSON."""
    return dataclasses.asdict(config)


def to_flags(config: Any) -> list[str]:
    """Returns the command line that gives this config: --name=value for every field that is not at its default."""
    flags = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value != field.default and value is not None:
            flags.append(f"--{field.name}={str(value).lower() if isinstance(value, bool) else value}")
    return flags


def field_types(config_class: type) -> dict[str, type]:
    """Returns the type of each field's values; where a value may be missing, that of those that are not."""
    return {field.name: _plain_type(typing.get_type_hints(config_class)[field.name]) for field in dataclasses.fields(config_class)}


def _plain_type(hint: Any) -> type:
    """Returns T of `T | None`, or the type itself."""
    if isinstance(hint, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    plain: type = hint
    return plain


def differing_field(config: Any, recorded: dict[str, Any]) -> str | None:
    """Returns the first field by which `config` is another run than the recorded one, or None.

    Only identity fields count: asking a finished run for an evaluation, or saving more often, is the same run. A field that the
    record does not know (it was added later) compares by its default.
    """
    for field in dataclasses.fields(config):
        if field.metadata["identity"] and getattr(config, field.name) != recorded.get(field.name, field.default):
            return field.name
    return None
