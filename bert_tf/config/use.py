"""What uses a trained model, and the demo."""

from dataclasses import dataclass

from bert_tf.config.fields import LARGEST_BATCH, check_length, flag, require, settle
from bert_tf.errors import InputError


@dataclass(frozen=True, kw_only=True)
class PredictConfig:
    """An exported model and raw text in, predictions out."""

    saved_model: str = flag(None, required=True, help="An export: output_dir/export, or one of its versions.")
    text: str | None = flag(None, help="One text to predict.")
    text_pair: str | None = flag(None, help="Its second text, for a task on pairs.")
    input_file: str | None = flag(None, help="Texts to predict, one a line; for pairs, the two separated by a tab.")
    output_file: str | None = flag(None, help="JSON lines to write. Default: standard output.")

    def __post_init__(self) -> None:
        settle(self)
        require(self.text is not None or self.input_file is not None, "no text: give --text or --input_file")
        require(self.text is None or self.input_file is None, "text and input_file are both given; choose one")
        require(self.text_pair is None or self.text is not None, "text_pair is given without text; give both")


@dataclass(frozen=True, kw_only=True)
class ExtractFeaturesConfig:
    """An encoder and lines of text in, the outputs of some of its layers out."""

    input_file: str = flag(
        None, required=True, help="Texts, one a line, or two, separated by ' ||| '; .gz, .bz2, .xz and .zst files are unpacked."
    )
    output_file: str = flag(
        None, required=True, help="JSON lines to write, each {linex_index, features: [{token, layers: [{index, values}]}]}."
    )
    layers: str = flag("-1,-2,-3,-4", help="The layers whose outputs are written: 0 is the lowest, -1 the highest.")
    bert_config_file: str | None = flag(None, help="The model's bert_config.json. Default: the one beside --init_checkpoint.")
    init_checkpoint: str = flag(
        None, required=True, help="The encoder's weights: a TF1 checkpoint prefix, a run directory, or a Hugging Face directory."
    )
    allow_partial: bool = flag(False, help="Start even though the checkpoint lacks some of the encoder's variables.")
    vocab_file: str | None = flag(None, help="The vocabulary. Default: the one beside --init_checkpoint.")
    do_lower_case: bool | None = flag(
        None, help="Lower-case and strip accents. Default: what the model's folder says, else by the vocabulary."
    )
    max_seq_length: int = flag(128, help="Most pieces of a line, [CLS] and [SEP] included; longer ones are cut.")
    batch_size: int = flag(32, help="Lines that go through the encoder together.")
    use_one_hot_embeddings: bool = flag(False, help="Accepted from TF1 command lines; the outputs are the same.")
    use_tpu: bool = flag(False, help="Known from TF1 command lines and refused: the encoder runs on the CPU or a GPU.")
    master: str | None = flag(None, help="Accepted from TF1 command lines and ignored.")
    num_tpu_cores: int = flag(8, help="Accepted from TF1 command lines and ignored.")

    def __post_init__(self) -> None:
        settle(self)
        self.layer_indexes()
        check_length(self.max_seq_length)
        require(1 <= self.batch_size <= LARGEST_BATCH, f"batch_size is {self.batch_size}; give 1 to {LARGEST_BATCH:,}")
        require(not self.use_tpu, "use_tpu is true, but features are extracted on the CPU or a GPU; leave it out")

    def layer_indexes(self) -> tuple[int, ...]:
        """Returns the numbers in `layers`, in its order."""
        try:
            return tuple(map(int, self.layers.split(",")))
        except ValueError:
            raise InputError(f"layers is {self.layers!r}; give whole numbers, as -1,-2,-3,-4") from None


@dataclass(frozen=True, kw_only=True)
class SubmissionConfig:
    """Fine-tuned runs with predictions in, the GLUE leaderboard's zip out."""

    run_dirs: str = flag(None, required=True, help="Output directories of run_classifier.py, one a task, separated by commas.")
    output_file: str = flag(None, required=True, help="The zip to write.")
    majority_tasks: str | None = flag(
        None, help="Tasks for which the most frequent label is handed in, whatever the row, as the paper did for wnli."
    )

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, kw_only=True)
class DemoConfig:
    """The whole story on the sample that comes with the package."""

    output_dir: str = flag("demo_output", help="Where everything goes.")
