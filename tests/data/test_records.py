"""TFRecord files: written whole or not at all, read at any record, and told apart from what is none."""

import gzip
import os
import re

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data.records import (
    RecordFile,
    check_first_record,
    fingerprint,
    misfit,
    parse_spec,
    serialize,
    write_records,
)
from bert_tf.data.schema import CLASSIFICATION, PRETRAINING
from bert_tf.errors import InputError

not_as_root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root may read and write everything")

# Lengths that matter to the framing: none, one byte, and more than a buffer.
RECORDS = [b"", b"a", bytes(range(256)) * 600, b"\0\0", b"\x1f\x8b\x08"] + [b"record %d" % number for number in range(40)]
AXES = {"seq": 4, "masks": 2}
FLAGS = {"seq": "max_seq_length", "masks": "max_predictions_per_seq"}
FEATURES = {
    "input_ids": [2, 7, 3, 0],
    "input_mask": [1, 1, 1, 0],
    "segment_ids": [0, 0, 1, 0],
    "masked_lm_positions": [1, 0],
    "masked_lm_ids": [9, 0],
    "masked_lm_weights": [1.0, 0.0],
    "next_sentence_labels": [1],
}


def write(path, records, compress=False):
    write_records([str(path)], records, compress)
    return str(path)


def read_all(path):
    file = RecordFile(str(path))
    return file.read(np.arange(len(file)))


def one_line(caught):
    return "\n" not in str(caught.value)


@pytest.mark.parametrize("compress", [False, True])
def test_round_trip_and_tensorflows_own_reader(tmp_path, compress):
    path = write(tmp_path / "a.tfrecord", RECORDS, compress)
    assert read_all(path) == RECORDS
    dataset = tf.data.TFRecordDataset(path, compression_type="GZIP" if compress else None)
    assert list(dataset.as_numpy_iterator()) == RECORDS


@pytest.mark.parametrize("compress", [False, True])
def test_any_records_in_ascending_order(tmp_path, compress):
    file = RecordFile(write(tmp_path / "a.tfrecord", RECORDS, compress))
    assert len(file) == len(RECORDS)
    rng = np.random.default_rng(1)
    for count in (1, 2, 3, 20, len(RECORDS)):
        numbers = np.sort(rng.choice(len(RECORDS), count, replace=False))
        assert file.read(numbers) == [RECORDS[number] for number in numbers]


