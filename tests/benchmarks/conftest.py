"""The small pre-training data of the workflows' tests serves here too."""

from tests.workflows.conftest import made

__all__ = ["made"]
