"""Every knob: frozen dataclasses that are checked when they are made and go to JSON and back.

Names and defaults are google-research/bert's where it has the flag. Nothing here opens a file or imports TensorFlow.
"""

from bert_tf.config.data import CreatePretrainingDataConfig, ExtractWikipediaConfig, TokenizeConfig
from bert_tf.config.fields import differing_field, mask_shares, to_dict, to_flags
from bert_tf.config.finetune import FinetuneConfig
from bert_tf.config.model import HIDDEN_ACTIVATIONS, MODEL_SIZES, BertConfig
from bert_tf.config.squad import ScoreSquadConfig, SquadConfig, TriviaQaConfig
from bert_tf.config.sweep import SWEPT_SCRIPTS, EnsembleConfig, Setting, SweepConfig, settings_of, with_setting
from bert_tf.config.training import EpochsConfig, PretrainConfig, TrainingConfig
from bert_tf.config.use import DemoConfig, PredictConfig, SubmissionConfig
from bert_tf.config.vocab import BuildVocabConfig, ExtendVocabConfig, VocabCoverageConfig

__all__ = [
    "HIDDEN_ACTIVATIONS",
    "MODEL_SIZES",
    "SWEPT_SCRIPTS",
    "BertConfig",
    "BuildVocabConfig",
    "CreatePretrainingDataConfig",
    "DemoConfig",
    "EnsembleConfig",
    "EpochsConfig",
    "ExtendVocabConfig",
    "ExtractWikipediaConfig",
    "FinetuneConfig",
    "PredictConfig",
    "PretrainConfig",
    "ScoreSquadConfig",
    "Setting",
    "SquadConfig",
    "SubmissionConfig",
    "SweepConfig",
    "TokenizeConfig",
    "TrainingConfig",
    "TriviaQaConfig",
    "VocabCoverageConfig",
    "differing_field",
    "mask_shares",
    "settings_of",
    "to_dict",
    "to_flags",
    "with_setting",
]
