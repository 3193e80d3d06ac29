import hashlib
import pickle

import pytest

from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from tests.conftest import SHARED, needs_shared
from tests.text.golden import RELEASED, SPECIALS, released_vocabulary, vocabulary


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_line_separator_is_a_piece_not_a_line_end(newline):
    vocab = Vocabulary.from_text(newline.join([*SPECIALS, "red", "\u2028", "green", "blue", ""]))
    assert [vocab.id_of(piece) for piece in ("red", "green", "blue")] == [5, 7, 8]
    assert len(vocab) == 9
    assert vocab.to_text().count("\n") == 9
    assert Vocabulary.from_text(vocab.to_text()).pieces == vocab.pieces


def test_special_ids():
    vocab = Vocabulary(["a", "[SEP]", "[PAD]", "[MASK]", "[UNK]", "[CLS]"])
    assert (vocab.pad_id, vocab.unk_id, vocab.cls_id, vocab.sep_id, vocab.mask_id) == (2, 4, 5, 1, 3)


def test_the_last_of_equal_lines_gives_the_id_and_all_count():
    vocab = vocabulary("red", "green", "red")
    assert vocab.id_of("red") == 7
    assert len(vocab) == 8
    assert vocab.pieces[5] == "red"


def test_byte_order_mark_and_empty_lines_at_the_end_do_not_count():
    vocab = Vocabulary.from_text("\ufeff" + "\n".join([*SPECIALS, "red", "", "blue", "", ""]))
    assert vocab.pad_id == 0
    assert (vocab.id_of("blue"), len(vocab)) == (7, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "v.txt: the vocabulary is empty; give a file of one piece a line"),
        ("\n\n", "v.txt: the vocabulary is empty; give a file of one piece a line"),
        ("[PAD]\n[CLS]\n", "v.txt: the vocabulary has no [UNK], [SEP]; give the model's own vocab.txt"),
    ],
)
def test_refuses_what_is_no_vocabulary(text, message):
    with pytest.raises(InputError) as error:
        Vocabulary.from_text(text, "v.txt")
    assert str(error.value) == message


def test_mask_may_be_missing_until_it_is_asked_for():
    vocab = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    with pytest.raises(InputError, match=r"no piece '\[MASK\]'"):
        _ = vocab.mask_id


def test_pickles_to_itself():
    vocab = vocabulary("red", "\u2028")
    copy = pickle.loads(pickle.dumps(vocab))
    assert (copy.pieces, copy.source, copy.sha256) == (vocab.pieces, vocab.source, vocab.sha256)


@needs_shared
@pytest.mark.parametrize(("name", "size"), zip(RELEASED, (30522, 28996, 21128, 119547)))
def test_released_vocabularies_go_through_unchanged(name, size):
    vocab = released_vocabulary(name)
    assert len(vocab) == size
    assert (vocab.pad_id, vocab.unk_id, vocab.cls_id, vocab.sep_id, vocab.mask_id) == (0, 100, 101, 102, 103)
    data = (SHARED / "data" / "vocab" / f"{name}_vocab.txt").read_bytes()
    assert vocab.to_text().encode("utf-8") == data
    assert vocab.sha256 == hashlib.sha256(data).hexdigest()
