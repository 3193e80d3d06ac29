"""Articles of a wiki -> documents of sentences: what the worker processes of `extract_wikipedia` do. Needs no TensorFlow."""

from collections.abc import Sequence
from typing import NamedTuple

from bert_tf.text.sentences import sentence_splitter
from bert_tf.text.wikitext import UNSAYABLE, paragraphs, wikitext_parser


class Article(NamedTuple):
    """An article as the dump has it: its title and its wikitext."""

    title: str
    wikitext: str


class Documents(NamedTuple):
    """What some articles gave.

    Attributes:
      text: A sentence a line, a blank line after each document.
      num_documents: Number of documents: articles with a sentence.
      num_sentences: Number of sentences, titles not counted.
      unread: Titles of articles that the parser could not read.
    """

    text: str
    num_documents: int
    num_sentences: int
    unread: tuple[str, ...]


class ArticleReader:
    """Turns articles into documents; to be made once in each process."""

    def __init__(self, language: str, media_prefixes: frozenset[str], titles: bool):
        """Takes the code of the language, what `paragraphs` takes, and whether a document begins with its title."""
        self._parse, self._parser_error = wikitext_parser()
        self._split = sentence_splitter(language)
        self._media_prefixes = media_prefixes
        self._titles = titles

    def __call__(self, articles: Sequence[Article]) -> Documents:
        """Returns the articles' documents, in their order."""
        lines: list[str] = []
        num_documents = num_sentences = 0
        unread: list[str] = []
        for article in articles:
            try:
                sentences = self._sentences(article.wikitext)
            except (RecursionError, self._parser_error):
                unread.append(article.title)
                continue
            if sentences:
                lines += [*([article.title] if self._titles else []), *sentences, ""]
                num_documents += 1
                num_sentences += len(sentences)
        return Documents("".join(f"{line}\n" for line in lines), num_documents, num_sentences, tuple(unread))

    def _sentences(self, wikitext: str) -> list[str]:
        """Returns the sentences in which there is a letter and no hole, and which a list or a formula did not tear."""
        sentences: list[str] = []
        for paragraph in paragraphs(wikitext, self._parse, self._media_prefixes):
            for number, sentence in enumerate(self._split(paragraph)):
                is_rest = number == 0 and sentences and sentence[0].islower()
                if UNSAYABLE not in sentence and not is_rest and any(map(str.isalpha, sentence)):
                    sentences.append(sentence)
        return sentences
