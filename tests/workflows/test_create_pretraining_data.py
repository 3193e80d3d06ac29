"""create_pretraining_data: what the records hold, and how it compares with the original."""

import gzip
import hashlib
import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import chi2_contingency, chisquare

from bert_tf.config import mask_shares
from bert_tf.data.manifest import read_manifest
from bert_tf.data.records import RecordFile, check_first_record, parse_spec
from bert_tf.data.schema import PRETRAINING
from bert_tf.pretraining.masking import num_to_mask
from bert_tf.workflows import create_pretraining_data
from tests.conftest import ROOT, SHARED, needs_shared
from tests.workflows.corpus import CLS, MASK, PAD, SEP, SPECIALS, UNK, UNUSED, config_of, write_corpus

P_VALUE = 1e-3  # below it, the draw at this fixed seed would be a one-in-a-thousand event


def parse(path, max_seq_length: int, max_predictions: int) -> dict[str, np.ndarray]:
    """Reads records by nothing but the feature table of google-research/bert."""
    spec = {
        "input_ids": tf.io.FixedLenFeature([max_seq_length], tf.int64),
        "input_mask": tf.io.FixedLenFeature([max_seq_length], tf.int64),
        "segment_ids": tf.io.FixedLenFeature([max_seq_length], tf.int64),
        "masked_lm_positions": tf.io.FixedLenFeature([max_predictions], tf.int64),
        "masked_lm_ids": tf.io.FixedLenFeature([max_predictions], tf.int64),
        "masked_lm_weights": tf.io.FixedLenFeature([max_predictions], tf.float32),
        "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
    }
    records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
    return {name: values.numpy() for name, values in tf.io.parse_example(records, spec).items()}


def restored_ids(examples: dict[str, np.ndarray]) -> np.ndarray:
    """Returns the pieces as they were before masking, int64[examples, seq]."""
    ids = examples["input_ids"].copy()
    rows, slots = np.nonzero(examples["masked_lm_weights"])
    ids[rows, examples["masked_lm_positions"][rows, slots]] = examples["masked_lm_ids"][rows, slots]
    return ids


def split_pair(ids: np.ndarray, mask: np.ndarray, segments: np.ndarray) -> tuple[list[int], list[int]]:
    """Returns the pieces of A and B, without special ones."""
    text = (mask == 1) & (ids != CLS) & (ids != SEP)
    return ids[text & (segments == 0)].tolist(), ids[text & (segments == 1)].tolist()


def test_layout_of_every_example(tmp_path):
    create_pretraining_data.run(write_corpus(tmp_path, 12, 9))
    examples = parse(tmp_path / "out.tfrecord", 19, 5)
    ids = restored_ids(examples)
    for row in range(len(ids)):
        length = examples["input_mask"][row].sum()
        assert examples["input_mask"][row].tolist() == [1] * length + [0] * (19 - length)
        assert ids[row, 0] == CLS and ids[row, length - 1] == SEP
        assert np.count_nonzero(ids[row] == SEP) == 2 and np.count_nonzero(ids[row] == CLS) == 1
        first_sep = int(np.argmax(ids[row] == SEP))
        assert examples["segment_ids"][row].tolist() == [0] * (first_sep + 1) + [1] * (length - first_sep - 1) + [0] * (19 - length)
        assert not ids[row, length:].any()
        number = num_to_mask(length, 0.15, 5)
        assert examples["masked_lm_weights"][row].tolist() == [1.0] * number + [0.0] * (5 - number)
        positions = examples["masked_lm_positions"][row]
        assert positions[:number].tolist() == sorted(set(positions[:number]))
        assert not positions[number:].any() and not examples["masked_lm_ids"][row, number:].any()
        assert np.isin(ids[row, positions[:number]], [PAD, UNUSED, CLS, SEP, MASK]).sum() == 0


