"""What a task asks of each token of a sentence: a tag. Named entities (BERT paper, section 5.3), or tags that are no entities."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError
from bert_tf.tasks import reports
from bert_tf.tasks.answers import Answer, Label
from bert_tf.tasks.entities import BEGIN, INSIDE, OUTSIDE, TAG_METRICS, entities, to_iob2, type_of
from bert_tf.tasks.logits import Logits, log_softmax, softmax
from bert_tf.tasks.metrics import Ids
from bert_tf.tasks.predictions import number_lines

ENTITY_METRICS = ("entity_f1", "entity_precision", "entity_recall")
# Tags of schemes that mark where an entity ends too.
_OTHER_SCHEMES = ("E-", "S-", "L-", "U-", "M-")


class Tags(Answer):
    """tag: one label of a fixed list for each token; the model gives a probability of each.

    Logits are float32[tokens, labels] throughout, those of all rows' tokens one after another. A token that the tokenizer makes nothing
    of, a zero-width space say, was not asked for: it is tagged O, certainly, and does not count in the loss.

    Attributes:
      has_entities: Whether the tags are O, B-TYPE and I-TYPE, so that entities can be told and scored.
    """

    metrics = TAG_METRICS
    always = ("accuracy",)
    predictions_name = "predictions.txt"

    def __init__(self, labels: Sequence[str]):
        """Takes the tags in the order of their ids; of entities O and, for each type, B- and I-."""
        if len(set(labels)) < 2 or len(set(labels)) < len(labels):
            raise InputError(f"labels are {list(labels)}; give two or more, each once")
        self.labels = tuple(labels)
        self.num_outputs = len(labels)
        self.has_entities = has_entities(labels)
        self._ids = {label: id for id, label in enumerate(labels)}
        if self.has_entities:
            wanted = complete_tags(labels)
            missing = next((tag for tag in wanted if tag not in self._ids), None)
            if missing is not None:
                raise InputError(f"labels are {list(labels)}, without {missing}; give O, and of each type both {BEGIN} and {INSIDE}")

    def read(self, text: str) -> tuple[str, ...]:
        """Returns the tags of a sentence, with spaces between; those of entities, in IOB1 or IOB2, as IOB2."""
        tags = text.split(" ")
        unknown = next((tag for tag in tags if tag not in self._ids), None)
        if unknown is not None:
            raise ValueError(("" if tags == [unknown] else f"holds {unknown!r}, which ") + reports.not_one_of(self.labels))
        return tuple(to_iob2(tags)) if self.has_entities else tuple(tags)

    def feature(self, label: Label | None) -> list[int]:
        """Returns the ids of the tokens' tags: int[tokens]; none without a label."""
        return [self._ids[tag] for tag in label] if isinstance(label, tuple) else []

    def without_pieces(self, num_tokens: int) -> Logits:
        """Returns float32[tokens, labels], the logits of tokens that the model is not asked for: O, or the first label, for certain."""
        logits = np.full((num_tokens, self.num_outputs), -np.inf, np.float32)
        logits[:, self._ids.get(OUTSIDE, 0)] = 0
        return logits

    def scores(self, names: Iterable[str], labels: Sequence[Label], logits: Logits) -> dict[str, float]:
        """Returns the named metrics, the accuracy of the tokens, and `loss`, their mean cross entropy.

        Args:
          names: Metrics.
          labels: The tags of each sentence.
          logits: float32[tokens, labels].
        """
        right, predicted = _sentences(labels), self._tagged(map(len, _sentences(labels)), logits)
        scores = {name: self.metrics[name](right, predicted) for name in dict.fromkeys((*self.always, *names))}
        return scores | {"loss": self._loss(self._targets(labels), logits.astype(np.float64))}

    def tables(self, labels: Sequence[Label], logits: Logits) -> Mapping[str, Iterator[str]]:
        """Returns the confusion matrix of the tags; and precision, recall and F1 of each type of entity, or of each tag."""
        if len(self.labels) > reports.FEW_LABELS:
            return {}
        right, predicted = self._targets(labels), self._ids_of(logits)
        names, marks = self.labels, [ids[:, None] == np.arange(self.num_outputs) for ids in (right, predicted)]
        if self.has_entities:
            names, marks = self._entity_marks(labels, logits)
        return {
            "confusion_matrix.tsv": reports.confusion_lines(self.labels, right, predicted),
            "label_scores.tsv": reports.label_score_lines(names, *marks),
        }

    def result_lines(self, logits: Logits) -> Iterator[str]:
        """Yields each token's probabilities."""
        return number_lines(softmax(logits))

    def prediction_lines(self, ids: Sequence[str], texts: Sequence[Sequence[str]], logits: Logits) -> Iterator[str]:
        """Yields the lines of predictions.txt: a token and its tag, a space between, and a blank line behind each sentence."""
        del ids
        for tokens, tags in zip(texts, self._tagged(map(len, texts), logits), strict=True):
            yield from (f"{token} {tag}" for token, tag in zip(tokens, tags, strict=True))
            yield ""

    def _tagged(self, lengths: Iterable[int], logits: Logits) -> list[list[str]]:
        """Returns the predicted tags of sentences of these lengths."""
        tags = iter([self.labels[id] for id in self._ids_of(logits)])
        sentences = [[next(tags) for _ in range(length)] for length in lengths]
        if next(tags, None) is not None:
            raise ValueError(f"logits of {len(logits)} tokens for sentences of {sum(map(len, sentences))}")
        return sentences

    def _entity_marks(self, labels: Sequence[Label], logits: Logits) -> tuple[tuple[str, ...], list[npt.NDArray[np.bool_]]]:
        """Returns the types, and which entity is labelled and which is predicted as which type: bool[entities, types] each."""
        types = tuple(dict.fromkeys(type for type in map(type_of, self.labels) if type is not None))
        found = [set(entities(side)) for side in (_sentences(labels), self._tagged(map(len, _sentences(labels)), logits))]
        union = sorted(found[0] | found[1])
        marks = [np.asarray([[entity in side and entity[3] == type for type in types] for entity in union], np.bool_) for side in found]
        return types, [mark.reshape(len(union), len(types)) for mark in marks]

    def _targets(self, labels: Sequence[Label]) -> Ids:
        return np.asarray([id for label in labels for id in self.feature(label)], np.int64)

    def _predicted(self, logits: Logits) -> Ids:
        return self._ids_of(logits)

    def _ids_of(self, logits: Logits) -> Ids:
        return np.asarray(logits.argmax(axis=1), np.int64)

    def _loss(self, targets: npt.NDArray[np.generic], logits: npt.NDArray[np.float64]) -> float:
        asked = np.isfinite(logits).all(axis=1)
        if not asked.any():
            return math.nan
        return float(-log_softmax(logits[asked])[np.arange(int(asked.sum())), targets[asked]].mean())

    def _tell(self, predicted: npt.NDArray[np.generic]) -> str:
        return repr(self.labels[int(predicted)])


