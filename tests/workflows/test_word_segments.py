"""Text that comes cut into words, as HFL's whole-word-masked Chinese BERT was made from: the same ids, other masks."""

from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig, CreatePretrainingDataConfig, PretrainConfig
from bert_tf.data.block_tokenizer import BlockTokenizer, TextForm
from bert_tf.data.manifest import read_manifest
from bert_tf.data.records import RecordFile, parse_spec
from bert_tf.data.schema import PRETRAINING, UNMASKED_SEGMENTED_PRETRAINING
from bert_tf.data.text_files import TextBlock
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from bert_tf.workflows import create_pretraining_data, pretrain
from tests.workflows.test_create_pretraining_data import restored_ids

SEQ, MASKS = 32, 8
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SENTENCES = [
    "使用 语言 模型 来 预测 下 一个 词 的 probability 。",
    "今天 天气 很 好 ， 我们 去 公园 散步 。",
    "中华 人民 共和国 成立 于 1949 年 。",
    "他 说 ： “ 语言学 很 有意思 ” 。",
]
CHARACTERS = sorted({char for char in "".join(SENTENCES) if char not in " probability1949"})
VOCAB = Vocabulary([*SPECIALS, *CHARACTERS, "pro", "##babil", "##ity", "19", "##49"])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "vocab.txt").write_text(VOCAB.to_text(), "utf-8")
    document = "\n".join(SENTENCES * 3) + "\n\n"
    (tmp_path / "segmented.txt").write_text(document * 6, "utf-8")
    (tmp_path / "plain.txt").write_text((document * 6).replace(" ", ""), "utf-8")
    return tmp_path


def make(folder, text, name, **changes):
    values = dict(max_seq_length=SEQ, max_predictions_per_seq=MASKS, masked_lm_prob=0.25, dupe_factor=2, do_whole_word_mask=True)
    files = dict(input_file=str(folder / text), output_file=str(folder / name), vocab_file=str(folder / "vocab.txt"))
    return create_pretraining_data.run(CreatePretrainingDataConfig(**files, do_lower_case=True, **(values | changes)))


def read(path, kind):
    records = RecordFile(str(path))
    return {
        name: value.numpy()
        for name, value in tf.io.parse_example(
            records.read(np.arange(len(records))), parse_spec(kind, {"seq": SEQ, "masks": MASKS})
        ).items()
    }


def test_the_pieces_and_where_words_go_on():
    def encode(text, form):
        return BlockTokenizer(VOCAB, True, form)(TextBlock("t", 1, text.encode(), True, len(text)))

    for sentence in [*SENTENCES, "\u200b 语言 \x1c ab\x1cility\t模型　来\u2003 pro ", "语言模型", "  "]:
        plain, found = encode(sentence, TextForm()), encode(sentence, TextForm(word_segments=True))
        np.testing.assert_array_equal(found.ids % len(VOCAB), plain.ids)
        np.testing.assert_array_equal(found.lengths, plain.lengths)
        assert found.num_counted == plain.num_counted
    without_spaces = encode(SENTENCES[0].replace(" ", ""), TextForm())
    np.testing.assert_array_equal(encode(SENTENCES[0], TextForm(word_segments=True)).ids % len(VOCAB), without_spaces.ids)
    found = encode(f"{SENTENCES[0]}\n{SENTENCES[2]}", TextForm(word_segments=True))
    continues = (found.ids >= len(VOCAB)).astype(int).tolist()
    assert continues == [0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, *(0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0)]


