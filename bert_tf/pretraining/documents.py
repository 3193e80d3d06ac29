"""Documents: from lines of text, and as the ids of a whole corpus in flat arrays."""

from array import array
from bisect import bisect_right
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
    """Documents as piece ids, in one array whatever the number of documents and sentences.

    A position is an index into `ids`; a sentence is the stretch between two positions. The arrays lie in memory, or in files that are
    mapped into it (`data/spool.py`).

    Attributes:
      ids: All pieces of all documents, one after the other, int[pieces].
      sentence_starts: Position at which each sentence starts, and at the end the position after the last, int64[sentences + 1].
      document_starts: Number of the sentence with which each document starts, and the number of sentences, int64[documents + 1].
    """

    def __init__(self, ids: Sequence[int], sentence_starts: Sequence[int], document_starts: Sequence[int]):
        self.ids = ids
        self.sentence_starts = sentence_starts
        self.document_starts = document_starts

    @classmethod
    def of_documents(cls, documents: Iterable[Iterable[Sequence[int]]]) -> "Corpus":
        """Returns documents in memory. Sentences without a piece are left out, and so are documents without a sentence."""
        ids, sentence_starts, document_starts = array("i"), array("q", [0]), array("q", [0])
        for sentences in documents:
            for sentence in sentences:
                if sentence:
                    ids.extend(sentence)
                    sentence_starts.append(len(ids))
            if len(sentence_starts) - 1 > document_starts[-1]:
                document_starts.append(len(sentence_starts) - 1)
        return cls(ids, sentence_starts, document_starts)

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

    def document_of(self, sentence: int) -> int:
        """Returns the number of the document that a sentence is in."""
        return bisect_right(self.document_starts, sentence) - 1
