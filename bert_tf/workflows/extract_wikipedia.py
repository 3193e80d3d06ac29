"""Wikipedia's dumps -> documents: one sentence a line, a blank line between documents, a document an article."""

import time
from collections.abc import Iterable, Iterator

from absl import logging

from bert_tf.config import ExtractWikipediaConfig
from bert_tf.data.files import atomic_write, expand_patterns, output_files
from bert_tf.data.progress import Progress
from bert_tf.data.text_files import total_bytes
from bert_tf.data.wikipedia_dump import WikipediaDump
from bert_tf.data.workers import default_num_processes, run_in_order
from bert_tf.errors import InputError
from bert_tf.text.articles import Article, ArticleReader
from bert_tf.text.sentences import sentence_splitter
from bert_tf.text.wikitext import wikitext_parser

# Of wikitext, handed to a process at once: some seconds of work for a large article, and little beside the text of a whole dump.
_BLOCK_CHARACTERS = 1 << 18


def run(config: ExtractWikipediaConfig) -> dict[str, int]:
    """Writes the documents, prints what came out and returns the counts: `articles`, `documents`, `sentences`.

    Raises:
      InputError: An input or output that cannot serve, or a library that is missing; then no file is left half-written.
    """
    begin = time.monotonic()
    inputs = expand_patterns(config.input_file, "input_file")
    outputs = output_files(config.output_file, "output_file", inputs)
    if len(outputs) > 1:
        raise InputError(f"--output_file: names {len(outputs)} files; the documents go into one")
    wikitext_parser()  # that a library is missing is told here, not by every process
    sentence_splitter("en")
    counts = {"articles": 0, "documents": 0, "sentences": 0}
    unread: list[str] = []
    with Progress(total_bytes(inputs), "B", "extracting") as progress, atomic_write(outputs[0]) as file:
        for path in inputs:
            dump = WikipediaDump(path, progress.advance)
            language = config.language or dump.language
            if language is None:
                raise InputError(f"{path}: does not tell its language; give --language")
            arguments = (language, dump.media_prefixes, config.titles)
            blocks = _blocks(dump.articles(), counts)
            for found in run_in_order(ArticleReader, arguments, blocks, config.num_processes or default_num_processes()):
                if counts["documents"] and found.text:
                    file.write("\n")
                file.write(found.text.removesuffix("\n"))  # blank lines stand between documents, none at the end
                counts["documents"] += found.num_documents
                counts["sentences"] += found.num_sentences
                unread += found.unread
                progress.note(f"{counts['documents']:,} documents")
        if not counts["documents"]:
            raise InputError(f"--input_file: {inputs[0]}: no article with a sentence found; give a pages-articles dump")
    if unread:
        logging.warning("%d articles could not be read and were left out, the first: %s", len(unread), unread[0])
    print(f"{counts['articles']:,} articles, {time.monotonic() - begin:.0f} s")
    print(f"{counts['documents']:,} documents, {counts['sentences']:,} sentences in {outputs[0]}")
    return counts


def _blocks(articles: Iterable[Article], counts: dict[str, int]) -> Iterator[list[Article]]:
    """Yields the articles in lists of about one size, counting them."""
    block: list[Article] = []
    size = 0
    for article in articles:
        counts["articles"] += 1
        block.append(article)
        size += len(article.wikitext)
        if size >= _BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block
