"""Running text -> sentences."""

import pytest

from bert_tf.text.sentences import sentence_splitter


@pytest.mark.parametrize(
    "language, sentences",
    [
        ("en", ["Dr. Smith met Mr. J. R. Jones, e.g. at noon (ca. 5 p.m.).", "The U.S. Army came.", '"Really?" he asked.']),
        ("en", ["In St. Louis it cost $3.5 million.", "See fig. 3.", "Who knows?", "All do!"]),
        ("en", ["Buses run until 12:30 a.m. 365 days a year.", "He left at 5 p.m."]),
        ("bg", ["Това е т.нар. проба.", "Роден е през 1950 г. в София, т.е. 365 дни.", "Бележи се с „пр.Хр.“ (преди това).", "Край."]),
        ("de", ["Das gilt z. B. hier.", "Am 3. Mai kam Dr. Meyer."]),
    ],
)
def test_abbreviations_end_no_sentence(language, sentences):
    pytest.importorskip("sentencex", reason="needs the extra bert_tf[sentences]")
    assert list(sentence_splitter(language)(" ".join(sentences))) == sentences


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_nothing_gives_no_sentence(text):
    pytest.importorskip("sentencex", reason="needs the extra bert_tf[sentences]")
    assert list(sentence_splitter("en")(text)) == []
