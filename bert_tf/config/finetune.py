"""What fine-tunes: a task, where its rows come from, and how the training goes through them."""

from dataclasses import dataclass

from bert_tf.config.fields import flag, require
from bert_tf.config.training import EpochsConfig

# A file of rows for each thing that a run may do.
_FILES = ("train_file", "dev_file", "test_file")


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(EpochsConfig):
    """Rows of a task in, a fine-tuned model, its scores and predictions out."""

    task_name: str = flag(
        None,
        required=True,
        help="The task: cola, mnli, mrpc, qnli, qqp, rte, sst-2, sts-b, wnli, xnli, swag, conll2003, or topic for the sample; with --kind, "
        "a name of your own.",
    )
    data_dir: str | None = flag(None, help="Directory of the task's official TSV files, as train.tsv and dev.tsv.", identity=False)
    tfds_name: str | None = flag(
        None, help="TensorFlow Datasets name, as glue/cola, glue/mnli or glue/stsb, in place of --data_dir.", identity=False
    )
    tfds_data_dir: str | None = flag(None, help="Where TensorFlow Datasets keeps its data.", identity=False)
    language: str = flag("zh", help="Of tasks in several languages, as xnli: the one whose rows are read.")
    kind: str | None = flag(
        None,
        choices=("classify", "regress", "multilabel", "choose", "tag"),
        help="For rows of your own, in --train_file, --dev_file and --test_file: whether a row has one label, a number, any of several "
        "labels, or several choices of which one is right, or is a sentence with a tag for each token.",
    )
    train_file: str | None = flag(
        None,
        help="With --kind: rows to train on; TSV, CSV or a JSON object a line; of tag a token a line, blank lines between sentences.",
        identity=False,
    )
    dev_file: str | None = flag(None, help="With --kind: rows to evaluate on.", identity=False)
    test_file: str | None = flag(None, help="With --kind: rows to predict; labels in it are not read.", identity=False)
    file_format: str = flag(
        "auto",
        choices=("auto", "tsv", "quoted_tsv", "csv", "jsonl"),
        help="With --kind: how the files are written. auto: by their names. In tsv quotes are characters like any other; in quoted_tsv "
        "they are as in csv.",
        identity=False,
    )
    has_header: bool = flag(True, help="With --kind: whether the first line names the columns.", identity=False)
    text_column: str = flag(
        "text",
        help="With --kind: the column of the text, by name or by number from 1. Of tag the column of the tokens, by number; default: the "
        "first.",
        identity=False,
    )
    text_pair_column: str | None = flag(
        None, help="With --kind: the column of the second text, if there is one. Of choose: what each choice begins with.", identity=False
    )
    choice_columns: str | None = flag(
        None, help="With --kind=choose: the columns of the choices, separated by commas, as ending0,ending1.", identity=False
    )
    label_column: str = flag(
        "label", help="With --kind: the column of the label. Of tag by number, -1 for the last; default: the last.", identity=False
    )
    id_column: str | None = flag(None, help="With --kind: the column of the id. Default: the row's number from 0.", identity=False)
    labels: str | None = flag(
        None,
        help="With --kind: the labels, separated by commas. Default: those of the training file, sorted; later, those of the model's "
        "folder.",
        identity=False,  # what the run was made with is compared, wherever it came from
    )
    label_separator: str = flag(",", help="With --kind=multilabel: what stands between two labels of a row.")
    threshold: str | None = flag(
        None,
        help="With --kind=multilabel: the probability from which a label is given; one number, or one a label, separated by commas. "
        "Default: what is stored with the model, or else the best for each label's F1 where --do_eval evaluates, and 0.5 without it.",
        identity=False,
    )
    document_context: bool = flag(
        True,
        help="Of tag: show each sentence with as much of its document around it as max_seq_length has room for. Documents begin at "
        "-DOCSTART- lines.",
    )
    class_weights: str | None = flag(
        None,
        help="How much each label counts in the training's loss: balanced, or label:weight, separated by commas. Default: all alike. "
        "Evaluations weigh nothing.",
    )
    do_predict: bool = flag(False, help="Predict the test split.", identity=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "task_name", self.task_name.strip().lower())
        self.thresholds()
        both = self.data_dir is not None and self.tfds_name is not None
        require(not both, "data_dir and tfds_name are both given; choose one source")
        if self.kind is None:
            self._check_known_task()
        else:
            self._check_own_task()

    def _check_known_task(self) -> None:
        own = next((name for name in (*_FILES, "labels") if getattr(self, name) is not None), None)
        require(own is None, f"{own} is for rows of your own; give --kind too, as --kind=classify")
        asked = self.do_train or self.do_eval or self.do_predict
        require(
            not asked or self.data_dir is not None or self.tfds_name is not None,
            "no data: give --data_dir with the task's TSV files, or --tfds_name; or --kind and --train_file for rows of your own",
        )

    def _check_own_task(self) -> None:
        other = next((name for name in ("data_dir", "tfds_name") if getattr(self, name) is not None), None)
        require(other is None, f"{other} is for known tasks; with --kind give --train_file, --dev_file and --test_file")
        evaluates = self.do_eval or (self.do_train and self.eval_steps > 0)
        for name, asked, why in (
            ("train_file", self.do_train, "do_train"),
            ("dev_file", evaluates, "do_eval" if self.do_eval else "eval_steps"),
            ("test_file", self.do_predict, "do_predict"),
        ):
            require(not asked or getattr(self, name) is not None, f"{why} needs rows; give --{name}")
        self._check_choices()
        if self.kind == "tag":
            self._check_columns()
        require(self.label_separator != "", "label_separator is empty; give what stands between two labels")
        require(
            self.threshold is None or self.kind == "multilabel",
            f"threshold is {self.threshold!r}, but kind is {self.kind}; it is for multilabel",
        )

    def _check_choices(self) -> None:
        if self.kind != "choose":
            require(
                self.choice_columns is None,
                f"choice_columns is {self.choice_columns!r}, but kind is {self.kind}; it is for choose",
            )
            return
        num_choices = len(set(self.choices()))
        good = num_choices >= 2 and num_choices == len(self.choices())
        require(good, f"choice_columns is {self.choice_columns!r}; give two columns or more, each once, separated by commas")
        require(self.labels is None, f"labels is {self.labels!r}, but kind is choose, whose labels are numbers of choices; leave it out")

    def choices(self) -> tuple[str, ...]:
        """Returns the columns of the choices that the flag names."""
        return tuple(part.strip() for part in (self.choice_columns or "").split(",") if part.strip())

    def _check_columns(self) -> None:
        """Checks the flags of files with a token a line."""
        for name in ("text_pair_column", "id_column"):
            value = getattr(self, name)
            require(value is None, f"{name} is {value!r}, but kind is tag, whose sentences have no such column; leave it out")
        require(
            self.file_format == "auto", f"file_format is {self.file_format}, but kind is tag, whose files hold a token a line; leave it out"
        )
        for name in ("text_column", "label_column"):
            value = getattr(self, name)
            good = value == self.__dataclass_fields__[name].default or (value.removeprefix("-").isdecimal() and int(value) != 0)
            require(good, f"{name} is {value!r}; of tag give the column's number, from 1, or from the end: -1 is the last")

    def thresholds(self) -> tuple[float, ...] | None:
        """Returns the thresholds that the flag names, one or one a label, or None where it names none."""
        if self.threshold is None:
            return None
        try:
            thresholds = tuple(float(part) for part in self.threshold.split(","))
        except ValueError:
            thresholds = (0.0,)
        good = all(0 < threshold < 1 for threshold in thresholds)
        require(good, f"threshold is {self.threshold!r}; give a number between 0 and 1, or one a label, separated by commas")
        return thresholds
