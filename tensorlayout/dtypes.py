"""Element types: NumPy dtype objects, their kinds, promotion and limits.

Supported are the standard's thirteen dtypes, ``float16``, ``bfloat16``, and *narrow* types of at
most 8 bits, which are stored, moved and converted, but not computed with. They are NumPy's dtype
objects (ml_dtypes' for bfloat16 and narrow types), so that other libraries understand them. For
bool, any non-zero byte is True; for a narrow type, only the low bits of a byte matter.
"""

from __future__ import annotations

import builtins
import functools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorlayout.errors import short_repr
from tensorlayout.support.lazy_imports import import_lazily

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


class Narrow(NamedTuple):
    """A type of at most 8 bits, and its names in other formats."""

    bits: int  # bits of a value: the low bits of a byte unless values are packed
    dlpack: int  # type code in DLPack 1.1, where its width is `bits`
    xla: str  # name in the text of XLA's shapes
    onnx: str | None = None  # name in ONNX's ``TensorProto.DataType``
    directml: str | None = None  # name after the prefix ``DML_TENSOR_DATA_TYPE_``


# Keys are the names in ml_dtypes, which also knows the limits of these types.
NARROW = {
    "float8_e3m4": Narrow(8, 7, "f8e3m4"),
    "float8_e4m3": Narrow(8, 8, "f8e4m3"),
    "float8_e4m3b11fnuz": Narrow(8, 9, "f8e4m3b11fnuz"),
    "float8_e4m3fn": Narrow(8, 10, "f8e4m3fn", "FLOAT8E4M3FN"),
    "float8_e4m3fnuz": Narrow(8, 11, "f8e4m3fnuz", "FLOAT8E4M3FNUZ"),
    "float8_e5m2": Narrow(8, 12, "f8e5m2", "FLOAT8E5M2"),
    "float8_e5m2fnuz": Narrow(8, 13, "f8e5m2fnuz", "FLOAT8E5M2FNUZ"),
    "float8_e8m0fnu": Narrow(8, 14, "f8e8m0fnu", "FLOAT8E8M0"),
    "float6_e2m3fn": Narrow(6, 15, "f6e2m3fn"),
    "float6_e3m2fn": Narrow(6, 16, "f6e3m2fn"),
    "float4_e2m1fn": Narrow(4, 17, "f4e2m1fn", "FLOAT4E2M1"),
    "int1": Narrow(1, 0, "s1"),
    "int2": Narrow(2, 0, "s2", "INT2"),
    "int4": Narrow(4, 0, "s4", "INT4", "INT4"),
    "uint1": Narrow(1, 1, "u1"),
    "uint2": Narrow(2, 1, "u2", "UINT2"),
    "uint4": Narrow(4, 1, "u4", "UINT4", "UINT4"),
}

# NumPy's letters of kinds, and two of our own for the narrow types.
_KINDS = {
    "b": "bool",
    "i": "signed integer",
    "u": "unsigned integer",
    "f": "real floating",
    "c": "complex floating",
    "x": "narrow floating",
    "y": "narrow integer",
}

# Supported NumPy dtypes, by themselves: another name of one type, such as "longlong", is equal to
# it and finds it. The kind alone does not tell: ml_dtypes has a dtype of kind "f" with 8 bits.
_SUPPORTED: dict[DType, DType] = {dtype: dtype for dtype in (*STANDARD, float16)}

# Names that are passed to NumPy. It accepts whole expressions, too ("2T", "i4,i4", "(2,)f4"), of
# any length, and fails badly on some of them.
_NAME = re.compile(r"[=<>|]?[b-zA-Z?][a-zA-Z]{0,15}[0-9]{0,3}")

# Kinds of the standard's `isdtype`, and categories of dtypes in the descriptions of its functions.
_CATEGORIES = {kind: letter for letter, kind in _KINDS.items()}
_CATEGORIES |= {"integral": "iu", "numeric": "iufc", "narrow": "xy"}
ISDTYPE_KINDS = frozenset(_CATEGORIES)
_CATEGORIES |= {"real numeric": "iuf", "floating-point": "fc"}
_CATEGORIES |= {"integer or boolean": "biu", "any": "biufc", "any or narrow": "biufcxy"}
_CATEGORIES |= {"any real floating": "fx", "any integral": "iuy"}

