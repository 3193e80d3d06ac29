"""Lines of a file -> rows: tab-separated values, CSV, or a JSON object a line; in `column_files.py` a token a line.

In tab-separated values quotes are characters like any other, as google-research/bert reads these files (`csv.QUOTE_NONE`): a sentence
may begin with a quotation mark that another column, or nothing, closes.
"""

import csv
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from absl import logging

from bert_tf.errors import InputError
from bert_tf.tasks.column_files import parse_sentences
from bert_tf.tasks.spec import COLUMNS, CSV, JSONL, QUOTED_TSV, TEST, TSV, RawRow, Row, TableFile, TaskSpec, role
from bert_tf.text.json_lines import object_of_line, shown, whole_text

_MOST_NAMED_COLUMNS = 20
# Python's csv takes fields of 131,072 characters, which a document outgrows, and says then that the file is no CSV.
_LONGEST_FIELD = 2**31 - 1

# A line's number, from 1, and its fields: in the header's order, or by name.
Fields = Sequence[str]
Numbered = Iterator[tuple[int, Fields]]


def parse_rows(lines: Iterable[str], spec: TaskSpec, split: str, path: str) -> Iterator[Row]:
    r"""Yields the rows of one split.

    Columns are found by the names in the header line, so their order and further columns do not matter. For example, for a task whose
    text column is "sentence", the lines `"label\tsentence"` and `"1\tIt works."` give `Row("0", ("It works.",), "1", "dev.tsv, line 2")`.

    Args:
      lines: The file's lines, without their ends.
      spec: The task.
      split: The split that the file holds.
      path: The file, for error messages.

    Raises:
      InputError: No rows, a missing column, a row of another number of columns than the header's, a blank line between rows, or a
        label that the task does not have: with file and line.
    """
    for raw in parse_raw_rows(lines, spec, split, path):
        yield spec.make_row(split, *raw)


def parse_raw_rows(lines: Iterable[str], spec: TaskSpec, split: str, path: str) -> Iterator[RawRow]:
    """Yields the rows of one split, whatever their labels are: arguments and errors as of `parse_rows`."""
    file = spec.table.files[split]
    if file.format == COLUMNS:
        yield from parse_sentences(lines, spec, split, path)
        return
    rows = _objects(lines, spec, split, path) if file.format == JSONL else _records(lines, file, spec, split, path)
    count = 0
    for number, values in rows:
        where = f"{path}, line {number}"
        columns = spec.table.columns
        label = None if role(split) == TEST else values[columns.label].strip()
        id = str(count) if columns.id is None else values.get(columns.id, str(count))
        if "\t" in id or "\n" in id:
            raise InputError(f"{where}: id {id!r} holds a tab or a line break, which predictions.tsv cannot; give another id column")
        yield RawRow(
            id,
            tuple(values[column] for column in (*columns.texts, *columns.choices)),
            label if label is None else columns.label_names.get(label, label),
            where,
        )
        count += 1
    if not count:
        raise InputError(f"{path}: has no rows{_wanted(file)}; it should hold the {split} rows of {spec.name}")


def _wanted(file: TableFile) -> str:
    return "".join(f" whose {column} is {value}" for column, value in file.only.items())


