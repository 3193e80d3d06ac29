"""Tasks over processes: results in order, errors passed on, and nobody left behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

from bert_tf.data.workers import default_num_processes, run_in_order
from bert_tf.errors import InputError, WorkerDied
from tests.conftest import ROOT


class Job:
    """Waits a little, later tasks less; some numbers do something else."""

    def __init__(self, factor: int):
        self.factor = factor

    def __call__(self, task: int) -> tuple[int, int, list[str]]:
        if task == 7:
            raise InputError("task 7 is refused")
        if task == 8:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01 * (6 - task % 6))
        return task * self.factor, os.getpid(), sorted({"tensorflow", "keras", "bert_tf.data.files"} & sys.modules.keys())


@pytest.mark.parametrize("num_processes", [1, 2, 3])
def test_results_come_in_the_tasks_order(num_processes):
    found = list(run_in_order(Job, (3,), [*range(7), 9, 10, 11], num_processes))
    assert [value for value, *_ in found] == [3 * task for task in [*range(7), 9, 10, 11]]
    processes = {process for _, process, _ in found}
    assert (processes == {os.getpid()}) == (num_processes == 1)
    assert len(processes) <= num_processes


def test_tasks_are_taken_as_they_are_needed():
    taken = []

    def tasks():
        for task in range(6):
            taken.append(task)
            yield task

    results = run_in_order(Job, (1,), tasks(), 2)
    next(results)
    assert len(taken) <= 4
    results.close()


@pytest.mark.parametrize("num_processes", [1, 2])
def test_what_a_job_raises_is_raised_here(num_processes):
    results = run_in_order(Job, (1,), range(6, 8), num_processes)
    assert next(results)[0] == 6
    with pytest.raises(InputError, match=r"^task 7 is refused$"):
        next(results)


def test_a_worker_that_dies_is_told_in_one_line():
    with pytest.raises(WorkerDied, match=r"^a worker process died[^\n]*the same command goes on from it$"):
        list(run_in_order(Job, (1,), [1, 8, 2], 2))


@pytest.mark.skipif(os.name != "posix", reason="asks the operating system for processes by number")
def test_workers_end_when_the_first_process_is_killed():
    code = """
import sys
from bert_tf.data.workers import run_in_order
from tests.data.test_workers import Job
if __name__ == "__main__":
    results = run_in_order(Job, (1,), iter(lambda: 5, None), 2)
    print(*{next(results)[1] for _ in range(40)}, flush=True)
    for _ in results:
        pass
"""
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    workers = list(map(int, process.stdout.readline().split()))
    assert workers and process.pid not in workers
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, workers))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat", encoding="ascii") as file:  # one that has ended but is not yet waited for is no more
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("module", ["part_records", "block_words"])
def test_what_needs_no_tensorflow_in_a_worker(module):
    code = f"import sys, bert_tf.data.{module}; print(sorted({{'tensorflow', 'keras', 'absl'}} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip() == "[]"


def test_all_cores_by_default():
    assert 1 <= default_num_processes() <= os.cpu_count()
