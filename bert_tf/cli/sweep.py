r"""Fine-tunes many times, each setting of a grid with several random restarts, keeps the best on dev, and tells all in one table.

Example, the paper's protocol (learning rates 5e-5, 4e-5, 3e-5 and 2e-5, here with five restarts each):
  python -m bert_tf.cli.sweep --script=run_classifier --restarts=5 --output_dir=runs/mrpc \
    --task_name=mrpc --data_dir=glue/MRPC --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt --max_seq_length=128

What follows is the script's own command line; --do_train and --do_eval go without saying. Another grid:
  --grid='learning_rate=5e-5,3e-5;train_batch_size=16,32;num_train_epochs=3,4'

The same command again goes on where the sweep stopped; when all is done it shows the table.
"""

from bert_tf.cli import flag_config
from bert_tf.config import SWEPT_SCRIPTS, SweepConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(SweepConfig, "sweep", __doc__, scripts=SWEPT_SCRIPTS)


if __name__ == "__main__":
    main()