def test_the_same_text_and_masks_of_whole_words(folder):
    content = make(folder, "segmented.txt", "words.tfrecord", word_segments=True)
    make(folder, "plain.txt", "characters.tfrecord")
    words, characters = (read(folder / f"{name}.tfrecord", PRETRAINING) for name in ("words", "characters"))
    np.testing.assert_array_equal(words["input_mask"][:, 0], characters["input_mask"][:, 0])
    tokenizer = BlockTokenizer(VOCAB, True, TextForm(word_segments=True))
    whole = 0
    known = {}
    for sentence in SENTENCES:
        ids = tokenizer(TextBlock("t", 1, sentence.encode(), True, len(sentence))).ids
        starts = [*np.flatnonzero(ids < len(VOCAB)), len(ids)]
        known |= {tuple(ids[a:b] % len(VOCAB)): sentence for a, b in pairwise(starts)}
    longest_first = sorted(known, key=len, reverse=True)
    restored = restored_ids(words)
    for row in range(len(restored)):
        masked = set(words["masked_lm_positions"][row][words["masked_lm_weights"][row] > 0].tolist())
        for word in (word for word in longest_first if len(word) > 2):  # 共和国, 语言学, 有意思, probability: in no other word
            for begin in range(SEQ - len(word)):
                if tuple(restored[row, begin : begin + len(word)]) == word:
                    place = set(range(begin, begin + len(word)))
                    assert place <= masked or not place & masked
                    whole += place <= masked
    assert whole > 10
    assert content["observed"]["mask_rate"] == pytest.approx(0.24, abs=0.02)
    assert read_manifest(str(folder / "words.tfrecord")).content["flags"]["word_segments"] is True


def test_pairs_and_order_are_those_of_the_text_without_words(folder):
    make(folder, "segmented.txt", "words.tfrecord", word_segments=True, masking="dynamic")
    make(folder, "plain.txt", "characters.tfrecord", masking="dynamic")
    words, characters = (RecordFile(str(folder / f"{name}.tfrecord")) for name in ("words", "characters"))
    for one, other in zip(words.read(np.arange(len(words))), characters.read(np.arange(len(characters))), strict=True):
        one, other = (tf.train.Example.FromString(each).features.feature for each in (one, other))
        assert set(one) == {*other, "continues_word"}
        assert all(one[name] == other[name] for name in other)


def test_training_masks_given_words_too(folder, caplog):
    make(folder, "segmented.txt", "words.tfrecord", word_segments=True, masking="dynamic", max_ngram=2)
    assert read(folder / "words.tfrecord", UNMASKED_SEGMENTED_PRETRAINING)["continues_word"].any()
    model = BertConfig(
        vocab_size=len(VOCAB), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, type_vocab_size=2
    )
    (folder / "bert_config.json").write_text(model.to_json())
    config = dict(
        bert_config_file=str(folder / "bert_config.json"),
        vocab_file=str(folder / "vocab.txt"),
        max_seq_length=SEQ,
        max_predictions_per_seq=MASKS,
        num_train_steps=3,
        num_warmup_steps=1,
        train_batch_size=4,
        do_train=True,
        do_lower_case=True,
    )
    with caplog.at_level("INFO", logger="absl"):
        found = pretrain.run(
            PretrainConfig(input_file=str(folder / "words.tfrecord"), output_dir=str(folder / "run"), pack_sequences=True, **config)
        )
    assert found["global_step"] == 3
    assert "0.25 of the pieces, 0.8/0.1/0.1, whole words in spans of up to 2" in caplog.text
    with pytest.raises(InputError, match="max_ngram is 2, but spans are of whole words; give do_whole_word_mask=true"):
        pretrain.run(
            PretrainConfig(
                input_file=str(folder / "words.tfrecord"),
                output_dir=str(folder / "other"),
                do_whole_word_mask=False,
                **config,
            )
        )


def test_text_that_is_not_cut_gets_a_word(folder, caplog):
    with caplog.at_level("WARNING", logger="absl"):
        make(folder, "plain.txt", "none.tfrecord", word_segments=True)
    assert "of the pieces are masked, not 25.0 %" in caplog.text and "is the text cut into words by spaces" in caplog.text
    caplog.clear()
    with caplog.at_level("WARNING", logger="absl"):
        make(folder, "plain.txt", "none.tfrecord")
    assert "give text that is cut into words by spaces, and --word_segments" in caplog.text
