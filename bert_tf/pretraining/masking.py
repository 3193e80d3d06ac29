"""Masked examples: which pieces are hidden, what stands in their place, and the features of google-research/bert.

The procedure is create_masked_lm_predictions of its create_pretraining_data.py (BERT paper, section 3.1 and appendix A.1), but
replacements are real pieces only, and with whole-word masking no word reaches over a [SEP].
"""

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from bert_tf.errors import InputError
from bert_tf.pretraining.spans import fill_spans, length_bounds, span_length
from bert_tf.text.characters import character_classes
from bert_tf.text.vocab import Vocabulary

CONTINUATION = "##"

# [unused17], [MASK], and markers such as <S> of the Chinese vocabulary: no text gives such a piece, as the tokenizer cuts at brackets.
_MARKER = re.compile(r"\[[^\[\]]+\]|<[^<>]+>")

# What became of a masked position, in the order of --mask_mix.
AS_MASK, AS_ITSELF, AS_RANDOM = range(3)


@dataclass(frozen=True)
class MaskingRules:
    """What masking needs to know, worked out once.

    Attributes:
      cls_id: The id of [CLS].
      sep_id: The id of [SEP].
      mask_id: The id of [MASK].
      replacements: Ids to draw a random piece from.
      continues_word: For each id, whether its piece starts with ##.
      masked_lm_prob: Share of an example's pieces to mask, [CLS] and [SEP] counted.
      max_predictions: Most masked positions an example.
      mix: Of the masked positions, the shares that become [MASK], stay, become a random piece.
      whole_word: Whether all pieces of a word are masked together.
      max_ngram: Most words of a span that is masked together, with `whole_word`.
      given_words: Of texts that came cut into words, the size of the vocabulary: a piece that continues one of these words is known by its
        id plus that size (`mark_continuing`). 0 where ## alone tells.
    """

    cls_id: int
    sep_id: int
    mask_id: int
    replacements: Sequence[int]
    continues_word: Sequence[bool]
    masked_lm_prob: float = 0.15
    max_predictions: int = 20
    mix: tuple[float, float, float] = (0.8, 0.1, 0.1)
    whole_word: bool = False
    max_ngram: int = 1
    given_words: int = 0

    @classmethod
    def of_vocabulary(
        cls,
        vocab: Vocabulary,
        masked_lm_prob: float,
        max_predictions: int,
        mix: tuple[float, float, float],
        whole_word: bool,
        max_ngram: int = 1,
        word_segments: bool = False,
    ) -> "MaskingRules":
        """Returns the rules for a vocabulary; raises InputError where it has no [MASK] or no piece to draw."""
        replacements = array("i", (id for piece, id in vocab.ids.items() if is_real_piece(piece)))
        if not replacements:
            raise InputError(f"{vocab.source}: the vocabulary holds special tokens only; give the model's own vocab.txt")
        return cls(
            cls_id=vocab.cls_id,
            sep_id=vocab.sep_id,
            mask_id=vocab.mask_id,
            replacements=replacements,
            continues_word=[piece.startswith(CONTINUATION) for piece in vocab.pieces],
            masked_lm_prob=masked_lm_prob,
            max_predictions=max_predictions,
            mix=mix,
            whole_word=whole_word,
            max_ngram=max_ngram,
            given_words=len(vocab) if word_segments else 0,
        )


@dataclass
class MaskedExample:
    """One example before padding.

    Attributes:
      input_ids: Pieces with [CLS], [SEP] and masks in place, int[pieces].
      segment_ids: 0 for [CLS] A [SEP], 1 for B [SEP], int[pieces].
      positions: Masked positions, ascending, int[masked].
      labels: The pieces that stood there, int[masked].
      outcomes: What became of each: AS_MASK, AS_ITSELF or AS_RANDOM, int[masked].
      continues_word: Where the text came cut into words, whether each piece continues one, int[pieces] of 0 and 1; else None.
    """

    input_ids: list[int]
    segment_ids: list[int]
    positions: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    outcomes: list[int] = field(default_factory=list)
    continues_word: list[int] | None = None


def is_real_piece(piece: str) -> bool:
    """Returns whether text can give the piece, so that it may replace another: not [PAD], [MASK], [unused17] and their like."""
    return bool(piece) and _MARKER.fullmatch(piece) is None


def is_cjk_piece(piece: str) -> bool:
    """Returns whether the piece is a single Chinese character, which the tokenizer takes for a word."""
    return len(piece) == 1 and ord(piece) in character_classes().cjk


def assemble(ids_a: Sequence[int], ids_b: Sequence[int], rules: MaskingRules) -> MaskedExample:
    """Returns [CLS] A [SEP] B [SEP], or [CLS] A [SEP] where B is empty, with nothing masked yet.

    Where `rules.given_words` is set, the ids are marked ones, and come out without their marks.
    """
    input_ids = [rules.cls_id, *ids_a, rules.sep_id]
    segment_ids = [0] * len(input_ids)
    if ids_b:
        input_ids += [*ids_b, rules.sep_id]
        segment_ids += [1] * (len(ids_b) + 1)
    if not rules.given_words:
        return MaskedExample(input_ids, segment_ids)
    marks = [divmod(id, rules.given_words) for id in input_ids]
    return MaskedExample([id for _, id in marks], segment_ids, continues_word=[mark for mark, _ in marks])


