"""What files are read into: tensors that are there, in any layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorlayout.functions.arguments import tensor, writable
from tensorlayout.functions.interchange import to_device
from tensorlayout.tensor import Tensor


class Targets:
    """A tensor, or several by name, that may be written to."""

    def __init__(self, out: Tensor | Mapping[str, Tensor]) -> None:
        self.out = out
        self.refused: ValueError | None = None
        several = isinstance(out, Mapping)
        for name, x in out.items() if isinstance(out, Mapping) else [("", out)]:
            writable("load", tensor("load", x, f"out[{name!r}]" if several else "out"))

    def fit(
        self, held: Mapping[str, tuple[tuple[int, ...], Any]], alone: bool
    ) -> dict[str, Tensor]:
        """The tensors by name, a file's only one by ``""``.

        ValueError, kept as `refused`, unless each is of the shape and dtype in the file.
        """
        given = {"": self.out} if isinstance(self.out, Tensor) else dict(self.out)
        if alone != isinstance(self.out, Tensor) or given.keys() != held.keys():
            names = "one tensor" if alone else f"tensors by the names {sorted(held)}"
            msg = f"out must be {names}, as the file holds"
            raise self._unfit(msg)
        for name, x in given.items():
            shape, dtype = held[name]
            if (x.shape, x.dtype) != (tuple(shape), dtype.newbyteorder("=")):
                which = f"out[{name!r}]" if name else "out"
                has = f"of {dtype} and shape {tuple(shape)}, as the file"
                msg = f"{which} must be {has}, got {x.dtype} and {x.shape}"
                raise self._unfit(msg)
        return given

    def put(self, found: Tensor | dict[str, Tensor]) -> None:
        """Write what a file gave."""
        alone = isinstance(found, Tensor)
        read = {"": found} if isinstance(found, Tensor) else found
        fitting = self.fit({name: (x.shape, x.dtype) for name, x in read.items()}, alone)
        for name, x in fitting.items():
            x[...] = to_device(read[name], x.device)

    def _unfit(self, reason: str) -> ValueError:
        self.refused = ValueError(f"load: {reason}")
        return self.refused
