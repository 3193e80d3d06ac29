"""Documents: from lines of text, and as the ids of a whole corpus in flat arrays."""

from array import array
from collections.abc import Iterable, Iterator, Sequence


def split_documents(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yields each document as the list of its sentences: one sentence a line, blank lines between documents.

    The lines are those of one file, so its end ends a document. A line of white space only is blank, and no document is empty. For
    example, the lines `["a b.", "c.", "", " ", "d."]` hold the documents `["a b.", "c."]` and `["d."]`.
    """
    document: list[str] = []
    for line in lines:
        sentence = line.strip()
        if sentence:
            document.append(sentence)
        elif document:
            yield document
            document = []
    if document:
        yield document


class Corpus:
    """Documents as piece ids: 4 bytes a piece, in one array, whatever the number of documents and sentences.

    A position is an index into `ids`; a sentence is the stretch between two positions.

    Attributes:
      ids: All pieces of all documents, one after the other, int32[pieces].
      sentence_starts: Position at which each sentence starts, and at the end the position after the last, int64[sentences + 1].
      document_starts: Number of the sentence with which each document starts, and the number of sentences, int64[documents + 1].
    """

    def __init__(self) -> None:
        self.ids = array("i")
        self.sentence_starts = array("q", [0])
        self.document_starts = array("q", [0])

    def add(self, sentences: Iterable[Sequence[int]]) -> None:
        """Adds a document. Sentences without a piece are left out, and so is a document without a sentence."""
        for ids in sentences:
            if ids:
                self.ids.extend(ids)
                self.sentence_starts.append(len(self.ids))
        if self.num_sentences > self.document_starts[-1]:
            self.document_starts.append(self.num_sentences)

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return len(self.document_starts) - 1

    @property
    def num_sentences(self) -> int:
        """Number of sentences in all documents."""
        return len(self.sentence_starts) - 1

    def sentences_of(self, document: int) -> range:
        """Returns the numbers of a document's sentences."""
        return range(self.document_starts[document], self.document_starts[document + 1])
