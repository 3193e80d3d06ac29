import os

import pytest

from bert_tf.data.ledger import Ledger


def read(ledger: Ledger, name: str) -> bytes:
    with open(ledger.path(name), "rb") as file:
        return file.read()


@pytest.fixture
def folder(tmp_path):
    ledger = Ledger(str(tmp_path / "folder"), {"made": ["for", 1]})
    ledger.append("a", b"good")
    ledger.append("b", b"12")
    ledger.commit(done=1)
    return tmp_path / "folder"


def test_what_came_after_the_last_note_is_cut_off(folder):
    ledger = Ledger(str(folder), {"made": ["for", 1]})
    ledger.append("a", b" but not noted")
    ledger.append("c", b"neither")
    (folder / "part-7").write_bytes(b"left over")
    ledger = Ledger(str(folder), {"made": ("for", 1)})
    assert ledger.note == {"done": 1}
    assert sorted(os.listdir(folder)) == ["a", "b", "note.json"]
    assert (read(ledger, "a"), read(ledger, "b")) == (b"good", b"12")
    ledger.append("a", b", better")
    ledger.commit(done=2)
    ledger = Ledger(str(folder), {"made": ["for", 1]})
    assert (ledger.note, read(ledger, "a")) == ({"done": 2}, b"good, better")


def test_another_fingerprint_starts_afresh(folder):
    ledger = Ledger(str(folder), {"made": ["for", 2]})
    assert ledger.note == {}
    assert not os.path.exists(ledger.path("a"))


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"goo")])
def test_a_file_that_lost_something_starts_all_afresh(folder, damage):
    damage(folder / "a")
    ledger = Ledger(str(folder), {"made": ["for", 1]})
    assert ledger.note == {}
    assert not os.path.exists(ledger.path("b"))


def test_a_note_that_is_no_json_starts_afresh(folder):
    (folder / "note.json").write_text('{"fingerprint": {"ma')
    assert Ledger(str(folder), {"made": ["for", 1]}).note == {}


def test_released_files_may_be_there_or_not(folder):
    ledger = Ledger(str(folder), {"made": ["for", 1]})
    paths = [ledger.release(name) for name in ("a", "b")]
    ledger.commit(**ledger.note)
    os.remove(paths[0])
    ledger = Ledger(str(folder), {"made": ["for", 1]})
    assert ledger.note == {"done": 1}
    assert read(ledger, "b") == b"12"


def test_appending_from_a_file(folder, tmp_path):
    (tmp_path / "source").write_bytes(b"0123456789")
    ledger = Ledger(str(folder), {"made": ["for", 1]})
    with open(tmp_path / "source", "rb") as source:
        ledger.append_from("a", source, 3)
        ledger.append_from("b", source, 6)
        ledger.commit()
        with pytest.raises(EOFError):
            ledger.append_from("b", source, 2)
    ledger = Ledger(str(folder), {"made": ["for", 1]})
    assert (read(ledger, "a"), read(ledger, "b")) == (b"good012", b"12345678")
