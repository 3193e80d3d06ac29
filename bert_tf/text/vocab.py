"""A vocabulary from lines: pieces <-> ids, the special tokens, and the checks that a vocabulary must pass."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Self

from bert_tf.errors import InputError

PAD, UNK, CLS, SEP, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Vocabulary:
    """Pieces in the order of their ids.

    Read as google-research/bert reads vocab.txt: a line ends at a newline only (U+2028 is a piece of the Chinese vocabularies, not a
    line end) and is stripped of the white space around it, so that such a piece becomes "", which no text matches. Where a piece
    stands on two lines, its id is the last line's. Unlike the original, a byte order mark and empty lines at the end do not count.

    Attributes:
      lines: The lines of the file as they are.
      pieces: The pieces by id.
      ids: The ids by piece.
      source: The file that the vocabulary came from, for error messages.
    """

    def __init__(self, lines: Sequence[str], source: str = "vocab.txt"):
        self.lines = tuple(lines)
        self.source = source
        self.pieces: tuple[str, ...] = tuple(line.strip() for line in self.lines)
        self.ids = {piece: id for id, piece in enumerate(self.pieces)}
        if not self.lines:
            raise InputError(f"{source}: the vocabulary is empty; give a file of one piece a line")
        missing = [piece for piece in (PAD, UNK, CLS, SEP) if piece not in self.ids]
        if missing:
            raise InputError(f"{source}: the vocabulary has no {', '.join(missing)}; give the model's own vocab.txt")

    @classmethod
    def from_text(cls, text: str, source: str = "vocab.txt") -> Self:
        r"""Returns the vocabulary that a file's text holds; lines end in "\n" or "\r\n"."""
        lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        return cls(lines, source)

    def to_text(self) -> str:
        r"""Returns the text of vocab.txt, one piece a line, from which `from_text` makes this vocabulary again."""
        return "".join(f"{line}\n" for line in self.lines)

    def __len__(self) -> int:
        return len(self.pieces)

    def __contains__(self, piece: object) -> bool:
        return piece in self.ids

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.lines, self.source)

    def id_of(self, piece: str) -> int:
        """Returns the piece's id.

        Raises:
          InputError: The vocabulary does not hold the piece.
        """
        try:
            return self.ids[piece]
        except KeyError:
            raise InputError(f"{self.source}: the vocabulary has no piece {piece!r}; give the model's own vocab.txt") from None

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of `to_text()`: that of the file itself, where it has plain newlines."""
        return hashlib.sha256(self.to_text().encode("utf-8")).hexdigest()

    @cached_property
    def pad_id(self) -> int:
        """The id of [PAD]."""
        return self.id_of(PAD)

    @cached_property
    def unk_id(self) -> int:
        """The id of [UNK]."""
        return self.id_of(UNK)

    @cached_property
    def cls_id(self) -> int:
        """The id of [CLS]."""
        return self.id_of(CLS)

    @cached_property
    def sep_id(self) -> int:
        """The id of [SEP]."""
        return self.id_of(SEP)

    @cached_property
    def mask_id(self) -> int:
        """The id of [MASK]; only masking needs it, so a vocabulary may lack it until then."""
        return self.id_of(MASK)
