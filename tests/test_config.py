"""Configs: JSON in and out, named sizes, every refusal, and what makes two runs the same run."""

import dataclasses
import json
import typing

import pytest

from bert_tf import config as configs
from bert_tf.config import (
    MODEL_SIZES,
    BertConfig,
    BuildVocabConfig,
    CreatePretrainingDataConfig,
    FinetuneConfig,
    PredictConfig,
    PretrainConfig,
    ScoreSquadConfig,
    SquadConfig,
    TaggerConfig,
    TriviaQaConfig,
    mask_shares,
)
from bert_tf.errors import InputError

# bert_config.json of uncased_L-12_H-768_A-12 as released, pooler keys of the multilingual one included.
RELEASED = """{
  "attention_probs_dropout_prob": 0.1, "directionality": "bidi", "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
  "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072, "max_position_embeddings": 512,
  "num_attention_heads": 12, "num_hidden_layers": 12, "pooler_fc_size": 768, "type_vocab_size": 2, "vocab_size": 30522
}"""

PRETRAIN = dict(input_file="a", output_dir="b")
CREATE = dict(input_file="a", output_file="b", vocab_file="c")
REQUIRED = {
    BuildVocabConfig: dict(input_file="a", output_file="b"),
    CreatePretrainingDataConfig: CREATE,
    PretrainConfig: PRETRAIN,
    FinetuneConfig: dict(task_name="mrpc", output_dir="b"),
    PredictConfig: dict(saved_model="a"),
    SquadConfig: dict(output_dir="b"),
    ScoreSquadConfig: dict(dataset="a", predictions="b"),
    TriviaQaConfig: dict(input_file="a", evidence_dir="b", output_file="c"),
}

FLAG_CLASSES = [
    value
    for value in vars(configs).values()
    if dataclasses.is_dataclass(value) and isinstance(value, type) and value not in (BertConfig, TaggerConfig)
]


def test_a_released_config_is_read_and_unknown_keys_are_ignored():
    config = BertConfig.from_json(RELEASED)
    assert config == BertConfig.of_size("base", 30522)
    assert config.do_lower_case is None


def test_json_round_trip():
    for changes in ({}, {"do_lower_case": False, "hidden_act": "gelu_exact", "hidden_dropout_prob": 0}):
        config = BertConfig.of_size("small", 8000, **changes)
        text = config.to_json()
        assert BertConfig.from_json(text) == config
        assert list(json.loads(text)) == sorted(json.loads(text))
    assert "do_lower_case" not in json.loads(BertConfig.of_size("small", 8000).to_json())


def test_keys_the_file_lacks_have_the_originals_defaults():
    assert BertConfig.from_json('{"vocab_size": 5}').type_vocab_size == 16


@pytest.mark.parametrize("size", MODEL_SIZES)
def test_named_sizes_have_the_papers_proportions(size):
    config = BertConfig.of_size(size, 100)
    assert config.hidden_size == 64 * config.num_attention_heads
    assert config.intermediate_size == 4 * config.hidden_size
    assert config.type_vocab_size == 2


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(vocab_size=0), r"vocab_size is 0"),
        (dict(hidden_size="768"), r"hidden_size is '768'"),
        (dict(num_hidden_layers=True), r"num_hidden_layers is True"),
        (dict(num_hidden_layers=2.0), r"num_hidden_layers is 2\.0"),
        (dict(hidden_size=770), r"hidden_size 770 .* num_attention_heads 12"),
        (dict(hidden_act="swish"), r"hidden_act is 'swish'; give one of gelu, gelu_exact, relu, tanh, linear"),
        (dict(hidden_act=None), r"hidden_act is None"),
        (dict(hidden_dropout_prob=1.0), r"hidden_dropout_prob is 1\.0"),
        (dict(attention_probs_dropout_prob=-0.1), r"attention_probs_dropout_prob is -0\.1"),
        (dict(attention_probs_dropout_prob="0.1"), r"attention_probs_dropout_prob is '0\.1'"),
        (dict(initializer_range=0), r"initializer_range is 0"),
        (dict(initializer_range=None), r"initializer_range is None"),
        (dict(do_lower_case="false"), r"do_lower_case is 'false'"),
    ],
)
def test_impossible_models_are_refused_by_file_field_and_value(changes, message):
    values = json.loads(RELEASED) | changes
    with pytest.raises(InputError, match=f"^my/bert_config.json: bert_config: {message}") as caught:
        BertConfig.from_json(json.dumps(values), "my/bert_config.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text, message", [("{", "not valid JSON"), ("[1]", "no JSON object"), ("{}", "has no vocab_size")])
def test_a_file_that_is_no_config(text, message):
    with pytest.raises(InputError, match=f"x.json: .*{message}"):
        BertConfig.from_json(text, "x.json")


