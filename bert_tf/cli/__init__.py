"""Command lines: `python -m bert_tf.cli.NAME`. Flags only; the work is in workflows."""
