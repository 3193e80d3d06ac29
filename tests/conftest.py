"""What every test shares: where the reference data is, and quiet, repeatable TensorFlow."""

import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

ROOT = Path(__file__).resolve().parent.parent

# Golden outputs and real data sets, whose licences keep them out of this repository. A user's clone does not have them.
SHARED = Path(os.environ.get("BERT_TF_SHARED", ROOT.parent / "shared"))

needs_shared = pytest.mark.skipif(
    not (SHARED / "golden").is_dir(), reason="needs the reference data folder (BERT_TF_SHARED), which is not distributed"
)


@pytest.fixture(autouse=True)
def determinism_of_its_own():
    """Takes back what a run with `deterministic` switched on for the whole process; TensorFlow has no public way to."""
    yield
    if "tensorflow" in sys.modules:
        from tensorflow.python.framework import config

        config.disable_op_determinism()
