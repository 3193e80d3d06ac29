"""What uses a trained model, and the demo."""

from dataclasses import dataclass

from bert_tf.config.fields import flag, require, settle


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
