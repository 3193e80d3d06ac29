"""Rows of the real files, of files as users have them, and of data sets written by TensorFlow Datasets itself."""

import shutil
from collections import Counter

import numpy as np
import pytest
import tensorflow_datasets as tfds

from bert_tf.data.rows import MissingSplit, read_rows, read_tfds_rows
from bert_tf.errors import InputError
from bert_tf.tasks.spec import DEV, TEST, TRAIN, Row
from bert_tf.tasks.table import find_task
from tests.conftest import SHARED, needs_shared

GLUE = SHARED / "data" / "glue"
MRPC, COLA, SST2, MNLI = (find_task(name) for name in ("mrpc", "cola", "sst-2", "mnli"))
QNLI, QQP, RTE, STSB, WNLI, XNLI = (find_task(name) for name in ("qnli", "qqp", "rte", "sts-b", "wnli", "xnli"))


@needs_shared
@pytest.mark.parametrize(
    "spec, folder, split, labels",
    [
        (MRPC, "MRPC", TRAIN, {"1": 2474, "0": 1194}),
        (MRPC, "MRPC", DEV, {"1": 279, "0": 129}),
        (MRPC, "MRPC", TEST, {None: 1725}),
        (COLA, "CoLA", TRAIN, {"1": 6023, "0": 2528}),
        (COLA, "CoLA", DEV, {"1": 721, "0": 322}),
        (COLA, "CoLA", TEST, {None: 1063}),
        (SST2, "SST-2", TRAIN, {"1": 37569, "0": 29780}),
        (SST2, "SST-2", DEV, {"1": 444, "0": 428}),
        (SST2, "SST-2", TEST, {None: 1821}),
        (QNLI, "QNLI", DEV, {"entailment": 2702, "not_entailment": 2761}),
        (RTE, "RTE", TRAIN, {"entailment": 1249, "not_entailment": 1241}),
        (RTE, "RTE", DEV, {"entailment": 146, "not_entailment": 131}),
        (RTE, "RTE", TEST, {None: 3000}),
        (WNLI, "WNLI", TRAIN, {"0": 323, "1": 312}),
        (WNLI, "WNLI", DEV, {"0": 40, "1": 31}),
        (WNLI, "WNLI", TEST, {None: 146}),
    ],
    ids=lambda value: getattr(value, "name", value) if not isinstance(value, dict) else "",
)
def test_official_files_give_all_their_rows(spec, folder, split, labels):
    rows = read_rows(spec, split, str(GLUE / folder))
    assert Counter(row.label for row in rows) == labels
    assert [row.id for row in rows] == [str(number) for number in range(len(rows))]
    assert all(text.strip() and "\t" not in text for row in rows for text in row.texts)


@needs_shared
def test_scores_of_sentence_pairs_are_numbers():
    train, dev = (read_rows(STSB, split, str(GLUE / "STS-B")) for split in (TRAIN, DEV))
    assert (len(train), len(dev)) == (5749, 1500)
    assert train[1] == Row("1", ("A man is playing a large flute.", "A man is playing a flute."), 3.8, f"{GLUE}/STS-B/train.tsv, line 3")
    for rows in (train, dev):
        assert all(isinstance(row.label, float) and 0 <= row.label <= 5 and all(row.texts) for row in rows)
    assert np.mean([row.label for row in dev]) == pytest.approx(2.364, abs=5e-4)  # by awk over the file's last column


@needs_shared
@pytest.mark.parametrize("split, name", [(TRAIN, "kshot_all_train.tsv"), (DEV, "kshot_all_dev.tsv")])
def test_question_pairs_in_the_official_columns(split, name, tmp_path):
    shutil.copy(GLUE / "QQP" / name, tmp_path / QQP.table.files[split].names[0])
    rows = read_rows(QQP, split, str(tmp_path))
    assert Counter(row.label for row in rows) == {"0": 80, "1": 80}
    if split == TRAIN:
        assert rows[0].id == "360105"
        assert rows[0].texts == ("Can I develope mobile apps with c++?", "How can I develop mobile apps with C++?")


