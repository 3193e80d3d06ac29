"""Raw text in, predictions of an exported model out."""

import json
import sys
from typing import Any

from absl import logging

from bert_tf.config import PredictConfig
from bert_tf.data.files import atomic_write, output_files
from bert_tf.data.text_files import read_lines
from bert_tf.errors import InputError
from bert_tf.serving.client import Predictor

_BATCH_SIZE = 32


def run(config: PredictConfig) -> list[dict[str, Any]]:
    """Returns one dict a text: the text, text_pair where there is one, and the model's outputs; prints them as JSON lines.

    A classifier's outputs are the label, or the labels where there may be several, and each label's probability by its name; those of a
    model that predicts numbers are `prediction`, and those of one that tags tokens `tokens`, cut at white space, and `tags`.
    """
    output = None
    if config.output_file is not None:
        outputs = output_files(config.output_file, "output_file", [config.input_file] if config.input_file is not None else [])
        if len(outputs) > 1:
            raise InputError(f"--output_file: names {len(outputs)} files; give one")
        output = outputs[0]
    rows = _rows(config)
    empty = [number for number, row in enumerate(rows, 1) if not row["text"].strip()]
    if empty:
        one = "--text is empty; what is told of it"
        several = f"{config.input_file}: {len(empty)} lines have no text (the first: line {empty[0]}); what is told of them"
        logging.warning("%s is what the model says of nothing", one if config.input_file is None else several)
    predictor = Predictor(config.saved_model)
    results: list[dict[str, Any]] = []
    for first in range(0, len(rows), _BATCH_SIZE):
        part = rows[first : first + _BATCH_SIZE]
        pairs = [row["text_pair"] for row in part] if "text_pair" in part[0] else None
        outputs = predictor.predict([row["text"] for row in part], pairs)
        results.extend(row | _named(output, predictor.labels) for row, output in zip(part, outputs))
    lines = "".join(json.dumps(result, ensure_ascii=False) + "\n" for result in results)
    if output is None:
        sys.stdout.write(lines)
    else:
        with atomic_write(output) as file:
            file.write(lines)
    return results


def _named(output: dict[str, Any], labels: list[str]) -> dict[str, Any]:
    if "tags" in output:
        return {name: output[name] for name in ("tokens", "tags")}
    if not labels:
        return output
    if len(labels) != len(output["probabilities"]):
        raise InputError(
            f"the export's labels.txt holds {len(labels)} labels, the model has {len(output['probabilities'])}; export it again"
        )
    probabilities = dict(zip(labels, output["probabilities"]))
    if "given" in output:
        return {"labels": [label for label, given in zip(labels, output["given"]) if given], "probabilities": probabilities}
    return {"label": output["label"], "probabilities": probabilities}


def _rows(config: PredictConfig) -> list[dict[str, str]]:
    """Returns the texts asked for, each as {"text": ...} or {"text": ..., "text_pair": ...}."""
    if config.text is not None:
        return [{"text": config.text} if config.text_pair is None else {"text": config.text, "text_pair": config.text_pair}]
    rows = []
    for number, line in enumerate(read_lines(config.input_file), 1):
        parts = line.split("\t")
        if len(parts) > 2 or (rows and len(parts) != len(rows[0])):
            raise InputError(
                f"{config.input_file}, line {number}: {len(parts)} tab-separated texts; give one text a line, or two throughout"
            )
        rows.append(dict(zip(("text", "text_pair"), parts)))
    if not rows:
        raise InputError(f"{config.input_file}: is empty; give a text a line")
    return rows
