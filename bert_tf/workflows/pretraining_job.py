"""What create_pretraining_data is to make, and what one of its engines has made of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bert_tf.config import CreatePretrainingDataConfig
from bert_tf.data.text_form import TextForm
from bert_tf.pretraining.parts import ExampleRules, PartPlan
from bert_tf.pretraining.tally import Tally
from bert_tf.text.vocab import Vocabulary

# A part's examples and their bytes take half of that many bytes a piece while it is made; and small parts share out evenly.
_BYTES_A_PIECE = 64
# A long document is cut, so that parts come out of about one size.
_STRETCHES_A_PART = 8


@dataclass(frozen=True)
class Job:
    """What is to be made; checked.

    Attributes:
      config: The run's flags.
      inputs: The text files.
      outputs: The record files.
      vocab: The vocabulary.
      do_lower_case: Whether text is lower-cased.
      rules: What examples are made by.
      form: What the lines of the text are.
    """

    config: CreatePretrainingDataConfig
    inputs: Sequence[str]
    outputs: Sequence[str]
    vocab: Vocabulary
    do_lower_case: bool
    rules: ExampleRules
    form: TextForm

    @property
    def num_ids(self) -> int:
        """How many ids there are to tell apart in the tokenized text."""
        return self.form.num_ids(len(self.vocab))

    @property
    def part_pieces(self) -> int:
        """Pieces of a part."""
        return (self.config.memory_per_process_mb << 20) // _BYTES_A_PIECE

    @property
    def stretch_pieces(self) -> int:
        """Pieces of a stretch of a long document."""
        return self.part_pieces // _STRETCHES_A_PART

    def plan(self, num_stretches: int, num_pieces: int) -> PartPlan:
        """Returns how a corpus is cut into parts."""
        return PartPlan.of_size(num_stretches, num_pieces, self.config.dupe_factor, self.part_pieces, self.config.random_seed)


@dataclass(frozen=True)
class Made:
    """Records that are whole, but not yet under their names.

    Attributes:
      counts: documents, sentences, tokens, and of these unknown and cjk.
      tally: What the examples turned out to be.
      num_examples: Examples of each output file.
      move_out: Gives the output files their names.
    """

    counts: Mapping[str, int]
    tally: Tally
    num_examples: Sequence[int]
    move_out: Callable[[], None]
