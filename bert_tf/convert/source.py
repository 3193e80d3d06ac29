"""A checkpoint file's variables under our paths, whatever names and layout the file has."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bert_tf.convert.names import Row, claim
from bert_tf.errors import InputError


class SourceWeights:
    """Arrays by our path, each read when it is asked for.

    Attributes:
      path: The file, or the TF1 prefix, for messages.
      names: By our path, the name that the file has for it.
      shapes: By our path, the shape in our layout.
      unclaimed: The names in the file that mean nothing to us.
      step: How many steps it was trained for, where it says so; else 0.
    """

    def __init__(
        self,
        path: str,
        shapes: Mapping[str, Sequence[int]],
        read: Callable[[str], np.ndarray],
        spellings: Mapping[str, Row],
        transposes: bool = False,
        quiet: Callable[[str], bool] = lambda name: False,
        step: int = 0,
    ):
        """Finds what each of the file's variables is to us.

        Args:
          path: The file, for messages.
          shapes: By the file's name, the shape there.
          read: Returns the array with the file's name.
          spellings: By the file's name, with {n} for a layer number, the row that it belongs to.
          transposes: Whether the file stores the rows marked so transposed.
          quiet: Whether a name that no row claims is known to be of no use, so that nobody needs to hear of it.
          step: How many steps it was trained for.

        Raises:
          InputError: Two names of the file mean the same variable.
        """
        self.path, self.step = path, step
        self.names: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._read, self._spellings = read, spellings
        self._transposed: set[str] = set()
        unclaimed = []
        for name in sorted(shapes):
            claimed = claim(name, spellings)
            if claimed is None:
                if not quiet(name):
                    unclaimed.append(name)
                continue
            ours, row = claimed
            if ours in self.names:
                raise InputError(f"{path}: {self.names[ours]} and {name} are two spellings of one variable; remove one of them")
            shape = tuple(int(size) for size in shapes[name])
            self.names[ours] = name
            self.shapes[ours] = shape[::-1] if transposes and row.transpose else shape
            if transposes and row.transpose:
                self._transposed.add(ours)
        self.unclaimed = tuple(unclaimed)

    def read(self, ours: str) -> np.ndarray:
        """Returns the array of the variable with our path, in our layout."""
        array = self._read(self.names[ours])
        return array.T if ours in self._transposed else array

    def expected_name(self, ours: str) -> str:
        """Returns the name under which this file, going by its other names, would have the variable with our path."""
        number = ours.removeprefix("bert/layer_").split("/")[0]
        candidates = [name.replace("{n}", number) for name, row in self._spellings.items() if row.ours.replace("{n}", number) == ours]
        prefixed = any(name.startswith("bert") for name in self.names.values())
        return min(candidates, key=lambda name: name.startswith("bert") != prefixed, default=ours)
