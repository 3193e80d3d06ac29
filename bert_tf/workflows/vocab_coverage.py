"""Text files and a vocabulary -> one JSON line: how well the vocabulary suits each file, and all of them."""

import json
from typing import Any

from bert_tf.config import VocabCoverageConfig
from bert_tf.data.block_words import BlockCoverageMeasurer
from bert_tf.data.files import expand_patterns
from bert_tf.data.text_form import TextForm
from bert_tf.errors import InputError
from bert_tf.text.casing import resolve_do_lower_case
from bert_tf.text.coverage import Coverage
from bert_tf.workflows.corpus_pass import results_of_blocks
from bert_tf.workflows.model_folder import read_vocab, recorded_casing


def run(config: VocabCoverageConfig) -> dict[str, Any]:
    """Prints the figures as one JSON line and returns them.

    Raises:
      InputError: An input or vocabulary that cannot serve, or no word in the text.
    """
    inputs = expand_patterns(config.input_file, "input_file")
    vocab = read_vocab(config.vocab_file)
    do_lower_case = resolve_do_lower_case(config.do_lower_case, vocab, *recorded_casing(config.vocab_file))
    form = TextForm(config.input_format, config.text_field)
    whole, of_file = Coverage(), {path: Coverage() for path in inputs}
    arguments = (vocab, do_lower_case, form)
    for block in results_of_blocks(BlockCoverageMeasurer, arguments, inputs, config.num_processes, "looking up words"):
        whole.add(block.coverage)
        of_file[block.path].add(block.coverage)
    if not whole.words:
        raise InputError(f"--input_file: {config.input_file}: no word found; give text to look up")
    figures = {
        "vocab_file": config.vocab_file,
        "vocab_size": len(vocab),
        "do_lower_case": do_lower_case,
        **whole.figures(config.num_unknown_words),
        "files": {path: coverage.figures(config.num_unknown_words) for path, coverage in of_file.items()},
    }
    print(json.dumps(figures, ensure_ascii=False))
    return figures
