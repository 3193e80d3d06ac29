"""Parts put together from fragments hold what the spool of the same blocks holds."""

from random import Random

import pytest

from bert_tf.data.block_places import Counts, before_each, counts_of, cut_block, edges_of, sums_before_each
from bert_tf.data.part_text import NUM_GUESTS, fragments_of, guests_of, part_text
from bert_tf.data.spool import Spool, SpoolWriter
from bert_tf.pretraining.parts import PartPlan
from tests.data.test_spool import LARGE, SMALL, blocks_of, random_documents


def placed(blocks, stretch_pieces):
    """Returns the blocks cut, the sums before each, and the sums of all."""
    keyed = [((0, number), block) for number, block in enumerate(blocks)]
    before = dict(before_each((key, edges_of(block)) for key, block in keyed))
    cut = [cut_block(key, block, before[key], stretch_pieces) for key, block in keyed]
    notes = [(block.key, counts_of(block)) for block in cut]
    return cut, dict(sums_before_each(notes)), Counts.total(counts for _, counts in notes)


def spool_of(folder, blocks, size, stretch_pieces) -> tuple[Spool, SpoolWriter]:
    writer = SpoolWriter(str(folder), "text", size)
    for block in blocks:
        writer.add(block, "file")
    writer.finish(stretch_pieces)
    return Spool(str(folder), size), writer


def pieces(corpus, stretch: range) -> list[list[int]]:
    starts = corpus.sentence_starts
    return [list(corpus.ids[starts[sentence] : starts[sentence + 1]]) for sentence in stretch]


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("stretch_pieces", [1, 7, 20, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_parts_are_those_of_the_spool(tmp_path, size, stretch_pieces, seed):
    rng = Random(seed)
    blocks = list(blocks_of(random_documents(rng, size), Random(seed)))
    spool, writer = spool_of(tmp_path, blocks, size, stretch_pieces)
    cut, sums, total = placed(blocks, stretch_pieces)
    assert total == Counts(stretches=writer.num_stretches, **writer.counts)

    plan = PartPlan(total.stretches, 3, rng.choice([1, 2, 5, 9]), seed=7)
    sent = {part: [] for part in range(plan.num_parts)}
    for block in cut:
        for part, fragment in fragments_of(block, sums[block.key], plan, size):
            sent[part].append(fragment)
    for part, fragments in sent.items():
        rng.shuffle(fragments)
        corpus, stretches = part_text(fragments, size)
        expected = [spool.stretch(number) for number in plan.stretches_of(part)]
        assert [pieces(corpus, stretch) for stretch in stretches] == [pieces(spool, stretch) for stretch in expected]
        documents = {(corpus.document_of(own.start), spool.document_of(other.start)) for own, other in zip(stretches, expected)}
        assert len(documents) == corpus.num_documents == len({other for _, other in documents})
        assert type(corpus.ids[0]) is type(corpus.sentence_starts[0]) is int


def test_a_part_of_few_documents_has_guests(tmp_path):
    rng = Random(3)
    long = [[rng.randrange(SMALL) for _ in range(5)] for _ in range(3000)]
    documents = [long, *(document for document in random_documents(rng, SMALL) if any(document))]
    blocks = list(blocks_of(documents, Random(1)))
    spool, _ = spool_of(tmp_path, blocks, SMALL, 100)
    cut, sums, total = placed(blocks, 100)
    plan = PartPlan(total.stretches, 1, 40, seed=7)
    sent = {part: [] for part in range(plan.num_parts)}
    guests = {part: [] for part in range(plan.num_parts)}
    for block in cut:
        for part, fragment in fragments_of(block, sums[block.key], plan, SMALL):
            sent[part].append(fragment)
        for part, fragment in guests_of(block, sums[block.key], plan, total.documents, 512 * 8, SMALL):
            guests[part].append(fragment)
    beginnings = [pieces(spool, spool.sentences_of(document)) for document in range(spool.num_documents)]
    for part in range(plan.num_parts):
        alone, stretches = part_text(sent[part], SMALL)
        corpus, same_stretches = part_text(sent[part] + guests[part], SMALL)
        assert [pieces(corpus, stretch) for stretch in same_stretches] == [pieces(alone, stretch) for stretch in stretches]
        if alone.num_documents >= NUM_GUESTS:
            assert corpus.num_documents == alone.num_documents
            continue
        own = {corpus.document_of(stretch.start) for stretch in same_stretches}
        others = [corpus.sentences_of(document) for document in range(corpus.num_documents) if document not in own]
        assert len(own) == alone.num_documents and NUM_GUESTS - len(own) <= len(others) <= NUM_GUESTS
        for other in others:
            found = pieces(corpus, other)
            assert sum(map(len, found)) <= 8 or len(found) == 1
            assert any(found == beginning[: len(found)] for beginning in beginnings)
    assert min(part_text(fragments, SMALL)[0].num_documents for fragments in sent.values()) < NUM_GUESTS
