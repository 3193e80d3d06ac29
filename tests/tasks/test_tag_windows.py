"""How a sentence is cut into windows: the same in Python's numbers and in NumPy's, and every piece in one part."""

import numpy as np
import pytest

from bert_tf.tasks.tag_windows import Cut


def by_hand(length, max_seq_length, first, total):
    """Returns for each window where it begins, and the window of each place in the sentence."""
    room = max_seq_length - 2
    if length <= room:
        begin = first - (room - max(length, 1)) // 2
        return [max(0, min(begin, total - room))], [0] * length
    size = -(-room // 2)
    begins = [first + start - (room - size) // 2 for start in range(0, length, size)]
    return [max(0, min(begin, total - room)) for begin in begins], [place // size for place in range(length)]


@pytest.mark.parametrize("max_seq_length", [5, 6, 9])
def test_windows_and_owners(max_seq_length):
    for length in range(24):
        for before, after in ((0, 0), (3, 0), (0, 4), (11, 7)):
            total = before + length + after
            begins, owners = by_hand(length, max_seq_length, before, total)
            cut = Cut.of(length, max_seq_length, np)
            assert cut.count == len(begins)
            assert [cut.begin(number, before, total) for number in range(cut.count)] == begins
            assert [cut.owner(place) for place in range(length)] == owners
            for place, owner in enumerate(owners):  # a tagged piece is inside its window
                assert begins[owner] <= before + place < begins[owner] + cut.room


def test_arrays_of_sentences():
    lengths = np.arange(24)
    cut = Cut.of(lengths, 9, np)
    alone = [Cut.of(int(length), 9, np) for length in lengths]
    assert cut.count.tolist() == [int(one.count) for one in alone] and cut.size.tolist() == [int(one.size) for one in alone]
    numbers = cut.count - 1
    assert cut.begin(numbers, 0, lengths).tolist() == [int(one.begin(one.count - 1, 0, int(n))) for one, n in zip(alone, lengths)]


def test_a_token_without_pieces_at_the_end_has_an_owner_too():
    cut = Cut.of(14, 9, np)
    assert cut.owner(14) == cut.owner(13) == cut.count - 1
    assert Cut.of(0, 9, np).owner(0) == 0
