"""How a sentence is cut into the windows that its tokens are tagged in: the same numbers in Python's records and in a SavedModel's graph.

A sentence that fits into a window stands in the middle of the pieces around it, or nearer to their border. A longer one is cut into
parts of half a window, each shown with a quarter on both sides. Every token is tagged in the window whose part its first piece is in.

Numbers are whole: Python's or NumPy's with `ops` numpy, TensorFlow's, of any shape, with `ops` tensorflow: both name `where`, `minimum`
and `maximum` alike, and neither is imported here.
"""

from types import ModuleType
from typing import Any, NamedTuple

from bert_tf.text.pack import num_special


class Cut(NamedTuple):
    """How a sentence is cut.

    Attributes:
      room: Most pieces of a window, without [CLS] and [SEP].
      size: Pieces of each part; the last may have fewer.
      count: Windows: one a part, and one of a sentence without any piece.
      ops: numpy or tensorflow.
    """

    room: int
    size: Any
    count: Any
    ops: ModuleType

    @classmethod
    def of(cls, length: Any, max_seq_length: int, ops: ModuleType) -> "Cut":
        """Returns how a sentence of so many pieces is cut."""
        room = max_seq_length - num_special(is_pair=False)
        size = ops.maximum(ops.where(length <= room, length, -(-room // 2)), 1)
        return cls(room, size, ops.maximum(-(-length // size), 1), ops)

    def begin(self, number: Any, first: Any, total: Any) -> Any:
        """Returns where the window of this number begins, in the text around the sentence.

        Args:
          number: Counted from 0.
          first: Where in that text the sentence begins.
          total: Pieces of that text.
        """
        margin = (self.room - self.size) // 2
        return self.ops.maximum(self.ops.minimum(first + number * self.size - margin, total - self.room), 0)

    def owner(self, place: Any) -> Any:
        """Returns the number of the window in which a token is tagged whose first piece has this place in the sentence.

        Of a token without pieces at the sentence's end, which is not tagged, it is the last.
        """
        return self.ops.minimum(place // self.size, self.count - 1)
