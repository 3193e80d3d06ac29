"""Wikitext of an article -> its paragraphs of running text, by the parser mwparserfromhell.

What is no running text goes: lists, tables, headers, references, templates, files, categories. Of the templates that stand for a few words
within a sentence the common ones give those words (`{{lang|grc|ἀναρχία}}`), so that no hole is left.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bert_tf.errors import InputError

# Stands for what cannot be said in words, a formula for one: sentences with it are left out. Private use, so in no text.
UNSAYABLE = "\ue000"
_LIST_ITEM = "\ue001"
_PLAIN_MARKS = str.maketrans("", "", UNSAYABLE + _LIST_ITEM)

# Tags around text that belongs to the sentence. Those of no list here go with all that is in them.
_TRANSPARENT = {
    *("abbr", "b", "bdi", "big", "blockquote", "center", "cite", "code", "dfn", "div", "em", "font", "i", "ins", "kbd"),
    *("mark", "noinclude", "nowiki", "onlyinclude", "p", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var"),
}
_FORMULAS = frozenset(("ce", "chem", "hiero", "math", "score"))
_LINE_BREAKS = frozenset(("br", "hr"))
_BLOCKS = frozenset(("blockquote", "center", "div", "p"))
_LIST_TAGS = frozenset(("li", "dd", "dt"))

# Templates, by their names in the English Wikipedia, that stand for words: which argument is the text; those that stand for a formula;
# and those that can go from the middle of a sentence without a hole.
_FIRST_ARGUMENT = {
    *("abbr", "angbr", "angle bracket", "as written", "big", "bracket", "em", "ill", "interlanguage link", "linktext", "nihongo", "nobr"),
    *("nobreak", "nowrap", "sc", "sic", "small", "smallcaps", "smaller", "strong", "sub", "sup", "vanchor", "visible anchor"),
}
_LAST_ARGUMENT = frozenset(("color", "colour", "lang", "rtl-lang", "script", "tooltip", "transl", "transliteration"))
_FORMULA_TEMPLATES = frozenset(
    ("bigmath", "chem", "chem2", "e", "frac", "fraction", "math", "music", "mvar", "nuclide", "sfrac", "sqrt", "su", "tmath", "val")
)
_SILENT = re.compile(
    r"(#tag:ref|anchor|audio|better source|by whom|citation|cite|clarify|cn|disputed|dubious|efn|fact|failed verification|inline|listen"
    r"|note|page needed|pronunciation|r from|ref|refn|respell|rp|update|verify|when|where|which|who|why|zh)\b.*|(flag|ipa|sfn).*"
)
_WORDS = {
    **dict.fromkeys(("nbsp", "space", "spaces", "thinsp"), " "),
    **dict.fromkeys(("ndash", "spaced ndash", "snd", "snds", "\u2013", "spnd"), " \u2013 "),
    **dict.fromkeys(("mdash", "spaced mdash", "mdashb", "\u2014", "em dash"), "\u2014"),
    **dict.fromkeys(("circa", "c.", "ca."), "c. "),
    **{"'": "'", "' \"": "'\"", "\" '": "\"'", "'s": "'s"},
}

_Parse = Callable[[str], Any]


def wikitext_parser() -> tuple[_Parse, type[Exception]]:
    """Returns the parser, and the error that it raises where it gives up.

    Raises:
      InputError: It is not installed.
    """
    try:
        import mwparserfromhell
    except ImportError:
        raise InputError("reading wikitext needs the library mwparserfromhell; install it, pip install 'bert_tf[wikipedia]'") from None
    return mwparserfromhell.parse, mwparserfromhell.parser.ParserError


def paragraphs(wikitext: str, parse: _Parse, media_prefixes: frozenset[str]) -> list[str]:
    """Returns the running text, a paragraph each, in which UNSAYABLE stands where a formula stood.

    Args:
      wikitext: An article as its authors wrote it.
      parse: What `wikitext_parser` returned.
      media_prefixes: Lower-case names of the namespaces whose links show no text: files and categories.
    """
    wikitext = wikitext.translate(_PLAIN_MARKS).replace("\r\n", "\n")
    text = "".join(_Walk(media_prefixes).words(parse(wikitext).nodes))
    found, lines = [], []
    for line in [*text.split("\n"), ""]:
        line = line.strip()
        is_media = line.lstrip("[").partition(":")[0].lower() in media_prefixes  # a link that was never closed
        if line and _LIST_ITEM not in line and line[0] not in "*#:;|!{}=" and not is_media:
            lines.append(line)
        elif lines:
            found.append(" ".join(lines))
            lines = []
    return [cleaned for paragraph in found if (cleaned := _clean(paragraph))]


class _Walk:
    """Goes through the parser's nodes."""

    def __init__(self, media_prefixes: frozenset[str]):
        self._media_prefixes = media_prefixes

    def words(self, nodes: Sequence[Any]) -> Iterator[str]:
        """Yields the text of nodes, piece by piece."""
        for number, node in enumerate(nodes):
            kind = type(node).__name__
            if kind == "Text":
                yield node.value
            elif kind == "Wikilink":
                yield from self._link(node)
            elif kind == "ExternalLink":
                if node.brackets and node.title is not None:
                    yield from self.words(node.title.nodes)
            elif kind == "Tag":
                yield from self._tag(node)
            elif kind == "Template":
                around = [str(nodes[place]) if 0 <= place < len(nodes) else "" for place in (number - 1, number + 1)]
                yield from self._template(node, is_within=_is_within(*around))
            elif kind == "HTMLEntity":
                yield html.unescape(str(node))  # as browsers do: the parser's own way lets half a surrogate pair through
            elif kind == "Heading":
                yield "\n\n"

    def _link(self, node: Any) -> Iterator[str]:
        title = str(node.title).strip()
        prefix, colon, _ = title.partition(":")
        prefix = prefix.strip().lower()
        if colon and (prefix in self._media_prefixes or _MEDIA_NAME.search(title)):
            return
        if node.text is not None:
            yield from self.words(node.text.nodes)
        elif not (colon and re.fullmatch(r"[a-z]{2,3}(-[a-z-]+)?|simple", prefix)):  # else a link to another language's article
            yield title.removeprefix(":")

    def _tag(self, node: Any) -> Iterator[str]:
        name = str(node.tag).strip().lower()
        if name in _LIST_TAGS:
            yield _LIST_ITEM
        elif name in _LINE_BREAKS:
            yield "\n"
        elif name in _FORMULAS:
            yield UNSAYABLE
        elif name in _TRANSPARENT and node.contents is not None:
            around = "\n\n" if name in _BLOCKS else ""
            yield around
            yield from self.words(node.contents.nodes)
            yield around

    def _template(self, node: Any, is_within: bool) -> Iterator[str]:
        name = str(node.name).strip().lower().replace("_", " ")
        arguments = [parameter.value for parameter in node.params if not parameter.showkey]
        if name in _WORDS:
            yield _WORDS[name]
            if name[0] == "c" and arguments:
                yield from self.words(arguments[0].nodes)
        elif name in ("convert", "cvt") and len(arguments) >= 2:
            yield from _measure([str(argument).strip() for argument in arguments])
        elif name == "as of" and arguments:
            yield f"{'as' if is_within or node.has('lc') else 'As'} of {str(arguments[0]).strip()}"
        elif arguments and (name in _FIRST_ARGUMENT or name.startswith("lang-")):
            yield from self.words(arguments[0].nodes)
        elif arguments and name in _LAST_ARGUMENT:
            yield from self.words(arguments[-1].nodes)
        elif name in _FORMULA_TEMPLATES or (is_within and not _SILENT.fullmatch(name)):
            yield UNSAYABLE  # who knows what it says


