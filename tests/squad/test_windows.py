"""Windows and features against the original's, and what the goldens do not show."""

import json
import random

import pytest

from bert_tf.data.schema import SQUAD, SQUAD_TRAINING
from bert_tf.errors import InputError
from bert_tf.squad.questions import GivenAnswer, parse_squad
from bert_tf.squad.windows import FIRST_UNIQUE_ID, AnswerCounts, Spans, Windower
from tests.conftest import SHARED, needs_shared
from tests.squad.golden import INPUTS, TOY, golden, golden_features, question, toy_tokenizer


def windower(max_seq_length=12, doc_stride=4, max_query_length=4):
    return Windower(toy_tokenizer(), max_seq_length, doc_stride, max_query_length)


def words_by_position(window):
    held = [position for position in range(len(window)) if window.piece_at(position) is not None]
    return {str(position): int(window.context.piece_words[window.piece_at(position)]) for position in held}


def most_context_by_position(window):
    held = [position for position in range(len(window)) if window.piece_at(position) is not None]
    return {str(position): window.has_most_context(window.piece_at(position)) for position in held}


def assert_is(windower, window, right):
    features = windower.features(window)
    for name in ("input_ids", "input_mask", "segment_ids"):
        assert features[name] == right[name]
    assert (features["unique_ids"], window.number) == (right["unique_id"], right["doc_span_index"])
    assert words_by_position(window) == right["token_to_orig_map"]
    assert most_context_by_position(window) == right["token_is_max_context"]


@needs_shared
@pytest.mark.parametrize("name", INPUTS)
def test_features_to_train_on_are_the_originals(name):
    case, counts = golden(name), AnswerCounts()
    windows, rights = list(case.windower.training_windows(case.questions, counts)), golden_features(name, "train")
    for (window, targets), right in zip(windows, rights, strict=True):
        assert_is(case.windower, window, right)
        assert targets == {
            "start_positions": right["start_position"],
            "end_positions": right["end_position"],
            "is_impossible": int(right["is_impossible"]),
        }
    assert counts == AnswerCounts()


@needs_shared
@pytest.mark.parametrize("name", INPUTS)
def test_features_to_predict_are_the_originals(name):
    case, next_id, windows = golden(name), FIRST_UNIQUE_ID, []
    for asked in case.questions:
        windows += case.windower.windows(asked, next_id)
        next_id = FIRST_UNIQUE_ID + len(windows)
    for window, right in zip(windows, golden_features(name, "predict"), strict=True):
        assert_is(case.windower, window, right)


@needs_shared
def test_the_whole_dev_set_has_as_many_windows_as_the_original_logs():
    content = json.loads((SHARED / "data" / "squad" / "dev-v1.1.reconstructed.json").read_text())
    made = Windower(golden("v1_en").tokenizer, 384, 128, 64)
    questions = parse_squad(content, "dev")
    assert (len(questions), sum(len(made.windows(asked)) for asked in questions)) == (10570, 10833)


def test_an_answer_at_the_windows_edge():
    """H24: on the first or the last token, inside one, or all of the context."""
    context = "1995 saw rain"
    expected = {("1995", 0): (3, 3), ("rain", 9): (5, 5), ("19", 0): (3, 3), (context, 0): (3, 5)}
    for (answer, start), places in expected.items():
        counts = AnswerCounts()
        ((window, targets),) = windower().training_windows([question(context, "When", answer, start)], counts)
        assert [TOY.pieces[id] for id in windower().features(window)["input_ids"][: len(window)]] == (
            ["[CLS]", "when", "[SEP]", "1995", "saw", "rain", "[SEP]"]
        )
        assert targets == {"start_positions": places[0], "end_positions": places[1], "is_impossible": 0}
        assert counts == AnswerCounts()


def test_an_answer_inside_a_word_takes_its_pieces_where_they_cut_it_out():
    context = "( 1895 - 1995 )"
    # a lone 95 is [UNK], which no piece of the word is: the word is taken
    for answer, places in {"1895": (4, 5), "18": (4, 4), "95": (4, 5), "1995": (7, 7)}.items():
        ((_, targets),) = windower(16).training_windows([question(context, answer=answer)], AnswerCounts())
        assert (targets["start_positions"], targets["end_positions"]) == places


def test_windows_overlap_and_the_answer_is_learned_where_it_is_whole():
    context = "a b c d e f g h"
    made = list(windower(max_seq_length=8, doc_stride=2).training_windows([question(context, answer="d e")], AnswerCounts()))
    held = [" ".join(window.context.piece_texts(window.first, window.first + window.count - 1)) for window, _ in made]
    assert held == ["a b c d", "c d e f", "e f g h"]
    assert [(targets["start_positions"], targets["end_positions"]) for _, targets in made] == [(0, 0), (4, 5), (0, 0)]
    assert [window.unique_id - FIRST_UNIQUE_ID for window, _ in made] == [0, 1, 2]
    # a: only the first; c and d: the second has as little on one side but ties go to the earlier; e, f likewise
    shown = [window.spans.best[window.first : window.first + window.count].tolist() for window, _ in made]
    assert shown == [[0, 0, 0, 1], [0, 1, 1, 2], [1, 2, 2, 2]]


