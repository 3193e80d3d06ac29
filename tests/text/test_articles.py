"""Articles -> documents."""

import pytest

from bert_tf.text.articles import Article, ArticleReader

pytest.importorskip("mwparserfromhell", reason="needs the extra bert_tf[wikipedia]")
pytest.importorskip("sentencex", reason="needs the extra bert_tf[sentences]")


def documents(*articles, titles=False):
    return ArticleReader("en", frozenset({"file", "category"}), titles)([Article(*article) for article in articles])


def test_a_document_an_article_and_none_where_no_sentence_is():
    found = documents(("A", "One. Two.\n\nThree."), ("B", "* a list.\n{{only|templates}}"), ("C", "Four.\n\n* x\nand so on. Five."))
    assert found.text == "One.\nTwo.\nThree.\n\nFour.\nFive.\n\n"
    assert (found.num_documents, found.num_sentences, found.unread) == (2, 5, ())


def test_titles():
    assert documents(("A b", "One."), ("B", ""), titles=True).text == "A b\nOne.\n\n"


def test_sentences_with_a_hole_or_without_a_letter_are_left_out():
    assert documents(("A", "Let <math>x</math> be. It is so. 3.14. <math>y</math>")).text == "It is so.\n\n"


def test_an_article_that_cannot_be_read_is_named_and_the_others_are_not_lost(monkeypatch):
    reader = ArticleReader("en", frozenset(), False)
    monkeypatch.setattr(reader, "_parse", lambda text, parse=reader._parse: parse(text) if "deep" not in text else _fail())
    found = reader([Article("A", "One."), Article("B", "deep"), Article("C", "Two.")])
    assert (found.text, found.unread) == ("One.\n\nTwo.\n\n", ("B",))


def _fail():
    raise RecursionError
