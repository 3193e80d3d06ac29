"""N-gram masking: spans of neighbouring words are masked together.

The lengths are those of ALBERT (Lan et al., 2020, section 4.1): of n words with a probability in proportion to 1 / n, up to a longest; 3
there.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def length_bounds(max_ngram: int) -> tuple[float, ...]:
    """Returns where, between 0 and 1, each length ends and the next begins: `length_bounds(3)` is (6/11, 9/11), for 1, 2 and 3 words."""
    sums = list(accumulate(1 / n for n in range(1, max_ngram + 1)))
    return tuple(part / sums[-1] for part in sums[:-1])


def span_length(draw: float, bounds: Sequence[float]) -> int:
    """Returns how many words a span has, given a uniform draw from 0 up to 1 and `length_bounds`."""
    return bisect_right(bounds, draw) + 1


def fill_spans(words: Sequence[Sequence[int]], order: Sequence[int], lengths: Sequence[int], number: int) -> list[int]:
    """Returns the positions of spans of words, taken one after the other until there are `number`.

    A span ends early before a word that is taken already, that would exceed the number, or that another text's [SEP] stands before; so
    single words fill what is left, as they do without spans. For example, of the words [[1], [2, 3], [5]] with the order (1, 0, 2), all
    lengths 2 and the number 3, the span of the word 1 is [2, 3], as [5] does not follow it, and that of the word 0 is [1].

    Args:
      words: The positions of each word, ascending.
      order: Numbers of words, in the order in which spans begin at them.
      lengths: How many words the span that begins at each word has, by the word's number.
      number: Most positions.
    """
    chosen: list[int] = []
    taken = [False] * len(words)
    for first in order:
        for place in range(first, min(first + lengths[first], len(words))):
            word = words[place]
            is_apart = place > first and word[0] != words[place - 1][-1] + 1
            if is_apart or taken[place] or len(chosen) + len(word) > number:
                break
            taken[place] = True
            chosen += word
        if len(chosen) == number:
            break
    return chosen
