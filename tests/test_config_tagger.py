"""The tagger of feature-based NER: its rows of the paper's table 7, its file, and the flags behind it."""

import pytest

from bert_tf.config import FEATURE_MIXES, FinetuneConfig, TaggerConfig
from bert_tf.errors import InputError


def config(**changes):
    return FinetuneConfig(**(dict(task_name="conll2003", data_dir="a", output_dir="b", do_train=True) | changes))


def test_the_layers_of_the_papers_rows():
    assert {mix: TaggerConfig(mix).layers(12) for mix in FEATURE_MIXES} == {
        "embeddings": (0,),
        "last": (12,),
        "second_to_last": (11,),
        "sum_last_four": (9, 10, 11, 12),
        "concat_last_four": (9, 10, 11, 12),
        "sum_all": tuple(range(1, 13)),
    }
    assert {mix for mix in FEATURE_MIXES if TaggerConfig(mix).is_sum} == {"sum_last_four", "sum_all"}
    assert TaggerConfig("last").lstm_size == 768


def test_the_flags_name_it():
    assert config().tagger() is None
    assert config(feature_mix="last").tagger() == TaggerConfig("last", 768)
    assert config(feature_mix="last", lstm_size=5).tagger() == TaggerConfig("last", 5)


def test_its_file_gives_it_back():
    tagger = TaggerConfig("sum_all", 5)
    assert TaggerConfig.from_json(tagger.to_json(), "tagger.json") == tagger


@pytest.mark.parametrize("text", ["{", "[]", '{"feature_mix": "all"}', '{"feature_mix": "last", "lstm_size": 0}', '{"size": 1}', "{}"])
def test_a_damaged_file_is_named(text):
    with pytest.raises(InputError, match=r"^run/tagger.json: is damaged \(.*\); put back the file that the training wrote$"):
        TaggerConfig.from_json(text, "run/tagger.json")


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(lstm_size=5), "lstm_size is 5, but there is no LSTM without feature_mix; give --feature_mix"),
        (dict(feature_mix="last", lstm_size=0), "lstm_size is 0; give a whole number from 1"),
        (dict(feature_mix="first"), "feature_mix is 'first'; give one of embeddings, last, second_to_last, sum_last_four,"),
        (dict(feature_mix="last", layer_decay=0.9), "layer_decay is 0.9, but with feature_mix no layer of the encoder is trained"),
        (dict(feature_mix="last", num_frozen_layers=2), "num_frozen_layers is 2, but with feature_mix no layer"),
        (dict(feature_mix="last", recompute=True), "recompute is True, but with feature_mix no layer"),
        (
            dict(feature_mix="last", kind="classify", task_name="mine", data_dir=None, train_file="a"),
            "feature_mix is last, but kind is classify; it is for tag",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        config(**changes)
