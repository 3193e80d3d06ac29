from collections import Counter
from random import Random

import pytest
from scipy.stats import chisquare

from bert_tf.errors import InputError
from bert_tf.pretraining.masking import (
    AS_ITSELF,
    AS_MASK,
    AS_RANDOM,
    MaskingRules,
    assemble,
    is_cjk_piece,
    is_real_piece,
    mask,
    num_to_mask,
    to_features,
)
from bert_tf.text.vocab import Vocabulary

P_VALUE = 1e-3  # below it, the draw at this fixed seed would be a one-in-a-thousand event

SPECIALS = ["[PAD]", "[unused1]", "[unused2]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<S>"]
WORDS = [f"w{number}" for number in range(40)] + [f"##s{number}" for number in range(20)]
VOCAB = Vocabulary(SPECIALS + WORDS)
FIRST_WORD, FIRST_SUFFIX = len(SPECIALS), len(SPECIALS) + 40
REAL = range(FIRST_WORD, FIRST_WORD + 60)


def rules(masked_lm_prob=0.15, max_predictions=20, mix=(0.8, 0.1, 0.1), whole_word=False) -> MaskingRules:
    return MaskingRules.of_vocabulary(VOCAB, masked_lm_prob, max_predictions, mix, whole_word)


def plain_example(num_a=50, num_b=40):
    ids = [FIRST_WORD + number % 40 for number in range(num_a + num_b)]
    return assemble(ids[:num_a], ids[num_a:], rules())


def test_pair_layout():
    example = assemble([10, 11], [12], rules())
    assert example.input_ids == [VOCAB.cls_id, 10, 11, VOCAB.sep_id, 12, VOCAB.sep_id]
    assert example.segment_ids == [0, 0, 0, 0, 1, 1]


def test_running_text_layout():
    example = assemble([10, 11], [], rules())
    assert example.input_ids == [VOCAB.cls_id, 10, 11, VOCAB.sep_id]
    assert example.segment_ids == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "num_pieces, prob, most, expected",
    [
        (128, 0.15, 20, 19),  # 19.2
        (128, 0.15, 10, 10),
        (5, 0.15, 20, 1),  # 0.75
        (3, 0.01, 20, 1),  # at least one
        (10, 0.25, 20, 2),  # 2.5: halves to even
        (14, 0.25, 20, 4),  # 3.5
        (70, 0.15, 20, 10),  # 10.5 exactly in binary too
        (128, 1.0, 500, 128),
    ],
)
def test_number_of_masks_counts_specials_and_rounds_as_the_original(num_pieces, prob, most, expected):
    assert num_to_mask(num_pieces, prob, most) == expected


@pytest.mark.parametrize("whole_word", [False, True])
def test_masks_spare_cls_and_sep_and_keep_the_rest(whole_word):
    masking_rules = rules(0.3, 40, whole_word=whole_word)
    rng = Random(1)
    for _ in range(300):
        ids = [rng.choice(REAL) for _ in range(rng.randint(2, 60))]
        cut = rng.randint(1, len(ids) - 1)
        example = assemble(ids[:cut], ids[cut:], masking_rules)
        masked = mask(example, masking_rules, rng)
        assert masked.positions == sorted(set(masked.positions))
        assert masked.labels == [example.input_ids[position] for position in masked.positions]
        assert not {VOCAB.cls_id, VOCAB.sep_id} & set(masked.labels)
        restored = list(masked.input_ids)
        for position, label in zip(masked.positions, masked.labels):
            restored[position] = label
        assert restored == example.input_ids
        wanted = num_to_mask(len(example.input_ids), 0.3, 40)
        assert len(masked.positions) <= wanted if whole_word else len(masked.positions) == wanted


def test_every_position_may_be_all_masked():
    masked = mask(plain_example(3, 2), rules(1.0, 20), Random(1))
    assert masked.positions == [1, 2, 3, 5, 6]


@pytest.mark.parametrize("mix", [(0.8, 0.1, 0.1), (0.5, 0.25, 0.25), (0.2, 0.3, 0.5), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)])
@pytest.mark.parametrize("prob", [0.05, 0.15, 0.4])
def test_mix_is_the_one_asked_for(mix, prob):
    masking_rules, rng, example = rules(prob, 100, mix), Random(11), plain_example()
    outcomes: Counter[int] = Counter()
    for _ in range(600):
        masked = mask(example, masking_rules, rng)
        outcomes.update(masked.outcomes)
        for position, label, outcome in zip(masked.positions, masked.labels, masked.outcomes):
            stands = masked.input_ids[position]
            assert (stands == VOCAB.mask_id) == (outcome == AS_MASK)
            assert outcome != AS_ITSELF or stands == label
            assert outcome != AS_RANDOM or stands in REAL
    assert outcomes.total() == 600 * num_to_mask(93, prob, 100)
    shares = [(outcomes[outcome], share) for outcome, share in enumerate(mix)]
    assert all(count == 0 for count, share in shares if share == 0)
    possible = [(count, share * outcomes.total()) for count, share in shares if share > 0]
    if len(possible) > 1:
        assert chisquare(*zip(*possible)).pvalue > P_VALUE