def has_entities(labels: Iterable[str]) -> bool:
    """Returns whether tags are those of entities: O, B-TYPE and I-TYPE.

    Raises:
      InputError: Some are, and others are not.
    """
    parts = [label for label in labels if type_of(label) is not None]
    other = next((label for label in labels if type_of(label) is None and label != OUTSIDE), None)
    if parts and other is not None:
        scheme = "belongs to another scheme" if other.startswith(_OTHER_SCHEMES) else "does not fit"
        raise InputError(f"tag {other!r} {scheme} beside {parts[0]!r}; give tags in IOB1 or IOB2: O, {BEGIN}TYPE, {INSIDE}TYPE")
    return bool(parts)


def complete_tags(found: Iterable[str]) -> tuple[str, ...]:
    """Returns all tags of a task in which these occur: of entities, O first, then B- and I- of each type, sorted by type.

    For example, `complete_tags(["I-PER", "O"])` is O, B-PER, I-PER.
    """
    found = list(found)
    if not has_entities(found):
        return tuple(sorted(found))
    types = sorted({type for type in map(type_of, found) if type is not None})
    return (OUTSIDE, *(f"{part}{type}" for type in types for part in (BEGIN, INSIDE)))


def _sentences(labels: Sequence[Label]) -> list[tuple[str, ...]]:
    return [label for label in labels if isinstance(label, tuple)]
