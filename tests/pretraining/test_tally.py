from bert_tf.pretraining.masking import AS_ITSELF, AS_MASK, AS_RANDOM, MaskedExample
from bert_tf.pretraining.sentence_pairs import Segments
from bert_tf.pretraining.tally import Tally


def test_rates_are_shares_of_the_right_whole():
    tally = Tally(max_seq_length=10)
    tally.add(MaskedExample([0] * 8, [0] * 8, [1, 2, 3], [7, 7, 7], [AS_MASK, AS_MASK, AS_RANDOM]), Segments(0, 3, 3, 5, True, False))
    tally.add(MaskedExample([0] * 4, [0] * 4, [1], [7], [AS_ITSELF]), Segments(0, 1, 1, 2, False, True))
    assert tally.rates(use_nsp=True) == {
        "mask_rate": 0.333333,
        "mask_mix": [0.5, 0.25, 0.25],
        "masked_per_example": 2.0,
        "random_next_share": 0.5,
        "padding_rate": 0.4,
        "short_share": 0.5,
    }
    assert tally.rates(use_nsp=False)["random_next_share"] is None
    unmasked = tally.rates(use_nsp=True, is_masked=False)
    assert (unmasked["mask_rate"], unmasked["mask_mix"], unmasked["masked_per_example"]) == (None, None, None)


def test_nothing_counted_gives_zero():
    assert Tally(max_seq_length=10).rates(use_nsp=True)["mask_rate"] == 0.0
