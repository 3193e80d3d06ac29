import json

import pytest

from bert_tf.data.manifest import Manifest, is_manifest, read_manifest, remove_manifests, write_manifests
from bert_tf.errors import InputError

CONTENT = {
    "flags": {"max_seq_length": 64, "max_predictions_per_seq": 10, "use_nsp": True},
    "vocabulary": {"path": "vocab.txt", "size": 8000, "sha256": "abcdef0123456789"},
}
FITTING = dict(max_seq_length=64, max_predictions_per_seq=10, use_nsp=True, model_vocab_size=8000, vocab_sha256="abcdef0123456789")


@pytest.fixture
def manifest(tmp_path) -> Manifest:
    path = str(tmp_path / "a.tfrecord")
    write_manifests([path], [17], CONTENT)
    return read_manifest(path)


def test_each_file_has_its_own(tmp_path):
    paths = [str(tmp_path / name) for name in ("a.tfrecord", "b.tfrecord")]
    write_manifests(paths, [3, 2], CONTENT)
    assert [read_manifest(path).num_examples for path in paths] == [3, 2]
    assert read_manifest(paths[1]).content["file"] == {"name": "b.tfrecord", "number": 1, "of": 2, "examples": 2}
    assert [is_manifest(path) for path in sorted(map(str, tmp_path.iterdir()))] == [True, True]
    assert not is_manifest(paths[0])


def test_records_without_one(tmp_path):
    assert read_manifest(str(tmp_path / "a.tfrecord")) is None


def test_removed_before_the_records_are_replaced(tmp_path):
    paths = [str(tmp_path / name) for name in ("a", "b")]
    write_manifests(paths[:1], [1], CONTENT)
    remove_manifests(paths)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [{}, {"use_nsp": False}, {"model_vocab_size": 8008}, {"model_vocab_size": None}, {"vocab_sha256": None}])
def test_a_fitting_run_passes(manifest, change):
    assert manifest.check_against(**(FITTING | change)) is None, "what does not fit raises"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"max_seq_length": 128}, "made with --max_seq_length=64, but --max_seq_length says 128; give --max_seq_length=64"),
        ({"max_predictions_per_seq": 20}, "--max_predictions_per_seq=10, but --max_predictions_per_seq says 20"),
        ({"model_vocab_size": 7999}, "vocabulary of 8000 pieces .* vocab_size is 7999"),
        ({"vocab_sha256": "0123456789abcdef"}, "another vocabulary .*sha256 abcdef012345\\).*\\(sha256 0123456789ab"),
    ],
)
def test_another_run_is_refused_with_both_values(manifest, change, words):
    with pytest.raises(InputError, match=f"{manifest.record_file}: .*{words}"):
        manifest.check_against(**(FITTING | change))


def test_records_without_next_sentences_train_none(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    write_manifests([path], [1], CONTENT | {"flags": CONTENT["flags"] | {"use_nsp": False}})
    read_manifest(path).check_against(**(FITTING | {"use_nsp": False}))
    with pytest.raises(InputError, match="--use_nsp=false"):
        read_manifest(path).check_against(**FITTING)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1}',
        '{"format": 1, "flags": 3}',
        json.dumps({"format": 1, "flags": {"max_seq_length": "64"}}),
    ],
)
def test_what_is_no_manifest_is_named(tmp_path, text):
    (tmp_path / "a.tfrecord.manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"a\.tfrecord\.manifest\.json: .*make the data again, or remove this file"):
        read_manifest(str(tmp_path / "a.tfrecord"))


@pytest.mark.parametrize(
    "change",
    [{"sha256": 5}, {"path": ["x"]}, {"do_lower_case": "yes"}, {"sha256": None}, {"size": "8000"}],
    ids=lambda change: next(iter(change)),
)
def test_a_vocabulary_that_is_not_described_is_named(tmp_path, change):
    path = str(tmp_path / "a.tfrecord")
    write_manifests([path], [1], CONTENT | {"vocabulary": CONTENT["vocabulary"] | change})
    with pytest.raises(InputError, match=rf"a\.tfrecord\.manifest\.json: vocabulary\.{next(iter(change))} is .*; make the data again"):
        read_manifest(path)


def test_deep_rubbish_is_named(tmp_path):
    (tmp_path / "a.tfrecord.manifest.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"a\.tfrecord\.manifest\.json: not valid JSON"):
        read_manifest(str(tmp_path / "a.tfrecord"))


def test_binary_rubbish_is_named(tmp_path):
    (tmp_path / "a.tfrecord.manifest.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"a\.tfrecord\.manifest\.json"):
        read_manifest(str(tmp_path / "a.tfrecord"))
