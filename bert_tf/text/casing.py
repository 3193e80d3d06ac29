"""Whether text is lower-cased before it is looked up, and the refusal of a choice that contradicts the vocabulary."""

import re
import unicodedata
from collections.abc import Iterable

from absl import logging

from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary

# A cased vocabulary holds 14 % (multilingual) to 28 % (English) such pieces, an uncased or Chinese one none but its special tokens.
CASED_SHARE = 0.01

_VOICED_KANA = "".join(kana for kana in map(chr, range(0x3041, 0x3100)) if len(unicodedata.normalize("NFD", kana)) > 1)
_TAKEN_APART = re.compile(f"[\uac00-\ud7a3{_VOICED_KANA}]")  # Hangul syllables first


def cased_share(vocab: Vocabulary) -> float:
    """Returns the share of pieces that hold one of A to Z; special tokens and other pieces in square brackets count on neither side."""
    words = [piece for piece in vocab.pieces if not (piece.startswith("[") and piece.endswith("]"))]
    return sum(re.search("[A-Z]", piece) is not None for piece in words) / max(len(words), 1)


def looks_cased(vocab: Vocabulary) -> bool:
    """Returns whether the vocabulary was made from text that was not lower-cased."""
    return cased_share(vocab) > CASED_SHARE


def resolve_do_lower_case(requested: bool | None, vocab: Vocabulary, recorded: bool | None, source: str) -> bool:
    """Returns whether to lower-case: as asked, else as the model's folder records it, else as the vocabulary's pieces look.

    Args:
      requested: The flag; None where it was not given.
      vocab: The vocabulary.
      recorded: do_lower_case in the model's folder; None where it says nothing.
      source: The folder or file behind `recorded`, for error messages.

    Raises:
      InputError: The choice contradicts the vocabulary or the record.
    """
    share = cased_share(vocab)
    cased = share > CASED_SHARE
    described = f"{vocab.source} is a cased vocabulary ({share:.1%} of its pieces hold A to Z)"
    if recorded and cased:
        raise InputError(f"{source} records do_lower_case true, but {described}; put the files of one model together, or mend the record")
    if requested is not None and recorded is not None and requested != recorded:
        given, right = (str(value).lower() for value in (requested, recorded))
        raise InputError(f"do_lower_case is {given}, but {source} records {right} for this model; give --do_lower_case={right}")
    if requested and cased:
        raise InputError(f"do_lower_case is true, but {described}: every capital would be lost; give --do_lower_case=false")
    choice = requested if requested is not None else recorded
    if choice is False and recorded is None and not cased:
        logging.warning(
            "do_lower_case is false, but %s looks lower-cased (%.1f%% of its pieces hold A to Z): words with capitals will become [UNK]",
            vocab.source,
            100 * share,
        )
    return not cased if choice is None else choice


def warn_of_letters_taken_apart(texts: Iterable[str], what: str) -> None:
    """Warns of texts in Hangul, which lower-casing as the original does it cuts into jamo, or in kana, which lose their voicing marks.

    Args:
      texts: The texts of a model that lower-cases.
      what: What they are, for the message.
    """
    each = [_TAKEN_APART.search(text) is not None for text in texts]
    if any(each):
        logging.warning(
            "%s: %d of %d texts hold Hangul or voiced kana, which an uncased model's tokenizer takes apart, as the original's does; a "
            "cased model keeps them whole",
            *(what, sum(each), len(each)),
        )
