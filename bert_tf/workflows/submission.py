"""Fine-tuned runs -> the zip that the GLUE leaderboard takes, checked before it is written."""

import io
import os
import zipfile

import tensorflow as tf
from absl import logging

from bert_tf.config import SubmissionConfig
from bert_tf.data.files import atomic_write, output_files
from bert_tf.data.text_files import read_lines
from bert_tf.errors import InputError
from bert_tf.tasks.leaderboard import majority_lines, submission_lines
from bert_tf.tasks.spec import TaskSpec, file_of
from bert_tf.tasks.table import TASKS, find_task, is_known
from bert_tf.workflows import run_directory

# The same runs give the same bytes.
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


def run(config: SubmissionConfig) -> dict[str, int]:
    """Returns how many rows each file of the zip has, by name.

    Raises:
      InputError: A task without a run or with two, and what `submission_lines` refuses; nothing is written then.
    """
    folders = _folders(config)
    majority = [find_task(name).name for name in (config.majority_tasks or "").split(",") if name.strip()]
    outputs = output_files(config.output_file, "output_file")
    if len(outputs) > 1:
        raise InputError(f"--output_file: names {len(outputs)} files; give one")
    wanted = [spec for spec in TASKS if spec.leaderboard]
    missing = [spec.name for spec in wanted if spec.name not in folders and spec.name not in majority]
    if missing:
        raise InputError(f"--run_dirs: no run of {', '.join(missing)}; the leaderboard takes all tasks or none")
    both = next((name for name in majority if name in folders), None)
    if both is not None:
        raise InputError(f"--majority_tasks: names {both}, and --run_dirs a run of it, {folders[both]}; choose one")
    files: dict[str, list[str]] = {}
    for spec in wanted:
        files |= _files(spec, None if spec.name in majority else folders[spec.name])
    with atomic_write(outputs[0], "wb") as file:
        file.write(_zipped({name: "".join(f"{line}\n" for line in lines) for name, lines in files.items()}))
    counts = {name: len(lines) - 1 for name, lines in files.items()}
    logging.info("%s: %s", outputs[0], ", ".join(f"{name} ({count} rows)" for name, count in counts.items()))
    return counts


def _folders(config: SubmissionConfig) -> dict[str, str]:
    """Returns each run's directory by the task that it was trained for."""
    folders: dict[str, str] = {}
    for folder in (part.strip() for part in config.run_dirs.split(",")):
        if not folder:
            continue
        recorded = run_directory.recorded_config(os.path.expanduser(folder))
        name = recorded.get("task_name", "")
        if not is_known(name) or not find_task(name).leaderboard:
            raise InputError(f"{folder}: is a run of {name or 'no task'}, which is not on the leaderboard; leave it out of --run_dirs")
        task = find_task(name).name
        if task in folders:
            raise InputError(f"--run_dirs: {folders[task]} and {folder} are both runs of {task}; give one")
        folders[task] = os.path.expanduser(folder)
    return folders


def _files(spec: TaskSpec, folder: str | None) -> dict[str, list[str]]:
    """Returns the lines of the task's files, by name; without a run, of the most frequent label."""
    files = {}
    for split, wanted in spec.leaderboard.items():
        if folder is None:
            files[f"{wanted.name}.tsv"] = majority_lines(spec, wanted)
            continue
        path = os.path.join(folder, file_of("predictions.tsv", split))
        if not tf.io.gfile.exists(path):
            raise InputError(
                f"{path}: is not there, and {wanted.name}.tsv is made from it; run run_classifier.py with --do_predict and the "
                f"official test files of {spec.name}"
            )
        files[f"{wanted.name}.tsv"] = submission_lines(spec, wanted, read_lines(path), path)
    return files


def _zipped(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _ZIP_DATE), text, zipfile.ZIP_DEFLATED)
    return content.getvalue()
