"""The BERT input layout: [CLS] a [SEP], or [CLS] a [SEP] b [SEP], cut to length and padded."""

from collections.abc import Sequence

from bert_tf.text.vocab import Vocabulary


def num_special(is_pair: bool) -> int:
    """Returns how many places [CLS] and [SEP] take up."""
    return 3 if is_pair else 2


def fits(ids_a: Sequence[int], ids_b: Sequence[int] | None, max_seq_length: int) -> bool:
    """Returns whether `pack` keeps every piece."""
    return len(ids_a) + len(ids_b or ()) + num_special(ids_b is not None) <= max_seq_length


def truncate_pair(ids_a: Sequence[int], ids_b: Sequence[int], max_pieces: int) -> tuple[Sequence[int], Sequence[int]]:
    """Returns both, cut at their ends to `max_pieces` together.

    The longer one loses a piece until they fit, on a tie the second, as in google-research/bert: so a short one is kept whole, and two
    long ones end up as halves.

    Example: lengths 10 and 3 become 7 and 3 for 10 pieces; 10 and 10 become 5 and 5; for 9 pieces 5 and 4.
    """
    keep_b = min(len(ids_b), max(max_pieces - len(ids_a), max_pieces // 2))
    return ids_a[: max_pieces - keep_b], ids_b[:keep_b]


def pack(ids_a: Sequence[int], ids_b: Sequence[int] | None, max_seq_length: int, vocab: Vocabulary) -> dict[str, list[int]]:
    """Returns input_ids, input_mask and segment_ids, int[max_seq_length] each.

    input_mask is 1 on real pieces; segment_ids is 0 up to the first [SEP], 1 on b and its [SEP]; all three are padded at the end.

    Args:
      ids_a: The first text's ids.
      ids_b: The second text's ids; None where there is one text only, which is not the same as an empty second text.
      max_seq_length: Length in pieces, [CLS] and [SEP] included. Texts that do not fit are cut; `fits` says whether they do.
      vocab: For the ids of [CLS], [SEP] and [PAD].
    """
    room = max_seq_length - num_special(ids_b is not None)
    if ids_b is not None:
        ids_a, ids_b = truncate_pair(ids_a, ids_b, room)
    first = [vocab.cls_id, *ids_a[:room], vocab.sep_id]
    second = [] if ids_b is None else [*ids_b, vocab.sep_id]
    padding = max_seq_length - len(first) - len(second)
    return {
        "input_ids": first + second + [vocab.pad_id] * padding,
        "input_mask": [1] * (len(first) + len(second)) + [0] * padding,
        "segment_ids": [0] * len(first) + [1] * len(second) + [0] * padding,
    }
