"""Puts a checkpoint's arrays into a model, and reports every variable that was read, is missing, or has no use here."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import keras
import numpy as np

from bert_tf.convert import huggingface, tf1
from bert_tf.convert.files import find_checkpoint
from bert_tf.convert.names import is_encoder
from bert_tf.convert.source import SourceWeights
from bert_tf.errors import InputError

# Names listed in the text of a report or an error before "and N more".
_LISTED = 8

# Encoder tables whose first axis is a field of the config: how to say so.
_TABLES = {
    "bert/embeddings/word_embeddings": ("a vocabulary of {} pieces", "vocab_size"),
    "bert/embeddings/position_embeddings": ("a table of {} positions", "max_position_embeddings"),
    "bert/embeddings/token_type_embeddings": ("a table of {} segments", "type_vocab_size"),
}


@dataclass(frozen=True)
class LoadReport:
    """What became of every variable.

    Attributes:
      source: The file.
      read: Our paths of the variables that now hold the file's values.
      missing: Our paths of the model's variables that keep their initial values.
      unused: Names in the file that the model has no place for. Optimizer slots and second copies do not count.
      other_heads: Those of them that belong to heads which the model does not have, as is to be expected.
      fresh_heads: By head, why it keeps its initial values.
      step: How many steps the file says that it was trained for.
    """

    source: str
    read: tuple[str, ...]
    missing: tuple[str, ...]
    unused: tuple[str, ...]
    other_heads: tuple[str, ...]
    fresh_heads: Mapping[str, str]
    step: int = 0

    def __str__(self):
        """Returns the report as a few lines."""
        encoder = sum(is_encoder(path) for path in self.read)
        heads = _heads(path for path in self.read if not is_encoder(path))
        parts = [f"{encoder} of the encoder", *(f"{len(paths)} of the head {head}" for head, paths in heads.items())]
        lines = [f"{self.source}: read {len(self.read)} variables ({', '.join(parts)})"]
        lines += [f"  head {head} starts from initial weights: {reason}" for head, reason in self.fresh_heads.items()]
        lost = [path for path in self.missing if is_encoder(path)]
        if lost:
            lines.append(f"  missing, so left at initial weights ({len(lost)}): {_listed(lost)}")
        if self.other_heads:
            lines.append(f"  in the file too, for other tasks: {len(self.other_heads)} variables")
        surprising = [name for name in self.unused if name not in self.other_heads]
        if surprising:
            lines.append(f"  in the file but not used ({len(surprising)}): {_listed(surprising)}")
        return "\n".join(lines)


def open_source(path: str | os.PathLike[str]) -> SourceWeights:
    """Returns the variables of the checkpoint that the path means: a run directory, a TF1 prefix, a Hugging Face directory."""
    files = find_checkpoint(path)
    return huggingface.read(files.weights) if files.is_huggingface else tf1.read(files.weights)


def load_weights(
    model: keras.Model, source: SourceWeights | str | os.PathLike[str], allow_partial: bool = False, need_heads: bool = False
) -> LoadReport:
    """Copies the file's values into the model and returns what became of each variable.

    The encoder must come whole. A head comes whole too, or stays as it is: where the file has not all of its variables, or has them
    for another number of labels. Names and shapes are checked before anything is copied.

    Args:
      model: An encoder, or one of our models with an encoder in it.
      source: What `open_source` returns, or the path that it takes.
      allow_partial: Whether the encoder may miss variables, which then keep their initial values, or layers of the file go unused.
      need_heads: Whether the heads, too, must come from the file, as for evaluating a fine-tuned model.

    Raises:
      InputError: A variable is missing or has another shape.
    """
    if not isinstance(source, SourceWeights):
        source = open_source(source)
    variables = {variable.path: variable for variable in model.weights}
    encoder = [path for path in variables if is_encoder(path)]
    _check_encoder(source, variables, encoder, allow_partial)
    read = [path for path in encoder if path in source.names]
    fresh_heads = {}
    for head, paths in _heads(path for path in variables if not is_encoder(path)).items():
        reason = _why_fresh(source, variables, paths)
        if reason is None:
            read += paths
        elif need_heads:
            raise InputError(f"{source.path}: the head {head} cannot be read: {reason}; give a checkpoint that was trained for this task")
        else:
            fresh_heads[head] = reason
    for path in read:
        array = source.read(path)
        if np.issubdtype(array.dtype, np.integer):
            raise InputError(f"{source.path}: {source.names[path]} holds {array.dtype} numbers; quantized files cannot be read")
        if not np.isfinite(array.astype(np.float32)).all():
            raise InputError(f"{source.path}: {source.names[path]} holds numbers that are not finite; give a sound checkpoint")
        variables[path].assign(np.asarray(array, np.float32))
    done = set(read)
    unused = {path: name for path, name in source.names.items() if path not in done}
    other_heads = tuple(sorted(name for path, name in unused.items() if not is_encoder(path)))
    missing = tuple(path for path in variables if path not in done)
    every_unused = tuple(sorted([*unused.values(), *source.unclaimed]))
    return LoadReport(source.path, tuple(read), missing, every_unused, other_heads, fresh_heads, source.step)


def _check_encoder(source: SourceWeights, variables: Mapping[str, keras.Variable], encoder: list[str], allow_partial: bool) -> None:
    missing = [source.expected_name(path) for path in encoder if path not in source.names]
    if len(missing) == len(encoder):
        found = f"it has {_listed(sorted(source.unclaimed), 3)}" if source.unclaimed else "it has none of ours"
        raise InputError(f"{source.path}: holds no variable of a BERT encoder ({found}); give a BERT checkpoint")
    for path in encoder:
        if path in source.names:
            _check_shape(source, path, tuple(variables[path].shape))
    model_layers, file_layers = _num_layers(encoder), _num_layers(source.names)
    if model_layers != file_layers and not allow_partial:
        raise InputError(
            f"{source.path}: has {file_layers} layers, the config says num_hidden_layers {model_layers}; give the bert_config.json of this "
            "checkpoint, or --allow_partial to take the layers that both have"
        )
    if missing and not allow_partial:
        raise InputError(
            f"{source.path}: lacks {len(missing)} of the encoder's {len(encoder)} variables: {_listed(missing)}; give a whole checkpoint, "
            "or --allow_partial to leave these at their initial weights"
        )


def _check_shape(source: SourceWeights, path: str, expected: tuple[int, ...]) -> None:
    found = source.shapes[path]
    if found == expected:
        return
    if path in _TABLES and len(found) == len(expected) and found[1:] == expected[1:]:
        what, field = _TABLES[path]
        difference = f"holds {what.format(found[0])}, the config says {field} {expected[0]}"
    else:
        difference = f"{source.names[path]} has shape {_shape(found)}, the config makes it {_shape(expected)}"
    raise InputError(f"{source.path}: {difference}; give the bert_config.json of this checkpoint")


def _why_fresh(source: SourceWeights, variables: Mapping[str, keras.Variable], paths: list[str]) -> str | None:
    """Returns why a head with these variables cannot be read from the file, or None where it can."""
    missing = [path for path in paths if path not in source.names]
    if len(missing) == len(paths):
        return "not in the file"
    if missing:
        return f"the file lacks {_listed([source.expected_name(path) for path in missing])}"
    for path in paths:
        expected = tuple(variables[path].shape)
        if source.shapes[path] != expected:
            return f"{source.names[path]} has shape {_shape(source.shapes[path])} in the file, {_shape(expected)} in the model"
    return None


def _heads(paths: Iterable[str]) -> dict[str, list[str]]:
    """Returns head variables' paths by the head's name."""
    heads: dict[str, list[str]] = {}
    for path in paths:
        heads.setdefault(path.split("/")[0], []).append(path)
    return heads


def _num_layers(paths: Iterable[str]) -> int:
    numbers = [int(path.split("/")[1].removeprefix("layer_")) for path in paths if path.startswith("bert/layer_")]
    return max(numbers, default=-1) + 1


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _listed(names: list[str] | tuple[str, ...], most: int = _LISTED) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