@needs_shared
def test_official_rows_read_as_they_stand():
    rows = read_rows(MRPC, DEV, str(GLUE / "MRPC"))
    # a quotation mark that nothing closes
    assert rows[0].texts[1] == '"The foodservice pie business does not fit our long-term growth strategy.'
    # the last line of CoLA's dev set has no end; Microsoft's test file begins with a byte order mark and has CRLF
    assert read_rows(COLA, DEV, str(GLUE / "CoLA"))[-1].texts == ("John talked to Bill about himself.",)
    last = read_rows(MRPC, TEST, str(GLUE / "MRPC"))[-1]
    assert last.texts[1].endswith('familiar headings like "Thank You!" and "Re: Details".')


@needs_shared
def test_mnli_files_in_the_official_columns(tmp_path):
    shutil.copy(GLUE / "MNLI" / "kshot_all_train.tsv", tmp_path / "train.tsv")
    shutil.copy(GLUE / "MNLI" / "kshot_all_dev_matched.tsv", tmp_path / "dev_matched.tsv")
    train, dev = (read_rows(MNLI, split, str(tmp_path)) for split in (TRAIN, DEV))
    assert Counter(row.label for row in train) == Counter(row.label for row in dev) == dict.fromkeys(MNLI.labels, 80)
    assert train[0].id == "10627"
    assert train[0].texts == (
        "Price caps may sound more attractive with every passing rate case.",
        "Rate cases make price caps sound more attractive.",
    )


def write(folder, name, content):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(folder)


@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "BOM"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("last", [True, False], ids=["closed", "open"])
def test_byte_order_mark_and_line_ends_do_not_matter(tmp_path, start, end, last):
    lines = ["sentence\tlabel", "caf\u00e9 \u2028 \u0085 ok\t1", "bad\t0"]
    folder = write(tmp_path, "train.tsv", start + end.join(lines) + (end if last else ""))
    rows = read_rows(SST2, TRAIN, folder)
    assert [(row.texts, row.label) for row in rows] == [(("caf\u00e9 \u2028 \u0085 ok",), "1"), (("bad",), "0")]


def test_a_test_file_of_mrpc_is_preferred_to_microsofts(tmp_path):
    columns = "#1 ID\t#2 ID\t#1 String\t#2 String"
    write(tmp_path, "msr_paraphrase_test.txt", f"Quality\t{columns}\r\n1\t5\t6\told\told\r\n")
    assert read_rows(MRPC, TEST, str(tmp_path))[0].texts == ("old", "old")
    write(tmp_path, "test.tsv", f"index\t{columns}\n9\t5\t6\tnew\tnew\n")
    assert read_rows(MRPC, TEST, str(tmp_path)) == [Row("9", ("new", "new"), None, f"{tmp_path}/test.tsv, line 2")]


def test_text_that_is_not_utf8_is_refused_with_file_and_line(tmp_path):
    folder = write(tmp_path, "train.tsv", b"sentence\tlabel\ngood\t1\ncaf\xe9\t1\n")
    with pytest.raises(InputError, match=r"train.tsv, line 3: not UTF-8"):
        read_rows(SST2, TRAIN, folder)


def test_xnli_reads_the_files_of_its_language(tmp_path):
    (tmp_path / "multinli").mkdir()
    write(tmp_path / "multinli", "multinli.train.de.tsv", "premise\thypo\tlabel\nja\tnein\tcontradictory\n")
    write(tmp_path, "xnli.dev.tsv", "language\tgold_label\tsentence1\tsentence2\nen\tneutral\ta\tb\nde\tentailment\tja\tdoch\n")
    german = XNLI.in_language("de")
    assert [(row.texts, row.label) for row in read_rows(german, TRAIN, str(tmp_path))] == [(("ja", "nein"), "contradiction")]
    assert [(row.texts, row.label) for row in read_rows(german, DEV, str(tmp_path))] == [(("ja", "doch"), "entailment")]
    with pytest.raises(MissingSplit, match=r"there is no multinli/multinli\.train\.zh\.tsv or multinli\.train\.zh\.tsv"):
        read_rows(XNLI.in_language("zh"), TRAIN, str(tmp_path))


def test_the_diagnostic_set_lies_beside_the_task_or_with_it(tmp_path):
    folder = tmp_path / "MNLI"
    folder.mkdir()
    with pytest.raises(MissingSplit, match=r"there is no diagnostic\.tsv or "):
        read_rows(MNLI, "test_ax", str(folder))
    (tmp_path / "diagnostic").mkdir()
    write(tmp_path / "diagnostic", "diagnostic.tsv", "index\tsentence1\tsentence2\n0\ta\tb\n")
    assert [row.texts for row in read_rows(MNLI, "test_ax", str(folder))] == [("a", "b")]