_RANK = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3, "x": 2, "y": 1}
_SCALAR_RANK: dict[type, int] = {builtins.bool: 0, int: 1, float: 2, complex: 3}
SCALARS = frozenset(_SCALAR_RANK)


@functools.cache
def _ml_dtypes_dtype(name: str) -> DType:
    return np.dtype(getattr(import_lazily("ml_dtypes"), name))


# Importing ml_dtypes takes several milliseconds, so it happens at the first use of its types.
LAZY_DTYPES = ("bfloat16", *NARROW)


def _import_lazy_dtype(name: str) -> Any:
    """Import a dtype of ml_dtypes and keep it in the module; AttributeError for others."""
    if name not in LAZY_DTYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    dtype = globals()[name] = _ml_dtypes_dtype(name)
    return dtype


if TYPE_CHECKING:  # with `__getattr__`, type checkers would accept any attribute of the module
    bfloat16: DType
    float8_e3m4: DType
    float8_e4m3: DType
    float8_e4m3b11fnuz: DType
    float8_e4m3fn: DType
    float8_e4m3fnuz: DType
    float8_e5m2: DType
    float8_e5m2fnuz: DType
    float8_e8m0fnu: DType
    float6_e2m3fn: DType
    float6_e3m2fn: DType
    float4_e2m1fn: DType
    int1: DType
    int2: DType
    int4: DType
    uint1: DType
    uint2: DType
    uint4: DType
else:
    __getattr__ = _import_lazy_dtype


def is_bfloat16(dtype: DType) -> Any:
    """Return whether `dtype` is bfloat16, without importing ml_dtypes."""
    return dtype.kind == "V" and dtype.name == "bfloat16"


def is_narrow_dtype(dtype: DType) -> Any:
    """Return whether a supported dtype is narrow, without importing ml_dtypes."""
    # NumPy has no float of one byte. ml_dtypes gives float8_e5m2 the kind "f", others "V".
    return dtype.itemsize == 1 and dtype.kind in "Vf"


def is_numpy_dtype(dtype: DType) -> Any:
    """Return whether a supported dtype is NumPy's own, in any byte order."""
    return dtype.kind != "V" and not is_narrow_dtype(dtype)


def computing_dtype(dtype: DType) -> DType:
    """Return the smallest dtype for computing that holds all values of a narrow dtype."""
    if not is_in_category(dtype, "narrow integer"):
        return float32
    return uint8 if dtype.name.startswith("u") else int8


def value_bits(dtype: DType) -> int:
    """Return the bits of a value of a supported dtype: 8 for bool, 4 for int4."""
    return NARROW[dtype.name].bits if is_narrow_dtype(dtype) else 8 * dtype.itemsize


def standard_kind(dtype: DType) -> str:
    """Return the kind of a dtype in the standard's words. Raises TypeError if not supported."""
    return _KINDS[_kind_letter(dtype)]


def _kind_letter(dtype: DType) -> str:
    if dtype in _SUPPORTED:
        return dtype.kind
    if is_bfloat16(dtype):
        return "f"
    if is_narrow_dtype(dtype) and dtype.name in NARROW:
        return "y" if "int" in dtype.name else "x"
    raise TypeError(f"dtype: must be one of this namespace, got {short_repr(dtype)}")


@functools.cache
def is_in_category(dtype: DType, category: str) -> Any:
    """Return whether `dtype` belongs to a category such as ``"real numeric"``."""
    return _kind_letter(dtype) in _CATEGORIES[category]


