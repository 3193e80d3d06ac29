"""A corpus in which every sentence is known by its words, and the configuration that makes records of it."""

from pathlib import Path

from bert_tf.config import CreatePretrainingDataConfig

SPECIALS = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, UNUSED, UNK, CLS, SEP, MASK = range(6)


def sentence_words(document: int, sentence: int) -> list[str]:
    return [f"d{document:02}s{sentence:02}{letter}" for letter in "abcd"]


def write_corpus(folder: Path, num_documents: int, num_sentences: int) -> CreatePretrainingDataConfig:
    """Writes documents of sentences of four words, all different and all in the vocabulary; returns a config for them."""
    words, text = [], []
    for document in range(num_documents):
        for sentence in range(num_sentences):
            words += sentence_words(document, sentence)
            text.append(" ".join(sentence_words(document, sentence)))
        text.append("")
    (folder / "vocab.txt").write_text("\n".join(SPECIALS + words) + "\n")
    (folder / "text.txt").write_text("\n".join(text) + "\n")
    return config_of(folder)


def config_of(folder: Path, **changes) -> CreatePretrainingDataConfig:
    values = dict(
        input_file=str(folder / "text.txt"),
        output_file=str(folder / "out.tfrecord"),
        vocab_file=str(folder / "vocab.txt"),
        do_lower_case=True,
        max_seq_length=19,
        max_predictions_per_seq=5,
        dupe_factor=2,
    )
    return CreatePretrainingDataConfig(**(values | changes))
