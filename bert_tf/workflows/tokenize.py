"""JSON lines of text -> JSON lines of tokens, ids and offsets, by any of the tokenizers; the fast one tells no offsets."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from bert_tf.config import TokenizeConfig
from bert_tf.data.files import atomic_write, output_files
from bert_tf.data.progress import Progress
from bert_tf.data.text_files import read_lines, total_bytes
from bert_tf.errors import InputError
from bert_tf.text.casing import resolve_do_lower_case
from bert_tf.text.json_lines import text_of_line
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.text.wordpiece_fast import bulk_tokenizer
from bert_tf.text.wordpiece_graph import GraphTokenizer
from bert_tf.workflows.model_folder import read_vocab, recorded_casing

BATCH = 64

# A text's ids, and where each piece starts and ends; None where the tokenizer does not tell.
Located = tuple[list[int], list[tuple[int, int]] | None]


def run(config: TokenizeConfig) -> dict[str, Any]:
    """Writes the output file, prints what came out and returns the counts: texts, pieces, unk_rate.

    Raises:
      InputError: An input, output or vocabulary that cannot serve; then no file is left half-written.
    """
    vocab = read_vocab(config.vocab_file)
    recorded, source = recorded_casing(config.vocab_file)
    do_lower_case = resolve_do_lower_case(config.do_lower_case, vocab, recorded, source)
    outputs = output_files(config.output_file, "output_file", [config.input_file, config.vocab_file])
    if len(outputs) > 1:
        raise InputError(f"--output_file: names {len(outputs)} files; give one")
    tokenize = {"python": _by_python, "graph": _by_graph, "fast": _by_fast}[config.implementation]
    num_texts = num_pieces = num_unknown = 0
    with Progress(total_bytes([config.input_file]), "B", "tokenizing") as progress, atomic_write(outputs[0]) as file:
        for text, (ids, offsets) in tokenize(read_texts(config.input_file, progress), vocab, do_lower_case):
            record = {"text": text, "tokens": [vocab.pieces[id] for id in ids], "ids": ids}
            if offsets is not None:
                record["offsets"] = offsets
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            num_texts += 1
            num_pieces += len(ids)
            num_unknown += ids.count(vocab.unk_id)
        if num_texts == 0:
            raise InputError(f'{config.input_file}: holds no line; give one {{"text": ...}} a line')
    unk_rate = num_unknown / max(num_pieces, 1)
    print(f"{num_texts:,} texts, {num_pieces:,} pieces, {unk_rate:.2%} of them [UNK], in {outputs[0]}")
    return {"texts": num_texts, "pieces": num_pieces, "unk_rate": unk_rate}


def read_texts(path: str, progress: Progress) -> Iterator[str]:
    """Yields the text of each line of a JSON lines file; blank lines are passed over.

    Raises:
      InputError: A line that is not a JSON object with a string under "text": file and line are named.
    """
    for number, line in enumerate(read_lines(path, progress.advance), 1):
        if line.strip():
            yield text_of_line(line, "text", f"{path}, line {number}")


def _by_python(texts: Iterable[str], vocab: Vocabulary, do_lower_case: bool) -> Iterator[tuple[str, Located]]:
    tokenizer = WordPieceTokenizer(vocab, do_lower_case)
    for text in texts:
        tokens = tokenizer.tokenize(text)
        yield text, (tokens.ids, tokens.offsets)


def _by_graph(texts: Iterable[str], vocab: Vocabulary, do_lower_case: bool) -> Iterator[tuple[str, Located]]:
    tokenizer = GraphTokenizer(vocab, do_lower_case)
    texts = iter(texts)
    while batch := list(islice(texts, BATCH)):
        ids, starts, ends = (values.to_list() for values in tokenizer.with_offsets(batch))
        for text, *located in zip(batch, ids, starts, ends):
            yield text, (located[0], list(zip(*located[1:])))


def _by_fast(texts: Iterable[str], vocab: Vocabulary, do_lower_case: bool) -> Iterator[tuple[str, Located]]:
    tokenizer = bulk_tokenizer(vocab, do_lower_case)
    texts = iter(texts)
    while batch := list(islice(texts, BATCH)):
        ids, splits = tokenizer.encode_batch(batch)
        for text, begin, end in zip(batch, splits, splits[1:]):
            yield text, (ids[begin:end].tolist(), None)
