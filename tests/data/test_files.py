"""Files of any kind: patterns, places to write to, and files that are there whole or not at all."""

import os
import re
import stat
import subprocess
import sys

import pytest

from bert_tf.data.files import atomic_write, expand_patterns, make_folder, output_files, partial_name
from bert_tf.data.records import write_records
from bert_tf.errors import InputError

not_as_root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root may read and write everything")


# Patterns


def test_paths_and_globs(tmp_path):
    for name in ("a1", "a2", "b", "c[1]"):
        (tmp_path / name).write_bytes(b"x")

    def expand(*patterns):
        return [os.path.basename(path) for path in expand_patterns(",".join(f"{tmp_path}/{pattern}" for pattern in patterns), "input_file")]

    assert expand("a*") == ["a1", "a2"]
    assert expand("b", "a*", "a1") == ["b", "a1", "a2"]
    # a name that is there is taken as it is
    assert expand("c[1]") == ["c[1]"]
    assert expand_patterns(f"{tmp_path}/b, {tmp_path}/a1,", "input_file") == [f"{tmp_path}/b", f"{tmp_path}/a1"]


def test_a_comma_in_a_name(tmp_path):
    for name in ("a,b", "a", "b"):
        (tmp_path / name).write_text("")
    assert expand_patterns(f"{tmp_path}/a,b", "input_file") == [f"{tmp_path}/a,b"]
    assert expand_patterns(f"{tmp_path}/a,{tmp_path}/b", "input_file") == [f"{tmp_path}/a", f"{tmp_path}/b"]


def test_patterns_without_a_file(tmp_path):
    with pytest.raises(InputError, match=r"--input_file: no file matches '.*/x\*'; check the path"):
        expand_patterns(f"{tmp_path}/x*", "input_file")
    with pytest.raises(InputError, match=rf"--input_file: {re.escape(str(tmp_path))} is a directory; name files, as .*/\*"):
        expand_patterns(str(tmp_path), "input_file")
    with pytest.raises(InputError, match="--input_file: names no file"):
        expand_patterns(" , ", "input_file")


# Places to write to


def test_names_are_split_and_nothing_is_made(tmp_path):
    first, second = str(tmp_path / "new" / "a"), str(tmp_path / "b")
    assert output_files(f"{first}, {second},", "output_file") == [first, second]
    assert list(tmp_path.iterdir()) == []


def test_a_remote_place_is_left_to_the_writing():
    assert output_files("gs://bucket/a.tfrecord", "output_file") == ["gs://bucket/a.tfrecord"]


def test_bad_places_are_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("text")
    link = tmp_path / "link"
    link.symlink_to(file)
    cases = {
        " , ": "--output_file: names no file",
        f"{tmp_path}/a,{tmp_path}/a": f"names {tmp_path}/a twice",
        str(tmp_path): "is a directory",
        f"{file}/a": f"{file} is not a directory",
        str(link): f"{link} is an input file as well",
    }
    for names, words in cases.items():
        with pytest.raises(InputError, match=words):
            output_files(names, "output_file", [str(file)])


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_no_permission_is_told_before_the_work(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    with pytest.raises(InputError, match=f"no permission to write in {closed}"):
        output_files(f"{closed}/new/a", "output_file")


# Writing


def test_what_a_killed_run_left_is_removed(tmp_path):
    """Half-written files of processes that are gone; those of a running one stay."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mine = os.path.basename(partial_name(str(tmp_path / "a"))).removesuffix(str(os.getpid()))
    left = [f"{mine}{gone.pid}", f"b{mine.removeprefix('a')}{gone.pid}"]
    kept = [f"{mine}{os.getppid()}", "a.partial-notes", f"a.partial-elsewhere-{gone.pid}"]
    for name in left + kept:
        (tmp_path / name).write_text("half")
    write_records([str(tmp_path / "a")], [b"x"])
    assert sorted(os.listdir(tmp_path)) == sorted(["a", left[1], *kept])
    with atomic_write(str(tmp_path / "b")) as file:
        file.write("whole")
    assert sorted(os.listdir(tmp_path)) == sorted(["a", "b", *kept])


def test_a_written_file_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "a.txt"
    with atomic_write(str(path)) as file:
        file.write("first\n")
        assert not path.exists()
    assert path.read_text() == "first\n"
    with pytest.raises(KeyError), atomic_write(str(path)) as file:
        file.write("second\n")
        raise KeyError
    assert path.read_text() == "first\n"
    with atomic_write(str(path), "wb") as file:
        file.write(b"third\n")
    assert path.read_text() == "third\n"
    assert os.listdir(tmp_path / "new") == ["a.txt"]


def test_a_file_into_which_nothing_is_written_is_empty(tmp_path):
    with atomic_write(str(tmp_path / "a.txt")):
        pass
    assert (tmp_path / "a.txt").read_bytes() == b""


def test_a_file_in_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with atomic_write("a.txt") as file:
        file.write("x")
    write_records(["b.tfrecord"], [b"y"])
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.tfrecord"]


def test_a_file_or_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "under", tmp_path / "folder"):
        with pytest.raises(InputError, match=f"{re.escape(str(path))}: cannot be written") as caught, atomic_write(str(path)) as file:
            file.write("x")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="under: cannot be created"):
        make_folder(str(tmp_path / "file" / "under"))
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"] and not os.listdir(tmp_path / "folder")


@not_as_root
def test_a_folder_without_permission(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(InputError, match=r"a\.txt: cannot be written"), atomic_write(str(folder / "a.txt")) as file:
        file.write("x")
    with pytest.raises(InputError, match=r"a\.tfrecord: cannot be written"):
        write_records([str(folder / "a.tfrecord")], [b"x"])
