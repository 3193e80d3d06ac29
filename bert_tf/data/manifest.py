"""The manifest beside a file of records: how it was made, from what, and what came out.

Each record file has its own, `<file>.manifest.json`, so that any choice of files, moved wherever, can be checked before training. It
appears after its records; records without one are fit to read and are checked from the first of them
(`records.check_first_record`).
"""

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from bert_tf.data.files import atomic_write
from bert_tf.errors import InputError

SUFFIX = ".manifest.json"
FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    """What is known of one record file.

    Attributes:
      record_file: The record file's path.
      content: The JSON object: format, file (name, number, of, examples), flags, vocabulary (path, sha256, size, do_lower_case),
        counts and observed rates of the whole set that the file is part of.
    """

    record_file: str
    content: Mapping[str, Any]

    def __post_init__(self):
        numbers = ("flags", "max_seq_length"), ("flags", "max_predictions_per_seq"), ("vocabulary", "size"), ("file", "examples")
        for group, name in numbers:
            value = self.content.get(group, {}).get(name) if isinstance(self.content.get(group), dict) else None
            if not isinstance(value, int):
                raise InputError(f"{self.path}: {group}.{name} is {value!r}, no number; make the data again, or remove this file")
        for name, kinds in (("sha256", (str,)), ("path", (str, type(None))), ("do_lower_case", (bool, type(None)))):
            value = self.content["vocabulary"].get(name)
            if not isinstance(value, kinds):
                raise InputError(f"{self.path}: vocabulary.{name} is {value!r}; make the data again, or remove this file")

    @property
    def path(self) -> str:
        """The manifest's own path."""
        return manifest_path(self.record_file)

    @property
    def num_examples(self) -> int:
        """Number of records in the file."""
        return self.content["file"]["examples"]

    @property
    def kind(self) -> str | None:
        """The name of the kind of the records, where it is told."""
        return self.content.get("kind")

    def check_against(
        self,
        *,
        max_seq_length: int,
        max_predictions_per_seq: int | None,
        use_nsp: bool,
        model_vocab_size: int | None = None,
        vocab_sha256: str | None = None,
    ) -> None:
        """Checks that a training run fits the records.

        Args:
          max_seq_length: The run's flag.
          max_predictions_per_seq: The run's flag; None where the records hold no masks.
          use_nsp: The run's flag.
          model_vocab_size: vocab_size of the model's config.
          vocab_sha256: `Vocabulary.sha256` of the run's vocabulary, where it has one.

        Raises:
          InputError: What differs, with both values.
        """
        flags, vocabulary = self.content["flags"], self.content["vocabulary"]
        asked = {"max_seq_length": max_seq_length, "max_predictions_per_seq": max_predictions_per_seq}
        for name, value in asked.items():
            if value is not None and flags[name] != value:
                raise InputError(
                    f"{self.record_file}: made with --{name}={flags[name]}, but --{name} says {value}; "
                    f"give --{name}={flags[name]} or make the data again"
                )
        if use_nsp and flags.get("use_nsp") is False:
            raise InputError(f"{self.record_file}: made with --use_nsp=false, so it has no next sentences to learn; give --use_nsp=false")
        if model_vocab_size is not None and vocabulary["size"] > model_vocab_size:
            raise InputError(
                f"{self.record_file}: made with a vocabulary of {vocabulary['size']} pieces ({vocabulary.get('path')}), but the model's "
                f"vocab_size is {model_vocab_size}; give the bert_config.json of that vocabulary or make the data again"
            )
        made_with = vocabulary.get("sha256")
        if vocab_sha256 is not None and made_with is not None and made_with != vocab_sha256:
            raise InputError(
                f"{self.record_file}: made with another vocabulary ({vocabulary.get('path')}, sha256 {made_with[:12]}) than the run's "
                f"(sha256 {vocab_sha256[:12]}); give that vocabulary or make the data again"
            )


def is_manifest(path: str) -> bool:
    """Returns whether the path is a manifest's, as a glob over record files may find it."""
    return path.endswith(SUFFIX)


def manifest_path(record_file: str) -> str:
    """Returns where the manifest of a record file is."""
    return record_file + SUFFIX


def read_manifest(record_file: str) -> Manifest | None:
    """Returns the manifest beside a record file, or None where there is none.

    Raises:
      InputError: It is there and is no manifest.
    """
    path = manifest_path(record_file)
    if not tf.io.gfile.exists(path):
        return None
    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            content = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON ({error}); make the data again, or remove this file") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path}: is no manifest of format {FORMAT}; make the data again, or remove this file")
    return Manifest(record_file, content)


def write_manifests(record_files: Sequence[str], num_examples: Sequence[int], content: Mapping[str, Any]) -> None:
    """Writes a manifest beside each record file: its own number of examples, and the content that all share."""
    for number, (path, count) in enumerate(zip(record_files, num_examples)):
        own = {"name": os.path.basename(path), "number": number, "of": len(record_files), "examples": count}
        text = json.dumps({"format": FORMAT, "file": own, **content}, indent=2, ensure_ascii=False)
        with atomic_write(manifest_path(path)) as file:
            file.write(text + "\n")


def remove_manifests(record_files: Sequence[str]) -> None:
    """Removes the manifests of records that are about to be replaced, so that none outlives its records."""
    for path in record_files:
        with contextlib.suppress(tf.errors.NotFoundError):
            tf.io.gfile.remove(manifest_path(path))
