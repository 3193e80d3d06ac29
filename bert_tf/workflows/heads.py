"""What TensorFlow needs to know of each kind of task: its records, its loss and its export. The rest is in `tasks/answers.py`."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras

from bert_tf.config import BertConfig
from bert_tf.data import schema
from bert_tf.errors import InputError
from bert_tf.modeling import losses
from bert_tf.modeling.models import ChoiceModel, ClassificationModel, TaggingModel
from bert_tf.serving.choosing import ChooserModule
from bert_tf.serving.signatures import ClassifierModule, MultilabelModule, RegressorModule, ServingModule
from bert_tf.serving.tagging import TaggerModule
from bert_tf.tasks.answers import CHOOSE, CLASSIFY, MULTILABEL, REGRESS, TAG, Answer, Label
from bert_tf.tasks.choice_features import ChoiceFeaturizer
from bert_tf.tasks.class_weights import class_weights_of
from bert_tf.tasks.features import Featurizer
from bert_tf.tasks.label_sets import SomeLabels
from bert_tf.tasks.spec import TaskSpec
from bert_tf.tasks.tag_features import TagFeaturizer


class Head(NamedTuple):
    """A kind of task.

    Attributes:
      records: What its TFRecords hold.
      objective: What its model is trained for.
      module: Makes what is exported, of the task's answer and the options of every serving module.
      featurizer: Makes the records of the task's rows.
      model: The model.
    """

    records: schema.RecordKind
    objective: losses.Objective
    module: Callable[..., ServingModule]
    featurizer: type[Featurizer] = Featurizer
    model: type[keras.Model] = ClassificationModel

    def make_model(self, spec: TaskSpec, model_config: BertConfig, recompute: bool, policy: keras.DTypePolicy, fuse: bool) -> keras.Model:
        """Returns a model of the task, its weights drawn anew."""
        return self.model(model_config, spec.answer.num_outputs, recompute, fuse, dtype=policy)


def _classifier(answer: Answer, **options: Any) -> ServingModule:
    return ClassifierModule(answer.labels, **options)


def _regressor(answer: Answer, **options: Any) -> ServingModule:
    del answer
    return RegressorModule(**options)


def _multilabel(answer: SomeLabels, **options: Any) -> ServingModule:
    return MultilabelModule(answer.thresholds, **options)


def _chooser(answer: Answer, **options: Any) -> ServingModule:
    return ChooserModule(len(answer.labels), **options)


def _tagger(answer: Answer, **options: Any) -> ServingModule:
    return TaggerModule(answer.labels, **options)


HEADS = {
    CLASSIFY: Head(schema.CLASSIFICATION, losses.CLASSIFICATION, _classifier),
    REGRESS: Head(schema.REGRESSION, losses.REGRESSION, _regressor),
    MULTILABEL: Head(schema.MULTILABEL, losses.MULTILABEL, _multilabel),
    CHOOSE: Head(schema.CHOICE, losses.CLASSIFICATION, _chooser, ChoiceFeaturizer, ChoiceModel),
    TAG: Head(schema.TAGGING, losses.TAGGING, _tagger, TagFeaturizer, TaggingModel),
}


def head_of(spec: TaskSpec, class_weights: str | None, training_labels: Sequence[Label]) -> Head:
    """Returns the head of a task's kind.

    Args:
      spec: The task.
      class_weights: How much each label counts in the loss: None for all alike, "balanced", or label:weight, separated by commas.
      training_labels: The labels that are trained on; empty where there is no training.

    Raises:
      InputError: Weights that are none, or of a kind that has no classes to weigh.
    """
    head = HEADS[spec.kind]
    if class_weights is None or not training_labels:
        return head
    if spec.kind != CLASSIFY:
        raise InputError(f"class_weights is {class_weights!r}, but the kind of {spec.name} is {spec.kind}; it is for {CLASSIFY}")
    return head._replace(objective=losses.weighted_classification(class_weights_of(class_weights, spec.labels, training_labels)))
