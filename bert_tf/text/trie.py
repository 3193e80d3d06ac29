"""A vocabulary as a trie in arrays, so that a graph can find the longest piece from any place of a text."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bert_tf.text.vocab import Vocabulary

# Two roots: of the pieces that begin a word, and of those written with ## that go on with it.
FIRST_ROOT, CONTINUATION_ROOT = 0, 1
CODE_BITS = 21  # a code point takes the lower 21 bits of a key, the node the others


@dataclass(frozen=True)
class Trie:
    """Nodes are numbers; a node stands for the code points on the way from its root.

    Attributes:
      keys: int64[edges], node << CODE_BITS | code point.
      children: int64[edges], the node that each key leads to.
      pieces: int32[nodes], id of the piece that ends at the node; -1 where none does.
    """

    keys: npt.NDArray[np.int64]
    children: npt.NDArray[np.int64]
    pieces: npt.NDArray[np.int32]


def build_trie(vocab: Vocabulary) -> Trie:
    """Returns the trie of all pieces that a text can match.

    Code point 0 is on no edge: no text keeps it, so it can mark the end of a word.
    """
    edges: dict[int, int] = {}
    pieces = [-1, -1]
    for piece, id in vocab.ids.items():
        node, text = (CONTINUATION_ROOT, piece[2:]) if piece.startswith("##") else (FIRST_ROOT, piece)
        if not text or "\0" in text:
            continue
        for char in text:
            node = edges.setdefault(node << CODE_BITS | ord(char), len(pieces))
            if node == len(pieces):
                pieces.append(-1)
        pieces[node] = id
    return Trie(np.array(list(edges), np.int64), np.array(list(edges.values()), np.int64), np.array(pieces, np.int32))
