"""What makes tokens, documents and pre-training data."""

from dataclasses import dataclass

from bert_tf.config.fields import (
    LARGEST_SIZE,
    OBJECTIVES,
    check_length,
    check_mask_prob,
    check_ngram,
    check_num_processes,
    check_use_nsp,
    flag,
    input_format_flag,
    mask_shares,
    num_processes_flag,
    require,
    settle,
    text_field_flag,
)


@dataclass(frozen=True, kw_only=True)
class TokenizeConfig:
    """JSON lines of text in, tokens, ids and offsets out."""

    input_file: str = flag(None, required=True, help='JSON lines, each {"text": ...}.')
    output_file: str = flag(None, required=True, help="JSON lines to write, each {text, tokens, ids, offsets}; fast: without offsets.")
    vocab_file: str = flag(None, required=True, help="The vocabulary, one piece a line.")
    do_lower_case: bool | None = flag(
        None, help="Lower-case and strip accents. Default: what the vocabulary's folder says, else by its pieces."
    )
    implementation: str = flag(
        "python",
        choices=("python", "graph", "fast"),
        help="python: the reference; graph: TensorFlow ops, as in a SavedModel; fast: in bulk, by tensorflow-text. The ids are the same.",
    )

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, kw_only=True)
class ExtractWikipediaConfig:
    """Wikipedia dumps in, documents out."""

    input_file: str = flag(
        None, required=True, help="pages-articles dumps, .xml or packed (.bz2, .gz, .xz, .zst): paths or globs, separated by commas."
    )
    output_file: str = flag(
        None, required=True, help="The text to write: one sentence a line, a blank line between documents, a document an article."
    )
    language: str | None = flag(None, help="The language whose rules split sentences, as a code like en, de, zh. Default: the dump's.")
    titles: bool = flag(False, help="Begin each document with its article's title.")
    num_processes: int | None = num_processes_flag()

    def __post_init__(self) -> None:
        settle(self)
        check_num_processes(self.num_processes)


