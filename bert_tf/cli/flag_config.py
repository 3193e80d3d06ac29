"""Config dataclasses <-> absl flags, and the frame that every script runs in.

Flags live in a `FlagValues` of their own, made when the script runs: importing a script defines no flag, and a notebook's
`sys.argv` is nobody's business but its own.
"""

import dataclasses
import importlib
import logging as python_logging
import os
import re
import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from absl import flags, logging

from bert_tf.config.fields import field_types
from bert_tf.errors import PREEMPTED_EXIT_CODE, InputError, Preempted, one_line
from bert_tf.startup import end_with_parent, keep_compiled, without_startup_chatter

# What TensorFlow's own error of a full disk says; it is of the same class as one of memory.
_DISK_FULL = "No space left on device"


def define_flags(config_class: type) -> flags.FlagValues:
    """Returns a flag for every field of the dataclass, plus --help and --flagfile."""
    values = flags.FlagValues()
    types = field_types(config_class)
    for field in dataclasses.fields(config_class):
        common = dict(name=field.name, default=field.default, help=field.metadata["help"], flag_values=values)
        kind = types[field.name]
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
        raise InputError(_in_words(one_line(error))) from error
    if values["help"].value:
        return None
    if rest[1:]:
        raise InputError(f"unexpected argument {rest[1]!r}; flags are given as --name=value")
    return _config_of(values, config_class)


def _config_of(values: flags.FlagValues, config_class: type) -> Any:
    """Returns the config that the parsed flags ask for."""
    fields = dataclasses.fields(config_class)
    missing = [f"--{field.name}" for field in fields if field.metadata["required"] and not values[field.name].value]
    if missing:
        raise InputError(f"missing {', '.join(missing)}; --help lists every flag")
    given = {field.name: values[field.name].value for field in fields}
    for name, value in given.items():
        if isinstance(value, str) and not _is_unicode(value):
            raise InputError(f"--{name}: {value!r} is not UTF-8; give it in UTF-8")
    return config_class(**given)


def _in_words(message: str) -> str:
    """Returns absl's message on a flag's value in the style of the others."""
    found = re.match(
        r"flag (--\w+)=(.*?): (?=\(?'?(Non-boolean|invalid literal for int|could not convert|value should be one of))", message
    )
    if found is None:
        return message.removeprefix("ERROR:: ")  # of a flagfile
    wanted = {"Non-boolean": "true or false", "invalid literal for int": "a whole number", "could not convert": "a number"}
    choices = re.search(r"one of <(.*)>", message)
    return f"{found[1]} is {found[2]!r}; give {wanted.get(found[3]) or 'one of ' + ', '.join(choices[1].split('|'))}"


def parse_nested(config_class: type, scripts: Mapping[str, type], argv: list[str]) -> tuple[Any, Any] | None:
    """Returns the config of a command line that holds another one, and that of the other; None where --help asks for help.

    The flags that are not the outer config's are those of the script that its field `script` names, before or behind a `--`.

    Args:
      config_class: The outer config.
      scripts: The inner configs, by script.
      argv: The command line.

    Raises:
      InputError: As `parse`.
    """
    values = define_flags(config_class)
    values.set_gnu_getopt()  # own flags are found behind the script's too
    try:
        rest = [part for part in values(argv, known_only=True)[1:] if part != "--"]
    except flags.Error as error:
        raise InputError(_in_words(one_line(error))) from error
    if values["help"].value:
        return None
    outer = _config_of(values, config_class)
    # a sweep trains and evaluates, and says itself where each run goes
    inner = parse(scripts[outer.script], [argv[0], *rest, f"--output_dir={outer.output_dir}", "--do_train", "--do_eval"])
    return None if inner is None else (outer, inner)


