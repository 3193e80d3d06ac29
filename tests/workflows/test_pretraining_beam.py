"""The Beam engine: the same bytes over runs and runners, and examples like the local engine's."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from bert_tf.data.manifest import read_manifest
from bert_tf.data.records import RecordFile
from bert_tf.errors import InputError
from bert_tf.workflows import create_pretraining_data
from tests.workflows.corpus import MASK, SPECIALS, config_of, write_corpus
from tests.workflows.test_create_pretraining_data import P_VALUE, parse, restored_ids, split_pair
from tests.workflows.test_create_pretraining_data_scale import contents, left

pytest.importorskip("apache_beam", reason="needs the extra bert_tf[beam]")

NUM_DOCUMENTS, NUM_SENTENCES = 150, 60
# The default direct runner would first try to fetch another one.
ONE_PROCESS = "--runner=FnApiRunner"
TWO_PROCESSES = "--runner=FnApiRunner --direct_running_mode=multi_processing --direct_num_workers=2"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Three files, of several blocks; with one MiB in hand, examples come in parts of less than half of the documents."""
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, NUM_DOCUMENTS, NUM_SENTENCES)
    documents = (folder / "text.txt").read_text().split("\n\n")
    for number, first in enumerate((0, 20, 90)):
        text = "\n\n".join(documents[first : (20, 90, NUM_DOCUMENTS)[number]])
        (folder / f"text{number}.txt").write_text(text + "\n")
    return folder


@pytest.fixture
def config(corpus, tmp_path):
    """A function from changes to a config whose outputs are of this test."""

    def make(name, num_outputs=3, **changes):
        outputs = ",".join(str(tmp_path / f"{name}{number}") for number in range(num_outputs))
        values = dict(input_file=f"{corpus}/text?.txt", output_file=outputs, dupe_factor=4, memory_per_process_mb=1)
        return config_of(corpus, **(values | changes))

    return make


def made(config):
    """Runs a config and returns its files' bytes and what the manifest says of them."""
    content = create_pretraining_data.run(config)
    outputs = config.output_file.split(",")
    assert [read_manifest(path).num_examples for path in outputs] == [len(RecordFile(path)) for path in outputs]
    assert all(read_manifest(path).content["observed"] == content["observed"] for path in outputs)
    return contents(config.output_file), content["kind"], content["counts"], content["observed"]


def beam(config, name, beam_args=ONE_PROCESS, **changes):
    return made(config(name, engine="beam", beam_args=beam_args, **changes))


def test_the_same_bytes_over_runs_but_not_over_seeds(config, tmp_path):
    first = beam(config, "first")
    assert beam(config, "second") == first
    assert beam(config, "other", random_seed=2)[0] != first[0]
    assert left(tmp_path) == [] and not list(tmp_path.glob("*.beam-*"))


@pytest.mark.slow
def test_the_same_bytes_by_two_processes(config):
    assert beam(config, "two", TWO_PROCESSES) == beam(config, "one")


@pytest.mark.slow
def test_a_mistake_that_another_process_finds_is_one_line(config, tmp_path):
    (tmp_path / "text.txt").write_bytes(b"a b.\n\nc \xff d.\n")
    with pytest.raises(InputError, match=r"^\S+text\.txt, line 3: not UTF-8 \(byte 0xff at column 3\); convert the file to UTF-8$"):
        beam(config, "out", TWO_PROCESSES, input_file=str(tmp_path / "text.txt"))
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.slow
def test_the_same_bytes_on_a_dask_cluster(config):
    distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")
    runner = "--runner=apache_beam.runners.dask.dask_runner.DaskRunner --dask_npartitions=3"
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        found = beam(config, "dask", f"{runner} --dask_client_address={cluster.scheduler_address}")
    assert found == beam(config, "one")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"compress": True},
        {"masking": "dynamic", "dupe_factor": 3},
        {"do_whole_word_mask": True},
        {"do_whole_word_mask": True, "max_ngram": 3},
        {"objective": "next_token", "dupe_factor": 3},
    ],
)
def test_without_next_sentences_the_bytes_are_the_local_engines(config, changes):
    local = made(config("local", num_processes=1, use_nsp=False, **changes))
    assert beam(config, "beam", use_nsp=False, **changes) == local


