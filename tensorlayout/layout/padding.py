"""Content of a layout's padding: a symbol or an exact bit pattern."""

from __future__ import annotations

import enum
import re

from tensorlayout.errors import short_repr
from tensorlayout.support.light_dataclasses import frozen_dataclass


class PaddingValue(enum.Enum):
    """A symbol for the content of padding, read in the tensor's dtype (XLA's `PaddingValue`).

    ``ZERO`` and ``ONE`` are numbers. ``LOWEST`` and ``HIGHEST`` are the least and the greatest
    value of the dtype, infinities included, so that padding does not change a maximum or a minimum.
    ``UNSPECIFIED`` makes no promise.

    >>> from tensorlayout import Layout, PaddingValue
    >>> Layout.padded((2,), (4,), padding_value=PaddingValue.ONE)
    Layout.parse('(2,):(1,) padded=(4,) padding=ONE')
    """

    ZERO = "ZERO"
    ONE = "ONE"
    LOWEST = "LOWEST"
    HIGHEST = "HIGHEST"
    UNSPECIFIED = "UNSPECIFIED"

    @classmethod
    def named(cls, name: str) -> PaddingValue | None:
        """Return the symbol with this name, in any case; None for other text."""
        return cls.__members__.get(name.upper())

    def __repr__(self) -> str:
        return f"PaddingValue.{self.name}"

    # Members are singletons; Enum's own hash runs Python code, and every look-up of a layout pays.
    __hash__ = object.__hash__


@frozen_dataclass
class BitPattern:
    """An exact padding content: the bits of one element and their dtype.

    A Python float would not work: ``0.0 == -0.0`` and ``nan != nan``, so different layouts would
    compare equal, or equal ones different.

    >>> from tensorlayout import BitPattern
    >>> BitPattern(0x3F800000, "float32")
    BitPattern(0x3f800000, 'float32')
    """

    bits: int
    dtype: str

    def __post_init__(self) -> None:
        if not isinstance(self.bits, int) or isinstance(self.bits, bool):
            raise TypeError(f"bits: must be an integer, got {short_repr(self.bits)}")
        if not 0 <= self.bits < 2**128:
            raise ValueError(
                f"bits: must be at least 0 and below 2**128, got {short_repr(self.bits)}"
            )
        if not isinstance(self.dtype, str):
            raise TypeError(f"dtype: must be the name of a dtype, got {short_repr(self.dtype)}")
        if re.fullmatch(r"\w+", self.dtype, re.ASCII) is None:
            msg = f"dtype: must be a name of letters, digits and _, got {short_repr(self.dtype)}"
            raise ValueError(msg)

    def __repr__(self) -> str:
        return f"BitPattern({self.bits:#x}, {self.dtype!r})"


Padding = PaddingValue | BitPattern