def _is_within(before: str, after: str) -> bool:
    """Returns whether what stands between two texts is part of a sentence, as a word is, rather than a note to it."""
    return re.search(r"[^\W_],? $", before) is not None and re.match(r"[,;.]| ?[^\W\d_A-Z]", after) is not None


# Names that end the numbers of {{convert|3|to|5|km}}.
_BETWEEN = {"-": "\u2013", "\u2013": "\u2013", "to": " to ", "and": " and ", "or": " or ", "by": " by ", "x": " x ", "\u00d7": " \u00d7 "}


def _measure(arguments: list[str]) -> Iterator[str]:
    """Yields the measure that {{convert|3|to|5|km|mi}} shows first: "3 to 5 km"."""
    yield arguments[0]
    rest = arguments[1:]
    while len(rest) >= 3 and rest[0] in _BETWEEN:
        yield _BETWEEN[rest[0]] + rest[1]
        rest = rest[2:]
    yield f" {rest[0]}"


# A file in a namespace by another of its names (Bild, Imagen, Fichier): a dump tells one name of each namespace only.
_MEDIA_NAME = re.compile(r"^[^\W\d_]+:.*\.(djvu|gif|jpe?g|mid|mp3|og[agv]|pdf|png|svg|tiff?|wav|web[mp])$", re.IGNORECASE)