def test_no_sentence_on_both_sides_and_random_ones_from_elsewhere(tmp_path):
    config = write_corpus(tmp_path, 40, 12)
    changes = dict(dupe_factor=1, short_seq_prob=0.0, max_predictions_per_seq=19)
    create_pretraining_data.run(config_of(tmp_path, **changes))
    examples = parse(config.output_file, 19, 19)
    ids = restored_ids(examples)
    seen: Counter[int] = Counter()  # sentences of A and of true Bs
    for row in range(len(ids)):
        a, b = split_pair(ids[row], examples["input_mask"][row], examples["segment_ids"][row])
        assert len(a) % 4 == len(b) % 4 == 0  # whole sentences: nothing was cut
        sentences_a, sentences_b = ([(id - len(SPECIALS)) // 4 for id in side[::4]] for side in (a, b))
        assert not set(sentences_a) & set(sentences_b)
        seen.update(sentences_a)
        if examples["next_sentence_labels"][row, 0] == 0:
            assert sentences_b[0] == sentences_a[-1] + 1
            seen.update(sentences_b)
        else:
            assert sentences_a[0] // 12 != sentences_b[0] // 12
    assert len(seen) == 40 * 12 and set(seen.values()) == {1}


@pytest.mark.parametrize("mix, prob", [("0.8,0.1,0.1", 0.15), ("0.5,0.3,0.2", 0.3), ("0.2,0.2,0.6", 0.08)])
def test_shares_in_the_records_are_those_asked_for(tmp_path, mix, prob):
    config = write_corpus(tmp_path, 40, 12)
    content = create_pretraining_data.run(config_of(tmp_path, mask_mix=mix, masked_lm_prob=prob, dupe_factor=12))
    examples = parse(config.output_file, 19, 5)
    rows, slots = np.nonzero(examples["masked_lm_weights"])
    stands = examples["input_ids"][rows, examples["masked_lm_positions"][rows, slots]]
    labels = examples["masked_lm_ids"][rows, slots]
    assert not np.isin(stands, [PAD, UNUSED, UNK, CLS, SEP]).any()
    # a random piece is by chance the one that stood there
    shares, by_chance = np.array(mask_shares(mix)), 1 / (40 * 12 * 4)
    expected = shares + np.array([0, shares[2] * by_chance, -shares[2] * by_chance])
    observed = np.array([(stands == MASK).sum(), (stands == labels).sum(), ((stands != MASK) & (stands != labels)).sum()])
    assert chisquare(observed, expected * len(stands)).pvalue > P_VALUE

    random_next = int(examples["next_sentence_labels"].sum())
    num_examples = len(examples["input_ids"])
    assert chisquare([random_next, num_examples - random_next]).pvalue > P_VALUE

    manifest = content["observed"]
    num_pieces = examples["input_mask"].sum()
    assert manifest["mask_rate"] == pytest.approx(len(stands) / num_pieces, abs=1e-6)
    assert manifest["random_next_share"] == pytest.approx(random_next / num_examples, abs=1e-6)
    assert manifest["padding_rate"] == pytest.approx(1 - num_pieces / (19 * num_examples), abs=1e-6)
    assert manifest["mask_mix"][0] == pytest.approx(observed[0] / len(stands), abs=1e-6)
    assert manifest["unk_rate"] == 0


def test_running_text_without_next_sentences(tmp_path):
    config = write_corpus(tmp_path, 1, 40)  # one document will do
    content = create_pretraining_data.run(config_of(tmp_path, use_nsp=False, dupe_factor=1))
    examples = parse(config.output_file, 19, 5)
    ids = restored_ids(examples)
    assert not examples["segment_ids"].any() and not examples["next_sentence_labels"].any()
    text = [split_pair(ids[row], examples["input_mask"][row], examples["segment_ids"][row])[0] for row in range(len(ids))]
    assert sorted(id for part in text for id in part) == list(range(len(SPECIALS), len(SPECIALS) + 160))
    assert max(map(len, text)) == 17
    assert content["observed"]["random_next_share"] is None


def test_examples_go_round_the_files_and_each_has_a_manifest(tmp_path):
    write_corpus(tmp_path, 10, 10)
    single = create_pretraining_data.run(config_of(tmp_path))
    shards = [str(tmp_path / "shards" / f"{number}.tfrecord") for number in range(3)]
    create_pretraining_data.run(config_of(tmp_path, output_file=",".join(shards)))
    whole = parse(tmp_path / "out.tfrecord", 19, 5)["input_ids"]
    for number, shard in enumerate(shards):
        part = parse(shard, 19, 5)["input_ids"]
        np.testing.assert_array_equal(part, whole[number::3])
        manifest = read_manifest(shard)
        assert manifest.num_examples == len(part)
        assert manifest.content["counts"] == single["counts"]
        assert manifest.content["observed"] == single["observed"]
    assert sorted(path.name for path in (tmp_path / "shards").iterdir()) == [
        f"{number}.tfrecord{suffix}" for number in range(3) for suffix in ("", ".manifest.json")
    ]


def test_manifest_tells_what_the_records_are_made_of(tmp_path):
    config = write_corpus(tmp_path, 10, 10)
    create_pretraining_data.run(config)
    content = json.loads((tmp_path / "out.tfrecord.manifest.json").read_text())
    assert content["flags"] == {field: getattr(config, field) for field in config.__dataclass_fields__}
    digest = hashlib.sha256((tmp_path / "vocab.txt").read_bytes()).hexdigest()
    assert content["vocabulary"] == {"path": config.vocab_file, "sha256": digest, "size": 406, "do_lower_case": True}
    counts = content["counts"]
    assert {name: counts[name] for name in ("input_files", "documents", "sentences", "tokens")} == {
        "input_files": 1,
        "documents": 10,
        "sentences": 100,
        "tokens": 400,
    }
    assert counts["examples"] == content["file"]["examples"] == len(RecordFile(config.output_file))


def test_same_seed_same_bytes(tmp_path):
    write_corpus(tmp_path, 10, 10)
    digests = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        create_pretraining_data.run(config_of(tmp_path, output_file=str(tmp_path / name), random_seed=seed))
        digests.append((tmp_path / name).read_bytes())
    assert digests[0] == digests[1] != digests[2]


def test_each_pass_draws_anew(tmp_path):
    config = write_corpus(tmp_path, 10, 10)
    create_pretraining_data.run(config_of(tmp_path, dupe_factor=4))
    rows = [tuple(row) for row in parse(config.output_file, 19, 5)["input_ids"]]
    assert len(set(rows)) > 0.95 * len(rows)


def test_a_files_end_ends_a_document_and_packed_files_are_read(tmp_path):
    write_corpus(tmp_path, 4, 10)
    documents = (tmp_path / "text.txt").read_text().strip().split("\n\n")
    (tmp_path / "part0.txt").write_text(documents[0])
    (tmp_path / "part1.txt").write_text(documents[1] + "\n")
    (tmp_path / "part2.txt").write_bytes(gzip.compress((documents[2] + "\n\n").encode()) + gzip.compress(documents[3].encode()))
    whole = create_pretraining_data.run(config_of(tmp_path))
    parts = create_pretraining_data.run(config_of(tmp_path, input_file=f"{tmp_path}/part*.txt", output_file=str(tmp_path / "parts")))
    assert parts["counts"] == whole["counts"] | {"input_files": 3}
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "out.tfrecord").read_bytes()


def test_gzip_on_request_only(tmp_path):
    write_corpus(tmp_path, 10, 10)
    create_pretraining_data.run(config_of(tmp_path))
    create_pretraining_data.run(config_of(tmp_path, compress=True, output_file=str(tmp_path / "packed")))
    plain, packed = RecordFile(str(tmp_path / "out.tfrecord")), RecordFile(str(tmp_path / "packed"))
    assert (tmp_path / "packed").read_bytes().startswith(b"\x1f\x8b")
    assert plain.read(np.arange(len(plain))) == packed.read(np.arange(len(packed)))


def test_whole_words(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIALS, *"abcdef", *(f"##{letter}" for letter in "abcdef")]) + "\n")
    (tmp_path / "text.txt").write_text("abc d ef\nfed cab b\na bcd e f\n\ncab fade a\nbad be\n" * 5)
    config = config_of(tmp_path, do_whole_word_mask=True, masked_lm_prob=0.4, max_predictions_per_seq=9, dupe_factor=5)
    create_pretraining_data.run(config)
    examples = parse(config.output_file, 19, 9)
    ids, first_suffix = restored_ids(examples), len(SPECIALS) + 6
    words = 0
    for row in range(len(ids)):
        masked = set(examples["masked_lm_positions"][row][examples["masked_lm_weights"][row] == 1].tolist())
        for position in range(1, 19):
            if ids[row, position] >= first_suffix and ids[row, position - 1] not in (CLS, SEP):
                assert (position in masked) == (position - 1 in masked)
                words += position in masked
    assert words > 50


