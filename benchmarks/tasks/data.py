"""The data sets as the tasks hand them out, made once of what there is: whole files, samples, splits by article. No TensorFlow."""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

# A data set's files, their text by name: of the folder of all data and the most rows of a file, None for all.
Maker = Callable[[Path, int | None], dict[str, str]]

FEW_SENTENCES = 5000
_DEV_ARTICLES = 2
_SWAG_COLUMNS = ("", "video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source", *(f"ending{n}" for n in range(4)), "label")
# The files' columns as GLUE hands them out; a sample has some of them, the others stay empty.
_MNLI = "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse sentence1 sentence2"
_SAMPLES: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "MNLI": ((*_MNLI.split(), "label1", "gold_label"), ("index", "sentence1", "sentence2", "gold_label")),
    "QNLI": (("index", "question", "sentence", "label"), ("index", "question", "sentence", "label")),
    "QQP": (("id", "qid1", "qid2", "question1", "question2", "is_duplicate"), ("id", "question1", "question2", "is_duplicate")),
}


def prepare(name: str, data_dir: str, folder: str, max_rows: int | None = None) -> str:
    """Returns the folder of a data set's official files, which are written there unless they are there; whole or not at all.

    Args:
      name: The data set.
      data_dir: The folder of all data.
      folder: Where data sets in official form go.
      max_rows: The most rows (questions, sentences) of a file. None: all.
    """
    place = Path(folder) / name
    if not place.is_dir():
        beside = place.with_name(f"{name}.partial-{os.getpid()}")
        shutil.rmtree(beside, ignore_errors=True)
        texts = MAKERS[name](Path(data_dir), max_rows)
        beside.mkdir(parents=True)
        for file, text in texts.items():
            (beside / file).write_bytes(text.encode("utf-8"))
        beside.rename(place)
    return str(place)


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig")


def _cut(text: str, count: int | None) -> str:
    """Returns the first lines."""
    return text if count is None else "".join(text.splitlines(keepends=True)[:count])


def _tables(name: str, has_header: bool = True) -> Maker:
    """Makes a task of GLUE from its own files."""

    def make(data: Path, count: int | None) -> dict[str, str]:
        lines = None if count is None else count + has_header
        return {file: _cut(_read(data / "glue" / name / file), lines) for file in ("train.tsv", "dev.tsv")}

    return make


def sample_table(name: str, sample: Mapping[str, Mapping[str, str]]) -> str:
    """Returns a task's sample under the columns of its official file.

    Args:
      name: MNLI, QNLI or QQP.
      sample: By number, a row's text_a, text_b and label.
    """
    header, filled = _SAMPLES[name]
    lines = ["\t".join(header)]
    for number, row in sample.items():
        values = dict(zip(filled, (number, row["text_a"], row["text_b"], row["label"])))
        lines.append("\t".join(" ".join(values.get(column, "").splitlines()).replace("\t", " ") for column in header))
    return "\n".join(lines) + "\n"


def _sampled(name: str, dev: str | None = None) -> Maker:
    """Makes a task of GLUE from samples; its dev set from its own file, where that is there."""

    def make(data: Path, count: int | None) -> dict[str, str]:
        folder = data / "glue" / name
        lines = None if count is None else count + 1
        train, held_out = (sample_table(name, json.loads(_read(folder / f"sample_{split}.json"))) for split in ("train", "dev"))
        if dev is not None:
            held_out = _read(folder / dev)
        return {"train.tsv": _cut(train, lines), ("dev_matched.tsv" if name == "MNLI" else "dev.tsv"): _cut(held_out, lines)}

    return make


def first_questions(content: Mapping[str, Any], count: int | None) -> dict[str, Any]:
    """Returns SQuAD's JSON with its first questions, under their contexts."""
    left = count
    articles = []
    for article in content["data"]:
        paragraphs = []
        for paragraph in article["paragraphs"]:
            questions = paragraph["qas"] if left is None else paragraph["qas"][:left]
            left = None if left is None else left - len(questions)
            if questions:
                paragraphs.append({**paragraph, "qas": questions})
        if paragraphs:
            articles.append({**article, "paragraphs": paragraphs})
    return {**content, "data": articles}


def _squad1(data: Path, count: int | None) -> dict[str, str]:
    names = {"train.json": "squad1_40_articles_train.json", "dev.json": "squad1_8_articles_dev.json"}
    return {file: json.dumps(first_questions(json.loads(_read(data / "squad" / name)), count)) for file, name in names.items()}


def _squad2(data: Path, count: int | None) -> dict[str, str]:
    """The last articles of the file are held out."""
    content = json.loads(_read(data / "squad" / "squad2_10_articles.json"))
    parts = {"train.json": content["data"][:-_DEV_ARTICLES], "dev.json": content["data"][-_DEV_ARTICLES:]}
    return {file: json.dumps(first_questions({**content, "data": articles}, count)) for file, articles in parts.items()}


def first_sentences(text: str, count: int | None) -> str:
    """Returns a file of a token a line up to the end of a sentence; -DOCSTART- lines count as none."""
    if count is None:
        return text
    kept, in_sentence, seen = [], False, 0
    for line in text.splitlines():
        begins = bool(line.strip()) and not line.startswith("-DOCSTART-")
        if begins and not in_sentence:
            if seen == count:
                break
            seen += 1
        in_sentence = begins
        kept.append(line)
    return "\n".join(kept) + "\n"


def _conll(num_train: int | None = None) -> Maker:
    def make(data: Path, count: int | None) -> dict[str, str]:
        counts = {"eng.train": num_train if count is None else count, "eng.testa": count}
        return {file: first_sentences(_read(data / "conll2003" / file), most) for file, most in counts.items()}

    return make


def swag_rows(data: Path) -> list[dict[str, str]]:
    """Returns SWAG's rows under the columns of its official files, those in other form put into it."""
    official = csv.DictReader(io.StringIO(_read(data / "swag" / "swag_val_head11.csv")))
    rows = [{column: row[column] for column in _SWAG_COLUMNS} for row in official]
    for line in _read(data / "swag" / "hf_swag_sample_10.jsonl").splitlines():
        found = json.loads(line)
        more = {"": len(rows), "startphrase": f"{found['sent1']} {found['sent2']}", "gold-source": "gold"} | found
        rows.append({column: str(more.get(column, "")) for column in _SWAG_COLUMNS})
    return rows


def _swag(data: Path, count: int | None) -> dict[str, str]:
    """Trained and evaluated on the same rows."""
    file = io.StringIO()
    writer = csv.DictWriter(file, _SWAG_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(swag_rows(data)[:count])
    return dict.fromkeys(("train.csv", "val.csv"), file.getvalue())


MAKERS: Mapping[str, Maker] = {
    **{name: _tables(name) for name in ("MRPC", "STS-B", "RTE", "SST-2", "WNLI")},
    "CoLA": _tables("CoLA", has_header=False),
    **{"MNLI": _sampled("MNLI"), "QNLI": _sampled("QNLI", dev="dev.tsv"), "QQP": _sampled("QQP")},
    **{"squad1": _squad1, "squad2": _squad2, "conll2003": _conll(), "conll2003-5000": _conll(FEW_SENTENCES), "swag": _swag},
}