def _is_unicode(text: str) -> bool:
    """Returns whether the text was UTF-8 on the command line: what was not arrives as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def run_script(
    config_class: type, workflow: str, doc: str | None, argv: list[str] | None = None, scripts: Mapping[str, type] | None = None
) -> None:
    """Parses the command line, runs the workflow and exits.

    TensorFlow is imported only after the flags have been read, so --help and mistakes in flags answer at once.

    Args:
      config_class: The dataclass whose fields are the flags.
      workflow: Name of a module in bert_tf.workflows with `run(config)`, or, dotted, of one anywhere.
      doc: The script's docstring, shown by --help.
      argv: The command line, `sys.argv` by default.
      scripts: Where it holds another one: as `parse_nested` takes it; the workflow's `run` takes both configs.
    """
    argv = sys.argv if argv is None else argv
    end_with_parent()
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    _show_messages()
    try:
        configs = (parse(config_class, argv),) if scripts is None else parse_nested(config_class, scripts, argv)
        if configs is None or configs[0] is None:
            print(f"{(doc or '').strip()}\n\nFlags:\n{_help(config_class)}")
            sys.exit(0)
        if getattr(configs[-1], "compile_cache_dir", ""):
            keep_compiled(configs[-1].compile_cache_dir)
        with without_startup_chatter():
            module = importlib.import_module(workflow if "." in workflow else f"bert_tf.workflows.{workflow}")
        python_logging.getLogger("tensorflow").setLevel(python_logging.ERROR)
        signal.signal(signal.SIGTERM, _stop)
        module.run(*configs)
    except InputError as error:
        _fail(_with_dashes(str(error), config_class, *(scripts or {}).values()))
    except Preempted as stop:
        print(stop, file=sys.stderr)
        sys.exit(PREEMPTED_EXIT_CODE)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}")
    except Exception as error:
        # tf.io.gfile reports missing files and permissions as its own errors; they too are the user's to mend.
        if type(error).__name__ in ("NotFoundError", "PermissionDeniedError", "FailedPreconditionError") and _is_tensorflow(error):
            _fail(one_line(error))
        if type(error).__name__ in ("UnavailableError", "AbortedError") and _is_tensorflow(error):
            print(
                f"a worker or the TPU went away ({one_line(error)[:200]}); start all workers again with the same command", file=sys.stderr
            )
            sys.exit(PREEMPTED_EXIT_CODE)
        if type(error).__name__ == "ResourceExhaustedError" and _DISK_FULL in str(error):
            _fail(f"{one_line(error)[:300]}: make room, then start the same command again")
        if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
            _fail(
                f"out of memory ({one_line(error)[:200]}); in training, --auto_batch, --gradient_accumulation_steps=2 (4, 8, ...) and "
                "--recompute need less and change no result; else give a smaller batch size of what was running, --max_seq_length or model"
            )
        raise


def _stop(number: int, frame: FrameType | None) -> None:
    """Ends a script that is told to, wherever it is, as an exception does: what is half-written is removed."""
    raise Preempted("stopped by SIGTERM; start the same command again")


def _with_dashes(message: str, *config_classes: type) -> str:
    """Returns the message with the configs' fields named as the flags they come from.

    A name of several words is nothing else; one of a single word, as `precision`, is a flag where the message begins with it.
    """
    names = {field.name for config_class in config_classes for field in dataclasses.fields(config_class)}
    several = "|".join(sorted((name for name in names if "_" in name), key=len, reverse=True))
    message = re.sub(rf"(?<![\w./='\"-])({several})(?![\w./='\"])", r"--\1", message) if several else message
    return f"--{message}" if message.split(" ", 1)[0] in names else message


class _PlainFormatter(python_logging.Formatter):
    """A message as it is; a warning says that it is one."""

    def format(self, record: python_logging.LogRecord) -> str:
        text = record.getMessage()
        return f"warning: {text}" if record.levelno >= python_logging.WARNING else text


def _show_messages() -> None:
    """Sends the workflows' messages to standard error as plain lines."""
    handler = python_logging.StreamHandler()
    handler.setFormatter(_PlainFormatter())
    handler.addFilter(lambda record: not _is_foreign(record))
    logger = logging.get_absl_logger()
    logger.handlers, logger.propagate = [handler], False
    # through absl: a SavedModel being saved sets the level back to the one that absl knows of
    logging.set_verbosity(logging.INFO)


def _is_foreign(record: python_logging.LogRecord) -> bool:
    """Returns whether TensorFlow's or TensorFlow Datasets' own code wrote the message: they use the same logger."""
    modules = [sys.modules[name] for name in ("tensorflow", "tensorflow_datasets") if name in sys.modules]
    return any(record.pathname.startswith(os.path.dirname(module.__file__) + os.sep) for module in modules)


def _help(config_class: type) -> str:
    lines = []
    for field in dataclasses.fields(config_class):
        default = "required" if field.metadata["required"] else f"default: {field.default}"
        choices = f" One of {', '.join(field.metadata['choices'])}." if field.metadata["choices"] else ""
        lines.append(f"  --{field.name}: {field.metadata['help']}{choices} ({default})")
    return "\n".join(lines)


def _is_tensorflow(error: Exception) -> bool:
    return type(error).__module__.startswith("tensorflow")


def _fail(message: str) -> None:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(1)
