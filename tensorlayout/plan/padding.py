"""What padding holds, as bytes."""

from __future__ import annotations

from tensorlayout.dtypes import DType, extreme
from tensorlayout.layout import BitPattern, Padding, PaddingValue


def padding_bytes(value: Padding, dtype: DType) -> bytes | None:
    """The content of one element of padding, or None where nothing is promised."""
    if isinstance(value, BitPattern):
        return value.bits.to_bytes(dtype.itemsize, "little")
    if value is PaddingValue.UNSPECIFIED:
        return None
    if value is PaddingValue.ZERO:  # also where there is no 0, as in float8_e8m0fnu
        return bytes(dtype.itemsize)
    number = 1 if value is PaddingValue.ONE else None
    if number is None:
        number = extreme(dtype, 1 if value is PaddingValue.HIGHEST else -1)
    content: bytes = dtype.type(number).tobytes()
    return content