@pytest.mark.parametrize("prob", [0.05, 0.15, 0.4])
def test_every_position_is_masked_alike(prob):
    masking_rules, rng, example = rules(prob, 100), Random(5), plain_example(12, 15)
    counts: Counter[int] = Counter()
    for _ in range(4000):
        counts.update(mask(example, masking_rules, rng).positions)
    assert sorted(counts) == [*range(1, 13), *range(14, 29)]
    # drawn without replacement, counts vary less than the chi-square assumes: a sound test, if a lenient one
    assert chisquare(list(counts.values())).pvalue > P_VALUE


def test_replacements_are_real_pieces_all_alike():
    masking_rules, rng, example = rules(1.0, 100, (0.0, 0.0, 1.0)), Random(3), plain_example()
    counts: Counter[int] = Counter()
    for _ in range(100):
        masked = mask(example, masking_rules, rng)
        counts.update(masked.input_ids[position] for position in masked.positions)
    assert set(counts) == set(REAL)  # suffixes too, no special, [PAD], [unused] or <S>
    assert chisquare(list(counts.values())).pvalue > P_VALUE


@pytest.mark.parametrize("piece", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused993]", "<S>", "<T>", ""])
def test_markers_are_no_real_pieces(piece):
    assert not is_real_piece(piece)


@pytest.mark.parametrize("piece", ["a", "the", "##ing", "[", "]", "##]", "<", "中", "##中", "1984"])
def test_text_pieces_are_real(piece):
    assert is_real_piece(piece)


def test_chinese_pieces():
    assert is_cjk_piece("中")
    assert not any(is_cjk_piece(piece) for piece in ("##中", "中国", "a", "ひ", "[UNK]"))


def test_whole_words_are_masked_together():
    masking_rules = rules(0.4, 100, whole_word=True)
    rng = Random(2)
    for _ in range(300):
        ids: list[int] = []
        for _ in range(12):
            ids += [FIRST_WORD + rng.randrange(40), *(FIRST_SUFFIX + rng.randrange(20) for _ in range(rng.randrange(4)))]
        example = assemble(ids[:20], ids[20:], masking_rules)
        masked = set(mask(example, masking_rules, rng).positions)
        for position, id in enumerate(example.input_ids[1:], 1):
            before = example.input_ids[position - 1]
            if id >= FIRST_SUFFIX and before not in (VOCAB.cls_id, VOCAB.sep_id):
                assert (position in masked) == (position - 1 in masked)


def test_a_word_ends_at_sep():
    # B was cut at its front, within a word: its ## piece continues no word of A
    masking_rules = rules(0.2, 1, whole_word=True)
    example = assemble([FIRST_WORD], [FIRST_SUFFIX, FIRST_WORD + 1], masking_rules)
    chosen = {tuple(mask(example, masking_rules, Random(seed)).positions) for seed in range(50)}
    assert chosen == {(1,), (3,), (4,)}


def test_a_word_too_long_for_the_number_is_passed_over():
    masking_rules = rules(0.2, 2, whole_word=True)
    ids = [FIRST_WORD, FIRST_SUFFIX, FIRST_SUFFIX + 1, FIRST_WORD + 1, FIRST_SUFFIX + 2, FIRST_WORD + 2, FIRST_WORD + 3]
    example = assemble(ids, [], masking_rules)
    for seed in range(50):
        masked = mask(example, masking_rules, Random(seed))
        assert len(masked.positions) == 2
        assert not set(masked.positions) & {1, 2, 3}


def test_features_are_padded_with_zeros():
    masked = mask(assemble([10, 11], [12], rules()), rules(), Random(1))
    features = to_features(masked, is_random_next=True, max_seq_length=9, max_predictions=3)
    assert {name: len(values) for name, values in features.items()} == {
        "input_ids": 9,
        "input_mask": 9,
        "segment_ids": 9,
        "masked_lm_positions": 3,
        "masked_lm_ids": 3,
        "masked_lm_weights": 3,
        "next_sentence_labels": 1,
    }
    assert features["input_ids"][6:] == features["segment_ids"][6:] == [0, 0, 0]
    assert features["input_mask"] == [1] * 6 + [0] * 3
    assert features["masked_lm_weights"] == [1.0, 0.0, 0.0]
    assert features["masked_lm_positions"][1:] == features["masked_lm_ids"][1:] == [0, 0]
    assert features["next_sentence_labels"] == [1]


def test_masks_follow_the_seed():
    example = plain_example()
    assert mask(example, rules(), Random(1)) == mask(example, rules(), Random(1))
    assert mask(example, rules(), Random(1)) != mask(example, rules(), Random(2))


def test_vocabulary_without_mask_or_pieces_is_refused():
    with pytest.raises(InputError, match=r"thin\.txt.*\[MASK\]"):
        MaskingRules.of_vocabulary(Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"], "thin.txt"), 0.15, 20, (0.8, 0.1, 0.1), False)
    with pytest.raises(InputError, match=r"bare\.txt.*special tokens only"):
        MaskingRules.of_vocabulary(Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "bare.txt"), 0.15, 20, (0.8, 0.1, 0.1), False)
