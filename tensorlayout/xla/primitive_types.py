"""`PrimitiveType`: XLA's element types, their widths, and their names in NumPy and ml_dtypes."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping

import numpy as np

from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.errors import raise_named_error, short_repr
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.typing import DTypeLike
from tensorlayout.xla.calling import require

# Category and NumPy's name by the first letters of a type's name.
_FAMILIES = {
    "PRED": ("predicate", "bool_"),
    "S": ("signed integer", "int"),
    "U": ("unsigned integer", "uint"),
    "F": ("floating point", "float"),
    "BF": ("floating point", "bfloat"),
    "C": ("complex", "complex"),
}


class PrimitiveType(enum.Enum):
    """Element type of XLA; a member's value is its number in XLA's enum.

    - `bit_width`: bits of a value; 1 for pred, which is stored in a byte; None if the type is not
      an array type.
    - `category`: one of ``predicate``, ``signed integer``, ``floating point``, ``complex``, ….
    - `numpy_name`: name of the NumPy type, or None.
    - `ml_dtypes_name`: name of the type in ml_dtypes, None for NumPy's own types.

    >>> from tensorlayout.xla import PrimitiveType
    >>> PrimitiveType.BF16.text, PrimitiveType.BF16.bit_width
    ('bf16', 16)
    >>> PrimitiveType.of_text("s4").ml_dtypes_name
    'int4'
    """

    # Numbers as in xla_data.proto. XLA added types over the years, so numbers do not follow the
    # widths.
    PRIMITIVE_TYPE_INVALID = 0
    PRED = 1
    S1 = 30
    S2 = 26
    S4 = 21
    S8 = 2
    S16 = 3
    S32 = 4
    S64 = 5
    U1 = 31
    U2 = 27
    U4 = 22
    U8 = 6
    U16 = 7
    U32 = 8
    U64 = 9
    F16 = 10
    F32 = 11
    F64 = 12
    BF16 = 16
    F8E5M2 = 19
    F8E4M3 = 28
    F8E4M3FN = 20
    F8E4M3B11FNUZ = 23
    F8E5M2FNUZ = 24
    F8E4M3FNUZ = 25
    F8E3M4 = 29
    F4E2M1FN = 32
    F8E8M0FNU = 33
    F6E3M2FN = 35
    F6E2M3FN = 36
    C64 = 15
    C128 = 18
    TUPLE = 13
    OPAQUE_TYPE = 14
    TOKEN = 17
    BUFFER = 34

    bit_width: int | None
    category: str
    numpy_name: str | None
    ml_dtypes_name: str | None

    # Members are unique, so identity suffices. Enum's own hash is a Python function, which every
    # hash of a Shape would call.
    __hash__ = object.__hash__

    def __init__(self, number: int) -> None:
        """Derive the facts from the name: family, bits, and the suffix of small floats."""
        self.bit_width = self.numpy_name = self.ml_dtypes_name = None
        self.category = "non-array" if number else "invalid"
        match = re.fullmatch(r"(PRED|BF|[SUFC])(\d*)(E\w+)?", self.name)
        if match is None:
            return
        letters, bits, form = match.groups()
        self.category, family = _FAMILIES[letters]
        self.bit_width = int(bits or 1)
        # NumPy has the types of whole bytes, except bfloat16 and floats with a suffix such as E5M2.
        if letters == "PRED" or (self.bit_width >= 8 and letters != "BF" and not form):
            self.numpy_name = f"{family}{bits}"
        else:
            self.ml_dtypes_name = f"{family}{bits}{f'_{form.lower()}' if form else ''}"

    @classmethod
    def of_text(cls, name: str) -> PrimitiveType:
        """Return the type with a name in shape text, such as ``f32``; ValueError for other words.

        Case matters. The words ``tuple``, ``buffer`` and ``opaque_type`` are not types in text.
        """
        element_type = _BY_TEXT.get(name)
        if element_type is None:
            raise_named_error(
                "element type", f"must be one of {', '.join(_BY_TEXT)}, got {short_repr(name)}"
            )
        return element_type

    @classmethod
    def by_text(cls) -> Mapping[str, PrimitiveType]:
        """Return the types that have a name in shape text, by name."""
        return _BY_TEXT

    @property
    def text(self) -> str:
        """Name in shape text: the member's name in lower case, except ``opaque``."""
        return "opaque" if self is PrimitiveType.OPAQUE_TYPE else self.name.lower()

    @property
    def byte_width(self) -> int | None:
        """**Bytes** of an unpacked element; None if the type is not an array type."""
        width = self.bit_width
        return None if width is None else -(-width // 8)

    @property
    def unpacked_bytes(self) -> int:
        """`byte_width` of an array type; ValueError for other types."""
        if self.byte_width is None:
            raise_named_error("element type", f"{self.text} has no size")
        return self.byte_width

    @property
    def is_array(self) -> bool:
        """True if arrays can have this type."""
        return self.bit_width is not None

    @property
    def is_integral(self) -> bool:
        """True if values are integers, signed or not; False for pred."""
        return self.category in ("signed integer", "unsigned integer")

    @property
    def is_floating(self) -> bool:
        """True if values are real floating-point numbers."""
        return self.category == "floating point"

    @property
    def is_sub_byte(self) -> bool:
        """True if a layout may pack several elements into a byte; False for pred."""
        return (self.bit_width or 8) < 8 and self is not PrimitiveType.PRED

    @property
    def dtype(self) -> DType:
        """The dtype of one unpacked element; TypeError if there is none.

        Imports ml_dtypes for types that NumPy does not have.
        """
        name = self.numpy_name or self.ml_dtypes_name
        if name is None:
            raise_named_error("dtype", f"{self.text} has no NumPy dtype here", TypeError)
        # NumPy's scalar type is bool_, its dtype bool.
        return as_dtype(name.rstrip("_"))

    @classmethod
    def of_dtype(cls, dtype: DTypeLike) -> PrimitiveType:
        """Return the type of a NumPy or ml_dtypes dtype; TypeError if XLA has none.

        >>> PrimitiveType.of_dtype("float32")
        <PrimitiveType.F32: 11>
        """
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
        element_type = _BY_DTYPE.get(name)
        if element_type is None:
            raise_named_error("dtype", f"XLA has no element type for {name}", TypeError)
        return element_type

    @property
    def component(self) -> PrimitiveType:
        """Type of the real and imaginary parts of a complex type; ValueError for other types."""
        require(self.category == "complex", "element type: must be c64 or c128", self)
        return PrimitiveType.F32 if self is PrimitiveType.C64 else PrimitiveType.F64

    @property
    def precision(self) -> tuple[bool, int, int, int, bool]:
        """Sort key by which XLA prefers types: complex, range, significand, bits, signed."""
        is_complex = self.category == "complex"
        kind = self.component if is_complex else self
        # More range wins, and integers have no exponent: any float is preferred to any integer.
        exponent = digits = -1
        if kind.is_floating:
            # NumPy's own finfo does not know the narrow floats.
            info = import_lazily("ml_dtypes").finfo(kind.dtype)
            exponent, digits = info.maxexp, info.nmant + 1
        return is_complex, exponent, digits, self.bit_width or 0, self.category == "signed integer"


_ARRAYS = [member for member in PrimitiveType if member.is_array]
_BY_DTYPE = {(m.numpy_name or m.ml_dtypes_name or "").rstrip("_"): m for m in _ARRAYS}
_BY_TEXT = {m.text: m for m in (*_ARRAYS, PrimitiveType.TOKEN, PrimitiveType.OPAQUE_TYPE)}
