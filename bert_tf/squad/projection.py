"""The original's way from pieces back to text, by which answers are told apart when n-best lists are made.

It joins the pieces, looks the result up in the lower-cased words, and counts characters other than spaces to find the place in the
words as they stand. Where that fails it takes the words whole. So two spans may have one projected text, and of those the original
keeps the likelier only; to keep the same lists this is done here too. The text that is written comes from offsets instead.
"""

from bert_tf.squad.contexts import Context


def projected_text(context: Context, first: int, last: int) -> str:
    """Returns the text that the original would give for the context's pieces from `first` to `last`."""
    words = slice(int(context.piece_words[first]), int(context.piece_words[last]) + 1)
    pieces = " ".join(context.piece_texts(first, last)).replace(" ##", "").replace("##", "")
    folded = " ".join(filter(None, context.folded_words[words]))
    return align(" ".join(pieces.split()), folded, " ".join(context.words[words]))


def align(part: str, folded: str, whole: str) -> str:
    """Returns the stretch of `whole` that `part` is of `folded`, or all of `whole` where that cannot be told.

    For example, `align("smith", "steve smith ' s", "Steve Smith's")` is "Smith".

    Args:
      part: A stretch of words in folded form.
      folded: Folded words, those of `whole`, joined by spaces.
      whole: Words as the text has them, joined by spaces.
    """
    begin = folded.find(part)
    places = [place for place, char in enumerate(whole) if char != " "]
    if not part or begin < 0 or len(places) != len(folded) - folded.count(" "):
        return whole
    first = begin - folded.count(" ", 0, begin)
    last = first + len(part) - part.count(" ") - 1
    return whole[places[first] : places[last] + 1]
