import bz2
import gzip

import pytest

from bert_tf.data.text_files import read_lines, total_bytes
from bert_tf.errors import InputError
from bert_tf.pretraining.documents import split_documents

PACK = {"gzip": gzip.compress, "bzip2": bz2.compress}


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
