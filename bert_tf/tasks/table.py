"""Every task that the package knows: one row each. To add a task of a known kind, add a row.

Label orders of mrpc, cola, mnli and xnli are google-research/bert's (run_classifier.py); those of qnli and rte TensorFlow Datasets'.
Columns are those of the files that gluebenchmark.com hands out; names and label names in TensorFlow Datasets those of its `glue`
builder. File names and row counts of the leaderboard are GLUE's.
"""

from dataclasses import replace

from bert_tf.errors import InputError
from bert_tf.tasks.answers import CHOOSE, CLASSIFY, REGRESS, TAG
from bert_tf.tasks.spec import COLUMNS, CSV, DEV, TEST, TRAIN, Columns, LeaderboardFile, TableFile, TableSource, TaskSpec, TfdsSource
from bert_tf.tasks.tags import ENTITY_METRICS

_FILES = {TRAIN: TableFile(("train.tsv",)), DEV: TableFile(("dev.tsv",)), TEST: TableFile(("test.tsv",))}
_TFDS_SPLITS = {TRAIN: ("train",), DEV: ("validation",), TEST: ("test",)}
_COLA_FILE = TableFile((), columns=("source", "label", "author_mark", "sentence"), has_header=False)

TASKS = (
    TaskSpec(
        "cola",
        CLASSIFY,
        labels=("0", "1"),
        metrics=("matthews", "accuracy"),
        table=TableSource(
            Columns(("sentence",)),
            _FILES | {TRAIN: replace(_COLA_FILE, names=("train.tsv",)), DEV: replace(_COLA_FILE, names=("dev.tsv",))},
        ),
        tfds=TfdsSource(Columns(("sentence",), id="idx", label_names={"unacceptable": "0", "acceptable": "1"}), _TFDS_SPLITS),
        leaderboard={TEST: LeaderboardFile("CoLA", 1063)},
    ),
    TaskSpec(
        "mnli",
        CLASSIFY,
        labels=("contradiction", "entailment", "neutral"),
        metrics=("accuracy",),
        table=TableSource(
            Columns(("sentence1", "sentence2"), label="gold_label"),
            {
                TRAIN: TableFile(("train.tsv",)),
                DEV: TableFile(("dev_matched.tsv",)),
                "dev_mismatched": TableFile(("dev_mismatched.tsv",)),
                TEST: TableFile(("test_matched.tsv",)),
                "test_mismatched": TableFile(("test_mismatched.tsv",)),
                # GLUE's diagnostic set, which it hands out beside the tasks, is for the model of this one
                "test_ax": TableFile(("diagnostic.tsv", "AX.tsv", "../diagnostic/diagnostic.tsv", "../AX/AX.tsv", "../AX.tsv")),
            },
        ),
        # glue/mnli calls its splits ..._matched, glue/mnli_matched does not
        tfds=TfdsSource(
            Columns(("premise", "hypothesis"), id="idx"),
            {
                TRAIN: ("train",),
                DEV: ("validation_matched", "validation"),
                "dev_mismatched": ("validation_mismatched",),
                TEST: ("test_matched", "test"),
                "test_mismatched": ("test_mismatched",),
                "test_ax": ("test",),
            },
            elsewhere={"test_ax": "glue/ax"},
        ),
        leaderboard={
            TEST: LeaderboardFile("MNLI-m", 9796),
            "test_mismatched": LeaderboardFile("MNLI-mm", 9847),
            "test_ax": LeaderboardFile("AX", 1104),
        },
    ),
    TaskSpec(
        "mrpc",
        CLASSIFY,
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        table=TableSource(
            Columns(("#1 String", "#2 String"), label="Quality"),
            # GLUE hands out no test.tsv of MRPC: it is made from Microsoft's file, which has the same columns
            _FILES | {TEST: TableFile(("test.tsv", "msr_paraphrase_test.txt"))},
        ),
        tfds=TfdsSource(
            Columns(("sentence1", "sentence2"), id="idx", label_names={"not_equivalent": "0", "equivalent": "1"}), _TFDS_SPLITS
        ),
        leaderboard={TEST: LeaderboardFile("MRPC", 1725)},
    ),
    TaskSpec(
        "qnli",
        CLASSIFY,
        labels=("entailment", "not_entailment"),
        metrics=("accuracy",),
        table=TableSource(Columns(("question", "sentence")), _FILES),
        tfds=TfdsSource(Columns(("question", "sentence"), id="idx"), _TFDS_SPLITS),
        leaderboard={TEST: LeaderboardFile("QNLI", 5463)},
    ),
    TaskSpec(
        "qqp",
        CLASSIFY,
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        table=TableSource(
            Columns(("question1", "question2"), label="is_duplicate", id="id"),
            # a few published rows lack columns; TensorFlow Datasets leaves them out too
            _FILES | {TRAIN: TableFile(("train.tsv",), has_broken_rows=True), DEV: TableFile(("dev.tsv",), has_broken_rows=True)},
        ),
        tfds=TfdsSource(Columns(("question1", "question2"), id="idx", label_names={"not_duplicate": "0", "duplicate": "1"}), _TFDS_SPLITS),
        leaderboard={TEST: LeaderboardFile("QQP", 390965)},
    ),
    TaskSpec(
        "rte",
        CLASSIFY,
        labels=("entailment", "not_entailment"),
        metrics=("accuracy",),
        table=TableSource(Columns(("sentence1", "sentence2")), _FILES),
        tfds=TfdsSource(Columns(("sentence1", "sentence2"), id="idx"), _TFDS_SPLITS),
        leaderboard={TEST: LeaderboardFile("RTE", 3000)},
    ),
    TaskSpec(
        "sst-2",
        CLASSIFY,
        labels=("0", "1"),
        metrics=("accuracy",),
        table=TableSource(Columns(("sentence",)), _FILES),
        tfds=TfdsSource(Columns(("sentence",), id="idx", label_names={"negative": "0", "positive": "1"}), _TFDS_SPLITS),
        leaderboard={TEST: LeaderboardFile("SST-2", 1821)},
    ),
    TaskSpec(
        "sts-b",
        REGRESS,
        labels=(),
        metrics=("pearson", "spearman"),
        table=TableSource(Columns(("sentence1", "sentence2"), label="score"), _FILES),
        tfds=TfdsSource(Columns(("sentence1", "sentence2"), id="idx"), _TFDS_SPLITS),
        leaderboard={TEST: LeaderboardFile("STS-B", 1379)},
        span=(0.0, 5.0),
    ),
    TaskSpec(
        "wnli",
        CLASSIFY,
        labels=("0", "1"),
        metrics=("accuracy",),
        table=TableSource(Columns(("sentence1", "sentence2")), _FILES),
        tfds=TfdsSource(
            Columns(("sentence1", "sentence2"), id="idx", label_names={"not_entailment": "0", "entailment": "1"}), _TFDS_SPLITS
        ),
        # its dev set is made to mislead: the paper handed in the majority class (323 of the 635 training rows are 0)
        leaderboard={TEST: LeaderboardFile("WNLI", 146, majority="0")},
    ),
    TaskSpec(
        "xnli",
        CLASSIFY,
        labels=("contradiction", "entailment", "neutral"),
        metrics=("accuracy",),
        table=TableSource(
            Columns(("sentence1", "sentence2"), label="gold_label", id="pairID", label_names={"contradictory": "contradiction"}),
            {
                # by place, as the original reads it: its header calls them otherwise than those of the other files
                TRAIN: TableFile(
                    ("multinli/multinli.train.{language}.tsv", "multinli.train.{language}.tsv"),
                    columns=("sentence1", "sentence2", "gold_label"),
                ),
                DEV: TableFile(("xnli.dev.tsv",), only={"language": "{language}"}),
                TEST: TableFile(("xnli.test.tsv",), only={"language": "{language}"}),
            },
        ),
    ),
    # which ending follows? Every ending begins with the same few words (sent2)
    TaskSpec(
        "swag",
        CHOOSE,
        labels=("0", "1", "2", "3"),
        metrics=("accuracy",),
        table=TableSource(
            Columns(("sent1", "sent2"), id=None, choices=("ending0", "ending1", "ending2", "ending3")),
            {
                TRAIN: TableFile(("train.csv",), format=CSV),
                DEV: TableFile(("val.csv",), format=CSV),
                TEST: TableFile(("test.csv",), format=CSV),
            },
        ),
    ),
    # named entities in news of 1996: files of the shared task, or of those that hand them on under plainer names
    TaskSpec(
        "conll2003",
        TAG,
        labels=("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC"),
        metrics=ENTITY_METRICS,
        table=TableSource(
            Columns(("1",), label="4"),
            {
                TRAIN: TableFile(("eng.train", "train.txt"), format=COLUMNS),
                DEV: TableFile(("eng.testa", "valid.txt"), format=COLUMNS),
                # its test set's tags are public, and the figure that is told of it is the one on them
                "dev_test": TableFile(("eng.testb", "test.txt"), format=COLUMNS),
                TEST: TableFile(("eng.testb", "test.txt"), format=COLUMNS),
            },
        ),
        # neither documents nor the files' order: each sentence stands by itself
        tfds=TfdsSource(
            Columns(("tokens",), label="ner", id=None), {TRAIN: ("train",), DEV: ("dev",), "dev_test": ("test",), TEST: ("test",)}
        ),
    ),
    # the sample that comes with the package: what is a sentence about?
    TaskSpec(
        "topic",
        CLASSIFY,
        labels=("kitchen", "sky"),
        metrics=("accuracy",),
        table=TableSource(Columns(("sentence",)), _FILES | {TEST: TableFile(("dev.tsv",))}),
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
    raise InputError(f"task_name is {name!r}; give one of {', '.join(task.name for task in TASKS)}, or --kind and a name of your own")


def is_known(name: str) -> bool:
    """Returns whether there is a task of that name."""
    return any(_plain(task.name) == _plain(name) for task in TASKS)


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "").replace("_", "")
