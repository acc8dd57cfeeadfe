"""Content of a layout's padding: a symbol or an exact bit pattern."""

from __future__ import annotations

import enum
import re

from tensorlayout.errors import short_repr
from tensorlayout.support.light_dataclasses import frozen_dataclass


class PaddingValue(enum.Enum):
    """A symbol for the content of padding, in the dtype of the tensor (XLA's `PaddingValue`).

    - ``ZERO``, ``ONE``: the numbers 0 and 1.
    - ``LOWEST``, ``HIGHEST``: the least and the greatest value of the dtype, including infinities,
      so that padding does not change a maximum or a minimum.
    - ``UNSPECIFIED``: any content.

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

    # Members are singletons. Enum's own hash runs Python code, a cost in each look-up of a layout.
    __hash__ = object.__hash__


@frozen_dataclass
class BitPattern:
    """Exact content of padding: the bits of one element, and their dtype.

    - `bits`: an integer from 0 to 2**128 - 1.
    - `dtype`: the name of the dtype.

    Raises ValueError for other bits or an invalid name; TypeError if `bits` is no integer or
    `dtype` is no text.

    A Python float cannot identify padding, because ``0.0 == -0.0`` and ``nan != nan``: different
    layouts would be equal, and a layout unequal to itself.

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