def test_two_gzip_files_put_together(tmp_path):
    """H10: all members are read."""
    first = write(tmp_path / "a", RECORDS[:5], compress=True)
    second = write(tmp_path / "b", RECORDS[5:], compress=True)
    both = tmp_path / "both"
    both.write_bytes((tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes())
    assert read_all(both) == read_all(first) + read_all(second) == RECORDS


def test_two_plain_files_put_together(tmp_path):
    write(tmp_path / "a", RECORDS[:5])
    write(tmp_path / "b", RECORDS[5:])
    (tmp_path / "both").write_bytes((tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes())
    assert read_all(tmp_path / "both") == RECORDS


def test_a_plain_file_that_begins_like_gzip(tmp_path):
    # the length comes first in the file: 0x8b1f bytes, in little endian 1f 8b
    records = [b"x" * 0x8B1F, b"y"]
    assert read_all(write(tmp_path / "a", records)) == records


def test_a_plain_file_cut_anywhere_is_refused(tmp_path):
    whole = write(tmp_path / "a", RECORDS[:2] + RECORDS[3:6])
    content = (tmp_path / "a").read_bytes()
    starts = set(RecordFile(whole).starts)
    cut = tmp_path / "cut"
    for size in range(len(content)):
        cut.write_bytes(content[:size])
        if size in starts - {0}:
            assert len(RecordFile(str(cut))) == sorted(starts).index(size)
            continue
        with pytest.raises(InputError, match=re.escape(str(cut))) as caught:
            RecordFile(str(cut))
        assert one_line(caught) and str(caught.value).endswith("make it again")


def test_a_gzip_file_cut_in_its_second_member_is_refused(tmp_path):
    write(tmp_path / "a", RECORDS[:5], compress=True)
    write(tmp_path / "b", RECORDS[5:], compress=True)
    content = (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes()
    cut = tmp_path / "cut"
    for missing in (1, 8, 20, len((tmp_path / "b").read_bytes()) - 3):
        cut.write_bytes(content[:-missing])
        with pytest.raises(InputError, match=f"{re.escape(str(cut))}: damaged or cut gzip file.*make it again") as caught:
            RecordFile(str(cut))
        assert one_line(caught)


def test_a_gzip_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"It is a text, and no TFRecord.\n"))
    with pytest.raises(InputError, match=r"a\.gz: is not a TFRecord file"):
        RecordFile(str(path))
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(InputError, match=r"a\.gz: is empty"):
        RecordFile(str(path))


@pytest.mark.parametrize(
    "content, message", [(b"", "is empty"), (b"It is a text.\n" * 9, "is not a TFRecord file"), (b"\xff" * 99, "is not")]
)
def test_no_tfrecord_file(tmp_path, content, message):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.tfrecord: {message}.*make it again"):
        RecordFile(str(path))


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    for path in (tmp_path / "nowhere", tmp_path, tmp_path / "file" / "under"):
        with pytest.raises(InputError, match=f"{re.escape(str(path))}: cannot be read") as caught:
            RecordFile(str(path))
        assert one_line(caught)


@not_as_root
def test_a_file_that_may_not_be_read(tmp_path):
    path = write(tmp_path / "a", RECORDS)
    os.chmod(path, 0)
    with pytest.raises(InputError, match=f"{re.escape(path)}: cannot be read"):
        RecordFile(path)


def test_a_file_that_vanishes_or_shrinks_while_it_is_used(tmp_path):
    path = write(tmp_path / "a", RECORDS)
    file = RecordFile(path)
    os.truncate(path, int(file.starts[-1]) - 1)
    assert file.read(np.arange(3)) == RECORDS[:3]
    with pytest.raises(InputError, match=rf"{re.escape(path)}: ends within record {len(RECORDS) - 1}; the file changed"):
        file.read(np.arange(len(file)))
    os.remove(path)
    with pytest.raises(InputError, match=f"{re.escape(path)}: cannot be read"):
        file.read(np.arange(1))


@pytest.mark.parametrize("compress", [False, True])
def test_a_flipped_bit_is_named_by_its_record(tmp_path, compress):
    """In whatever byte of a frame: the length, its checksum, the payload, its checksum."""
    records = [b"abc", b"defgh", b"ij"]
    path = write(tmp_path / "a", records)
    content = bytearray((tmp_path / "a").read_bytes())
    starts = RecordFile(path).starts
    for place in range(starts[1], starts[2]):
        content[place] ^= 4
        (tmp_path / "b").write_bytes(gzip.compress(content) if compress else content)
        content[place] ^= 4
        with pytest.raises(InputError, match=r"b: (record 1 is damaged .*checksum.*|ends within record 1); make (it|the file) again"):
            RecordFile(str(tmp_path / "b")).read(np.arange(3))


def test_checksums_are_tensorflows(tmp_path):
    """A payload of every length up to 300: TensorFlow writes, we verify; and the other way round in the round trip above."""
    records = [bytes(range(256))[:size] * 2 for size in range(150)]
    with tf.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        for record in records:
            writer.write(record)
    assert read_all(str(tmp_path / "a")) == records


@pytest.mark.parametrize("compress", [False, True])
def test_the_fingerprint_is_of_the_content(tmp_path, compress):
    def made(name, records):
        return RecordFile(write(tmp_path / name, records, compress=compress))

    first, same, last, order = made("a", [b"ab", b"c"]), made("b", [b"ab", b"c"]), made("c", [b"ab", b"d"]), made("d", [b"c", b"ab"])
    assert first.fingerprint == same.fingerprint
    assert len({first.fingerprint, last.fingerprint, order.fingerprint}) == 3
    assert fingerprint([first, last]) == fingerprint([same, last]) != fingerprint([last, first])


def test_the_first_record_that_does_not_fit(tmp_path):
    good = {"input_ids": [1, 2], "input_mask": [1, 1], "segment_ids": [0, 0], "label_ids": 1, "is_real_example": 1}
    records = [serialize(good, CLASSIFICATION)] * 3
    fitting = RecordFile(write(tmp_path / "a", records))
    assert misfit([fitting], CLASSIFICATION, {"seq": 2}) is None
    bad = RecordFile(write(tmp_path / "b", [*records, serialize(good | {"input_ids": [1]}, CLASSIFICATION)]))
    assert re.search(r"b: record 3 does not fit the others \(Key: input_ids", misfit([fitting, bad], CLASSIFICATION, {"seq": 2}))
    text = RecordFile(write(tmp_path / "c", [records[0], b"a text"]))
    assert re.search(r"c: record 1 does not fit the others", misfit([text], CLASSIFICATION, {"seq": 2}))


# Writing


def test_records_go_round_the_files_in_turn(tmp_path):
    paths = [str(tmp_path / "new" / name) for name in "abc"]
    assert write_records(paths, iter(RECORDS)) == [15, 15, 15]
    for number, path in enumerate(paths):
        assert read_all(path) == RECORDS[number::3]
    assert sorted(os.listdir(tmp_path / "new")) == ["a", "b", "c"]


def test_a_failure_while_records_are_made_leaves_the_old_files(tmp_path):
    def records():
        yield from RECORDS
        raise ValueError("no more")

    paths = [write(tmp_path / "a", [b"old"]), str(tmp_path / "b")]
    with pytest.raises(ValueError, match="no more"):
        write_records(paths, records())
    assert os.listdir(tmp_path) == ["a"] and read_all(paths[0]) == [b"old"]


def test_records_that_cannot_be_written_name_the_file(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    for bad, named in ((tmp_path / "file" / "under", tmp_path / "file"), (tmp_path / "folder", tmp_path / "folder")):
        with pytest.raises(InputError, match=f"^{re.escape(str(named))}: cannot be") as caught:
            write_records([str(tmp_path / "good"), str(bad)], iter(RECORDS))
        assert one_line(caught)
        assert not [name for name in os.listdir(tmp_path) if "partial" in name]


# Features


def original_spec(seq, masks):
    """The feature spec of google-research/bert's run_pretraining.py, input_fn_builder."""
    ints = {"input_ids": seq, "input_mask": seq, "segment_ids": seq, "masked_lm_positions": masks, "masked_lm_ids": masks}
    spec = {name: tf.io.FixedLenFeature([size], tf.int64) for name, size in (ints | {"next_sentence_labels": 1}).items()}
    return spec | {"masked_lm_weights": tf.io.FixedLenFeature([masks], tf.float32)}


def test_the_originals_reader_reads_ours():
    parsed = tf.io.parse_single_example(serialize(FEATURES, PRETRAINING), original_spec(4, 2))
    assert {name: value.numpy().tolist() for name, value in parsed.items()} == FEATURES


def test_our_reader_reads_the_originals_and_ours():
    spec = parse_spec(PRETRAINING, AXES)
    parsed = tf.io.parse_example([serialize(FEATURES, PRETRAINING), serialize(FEATURES | {"is_real_example": 0}, PRETRAINING)], spec)
    assert parsed["is_real_example"].numpy().tolist() == [1, 0]
    assert parsed["input_ids"].dtype == tf.int64 and parsed["masked_lm_weights"].dtype == tf.float32


def test_the_same_features_are_the_same_bytes_whatever_their_order_and_type():
    backwards = {name: np.asarray(values) for name, values in reversed(FEATURES.items())}
    assert serialize(backwards, PRETRAINING) == serialize(FEATURES, PRETRAINING)
    one = {name: [0] * 4 for name in ("input_ids", "input_mask", "segment_ids")} | {"label_ids": 1, "is_real_example": 1}
    assert tf.train.Example.FromString(serialize(one, CLASSIFICATION)).features.feature["label_ids"].int64_list.value == [1]


def check(tmp_path, record, kind=PRETRAINING, axes=AXES):
    return check_first_record(RecordFile(write(tmp_path / "a.tfrecord", [record])), kind, axes, FLAGS)


def test_a_fitting_first_record(tmp_path):
    for more in ({}, {"is_real_example": 1}):
        assert check(tmp_path, serialize(FEATURES | more, PRETRAINING)) is None, "what does not fit raises"


@pytest.mark.parametrize(
    "axes, message",
    [
        (
            {"seq": 8, "masks": 2},
            "input_ids holds 4 numbers a record, --max_seq_length says 8; give --max_seq_length=4 or make the data again",
        ),
        ({"seq": 4, "masks": 20}, "masked_lm_positions holds 2 numbers a record, --max_predictions_per_seq says 20; give --max_pred.*=2"),
    ],
)
def test_another_length_is_told_with_both_numbers(tmp_path, axes, message):
    with pytest.raises(InputError, match=rf"a\.tfrecord: {message}") as caught:
        check(tmp_path, serialize(FEATURES, PRETRAINING), axes=axes)
    assert one_line(caught)


def test_first_records_of_another_kind(tmp_path):
    with pytest.raises(InputError, match=r"a\.tfrecord: records have no label_ids; give TFRecords made for classification"):
        check(tmp_path, serialize(FEATURES, PRETRAINING), CLASSIFICATION)
    with pytest.raises(InputError, match=r"a\.tfrecord: its first record is no tf\.train\.Example"):
        check(tmp_path, b"It is a text.")
    with pytest.raises(InputError, match=r"a\.tfrecord: records have no input_ids"):
        check(tmp_path, b"")
    with pytest.raises(InputError, match=r"a\.tfrecord: next_sentence_labels holds 2 numbers a record, 1 expected"):
        check(tmp_path, serialize(FEATURES | {"next_sentence_labels": [1, 0]}, PRETRAINING))


def test_a_feature_of_another_type(tmp_path):
    example = tf.train.Example.FromString(serialize(FEATURES, PRETRAINING))
    example.features.feature["masked_lm_weights"].int64_list.value.extend([1, 0])
    with pytest.raises(InputError, match=r"a\.tfrecord: masked_lm_weights holds int64, not float32; give TFRecords made for pretraining"):
        check(tmp_path, example.SerializeToString())
    example.features.feature["masked_lm_weights"].bytes_list.value.append(b"x")
    with pytest.raises(InputError, match=r"masked_lm_weights holds bytes, not float32"):
        check(tmp_path, example.SerializeToString())
