"""eval_results.txt, read. Without TensorFlow, which the demo does not need."""

import os

from bert_tf.data.json_files import read_bytes
from bert_tf.errors import InputError

EVAL_RESULTS = "eval_results.txt"


def read_eval_results(folder: str) -> dict[str, float]:
    """Returns what a run's evaluation found, by name.

    Raises:
      InputError: There is no such file, or it holds something else.
    """
    path = os.path.join(folder, EVAL_RESULTS)
    content = read_bytes(path)
    try:
        return {name: float(value) for name, value in (line.split(" = ") for line in content.decode().splitlines())}
    except ValueError as error:
        raise InputError(f"{path}: is damaged ({error}); evaluate again") from error
