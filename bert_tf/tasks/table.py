"""Every task that the package knows: one row each. To add a task of a known kind, add a row.

Label orders of mrpc, cola and mnli are google-research/bert's (run_classifier.py). Columns are those of the files that
gluebenchmark.com hands out; names and label names in TensorFlow Datasets those of its `glue` builder.
"""

from bert_tf.errors import InputError
from bert_tf.tasks.spec import CLASSIFY, DEV, TEST, TRAIN, Columns, TaskSpec, TfdsSource, TsvFile, TsvSource

_TFDS_SPLITS = {TRAIN: ("train",), DEV: ("validation",), TEST: ("test",)}

TASKS = (
    TaskSpec(
        "cola",
        CLASSIFY,
        labels=("0", "1"),
        metrics=("matthews", "accuracy"),
        tsv=TsvSource(
            Columns(("sentence",)),
            {
                TRAIN: TsvFile(("train.tsv",), columns=("source", "label", "author_mark", "sentence")),
                DEV: TsvFile(("dev.tsv",), columns=("source", "label", "author_mark", "sentence")),
                TEST: TsvFile(("test.tsv",)),
            },
        ),
        tfds=TfdsSource(Columns(("sentence",), id="idx", label_names={"unacceptable": "0", "acceptable": "1"}), _TFDS_SPLITS),
    ),
    TaskSpec(
        "mnli",
        CLASSIFY,
        labels=("contradiction", "entailment", "neutral"),
        metrics=("accuracy",),
        tsv=TsvSource(
            Columns(("sentence1", "sentence2"), label="gold_label"),
            {TRAIN: TsvFile(("train.tsv",)), DEV: TsvFile(("dev_matched.tsv",)), TEST: TsvFile(("test_matched.tsv",))},
        ),
        # glue/mnli calls its splits ..._matched, glue/mnli_matched does not
        tfds=TfdsSource(
            Columns(("premise", "hypothesis"), id="idx"),
            {TRAIN: ("train",), DEV: ("validation_matched", "validation"), TEST: ("test_matched", "test")},
        ),
    ),
    TaskSpec(
        "mrpc",
        CLASSIFY,
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        tsv=TsvSource(
            Columns(("#1 String", "#2 String"), label="Quality"),
            # GLUE hands out no test.tsv of MRPC: it is made from Microsoft's file, which has the same columns
            {TRAIN: TsvFile(("train.tsv",)), DEV: TsvFile(("dev.tsv",)), TEST: TsvFile(("test.tsv", "msr_paraphrase_test.txt"))},
        ),
        tfds=TfdsSource(
            Columns(("sentence1", "sentence2"), id="idx", label_names={"not_equivalent": "0", "equivalent": "1"}), _TFDS_SPLITS
        ),
    ),
    TaskSpec(
        "sst-2",
        CLASSIFY,
        labels=("0", "1"),
        metrics=("accuracy",),
        tsv=TsvSource(Columns(("sentence",)), {TRAIN: TsvFile(("train.tsv",)), DEV: TsvFile(("dev.tsv",)), TEST: TsvFile(("test.tsv",))}),
        tfds=TfdsSource(Columns(("sentence",), id="idx", label_names={"negative": "0", "positive": "1"}), _TFDS_SPLITS),
    ),
    # the sample that comes with the package: what is a sentence about?
    TaskSpec(
        "topic",
        CLASSIFY,
        labels=("kitchen", "sky"),
        metrics=("accuracy",),
        tsv=TsvSource(Columns(("sentence",)), {TRAIN: TsvFile(("train.tsv",)), DEV: TsvFile(("dev.tsv",)), TEST: TsvFile(("dev.tsv",))}),
    ),
)


def find_task(name: str) -> TaskSpec:
    """Returns the task of that name, however it is capitalised and hyphenated: SST-2, sst2 and Sst_2 are one.

    Raises:
      InputError: There is no such task; the message names those that there are.
    """
    for task in TASKS:
        if _plain(task.name) == _plain(name):
            return task
    raise InputError(f"task_name is {name!r}; give one of {', '.join(task.name for task in TASKS)}")


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "").replace("_", "")