@dataclass(frozen=True, kw_only=True)
class CreatePretrainingDataConfig:
    """Documents in, TFRecords of examples and a manifest out."""

    input_file: str = flag(
        None,
        required=True,
        help="Text files: one sentence a line, a blank line between documents; or JSON lines, a document each. Paths or globs, separated "
        "by commas; .gz, .bz2, .xz and .zst files are unpacked.",
    )
    output_file: str = flag(None, required=True, help="TFRecord files to write, separated by commas; examples go round them in turn.")
    vocab_file: str = flag(None, required=True, help="The vocabulary, one piece a line.")
    do_lower_case: bool | None = flag(
        None, help="Lower-case and strip accents. Default: what the vocabulary's folder says, else by its pieces."
    )
    do_whole_word_mask: bool = flag(False, help="Mask all pieces of a chosen word together.")
    word_segments: bool = flag(
        False,
        help="With do_whole_word_mask: the text is cut into words by spaces, Chinese too, and all pieces between two spaces are a word.",
    )
    max_ngram: int = flag(
        1, help="With do_whole_word_mask: mask spans of 1 up to this many words, n of them with a probability in proportion to 1/n."
    )
    objective: str = flag(
        "masked_lm",
        choices=OBJECTIVES,
        help="masked_lm: BERT's; next_token: examples for a left-to-right language model, unmasked (needs --use_nsp=false).",
    )
    max_seq_length: int = flag(128, help="Length of every example in pieces, [CLS] and [SEP] included.")
    max_predictions_per_seq: int = flag(20, help="Most masked positions an example.")
    random_seed: int = flag(12345, help="Seed of every draw: same seed, same bytes.")
    dupe_factor: int | None = flag(
        None,
        help="Times the corpus is gone through, with new pairs and new masks. Default: 10; with --masking=dynamic and "
        "--objective=next_token 1.",
    )
    masking: str = flag(
        "static",
        choices=("static", "dynamic"),
        help="static: masks are written into the records, as in the original; dynamic: they are drawn anew each time that training reads "
        "an example, so one pass serves for all epochs.",
    )
    masked_lm_prob: float = flag(0.15, help="Share of an example's pieces that is masked.")
    short_seq_prob: float = flag(0.1, help="Share of examples drawn shorter than the full length.")
    mask_mix: str = flag("0.8,0.1,0.1", help="Of the masked positions, the shares that become [MASK], stay, become a random piece.")
    use_nsp: bool = flag(
        True, help="Make sentence pairs, label 1 where the second is random text; false: one running text, label always 0."
    )
    compress: bool = flag(False, help="Write gzip TFRecords, which google-research/bert cannot read.")
    input_format: str = input_format_flag()
    text_field: str = text_field_flag()
    split_sentences: bool = flag(False, help="Lines are running text, to be split into sentences (needs the extra bert_tf[sentences]).")
    language: str = flag("en", help="The language that --split_sentences splits, as a code like en, de, zh.")
    num_processes: int | None = num_processes_flag()
    memory_per_process_mb: int = flag(
        256,
        help="Memory for the text and examples that each process has in hand, in MiB, beside what Python and TensorFlow take. More lets "
        "more examples be shuffled together.",
    )
    work_dir: str | None = flag(
        None,
        identity=False,
        help="Folder for what is unfinished; with --engine=local on this machine. Default: beside the first output file.",
    )
    engine: str = flag(
        "local",
        choices=("local", "beam"),
        help="local: this machine's cores; beam: an Apache Beam pipeline, for many machines (needs the extra bert_tf[beam]).",
    )
    beam_args: str | None = flag(
        None, identity=False, help="Pipeline options for --engine=beam as one string, the runner among them: '--runner=DataflowRunner ...'."
    )

    def __post_init__(self) -> None:
        settle(self)
        check_num_processes(self.num_processes)
        require(self.memory_per_process_mb >= 1, f"memory_per_process_mb is {self.memory_per_process_mb}; give at least 1")
        is_here = self.engine == "local"
        require(is_here or self.num_processes is None, "num_processes is for engine=local; workers are a matter of the runner: beam_args")
        require(not is_here or self.beam_args is None, f"beam_args is {self.beam_args!r}, but engine is local; give engine=beam")
        good = self.work_dir is None or "://" not in self.work_dir or not is_here
        require(good, f"work_dir is {self.work_dir}; give a folder on this machine")
        check_length(self.max_seq_length)
        good = 1 <= self.max_predictions_per_seq <= LARGEST_SIZE
        require(good, f"max_predictions_per_seq is {self.max_predictions_per_seq}; give 1 to {LARGEST_SIZE:,}")
        self._check_masking()
        passes = self.dupe_factor if self.dupe_factor is not None else 10 if self.is_masked else 1
        require(passes >= 1, f"dupe_factor is {passes}; give at least 1")
        object.__setattr__(self, "dupe_factor", passes)
        check_mask_prob(self.masked_lm_prob)
        require(0 <= self.short_seq_prob <= 1, f"short_seq_prob is {self.short_seq_prob}; give a share from 0 to 1")
        mask_shares(self.mask_mix)

    @property
    def is_masked(self) -> bool:
        """Whether masks are written into the records."""
        return self.objective == "masked_lm" and self.masking == "static"

    def _check_masking(self) -> None:
        check_use_nsp(self.objective, self.use_nsp)
        check_ngram(self.max_ngram, self.do_whole_word_mask)
        require(
            not self.word_segments or self.do_whole_word_mask,
            "word_segments is true, but words matter to whole-word masking alone; give do_whole_word_mask=true, or leave it out",
        )
        if self.objective != "masked_lm":
            for name, value in (("masking", "static"), ("do_whole_word_mask", False)):
                require(
                    getattr(self, name) == value,
                    f"{name} is {getattr(self, name)}, but with objective {self.objective} nothing is masked; leave it out",
                )