@functools.cache
def integer_limits(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest value of an integer dtype, even a narrow one."""
    info = import_lazily("ml_dtypes").iinfo(dtype) if is_narrow_dtype(dtype) else np.iinfo(dtype)
    return int(info.min), int(info.max)


def as_dtype(dtype: Any, argument: str = "dtype:") -> DType:
    """Return a supported dtype from a dtype, a scalar type, or a name.

    `argument`: prefix of errors, such as ``"zeros: dtype"``.

    Raises TypeError for unsupported types, and for a byte order that is not the machine's.
    """
    if isinstance(dtype, np.dtype) and is_standard_dtype(dtype):
        return _SUPPORTED[dtype]
    numpy_dtype = _parse_numpy_dtype(dtype)
    supported = None if numpy_dtype is None else _supported_dtype(numpy_dtype)
    if supported is not None:
        return supported
    if numpy_dtype is not None and (native := native_order_dtype(numpy_dtype)) is not None:
        rule = f"must have the byte order of this machine, got {_format_argument(dtype)}"
        fix = f"use {native.name}; asarray() converts NumPy arrays of the other order in a copy"
        raise TypeError(f"{argument} {rule}; {fix}")
    hint = ""
    if isinstance(dtype, str):
        import difflib  # only for errors

        close = difflib.get_close_matches(dtype, [*map(str, _SUPPORTED), *LAZY_DTYPES], 1)
        names = ", ".join(_supported_dtype_names())
        hint = f"; did you mean {close[0]!r}?" if close else f"; they are {names}"
    rule = f"{argument} must be a dtype of this namespace, got {_format_argument(dtype)}"
    raise TypeError(f"{rule}{hint}")


def _parse_numpy_dtype(dtype: Any) -> DType | None:
    """Return the NumPy dtype for a dtype, name or scalar type; None for other objects."""
    if isinstance(dtype, np.dtype):
        return dtype
    if isinstance(dtype, str):
        if dtype in LAZY_DTYPES:
            return _ml_dtypes_dtype(dtype)
        if not _NAME.fullmatch(dtype):
            return None
    elif not isinstance(dtype, type):
        # NumPy would accept any object with an attribute `dtype`.
        return None
    elif not issubclass(dtype, np.generic):
        return next((default_scalar_dtype(scalar) for scalar in SCALARS if dtype is scalar), None)
    try:
        numpy_dtype: DType = np.dtype(dtype)
    except (TypeError, ValueError, Warning):  # warnings are errors if the filters say so
        return None
    return numpy_dtype


def _supported_dtype(dtype: DType) -> DType | None:
    """Return the supported dtype that is equal to `dtype`, or None."""
    if is_standard_dtype(dtype):
        return _SUPPORTED[dtype]
    return dtype if dtype.name in LAZY_DTYPES and dtype == _ml_dtypes_dtype(dtype.name) else None


def is_standard_dtype(dtype: DType) -> builtins.bool:
    """Return whether a dtype is the standard's, or float16, in this machine's byte order."""
    return dtype.kind in _KINDS and dtype in _SUPPORTED


def native_order_dtype(dtype: DType) -> DType | None:
    """Return the supported dtype for one in foreign byte order; None for other dtypes."""
    if dtype.kind not in _KINDS or dtype.isnative:
        return None
    return _supported_dtype(dtype.newbyteorder("="))


def _supported_dtype_names() -> list[str]:
    """Return supported dtype names by kind and width, with examples of narrow ones."""
    standard = sorted(_SUPPORTED, key=lambda d: ("biufc".index(d.kind), d.itemsize))
    return [*map(str, standard), "bfloat16", "and narrow ones such as float8_e4m3fn and int4"]


def _format_argument(dtype: Any) -> str:
    """Return the text of an argument for errors; arrays and sequences by their type's name."""
    is_short = dtype is None or isinstance(dtype, (np.dtype, type, str, int))
    return short_repr(dtype) if is_short else type(dtype).__name__


def integer_overflow_error(number: int, dtype: DType) -> OverflowError:
    """Return the error for a Python integer that does not fit; long ones are not written out."""
    bits = number.bit_length()
    description = str(number) if bits <= 128 else f"of {bits} bits"
    rule = f"Python integer {description} out of bounds for {dtype}"
    if is_in_category(dtype, "any integral") and dtype.itemsize < 8:  # 19 digits would help nobody
        rule += ", {} to {}".format(*integer_limits(dtype))
    return OverflowError(rule)


def default_scalar_dtype(scalar: type) -> DType:
    """Return the default dtype of a type of Python scalar."""
    return {0: bool, 1: int64, 2: float64, 3: complex128}[_SCALAR_RANK[scalar]]


@functools.cache
def promote_dtypes(first: DType, second: DType) -> DType:
    """Return the dtype to which two dtypes promote (standard: "Type promotion rules").

    The standard does not define integers with floating-point types: they promote as in NumPy.
    bfloat16 promotes with float16 to float32, and with integers of more than 8 bits to float32 or,
    above 16 bits, to float64. Raises TypeError for a narrow type with any other.
    """
    if first == second:
        return first
    if is_narrow_dtype(first) or is_narrow_dtype(second):
        msg = f"{first} and {second} promote to no dtype; astype() one of them to the other's first"
        raise TypeError(msg)
    for half, other in ((first, second), (second, first)):
        # The 8 significant bits of bfloat16 hold all integers of 8 bits. With wider dtypes, float16
        # takes its place: the results, at least float32, hold bfloat16 as well.
        if is_bfloat16(half):
            if other == bool or other.itemsize == 1:
                return half
            return np.promote_types(float16, other) if other != float16 else float32
    return np.promote_types(first, second)


def is_same_kind_cast(source: DType, target: DType) -> Any:
    """Return whether NumPy's rule ``same_kind`` allows a cast; narrow types cast to themselves."""
    if is_narrow_dtype(source) or is_narrow_dtype(target):
        return source == target
    # NumPy's order of kinds: a cast may go to the right, so from unsigned to signed.
    order = "buifc".index
    return order(_kind_letter(source)) <= order(_kind_letter(target))


def promote_with_scalar(dtype: DType, scalar: type) -> DType:
    """Return the dtype of an operation between a tensor and a Python scalar (weakly typed).

    It is the tensor's dtype if the scalar's kind fits. Otherwise float32 with ``complex`` becomes
    complex64, and integers with ``float`` become the default float64. Raises TypeError for a narrow
    dtype with a scalar of a higher kind.
    """
    tensor_rank, scalar_rank = _RANK[_kind_letter(dtype)], _SCALAR_RANK[scalar]
    if scalar_rank <= tensor_rank:
        return dtype
    if is_narrow_dtype(dtype):
        msg = f"{dtype} and a Python {scalar.__name__} promote to no dtype; astype() first"
        raise TypeError(msg)
    if scalar_rank == 3 and tensor_rank == 2:
        return complex128 if dtype == float64 else complex64
    return default_scalar_dtype(scalar)


@functools.cache
def sum_dtype(dtype: DType) -> DType:
    """Return the dtype of sums: 64-bit integers of the same sign for integers and bool."""
    if is_in_category(dtype, "integer or boolean"):
        return uint64 if dtype.kind == "u" else int64
    return dtype


def real_part_dtype(dtype: DType) -> DType:
    """Return the dtype of the parts of a complex dtype; other dtypes unchanged."""
    if dtype.kind != "c":
        return dtype
    return float32 if dtype == complex64 else float64


def extreme_value(dtype: DType, sign: int) -> Any:
    """Return the least (`sign` -1) or greatest value of a dtype; None for complex dtypes."""
    letter = _kind_letter(dtype)
    if letter == "c":
        return None
    infinity = sign * float("inf")
    # Some narrow floats have no infinity: there it converts to NaN or to the greatest value.
    if letter == "f" or (letter == "x" and float(dtype.type(infinity)) == infinity):
        return infinity
    if letter == "b":
        return sign > 0
    info = import_lazily("ml_dtypes").finfo(dtype) if letter == "x" else None
    lowest, highest = (info.min, info.max) if info else integer_limits(dtype)
    return highest if sign > 0 else lowest
