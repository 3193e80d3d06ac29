"""Entities in the tags of sentences, and their scores as conlleval, the scorer of the CoNLL-2003 shared task, counts them.

A tag is O, or B-TYPE or I-TYPE. In IOB2 every entity begins with B-; in IOB1, which the shared task's files are in, only one that
follows another of its type at once does. Either way an entity begins at B-, and at an I- whose left neighbour is of another type, or O.
"""

import math
from collections.abc import Iterator, Sequence

from bert_tf.tasks.metrics import Metrics

OUTSIDE = "O"
BEGIN, INSIDE = "B-", "I-"

# One list of tags for each sentence.
Sentences = Sequence[Sequence[str]]
# Number of the sentence, first token, last token, type.
Entity = tuple[int, int, int, str]


def type_of(tag: str) -> str | None:
    """Returns the type of the entity that the tag is part of: that of B-PER and I-PER is PER, of O None."""
    return tag[2:] if tag.startswith((BEGIN, INSIDE)) else None


def to_iob2(tags: Sequence[str]) -> list[str]:
    """Returns tags in IOB1 or IOB2 as IOB2: `to_iob2(["I-PER", "I-PER", "B-PER"])` is B-PER, I-PER, B-PER."""
    before: str | None = None
    settled = []
    for tag in tags:
        type = type_of(tag)
        settled.append(f"{BEGIN}{type}" if type is not None and type != before else tag)
        before = type
    return settled


def entities(sentences: Sentences) -> Iterator[Entity]:
    """Yields the entities of all sentences.

    For example, of [["B-PER", "I-PER", "O", "I-LOC"]] it yields (0, 0, 1, "PER") and (0, 3, 3, "LOC").
    """
    for number, tags in enumerate(sentences):
        first = 0
        settled = to_iob2(tags)
        for place, tag in enumerate(settled):
            type = type_of(tag)
            if tag.startswith(BEGIN):
                first = place
            goes_on = place + 1 < len(settled) and settled[place + 1].startswith(INSIDE)
            if type is not None and not goes_on:
                yield number, first, place, type


def entity_precision(right: Sentences, predicted: Sentences) -> float:
    """Returns the share of predicted entities that are right in both borders and type; 0 where none is predicted."""
    return _shares(right, predicted)[0]


def entity_recall(right: Sentences, predicted: Sentences) -> float:
    """Returns the share of entities that are predicted with both borders and type; 0 where there is none."""
    return _shares(right, predicted)[1]


def entity_f1(right: Sentences, predicted: Sentences) -> float:
    """Returns the harmonic mean of precision and recall; 0 where no entity is right."""
    precision, recall = _shares(right, predicted)
    return 2 * precision * recall / (precision + recall) if precision + recall else precision


def token_accuracy(right: Sentences, predicted: Sentences) -> float:
    """Returns the share of tokens with the right tag."""
    pairs = [tag == other for tags, others in zip(right, predicted, strict=True) for tag, other in zip(tags, others, strict=True)]
    return sum(pairs) / len(pairs)


TAG_METRICS: Metrics = {
    "entity_f1": entity_f1,
    "entity_precision": entity_precision,
    "entity_recall": entity_recall,
    "accuracy": token_accuracy,
}


def _shares(right: Sentences, predicted: Sentences) -> tuple[float, float]:
    """Returns precision and recall, both nan where there is no entity at all, labelled or predicted."""
    labelled, found = set(entities(right)), set(entities(predicted))
    if not labelled and not found:
        return math.nan, math.nan
    hits = len(labelled & found)
    return (hits / len(found) if found else 0.0), (hits / len(labelled) if labelled else 0.0)
