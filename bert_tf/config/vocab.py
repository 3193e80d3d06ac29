"""What makes, measures and extends vocabularies."""

from dataclasses import dataclass

from bert_tf.config.fields import check_num_processes, flag, input_format_flag, num_processes_flag, require, settle, text_field_flag


@dataclass(frozen=True, kw_only=True)
class _CorpusConfig:
    """How text is read, which all of them do."""

    input_format: str = input_format_flag()
    text_field: str = text_field_flag()
    num_processes: int | None = num_processes_flag()

    def __post_init__(self) -> None:
        settle(self)
        check_num_processes(self.num_processes)


@dataclass(frozen=True, kw_only=True)
class BuildVocabConfig(_CorpusConfig):
    """Text files in, vocab.txt out."""

    input_file: str = flag(
        None, required=True, help="Text files to learn from, or JSON lines: paths or globs, separated by commas; packed files are unpacked."
    )
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
        super().__post_init__()
        require(self.vocab_size >= 10, f"vocab_size is {self.vocab_size}; give at least 10")
        require(self.min_count >= 1, f"min_count is {self.min_count}; give at least 1")
        require(0 < self.character_coverage <= 1, f"character_coverage is {self.character_coverage}; give a share above 0, at most 1")
        most = self.vocab_size - 6  # five special tokens and a piece
        require(0 <= self.num_unused <= most, f"num_unused is {self.num_unused}; give 0 to {most}, or a larger vocab_size")


@dataclass(frozen=True, kw_only=True)
class VocabCoverageConfig(_CorpusConfig):
    """Text files and a vocabulary in, how well the one suits the other out."""

    input_file: str = flag(None, required=True, help="Text files, or JSON lines: paths or globs, separated by commas.")
    vocab_file: str = flag(None, required=True, help="The vocabulary, one piece a line.")
    do_lower_case: bool | None = flag(
        None, help="Lower-case and strip accents. Default: what the vocabulary's folder says, else by its pieces."
    )
    num_unknown_words: int = flag(20, help="How many of the commonest words that become [UNK] to list for each file.")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.num_unknown_words >= 0, f"num_unknown_words is {self.num_unknown_words}; give at least 0")


@dataclass(frozen=True, kw_only=True)
class ExtendVocabConfig(_CorpusConfig):
    """A model and words in, the model with the words in its vocabulary out."""

    init_checkpoint: str = flag(
        None, required=True, help="The model: a run's directory, a TF1 checkpoint prefix, or a Hugging Face directory."
    )
    output_dir: str = flag(None, required=True, help="Where the model with the longer vocabulary goes.")
    vocab_file: str | None = flag(None, help="The model's vocabulary. Default: vocab.txt beside the checkpoint.")
    bert_config_file: str | None = flag(None, help="The model's shape. Default: the config beside the checkpoint.")
    do_lower_case: bool | None = flag(None, help="Lower-case and strip accents. Default: what the model's folder says, else by its pieces.")
    words_file: str | None = flag(None, help="The words to add, one a line.")
    input_file: str | None = flag(
        None, help="Instead of words: text files of the domain, from which --num_words are chosen; paths or globs, separated by commas."
    )
    num_words: int | None = flag(None, help="Of --input_file, how many words to add: those that save most pieces in this text.")
    use_unused_slots: bool = flag(True, help="Put words into [unusedN] slots first; false: all behind the last piece.")

    def __post_init__(self) -> None:
        super().__post_init__()
        require((self.words_file is None) != (self.input_file is None), "give one of words_file and input_file")
        require((self.input_file is None) == (self.num_words is None), "num_words says how many words input_file gives; give both or none")
        require(self.num_words is None or self.num_words >= 1, f"num_words is {self.num_words}; give at least 1")
