"""Files of parts and what is joined from them, by machines that may do a piece of work twice."""

from pathlib import Path

import pytest

from bert_tf.data.part_files import join, write_part
from bert_tf.errors import InputError


def test_stretches_are_joined_in_their_order(tmp_path):
    folder = str(tmp_path)
    first, second = write_part(folder, 0, [b"abc", bytearray(b"de"), b""]), write_part(folder, 1, [b"fgh"])
    assert Path(join([(second, 1, 2), (first, 3, 2), (first, 0, 1), (first, 5, 0)], folder, 0)).read_bytes() == b"ghdea"
    assert Path(join([], folder, 1)).read_bytes() == b""


def test_work_done_twice_writes_over_nothing(tmp_path):
    paths = [write_part(str(tmp_path), 7, [content]) for content in (b"a", b"b")]
    assert [Path(path).read_bytes() for path in paths] == [b"a", b"b"]


def test_what_cannot_be_written_or_is_cut_is_told(tmp_path):
    path = write_part(str(tmp_path), 0, [b"abc"])
    with pytest.raises(EOFError, match="2 bytes are missing"):
        join([(path, 2, 3)], str(tmp_path), 0)
    with pytest.raises(InputError, match=r"absent/part-3-.*: cannot be written .*every worker must reach this folder"):
        write_part(str(tmp_path / "absent"), 3, [b"abc"])
