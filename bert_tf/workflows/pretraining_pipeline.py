"""create_pretraining_data as an Apache Beam pipeline: the functions of the local engine, on as many machines as the runner has.

    files > blocks of text > blocks of ids > blocks that know where they stand > text of parts > records of parts > output files

Parts are those of the local engine, `PartPlan`'s: the same stretches of text in the same order, each part with its own generator. So
where there are no next sentences, the records are the local engine's, byte for byte. A random next sentence is drawn from the documents
of its part, which the plan's random order has brought together from all over the corpus, anew in each pass.

Nothing depends on how a runner cuts or orders its bundles: what belongs together is brought together by a key that follows from the text
and the seed, and put in order before it is used. Transforms are few and plain (ParDo, GroupByKey, Flatten; no side input, no state), so
that every runner has them. Imports apache_beam: to be imported only when a pipeline is wanted.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

import apache_beam as beam

from bert_tf.data.block_places import BlockKey, Counts, before_each, counts_of, cut_block, edges_of, sums_before_each
from bert_tf.data.block_tokenizer import BlockTokenizer
from bert_tf.data.files import atomic_write
from bert_tf.data.part_files import join, write_part
from bert_tf.data.part_records import Part, part_contents
from bert_tf.data.part_text import fragments_of, guests_of, part_text
from bert_tf.data.text_files import read_blocks
from bert_tf.pretraining.tally import Tally
from bert_tf.workflows.pretraining_job import Job
from bert_tf.workflows.pretraining_text import block_size, check_text

# The one key of what comes together in one place: notes and names of files, some hundred bytes for each block, part or output file.
_ALL = 0

# What the last step gathers.
_TEXT, _PART, _SHARD = range(3)


def build(pipeline: beam.Pipeline, job: Job, folder: str, summary_path: str) -> None:
    """Adds to an empty pipeline what makes the records, in files of the folder, and a summary of them."""
    files = [(number, path if "://" in path else os.path.abspath(path)) for number, path in enumerate(job.inputs)]
    blocks = (
        pipeline
        | "Files" >> beam.Create(files)
        | "SpreadFiles" >> beam.Reshuffle()
        | "Read" >> beam.ParDo(_Read(block_size(job.config)))
        | "SpreadBlocks" >> beam.Reshuffle()
        | "Tokenize" >> beam.ParDo(_Tokenize(job))
        | "TellDocuments" >> _Inform(edges_of, before_each)
        | "Cut" >> beam.ParDo(_Cut(job.stretch_pieces))
    )
    parts = (
        blocks
        | "TellPlaces" >> _Inform(counts_of, _Places(job))
        | "SendText" >> beam.ParDo(_SendText(job))
        | "GatherText" >> beam.GroupByKey()
        | "MakePart" >> beam.ParDo(_MakePart(job, folder))
    )
    shards = (
        parts
        | "ToOne" >> beam.Map(lambda part: (_ALL, part))
        | "GatherParts" >> beam.GroupByKey()
        | "ShareOut" >> beam.ParDo(_ShareOut(len(job.outputs)))
        | "SpreadShards" >> beam.Reshuffle()
        | "Join" >> beam.ParDo(_Join(folder))
    )
    found = (
        blocks | "NoteText" >> beam.Map(lambda block: (_ALL, (_TEXT, block[0], tuple(counts_of(block[1]))))),
        parts | "NotePart" >> beam.Map(lambda part: (_ALL, (_PART, part[0], asdict(part[1].tally)))),
        shards | "NoteShard" >> beam.Map(lambda shard: (_ALL, (_SHARD, *shard))),
    )
    _ = found | "Together" >> beam.Flatten() | "GatherNotes" >> beam.GroupByKey() | "Summarize" >> beam.ParDo(_Summarize(job, summary_path))


class _Inform(beam.PTransform):
    """(key, block) -> (key, block, what the block must know of all others).

    Notes of all blocks are gathered and gone through in order; what comes out for each is joined to it.
    """

    def __init__(self, note: Callable[[Any], Any], go_through: Callable[[list], Iterable]):
        super().__init__()
        self._note = note
        self._go_through = go_through

    def expand(self, blocks: Any) -> Any:
        note, go_through = self._note, self._go_through
        told = (
            blocks
            | "Note" >> beam.Map(lambda block: (_ALL, (block[0], note(block[1]))))
            | "Gather" >> beam.GroupByKey()
            | "GoThrough" >> beam.FlatMap(lambda notes: go_through(sorted(notes[1])))
        )
        return (
            (blocks, told)
            | "Join" >> beam.CoGroupByKey()
            | "Pair" >> beam.Map(lambda joined: (joined[0], _only(joined[1][0]), _only(joined[1][1])))
        )


def _only(values: Iterable) -> Any:
    (value,) = values
    return value


class _Read(beam.DoFn):
    """(number, path) of a file -> (key, block of text)."""

    def __init__(self, block_bytes: int):
        self._block_bytes = block_bytes

    def process(self, file):
        number, path = file
        for block_number, block in enumerate(read_blocks(path, self._block_bytes)):
            yield (number, block_number), block


class _Tokenize(beam.DoFn):
    """(key, block of text) -> (key, block of ids)."""

    def __init__(self, job: Job):
        self._arguments = job.vocab, job.do_lower_case, job.form

    def setup(self):
        self._tokenizer = BlockTokenizer(*self._arguments)

    def process(self, keyed):
        key, block = keyed
        yield key, self._tokenizer(block)


class _Cut(beam.DoFn):
    """(key, block of ids, what comes before) -> (key, block cut into documents and stretches)."""

    def __init__(self, stretch_pieces: int):
        self._stretch_pieces = stretch_pieces

    def process(self, informed):
        key, block, before = informed
        yield key, cut_block(key, block, before, self._stretch_pieces)


class _Places:
    """Notes of all blocks, in order -> for each (key, (sums before it, plan of the parts, number of documents))."""

    def __init__(self, job: Job):
        self._job = job

    def __call__(self, notes: list[tuple[BlockKey, Counts]]) -> Iterator[tuple[BlockKey, tuple]]:
        total = Counts.total(counts for _, counts in notes)
        check_text(total._asdict(), self._job.inputs, self._job.config.use_nsp)
        plan = self._job.plan(total.stretches, total.tokens)
        for key, before in sums_before_each(notes):
            yield key, (before, plan, total.documents)


class _SendText(beam.DoFn):
    """(key, cut block, its place) -> (part, fragment of text)."""

    def __init__(self, job: Job):
        self._num_ids, self._part_pieces, self._use_nsp = job.num_ids, job.part_pieces, job.config.use_nsp

    def process(self, informed):
        _, block, (before, plan, num_documents) = informed
        yield from fragments_of(block, before, plan, self._num_ids)
        if self._use_nsp:
            yield from guests_of(block, before, plan, num_documents, self._part_pieces, self._num_ids)


class _MakePart(beam.DoFn):
    """(part, its fragments) -> (part, `Part`)."""

    def __init__(self, job: Job, folder: str):
        self._num_ids, self._rules, self._folder = job.num_ids, job.rules, folder
        self._num_outputs, self._compress = len(job.outputs), job.config.compress

    def process(self, gathered):
        number, fragments = gathered
        corpus, stretches = part_text(fragments, self._num_ids)
        contents, tally = part_contents(corpus, stretches, number, self._rules, self._num_outputs, self._compress)
        yield number, Part(write_part(self._folder, number, contents), tuple(map(len, contents)), tally)


class _ShareOut(beam.DoFn):
    """All parts -> for each output file (its number, [(part's file, begin, size), ...])."""

    def __init__(self, num_outputs: int):
        self._num_outputs = num_outputs

    def process(self, gathered):
        sources: list[list[tuple[str, int, int]]] = [[] for _ in range(self._num_outputs)]
        turn = 0
        for _, part in sorted(gathered[1], key=lambda numbered: numbered[0]):
            for output, begin, size in part.shares(turn):
                sources[output].append((part.path, begin, size))
            turn += part.tally.examples
        yield from enumerate(sources)


class _Join(beam.DoFn):
    """(number of an output file, its sources) -> (number, path of the whole file)."""

    def __init__(self, folder: str):
        self._folder = folder

    def process(self, shard):
        number, sources = shard
        yield number, join(sources, self._folder, number)


class _Summarize(beam.DoFn):
    """All notes -> a JSON file: counts of the text, sentences of each input file, tally, paths of the output files."""

    def __init__(self, job: Job, path: str):
        self._num_inputs, self._max_seq_length, self._path = len(job.inputs), job.config.max_seq_length, path

    def process(self, gathered):
        notes = sorted(gathered[1], key=lambda note: note[:2])
        texts, parts, shards = ([rest for kind, *rest in notes if kind == wanted] for wanted in (_TEXT, _PART, _SHARD))
        sentences = [0] * self._num_inputs
        tally = Tally(self._max_seq_length)
        for (file, _), counts in texts:
            sentences[file] += Counts(*counts).sentences
        for _, counts in parts:
            tally.merge(Tally(**counts))
        total = Counts.total(Counts(*counts) for _, counts in texts)
        shard_paths = [path for _, path in shards]
        summary = {"counts": total._asdict(), "sentences": sentences, "tally": asdict(tally), "shards": shard_paths}
        with atomic_write(self._path) as file:
            file.write(json.dumps(summary))
