"""Config dataclasses <-> absl flags, and the frame that every script runs in.

Flags live in a `FlagValues` of their own, made when the script runs: importing a script defines no flag, and a notebook's
`sys.argv` is nobody's business but its own.
"""

import dataclasses
import importlib
import os
import sys
import types
import typing
from typing import Any

from absl import flags

from bert_tf.errors import InputError


def define_flags(config_class: type) -> flags.FlagValues:
    """Returns a flag for every field of the dataclass, plus --help and --flagfile."""
    values = flags.FlagValues()
    hints = typing.get_type_hints(config_class)
    for field in dataclasses.fields(config_class):
        common = dict(name=field.name, default=field.default, help=field.metadata["help"], flag_values=values)
        kind = _plain_type(hints[field.name])
        if field.metadata["choices"]:
            flags.DEFINE_enum(enum_values=list(field.metadata["choices"]), **common)
        elif kind is bool:
            flags.DEFINE_boolean(**common)
        else:
            define = {int: flags.DEFINE_integer, float: flags.DEFINE_float, str: flags.DEFINE_string}[kind]
            define(**common)
    flags.DEFINE_boolean("help", False, "Show this text.", short_name="h", flag_values=values)
    flags.DEFINE_string("flagfile", "", "Read more flags from this file, one a line.", flag_values=values)
    return values


def parse(config_class: type, argv: list[str]) -> Any:
    """Returns the config that the command line asks for.

    Raises:
      InputError: An unknown flag, a value of the wrong type, a missing required flag, or what the config itself refuses.
    """
    values = define_flags(config_class)
    try:
        rest = values(argv)
    except flags.Error as error:
        raise InputError(" ".join(str(error).split())) from error
    if values["help"].value:
        return None
    if rest[1:]:
        raise InputError(f"unexpected argument {rest[1]!r}; flags are given as --name=value")
    fields = dataclasses.fields(config_class)
    missing = [f"--{field.name}" for field in fields if field.metadata["required"] and not values[field.name].value]
    if missing:
        raise InputError(f"missing {', '.join(missing)}; --help lists every flag")
    return config_class(**{field.name: values[field.name].value for field in fields})


def run_script(config_class: type, workflow: str, doc: str | None, argv: list[str] | None = None) -> None:
    """Parses the command line, runs `bert_tf.workflows.<workflow>` and exits.

    TensorFlow is imported only after the flags have been read, so --help and mistakes in flags answer at once.

    Args:
      config_class: The dataclass whose fields are the flags.
      workflow: Name of a module in bert_tf.workflows with `run(config)`.
      doc: The script's docstring, shown by --help.
      argv: The command line, `sys.argv` by default.
    """
    argv = sys.argv if argv is None else argv
    # TensorFlow's start-up chatter hides our lines; whoever wants it sets the variable to 0.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    try:
        config = parse(config_class, argv)
        if config is None:
            print(f"{(doc or '').strip()}\n\nFlags:\n{_help(config_class)}")
            sys.exit(0)
        importlib.import_module(f"bert_tf.workflows.{workflow}").run(config)
    except InputError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from the last checkpoint", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}")
    except Exception as error:
        # tf.io.gfile reports missing files and permissions as its own errors; they too are the user's to mend.
        if type(error).__name__ in ("NotFoundError", "PermissionDeniedError", "FailedPreconditionError") and _is_tensorflow(error):
            _fail(" ".join(str(error).split()))
        raise


def _help(config_class: type) -> str:
    lines = []
    for field in dataclasses.fields(config_class):
        default = "required" if field.metadata["required"] else f"default: {field.default}"
        choices = f" One of {', '.join(field.metadata['choices'])}." if field.metadata["choices"] else ""
        lines.append(f"  --{field.name}: {field.metadata['help']}{choices} ({default})")
    return "\n".join(lines)


def _plain_type(hint: Any) -> type:
    """Returns T of `T | None`, or the type itself."""
    if isinstance(hint, types.UnionType):
        return next(part for part in typing.get_args(hint) if part is not type(None))
    return hint


def _is_tensorflow(error: Exception) -> bool:
    return type(error).__module__.startswith("tensorflow")


def _fail(message: str) -> None:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(1)
