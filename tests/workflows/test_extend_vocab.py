"""A model with words added to its vocabulary: what it says of old text is what it said, bit for bit."""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import bert_tf
from bert_tf.config import BertConfig, ExtendVocabConfig
from bert_tf.convert.names import expand
from bert_tf.errors import InputError
from bert_tf.modeling.models import PretrainingModel
from bert_tf.text.vocab import Vocabulary
from bert_tf.workflows import extend_vocab
from tests.conftest import ROOT
from tests.convert.tiny import BATCH, CONFIG, huggingface_arrays, random_arrays, tf1_arrays, write_safetensors, write_tf1
from tests.workflows.conftest import SAMPLE

PIECES = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "co", "##vid", "the", "sky", "."]
TABLE, BIAS = "bert/embeddings/word_embeddings", "cls/predictions/output_bias"
CO, VID, UNK = 6, 7, 2


@pytest.fixture(scope="module")
def arrays():
    return random_arrays()


@pytest.fixture(params=["tf1", "huggingface"])
def model(request, tmp_path, arrays):
    """The folder of a released model, in either form."""
    folder = tmp_path / "model"
    folder.mkdir()
    config = dataclasses.asdict(CONFIG)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES), encoding="utf-8")
    if request.param == "tf1":
        write_tf1(folder / "bert_model.ckpt", tf1_arrays(arrays))
        (folder / "bert_config.json").write_text(json.dumps(config))
    else:
        write_safetensors(folder, huggingface_arrays(arrays))
        (folder / "config.json").write_text(json.dumps(config | {"hidden_act": "gelu_new", "model_type": "bert"}))
    return folder


def extended(model, tmp_path, text="covid\n\U0001f600\n", **changes):
    words = tmp_path / "words.txt"
    words.write_text(text, encoding="utf-8")
    values = dict(init_checkpoint=str(model), words_file=str(words), output_dir=str(tmp_path / "longer"))
    return extend_vocab.run(ExtendVocabConfig(**(values | changes)))


def test_rows_are_those_of_the_pieces_and_all_others_stay(model, tmp_path, arrays, capsys):
    extension = extended(model, tmp_path)
    assert extension.vocab.pieces == ("[PAD]", "covid", *PIECES[2:], "\U0001f600")
    reader = tf.train.load_checkpoint(str(tmp_path / "longer"))
    old = tf1_arrays(arrays)
    for name, array in old.items():
        new = reader.get_tensor(name)
        if name in (TABLE, BIAS):
            np.testing.assert_allclose(new[1], (array[CO] + array[VID]) / 2, rtol=1e-6)
            np.testing.assert_array_equal(new[11], array[UNK])
            new, array = np.delete(new, [1, 11], axis=0), np.delete(array, 1, axis=0)
        np.testing.assert_array_equal(new, array, err_msg=name)
    assert set(reader.get_variable_to_shape_map()) == {*old, "global_step"}
    assert json.loads((tmp_path / "longer" / "bert_config.json").read_text())["vocab_size"] == 12
    lines = (tmp_path / "longer" / "added_words.tsv").read_text(encoding="utf-8").splitlines()
    assert lines == ["covid\t1\tco ##vid", "\U0001f600\t11\t[UNK]"]
    assert "2 words added, 1 of them in [unusedN] slots" in capsys.readouterr().out


def test_old_text_has_the_same_output_bit_for_bit_and_new_words_are_one_piece(model, tmp_path):
    extended(model, tmp_path)
    longer = str(tmp_path / "longer")
    old_tokenizer, tokenizer = bert_tf.load_tokenizer(str(model)), bert_tf.load_tokenizer(longer)
    assert tokenizer.encode("The covid sky \U0001f600.") == [8, 1, 9, 11, 10]
    assert tokenizer.encode("the sky .") == old_tokenizer.encode("the sky .")
    ids = np.where(BATCH["input_ids"] == 1, 5, BATCH["input_ids"])
    batch = BATCH | {"input_ids": ids}
    before, after = bert_tf.load_encoder(str(model))(batch), bert_tf.load_encoder(longer)(batch)
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_array_equal(after[name].numpy(), before[name].numpy())


def test_without_slots_all_words_stand_behind(model, tmp_path):
    extension = extended(model, tmp_path, use_unused_slots=False)
    assert extension.vocab.pieces == (*PIECES, "covid", "\U0001f600") and extension.num_in_slots == 0


def test_a_padded_table_has_room(tmp_path, arrays):
    folder = tmp_path / "padded"
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES[:9]), encoding="utf-8")
    write_tf1(folder / "bert_model.ckpt", tf1_arrays(arrays))
    (folder / "bert_config.json").write_text(CONFIG.to_json())
    extended(folder, tmp_path, "covid\nsky\n")
    assert json.loads((tmp_path / "longer" / "bert_config.json").read_text())["vocab_size"] == CONFIG.vocab_size
    row = tf.train.load_checkpoint(str(tmp_path / "longer")).get_tensor(TABLE)[9]
    np.testing.assert_array_equal(row, arrays[TABLE][UNK])


