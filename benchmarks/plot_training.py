"""Draws the curves of pre-training runs from their TensorBoard files as a PNG. Needs matplotlib (pip install matplotlib).

python benchmarks/plot_training.py --logdir OUTPUT_DIR/train --output_file=loss.png

Several directories, as of the phases of one training, are drawn one after another in colours of their own; `--first_steps` are the
steps that came before each of them, where it counts from 0 again.
"""

import argparse

import matplotlib
import numpy as np
from tensorboard.backend.event_processing.event_accumulator import TENSORS, EventAccumulator
from tensorboard.util import tensor_util

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PANELS = (("masked_lm_loss", "masked LM loss"), ("masked_lm_accuracy", "masked LM accuracy"), ("next_sentence_accuracy", "NSP accuracy"))


def smoothed(steps, values, width=100):
    """Returns the means of the values over windows of `width` steps."""
    windows = steps // width
    kept = np.unique(windows)
    return (kept + 0.5) * width, [values[windows == window].mean() for window in kept]


def main():
    """Reads, draws, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", required=True, nargs="+")
    parser.add_argument("--first_steps", nargs="+", type=int)
    parser.add_argument("--output_file", required=True)
    parser.add_argument("--title", default="")
    options = parser.parse_args()
    figure, axes = plt.subplots(1, len(PANELS), figsize=(12, 3.2), constrained_layout=True)
    first_steps = options.first_steps or [0] * len(options.logdir)
    for number, (logdir, before) in enumerate(zip(options.logdir, first_steps, strict=True)):
        events = EventAccumulator(logdir, size_guidance={TENSORS: 0})
        events.Reload()
        for axis, (tag, label) in zip(axes, PANELS):
            points = {event.step: float(tensor_util.make_ndarray(event.tensor_proto)) for event in events.Tensors(tag)}
            steps, values = np.array(sorted(points)) + before, np.array([points[step] for step in sorted(points)])
            axis.plot(steps, values, color=f"C{number}", alpha=0.2, linewidth=0.5)
            axis.plot(*smoothed(steps, values), color=f"C{number}")
            axis.set(xlabel="step", title=label)
            axis.grid(alpha=0.3)
    figure.suptitle(options.title)
    figure.savefig(options.output_file, dpi=110)


if __name__ == "__main__":
    main()
