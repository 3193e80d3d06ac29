import gzip
import json
from itertools import product

import pytest

from bert_tf.text.pack import fits, pack, truncate_pair
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.conftest import SHARED, needs_shared
from tests.text.golden import released_vocabulary, vocabulary

VOCAB = vocabulary()


@needs_shared
@pytest.mark.parametrize(
    ("name", "max_seq_length", "num_cut"), [("mrpc_dev_128", 128, 0), ("mrpc_dev_32", 32, 191), ("cola_dev_64", 64, 0)]
)
def test_features_equal_the_original(name, max_seq_length, num_cut):
    vocab = released_vocabulary("uncased")
    tokenizer = WordPieceTokenizer(vocab, do_lower_case=True)
    with gzip.open(SHARED / "golden" / "classifier" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    cut = 0
    for row in rows:
        ids_a = tokenizer.encode(row["text_a"])
        ids_b = None if row["text_b"] is None else tokenizer.encode(row["text_b"])
        features = pack(ids_a, ids_b, max_seq_length, vocab)
        assert features == {key: row[key] for key in ("input_ids", "input_mask", "segment_ids")}
        cut += not fits(ids_a, ids_b, max_seq_length)
    assert len(rows) == 200
    assert cut == num_cut


def test_layout():
    assert pack([7, 8], None, 6, VOCAB) == {
        "input_ids": [2, 7, 8, 3, 0, 0],
        "input_mask": [1, 1, 1, 1, 0, 0],
        "segment_ids": [0, 0, 0, 0, 0, 0],
    }
    assert pack([7], [8, 9], 8, VOCAB) == {
        "input_ids": [2, 7, 3, 8, 9, 3, 0, 0],
        "input_mask": [1, 1, 1, 1, 1, 1, 0, 0],
        "segment_ids": [0, 0, 0, 1, 1, 1, 0, 0],
    }
    assert pack([7], [], 5, VOCAB)["input_ids"] == [2, 7, 3, 3, 0]


@pytest.mark.parametrize("max_pieces", [2, 3, 7, 8])
def test_the_longer_one_loses_piece_by_piece_on_a_tie_the_second(max_pieces):
    for length_a, length_b in product(range(12), repeat=2):
        left, right = list(range(length_a)), list(range(100, 100 + length_b))
        cut_a, cut_b = truncate_pair(left, right, max_pieces)
        while len(left) + len(right) > max_pieces:
            (left if len(left) > len(right) else right).pop()
        assert (cut_a, cut_b) == (left, right)


@pytest.mark.parametrize(("length_a", "length_b"), [(6, None), (7, None), (0, 0), (2, 3), (3, 3), (9, 9)])
def test_fits_says_whether_nothing_is_cut(length_a, length_b):
    ids_a, ids_b = [7] * length_a, None if length_b is None else [8] * length_b
    features = pack(ids_a, ids_b, 8, VOCAB)
    assert all(len(values) == 8 for values in features.values())
    kept = features["input_ids"].count(7) + features["input_ids"].count(8)
    assert fits(ids_a, ids_b, 8) == (kept == length_a + (length_b or 0))
