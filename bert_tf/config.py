"""Every knob: frozen dataclasses that are checked when they are made and go to JSON and back.

A flag is declared once, as a field here: its help text is the flag's help (`cli/flag_config.py` makes the flags). Names and defaults
are google-research/bert's where it has the flag. Nothing here opens a file or imports TensorFlow.
"""

import dataclasses
import json
import os
from dataclasses import dataclass
from typing import Any, Self

from bert_tf.errors import InputError

HIDDEN_ACTIVATIONS = ("gelu", "gelu_exact", "relu", "tanh", "linear")

# name: (layers, hidden). Heads are hidden / 64 and the feed-forward size 4 x hidden, as in all released models
# (BERT paper section 3, and the miniatures of the google-research/bert README).
MODEL_SIZES = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}


# Far beyond any model; a typing error that is larger would end in an allocation that no machine can do.
_LARGEST_SIZE = 10_000_000
_LARGEST_BATCH = 1_000_000
# Step numbers are int64, and as float32 in the schedule still told apart well enough.
_MOST_STEPS = 10**12
_MOST_EPOCHS = 1_000_000


def flag(
    default: Any = dataclasses.MISSING, *, help: str, identity: bool = True, required: bool = False, choices: tuple[str, ...] = ()
) -> Any:
    """Declares a config field that is also a flag.

    Args:
      default: The flag's default.
      help: The flag's help text.
      identity: Whether the value is part of what a run is: an output directory made with another value is refused.
      required: Whether a script stops without it.
      choices: The strings allowed, where the choice is closed.
    """
    metadata = {"help": help, "identity": identity, "required": required, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


@dataclass(frozen=True)
class BertConfig:
    """The shape of a model: bert_config.json of the released models. Unknown keys of that file are ignored."""

    vocab_size: int
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"  # the original's gelu: the tanh approximation; gelu_exact is Hugging Face's "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 16  # the original's default where the file has no value; released models say 2
    initializer_range: float = 0.02
    do_lower_case: bool | None = None  # not the original's; written by this project so that the casing travels with the model

    def __post_init__(self) -> None:
        for name in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                     "max_position_embeddings", "type_vocab_size"):  # fmt: skip
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_SIZE
            _require(whole, f"bert_config: {name} is {value!r}; give a whole number from 1 to {_LARGEST_SIZE:,}")
        _require(
            self.hidden_size % self.num_attention_heads == 0,
            f"bert_config: hidden_size {self.hidden_size} is not a multiple of num_attention_heads {self.num_attention_heads}; "
            "change one of the two",
        )
        _require(
            self.hidden_act in HIDDEN_ACTIVATIONS,
            f"bert_config: hidden_act is {self.hidden_act!r}; give one of {', '.join(HIDDEN_ACTIVATIONS)}",
        )
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1
            _require(number, f"bert_config: {name} is {value!r}; give a number from 0 up to, not including, 1")
        positive = isinstance(self.initializer_range, (int, float)) and 0 < self.initializer_range <= 1
        _require(positive, f"bert_config: initializer_range is {self.initializer_range!r}; give a number above 0, at most 1")
        known = self.do_lower_case is None or isinstance(self.do_lower_case, bool)
        _require(known, f"bert_config: do_lower_case is {self.do_lower_case!r}; give true or false, without quotes")

    @classmethod
    def from_json(cls, text: str, source: str = "bert_config.json") -> Self:
        """Returns the config that the JSON text holds; `source` is its file, for error messages."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{source}: not valid JSON ({error}); give the model's bert_config.json") from error
        _require(isinstance(values, dict), f"{source}: holds no JSON object; give the model's bert_config.json")
        _require("vocab_size" in values, f"{source}: has no vocab_size; give the model's bert_config.json")
        names = {field.name for field in dataclasses.fields(cls)}
        if isinstance(values.get("hidden_act"), str):
            values["hidden_act"] = values["hidden_act"].lower()  # as the original reads it
        try:
            return cls(**{name: value for name, value in values.items() if name in names})
        except InputError as error:
            raise InputError(f"{source}: {error}") from error

    @classmethod
    def of_size(cls, size: str, vocab_size: int, **changes: Any) -> Self:
        """Returns a named size, tiny to large, for a vocabulary of `vocab_size` pieces."""
        _require(size in MODEL_SIZES, f"model_size is {size!r}; give one of {', '.join(MODEL_SIZES)}")
        layers, hidden = MODEL_SIZES[size]
        values = dict(
            vocab_size=vocab_size,
            num_hidden_layers=layers,
            hidden_size=hidden,
            num_attention_heads=hidden // 64,
            intermediate_size=4 * hidden,
            type_vocab_size=2,
        )
        return cls(**(values | changes))

    def to_json(self) -> str:
        """Returns the bert_config.json text, keys sorted."""
        values = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        return json.dumps(values, indent=2, sort_keys=True) + "\n"


@dataclass(frozen=True, kw_only=True)
class BuildVocabConfig:
    """Text files in, vocab.txt out."""

    input_file: str = flag(None, required=True, help="Text files to learn from: paths or globs, separated by commas.")
    output_file: str = flag(None, required=True, help="The vocabulary to write, one piece a line.")
    vocab_size: int = flag(30000, help="Number of pieces, special tokens included.")
    do_lower_case: bool = flag(True, help="Lower-case and strip accents before counting: for an uncased model.")
    min_count: int = flag(2, help="A pair of pieces seen fewer times than this is not merged.")
    character_coverage: float = flag(
        0.9999,
        help="Share of the text's characters that the alphabet must cover; rarer ones become [UNK], unless among the commonest 1,000.",
    )
    num_unused: int = flag(0, help="Number of [unusedN] slots to keep for words added later.")

    def __post_init__(self) -> None:
        _settle(self)
        _require(self.vocab_size >= 10, f"vocab_size is {self.vocab_size}; give at least 10")
        _require(self.min_count >= 1, f"min_count is {self.min_count}; give at least 1")
        _require(0 < self.character_coverage <= 1, f"character_coverage is {self.character_coverage}; give a share above 0, at most 1")
        most = self.vocab_size - 6  # five special tokens and a piece
        _require(0 <= self.num_unused <= most, f"num_unused is {self.num_unused}; give 0 to {most}, or a larger vocab_size")


@dataclass(frozen=True, kw_only=True)
class TokenizeConfig:
    """JSON lines of text in, tokens, ids and offsets out."""

    input_file: str = flag(None, required=True, help='JSON lines, each {"text": ...}.')
    output_file: str = flag(None, required=True, help="JSON lines to write, each {text, tokens, ids, offsets}.")
    vocab_file: str = flag(None, required=True, help="The vocabulary, one piece a line.")
    do_lower_case: bool | None = flag(
        None, help="Lower-case and strip accents. Default: what the vocabulary's folder says, else by its pieces."
    )
    implementation: str = flag(
        "python", choices=("python", "graph", "fast"), help="python: the reference; graph: TensorFlow ops, as in a SavedModel; fast: bulk."
    )

    def __post_init__(self) -> None:
        _settle(self)


@dataclass(frozen=True, kw_only=True)
class CreatePretrainingDataConfig:
    """Documents in, masked TFRecords and a manifest out."""

    input_file: str = flag(
        None, required=True, help="Text files: one sentence a line, a blank line between documents; paths or globs, separated by commas."
    )
    output_file: str = flag(None, required=True, help="TFRecord files to write, separated by commas; examples go round them in turn.")
    vocab_file: str = flag(None, required=True, help="The vocabulary, one piece a line.")
    do_lower_case: bool | None = flag(
        None, help="Lower-case and strip accents. Default: what the vocabulary's folder says, else by its pieces."
    )
    do_whole_word_mask: bool = flag(False, help="Mask all pieces of a chosen word together.")
    max_seq_length: int = flag(128, help="Length of every example in pieces, [CLS] and [SEP] included.")
    max_predictions_per_seq: int = flag(20, help="Most masked positions an example.")
    random_seed: int = flag(12345, help="Seed of every draw: same seed, same bytes.")
    dupe_factor: int = flag(10, help="Times the corpus is gone through, with new pairs and new masks.")
    masked_lm_prob: float = flag(0.15, help="Share of an example's pieces that is masked.")
    short_seq_prob: float = flag(0.1, help="Share of examples drawn shorter than the full length.")
    mask_mix: str = flag("0.8,0.1,0.1", help="Of the masked positions, the shares that become [MASK], stay, become a random piece.")
    use_nsp: bool = flag(
        True, help="Make sentence pairs, label 1 where the second is random text; false: one running text, label always 0."
    )
    compress: bool = flag(False, help="Write gzip TFRecords, which google-research/bert cannot read.")

    def __post_init__(self) -> None:
        _settle(self)
        _check_length(self.max_seq_length)
        good = 1 <= self.max_predictions_per_seq <= _LARGEST_SIZE
        _require(good, f"max_predictions_per_seq is {self.max_predictions_per_seq}; give 1 to {_LARGEST_SIZE:,}")
        _require(self.dupe_factor >= 1, f"dupe_factor is {self.dupe_factor}; give at least 1")
        _require(0 < self.masked_lm_prob <= 1, f"masked_lm_prob is {self.masked_lm_prob}; give a share above 0, at most 1")
        _require(0 <= self.short_seq_prob <= 1, f"short_seq_prob is {self.short_seq_prob}; give a share from 0 to 1")
        self.mask_shares()

    def mask_shares(self) -> tuple[float, float, float]:
        """Returns the shares of masked positions that become [MASK], stay as they are, become a random piece."""
        try:
            shares = tuple(float(part) for part in self.mask_mix.split(","))
        except ValueError:
            shares = ()
        good = len(shares) == 3 and min(shares) >= 0 and abs(sum(shares) - 1) < 1e-6
        _require(good, f"mask_mix is {self.mask_mix!r}; give three shares that sum to 1, as 0.8,0.1,0.1")
        return shares  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """What every training script shares."""

    bert_config_file: str | None = flag(
        None, help="The model's bert_config.json. Default: the one beside --init_checkpoint.", identity=False
    )
    output_dir: str = flag(None, required=True, help="Where checkpoints, results and exports go.", identity=False)
    init_checkpoint: str | None = flag(
        None, help="Start from these weights: a TF1 checkpoint prefix, a run directory, or a Hugging Face directory."
    )
    allow_partial: bool = flag(False, help="Start even though the checkpoint lacks some of the encoder's variables.")
    vocab_file: str | None = flag(None, help="The vocabulary. Default: the one beside --init_checkpoint.", identity=False)
    do_lower_case: bool | None = flag(
        None, help="Lower-case and strip accents. Default: what the model's folder says, else by the vocabulary.", identity=False
    )
    max_seq_length: int = flag(128, help="Length of an example in pieces, [CLS] and [SEP] included.")
    do_train: bool = flag(False, help="Train.", identity=False)
    do_eval: bool = flag(False, help="Evaluate and write eval_results.txt.", identity=False)
    do_export: bool = flag(False, help="Write a SavedModel to output_dir/export/<version>.", identity=False)
    train_batch_size: int = flag(32, help="Examples a training step, over all devices.")
    eval_batch_size: int = flag(8, help="Examples an evaluation step.", identity=False)
    learning_rate: float = flag(5e-5, help="Peak learning rate.")
    lr_schedule: str = flag(
        "original",
        choices=("original", "continuous"),
        help="How the rate falls after the warm-up: as the original's, peak x (1 - step / num_train_steps), which begins with a drop, or "
        "continuously from the peak.",
    )
    bias_correction: bool = flag(False, help="Adam's bias correction, which the original leaves out.")
    random_seed: int = flag(12345, help="Seed of initial weights, example order and dropout.")
    deterministic: bool = flag(False, help="Bit-equal results from run to run, at some cost in speed.")
    jit_compile: bool = flag(False, help="Compile the training step with XLA: faster for small models and on GPUs, slower to start.")
    save_checkpoints_steps: int = flag(1000, help="Steps between checkpoints.", identity=False)
    keep_checkpoint_max: int = flag(5, help="Newest checkpoints kept.", identity=False)
    iterations_per_loop: int = flag(1000, help="Most steps inside one call of the compiled loop.", identity=False)
    max_bad_steps: int = flag(
        10, help="Steps whose loss or gradient is not finite, which are skipped, before the training stops.", identity=False
    )
    overwrite_output_dir: bool = flag(False, help="Throw away what an earlier run left in output_dir.", identity=False)
    use_tpu: bool = flag(False, help="Cloud TPUs are not supported yet: true is refused.", identity=False)
    tpu_name: str | None = flag(None, help="The TPU's name or grpc:// address.", identity=False)
    tpu_zone: str | None = flag(None, help="The TPU's zone.", identity=False)
    gcp_project: str | None = flag(None, help="The TPU's project.", identity=False)
    master: str | None = flag(None, help="Accepted from TF1 command lines and ignored.", identity=False)
    num_tpu_cores: int = flag(8, help="Accepted from TF1 command lines; the TPU itself says how many it has.", identity=False)

    def __post_init__(self) -> None:
        _settle(self)
        _require(
            not set(self.output_dir) & set("*?[]"),
            f"output_dir is {self.output_dir!r}; give a name without * ? [ ], which TensorFlow's readers take for patterns",
        )
        _require(not self.use_tpu, "use_tpu is true, but this release trains on CPU or one GPU only; leave the flag out")
        _check_length(self.max_seq_length)
        for name in ("init_checkpoint", "continue_from"):  # "runs/a/" is "runs/a"
            path = getattr(self, name, None)
            if path is not None and "://" not in path:
                object.__setattr__(self, name, os.path.normpath(path))
        for name, most in (("train_batch_size", _LARGEST_BATCH), ("eval_batch_size", _LARGEST_BATCH),
                           ("save_checkpoints_steps", _MOST_STEPS), ("keep_checkpoint_max", _MOST_STEPS),
                           ("iterations_per_loop", _MOST_STEPS)):  # fmt: skip
            _require(1 <= getattr(self, name) <= most, f"{name} is {getattr(self, name)}; give 1 to {most:,}")
        _require(self.max_bad_steps >= 0, f"max_bad_steps is {self.max_bad_steps}; give 0 or more")
        good = 0 < self.learning_rate <= 1
        _require(good, f"learning_rate is {self.learning_rate}; give a number above 0, at most 1 (2e-5 to 1e-3 are common)")
        # what NumPy's and TensorFlow's generators take
        _require(0 <= self.random_seed < 2**32, f"random_seed is {self.random_seed}; give a whole number from 0 to {2**32 - 1}")


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(TrainingConfig):
    """Masked TFRecords in, a pre-trained checkpoint out."""

    input_file: str = flag(None, required=True, help="TFRecords to train on: paths or globs, separated by commas.", identity=False)
    eval_input_file: str | None = flag(None, help="TFRecords to evaluate on. Without it --do_eval takes --input_file.", identity=False)
    model_size: str | None = flag(
        None, choices=tuple(MODEL_SIZES), help="A named size, in place of --bert_config_file; needs --vocab_file."
    )
    max_predictions_per_seq: int = flag(20, help="Masked positions an example; must match the data.")
    use_nsp: bool = flag(True, help="Train next sentence prediction beside the masked language model.")
    num_train_steps: int = flag(100000, help="Steps of the learning-rate schedule, and of the run.")
    num_warmup_steps: int = flag(10000, help="Steps over which the learning rate rises from 0.")
    stop_at_step: int | None = flag(None, help="Stop here, before num_train_steps: the first phase of two.", identity=False)
    continue_from: str | None = flag(
        None, help="Go on with model, optimizer and step of this run directory or checkpoint: the second phase."
    )
    max_eval_steps: int = flag(100, help="Most evaluation steps.", identity=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_warmup(self.num_warmup_steps, self.num_train_steps, self.do_train)
        for name, most in (("max_predictions_per_seq", _LARGEST_SIZE), ("max_eval_steps", _MOST_STEPS)):
            _require(1 <= getattr(self, name) <= most, f"{name} is {getattr(self, name)}; give 1 to {most:,}")
        both = self.init_checkpoint is not None and self.continue_from is not None
        _require(
            not both,
            "init_checkpoint and continue_from are both given; the first starts a new schedule, the second goes on with one: choose",
        )
        if self.stop_at_step is not None:
            inside = 1 <= self.stop_at_step <= self.num_train_steps
            _require(inside, f"stop_at_step is {self.stop_at_step}; give 1 up to num_train_steps {self.num_train_steps}")


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(TrainingConfig):
    """Rows of a task in, a fine-tuned model, its scores and predictions out."""

    task_name: str = flag(None, required=True, help="The task: cola, mnli, mrpc, sst-2, or topic for the sample.")
    data_dir: str | None = flag(None, help="Directory of the task's official TSV files.", identity=False)
    tfds_name: str | None = flag(None, help="TensorFlow Datasets name, as glue/mrpc, in place of --data_dir.", identity=False)
    tfds_data_dir: str | None = flag(None, help="Where TensorFlow Datasets keeps its data.", identity=False)
    do_predict: bool = flag(False, help="Predict the test split.", identity=False)
    predict_batch_size: int = flag(8, help="Examples a prediction step.", identity=False)
    num_train_epochs: float = flag(3.0, help="Times the training examples are gone through.")
    warmup_proportion: float = flag(0.1, help="Share of the steps over which the learning rate rises from 0.")
    bucket_lengths: str = flag(
        "auto",
        help="Lengths that batches are padded to, as 32,64,128: texts of about one length go together. auto: at most 8, chosen from the "
        "data; off: max_seq_length alone.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "task_name", self.task_name.strip().lower())
        good = 1 <= self.predict_batch_size <= _LARGEST_BATCH
        _require(good, f"predict_batch_size is {self.predict_batch_size}; give 1 to {_LARGEST_BATCH:,}")
        good = 0 < self.num_train_epochs <= _MOST_EPOCHS
        _require(good, f"num_train_epochs is {self.num_train_epochs}; give a number above 0, at most {_MOST_EPOCHS:,}")
        _require(
            0 <= self.warmup_proportion < 1, f"warmup_proportion is {self.warmup_proportion}; give a share from 0 up to, not including, 1"
        )
        self.fixed_buckets()
        both = self.data_dir is not None and self.tfds_name is not None
        _require(not both, "data_dir and tfds_name are both given; choose one source")
        asked = self.do_train or self.do_eval or self.do_predict
        _require(
            not asked or self.data_dir is not None or self.tfds_name is not None,
            "no data: give --data_dir with the task's TSV files, or --tfds_name",
        )

    def fixed_buckets(self) -> tuple[int, ...] | None:
        """Returns the bucket lengths that the flag names, max_seq_length last, or None where the data is to decide."""
        if self.bucket_lengths == "auto":
            return None
        if self.bucket_lengths == "off":
            return (self.max_seq_length,)
        try:
            lengths = sorted({int(part) for part in self.bucket_lengths.split(",")} | {self.max_seq_length})
        except ValueError:
            lengths = [0]
        good = lengths[0] >= 1 and lengths[-1] == self.max_seq_length
        _require(
            good,
            f"bucket_lengths is {self.bucket_lengths!r}; give auto, off, or whole numbers up to max_seq_length {self.max_seq_length}, "
            "as 32,64,128",
        )
        return tuple(lengths)


@dataclass(frozen=True, kw_only=True)
class PredictConfig:
    """An exported model and raw text in, predictions out."""

    saved_model: str = flag(None, required=True, help="An export: output_dir/export, or one of its versions.")
    text: str | None = flag(None, help="One text to predict.")
    text_pair: str | None = flag(None, help="Its second text, for a task on pairs.")
    input_file: str | None = flag(None, help="Texts to predict, one a line; for pairs, the two separated by a tab.")
    output_file: str | None = flag(None, help="JSON lines to write. Default: standard output.")

    def __post_init__(self) -> None:
        _settle(self)
        _require((self.text is None) != (self.input_file is None), "give either --text or --input_file")
        _require(self.text_pair is None or self.text is not None, "text_pair is given without text; give both")


@dataclass(frozen=True, kw_only=True)
class DemoConfig:
    """The whole story on the sample that comes with the package."""

    output_dir: str = flag("demo_output", help="Where everything goes.")


def _settle(config: Any) -> None:
    """Makes what a notebook or a shell gives into the fields' own types, and checks that what is required is there."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if isinstance(value, str) and value.startswith("~") and _names_a_path(field.name):
            value = os.path.expanduser(value)  # shells do not, in --flag=~/runs
        if value == "" and field.default is None and field.name not in ("text", "text_pair"):
            value = None  # shell scripts pass --init_checkpoint=$VARIABLE, empty where there is none
        _require(value is not None or not field.metadata["required"], f"{field.name} is missing; give it")
        object.__setattr__(config, field.name, value)


