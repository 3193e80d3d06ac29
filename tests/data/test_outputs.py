import os

import pytest

from bert_tf.data.outputs import output_files
from bert_tf.errors import InputError


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
