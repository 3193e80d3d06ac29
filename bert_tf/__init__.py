"""BERT for TensorFlow 2 and Keras 3, with google-research/bert's command lines, files and checkpoints.

For notebooks: `bert_tf.load_tokenizer(path)` and `bert_tf.load_encoder(path)`. Both are imported when first used, so that
`import bert_tf` itself is instant, starts no TensorFlow and defines no flag.
"""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "load_encoder", "load_tokenizer"]


def __getattr__(name: str) -> Any:
    if name in ("load_encoder", "load_tokenizer"):
        return getattr(importlib.import_module("bert_tf.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
