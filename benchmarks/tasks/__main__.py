r"""Fine-tunes on every task of the results table, by the public commands, and prints the table and one JSON line.

  python -m benchmarks.tasks --data_dir=DATA --init_checkpoint=MODEL --work_dir=OUT [--only=mrpc,cola]

DATA holds glue/, squad/, conll2003/ and swag/. What is handed out in another form (samples of MNLI, QNLI and QQP, SWAG's rows) is
written once into OUT/data in the official one. Each row is a sweep (`bert_tf.cli.sweep`) of its seeds in OUT/runs. The same command
goes on where it was stopped, be it by kill -9; what is finished is not run again, and the table tells of all that is finished in OUT.
--max_rows=64 tries the whole protocol on the first rows of each file, in OUT/first_64.
"""

from benchmarks.tasks.protocol import TasksConfig
from bert_tf.cli import flag_config


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(TasksConfig, "benchmarks.tasks.story", __doc__)


if __name__ == "__main__":
    main()