@pytest.mark.parametrize(
    ("masking", "size"),
    [("static", 0), pytest.param("dynamic", (1 << 15) + 1, id="dynamic, marked ids beyond 16 bits")],
)
def test_given_words_without_next_sentences_too(config, corpus, tmp_path, masking, size):
    words = [f"w{number}" for number in range(20)]
    vocabulary = [*SPECIALS, *words, *(f"##{word}" for word in words)]
    filling = [f"[unused{number}]" for number in range(1, size - len(vocabulary) + 1)]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary + filling))
    rng = np.random.default_rng(0)
    lines = ["".join(rng.choice(["", " "]) + word for word in rng.choice(words, 8)) for _ in range(6000)]
    (tmp_path / "text.txt").write_text("\n".join(line if number % 40 else "" for number, line in enumerate(lines)))
    changes = dict(use_nsp=False, do_whole_word_mask=True, word_segments=True, masking=masking, dupe_factor=4, masked_lm_prob=0.3)
    changes |= dict(input_file=str(tmp_path / "text.txt"), vocab_file=str(tmp_path / "vocab.txt"))
    local = made(config("local", num_processes=1, **changes))
    assert beam(config, "beam", **changes) == local


def test_a_corpus_of_one_part_gives_the_local_engines_bytes_with_next_sentences_too(config):
    changes = dict(dupe_factor=1, memory_per_process_mb=16)
    assert beam(config, "beam", **changes) == made(config("local", num_processes=1, **changes))


def test_long_documents_without_next_sentences_too(config, corpus, tmp_path):
    (tmp_path / "long.txt").write_text((corpus / "text1.txt").read_text().replace("\n\n", "\n") * 5)
    changes = dict(use_nsp=False, input_file=f"{tmp_path}/long.txt,{corpus}/text0.txt")
    local = made(config("local", num_processes=1, **changes))
    assert local[2]["documents"] == 21
    assert beam(config, "beam", **changes) == local


def outcomes(examples):
    """Returns how many masked positions hold [MASK], their own piece, another one."""
    rows, slots = np.nonzero(examples["masked_lm_weights"])
    stands = examples["input_ids"][rows, examples["masked_lm_positions"][rows, slots]]
    labels = examples["masked_lm_ids"][rows, slots]
    return [(stands == MASK).sum(), (stands == labels).sum(), ((stands != MASK) & (stands != labels)).sum()]


