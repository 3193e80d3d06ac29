"""The Beam engine of create_pretraining_data: runs the pipeline on the runner that --beam_args names, and takes over what it made.

The workers write into a folder beside the first output file, or under --work_dir, which all of them must reach. It has a name of its own
for each run and goes when the run ends; after a `kill -9`, when the next one starts. Imports apache_beam, which is an extra.
"""

import contextlib
import io
import logging as python_logging
import os
import re
import shlex
from collections.abc import Iterator, Sequence

import apache_beam as beam
from absl import logging
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.runners.runner import PipelineRunner, PipelineState, create_runner

from bert_tf.data.files import move_into_place
from bert_tf.data.json_files import read_json
from bert_tf.data.part_records import examples_of_outputs
from bert_tf.data.run_folder import run_folder
from bert_tf.errors import InputError, one_line
from bert_tf.pretraining.tally import Tally
from bert_tf.workflows.pretraining_job import Job, Made
from bert_tf.workflows.pretraining_pipeline import build
from bert_tf.workflows.pretraining_text import warn_of_text

# How a worker's InputError comes back from a runner elsewhere: in the text of a traceback. And what Beam adds to every error.
_MISTAKE = re.compile(r"bert_tf\.errors\.\w+: (.*?)(?:\n|\\n|$)")
_STEP = re.compile(r" \[while running '.*")


@contextlib.contextmanager
def made_by_pipeline(job: Job) -> Iterator[Made]:
    """Yields what the pipeline has made; its folder goes afterwards.

    Raises:
      InputError: Options that name no runner, files that the workers cannot reach; and what a worker finds wrong with the input.
    """
    runner, options = _runner(job.config.beam_args)
    _check_reach(type(runner).__name__, [*job.inputs, *job.outputs])
    with run_folder(_stem(job)) as folder:
        summary_path = f"{folder}/summary.json"
        pipeline = beam.Pipeline(runner=runner, options=options)
        build(pipeline, job, folder, summary_path)
        logging.info("running the pipeline by %s; unfinished files are in %s", type(runner).__name__, folder)
        _run(pipeline)
        summary = read_json(summary_path, "every worker must reach this folder")
        counts, tally, shards = summary["counts"], Tally(**summary["tally"]), summary["shards"]
        warn_of_text(counts, dict(zip(job.inputs, summary["sentences"], strict=True)), job)

        def move_out() -> None:
            for path, output in zip(shards, job.outputs, strict=True):
                move_into_place(path, output)

        yield Made(counts, tally, examples_of_outputs(tally.examples, len(job.outputs)), move_out)


def _runner(beam_args: str | None) -> tuple[PipelineRunner, PipelineOptions]:
    """Returns the runner and the options that the flag asks for."""
    try:
        options = PipelineOptions(shlex.split(beam_args or ""))
    except ValueError as error:
        raise InputError(f"beam_args is {beam_args!r}: {one_line(error)}; give options as on a command line") from error
    name = options.view_as(StandardOptions).runner
    if name is None:
        raise InputError(f"beam_args is {beam_args!r} and names no runner; give one, as --beam_args='--runner=FnApiRunner'")
    try:
        runner = create_runner(name)  # which makes its own options known
    except (ValueError, ImportError, AttributeError) as error:
        raise InputError(f"beam_args names the runner {name}: {one_line(error)}") from error
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            options.get_all_options(display_warnings=True, retain_unknown_options=True)
    except SystemExit as error:  # of argparse, which prints what is wrong behind a list of all options
        raise InputError(f"beam_args is {beam_args!r}: {one_line(told.getvalue().rpartition('error: ')[2])}") from error
    if told.getvalue():
        logging.warning("beam_args: %s", one_line(told.getvalue()))
    return runner, options


def _check_reach(runner: str, paths: Sequence[str]) -> None:
    """Checks that workers elsewhere are not sent to files on this machine."""
    here = [path for path in paths if "://" not in path]
    if runner == "DataflowRunner" and here:
        raise InputError(f"{here[0]}: Dataflow's workers cannot reach this machine's files; give gs:// paths")


def _stem(job: Job) -> str:
    """Returns how the path of the folder for unfinished files begins."""
    output, work_dir = job.outputs[0], job.config.work_dir
    parent = work_dir if work_dir is not None else output.rpartition("/")[0] or "."
    if "://" not in parent:
        parent = os.path.abspath(parent)
    return f"{parent.rstrip('/')}/{os.path.basename(output)}.beam"


def _run(pipeline: beam.Pipeline) -> None:
    """Runs a pipeline to its end.

    Raises:
      InputError: What a worker found that the user can mend.
    """
    result = None
    try:
        with _without_tracebacks_of_mistakes():
            result = pipeline.run()
            state = result.wait_until_finish()
    except Exception as error:
        mistake = _mistake_in(error)
        raise error if mistake is None else InputError(mistake) from error
    except BaseException:  # Ctrl-C, SIGTERM: a pipeline elsewhere would go on
        if result is not None:
            with contextlib.suppress(Exception):
                result.cancel()
        raise
    finally:
        client = getattr(result, "client", None)  # of Dask's runner, which leaves the connection open
        if client is not None:
            client.close()
    if state != PipelineState.DONE:
        raise RuntimeError(f"the pipeline ended as {state}; the runner's log tells why")


@contextlib.contextmanager
def _without_tracebacks_of_mistakes() -> Iterator[None]:
    """Keeps Beam from logging the traceback of an InputError: it is told in one line, once the pipeline has ended."""
    logger = python_logging.getLogger("apache_beam.runners.common")

    def is_other(record: python_logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], InputError))

    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


def _mistake_in(error: BaseException) -> str | None:
    """Returns what an InputError of a worker says, or None where it was something else."""
    found = _MISTAKE.search(str(error))
    if found is None and not isinstance(error, InputError):
        return None
    return _STEP.sub("", found[1] if found else str(error))
