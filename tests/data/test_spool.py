"""A spool holds what was put in, however it was cut into blocks."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from bert_tf.data.spool import Spool, SpoolWriter, TokenizedBlock
from bert_tf.pretraining.documents import Corpus

SMALL, LARGE = 30_522, 119_547


def blocks_of(documents, rng: Random | None):
    """Yields the documents as blocks that end wherever the generator says; None: in one block."""
    ids, lengths, places, ends = [], [], [], 0
    for document in documents:
        for sentence in document:
            if sentence:
                ids += sentence
                lengths.append(len(sentence))
                places.append(ends)
            if rng and rng.random() < 0.3:
                yield TokenizedBlock(np.array(ids, np.int32), np.array(lengths, np.int64), np.array(places, np.int64), ends, (1, 2))
                ids, lengths, places, ends = [], [], [], 0
        ends += 1
    yield TokenizedBlock(np.array(ids, np.int32), np.array(lengths, np.int64), np.array(places, np.int64), ends, (0, 0))


def random_documents(rng: Random, size: int):
    return [[[rng.randrange(size) for _ in range(rng.randrange(9))] for _ in range(rng.randrange(9))] for _ in range(60)]


def content(corpus: Corpus):
    return [list(numbers) for numbers in (corpus.ids, corpus.sentence_starts, corpus.document_starts)]


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_documents_come_back_whatever_the_blocks(tmp_path, size, seed):
    documents = random_documents(Random(5), size)
    writer = SpoolWriter(str(tmp_path), "text", size)
    for block in blocks_of(documents, Random(seed) if seed else None):
        writer.add(block, "file")
    writer.finish(10**9)
    spool, expected = Spool(str(tmp_path), size), Corpus.of_documents(documents)
    assert content(spool) == content(expected)
    assert [spool.stretch(number) for number in range(spool.num_stretches)] == list(map(spool.sentences_of, range(spool.num_documents)))
    assert type(spool.ids[0]) is int and spool.ids.itemsize == (2 if size == SMALL else 4)
    counts = {"documents": spool.num_documents, "sentences": spool.num_sentences, "tokens": len(spool.ids)}
    assert {name: writer.counts[name] for name in counts} == counts
    assert writer.counts["cjk"] == 2 * writer.counts["unknown"] == 2 * (writer.num_blocks - 1)


@pytest.mark.parametrize("stretch_pieces", [1, 7, 20, 100])
def test_long_documents_are_cut_into_stretches_of_sentences(tmp_path, stretch_pieces):
    documents = random_documents(Random(6), SMALL)
    writer = SpoolWriter(str(tmp_path), "text", SMALL)
    for block in blocks_of(documents, None):
        writer.add(block, "file")
    writer.finish(stretch_pieces)
    spool = Spool(str(tmp_path), SMALL)
    stretches = [spool.stretch(number) for number in range(spool.num_stretches)]
    assert len(stretches) == writer.num_stretches
    assert all(a.stop == b.start for a, b in pairwise(stretches)) and stretches[-1].stop == spool.num_sentences
    starts = {stretch.start for stretch in stretches}
    assert starts >= {spool.sentences_of(document).start for document in range(spool.num_documents)}
    for stretch in stretches:
        assert len(stretch) > 0
        assert spool.document_of(stretch.start) == spool.document_of(stretch.stop - 1)
        all_but_first = spool.sentence_starts[stretch.stop] - spool.sentence_starts[stretch.start + 1]
        assert all_but_first < stretch_pieces + 9  # a stretch ends with the sentence that reaches the length
    assert len(stretches) > spool.num_documents or stretch_pieces == 100


def test_a_killed_writer_goes_on_after_its_last_block(tmp_path):
    documents = random_documents(Random(7), SMALL)
    blocks = list(blocks_of(documents, Random(3)))
    for kill_at in (0, 1, 5, len(blocks)):
        folder = tmp_path / str(kill_at)
        writer = SpoolWriter(str(folder), "text", SMALL)
        for block in blocks[:kill_at]:
            writer.add(block, "first")
        with open(folder / "ids.bin", "ab") as file:
            file.write(b"torn")
        writer = SpoolWriter(str(folder), "text", SMALL)
        assert (writer.num_blocks, writer.is_whole) == (kill_at, False)
        for block in blocks[kill_at:]:
            writer.add(block, "second")
        writer.finish(10**9)
        assert content(Spool(str(folder), SMALL)) == content(Corpus.of_documents(documents))
        again = SpoolWriter(str(folder), "text", SMALL)
        assert again.is_whole and again.counts == writer.counts
        assert sum(again.sentences_of_file.values()) == again.counts["sentences"]
