"""What a task asks of several texts: which of them fits, as in SWAG (BERT paper, section 4.4)."""

from collections.abc import Iterator, Mapping, Sequence

from bert_tf.tasks.answers import Label, OneLabel
from bert_tf.tasks.logits import Logits
from bert_tf.tasks.metrics import Metrics, accuracy

CHOICE_METRICS: Metrics = {"accuracy": accuracy}


class Choice(OneLabel):
    """choose: the number of one choice, from 0; the model gives each choice a score by itself, and a softmax goes over a row's."""

    metrics = CHOICE_METRICS

    def __init__(self, labels: Sequence[str]):
        """Takes the numbers of the choices."""
        super().__init__(labels)
        self.num_outputs = 1

    def tables(self, labels: Sequence[Label], logits: Logits) -> Mapping[str, Iterator[str]]:
        """Returns none: which place a choice stands at means nothing."""
        del labels, logits
        return {}


def numbered(choices: Sequence[str]) -> tuple[str, ...]:
    """Returns the labels of so many choices: 0, 1, ..."""
    return tuple(map(str, range(len(choices))))