@needs_shared
@pytest.mark.parametrize("whole_word", [False, True])
def test_the_originals_records_are_read_and_ours_are_like_them(tmp_path, whole_word):
    golden = SHARED / "golden" / "pretraining"
    theirs = RecordFile(str(golden / f"original_wwm_{whole_word}.tfrecord"))
    axes = {"seq": 128, "masks": 20}
    check_first_record(theirs, PRETRAINING, axes, {"seq": "max_seq_length", "masks": "max_predictions_per_seq"})
    parsed = tf.io.parse_example(theirs.read(np.arange(len(theirs))), parse_spec(PRETRAINING, axes))
    original = {name: values.numpy() for name, values in parsed.items()}

    config = config_of(
        tmp_path,
        input_file=str(golden / "sample_text.txt"),
        vocab_file=str(SHARED / "data" / "vocab" / "uncased_vocab.txt"),
        max_seq_length=128,
        max_predictions_per_seq=20,
        dupe_factor=20,
        do_whole_word_mask=whole_word,
    )
    create_pretraining_data.run(config)
    ours = parse(config.output_file, 128, 20)

    # same number of masks for the same length, same number of examples a pass, same mix
    for examples in (original, ours):
        lengths, numbers = examples["input_mask"].sum(1), examples["masked_lm_weights"].sum(1)
        wanted = np.array([num_to_mask(int(length), 0.15, 20) for length in lengths])
        assert (numbers <= wanted).all() if whole_word else (numbers == wanted).all()
    assert len(ours["input_ids"]) / 20 == pytest.approx(len(original["input_ids"]) / 5, rel=0.2)
    mask_id = 103
    counts = []
    for examples in (original, ours):
        rows, slots = np.nonzero(examples["masked_lm_weights"])
        stands = examples["input_ids"][rows, examples["masked_lm_positions"][rows, slots]]
        labels = examples["masked_lm_ids"][rows, slots]
        counts.append([(stands == mask_id).sum(), (stands == labels).sum(), ((stands != mask_id) & (stands != labels)).sum()])
    assert chi2_contingency(counts).pvalue > P_VALUE


@needs_shared
def test_the_command_of_the_original(tmp_path):
    output = tmp_path / "tf_examples.tfrecord"
    command = [
        sys.executable,
        "create_pretraining_data.py",
        f"--input_file={SHARED / 'golden' / 'pretraining' / 'sample_text.txt'}",
        f"--output_file={output}",
        f"--vocab_file={SHARED / 'data' / 'vocab' / 'uncased_vocab.txt'}",
        "--do_lower_case=True",
        "--max_seq_length=128",
        "--max_predictions_per_seq=20",
        "--masked_lm_prob=0.15",
        "--random_seed=12345",
        "--dupe_factor=5",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(RecordFile(str(output))) > 30
    assert "3 documents" in done.stdout
