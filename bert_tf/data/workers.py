"""Work shared out over processes, whose results come in the order of the tasks.

Processes are started afresh, not forked: TensorFlow does not survive a fork. So a job is described by a function that makes it and that
function's arguments; each process makes its own, and one process alone makes it where it is, without any other.
"""

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from bert_tf.errors import WorkerDied
from bert_tf.startup import without_startup_chatter

Task = TypeVar("Task")
Result = TypeVar("Result")

# Tasks handed out before the oldest result is waited for: none is idle while that takes longer than the others.
_TASKS_A_PROCESS = 2


def default_num_processes() -> int:
    """Returns how many processes can run at once: the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_in_order(
    make_job: Callable[..., Callable[[Task], Result]], arguments: tuple[object, ...], tasks: Iterable[Task], num_processes: int
) -> Iterator[Result]:
    """Yields the result of each task, in the tasks' order.

    Args:
      make_job: A function of a module, called once in each process: returns what does a task.
      arguments: Its arguments.
      tasks: What is to be done; taken as processes come free.
      num_processes: With 1 everything is done in this process.

    Raises:
      WorkerDied: A process ended by itself. What a job raises is raised here.
    """
    if num_processes == 1:
        yield from map(make_job(*arguments), tasks)
        return
    executor = ProcessPoolExecutor(num_processes, multiprocessing.get_context("spawn"), _start, (pickle.dumps((make_job, arguments)),))
    waiting: deque = deque()
    try:
        for task in tasks:
            waiting.append(executor.submit(_do, task))
            if len(waiting) >= _TASKS_A_PROCESS * num_processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerDied(
            "a worker process died, perhaps for want of memory; give a smaller --num_processes. What is done so far is kept: the same "
            "command goes on from it"
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)


_job: Callable | None = None


def _start(pickled: bytes) -> None:
    """Makes this process's job out of the pickled function and arguments: to unpickle them may be to load TensorFlow."""
    global _job
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the first one ends the others
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # so many processes would share out a GPU's memory for nothing
    with without_startup_chatter():
        make_job, arguments = pickle.loads(pickled)
        _job = make_job(*arguments)


def _end_with_parent() -> None:
    """Waits until the process that started this one has ended, killed perhaps, and ends too."""
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _do(task: object) -> object:
    return _job(task)