# What was begun and never ended hides, until the end of nobody knows what, words that are no text: the sentence is lost.
_NEVER_ENDED = re.compile(rf"<(?:ref|{'|'.join(sorted(_FORMULAS))})\b[^<>]*(?<!/)>", re.IGNORECASE)
_COMMENT_NEVER_ENDED = re.compile(r"<!--.*")
_BLOCK_TAG = re.compile(rf"</?(?:{'|'.join(sorted(_BLOCKS | _LINE_BREAKS))})\b[^<>]*>", re.IGNORECASE)

# In this order; between the first and the others, entities that were escaped twice become characters.
_LEFTOVERS = re.compile(
    r"\{\{[^{}]*\}\}|\{\{|\}\}|\[\[|\]\]|'{2,}|__[^\W\d_a-z]+__|</?[A-Za-z]+\b[^<>]*>|\b(?:https?|ftp)://\S+|\[\d{1,3}\]"
)
# Chinese and others: words that differ from variant to variant, as -{zh-hans:软件; zh-hant:軟體}-, or that are only defined, as -{H|...}-.
_VARIANTS = re.compile(r"-\{(.*?)\}-", re.DOTALL)
_VARIANT_NAME = re.compile(r"\s*[a-z]{2,3}(-[a-z]+)?\s*:")
_MENDS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"[\s\u00a0\u2009\u202f]+", " "),
        (r"([(\[\uff08])(?:[ ,;:\u2013\u2014\u3001\uff0c\uff1b\uff1a]|-(?= ))+", r"\1"),  # "(; born 1950)"
        (r"[ ,;:\u3001\uff0c\uff1b\uff1a]+([)\]\uff09])", r"\1"),
        (r" ?(\(\)|\[\]|\uff08\uff09)", ""),
        (r"([,;])(?: ?[,;])+", r"\1"),  # "Greek , ; that is"
        (r" ([,;:.!?])(?= |$)", r"\1"),
        (r"[,;](?= [\u2013\u2014] )", ""),  # "(Rosenbaum; – 1982)"
        (r"^[ ,;:.!?)\]]+(?=\w| )", ""),
    )
]

# Ends of sentences in most scripts; and how long a line without any must be to be more than a label (Thai has none).
_ENDS = re.compile(r"[.!?:\u2026\u3002\uff01\uff1f\uff1a\u061f\u06d4\u0964\u1362]")
_LONGEST_LABEL = 80


def _clean(text: str) -> str:
    """Returns a paragraph without leftovers of markup and without the traces of what was taken out; of a mere label nothing."""
    text = _BLOCK_TAG.sub(" ", _NEVER_ENDED.sub(UNSAYABLE, _COMMENT_NEVER_ENDED.sub("", text)))
    text = html.unescape(_LEFTOVERS.sub("", _VARIANTS.sub(_first_variant, text))).replace("\ufffd", "")
    for pattern, replacement in _MENDS:
        text = pattern.sub(replacement, text)
    text = text.strip()
    return text if _ENDS.search(text) or len(text) > _LONGEST_LABEL else ""


def _first_variant(match: re.Match[str]) -> str:
    flags, bar, variants = match[1].partition("|")
    if not bar:
        return _VARIANT_NAME.sub("", flags.split(";")[0])
    return "" if "H" in flags else _VARIANT_NAME.sub("", variants.split(";")[0])