def test_a_missing_file_is_refused_with_the_names_it_may_have(tmp_path):
    with pytest.raises(InputError, match=r"there is no test.tsv or msr_paraphrase_test.txt; give --data_dir"):
        read_rows(MRPC, TEST, str(tmp_path))


def test_a_test_split_of_minus_ones(tmp_path):
    # read as the test split, it has no labels; the same file as dev split, or one such row in train, is refused
    folder = write(tmp_path, "test.tsv", "index\tsentence\tlabel\n0\tgood\t-1\n1\tbad\t-1\n")
    assert [row.label for row in read_rows(SST2, TEST, folder)] == [None, None]
    shutil.copy(tmp_path / "test.tsv", tmp_path / "dev.tsv")
    with pytest.raises(InputError, match=r"dev.tsv, line 2: label '-1' means unlabelled"):
        read_rows(SST2, DEV, folder)
    write(tmp_path, "train.tsv", "sentence\tlabel\ngood\t1\nbad\t-1\n")
    with pytest.raises(InputError, match=r"train.tsv, line 3: label '-1' means unlabelled"):
        read_rows(SST2, TRAIN, folder)


def write_tfds(folder, config, names, splits, texts=("sentence1", "sentence2"), version="2.0.0"):
    """Writes a data set with TFDS' own writer: `splits` holds (idx, texts, label) by split, `names` the labels or their dtype."""
    named = isinstance(names, list)
    label = tfds.features.ClassLabel(names=names) if named else tfds.features.Scalar(names or np.int64)
    features = tfds.features.FeaturesDict({**{text: tfds.features.Text() for text in texts}, "label": label, "idx": np.int32})
    records = {
        split: [(str(idx), {**dict(zip(texts, values)), "label": label, "idx": idx}) for idx, values, label in rows]
        for split, rows in splits.items()
    }
    tfds.dataset_builders.store_as_tfds_dataset(
        name="glue", config=config, version=version, data_dir=folder, features=features, split_datasets=records
    )
    return str(folder)


@pytest.mark.parametrize("version", ["2.0.0", "1.0.1"])
def test_tfds_rows_are_in_the_order_of_their_ids(tmp_path, version):
    rows = [(idx, (f"caf\u00e9 {idx}", f'"b {idx}'), idx % 2) for idx in range(50)]
    splits = {"train": rows, "validation": rows[:2], "test": [(idx, texts, -1) for idx, texts, _ in rows[:3]]}
    folder = write_tfds(tmp_path, "mrpc", ["not_equivalent", "equivalent"], splits, version=version)
    where = f"glue/mrpc/{version}"
    assert read_tfds_rows(MRPC, TRAIN, "glue/mrpc", folder) == [
        Row(str(idx), texts, str(label), f"{where}, train, row {idx}") for idx, texts, label in rows
    ]
    assert [row.label for row in read_tfds_rows(MRPC, DEV, f"glue/mrpc:{version}", folder)] == ["0", "1"]
    assert [row.label for row in read_tfds_rows(MRPC, TEST, "glue/mrpc", folder)] == [None, None, None]


def test_tfds_labels_go_by_name_not_by_number(tmp_path):
    texts = [("a", "b")] * 3
    rows = [(idx, texts[idx], idx) for idx in range(3)]
    splits = {"train": rows, "validation_matched": rows, "validation_mismatched": rows[:1], "test_matched": rows}
    folder = write_tfds(tmp_path, "mnli", ["entailment", "neutral", "contradiction"], splits, ("premise", "hypothesis"))
    for split in (TRAIN, DEV):
        labels = [row.label for row in read_tfds_rows(MNLI, split, "glue/mnli", folder)]
        assert labels == ["entailment", "neutral", "contradiction"]
        assert [MNLI.label_feature(label) for label in labels] == [1, 2, 0]


