"""Lines of a tab-separated file -> rows.

Quotes are characters like any other, as google-research/bert reads these files (`csv.QUOTE_NONE`): a sentence may begin with a
quotation mark that another column, or nothing, closes.
"""

from collections.abc import Iterable, Iterator, Sequence

from bert_tf.errors import InputError
from bert_tf.tasks.spec import TEST, Row, TaskSpec

_MOST_NAMED_COLUMNS = 20


def parse_tsv(lines: Iterable[str], spec: TaskSpec, split: str, path: str) -> Iterator[Row]:
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
    numbered = _without_blank_end(lines, path)
    header: Sequence[str] = spec.tsv.files[split].columns
    if not header:
        _, first = next(numbered, (0, ""))
        header = first.split("\t")
        if header == [""]:
            raise InputError(f"{path}: is empty; it should hold the {split} rows of {spec.name}")
    columns = spec.tsv.columns
    text_places = [_place(header, name, spec, split, path) for name in columns.texts]
    label_place = None if split == TEST else _place(header, columns.label, spec, split, path)
    id_place = header.index(columns.id) if columns.id in header else None
    count = 0
    for number, line in numbered:
        where = f"{path}, line {number}"
        fields = line.split("\t")
        if len(fields) != len(header):
            mend = (
                "mend the row (a text may hold neither tab nor line break)"
                if count
                else f"is it a file of {spec.name}? Check --task_name and --data_dir"
            )
            raise InputError(f"{where}: has {len(fields)} tab-separated columns where there should be {len(header)}; {mend}")
        label = None if label_place is None else fields[label_place].strip()
        yield spec.make_row(
            split,
            str(count) if id_place is None else fields[id_place],
            [fields[place] for place in text_places],
            label if label is None else columns.label_names.get(label, label),
            where,
        )
        count += 1
    if not count:
        raise InputError(f"{path}: has no rows; it should hold the {split} rows of {spec.name}")


def _without_blank_end(lines: Iterable[str], path: str) -> Iterator[tuple[int, str]]:
    """Yields (number from 1, line), without the blank lines at the end."""
    blank = 0
    for number, line in enumerate(lines, 1):
        if not line:
            blank = blank or number
            continue
        if blank:
            raise InputError(f"{path}, line {blank}: is blank, and rows follow; remove it")
        yield number, line


def _place(header: Sequence[str], name: str, spec: TaskSpec, split: str, path: str) -> int:
    """Returns where the column stands in the header."""
    if name in header:
        return header.index(name)
    found = ", ".join(header[:_MOST_NAMED_COLUMNS])
    raise InputError(
        f"{path}: has no column {name!r}, which {split} rows of {spec.name} need (its header line names {found[:200]!r}); "
        "check --task_name and --data_dir"
    )
