from bert_tf.data import progress
from bert_tf.data.progress import Progress


def test_quick_jobs_leave_no_line_in_a_log(capsys):
    with Progress(10, "examples", "writing") as bar:
        for _ in range(10):
            bar.advance(1)
    assert capsys.readouterr().err == ""


def test_slow_jobs_leave_lines_with_speed_and_time_left(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Progress(4_000_000, "B", "tokenizing") as bar:
        bar.note("7 documents")
        for _ in range(4):
            now[0] += 10
            bar.advance(1_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "tokenizing: 2.0 of 4.0 MB, 0.1 MB/s, 20 s left, 7 documents",
        "tokenizing: 4.0 of 4.0 MB, 0.1 MB/s, 0 s left, 7 documents",
    ]


def test_the_time_of_compiling_is_left_out_of_the_speed(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Progress(101, "steps", "training") as bar:
        now[0] += 60
        bar.advance(1)
        bar.start_clock()
        now[0] += 20
        bar.advance(20)
    assert capsys.readouterr().err.splitlines()[-1] == "training: 21 of 101 steps, 1 steps/s, 80 s left"


def test_what_was_done_before_counts_and_is_no_part_of_the_speed(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Progress(100, "steps", "training", done=60) as bar:
        now[0] += 20
        bar.advance(20)
    assert capsys.readouterr().err.splitlines() == ["training: 80 of 100 steps, 1 steps/s, 20 s left"]


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    with Progress(3, "examples", "writing") as bar:
        bar.note("4 documents")
        bar.advance(3)
    shown = capsys.readouterr().err
    assert "writing: 100%" in shown and "3/3" in shown
