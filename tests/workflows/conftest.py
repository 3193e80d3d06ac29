"""Small pre-training data made from the sample that ships with the package, and runs on it."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import bert_tf
from bert_tf.config import BertConfig, BuildVocabConfig, CreatePretrainingDataConfig, FinetuneConfig, PretrainConfig
from bert_tf.workflows import build_vocab, create_pretraining_data, pretrain

SAMPLE = Path(bert_tf.__file__).parent / "sample"
SEQ, MASKS = 32, 5


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with vocab.txt, bert_config.json (one layer, hidden 32) and data.tfrecord with its manifest."""
    folder = tmp_path_factory.mktemp("made")
    build_vocab.run(BuildVocabConfig(input_file=str(SAMPLE / "corpus.txt"), output_file=str(folder / "vocab.txt"), vocab_size=600))
    create_pretraining_data.run(data_config(folder, "data.tfrecord", dupe_factor=1))
    config = BertConfig(
        vocab_size=600,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        type_vocab_size=2,
    )
    (folder / "bert_config.json").write_text(config.to_json())
    return folder


@pytest.fixture(scope="session")
def unmasked(made):
    """Beside the masked data.tfrecord the same pairs unmasked, unmasked.tfrecord."""
    create_pretraining_data.run(data_config(made, "unmasked.tfrecord", masking="dynamic"))
    return made / "unmasked.tfrecord"


def data_config(made, name, **changes):
    values = dict(
        input_file=str(SAMPLE / "corpus.txt"),
        output_file=str(made / name),
        vocab_file=str(made / "vocab.txt"),
        max_seq_length=SEQ,
        max_predictions_per_seq=MASKS,
    )
    return CreatePretrainingDataConfig(**(values | changes))


def pretrain_config(made, output_dir, **changes):
    values = dict(
        input_file=str(made / "data.tfrecord"),
        bert_config_file=str(made / "bert_config.json"),
        vocab_file=str(made / "vocab.txt"),
        output_dir=str(output_dir),
        do_train=True,
        max_seq_length=SEQ,
        max_predictions_per_seq=MASKS,
        train_batch_size=4,
        num_train_steps=6,
        num_warmup_steps=2,
        save_checkpoints_steps=2,
        learning_rate=1e-3,
    )
    return PretrainConfig(**(values | changes))


@pytest.fixture(scope="session")
def pretrained(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrained")
    pretrain.run(pretrain_config(made, folder, vocab_file=None, num_train_steps=2, num_warmup_steps=1))
    return folder


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory):
    """A task directory: the first rows of the sample, and a test file without labels."""
    folder = tmp_path_factory.mktemp("topic")
    for name, count in (("train", 65), ("dev", 17)):
        lines = (SAMPLE / f"{name}.tsv").read_text().splitlines()[:count]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def finetune_config(rows_dir, output_dir, **changes):
    values = dict(
        task_name="topic",
        data_dir=str(rows_dir),
        output_dir=str(output_dir),
        max_seq_length=24,
        do_train=True,
        train_batch_size=8,
        num_train_epochs=2.0,
        learning_rate=1e-3,
        precision="float32",
    )
    return FinetuneConfig(**(values | changes))


def weights(prefix):
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def assert_equal_weights(first, second):
    first, second = weights(first), weights(second)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
