"""Wikitext -> paragraphs: what goes, what stays, and that neither leaves a trace."""

import sys

import pytest

from bert_tf.errors import InputError
from bert_tf.text.wikitext import UNSAYABLE, paragraphs, wikitext_parser

MEDIA = frozenset({"file", "image", "category", "datei"})


@pytest.fixture(scope="module")
def read():
    pytest.importorskip("mwparserfromhell", reason="needs the extra bert_tf[wikipedia]")
    parse, _ = wikitext_parser()
    return lambda wikitext: paragraphs(wikitext, parse, MEDIA)


@pytest.mark.parametrize(
    "wikitext, expected",
    [
        ("'''Bold''' and ''italic'' [[link|words]], [[plain link]]s.", ["Bold and italic words, plain links."]),
        ("One\nparagraph.\n\nAnother one.", ["One paragraph.", "Another one."]),
        ("== Header ==\nText.\n=== Lower ===\nMore text.", ["Text.", "More text."]),
        ("Before:\n* a list\n** of lists\n# numbered\n; term: what it is\n:: indented\nAfter it.", ["Before:", "After it."]),
        ("A claim.<ref>Source.</ref> Another<ref name=x /> claim.", ["A claim. Another claim."]),
        ("{{Infobox|a=b|c={{nested}}}}\nText.", ["Text."]),
        ('{| class="wikitable"\n! head\n|-\n| cell. || cell.\n|}\nText.', ["Text."]),
        ("[[File:A.jpg|thumb|A [[caption]]. With a stop.]]Text.[[Category:Texts]]", ["Text."]),
        ("[[Datei:A.jpg|mini|Ein Bild.]]Text.", ["Text."]),
        ("[[:Category:Texts|Texts]] are [[wikt:text|texts]].\n\n[[de:Text]]\n[[zh-min-nan:Text]]", ["Texts are texts."]),
        ("See [http://a.b/c the page] of http://a.b/d it.[http://a.b/e]", ["See the page of it."]),
        ("<!-- no -->Yes.<gallery>\nFile:A.jpg|No.\n</gallery><timeline>\nNo.\n</timeline>", ["Yes."]),
        ("A<br>break, H<sub>2</sub>O, <code>a = b</code> and 5&nbsp;km&ndash;or so.", ["A break, H2O, a = b and 5 km–or so."]),
        ("Twice escaped: OS&amp;nbsp;X.", ["Twice escaped: OS X."]),
        ("__NOTOC__\n----\nText [1] with ''leftovers'' }}.", ["Text with leftovers."]),
        ("<blockquote>Quoted words.</blockquote>Told.", ["Quoted words.", "Told."]),
        ("用-{zh-hans:软件; zh-hant:軟體}-和-{文字}-。-{H|zh-cn:a;zh-tw:b}-（{{IPA|x}}，）完。", ["用软件和文字。完。"]),
        ("A claim.<ref>A source, never ended. More.\n\nOther text.", [f"A claim.{UNSAYABLE}A source, never ended. More.", "Other text."]),
        ("As <math>x is large. Where <ref name=a /> it<ref name=b/> ends.", [f"As {UNSAYABLE}x is large. Where it ends."]),
        ("Text. <!-- a comment, never ended.\nIts rest.\n\nOther text.", ["Text.", "Other text."]),
        ("<p>One.<p>Two.</div>Three.", ["One. Two. Three."]),
        ("<includeonly>For other pages.</includeonly><noinclude>For this one.</noinclude>", ["For this one."]),
        ("[[Bild:x.jpg|thumb|200px|Eine Beschriftung.]]Text.[[Картинка:Y.SVG|мини|Надпис.]]", ["Text."]),
        ("See [[Star Trek: Picard]] and [[User:X.pdf reader|X]].", ["See Star Trek: Picard and X."]),
        ("A &#xD800;half, &#x110000;&#0;none, &#128; 5 and &foo;.", ["A half, none, € 5 and &foo;."]),
        ("=A header without an end\nText.", ["Text."]),
        ("<nowiki>[[No link]] {{no template}}</nowiki> here.", ["No link here."]),
        ("* item\n{|\n| cell. {|\n| inner.\n|}\n|}\nText.\n<gallery>\nFile:A.jpg|No.", ["Text."]),
        ("Connecticut<br>\n\nA label", []),
        ("[[File:broken.jpg|thumb|A caption that never ends. Text.", []),
    ],
)
def test_running_text_is_what_stays(read, wikitext, expected):
    assert read(wikitext) == expected


@pytest.mark.parametrize(
    "wikitext, expected",
    [
        ("From Greek {{lang|grc|ἀρχή}}, i.e. ({{lang-de|Anfang}}).", "From Greek ἀρχή, i.e. (Anfang)."),
        ("It is {{convert|1300|mi|km}} long, {{convert|3|to|5|ft|m|abbr=on}} high.", "It is 1300 mi long, 3 to 5 ft high."),
        ("'''Ada''' ({{IPAc-en|e|ɪ}}; born {{circa|1815}}) wrote.", "Ada (born c. 1815) wrote."),
        ("'''Ada''' ({{IPAc-en|e|ɪ}}) wrote ( {{audio|x.ogg}} , ) this.", "Ada wrote this."),
        ("The {{nihongo|sword|刀|katana}} was {{nowrap|very old}} {{as of|2010|lc=y}}.", "The sword was very old as of 2010."),
        ("It said{{sfn|A|2000|p=1}} so.{{citation needed|date=May 2000}} And{{snd}}more{{'}}s.", "It said so. And – more's."),
        ("The word (or /ɛf/) in {{small|{{lang-ar|كلمة}}}} stays.", "The word (or /ɛf/) in كلمة stays."),
    ],
)
def test_templates_that_stand_for_words_say_them_and_others_leave_no_trace(read, wikitext, expected):
    assert read(wikitext) == [expected]


@pytest.mark.parametrize("hole", ["<math>x^2</math>", "{{math|''x''}}", "{{an unknown one|x}}"])
def test_what_cannot_be_said_is_marked(read, hole):
    assert read(f"The value of {hole} is large. It grows.") == [f"The value of {UNSAYABLE} is large. It grows."]


def test_the_marks_come_from_no_text(read):
    assert read(f"A{UNSAYABLE}b\ue001c.") == ["Abc."]


@pytest.mark.parametrize("wikitext", ["", "{{", "[[", "{|", "'''''", "<ref>", "{{{{a|b}}", "[[File:a|[[b]]", "{{a|{{b|{{c", "<div>" * 200])
def test_broken_wikitext_gives_nothing_and_does_no_harm(read, wikitext):
    assert read(wikitext) == []


def test_without_the_library_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mwparserfromhell", None)
    with pytest.raises(InputError, match=r"reading wikitext needs .* mwparserfromhell; install it, pip install 'bert_tf\[wikipedia\]'"):
        wikitext_parser()