def num_to_mask(num_pieces: int, masked_lm_prob: float, max_predictions: int) -> int:
    """Returns how many positions to mask in an example of `num_pieces`, [CLS] and [SEP] counted; halves round to even."""
    return min(max_predictions, max(1, round(num_pieces * masked_lm_prob)))


def predictions_advice(max_seq_length: int, masked_lm_prob: float, max_predictions: int) -> str | None:
    """Returns what to say of a number of predictions that suits the other two badly, or None."""
    wanted = max_seq_length * masked_lm_prob
    if max_predictions > 2 * wanted + 1:
        return (
            f"max_predictions_per_seq is {max_predictions}, but a full example has {wanted:.0f} masked positions (max_seq_length x "
            "masked_lm_prob): the rest is padding"
        )
    if max_predictions < 0.9 * wanted:
        return (
            f"max_predictions_per_seq is {max_predictions}: of a full example {100 * max_predictions / max_seq_length:.1f} % will be "
            f"masked, not the {100 * masked_lm_prob:.1f} % of masked_lm_prob; {math.ceil(wanted)} would do"
        )
    return None


def mask(example: MaskedExample, rules: MaskingRules, rng: Random) -> MaskedExample:
    """Returns the example with masks drawn anew.

    With whole-word masking, a word that would exceed the number is passed over, so an example can end up with fewer.
    """
    number = num_to_mask(len(example.input_ids), rules.masked_lm_prob, rules.max_predictions)
    if rules.whole_word:
        draw = _draw_words if rules.max_ngram == 1 else partial(_draw_spans, length_bounds(rules.max_ngram))
        chosen = draw(_words(example, rules), number, rng)
    else:
        cls_id, sep_id = rules.cls_id, rules.sep_id
        candidates = [position for position, id in enumerate(example.input_ids) if id != cls_id and id != sep_id]
        chosen = rng.sample(candidates, min(number, len(candidates)))
    chosen.sort()
    ids = list(example.input_ids)
    outcomes = []
    for position in chosen:
        outcome = _draw_outcome(rules.mix, rng)
        outcomes.append(outcome)
        if outcome == AS_MASK:
            ids[position] = rules.mask_id
        elif outcome == AS_RANDOM:
            ids[position] = rng.choice(rules.replacements)
    labels = [example.input_ids[position] for position in chosen]
    return MaskedExample(ids, example.segment_ids, chosen, labels, outcomes, example.continues_word)


def to_features(
    example: MaskedExample, is_random_next: bool, max_seq_length: int, max_predictions: int
) -> dict[str, list[int] | list[float]]:
    """Returns the features of google-research/bert's TFRecords, padded with zeros: int[seq], int[masks], float[masks] and int[1].

    Beside them stands continues_word int[seq], where the text came cut into words.
    """
    padding = [0] * (max_seq_length - len(example.input_ids))
    unused = [0] * (max_predictions - len(example.positions))
    features: dict[str, list[int] | list[float]] = {
        "input_ids": example.input_ids + padding,
        "input_mask": [1] * len(example.input_ids) + padding,
        "segment_ids": example.segment_ids + padding,
        "masked_lm_positions": example.positions + unused,
        "masked_lm_ids": example.labels + unused,
        "masked_lm_weights": [1.0] * len(example.positions) + [0.0] * len(unused),
        "next_sentence_labels": [int(is_random_next)],
    }
    if example.continues_word is not None:
        features["continues_word"] = example.continues_word + padding
    return features


def _draw_words(words: Sequence[list[int]], number: int, rng: Random) -> list[int]:
    """Returns the positions of words drawn until `number` is reached; a word that would exceed it is passed over."""
    chosen: list[int] = []
    for word in rng.sample(words, len(words)):
        if len(chosen) + len(word) <= number:
            chosen += word
        if len(chosen) == number:
            break
    return chosen


def _draw_spans(bounds: Sequence[float], words: Sequence[list[int]], number: int, rng: Random) -> list[int]:
    """Returns the positions of spans of words, `number` in all if they fit, their lengths drawn by `bounds`."""
    order = rng.sample(range(len(words)), len(words))
    return fill_spans(words, order, [span_length(rng.random(), bounds) for _ in words], number)


def _words(example: MaskedExample, rules: MaskingRules) -> list[list[int]]:
    """Returns the positions that may be masked, those of a word together."""
    ids, given = example.input_ids, example.continues_word
    words: list[list[int]] = []
    inside_text = False  # whether the piece before is text, which a ## piece can continue
    for position, id in enumerate(ids):
        if id in (rules.cls_id, rules.sep_id):
            inside_text = False
            continue
        if inside_text and (rules.continues_word[id] if given is None else given[position]):
            words[-1].append(position)
        else:
            words.append([position])
        inside_text = True
    return words


def _draw_outcome(mix: tuple[float, float, float], rng: Random) -> int:
    draw = rng.random()
    if draw < mix[AS_MASK]:
        return AS_MASK
    return AS_ITSELF if draw < mix[AS_MASK] + mix[AS_ITSELF] else AS_RANDOM
