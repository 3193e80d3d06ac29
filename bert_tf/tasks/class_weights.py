"""How much each label counts in the loss."""

from collections.abc import Sequence

from bert_tf.errors import InputError
from bert_tf.tasks.answers import Label

BALANCED = "balanced"


def class_weights_of(class_weights: str, labels: Sequence[str], training_labels: Sequence[Label]) -> list[float]:
    """Returns each label's weight in the loss.

    "balanced" is rows / (labels x rows of the label): every label then counts as much as every other. For example, of the labels no and
    yes with 3 and 1 rows it gives 2/3 and 2.

    Raises:
      InputError: A label that is none, a weight that is no number above 0, or a label that no row has, which cannot be balanced.
    """
    if class_weights.strip() == BALANCED:
        counts = [sum(label == name for label in training_labels) for name in labels]
        if 0 in counts:
            raise InputError(
                f"class_weights is balanced, but no training row has the label {labels[counts.index(0)]!r}; give weights as label:weight"
            )
        return [len(training_labels) / (len(labels) * count) for count in counts]
    weights = dict.fromkeys(labels, 1.0)
    for part in class_weights.split(","):
        name, _, weight = (text.strip() for text in part.rpartition(":"))
        if name not in weights:
            raise InputError(f"class_weights: {part.strip()!r} names none of {', '.join(labels)}; give balanced, or label:weight")
        try:
            weights[name] = float(weight)
        except ValueError:
            weights[name] = 0.0
        if not 0 < weights[name] < float("inf"):
            raise InputError(f"class_weights: the weight of {name!r} is {weight!r}; give a number above 0")
    return list(weights.values())