@pytest.mark.parametrize("num_pieces, room, stride", [(0, 4, 2), (1, 4, 2), (4, 4, 2), (5, 4, 2), (9, 4, 4), (9, 4, 100), (8, 4, 9)])
def test_spans_are_those_of_the_originals_loop(num_pieces, room, stride):
    spans, first = [], 0
    while first < num_pieces:  # as run_squad.py tells it
        count = min(num_pieces - first, room)
        spans.append((first, count))
        if first + count == num_pieces:
            break
        first += min(count, stride)
    assert Spans(num_pieces, room, stride).bounds == spans


def test_most_context_is_the_definition():
    rng = random.Random(3)
    for _ in range(30):
        spans = Spans(rng.randrange(1, 60), rng.randrange(1, 12), rng.randrange(1, 8))
        for piece in range(sum(spans.bounds[-1])):
            scores = [
                min(piece - first, first + count - 1 - piece) + 0.01 * count if first <= piece < first + count else -1
                for first, count in spans.bounds
            ]
            assert spans.best[piece] == scores.index(max(scores))


def test_a_long_question_is_cut_and_counted():
    asked = question("a b c d e f g h", "when " * 50)
    made = windower()
    windows = made.windows(asked)
    assert {len(window.query_ids) for window in windows} == {4}
    assert [window.count for window in windows] == [5, 4]
    assert made.num_cut([asked, question("a", "when when when when")]) == 1


def test_empty_questions_and_contexts():
    assert windower().windows(question("", "when")) == windower().windows(question(" \u200b\t", "when")) == []
    (window,) = windower().windows(question("a b", ""))
    assert windower().features(window)["input_ids"][:6] == [TOY.cls_id, TOY.sep_id, TOY.ids["a"], TOY.ids["b"], TOY.sep_id, TOY.pad_id]
    counts = AnswerCounts()
    assert list(windower().training_windows([question("\u200b", answer="\u200b")], counts)) == []
    assert counts.unfindable == 1
    assert list(windower().training_windows([question("", is_impossible=True, answers=())], counts)) == []
    assert counts.empty == 1


@pytest.mark.parametrize(
    "context, answer, start, kind, places",
    [
        ("paris is big", "is", 6, None, (4, 4)),
        ("paris is big", "is", 5, "displaced", (4, 4)),  # one off, among the words from there on
        ("paris is big", "is", 0, "displaced", (3, 3)),  # "is" of "paris", taken whole: as the original does, but told
        ("rome is big", "is", 0, "unfindable", None),
        ("paris is big", "is", 99, "unfindable", None),
        ("paris is big", "is", -6, "unfindable", None),
        ("paris is big", "", 6, "unfindable", None),
        ("paris is big", "is  big", 6, "displaced", (4, 5)),  # another white space
        ("a cafe\u00a0noir b", "cafe\u00a0noir", 2, None, (4, 5)),  # the original loses it: its words keep U+00A0, the answer's do not
    ],
)
def test_where_an_answer_is_found(context, answer, start, kind, places):
    counts = AnswerCounts()
    made = list(windower().training_windows([question(context, answer=answer, start=start)], counts))
    assert [(targets["start_positions"], targets["end_positions"]) for _, targets in made] == ([places] if places else [])
    assert {name: len(where) for name, where in counts.examples.items()} == ({kind: 1} if kind else {})


def test_answers_that_need_a_word_are_counted():
    counts = AnswerCounts()
    long = question("a b c d e f g h", answer="a b c d e f")
    several = question("a b c", answers=(GivenAnswer("b", 2), GivenAnswer("c", 4)), id="s")
    made = list(windower(max_seq_length=8, doc_stride=2).training_windows([long, several], counts))
    assert [targets["end_positions"] for _, targets in made] == [0, 0, 0, 4]
    assert (counts.in_no_window, counts.several) == (1, 1)
    assert counts.examples == {"in_no_window": ["file.json: q"], "several": ["file.json: s"]}


def test_a_question_without_answer_is_not_trained_on():
    for answers in ((), None):
        with pytest.raises(InputError, match=r"file\.json: q: question q has no answer to train on; give it one, or is_impossible"):
            list(windower().training_windows([question("a", answers=answers)], AnswerCounts()))


def test_an_unanswerable_question_teaches_cls():
    made = list(windower(max_seq_length=8, doc_stride=2).training_windows([question("a b c d e", is_impossible=True)], AnswerCounts()))
    assert [targets for _, targets in made] == 2 * [{"start_positions": 0, "end_positions": 0, "is_impossible": 1}]


def test_a_very_long_context():
    context = "a b c d e f g h . " * 5600  # 100,800 characters
    made = windower(max_seq_length=384, doc_stride=128, max_query_length=64)
    windows = made.windows(question(context))
    assert len(windows) == 1 + -(-(9 * 5600 - 380) // 128)
    assert sum(window.first + window.count == 9 * 5600 for window in windows) == 1
    assert len(windows[0].spans.best) == 9 * 5600


def test_the_features_are_those_of_the_record_tables():
    ((window, targets),) = windower().training_windows([question("a b", answer="a")], AnswerCounts())
    features = windower().features(window)
    sizes = {name: 1 if isinstance(value, int) else len(value) for name, value in (features | targets).items()}
    assert sizes | {"is_real_example": 1} == SQUAD_TRAINING.sizes({"seq": 12})
    assert features.keys() | {"is_real_example"} == SQUAD.sizes({"seq": 12}).keys()