def test_words_are_chosen_from_text(model, tmp_path):
    (tmp_path / "notes.jsonl").write_text('{"text": "Covid, covid"}\n{"text": "covid the sky \U0001f600"}\n', encoding="utf-8")
    extension = extended(model, tmp_path, words_file=None, input_file=str(tmp_path / "*.jsonl"), num_words=1)
    assert [word.word for word in extension.added] == ["covid"]


def test_the_same_command_again_gives_the_same_files(model, tmp_path):
    def files():
        return {path.name: path.read_bytes() for path in (tmp_path / "longer").iterdir()}

    extended(model, tmp_path)
    before = files()
    extended(model, tmp_path)
    assert files() == before


@pytest.mark.parametrize(
    "text, changes, message",
    [
        ("covid-19\n", {}, r"words\.txt, line 1: 'covid-19' is no word, the tokenizer cuts it into covid - 19"),
        ("the\n", {}, r"words\.txt: every word is a piece of .*vocab\.txt already"),
        ("covid\n", {"output_dir": "MODEL"}, r"where the model itself lies; give another"),
        ("covid\n", {"words_file": "absent.txt"}, r"absent\.txt: cannot be read"),
        ("covid\n", {"vocab_file": "NO_MASK"}, r"the vocabulary has no piece '\[MASK\]'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_writes_nothing(tmp_path, arrays, text, changes, message):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES), encoding="utf-8")
    (tmp_path / "no_mask.txt").write_text("".join(f"{piece}\n" for piece in PIECES if piece != "[MASK]"), encoding="utf-8")
    write_tf1(folder / "bert_model.ckpt", tf1_arrays(arrays))
    (folder / "bert_config.json").write_text(CONFIG.to_json())
    before = sorted(os.listdir(folder))
    places = {"MODEL": str(folder), "NO_MASK": str(tmp_path / "no_mask.txt")}
    with pytest.raises(InputError, match=message) as error:
        extended(folder, tmp_path, text, **{name: places.get(value, value) for name, value in changes.items()})
    assert "\n" not in str(error.value)
    assert not (tmp_path / "longer").exists() and sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"vocab_size": 12}, "word_embeddings has rows for 11 pieces, the config says vocab_size 12"),
        ({"num_hidden_layers": 1}, "has bert/encoder/layer_1/.*, the config says num_hidden_layers 1"),
    ],
)
def test_a_config_of_another_model_is_refused(tmp_path, arrays, changes, message):
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES), encoding="utf-8")
    write_tf1(tmp_path / "bert_model.ckpt", tf1_arrays(arrays))
    (tmp_path / "bert_config.json").write_text(dataclasses.replace(CONFIG, **changes).to_json())
    with pytest.raises(InputError, match=message):
        extended(tmp_path, tmp_path)
    assert not (tmp_path / "longer").exists()


@pytest.mark.parametrize(
    "values, message",
    [
        ({}, "give one of words_file and input_file"),
        ({"words_file": "w", "input_file": "t", "num_words": 3}, "give one of words_file and input_file"),
        ({"input_file": "t"}, "num_words says how many words input_file gives"),
        ({"input_file": "t", "num_words": 0}, "num_words is 0"),
    ],
)
def test_flags_that_do_not_go_together(values, message):
    with pytest.raises(InputError, match=message):
        ExtendVocabConfig(init_checkpoint="model", output_dir="longer", **values)


@pytest.mark.slow
def test_fine_tuning_goes_on_from_it_by_the_commands(made, tmp_path):
    """From the sample's random start: extend its vocabulary by a word of the sample, then fine-tune."""
    config = BertConfig.from_json((made / "bert_config.json").read_text())
    names = expand(config.num_hidden_layers)
    write_tf1(tmp_path / "bert_model.ckpt", {names[v.path].tf1: v.numpy() for v in PretrainingModel(config).weights})
    vocab = Vocabulary.from_text((made / "vocab.txt").read_text(encoding="utf-8"))
    word = next(w for w in (SAMPLE / "dev.tsv").read_text().lower().split() if w.isalpha() and w not in vocab)
    (tmp_path / "words.txt").write_text(f"{word}\n")
    run = dict(cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, capture_output=True, text=True)
    extend = [
        *(sys.executable, "-m", "bert_tf.cli.extend_vocab", f"--init_checkpoint={tmp_path}/bert_model.ckpt"),
        *(f"--vocab_file={made}/vocab.txt", f"--bert_config_file={made}/bert_config.json"),
        *(f"--words_file={tmp_path}/words.txt", f"--output_dir={tmp_path}/longer"),
    ]
    assert "1 words added" in subprocess.run(extend, **run).stdout
    classify = [
        *(sys.executable, "run_classifier.py", "--task_name=topic", f"--data_dir={SAMPLE}", f"--init_checkpoint={tmp_path}/longer"),
        *(f"--output_dir={tmp_path}/run", "--do_train", "--do_eval", "--max_seq_length=32", "--num_train_epochs=0.1"),
    ]
    told = subprocess.run(classify, **run).stderr
    assert "of the encoder" in told
    assert word in (tmp_path / "run" / "vocab.txt").read_text().split("\n")