def pairs(examples):
    """Yields the sentences of A and of B, as numbers, and the label of each example."""
    ids = restored_ids(examples)
    for row in range(len(ids)):
        sides = split_pair(ids[row], examples["input_mask"][row], examples["segment_ids"][row])
        a, b = ([(id - len(SPECIALS)) // 4 for id in side] for side in sides)
        yield a, b, int(examples["next_sentence_labels"][row, 0])


def test_shares_and_sentences_are_the_local_engines(config):
    sets = []
    for engine in (dict(num_processes=1), dict(engine="beam", beam_args=ONE_PROCESS)):
        settings = config(engine.get("engine", "local"), num_outputs=1, dupe_factor=8, **engine)
        create_pretraining_data.run(settings)
        sets.append(parse(settings.output_file, 19, 5))
    found = [list(pairs(examples)) for examples in sets]

    assert chi2_contingency([outcomes(examples) for examples in sets]).pvalue > P_VALUE
    masked = [examples["masked_lm_weights"].sum() for examples in sets]
    pieces = [examples["input_mask"].sum() for examples in sets]
    assert chi2_contingency([masked, np.subtract(pieces, masked)]).pvalue > P_VALUE
    labels = [np.bincount([label for *_, label in examples]) for examples in found]
    assert chi2_contingency(labels).pvalue > P_VALUE
    assert chisquare(labels[1]).pvalue > P_VALUE
    lengths = np.array([np.bincount(examples["input_mask"].sum(1), minlength=20)[5:] for examples in sets])
    assert chi2_contingency(lengths[:, lengths.sum(0) > 10]).pvalue > P_VALUE
    everything = set(range(NUM_DOCUMENTS * NUM_SENTENCES))
    assert [{sentence for a, b, _ in examples for sentence in a + b} for examples in found] == [everything] * 2


def test_random_text_is_of_other_documents_all_over_the_corpus(config):
    settings = config("out", num_outputs=1, dupe_factor=8, engine="beam", beam_args=ONE_PROCESS)
    create_pretraining_data.run(settings)
    distances = []
    for a, b, label in pairs(parse(settings.output_file, 19, 5)):
        distance = b[0] // NUM_SENTENCES - a[0] // NUM_SENTENCES
        if label:
            distances.append(distance % NUM_DOCUMENTS)
        else:
            assert distance == 0 and a[-1] <= b[0]
    counts = np.bincount(distances, minlength=NUM_DOCUMENTS)
    assert counts[0] == 0
    assert chisquare(counts[1:]).pvalue > P_VALUE


def test_a_part_within_one_long_document_has_random_text_of_others(config, corpus, tmp_path):
    (tmp_path / "long.txt").write_text((corpus / "text1.txt").read_text().replace("\n\n", "\n") * 5)
    (tmp_path / "short.txt").write_text("\n\n".join((corpus / "text0.txt").read_text().split("\n\n")[:3]))
    changes = dict(input_file=f"{tmp_path}/long.txt,{tmp_path}/short.txt", num_outputs=1, dupe_factor=1)
    settings = config("out", engine="beam", beam_args=ONE_PROCESS, **changes)
    assert create_pretraining_data.run(settings)["counts"]["documents"] == 4
    short = set(range(3 * NUM_SENTENCES))
    found = list(pairs(parse(settings.output_file, 19, 5)))
    random = [(a, b) for a, b, label in found if label]
    assert 0.45 < len(random) / len(found) < 0.55
    assert all(short.isdisjoint(a) != short.isdisjoint(b) or short >= {*a, *b} for a, b in random)
    assert len({b[0] // NUM_SENTENCES for a, b in random if short.isdisjoint(a)}) == 3


@pytest.mark.parametrize(
    ("beam_args", "words"),
    [
        (None, "beam_args is None and names no runner"),
        ("--direct_num_workers=2", "names no runner; give one"),
        ("--runner='FnApiRunner", "No closing quotation"),
        ("--runner=NoSuchRunner", "names the runner NoSuchRunner"),
        ("--runner=FnApiRunner --direct_num_workers=two", r"--direct_num_workers: invalid int value: 'two'$"),
    ],
)
def test_wrong_options_are_one_line(config, tmp_path, beam_args, words):
    with pytest.raises(InputError, match=words) as error:
        beam(config, "out", beam_args)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "changes", "words"),
    [
        (b"a b.\n\nc \xff d.\n", {}, r"text\.txt, line 3: not UTF-8 \(byte 0xff at column 3\); convert the file to UTF-8$"),
        (b"\n\n", {}, r"text\.txt: no sentence found; .* a blank line between documents$"),
        (b"a b.\nc d.\n", {}, r"text\.txt: one document only.*--use_nsp=false$"),
        (b"a b.\n\nc d.\n", {"num_outputs": 30}, r"names 30 files for \d+ examples; name fewer$"),
    ],
)
def test_a_mistake_in_the_text_is_one_line_and_leaves_nothing(config, tmp_path, caplog, text, changes, words):
    (tmp_path / "text.txt").write_bytes(text)
    with pytest.raises(InputError, match=words) as error:
        beam(config, "out", input_file=str(tmp_path / "text.txt"), **changes)
    assert "\n" not in str(error.value) and "while running" not in str(error.value)
    assert "Traceback" not in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
