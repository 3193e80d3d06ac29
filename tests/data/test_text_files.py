import bz2
import gzip
import importlib.util
import lzma
import sys

import pytest

from bert_tf.data.text_files import read_blocks, read_lines, total_bytes
from bert_tf.errors import InputError
from bert_tf.pretraining.documents import split_documents

PACK = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
if importlib.util.find_spec("backports") and importlib.util.find_spec("backports.zstd"):
    from backports import zstd

    PACK["zstd"] = zstd.compress


def write(tmp_path, name, content: bytes) -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    "content, lines",
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"\n", [""]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        ("\ufeffa\n\ufeffb\n".encode(), ["a", "\ufeffb"]),
        ("a\u2028b\u2029c\x85d\x0be\x1cf\n".encode(), ["a\u2028b\u2029c\x85d\x0be\x1cf"]),
    ],
)
def test_lines_end_at_newlines_only(tmp_path, content, lines):
    assert list(read_lines(write(tmp_path, "a.txt", content))) == lines
    for kind, pack in PACK.items():
        assert list(read_lines(write(tmp_path, kind, pack(content)))) == lines


def test_lines_longer_than_a_read_are_whole(tmp_path):
    # three-byte characters, so that reads end within one
    lines = ["語" * 100_000, "", "x" * 65_536, "語" * 65_535, "end"]
    content = "\n".join(lines).encode()
    assert list(read_lines(write(tmp_path, "a.txt", content))) == lines
    assert list(read_lines(write(tmp_path, "a.bz2", bz2.compress(content)))) == lines


@pytest.mark.parametrize("kind", PACK)
def test_concatenated_members_are_all_read(tmp_path, kind):
    pack = PACK[kind]
    content = pack(b"a one.\na two.\n\n") + pack(b"b one.\n")
    assert list(split_documents(read_lines(write(tmp_path, "both", content)))) == [["a one.", "a two."], ["b one."]]
    assert list(split_documents(read_lines(write(tmp_path, "padded", pack(b"a\n") + b"\0" * 100_000 + pack(b"b\n") + b"\0")))) == [
        ["a", "b"]
    ]


@pytest.mark.parametrize("kind", PACK)
def test_every_cut_is_an_error_that_names_the_file(tmp_path, kind):
    first, second = PACK[kind](b"a one.\n"), PACK[kind](b"b one.\nb two.\n")
    for length in range(len(first) + 1, len(first + second)):
        path = write(tmp_path, "cut", (first + second)[:length])
        with pytest.raises(InputError, match=rf"{path}: (cut|damaged) {kind} file"):
            list(read_lines(path))


@pytest.mark.parametrize("kind", PACK)
def test_damage_is_an_error_that_names_the_file(tmp_path, kind):
    path = write(tmp_path, "damaged", PACK[kind](b"a one.\n") + b"not packed at all")
    with pytest.raises(InputError, match=rf"{path}: damaged {kind} file"):
        list(read_lines(path))


def test_text_that_begins_like_bzip2_is_text(tmp_path):
    assert list(read_lines(write(tmp_path, "a.txt", b"BZh91 was its name.\n"))) == ["BZh91 was its name."]


@pytest.mark.parametrize(
    "content, line, byte",
    [
        (b"good\ncaf\xe9 bad\n", 2, "0xe9 at column 4"),
        ("a\n".encode("utf-16"), 1, "0xff at column 1"),
        (b"good\n\n\n\xf0\x9f\x98", 4, "0xf0 at column 1"),
        (b"good\n\xed\xa0\x80\n", 2, "0xed at column 1"),  # half of a surrogate pair
    ],
)
def test_other_encodings_are_refused_with_file_and_line(tmp_path, content, line, byte):
    path = write(tmp_path, "a.txt", content)
    with pytest.raises(InputError, match=rf"{path}, line {line}: not UTF-8 \(byte {byte}\)"):
        list(read_lines(path))


def test_missing_file_is_named(tmp_path):
    path = str(tmp_path / "absent.txt")
    with pytest.raises(InputError, match=path):
        list(read_lines(path))
    with pytest.raises(InputError, match=path):
        total_bytes([path])


def test_reading_is_told_in_bytes_of_the_file(tmp_path):
    path = write(tmp_path, "a.gz", gzip.compress(b"line\n" * 50_000))
    told: list[int] = []
    list(read_lines(path, told.append))
    assert sum(told) == total_bytes([path]) < 50_000


def test_zstd_without_its_library_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "backports", None)
    path = write(tmp_path, "a.zst", b"\x28\xb5\x2f\xfd")
    with pytest.raises(InputError, match=r"a\.zst: is a zstd file; install what reads them, pip install 'bert_tf\[zstd\]', or unpack it"):
        list(read_lines(path))


@pytest.mark.parametrize("block_bytes", [1, 100, 70_000, 10**9])
@pytest.mark.parametrize("kind", [None, *PACK])
def test_blocks_hold_the_lines_in_order(tmp_path, kind, block_bytes):
    lines = ["\ufeffa", "", "語" * 50_000, "b\r", *(f"line {number}" for number in range(30_000)), "end"]
    content = "\n".join(lines).encode()
    path = write(tmp_path, "a", PACK[kind](content) if kind else content)
    blocks = list(read_blocks(path, block_bytes))
    assert b"".join(block.content for block in blocks) == content
    assert [line for block in blocks for line in block.lines()] == ["a", *lines[1:]]
    assert [block.ends_file for block in blocks] == [False] * (len(blocks) - 1) + [True]
    assert sum(block.num_read for block in blocks) == total_bytes([path])
    number = 1
    for block in blocks:
        assert block.first_line == number
        number += block.content.count(b"\n")
    # a block ends with the first read, of 64 KiB or what that unpacks to, that fills it
    assert len(blocks) == 1 or max(len(block.content) for block in blocks[:-1]) < block_bytes + 700_000


def test_a_bad_byte_in_a_block_is_told_with_its_line_in_the_file(tmp_path):
    path = write(tmp_path, "a", b"good\n" * 30_000 + b"\ncaf\xe9 bad\n" + b"good\n" * 30_000)
    with pytest.raises(InputError, match=rf"{path}, line 30002: not UTF-8 \(byte 0xe9 at column 4\)"):
        for block in read_blocks(path, 1000):
            block.lines()


def test_an_empty_file_is_one_empty_block(tmp_path):
    (block,) = read_blocks(write(tmp_path, "a", b""), 100)
    assert (block.lines(), block.ends_file) == ([], True)
