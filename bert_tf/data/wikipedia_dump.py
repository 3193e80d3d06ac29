"""MediaWiki's XML dumps (pages-articles, plain or packed) -> articles, read as a stream.

The schema is https://www.mediawiki.org/xml/export-0.11.xsd: one siteinfo, then pages, each with its title, its namespace and the revisions
that were dumped, the newest last.
"""

from collections.abc import Callable, Iterator
from xml.etree import ElementTree

from bert_tf.data.text_files import read_bytes
from bert_tf.errors import InputError
from bert_tf.text.articles import Article

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_ARTICLES = "0"
# The keys of the namespaces File and Category, and the names that they have in every language beside its own.
_MEDIA_KEYS = ("6", "14")
_MEDIA_NAMES = frozenset({"file", "image", "media", "category"})


class WikipediaDump:
    """One dump; its first bytes are read when it is made.

    Attributes:
      language: The code of its language, as "en"; None where it does not tell.
      media_prefixes: Lower-case names of the namespaces of files and categories.
    """

    def __init__(self, path: str, on_read: Callable[[int], object] | None = None):
        """Reads the siteinfo; `on_read` is told the number of bytes read, packed ones where the file is packed.

        Raises:
          InputError: The file cannot be read, or is no MediaWiki dump.
        """
        self._path = path
        self._root: ElementTree.Element | None = None
        self.language: str | None = None
        self.media_prefixes = _MEDIA_NAMES
        self._namespaces: frozenset[str] = frozenset()
        self._elements = self._read(on_read)
        self._first = next(self._elements, None)
        if self._first is not None and _name(self._first) == "siteinfo":
            self._note_site(self._first)
            self._first = None

    def articles(self) -> Iterator[Article]:
        """Yields the articles, once: no redirects, no pages of other namespaces or of other content than wikitext.

        Raises:
          InputError: The file is damaged or cut.
        """
        if self._first is not None:
            yield from self._article(self._first)
        for element in self._elements:
            yield from self._article(element)

    def _read(self, on_read: Callable[[int], object] | None) -> Iterator[ElementTree.Element]:
        """Yields the siteinfo and the pages, each forgotten when the next is asked for."""
        parser = ElementTree.XMLPullParser(("start", "end"))
        try:
            for chunk in read_bytes(self._path, on_read):
                self._feed(parser, chunk)
                yield from self._children(parser)
            parser.close()
        except ElementTree.ParseError as error:
            if self._root is None:
                raise InputError(f"{self._path}: is no XML ({error}); give a pages-articles dump of MediaWiki, .xml or .xml.bz2") from None
            raise InputError(f"{self._path}: damaged or cut XML ({error}); get the dump again") from None

    def _feed(self, parser: ElementTree.XMLPullParser, chunk: bytes) -> None:
        try:
            parser.feed(chunk)
        except (LookupError, ValueError) as error:  # an encoding that Python, or its XML parser, does not know
            raise InputError(f"{self._path}: {error}; convert the dump to UTF-8, and what its first line says of it") from None

    def _children(self, parser: ElementTree.XMLPullParser) -> Iterator[ElementTree.Element]:
        for event, element in parser.read_events():
            if self._root is None:
                if _name(element) != "mediawiki":
                    raise InputError(f"{self._path}: is no dump of MediaWiki (its root is <{_name(element)}>); give a pages-articles dump")
                self._root, self.language = element, element.get(_LANGUAGE)
            elif event == "end" and _name(element) in ("page", "siteinfo"):
                yield element
                self._root.clear()

    def _note_site(self, site: ElementTree.Element) -> None:
        if self.language is None and (database := _text(site, "dbname").removesuffix("wiki")):
            self.language = database.replace("_", "-")
        names = {element.get("key"): (element.text or "").lower() for element in site.iter() if _name(element) == "namespace"}
        self.media_prefixes |= {names[key] for key in _MEDIA_KEYS if names.get(key)}
        self._namespaces = frozenset(name for name in names.values() if name)

    def _article(self, page: ElementTree.Element) -> Iterator[Article]:
        title, model = _text(page, "title"), _text(page, "model")
        prefix = title.partition(":")[0].lower() if ":" in title else ""
        namespace = _text(page, "ns") or ("" if prefix in self._namespaces else _ARTICLES)  # older dumps do not tell
        is_redirect = any(_name(child) == "redirect" for child in page)
        if namespace == _ARTICLES and not is_redirect and model in ("", "wikitext"):
            yield Article(title, _text(page, "text"))


def _name(element: ElementTree.Element) -> str:
    """Returns the element's name without the schema's address."""
    return element.tag.rpartition("}")[2]


def _text(parent: ElementTree.Element, name: str) -> str:
    """Returns the text of the last element of this name inside another, or "" where there is none."""
    texts = [element.text or "" for element in parent.iter() if _name(element) == name]
    return texts[-1] if texts else ""
