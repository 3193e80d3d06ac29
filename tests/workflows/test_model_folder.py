"""What a model's folder says: vocabulary, config, casing, and whether the three fit (user problems 1, 6 and 33)."""

import json
import logging

import numpy as np
import pytest

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from bert_tf.workflows import model_folder
from tests.convert.tiny import write_safetensors, write_tf1

LINES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "\u2028", "green", "blue"]
ARRAYS = {"x": np.ones(1, np.float32)}


def test_a_vocabulary_line_that_is_a_line_separator(tmp_path):
    for end in ("\n", "\r\n"):
        file = tmp_path / "vocab.txt"
        file.write_bytes(end.join([*LINES, ""]).encode())
        vocab = model_folder.read_vocab(file)
        assert (len(vocab), vocab.id_of("red"), vocab.id_of("green"), vocab.id_of("blue")) == (9, 5, 7, 8)


def test_vocabularies_that_cannot_be_read(tmp_path):
    file = tmp_path / "vocab.txt"
    with pytest.raises(InputError, match=r"vocab\.txt: cannot be read"):
        model_folder.read_vocab(file)
    file.write_bytes(b"")
    with pytest.raises(InputError, match=r"vocab\.txt: the vocabulary is empty"):
        model_folder.read_vocab(file)
    file.write_bytes(b"[PAD]\n[UNK]\n\xff\xfe\n")
    with pytest.raises(InputError, match=r"vocab\.txt, line 3: not UTF-8"):
        model_folder.read_vocab(file)


def test_casing_as_the_folder_records_it(tmp_path):
    vocab = tmp_path / "vocab.txt"
    assert model_folder.recorded_casing(vocab) == (None, str(tmp_path))
    # sentence-transformers' own file says something else in the MiniLM folder, about another step
    (tmp_path / "sentence_bert_config.json").write_text('{"do_lower_case": false}')
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    for path in (vocab, tmp_path, str(tmp_path)):
        assert model_folder.recorded_casing(path) == (True, str(tmp_path / "tokenizer_config.json"))
    (tmp_path / "bert_config.json").write_text('{"vocab_size": 9, "do_lower_case": false}')
    assert model_folder.recorded_casing(vocab) == (False, str(tmp_path / "bert_config.json"))
    (tmp_path / "bert_config.json").write_text('{"do_lower_case": "yes"}')
    with pytest.raises(InputError, match=r"bert_config\.json: do_lower_case is 'yes'; give true or false"):
        model_folder.recorded_casing(vocab)


def test_config_by_its_origin(tmp_path):
    values = {"vocab_size": 9, "hidden_act": "gelu"}
    for name, more, act, segments in (
        ("bert_config.json", {}, "gelu", 16),
        ("config.json", {}, "gelu_exact", 2),
        ("bert_config.json", {"model_type": "bert"}, "gelu_exact", 2),
    ):
        (tmp_path / name).write_text(json.dumps(values | more))
        config = model_folder.read_config(tmp_path / name)
        assert (config.hidden_act, config.type_vocab_size, config.do_lower_case) == (act, segments, None)


def test_config_takes_the_recorded_casing_along(tmp_path):
    (tmp_path / "config.json").write_text('{"vocab_size": 9, "model_type": "bert"}')
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert model_folder.read_config(tmp_path / "config.json").do_lower_case is False


@pytest.mark.parametrize("content, message", [("{", "not valid JSON"), ("[]", "holds no JSON object"), ("{}", "has no vocab_size")])
def test_broken_configs(tmp_path, content, message):
    file = tmp_path / "bert_config.json"
    file.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        model_folder.read_config(file)
    assert str(caught.value).startswith(f"{file}: ") and "\n" not in str(caught.value)


def test_files_beside_the_weights(tmp_path):
    prefix = write_tf1(tmp_path / "bert_model.ckpt", ARRAYS)
    assert model_folder.checkpoint_prefix(tmp_path) == prefix
    assert model_folder.find_vocab(prefix) is None
    with pytest.raises(InputError, match=r"bert_model\.ckpt: no bert_config\.json beside it"):
        model_folder.find_config(prefix)
    for name in ("bert_config.json", "vocab.txt"):
        (tmp_path / name).write_text("x")
    for path in (prefix, tmp_path):
        assert model_folder.find_config(path) == str(tmp_path / "bert_config.json")
        assert model_folder.find_vocab(path) == str(tmp_path / "vocab.txt")
    assert model_folder.find_vocab(tmp_path / "vocab.txt") == str(tmp_path / "vocab.txt")


def test_a_hugging_face_folder_is_no_training_run(tmp_path):
    file = write_safetensors(tmp_path, ARRAYS)
    (tmp_path / "config.json").write_text("{}")
    assert model_folder.find_config(file) == str(tmp_path / "config.json")
    with pytest.raises(InputError, match="no state of a training run; give it as --init_checkpoint"):
        model_folder.checkpoint_prefix(tmp_path)


def test_a_vocabulary_longer_than_the_table_is_refused_and_a_shorter_one_said(caplog):
    vocab = Vocabulary([*LINES, "one", "two", "three"], "folder/vocab.txt")
    with pytest.raises(InputError, match=r"folder/vocab\.txt has 12 entries, the model's config says vocab_size 10"):
        model_folder.check_fits(BertConfig(vocab_size=10), vocab)
    model_folder.check_fits(BertConfig(vocab_size=12), vocab)
    assert not caplog.records
    with caplog.at_level(logging.WARNING, logger="absl"):
        model_folder.check_fits(BertConfig(vocab_size=16), vocab)
    assert "has 12 entries, the model's config says vocab_size 16" in caplog.text


def test_texts_longer_than_the_position_table():
    model_folder.check_fits(BertConfig(vocab_size=9), None, 512)
    with pytest.raises(InputError, match="max_seq_length is 600, but the model has 512 positions"):
        model_folder.check_fits(BertConfig(vocab_size=9), None, 600)
