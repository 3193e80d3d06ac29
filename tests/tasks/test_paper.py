"""The paper's figures."""

from bert_tf.config import FEATURE_MIXES
from bert_tf.tasks.paper import PAPER, paper_figures
from bert_tf.tasks.table import TASKS


def test_every_figure_of_a_task_is_one_that_the_task_tells():
    told = {spec.name: {*spec.metrics, *spec.answer.always, *spec.answer.metrics} for spec in TASKS}
    for figure in PAPER:
        assert figure.metric in told.get(figure.task, {"accuracy", "f1", "exact_match"}), figure
        assert 50 < figure.percent < 100 and figure.measured_on in ("dev", "test") and figure.source.startswith("Table ")
    assert len({figure[:4] for figure in PAPER}) == len(PAPER)


def test_dev_figures_come_first():
    assert [(figure.measured_on, figure.metric, figure.percent) for figure in paper_figures("mrpc")] == [
        ("dev", "accuracy", 86.7),
        ("dev", "accuracy", 87.8),
        ("test", "f1", 88.9),
        ("test", "f1", 89.3),
    ]
    assert paper_figures("topic") == []


def test_every_mix_of_features_has_its_row_of_table_7():
    models = [figure.model for figure in paper_figures("conll2003")]
    assert all(sum(f", {mix} (" in model for model in models) == 1 for mix in FEATURE_MIXES) and len(models) == 2 + len(FEATURE_MIXES)