def test_an_unknown_size():
    with pytest.raises(InputError, match=r"model_size is 'huge'; give one of tiny, mini, small, medium, base, large"):
        BertConfig.of_size("huge", 100)


@pytest.mark.parametrize(
    "config_class, changes, message",
    [
        (BuildVocabConfig, dict(vocab_size=9), "vocab_size is 9"),
        (BuildVocabConfig, dict(min_count=0), "min_count is 0"),
        (BuildVocabConfig, dict(character_coverage=1.1), "character_coverage is 1.1"),
        (BuildVocabConfig, dict(vocab_size=20, num_unused=20), "num_unused is 20"),
        (CreatePretrainingDataConfig, dict(max_seq_length=4), "max_seq_length is 4; give at least 5"),
        (CreatePretrainingDataConfig, dict(max_predictions_per_seq=0), "max_predictions_per_seq is 0"),
        (CreatePretrainingDataConfig, dict(dupe_factor=0), "dupe_factor is 0"),
        (CreatePretrainingDataConfig, dict(masked_lm_prob=0.0), "masked_lm_prob is 0.0"),
        (CreatePretrainingDataConfig, dict(masked_lm_prob=float("nan")), "masked_lm_prob is nan"),
        (CreatePretrainingDataConfig, dict(short_seq_prob=1.5), "short_seq_prob is 1.5"),
        (CreatePretrainingDataConfig, dict(mask_mix="0.8,0.1"), "mask_mix is '0.8,0.1'"),
        (CreatePretrainingDataConfig, dict(mask_mix="0.8,0.3,-0.1"), "mask_mix is '0.8,0.3,-0.1'"),
        (CreatePretrainingDataConfig, dict(mask_mix="a,b,c"), "mask_mix is 'a,b,c'"),
        (CreatePretrainingDataConfig, dict(mask_mix="0.8,nan,0.1"), "mask_mix is '0.8,nan,0.1'"),
        (PretrainConfig, dict(max_seq_length=4), "max_seq_length is 4"),
        (PretrainConfig, dict(train_batch_size=0), "train_batch_size is 0"),
        (PretrainConfig, dict(eval_batch_size=-1), "eval_batch_size is -1"),
        (PretrainConfig, dict(keep_checkpoint_max=0), "keep_checkpoint_max is 0"),
        (PretrainConfig, dict(iterations_per_loop=0), "iterations_per_loop is 0"),
        (PretrainConfig, dict(save_checkpoints_steps=0), "save_checkpoints_steps is 0"),
        (PretrainConfig, dict(learning_rate=0.0), "learning_rate is 0.0"),
        (PretrainConfig, dict(learning_rate=float("nan")), "learning_rate is nan"),
        (PretrainConfig, dict(learning_rate=float("inf")), "learning_rate is inf"),
        (PretrainConfig, dict(learning_rate=2e5), "learning_rate is 200000.0; .* at most 1"),
        (PretrainConfig, dict(num_train_steps=10**13), "num_train_steps is 10000000000000; give 1 to 1,000,000,000,000"),
        (PretrainConfig, dict(train_batch_size=10**20), "train_batch_size is 1000+; give 1 to 1,000,000"),
        (CreatePretrainingDataConfig, dict(max_predictions_per_seq=10**20), "max_predictions_per_seq is 1000+; give 1 to"),
        (PretrainConfig, dict(max_seq_length=10**9), "max_seq_length is 1000000000; give at most"),
        (PretrainConfig, dict(output_dir=""), "output_dir is missing"),
        (PretrainConfig, dict(random_seed=-1), "random_seed is -1"),
        (PretrainConfig, dict(random_seed=2**32), "random_seed is 4294967296"),
        (PretrainConfig, dict(num_train_steps=0), "num_train_steps is 0"),
        (PretrainConfig, dict(num_warmup_steps=-1), "num_warmup_steps is -1"),
        (
            PretrainConfig,
            dict(do_train=True, num_train_steps=10, num_warmup_steps=10),
            "num_warmup_steps 10 is not below num_train_steps 10",
        ),
        (PretrainConfig, dict(max_eval_steps=0), "max_eval_steps is 0"),
        (PretrainConfig, dict(num_train_steps=10, stop_at_step=11), "stop_at_step is 11"),
        (PretrainConfig, dict(stop_at_step=0), "stop_at_step is 0"),
        (PretrainConfig, dict(init_checkpoint="c", continue_from="d"), "init_checkpoint and continue_from"),
        (FinetuneConfig, dict(num_train_epochs=0.0), "num_train_epochs is 0.0"),
        (FinetuneConfig, dict(num_train_epochs=float("inf")), "num_train_epochs is inf"),
        (FinetuneConfig, dict(num_train_epochs=1e300), "num_train_epochs is 1e\\+300; .* at most 1,000,000"),
        (FinetuneConfig, dict(bucket_lengths="32,300"), "bucket_lengths is '32,300'; .* up to max_seq_length 128"),
        (FinetuneConfig, dict(bucket_lengths="0,32"), "bucket_lengths is '0,32'"),
        (FinetuneConfig, dict(bucket_lengths="short"), "bucket_lengths is 'short'; give auto, off, or whole numbers"),
        (FinetuneConfig, dict(warmup_proportion=1.0), "warmup_proportion is 1.0"),
        (PretrainConfig, dict(model_size="tiny", bert_config_file="c.json"), "model_size and bert_config_file are both given"),
        (FinetuneConfig, dict(predict_batch_size=0), "predict_batch_size is 0"),
        (FinetuneConfig, dict(data_dir="a", tfds_name="glue/mrpc"), "data_dir and tfds_name"),
        (FinetuneConfig, dict(do_eval=True), "no data: give --data_dir"),
        (FinetuneConfig, dict(dev_file="a.csv"), "dev_file is for rows of your own; give --kind too"),
        (FinetuneConfig, dict(labels="a,b"), "labels is for rows of your own; give --kind too"),
        (FinetuneConfig, dict(kind="classify", data_dir="a"), "data_dir is for known tasks; with --kind give --train_file"),
        (FinetuneConfig, dict(kind="classify", do_train=True), "do_train needs rows; give --train_file"),
        (FinetuneConfig, dict(kind="classify", do_train=True, train_file="a", eval_steps=5), "eval_steps needs rows; give --dev_file"),
        (FinetuneConfig, dict(kind="classify", do_eval=True, train_file="a"), "do_eval needs rows; give --dev_file"),
        (FinetuneConfig, dict(kind="classify", do_predict=True, train_file="a"), "do_predict needs rows; give --test_file"),
        (FinetuneConfig, dict(kind="classify", threshold="0.5"), "threshold is '0.5', but kind is classify; it is for multilabel"),
        (FinetuneConfig, dict(kind="multilabel", threshold="0.5,1"), "threshold is '0.5,1'; give a number between 0 and 1"),
        (FinetuneConfig, dict(kind="multilabel", threshold="half"), "threshold is 'half'; give a number between 0 and 1"),
        (FinetuneConfig, dict(kind="multilabel", label_separator=""), "label_separator is empty; give what stands between two labels"),
        (FinetuneConfig, dict(kind="choose"), "choice_columns is None; give two columns or more, each once, separated by commas"),
        (FinetuneConfig, dict(kind="choose", choice_columns="a,a"), "choice_columns is 'a,a'; give two columns or more, each once"),
        (FinetuneConfig, dict(kind="choose", choice_columns="a,b", labels="0,1"), "labels is '0,1', but kind is choose, whose labels are"),
        (FinetuneConfig, dict(kind="classify", choice_columns="a,b"), "choice_columns is 'a,b', but kind is classify; it is for choose"),
        (FinetuneConfig, dict(kind="tag", id_column="id"), "id_column is 'id', but kind is tag, .* leave it out"),
        (FinetuneConfig, dict(kind="tag", text_pair_column="2"), "text_pair_column is '2', but kind is tag, .* leave it out"),
        (FinetuneConfig, dict(kind="tag", file_format="csv"), "file_format is csv, but kind is tag, whose files hold a token a line"),
        (FinetuneConfig, dict(kind="tag", text_column="word"), "text_column is 'word'; of tag give the column's number, from 1, or"),
        (FinetuneConfig, dict(kind="tag", label_column="0"), "label_column is '0'; of tag give the column's number"),
        (SquadConfig, dict(do_train=True), "do_train needs train_file; give it"),
        (SquadConfig, dict(do_predict=True), "do_predict needs predict_file; give it"),
        (SquadConfig, dict(do_eval=True), "do_eval needs predict_file; give it"),
        (SquadConfig, dict(do_train=True, train_file="a", eval_steps=5), "eval_steps needs predict_file; give it"),
        (SquadConfig, dict(max_seq_length=67), "max_seq_length is 67, which leaves no room .* max_query_length 64"),
        (SquadConfig, dict(doc_stride=0), "doc_stride is 0; give 1 to"),
        (SquadConfig, dict(max_query_length=0), "max_query_length is 0; give 1 to"),
        (SquadConfig, dict(n_best_size=0), "n_best_size is 0; give 1 to"),
        (SquadConfig, dict(max_answer_length=-1), "max_answer_length is -1; give 1 to"),
        (SquadConfig, dict(num_train_epochs=0.0), "num_train_epochs is 0.0"),
        (TriviaQaConfig, dict(max_words=0), "max_words is 0; give 1 to"),
        (PredictConfig, dict(), "no text: give --text or --input_file"),
        (PredictConfig, dict(text="b", input_file="c"), "text and input_file are both given; choose one"),
        (PredictConfig, dict(input_file="b", text_pair="c"), "text_pair is given without text"),
    ],
)
def test_impossible_values_are_refused(config_class, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        config_class(**REQUIRED[config_class] | changes)
    assert "\n" not in str(caught.value)


def test_values_at_the_edge_are_taken():
    data = CreatePretrainingDataConfig(**CREATE, max_seq_length=5, masked_lm_prob=1.0, short_seq_prob=0.0, mask_mix="1,0,0")
    assert mask_shares(data.mask_mix) == (1.0, 0.0, 0.0)
    one_step = PretrainConfig(**PRETRAIN, do_train=True, num_train_steps=1, num_warmup_steps=0, stop_at_step=1, random_seed=2**32 - 1)
    assert (one_step.stop_at_step, one_step.random_seed) == (1, 2**32 - 1)
    # the defaults' 10,000 warmup steps do not stand in the way of an evaluation
    assert PretrainConfig(**PRETRAIN, do_eval=True, num_train_steps=20).num_warmup_steps == 10000
    assert FinetuneConfig(task_name="mrpc", output_dir="b", do_export=True).data_dir is None
    assert PredictConfig(saved_model="a", text="").text == ""


def test_bucket_lengths_end_with_max_seq_length():
    def fixed(text):
        return FinetuneConfig(**REQUIRED[FinetuneConfig], bucket_lengths=text).fixed_buckets()

    assert (fixed("auto"), fixed("off"), fixed("64,32"), fixed("128")) == (None, (128,), (32, 64, 128), (128,))


def test_an_empty_path_is_none_given():
    """As `--init_checkpoint=$VARIABLE` gives it where the variable is not set."""
    config = PretrainConfig(**REQUIRED[PretrainConfig], init_checkpoint="", vocab_file="", eval_input_file="")
    assert config.init_checkpoint is config.vocab_file is config.eval_input_file is None


def test_mask_shares():
    assert mask_shares(CreatePretrainingDataConfig(**CREATE).mask_mix) == (0.8, 0.1, 0.1)


@pytest.mark.parametrize("config_class", FLAG_CLASSES, ids=lambda value: value.__name__)
def test_every_field_is_a_flag_with_help(config_class):
    hints = typing.get_type_hints(config_class)
    for field in dataclasses.fields(config_class):
        assert field.metadata["help"].endswith("."), field.name
        if field.metadata["required"]:
            assert field.default is None, field.name
        elif field.default is None:
            assert type(None) in typing.get_args(hints[field.name]), f"{field.name} may be None, its type does not say so"


def test_the_same_run_asked_for_more_is_the_same_run():
    config = PretrainConfig(**PRETRAIN, do_train=True, num_train_steps=20, num_warmup_steps=2)
    recorded = json.loads(json.dumps(configs.to_dict(config)))
    assert configs.differing_field(config, recorded) is None
    more = dataclasses.replace(config, do_eval=True, do_export=True, save_checkpoints_steps=5, iterations_per_loop=3, stop_at_step=4)
    assert configs.differing_field(more, recorded) is None


@pytest.mark.parametrize(
    "changes",
    [dict(learning_rate=1e-4), dict(num_train_steps=30), dict(train_batch_size=2), dict(random_seed=1),
     dict(bias_correction=True), dict(init_checkpoint="x"), dict(max_seq_length=64), dict(use_nsp=False)],
    ids=str,
)  # fmt: skip
def test_another_run_is_told_by_its_field(changes):
    config = PretrainConfig(**PRETRAIN, num_train_steps=20, num_warmup_steps=2)
    recorded = configs.to_dict(config)
    assert configs.differing_field(dataclasses.replace(config, **changes), recorded) == next(iter(changes))


def test_a_field_added_after_the_record_compares_by_its_default():
    config = PretrainConfig(**PRETRAIN, num_train_steps=20, num_warmup_steps=2)
    recorded = configs.to_dict(config)
    del recorded["use_nsp"]
    assert configs.differing_field(config, recorded) is None
    assert configs.differing_field(dataclasses.replace(config, use_nsp=False), recorded) == "use_nsp"


def test_a_notebook_may_give_paths_and_is_told_what_is_missing(tmp_path):
    config = FinetuneConfig(task_name=" MRPC ", output_dir=tmp_path, data_dir=tmp_path / "data", do_eval=True)
    assert (config.task_name, config.output_dir, config.data_dir) == ("mrpc", str(tmp_path), str(tmp_path / "data"))
    for config_class, missing in (
        (FinetuneConfig, "output_dir"),
        (PretrainConfig, "output_dir"),
        (CreatePretrainingDataConfig, "input_file"),
    ):
        with pytest.raises(InputError, match=f"{missing} is missing"):
            config_class()
