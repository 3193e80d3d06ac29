"""The names of every variable: ours, the original's, Hugging Face's. The only place where names change.

A row reads: our variable path | TF1 name | Hugging Face name | whether Hugging Face stores it transposed. `{n}` is a layer number.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GLOBAL_STEP = "global_step"


@dataclass(frozen=True)
class Row:
    """One variable, or one per layer where the names hold {n}. `huggingface` is without the prefix `bert.`."""

    ours: str
    tf1: str
    huggingface: str | None
    transpose: bool = False


ENCODER = (
    Row("bert/embeddings/word_embeddings", "bert/embeddings/word_embeddings", "embeddings.word_embeddings.weight"),
    Row("bert/embeddings/token_type_embeddings", "bert/embeddings/token_type_embeddings", "embeddings.token_type_embeddings.weight"),
    Row("bert/embeddings/position_embeddings", "bert/embeddings/position_embeddings", "embeddings.position_embeddings.weight"),
    Row("bert/embeddings/LayerNorm/gamma", "bert/embeddings/LayerNorm/gamma", "embeddings.LayerNorm.weight"),
    Row("bert/embeddings/LayerNorm/beta", "bert/embeddings/LayerNorm/beta", "embeddings.LayerNorm.bias"),
    *(
        row
        for part, tf1, hf in (
            ("attention/query", "attention/self/query", "attention.self.query"),
            ("attention/key", "attention/self/key", "attention.self.key"),
            ("attention/value", "attention/self/value", "attention.self.value"),
            ("attention/output", "attention/output/dense", "attention.output.dense"),
            ("intermediate", "intermediate/dense", "intermediate.dense"),
            ("output", "output/dense", "output.dense"),
        )
        for row in (
            Row(f"bert/layer_{{n}}/{part}/kernel", f"bert/encoder/layer_{{n}}/{tf1}/kernel", f"encoder.layer.{{n}}.{hf}.weight", True),
            Row(f"bert/layer_{{n}}/{part}/bias", f"bert/encoder/layer_{{n}}/{tf1}/bias", f"encoder.layer.{{n}}.{hf}.bias"),
        )
    ),
    *(
        row
        for part, place in (("attention_norm", "attention/output"), ("output_norm", "output"))
        for row in (
            Row(
                f"bert/layer_{{n}}/{part}/gamma",
                f"bert/encoder/layer_{{n}}/{place}/LayerNorm/gamma",
                f"encoder.layer.{{n}}.{place.replace('/', '.')}.LayerNorm.weight",
            ),
            Row(
                f"bert/layer_{{n}}/{part}/beta",
                f"bert/encoder/layer_{{n}}/{place}/LayerNorm/beta",
                f"encoder.layer.{{n}}.{place.replace('/', '.')}.LayerNorm.bias",
            ),
        )
    ),
    Row("bert/pooler/kernel", "bert/pooler/dense/kernel", "pooler.dense.weight", True),
    Row("bert/pooler/bias", "bert/pooler/dense/bias", "pooler.dense.bias"),
)

# Hugging Face keeps the pre-training heads beside `bert.`, under `cls.`, and a classifier under `classifier.`.
HEADS = (
    Row("masked_lm/transform/kernel", "cls/predictions/transform/dense/kernel", "cls.predictions.transform.dense.weight", True),
    Row("masked_lm/transform/bias", "cls/predictions/transform/dense/bias", "cls.predictions.transform.dense.bias"),
    Row("masked_lm/LayerNorm/gamma", "cls/predictions/transform/LayerNorm/gamma", "cls.predictions.transform.LayerNorm.weight"),
    Row("masked_lm/LayerNorm/beta", "cls/predictions/transform/LayerNorm/beta", "cls.predictions.transform.LayerNorm.bias"),
    Row("masked_lm/output_bias", "cls/predictions/output_bias", "cls.predictions.bias"),
    Row("next_sentence/output_weights", "cls/seq_relationship/output_weights", "cls.seq_relationship.weight"),
    Row("next_sentence/output_bias", "cls/seq_relationship/output_bias", "cls.seq_relationship.bias"),
    Row("classifier/output_weights", "output_weights", "classifier.weight"),
    Row("classifier/output_bias", "output_bias", "classifier.bias"),
    Row("squad/output_weights", "cls/squad/output_weights", "qa_outputs.weight"),
    Row("squad/output_bias", "cls/squad/output_bias", "qa_outputs.bias"),
    # of feature-based tagging, which neither the original nor Hugging Face has
    *(
        Row(f"tagger/{name}", f"tagger/{name}", None)
        for name in (
            *("mix/layer_weights", "mix/scale"),
            *(f"lstm_{n}/{part}" for n in (0, 1) for part in ("kernel", "recurrent_kernel", "bias")),
            *("classifier/output_weights", "classifier/output_bias"),
        )
    ),
)


def expand(num_hidden_layers: int) -> dict[str, Row]:
    """Returns every row by our variable path, with layer numbers filled in.

    `expand(1)["bert/layer_0/output/bias"].tf1` is "bert/encoder/layer_0/output/dense/bias".
    """
    rows = {}
    for row in ENCODER + HEADS:
        for n in range(num_hidden_layers) if "{n}" in row.ours else (0,):
            hf = row.huggingface.format(n=n) if row.huggingface else None
            rows[row.ours.format(n=n)] = Row(row.ours.format(n=n), row.tf1.format(n=n), hf, row.transpose)
    return rows


def tf1_name(path: str, num_hidden_layers: int) -> str:
    """Returns the original's name of the variable with our path."""
    return expand(num_hidden_layers)[path].tf1


