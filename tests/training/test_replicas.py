"""However the batch is cut, over devices or micro batches: the step of one device that sees all of it."""

import subprocess
import sys

import numpy as np
import pytest

from tests.conftest import ROOT

WAYS = [
    ("two", "one"),
    ("accumulated_2", "one"),
    ("accumulated_4", "one"),
    ("recomputed", "one"),
    ("two_lamb", "lamb"),
    ("two_fused_accumulated_2", "one"),
]


@pytest.fixture(scope="module")
def results(pretraining_file, tmp_path_factory):
    """{way: {name: array}} of twenty steps each, on batches whose examples have one to three masked positions."""
    output = tmp_path_factory.mktemp("replicas") / "results.npz"
    command = [sys.executable, "-m", "tests.training.replicas", pretraining_file.path, str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = {}
    for key, value in np.load(output).items():
        way, name = key.split("/", 1)
        found.setdefault(way, {})[name] = value
    return found


@pytest.mark.parametrize("way, reference", WAYS)
def test_losses_weights_and_scores_are_those_of_one_device(results, way, reference):
    found, expected = results[way], results[reference]
    assert not found["copies"].any(), "every device holds the same weights to the bit"
    assert any(name.startswith("scores/") for name in found) == (way == "two")
    for name in found:
        tolerance = 1e-4 if name.startswith(("weights/", "logits/")) else 1e-5
        np.testing.assert_allclose(found[name], expected[name], atol=tolerance, rtol=1e-5, err_msg=name)


def test_clipped_on_each_replica_it_is_the_mean_of_the_clipped_halves(results):
    found, expected = results["two_clipped"], results["halves"]
    norms = expected.pop("norms")
    assert norms.max() > 1 > norms.min(), "some of the gradients are to be clipped, some not"
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=1e-4 if name.startswith("weights/") else 1e-5, rtol=1e-5, err_msg=name)
    assert np.abs(found["steps/loss"] - results["two"]["steps/loss"]).max() > 1e-3, "and it is not what clipping the sum gives"


def test_the_steps_learn_something(results):
    for way in ("one", "lamb"):
        told = results[way]["steps/loss"]
        assert told[-5:].mean() < told[:5].mean() - 0.1, way
        assert not results[way]["steps/bad_step"].any()