def _records(lines: Iterable[str], file: TableFile, spec: TaskSpec, split: str, path: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yields line number and the columns that the task needs, by the names that it has for them, of a file with a row a line."""
    if file.format == TSV:
        numbered: Numbered = ((number, line.split("\t")) for number, line in _without_blanks(lines, path, skip=file.has_broken_rows))
    else:
        numbered = _quoted(lines, {QUOTED_TSV: "\t", CSV: ","}[file.format], path)
    first = next(numbered, None)
    if file.has_header and first is None:
        raise InputError(f"{path}: is empty; it should hold the {split} rows of {spec.name}")
    if first is None:
        return
    header = file.columns or (first[1] if file.has_header else [str(place) for place in range(1, len(first[1]) + 1)])
    places = _places(header, spec, split, path)
    num_broken = 0
    for count, (number, fields) in enumerate(numbered if file.has_header else itertools.chain([first], numbered)):
        if len(fields) != len(header):
            if not file.has_broken_rows:
                raise InputError(f"{path}, line {number}: {_other_columns(fields, header, file, spec, first=count == 0)}")
            num_broken += 1
            continue
        values = {name: fields[place] for name, place in places.items()}
        if all(values[column] == value for column, value in file.only.items()):
            yield number, values
    if num_broken:
        logging.warning("%s: %d lines with too many or too few columns are left out, as is usual for this file", path, num_broken)


def _other_columns(fields: Fields, header: Fields, file: TableFile, spec: TaskSpec, first: bool) -> str:
    """Returns what is wrong with a row of another number of columns, and what to do."""
    kind = "comma" if file.format == CSV else "tab"
    mend = f"is it a file of {spec.name}? {spec.table.advice[0].upper()}{spec.table.advice[1:]}"
    if spec.table.may_be_quoted and file.format == TSV and any(field.startswith('"') for field in fields):
        mend = "if its texts are quoted as in CSV, --file_format=quoted_tsv reads them; else mend the row"
    elif not first:
        mend = "mend the row" + (" (a text may hold neither tab nor line break)" if file.format == TSV else "")
    return f"has {len(fields)} {kind}-separated columns where there should be {len(header)}; {mend}"


def _places(header: Fields, spec: TaskSpec, split: str, path: str) -> dict[str, int]:
    """Returns where in the header each column stands that is needed, or wished for.

    A column is named, or given by its number from 1 where no column has that number for a name.
    """
    needed, id = spec.needed_columns(split), spec.table.columns.id
    places = {}
    for name in [*needed, *([] if id is None else [id])]:
        if name in header:
            places[name] = list(header).index(name)
        elif name.isdecimal() and 1 <= int(name) <= len(header):
            places[name] = int(name) - 1
        elif name in needed:
            raise _no_column(name, header, spec, split, path)
    return places


def _no_column(name: str, found: Sequence[str], spec: TaskSpec, split: str, path: str) -> InputError:
    names = ", ".join(found[:_MOST_NAMED_COLUMNS])
    return InputError(
        f"{path}: has no column {name!r}, which {split} rows of {spec.name} need (its header line names {names[:200]!r}); "
        f"{spec.table.advice}"
    )


def _quoted(lines: Iterable[str], delimiter: str, path: str) -> Numbered:
    """Yields the rows of a file whose fields may be quoted, and hold delimiters and line breaks then (RFC 4180); blank lines are none."""
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    while True:
        first = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"{path}, line {first}: cannot be read as CSV ({error}); a text that holds quotes, delimiters or line breaks stands in "
                "quotes, its own quotes doubled"
            ) from error
        if fields:
            yield first, fields


def _without_blanks(lines: Iterable[str], path: str, skip: bool) -> Iterator[tuple[int, str]]:
    """Yields (number from 1, line), without the blank lines at the end, which an editor leaves; or with `skip`, without any."""
    blank = 0
    for number, line in enumerate(lines, 1):
        if not line:
            blank = blank or number
            continue
        if blank and not skip:
            raise InputError(f"{path}, line {blank}: is blank, and rows follow; remove it")
        yield number, line


def _objects(lines: Iterable[str], spec: TaskSpec, split: str, path: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yields line number and the columns that the task needs, of a file with a JSON object a line."""
    columns, needed = spec.table.columns, spec.needed_columns(split)
    for number, line in _without_blanks(lines, path, skip=False):
        where = f"{path}, line {number}"
        record = object_of_line(line, "give one object a line", where)
        values = {}
        for name in [*needed, *([] if columns.id is None else [columns.id])]:
            if name in record:
                values[name] = _as_text(record[name], name, spec.label_separator if name == columns.label else None, where)
            elif name in needed:
                raise InputError(
                    f"{where}: has no {name!r}, which {split} rows of {spec.name} need ({', '.join(map(str, record))} are there); "
                    f"{spec.table.advice}"
                )
        yield number, values


def _as_text(value: object, name: str, separator: str | None, where: str) -> str:
    """Returns a JSON value as a column would hold it: of a list, as of several labels, the parts with separators between."""
    if isinstance(value, str):
        return whole_text(value, name, where)
    if isinstance(value, list) and separator is not None and all(isinstance(part, str) for part in value):
        inside = next((part for part in value if separator in part), None)
        if inside is not None:
            raise InputError(f"{where}: {name} holds {inside!r}, which holds the separator {separator!r}; give another --label_separator")
        return whole_text(separator.join(value), name, where)
    if value is None:
        return ""
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    raise InputError(f"{where}: {name} is {shown(value)}; give a text or a number")
