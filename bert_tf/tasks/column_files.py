"""Lines of a file in columns -> sentences: a token a line, white space between its columns, and a blank line behind each sentence.

The form of the CoNLL shared tasks. A line that begins with -DOCSTART- begins a document. A file without such lines says nothing of
documents: then every sentence stands by itself.
"""

import re
from collections.abc import Iterable, Iterator

from bert_tf.errors import InputError
from bert_tf.tasks.answers import TAG
from bert_tf.tasks.reports import not_one_of
from bert_tf.tasks.spec import TEST, RawRow, TaskSpec, role

DOCUMENT_START = "-DOCSTART-"
# The number of a column counts from 1, or from the end: -1 is the last.
LAST_COLUMN = "-1"

# Not all that str.split takes for white space: a no-break space, say, is part of a token.
_BETWEEN = re.compile("[ \t]+")


def parse_sentences(lines: Iterable[str], spec: TaskSpec, split: str, path: str) -> Iterator[RawRow]:
    """Yields the sentences of one split: their tokens as texts, and as label their tags with spaces between.

    For example, where a token stands in the first column and its tag in the last, the lines "EU NNP I-NP I-ORG", "rejects VBZ I-VP O"
    and a blank one give the texts EU and rejects, and the label "I-ORG O".

    Args:
      lines: The file's lines, without their ends.
      spec: The task.
      split: The split that the file holds.
      path: The file, for error messages.

    Raises:
      InputError: No sentences, a line of another number of columns than the first, a column that is not there, or a tag that the task
        does not have: with file and line.
    """
    columns, needs_label = spec.table.columns, role(split) != TEST
    known = frozenset(spec.labels) if spec.kind == TAG and needs_label else None
    tokens: list[str] = []
    tags: list[str] = []
    document: int | None = None
    count = first = width = 0

    def sentence() -> RawRow:
        return RawRow(str(count), tuple(tokens), " ".join(tags) if needs_label else None, f"{path}, line {first}", document)

    for number, line in enumerate(lines, 1):
        fields = _BETWEEN.split(line.strip(" \t"))
        starts_document = fields[0].startswith(DOCUMENT_START)
        if tokens and (fields == [""] or starts_document):
            yield sentence()
            count += 1
            tokens, tags = [], []
        if starts_document:
            document = 0 if document is None else document + 1
        if fields == [""] or starts_document:
            continue
        where = f"{path}, line {number}"
        width = width or len(fields)
        if len(fields) != width:
            raise InputError(
                f"{where}: has {len(fields)} columns where the lines before have {width}; mend the line (a token may hold no white space)"
            )
        first = number if not tokens else first
        tokens.append(fields[_place(columns.texts[0], width, where, spec)])
        if needs_label:
            tags.append(fields[_place(columns.label, width, where, spec)])
            if known is not None and tags[-1] not in known:
                raise InputError(f"{where}: tag {tags[-1]!r} {not_one_of(spec.labels)}; {spec.table.label_advice}")
    if tokens:  # the last sentence needs no blank line
        yield sentence()
        count += 1
    if not count:
        raise InputError(f"{path}: has no sentences; it should hold the {split} rows of {spec.name}, a token a line")


def _place(column: str, width: int, where: str, spec: TaskSpec) -> int:
    """Returns the index of a column that is given by its number, from 1 or from the end."""
    number = int(column)
    if not 1 <= abs(number) <= width:
        raise InputError(f"{where}: has {width} columns, so there is none of number {number}; {spec.table.advice}")
    return number - 1 if number > 0 else width + number
