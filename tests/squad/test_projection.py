"""Where the original's projected text and the text from offsets are the same, and every way in which they are not."""

import pytest

from bert_tf.squad.contexts import Context
from bert_tf.squad.projection import align, projected_text
from tests.squad.golden import toy_tokenizer


def both(text, first, last, do_lower_case=True):
    context = Context.of(text, toy_tokenizer(do_lower_case))
    return projected_text(context, first, last), context.span_text(first, last)


@pytest.mark.parametrize(
    "text, first, last, same",
    [
        ("Steve Smith's", 1, 1, "Smith"),
        ("( 1895-1995 )", 1, 2, "1895"),
        ("(1895", 1, 1, "18"),
        ("Café noir", 0, 0, "Café"),
    ],
)
def test_both_give_the_span(text, first, last, same):
    assert both(text, first, last) == (same, same)


@pytest.mark.parametrize(
    "text, first, last, projected, exact",
    [
        # the original joins words with one space, whatever stood there
        ("Paris  is\tbig", 0, 2, "Paris is big", "Paris  is\tbig"),
        # an unknown word is [UNK], which is nowhere in the words: they are taken whole
        ("(xyz, Rome)", 1, 1, "(xyz,", "xyz"),
        # U+00A0 counts as a character in the text and not in the folded words: no place can be counted
        ("b Cafe\u00a0Noir, c", 1, 2, "Cafe\u00a0Noir,", "Cafe\u00a0Noir"),
        # so do characters that the tokenizer drops
        ("big-\u200bold.", 0, 0, "big-\u200bold.", "big"),
        # and decomposed letters, with accents stripped
        ("cafe\u0301, noir", 0, 0, "cafe\u0301,", "cafe\u0301"),
        # the first place with the same letters is taken for the answer's
        ("is1995 is", 1, 1, "is", "is"),
        ("(b)b", 3, 3, "b", "b"),
    ],
)
def test_where_they_differ(text, first, last, projected, exact):
    assert both(text, first, last) == (projected, exact)


def test_the_first_of_two_equal_stretches_is_projected():
    """The texts are the same, and so entries of an n-best list are one; the offsets are those of the span itself."""
    context = Context.of("b(b)", toy_tokenizer())
    assert projected_text(context, 0, 0) == projected_text(context, 2, 2) == "b"
    assert [int(context.starts[piece]) for piece in (0, 2)] == [0, 2]


@pytest.mark.parametrize(
    "part, folded, whole, expected",
    [
        ("smith", "steve smith ' s", "Steve Smith's", "Smith"),
        ("smith ' s", "steve smith ' s", "Steve Smith's", "Smith's"),
        ("ve sm", "steve smith", "Steve Smith", "ve Sm"),
        ("jones", "steve smith", "Steve Smith", "Steve Smith"),
        ("", "steve smith", "Steve Smith", "Steve Smith"),
        ("steve", "steve smith", "Steve Smith!", "Steve Smith!"),
    ],
)
def test_align(part, folded, whole, expected):
    assert align(part, folded, whole) == expected
