from bert_tf.pretraining.documents import Corpus, split_documents


def test_blank_lines_divide_documents_and_leave_no_empty_one():
    lines = ["", "  ", "a b.", "c.", "", " \t", "", "d.", ""]
    assert list(split_documents(lines)) == [["a b.", "c."], ["d."]]


def test_line_separators_inside_a_line_divide_nothing():
    assert list(split_documents(["a\u2028b", "c\u2029d\x0be"])) == [["a\u2028b", "c\u2029d\x0be"]]


def test_sentences_are_stripped():
    assert list(split_documents(["  a b. \r", "\u00a0"])) == [["a b."]]


def test_documents_come_as_soon_as_they_end():
    def lines():
        yield from ["a", ""]
        raise AssertionError("read on although the first document was complete")

    assert next(split_documents(lines())) == ["a"]


def test_corpus_holds_documents_as_stretches_of_one_array():
    corpus = Corpus.of_documents([[[1, 2], [], [3]], [[], []], [(4, 5, 6)]])
    assert corpus.num_documents == 2
    assert corpus.num_sentences == 3
    assert list(corpus.ids) == [1, 2, 3, 4, 5, 6]
    assert list(corpus.sentence_starts) == [0, 2, 3, 6]
    assert [list(corpus.sentences_of(document)) for document in range(2)] == [[0, 1], [2]]
    assert [corpus.document_of(sentence) for sentence in range(3)] == [0, 0, 1]
    assert corpus.ids.itemsize == 4
