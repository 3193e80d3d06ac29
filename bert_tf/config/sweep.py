"""Many runs of one command: a grid of flags, random restarts, and averages of the runs that there are."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bert_tf.config.fields import field_types, flag, require, settle
from bert_tf.config.finetune import FinetuneConfig
from bert_tf.config.squad import SquadConfig
from bert_tf.config.training import EpochsConfig
from bert_tf.errors import InputError

# What can be swept over: the scripts, by name.
SWEPT_SCRIPTS: Mapping[str, type[EpochsConfig]] = {"run_classifier": FinetuneConfig, "run_squad": SquadConfig}

# The paper's learning rates (appendix A.3 and section 4.1).
_RATES = "learning_rate=5e-5,4e-5,3e-5,2e-5"
# What a sweep decides itself.
_OWN = {
    "output_dir": "each run has a folder of its own",
    "random_seed": "--restarts varies it",
    "overwrite_output_dir": "finished runs would be thrown away",
    **dict.fromkeys(("do_train", "do_eval", "do_predict", "do_export"), "it is for all runs"),
}
_KINDS: Mapping[type, str] = {int: "whole numbers", float: "numbers", bool: "true or false", str: "values"}
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}

# Flags and their values, what one run has that another has not.
Setting = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class SweepConfig:
    """The command line of a fine-tuning script in, a run of it for each setting and restart out, and one table."""

    script: str = flag("run_classifier", choices=tuple(SWEPT_SCRIPTS), help="The script whose flags follow.")
    output_dir: str = flag(None, required=True, help="The sweep's folder: a folder for each run, sweep.json and sweep.md.")
    grid: str = flag(
        _RATES,
        help="Flags and their values, all of which are combined: 'learning_rate=5e-5,3e-5;train_batch_size=16,32'. Empty: restarts alone.",
    )
    restarts: int = flag(1, help="Runs of each setting: --random_seed, and 1, 2, ... more. Another shuffle, head and dropout each.")

    def __post_init__(self) -> None:
        settle(self)
        require(1 <= self.restarts <= 1000, f"restarts is {self.restarts}; give 1 to 1,000")


@dataclass(frozen=True, kw_only=True)
class EnsembleConfig:
    """Finished runs in, the scores and predictions of their averaged logits out."""

    run_dirs: str = flag(
        None, required=True, help="Output directories of runs of one task on the same data, or patterns, separated by commas."
    )
    output_dir: str = flag(None, required=True, help="Where scores and predictions go.")

    def __post_init__(self) -> None:
        settle(self)


def settings_of(grid: str, base: EpochsConfig) -> list[Setting]:
    """Returns every combination of a grid's values, the last flag's fastest.

    For example, `settings_of("learning_rate=5e-5,3e-5", base)` is `[{"learning_rate": 5e-5}, {"learning_rate": 3e-5}]`; of an empty
    grid `[{}]`.

    Raises:
      InputError: A flag that the script does not have, that is not to be swept over, or that `base` gives too; a value that is none.
    """
    axes: dict[str, list[Any]] = {}
    for part in (part.strip() for part in grid.split(";") if part.strip()):
        name, equals, texts = part.partition("=")
        name = name.strip().removeprefix("--")
        require(equals != "", f"grid: {part!r} has no values; give name=value,value")
        require(name not in axes, f"grid: names {name} twice; give all its values at once")
        axes[name] = list(_values(name, texts, base))
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def with_setting(base: EpochsConfig, setting: Setting, random_seed: int, output_dir: str) -> EpochsConfig:
    """Returns the config of one run; what its checks refuse is told with the setting."""
    try:
        return dataclasses.replace(base, **setting, random_seed=random_seed, output_dir=output_dir)
    except InputError as error:
        raise InputError(f"grid: {error}") from error


def _values(name: str, texts: str, base: EpochsConfig) -> Iterator[Any]:
    """Yields the values of a flag, each once."""
    fields = {field.name: field for field in dataclasses.fields(base)}
    require(name in fields, f"grid: there is no flag {name!r}; --help of the script lists every flag")
    require(name not in _OWN, f"grid: {name} cannot be swept over ({_OWN.get(name)}); leave it out of --grid")
    given = getattr(base, name)
    require(given == fields[name].default, f"{name} is {given!r}, but --grid varies it; leave one of them out (--grid= for restarts alone)")
    kind, choices, seen = field_types(type(base))[name], fields[name].metadata["choices"], []
    for text in (text.strip() for text in texts.split(",")):
        try:
            value = _TRUTHS[text.lower()] if kind is bool else kind(text)
            good = text != "" and (not choices or value in choices)
        except (ValueError, KeyError):
            good = False
        mend = f"one of {', '.join(choices)}" if choices else _KINDS[kind]
        require(good, f"grid: {name} is {text!r}; give {mend}, separated by commas")
        require(value not in seen, f"grid: gives {name}={text} twice; give each value once")
        seen.append(value)
        yield value