@pytest.mark.parametrize(
    "spec, config, names, labels",
    [
        (WNLI, "wnli", ["not_entailment", "entailment"], ["0", "1"]),
        (RTE, "rte", ["entailment", "not_entailment"], ["entailment", "not_entailment"]),
        (QQP, "qqp", ["not_duplicate", "duplicate"], ["0", "1"]),
        (QNLI, "qnli", ["entailment", "not_entailment"], ["entailment", "not_entailment"]),
    ],
)
def test_tfds_label_names_of_pairs(tmp_path, spec, config, names, labels):
    rows = [(idx, ("a", "b"), idx) for idx in range(2)]
    folder = write_tfds(tmp_path, config, names, {"train": rows, "test": [(0, ("a", "b"), -1)]}, spec.tfds.columns.texts)
    assert [row.label for row in read_tfds_rows(spec, TRAIN, f"glue/{config}", folder)] == labels
    assert [row.label for row in read_tfds_rows(spec, TEST, f"glue/{config}", folder)] == [None]


def test_tfds_scores_are_numbers(tmp_path):
    rows = [(idx, ("a", "b"), np.float32(score)) for idx, score in enumerate((3.8, 0, 5))]
    folder = write_tfds(tmp_path, "stsb", np.float32, {"train": rows})
    assert [row.label for row in read_tfds_rows(STSB, TRAIN, "glue/stsb", folder)] == [3.8, 0.0, 5.0]


def test_further_sets_of_tfds(tmp_path):
    names, texts = ["entailment", "neutral", "contradiction"], ("premise", "hypothesis")
    splits = {
        "validation_matched": [(0, ("a", "b"), 0)],
        "validation_mismatched": [(0, ("c", "d"), 1)],
        "test_matched": [(0, ("e", "f"), -1)],
    }
    write_tfds(tmp_path, "mnli", names, splits, texts)
    write_tfds(tmp_path, "ax", names, {"test": [(0, ("g", "h"), -1)]}, texts)
    found = {split: read_tfds_rows(MNLI, split, "glue/mnli", str(tmp_path)) for split in (DEV, "dev_mismatched", "test_ax")}
    assert [(row.texts, row.label) for (row,) in found.values()] == [
        (("a", "b"), "entailment"),
        (("c", "d"), "neutral"),
        (("g", "h"), None),
    ]
    with pytest.raises(MissingSplit, match=r"has no split test_mismatched \(validation_matched, .* are there\)"):
        read_tfds_rows(MNLI, "test_mismatched", "glue/mnli", str(tmp_path))


@pytest.mark.parametrize("spec, config, names", [(COLA, "cola", ["unacceptable", "acceptable"]), (SST2, "sst2", ["negative", "positive"])])
def test_tfds_single_sentences(tmp_path, spec, config, names):
    folder = write_tfds(tmp_path, config, names, {"train": [(0, ("good",), 1), (1, ("bad",), 0)]}, ("sentence",))
    assert [(row.texts, row.label) for row in read_tfds_rows(spec, TRAIN, f"glue/{config}", folder)] == [(("good",), "1"), (("bad",), "0")]


def test_an_unlabelled_tfds_row_is_refused(tmp_path):
    folder = write_tfds(tmp_path, "sst2", ["negative", "positive"], {"train": [(0, ("good",), 1), (1, ("bad",), -1)]}, ("sentence",))
    with pytest.raises(InputError, match=r"^glue/sst2/2.0.0, train, row 1: label '-1' means unlabelled"):
        read_tfds_rows(SST2, TRAIN, "glue/sst2", folder)


def test_a_tfds_label_without_a_name_must_be_the_tasks_own(tmp_path):
    folder = write_tfds(tmp_path, "mnli", None, {"train": [(0, ("a", "b"), 0)]}, ("premise", "hypothesis"))
    with pytest.raises(InputError, match=r"row 0: label '0' is not one of contradiction, entailment, neutral"):
        read_tfds_rows(MNLI, TRAIN, "glue/mnli", folder)


def test_a_data_set_of_another_task_or_without_the_split_is_refused(tmp_path):
    folder = write_tfds(tmp_path, "sst2", ["negative", "positive"], {"train": [(0, ("good",), 1)]}, ("sentence",))
    with pytest.raises(
        InputError, match=r"^--tfds_name=glue/sst2: has no feature sentence1 \(idx, label, sentence are there\); give a data"
    ):
        read_tfds_rows(MRPC, TRAIN, "glue/sst2", folder)
    with pytest.raises(InputError, match=r"^--tfds_name=glue/sst2: has no split validation \(train are there\)"):
        read_tfds_rows(SST2, DEV, "glue/sst2", folder)


