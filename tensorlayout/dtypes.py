"""Element types: NumPy dtype objects, their kinds, promotion and limits.

The standard's thirteen, and ``float16`` and ``bfloat16``. They are NumPy's own dtype objects (and
ml_dtypes' for bfloat16), so that every consumer understands them. In memory of bool every byte but
0 is True.
"""

from __future__ import annotations

import builtins
import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlayout.late import loaded
from tensorlayout.words import shown

DType = np.dtype[Any]

bool: np.dtype[np.bool] = np.dtype("bool")
int8: np.dtype[np.int8] = np.dtype("int8")
int16: np.dtype[np.int16] = np.dtype("int16")
int32: np.dtype[np.int32] = np.dtype("int32")
int64: np.dtype[np.int64] = np.dtype("int64")
uint8: np.dtype[np.uint8] = np.dtype("uint8")
uint16: np.dtype[np.uint16] = np.dtype("uint16")
uint32: np.dtype[np.uint32] = np.dtype("uint32")
uint64: np.dtype[np.uint64] = np.dtype("uint64")
float16: np.dtype[np.float16] = np.dtype("float16")
float32: np.dtype[np.float32] = np.dtype("float32")
float64: np.dtype[np.float64] = np.dtype("float64")
complex64: np.dtype[np.complex64] = np.dtype("complex64")
complex128: np.dtype[np.complex128] = np.dtype("complex128")

_SIGNED, _UNSIGNED = (int8, int16, int32, int64), (uint8, uint16, uint32, uint64)
STANDARD = (bool, *_SIGNED, *_UNSIGNED, float32, float64, complex64, complex128)

# NumPy's letters of kinds, by which all else here is written.
_KINDS = {
    "b": "bool",
    "i": "signed integer",
    "u": "unsigned integer",
    "f": "real floating",
    "c": "complex floating",
}

# All of ours but bfloat16, by themselves: NumPy's other names of one type, such as "longlong", are
# equal to it. What is not here is refused, whatever its kind: ml_dtypes has floats of 8 bits.
_OURS: dict[DType, DType] = {dtype: dtype for dtype in (*STANDARD, float16)}

# What is handed to NumPy as a name. It takes programs of dtypes, too ("2T", "i4,i4", "(2,)f4"), of
# any length, and not all of them end well.
_NAME = re.compile(r"[=<>|]?[b-zA-Z?][a-zA-Z]{0,15}[0-9]{0,3}")

# The kinds of the standard's `isdtype`, and the categories in which its functions state rules.
_CATEGORIES = {kind: letter for letter, kind in _KINDS.items()}
_CATEGORIES |= {"integral": "iu", "numeric": "iufc"}
ISDTYPE_KINDS = frozenset(_CATEGORIES)
_CATEGORIES |= {"real numeric": "iuf", "floating-point": "fc"}
_CATEGORIES |= {"integer or boolean": "biu", "any": "biufc"}

_RANK = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
_SCALAR_RANK: dict[type, int] = {builtins.bool: 0, int: 1, float: 2, complex: 3}
SCALARS = frozenset(_SCALAR_RANK)


def _bfloat16() -> DType:
    found: DType = np.dtype(loaded("ml_dtypes").bfloat16)
    return found


def _late(name: str) -> Any:
    """`bfloat16`, made at first use: importing ml_dtypes costs several milliseconds."""
    if name == "bfloat16":
        globals()["bfloat16"] = _bfloat16()
        return globals()["bfloat16"]
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


if TYPE_CHECKING:  # for which, with `__getattr__`, any name would exist
    bfloat16: DType
else:
    __getattr__ = _late


def is_bfloat16(dtype: DType) -> Any:
    """Whether `dtype` is bfloat16, without importing ml_dtypes."""
    return dtype.kind == "V" and dtype.name == "bfloat16"


def kind_of(dtype: DType) -> str:
    """The kind of a dtype in the standard's words. TypeError for one that we do not have."""
    return _KINDS[_letter(dtype)]


def _letter(dtype: DType) -> str:
    if dtype in _OURS:
        return dtype.kind
    if is_bfloat16(dtype):
        return "f"
    msg = f"dtype: must be one of the standard's, float16 or bfloat16, got {shown(dtype)}"
    raise TypeError(msg)


@functools.cache
def in_category(dtype: DType, category: str) -> Any:
    """Whether `dtype` belongs to a category such as ``"real numeric"``."""
    return _letter(dtype) in _CATEGORIES[category]