def _names_a_path(name: str) -> bool:
    return name.endswith(("_file", "_dir", "_checkpoint")) or name in ("continue_from", "saved_model")


def _check_length(max_seq_length: int) -> None:
    # [CLS] a [SEP] b [SEP] is the shortest sentence pair
    _require(max_seq_length >= 5, f"max_seq_length is {max_seq_length}; give at least 5, room for [CLS] a [SEP] b [SEP]")
    _require(max_seq_length <= _LARGEST_SIZE, f"max_seq_length is {max_seq_length}; give at most {_LARGEST_SIZE:,}")


def _check_warmup(num_warmup_steps: int, num_train_steps: int, do_train: bool) -> None:
    _require(1 <= num_train_steps <= _MOST_STEPS, f"num_train_steps is {num_train_steps}; give 1 to {_MOST_STEPS:,}")
    _require(num_warmup_steps >= 0, f"num_warmup_steps is {num_warmup_steps}; give 0 or more")
    _require(
        not do_train or num_warmup_steps < num_train_steps,
        f"num_warmup_steps {num_warmup_steps} is not below num_train_steps {num_train_steps}: the full learning rate would never be "
        "reached; lower the first or raise the second",
    )


def to_dict(config: Any) -> dict[str, Any]:
    """Returns a config's fields, ready for JSON."""
    return dataclasses.asdict(config)


def differing_field(config: Any, recorded: dict[str, Any]) -> str | None:
    """Returns the first field by which `config` is another run than the recorded one, or None.

    Only identity fields count: asking a finished run for an evaluation, or saving more often, is the same run. A field that the
    record does not know (it was added later) compares by its default.
    """
    for field in dataclasses.fields(config):
        if field.metadata["identity"] and getattr(config, field.name) != recorded.get(field.name, field.default):
            return field.name
    return None