@pytest.mark.parametrize("name", ["no_such_set", "glue/no_such_config", "glue/"])
def test_an_unknown_tfds_name_is_refused_in_one_line(tmp_path, name):
    with pytest.raises(InputError) as caught:
        read_tfds_rows(MRPC, TRAIN, name, str(tmp_path))
    message = str(caught.value)
    assert message.startswith(f"--tfds_name={name}: ") and "\n" not in message and len(message) <= 500


def test_without_a_network_a_data_set_that_is_not_there_is_refused_at_once(tmp_path, monkeypatch):
    def no_network(*address):
        raise OSError("no name service")

    monkeypatch.setattr("socket.getaddrinfo", no_network)
    monkeypatch.setattr("urllib.request.getproxies", dict)
    with pytest.raises(InputError, match=r"^--tfds_name=glue/mrpc: is not in .* \(its servers cannot be reached\); run `tfds build"):
        read_tfds_rows(MRPC, TRAIN, "glue/mrpc", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    # a further set that is a data set of its own is only left out
    with pytest.raises(MissingSplit, match=r"^--tfds_name=glue/ax: is not in "):
        read_tfds_rows(MNLI, "test_ax", "glue/mnli", str(tmp_path / "new"))


class Toy(tfds.core.GeneratorBasedBuilder):
    """A data set that TFDS can make without a network; `broken` stands for a server that fails."""

    VERSION = tfds.core.Version("1.0.0")
    broken = False

    def _info(self):
        features = {"sentence": tfds.features.Text(), "label": tfds.features.ClassLabel(names=["negative", "positive"])}
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager):
        if self.broken:
            raise ConnectionError("HTTP 503\nservice unavailable")
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        yield 0, {"sentence": "good", "label": "positive"}


def test_a_data_set_that_is_not_prepared_is_prepared(tmp_path, monkeypatch):
    monkeypatch.setattr(Toy, "broken", True)
    with pytest.raises(InputError, match=r"^--tfds_name=toy: is not in .* cannot be downloaded \(HTTP 503 service unavailable\); run"):
        read_tfds_rows(SST2, TRAIN, "toy", str(tmp_path))
    monkeypatch.setattr(Toy, "broken", False)
    assert read_tfds_rows(SST2, TRAIN, "toy", str(tmp_path)) == [Row("0", ("good",), "1", "toy/1.0.0, train, row 0")]


def write_tfds_sentences(folder, splits):
    """Writes a data set in the form of TFDS' conll2003: `splits` holds (tokens, tags) by split."""
    names = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC"]
    tags = {"pos": tfds.features.ClassLabel(names=["NNP", "NN"]), "ner": tfds.features.ClassLabel(names=names)}
    columns = {"tokens": tfds.features.Text()} | tags
    features = tfds.features.FeaturesDict({name: tfds.features.Sequence(feature) for name, feature in columns.items()})
    records = {
        split: [(str(n), {"tokens": tokens, "pos": [0] * len(tokens), "ner": ids}) for n, (tokens, ids) in enumerate(rows)]
        for split, rows in splits.items()
    }
    tfds.dataset_builders.store_as_tfds_dataset(
        name="conll2003", config="conll2003", version="1.0.0", data_dir=folder, features=features, split_datasets=records
    )
    return str(folder)


@pytest.mark.parametrize("name", ["conll2003", "conll2003/conll2003", "conll2003:1.0.0"])
def test_sentences_of_tfds(tmp_path, name):
    conll = find_task("conll2003")
    rows = [(["Caf\u00e9", "EU", "rejects"], [5, 3, 0]), (["Peter"], [1])]
    folder = write_tfds_sentences(tmp_path, {"train": rows, "dev": rows[:1], "test": rows[1:]})
    found = {(row.texts, row.label) for row in read_tfds_rows(conll, TRAIN, name, folder)}
    assert found == {(("Caf\u00e9", "EU", "rejects"), ("B-LOC", "B-ORG", "O")), (("Peter",), ("B-PER",))}
    (dev,) = read_tfds_rows(conll, DEV, name, folder)
    assert dev.document is None and dev.where == "conll2003/conll2003/1.0.0, dev, row 0"
    for split, label in (("dev_test", ("B-PER",)), (TEST, None)):
        assert [(row.texts, row.label) for row in read_tfds_rows(conll, split, name, folder)] == [(("Peter",), label)]
