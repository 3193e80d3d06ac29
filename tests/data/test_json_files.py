"""JSON files: read without TensorFlow, and named when they cannot be."""

import pytest

from bert_tf.data.json_files import read_json
from bert_tf.errors import InputError
from tests.test_layers import run_python


def test_reads_with_and_without_a_byte_order_mark(tmp_path):
    for start in (b"", b"\xef\xbb\xbf"):
        (tmp_path / "a.json").write_bytes(start + '{"é": [1]}'.encode())
        assert read_json(str(tmp_path / "a.json"), "mend") == {"é": [1]}


@pytest.mark.parametrize(
    "content, message",
    [
        (b'{"a": ', r"a\.json: not valid JSON \(.*line 1 column 7.*\); write it again"),
        (b"", r"a\.json: not valid JSON"),
        (b'{"a": "\xff"}', r"a\.json: not UTF-8 \(byte 0xff at 7\); write it again"),
        (b"[" * 100_000, r"a\.json: not valid JSON"),
    ],
)
def test_a_broken_file_is_named(tmp_path, content, message):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_json(str(tmp_path / "a.json"), "write it again")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_directory(tmp_path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match=r": cannot be read .*check the path"):
            read_json(str(path), "")


def test_starts_no_tensorflow():
    code = "import sys, bert_tf.data.json_files, bert_tf.workflows.score_squad; print('tensorflow' in sys.modules)"
    assert run_python(code).strip() == "False"
