"""TriviaQA's JSON and documents -> SQuAD's JSON."""

import json
import os
from typing import Any

from absl import logging

from bert_tf.config import TriviaQaConfig
from bert_tf.data.files import atomic_write, output_files
from bert_tf.data.json_files import read_bytes, read_json
from bert_tf.errors import InputError
from bert_tf.squad.trivia_qa import ConversionCounts, convert


def run(config: TriviaQaConfig) -> dict[str, int]:
    """Returns how many questions were read, and how many documents were kept and left out; writes the file.

    Raises:
      InputError: A file that cannot be read or written, or not one document that answers its question.
    """
    outputs = output_files(config.output_file, "output_file", [config.input_file])
    if len(outputs) > 1:
        raise InputError(f"--output_file: names {len(outputs)} files; give one")
    content = read_json(config.input_file, "give one of TriviaQA's JSON files")
    counts = ConversionCounts()
    paragraphs = list(convert(content, config.input_file, lambda path: _read(config.evidence_dir, path), config.max_words, counts))
    if counts.missing:
        logging.warning(
            "%s: %d documents are not there (the first: %s); their questions are left out",
            *(config.evidence_dir, counts.missing, counts.first_missing),
        )
    if not paragraphs:
        raise InputError(
            f"{config.input_file}: of {counts.questions} questions none has a document in --evidence_dir that answers it; give TriviaQA's "
            "folder evidence, which holds wikipedia and web"
        )
    squad: dict[str, Any] = {"version": "1.1", "data": [{"title": os.path.basename(config.input_file), "paragraphs": paragraphs}]}
    with atomic_write(outputs[0]) as file:
        file.write(json.dumps(squad, ensure_ascii=False) + "\n")
    logging.info(
        "%s: %d contexts of %d questions; %d documents left out, as no name of the answer is in their first %d words",
        *(outputs[0], counts.kept, counts.questions, counts.without_answer, config.max_words),
    )
    return {name: getattr(counts, name) for name in ("questions", "kept", "without_answer", "missing")}


def _read(folder: str, path: str) -> str | None:
    """Returns a document's text, or None where it is not there; bytes that are not UTF-8 are left out."""
    full = os.path.join(folder, path)
    try:
        return read_bytes(full).decode("utf-8", errors="ignore")
    except InputError:
        return None