@functools.cache
def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of an integer dtype."""
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)


def as_dtype(dtype: Any, argument: str = "dtype:") -> DType:
    """A dtype object of ours from a dtype, a NumPy scalar type, or a name. TypeError otherwise.

    That is: for types that are not ours, and for other byte orders than the machine's.
    `argument`: what errors call it, such as ``"zeros: dtype"``.
    """
    if isinstance(dtype, np.dtype) and is_standard(dtype):
        return _OURS[dtype]
    found = _found(dtype)
    ours = None if found is None else _ours(found)
    if ours is not None:
        return ours
    if found is not None and (native := in_native_order(found)) is not None:
        rule = f"must have the byte order of this machine, got {_shown(dtype)}"
        fix = f"use {native.name}; asarray() converts NumPy arrays of the other order in a copy"
        msg = f"{argument} {rule}; {fix}"
        raise TypeError(msg)
    names = f"; they are {', '.join(_names())}" if isinstance(dtype, str) else ""
    msg = f"{argument} must be a dtype of this namespace, got {_shown(dtype)}{names}"
    raise TypeError(msg)


def _found(dtype: Any) -> DType | None:
    """What NumPy knows by that name or type; None for all that names no dtype."""
    if isinstance(dtype, np.dtype):
        return dtype
    if isinstance(dtype, str):
        if dtype == "bfloat16":
            return _bfloat16()
        if len(dtype) > _LONGEST or not _NAME.fullmatch(dtype):
            return None
    elif not isinstance(dtype, type):  # NumPy takes whatever has a dtype
        return None
    elif not issubclass(dtype, np.generic):
        return next((default_of(scalar) for scalar in SCALARS if dtype is scalar), None)
    try:
        found: DType = np.dtype(dtype)
    except (TypeError, ValueError, Warning):  # Warning, where filters make errors of them
        return None
    return found


def _ours(dtype: DType) -> DType | None:
    """The dtype of ours that is equal to `dtype`, if there is one."""
    if dtype.kind in _KINDS:
        return _OURS.get(dtype)
    return dtype if is_bfloat16(dtype) and dtype == _bfloat16() else None


def is_standard(dtype: DType) -> builtins.bool:
    """Whether a dtype is one of the standard's, or float16, in the byte order of this machine."""
    return dtype.kind in _KINDS and dtype in _OURS


def in_native_order(dtype: DType) -> DType | None:
    """Ours of a dtype in another byte order than the machine's; None for any other dtype."""
    if dtype.kind not in _KINDS or dtype.isnative:
        return None
    return _ours(dtype.newbyteorder("="))


_LONGEST = 24  # characters of a name


def _names() -> list[str]:
    """The names of ours, in the order of the standard's and by width."""
    return [*map(str, sorted(_OURS, key=lambda d: ("biufc".index(d.kind), d.itemsize))), "bfloat16"]


def _shown(dtype: Any) -> str:
    """What came as a dtype; arrays and sequences by their kind alone."""
    known = dtype is None or isinstance(dtype, (np.dtype, type, str, int))
    return shown(dtype) if known else type(dtype).__name__


def misfit(number: int, dtype: DType) -> OverflowError:
    """What to raise where a Python integer does not fit a dtype; long ones are not written out."""
    bits = number.bit_length()
    came = str(number) if bits <= 128 else f"of {bits} bits"
    return OverflowError(f"the Python integer {came} does not fit {dtype}")


def default_of(scalar: type) -> DType:
    """The default dtype of a kind of Python scalar."""
    return {0: bool, 1: int64, 2: float64, 3: complex128}[_SCALAR_RANK[scalar]]


@functools.cache
def promote(first: DType, second: DType) -> DType:
    """The dtype that two dtypes promote to (standard: "Type promotion rules").

    Where the standard leaves it open: integers with floating-point types promote as in NumPy,
    bfloat16 with float16 to float32, and with integers of more than 8 bits to float32 or, above 16
    bits, to float64.
    """
    if first == second:
        return first
    for half, other in ((first, second), (second, first)):
        if is_bfloat16(half):
            return _promote_bfloat16(half, other)
    return np.promote_types(first, second)


_KIND_ORDER = "buifc"


def same_kind(source: DType, target: DType) -> Any:
    """Whether `source` may become `target` by NumPy's rule ``same_kind``: of no lesser kind."""
    return _KIND_ORDER.index(_letter(source)) <= _KIND_ORDER.index(_letter(target))


def _promote_bfloat16(half: DType, other: DType) -> DType:
    if other == bool or other.itemsize == 1:
        return half
    return np.promote_types(float16, other) if other != float16 else float32


def promote_scalar(dtype: DType, scalar: type) -> DType:
    """The dtype of an operation between a tensor and a Python scalar (weakly typed).

    The tensor's dtype if the scalar's kind fits it; otherwise the tensor's width decides as far as
    it can: float32 with ``complex`` gives complex64, integers with ``float`` the default float64.
    """
    have, want = _RANK[_letter(dtype)], _SCALAR_RANK[scalar]
    if want <= have:
        return dtype
    if want == 3 and have == 2:
        return complex128 if dtype == float64 else complex64
    return default_of(scalar)


@functools.cache
def accumulated(dtype: DType) -> DType:
    """The dtype of sums: integers and bool become the default integer of their sign."""
    if in_category(dtype, "integer or boolean"):
        return uint64 if dtype.kind == "u" else int64
    return dtype


def real_of(dtype: DType) -> DType:
    """The dtype of the parts of a complex dtype; any other dtype itself."""
    if dtype.kind != "c":
        return dtype
    return float32 if dtype == complex64 else float64


def extreme(dtype: DType, sign: int) -> Any:
    """The least (`sign` -1) or greatest value of a dtype, infinities included; None for complex."""
    letter = _letter(dtype)
    if letter == "c":
        return None
    if letter == "f":
        return sign * float("inf")
    if letter == "b":
        return sign > 0
    return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min
