"""A SavedModel that answers questions: raw question and context in; answer, score and character offsets out; core operations only.

A context of any length is cut into the windows that `squad/windows.py` makes, and the answer chosen as `squad/answers.py` chooses the
first entry of an n-best list. Windows go through the model a few at a time, so a long context takes time, not memory.
"""

import tensorflow as tf

from bert_tf.serving.signatures import ServingModule, keep, pad

# Windows that go through the model together.
_WINDOWS_AT_ONCE = 16
# What stands for the score of a question on a context without any text: below all that logits add up to.
NO_SCORE = -1e6
_LOWEST = tf.float64.min


class QuestionAnsweringModule(ServingModule):
    """Outputs on raw text: `answer` string[batch], `score` float32[batch], `start` and `end` int32[batch].

    `context[start:end]` in code points is the answer, and the score the sum of its two logits. Where a question may have no answer
    there is `null_odds` float32[batch] too, and above the null threshold the answer is empty and the offsets are 0; the score stays
    that of the best answer. On ids and examples: `start_logits` and `end_logits` float32[batch, seq].
    """

    def __init__(
        self,
        *,
        doc_stride: int,
        max_query_length: int,
        n_best_size: int = 20,
        max_answer_length: int = 30,
        null_threshold: float | None = None,
        **options,
    ):
        """Takes the flags of run_squad.py that shape windows and answers, and what every serving module takes.

        Args:
          doc_stride: Pieces between the starts of two windows.
          max_query_length: Most pieces of a question.
          n_best_size: Starts and ends looked at in a window.
          max_answer_length: Most pieces of an answer.
          null_threshold: Above which null odds a question is not answered; None where every question is.
          **options: The model and how its inputs are made.
        """
        super().__init__(is_pair=True, **options)
        self.doc_stride, self.max_query_length = doc_stride, max_query_length
        self.n_best_size, self.max_answer_length, self.null_threshold = n_best_size, max_answer_length, null_threshold

    def outputs(self, inputs):
        """Returns start_logits and end_logits for the encoder's inputs int32[batch, seq]."""
        logits = self.model(inputs, training=False)
        return {"start_logits": logits["start"], "end_logits": logits["end"]}

    def text_signature(self):
        """Returns the function on raw text: `question` and `context`."""
        spec = [tf.TensorSpec([None], tf.string, name) for name in ("question", "context")]
        return tf.function(self.answer, input_signature=spec, autograph=False)

    def answer(self, question: tf.Tensor, context: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the outputs on raw text for string[batch] each."""
        context = tf.strings.unicode_transcode(context, "UTF-8", "UTF-8", errors="replace")
        queries = keep(self.tokenizer(question), tf.fill(tf.shape(question), self.max_query_length))  # int32[batch, (pieces)]
        ids, starts, ends = self.tokenizer.with_offsets(context)
        owners, firsts, counts = self._windows(tf.cast(queries.row_lengths(), tf.int32), tf.cast(ids.row_lengths(), tf.int32))
        queries = tf.gather(queries, owners)  # [batch, (pieces)] -> [windows, (pieces)]
        # where each position's piece is among all pieces of the batch: int32[windows, (pieces)]
        begins = tf.gather(tf.cast(ids.row_splits, tf.int32), owners) + firsts
        places = tf.ragged.range(begins, begins + counts)
        start_logits, end_logits, offsets = self._logits(queries, tf.gather(ids.flat_values, places))
        is_start, is_end = _allowed(places, counts, offsets, tf.size(ids.flat_values))
        scores, first, last = self._best_spans(start_logits, end_logits, is_start, is_end)
        scores, best = _best_windows(scores, owners, tf.size(question))
        shift = tf.gather(begins - offsets, best)
        found = scores > _LOWEST
        first, last = (tf.where(found, tf.gather(positions, best) + shift, 0) for positions in (first, last))
        start, end = (_gather_or_zero(of_pieces.flat_values, at) for of_pieces, at in ((starts, first), (ends, last)))
        outputs = {"score": tf.cast(tf.where(found, scores, NO_SCORE), tf.float32)}
        if self.null_threshold is not None:
            null = tf.math.segment_min(start_logits[:, 0] + end_logits[:, 0], owners)
            odds = tf.where(found, null - scores, -NO_SCORE)
            outputs["null_odds"] = tf.cast(odds, tf.float32)
            found &= odds <= self.null_threshold
        start, end = tf.where(found, start, 0), tf.where(found, end, 0)
        return outputs | {"answer": tf.strings.substr(context, start, end - start, unit="UTF8_CHAR"), "start": start, "end": end}

    def _windows(self, query_lengths, context_lengths):
        """Returns of each window its text, its first piece and its number of pieces, int32[windows]; every text has one at least."""
        room = self.max_seq_length - 3 - query_lengths
        step = tf.minimum(room, self.doc_stride)
        num_windows = 1 + -(-tf.maximum(context_lengths - room, 0) // step)
        owners = tf.repeat(tf.range(tf.size(room)), num_windows)
        firsts = tf.ragged.range(num_windows).flat_values * tf.gather(step, owners)
        return owners, firsts, tf.minimum(tf.gather(context_lengths, owners) - firsts, tf.gather(room, owners))

    def _logits(self, queries, pieces):
        """Returns start and end logits, float64[windows, seq], lowest at padding, and where the context begins, int32[windows].

        Args:
          queries: int32[windows, (pieces)], the question's ids.
          pieces: int32[windows, (pieces)], the context's.
        """
        ones = tf.ones([queries.nrows(), 1], tf.int32)
        cls, sep = ones * self._vocab.cls_id, ones * self._vocab.sep_id
        left, right = tf.concat([cls, queries, sep], axis=1), tf.concat([pieces, sep], axis=1)
        ids = tf.concat([left, right], axis=1)
        segments = tf.concat([tf.zeros_like(left), tf.ones_like(right)], axis=1)
        rows = {"input_ids": ids, "input_mask": tf.ones_like(ids), "segment_ids": segments}
        inputs = {name: pad(value, self._vocab.pad_id if name == "input_ids" else 0) for name, value in rows.items()}
        real = tf.cast(inputs["input_mask"], tf.bool)
        logits = [tf.where(real, tf.cast(part, tf.float64), _LOWEST / 4) for part in self._in_groups(inputs)]
        return *logits, tf.cast(left.row_lengths(), tf.int32)

    def _in_groups(self, inputs):
        """Returns start and end logits, float32[windows, seq], computed a few windows at a time."""
        num_windows = tf.shape(inputs["input_ids"])[0]
        num_groups = tf.maximum(-(-num_windows // _WINDOWS_AT_ONCE), 1)  # of an empty batch one: lists without any tensor have no shape
        empty = [tf.TensorArray(tf.float32, num_groups, infer_shape=False, element_shape=[None, None]) for _ in range(2)]

        def step(group, starts, ends):
            first = group * _WINDOWS_AT_ONCE
            logits = self.model({name: value[first : first + _WINDOWS_AT_ONCE] for name, value in inputs.items()}, training=False)
            return group + 1, starts.write(group, logits["start"]), ends.write(group, logits["end"])

        _, starts, ends = tf.while_loop(
            lambda group, *_: group < num_groups, step, (0, *empty), parallel_iterations=1, maximum_iterations=num_groups
        )
        return starts.concat(), ends.concat()

    def _best_spans(self, start_logits, end_logits, is_start, is_end):
        """Returns the score, float64[windows], and the first and last position, int32[windows], of each window's best answer.

        The score is the lowest where the window has none among its likeliest starts and ends.

        Args:
          start_logits: float64[windows, seq].
          end_logits: float64[windows, seq].
          is_start: bool[windows, seq], where an answer may begin.
          is_end: bool[windows, seq], where one may end.
        """
        size = tf.minimum(self.n_best_size, tf.shape(start_logits)[1])
        start_scores, firsts = tf.math.top_k(start_logits, size)
        end_scores, lasts = tf.math.top_k(end_logits, size)
        # [windows, starts, ends]
        length = lasts[:, None, :] - firsts[:, :, None] + 1
        good = (length >= 1) & (length <= self.max_answer_length)
        good &= tf.gather(is_start, firsts, batch_dims=1)[:, :, None] & tf.gather(is_end, lasts, batch_dims=1)[:, None, :]
        scores = tf.where(good, start_scores[:, :, None] + end_scores[:, None, :], _LOWEST)
        scores = tf.reshape(scores, [-1, size * size])  # [windows, starts, ends] -> [windows, spans]
        best = tf.argmax(scores, axis=1, output_type=tf.int32)
        first, last = (tf.gather(x, y, batch_dims=1) for x, y in ((firsts, best // size), (lasts, best % size)))
        return tf.gather(scores, best, batch_dims=1), first, last


def _allowed(places, counts, offsets, num_pieces):
    """Returns where an answer may begin and where it may end, bool[windows, seq] each.

    It may end at any piece of the context, and begin where no other window shows the piece with more around it.

    Args:
      places: int32[windows, (pieces)], each piece's number among all of the batch.
      counts: int32[windows], how many there are.
      offsets: int32[windows], where the context begins.
      num_pieces: int32[], pieces of all contexts of the batch.
    """
    within = tf.ragged.range(counts)
    after = tf.gather(counts, within.value_rowids()) - 1 - within.flat_values
    scores = tf.cast(tf.minimum(within.flat_values, after), tf.float64)
    scores += 0.01 * tf.cast(tf.gather(counts, within.value_rowids()), tf.float64)
    flat, windows = places.flat_values, tf.cast(places.value_rowids(), tf.int32)
    highest = tf.math.unsorted_segment_max(scores, flat, num_pieces)
    is_best = tf.equal(scores, tf.gather(highest, flat))
    owner = tf.math.unsorted_segment_min(tf.where(is_best, windows, tf.int32.max), flat, num_pieces)
    most_context = tf.equal(tf.gather(owner, flat), windows)
    # 0 for what is no piece of the context, 1 for one, 2 for one with most context here
    roles = places.with_flat_values(1 + tf.cast(most_context, tf.int32))
    before = tf.RaggedTensor.from_row_lengths(tf.zeros([tf.reduce_sum(offsets)], tf.int32), tf.cast(offsets, tf.int64))
    roles = tf.concat([before, roles, tf.zeros([tf.size(counts), 1], tf.int32)], axis=1).to_tensor()
    return tf.equal(roles, 2), roles >= 1


def _best_windows(scores, owners, num_texts):
    """Returns each text's best score, float64[batch], and the first of its windows that has it, int32[batch]."""
    best = tf.math.unsorted_segment_max(scores, owners, num_texts)
    is_best = tf.equal(scores, tf.gather(best, owners))
    numbers = tf.where(is_best, tf.range(tf.size(owners)), tf.int32.max)
    return best, tf.math.unsorted_segment_min(numbers, owners, num_texts)


def _gather_or_zero(values, places):
    """Returns the values at these places, and 0 for places behind them all: of a batch without any piece there are no values."""
    return tf.gather(tf.concat([values, [0]], axis=0), tf.minimum(places, tf.size(values)))
