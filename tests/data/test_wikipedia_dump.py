"""Dumps of MediaWiki: which pages are articles, and what is said of files that are none."""

import bz2
import re
import tracemalloc

import pytest

from bert_tf.data.wikipedia_dump import WikipediaDump
from bert_tf.errors import InputError
from bert_tf.text.articles import Article
from tests.conftest import SHARED, needs_shared

SITE = """<siteinfo><dbname>xywiki</dbname><namespaces><namespace key="0" /><namespace key="6">Datei</namespace>
<namespace key="10">Vorlage</namespace><namespace key="14">Kategorie</namespace></namespaces></siteinfo>"""


def page(title, text, ns="<ns>0</ns>", more="", model="wikitext"):
    model = f"<model>{model}</model>" if model else ""
    return f"<page><title>{title}</title>{ns}{more}<revision><comment>no</comment>{model}<text>{text}</text></revision></page>"


def dump(*pages, site=SITE, attributes='xml:lang="de"'):
    return f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" {attributes}>{site}{"".join(pages)}</mediawiki>'


def opened(tmp_path, content, encoding="utf-8"):
    (tmp_path / "dump.xml").write_text(content, encoding=encoding)
    return WikipediaDump(str(tmp_path / "dump.xml"))


def test_articles_alone(tmp_path):
    pages = (
        page("A", "Text &amp;lt; &lt;b&gt;."),
        page("Redirected", "#REDIRECT [[A]]", more='<redirect title="A" />'),
        page("Vorlage:B", "No.", "<ns>10</ns>"),
        page("Data", "{}", model="json"),
        page("Old", "Yes.", "", model=""),
        page("Vorlage:Old", "No.", "", model=""),
        page("Star Trek: Old", "Yes.", "", model=""),
        page("Empty", ""),
    )
    found = opened(tmp_path, dump(*pages))
    assert (found.language, found.media_prefixes) == ("de", {"file", "image", "media", "category", "datei", "kategorie"})
    expected = [("A", "Text &lt; <b>."), ("Old", "Yes."), ("Star Trek: Old", "Yes."), ("Empty", "")]
    assert list(found.articles()) == [Article(*each) for each in expected]


def test_the_newest_revision_counts(tmp_path):
    two = page("A", "old").replace("</page>", "<revision><text>new</text></revision></page>")
    assert list(opened(tmp_path, dump(two)).articles()) == [("A", "new")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_xml_knows(tmp_path, encoding):
    assert list(opened(tmp_path, dump(page("Ä", "Ö\u2028ж")), encoding).articles()) == [("Ä", "Ö\u2028ж")]


@pytest.mark.parametrize(
    "attributes, site, expected",
    [('xml:lang="be-tarask"', SITE, "be-tarask"), ("", SITE, "xy"), ("", "", None)],
    ids=["by the attribute", "by the database's name", "not told"],
)
def test_language(tmp_path, attributes, site, expected):
    found = opened(tmp_path, dump(page("A", "Text."), site=site, attributes=attributes))
    assert found.language == expected
    assert list(found.articles()) == [("A", "Text.")], "without a siteinfo, too"


@pytest.mark.parametrize(
    "content, message",
    [
        ("", r"is no XML"),
        ("Just text.", r"is no XML \(syntax error: line 1, column 0\); give a pages-articles dump"),
        ("<html><body></body></html>", r"is no dump of MediaWiki \(its root is <html>\); give a pages-articles dump"),
        (dump(page("A", "Text."))[:-30], r"damaged or cut XML \(.*line 2.*\); get the dump again"),
        (dump(page("A", "Text <b."), page("B", "More.")), r"damaged or cut XML"),
        (f'<?xml version="1.0" encoding="gbk"?>{dump()}', r"multi-byte encodings are not supported; convert the dump to UTF-8"),
        (f'<?xml version="1.0" encoding="foo"?>{dump()}', r"unknown encoding: foo; convert the dump to UTF-8"),
        (dump(page("A", "Text.")) * 2, r"damaged or cut XML \(junk after"),
    ],
)
def test_what_is_no_whole_dump_is_one_line(tmp_path, content, message):
    with pytest.raises(InputError, match=rf"dump\.xml: {message}") as caught:
        list(opened(tmp_path, content).articles())
    assert "\n" not in str(caught.value)


def test_a_packed_dump_that_is_cut(tmp_path):
    packed = bz2.compress(dump(*(page(str(number), f"Text {number**9}.") for number in range(2000))).encode())
    (tmp_path / "dump.xml.bz2").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"dump\.xml\.bz2: .*cut") as caught:
        list(WikipediaDump(str(tmp_path / "dump.xml.bz2")).articles())
    assert "\n" not in str(caught.value)


def test_memory_does_not_grow_with_the_dump(tmp_path):
    (tmp_path / "dump.xml").write_text(dump(*(page(str(number), "Some text. " * 1000) for number in range(2000))))
    tracemalloc.start()
    try:
        assert sum(1 for _ in WikipediaDump(str(tmp_path / "dump.xml")).articles()) == 2000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (tmp_path / "dump.xml").stat().st_size / 10


def test_a_packed_dump_with_a_wrong_byte(tmp_path):
    packed = bytearray(bz2.compress(dump(*(page(str(number), f"Text {number**9}.") for number in range(2000))).encode()))
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "dump.xml.bz2").write_bytes(packed)
    with pytest.raises(InputError, match=r"dump\.xml\.bz2: damaged bzip2 file"):
        list(WikipediaDump(str(tmp_path / "dump.xml.bz2")).articles())


@needs_shared
@pytest.mark.parametrize("pattern, language, count", [("enwiki-*", "en", 106), ("bgwiki-*", "bg", 1)])
def test_real_dumps(pattern, language, count):
    (path,) = (SHARED / "data" / "corpus").glob(pattern)
    read: list[int] = []
    found = WikipediaDump(str(path), read.append)
    articles = list(found.articles())
    # English: 206 pages, 100 of them redirects, one of these in another namespace
    assert (found.language, len(articles)) == (language, count)
    assert sum(read) == path.stat().st_size
    assert not [article.title for article in articles if re.match(r"\s*#redirect", article.wikitext, re.IGNORECASE)]