def is_encoder(path: str) -> bool:
    """Returns whether the variable with our path belongs to the encoder, not to a head."""
    return path.startswith("bert/")


def training_state(
    variables: Sequence, m: Sequence, v: Sequence, num_hidden_layers: int, global_step: Any, frozen: Sequence = ()
) -> dict[str, Any]:
    """Returns what a checkpoint of a training run holds, by the original's names.

    Args:
      variables: The model's trainable Keras variables.
      m: Adam's first moments, in their order.
      v: Adam's second moments, in their order.
      num_hidden_layers: The encoder's number of layers.
      global_step: The step variable.
      frozen: The model's other Keras variables, which have no moments.

    Returns:
      tf.Variable by name: NAME, NAME/adam_m, NAME/adam_v for each variable, NAME for each frozen one, and global_step.
    """
    state = model_state(variables, num_hidden_layers, global_step)
    names = [name for name in state if name != GLOBAL_STEP]
    for name, first, second in zip(names, m, v, strict=True):
        state |= {f"{name}/adam_m": first, f"{name}/adam_v": second}
    return model_state(frozen, num_hidden_layers, global_step) | state


def model_state(variables: Sequence, num_hidden_layers: int, global_step: Any) -> dict[str, Any]:
    """Returns what evaluation reads of a run's checkpoint: NAME for each variable, and global_step."""
    rows = expand(num_hidden_layers)
    return {rows[variable.path].tf1: variable.value for variable in variables} | {GLOBAL_STEP: global_step}


def tf1_spellings() -> dict[str, Row]:
    """Returns every row by the names that a TF1 checkpoint may use: the original's, with or without `bert/`."""
    return {name: row for row in ENCODER + HEADS for name in (row.tf1, row.tf1.removeprefix("bert/"))}


def huggingface_spellings() -> dict[str, Row]:
    """Returns every row by the names that a Hugging Face file may use.

    The encoder's names come with or without `bert.`; LayerNorm's two may be called gamma and beta, as in files made from TF1 ones.
    """
    names = {}
    for row in ENCODER + HEADS:
        if row.huggingface is None:
            continue
        for prefix in ("bert.", "") if is_encoder(row.ours) else ("",):
            names[prefix + row.huggingface] = row
            module, _, leaf = row.huggingface.rpartition(".")
            if module.endswith("LayerNorm"):
                names[f"{prefix}{module}.{_OLD_LAYER_NORM[leaf]}"] = row
    return names


_OLD_LAYER_NORM = {"weight": "gamma", "bias": "beta"}
_LAYER_NUMBER = re.compile(r"(?<=layer[_.])(0|[1-9][0-9]*)(?=[/.])")


def claim(name: str, spellings: Mapping[str, Row]) -> tuple[str, Row] | None:
    """Returns our path of a file's variable and the row that claims it, or None where no row does; names match whole, never in part.

    `claim("encoder.layer.3.output.dense.bias", huggingface_spellings())` gives "bert/layer_3/output/bias" and its row.
    """
    number = _LAYER_NUMBER.search(name)
    template = f"{name[: number.start()]}{{n}}{name[number.end() :]}" if number else name
    row = spellings.get(template)
    if row is None:
        return None
    return (row.ours.replace("{n}", number.group()) if number else row.ours), row
