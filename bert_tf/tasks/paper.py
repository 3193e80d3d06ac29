"""What the paper reached, to be printed beside our own results: Devlin et al., 2018 (arXiv:1810.04805v2), second-hand, by its tables.

Dev figures of tables 5 and 6 are accuracies, means of five restarts in table 6. In percent.
"""

from typing import NamedTuple


class PaperFigure(NamedTuple):
    """One figure of the paper.

    Attributes:
      task: The task's name here, or squad-v1.1 or squad-v2.0.
      model: What was trained.
      measured_on: The set: dev or test.
      metric: Our name of the figure.
      percent: The figure.
      source: Where it stands.
    """

    task: str
    model: str
    measured_on: str
    metric: str
    percent: float
    source: str


_BASE, _LARGE = "BERT BASE", "BERT LARGE"

PAPER = (
    PaperFigure("mnli", _BASE, "dev", "accuracy", 84.4, "Table 5"),
    PaperFigure("mnli", _LARGE, "dev", "accuracy", 86.6, "Table 6"),
    PaperFigure("mnli", _BASE, "test", "accuracy", 84.6, "Table 1"),
    PaperFigure("mnli", _LARGE, "test", "accuracy", 86.7, "Table 1"),
    PaperFigure("qqp", _BASE, "test", "f1", 71.2, "Table 1"),
    PaperFigure("qqp", _LARGE, "test", "f1", 72.1, "Table 1"),
    PaperFigure("qnli", _BASE, "dev", "accuracy", 88.4, "Table 5"),
    PaperFigure("qnli", _BASE, "test", "accuracy", 90.5, "Table 1"),
    PaperFigure("qnli", _LARGE, "test", "accuracy", 92.7, "Table 1"),
    PaperFigure("sst-2", _BASE, "dev", "accuracy", 92.7, "Table 5"),
    PaperFigure("sst-2", _LARGE, "dev", "accuracy", 93.7, "Table 6"),
    PaperFigure("sst-2", _BASE, "test", "accuracy", 93.5, "Table 1"),
    PaperFigure("sst-2", _LARGE, "test", "accuracy", 94.9, "Table 1"),
    PaperFigure("cola", _BASE, "test", "matthews", 52.1, "Table 1"),
    PaperFigure("cola", _LARGE, "test", "matthews", 60.5, "Table 1"),
    PaperFigure("sts-b", _BASE, "test", "spearman", 85.8, "Table 1"),
    PaperFigure("sts-b", _LARGE, "test", "spearman", 86.5, "Table 1"),
    PaperFigure("mrpc", _BASE, "dev", "accuracy", 86.7, "Table 5"),
    PaperFigure("mrpc", _LARGE, "dev", "accuracy", 87.8, "Table 6"),
    PaperFigure("mrpc", _BASE, "test", "f1", 88.9, "Table 1"),
    PaperFigure("mrpc", _LARGE, "test", "f1", 89.3, "Table 1"),
    PaperFigure("rte", _BASE, "test", "accuracy", 66.4, "Table 1"),
    PaperFigure("rte", _LARGE, "test", "accuracy", 70.1, "Table 1"),
    PaperFigure("swag", _BASE, "dev", "accuracy", 81.6, "Table 4"),
    PaperFigure("swag", _LARGE, "dev", "accuracy", 86.6, "Table 4"),
    PaperFigure("conll2003", f"{_BASE}, cased", "dev", "entity_f1", 96.4, "Table 7"),
    PaperFigure("conll2003", f"{_LARGE}, cased", "dev", "entity_f1", 96.6, "Table 7"),
    *(
        PaperFigure("conll2003", f"{_BASE}, cased, {mix} (--feature_mix)", "dev", "entity_f1", percent, "Table 7")
        for mix, percent in (
            *(("embeddings", 91.0), ("second_to_last", 95.6), ("last", 94.9)),
            *(("sum_last_four", 95.9), ("concat_last_four", 96.1), ("sum_all", 95.5)),
        )
    ),
    PaperFigure("squad-v1.1", _BASE, "dev", "f1", 88.5, "Table 2"),
    PaperFigure("squad-v1.1", _BASE, "dev", "exact_match", 80.8, "Table 2"),
    PaperFigure("squad-v1.1", _LARGE, "dev", "f1", 90.9, "Table 2"),
    PaperFigure("squad-v1.1", _LARGE, "dev", "exact_match", 84.1, "Table 2"),
    PaperFigure("squad-v1.1", f"{_LARGE}, ensemble", "dev", "f1", 91.8, "Table 2"),
    PaperFigure("squad-v1.1", f"{_LARGE}, ensemble", "dev", "exact_match", 85.8, "Table 2"),
    PaperFigure("squad-v2.0", _LARGE, "dev", "f1", 81.9, "Table 3"),
    PaperFigure("squad-v2.0", _LARGE, "dev", "exact_match", 78.7, "Table 3"),
)


def paper_figures(task: str) -> list[PaperFigure]:
    """Returns what the paper reached in a task, dev figures first; nothing where it has none."""
    return sorted((figure for figure in PAPER if figure.task == task), key=lambda figure: figure.measured_on != "dev")
