"""Text -> how often each of its words was seen; words as the basic tokenizer cuts them."""

from collections import Counter
from collections.abc import Mapping

from bert_tf.text.vocab import Vocabulary
from bert_tf.text.vocab_learner import special_pieces
from bert_tf.text.wordpiece import StringCache, WordPieceTokenizer


class WordCounter:
    """Counts the words of texts, quickly: what stands between white space is looked into once, however often it comes."""

    def __init__(self, do_lower_case: bool):
        self._tokenizer = WordPieceTokenizer(Vocabulary(special_pieces()), do_lower_case)
        self._words = StringCache(self._tokenizer.basic_words)

    def __call__(self, text: str) -> Counter[str]:
        """Returns how often each word was seen: those of `WordPieceTokenizer.basic_words`."""
        words: Counter[str] = Counter()
        for chunk, times in Counter(self._tokenizer.chunks(text)).items():
            for word in self._words[chunk]:
                words[word] = words.get(word, 0) + times
        return words


class WordTable:
    """How often each word was seen in all, in memory that does not grow with the text.

    Attributes:
      counts: Times by word.
      num_forgotten: Times in all of the words that are not kept, as they had hardly been seen when there were too many.
    """

    def __init__(self, most_words: int):
        """Keeps at most so many words from one `add` to the next."""
        self.counts: Counter[str] = Counter()
        self.num_forgotten = 0
        self._most_words = most_words

    def add(self, counts: Mapping[str, int]) -> None:
        """Adds words to the others; what is then kept depends on nothing but what was added before, in its order."""
        self.counts.update(counts)
        least = 1
        while len(self.counts) > self._most_words:
            forgotten = [word for word, times in self.counts.items() if times <= least]
            self.num_forgotten += sum(self.counts.pop(word) for word in forgotten)
            least *= 2

    def total(self) -> int:
        """Returns how many words were seen, those not kept included."""
        return self.counts.total() + self.num_forgotten
