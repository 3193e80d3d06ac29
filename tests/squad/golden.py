"""The original's features and answers for three inputs, and a small vocabulary of our own."""

import functools
import gzip
import json
from types import SimpleNamespace

import numpy as np

from bert_tf.squad.questions import GivenAnswer, Question, parse_squad
from bert_tf.squad.windows import Windower
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.conftest import SHARED

INPUTS = ("v1_en", "v1_zh_cased", "v2_en")
WORDS = [
    *("when", "1995", "saw", "rain", "paris", "is", "big", ".", "rome", "old", "steve", "smith", "'", "s", "(", ")", "18", "##95"),
    *("cafe", "noir", "가나", "the", "a", "b", "c", "d", "e", "f", "g", "h", "-", ","),
]
# With accents stripped, Hangul is decomposed, which the vocabulary does not hold: 가나 is [UNK].
TOY = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])


@functools.cache
def golden(name: str) -> SimpleNamespace:
    """Returns an input's settings, questions, windower, and logits by unique id."""
    folder = SHARED / "golden" / "squad" / name
    settings = json.loads((folder / "settings.json").read_text())
    vocab = Vocabulary.from_text((SHARED / "data" / "vocab" / settings["vocab"]).read_text(encoding="utf-8"))
    tokenizer = WordPieceTokenizer(vocab, settings["do_lower_case"])
    with np.load(folder / "logits.npz") as stored:
        logits = {int(id): pair for id, *pair in zip(stored["unique_ids"], stored["start_logits"], stored["end_logits"])}
    return SimpleNamespace(
        folder=folder,
        version_2=settings["version_2_with_negative"],
        tokenizer=tokenizer,
        windower=Windower(tokenizer, settings["max_seq_length"], settings["doc_stride"], settings["max_query_length"]),
        questions=parse_squad(json.loads((folder / "input.json").read_text(encoding="utf-8")), "input.json"),
        logits=logits,
    )


def golden_features(name: str, form: str) -> list[dict]:
    with gzip.open(golden(name).folder / f"features_{form}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def toy_tokenizer(do_lower_case: bool = True) -> WordPieceTokenizer:
    return WordPieceTokenizer(TOY, do_lower_case)


def question(context: str, text: str = "when", answer: str | None = None, start: int | None = None, id: str = "q", **changes) -> Question:
    """Returns a question, its answer where the context first has it unless `start` says otherwise."""
    answers = None if answer is None else (GivenAnswer(answer, context.index(answer) if start is None else start),)
    values = dict(id=id, text=text, context=context, answers=answers, is_impossible=False, where=f"file.json: {id}")
    return Question(**values | changes)
