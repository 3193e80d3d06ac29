"""How much memory a step needs and has, and into how many parts a batch is cut so that it fits."""

import dataclasses

import pytest

from bert_tf.config import BertConfig
from bert_tf.training import memory
from bert_tf.training.memory import StepShape, available_bytes, micro_batches, step_bytes

BASE = BertConfig.of_size("base", 30522)
PARAMETERS = 110_000_000
SHAPE = StepShape(rows=64, seq=128, masks=20, compute_bytes=4)


def test_base_by_hand():
    # 14 x 768 + 2 x 3072 + 12 x 128 numbers of 4 bytes and 12 x 128 of 4, for each of 12 layers and 64 x 128 places
    layers = 12 * 64 * 128 * 4 * (14 * 768 + 2 * 3072 + 2 * 12 * 128)
    logits = 64 * 20 * 30522 * 16
    assert step_bytes(BASE, PARAMETERS, SHAPE) == 0.5e9 + PARAMETERS * 20 + layers + logits
    assert step_bytes(BASE, PARAMETERS, dataclasses.replace(SHAPE, accumulates=True)) == 0.5e9 + PARAMETERS * 28 + layers + logits


@pytest.mark.parametrize("change", [{"rows": 32}, {"seq": 64}, {"masks": 10}, {"recompute": True}])
def test_less_goes_through_less_is_held(change):
    assert step_bytes(BASE, PARAMETERS, dataclasses.replace(SHAPE, **change)) < step_bytes(BASE, PARAMETERS, SHAPE)


@pytest.mark.parametrize("count", [1, 2, 4, 16, 64])
def test_the_fewest_parts_that_fit(count):
    free = step_bytes(BASE, PARAMETERS, dataclasses.replace(SHAPE, rows=64 // count, accumulates=count > 1))
    assert micro_batches(BASE, PARAMETERS, SHAPE, free) == count
    assert micro_batches(BASE, PARAMETERS, SHAPE, free - 1) == min(2 * count, 64), "one byte less, and the next divisor of 64 it is"


def test_parts_are_equal():
    sixty = dataclasses.replace(SHAPE, rows=60)
    three = step_bytes(BASE, PARAMETERS, dataclasses.replace(SHAPE, rows=20, accumulates=True))
    assert micro_batches(BASE, PARAMETERS, sixty, three) == 3
    assert micro_batches(BASE, PARAMETERS, dataclasses.replace(SHAPE, rows=62), three) == 31, "not 4, which does not divide 62"


def test_what_is_free_is_less_than_there_is():
    free = available_bytes()
    assert free is None or 1e8 < free < 1e14


def test_a_containers_limit_counts(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   4000000 kB\n")
    (tmp_path / "max").write_text("3000000000\n")
    (tmp_path / "current").write_text("1000000000\n")
    monkeypatch.setattr(memory, "_MEMORY_INFO", str(tmp_path / "meminfo"))
    (tmp_path / "stat").write_text("anon 900000000\ninactive_file 250000000\n")
    monkeypatch.setattr(memory, "_LIMITS", (tuple(str(tmp_path / name) for name in ("max", "current", "stat")),))
    assert available_bytes() == 2.25e9
    (tmp_path / "max").write_text("max\n")
    assert available_bytes() == 4_000_000 * 1024
    monkeypatch.setattr(memory, "_MEMORY_INFO", str(tmp_path / "none"))
    assert available_bytes() is None
