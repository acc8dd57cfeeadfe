"""Tensor maps: what CUDA's ``cuTensorMapEncodeTiled`` is told of a layout, for copies by TMA.

The rules are those of the CUDA driver API, Tensor Map Object Management. Errors name the parameter
of that function, and the rule. Dimensions there go from the fastest to the slowest, and their
strides, but the first, which is always one element, are in **bytes**.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tensorlayout.errors import cut, shown
from tensorlayout.layout.checks import checked_integer, checked_integers, checked_length, refuse
from tensorlayout.layout.padding import PaddingValue
from tensorlayout.layout.placement import Placement
from tensorlayout.support.lazy_imports import loaded
from tensorlayout.support.light_dataclasses import frozen

_BITS = {
    **dict.fromkeys(("16U4_ALIGN8B", "16U4_ALIGN16B"), 4),
    **dict.fromkeys(("16U6_ALIGN16B",), 6),
    **dict.fromkeys(("UINT8",), 8),
    **dict.fromkeys(("UINT16", "FLOAT16", "BFLOAT16"), 16),
    **dict.fromkeys(("UINT32", "INT32", "FLOAT32", "FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ"), 32),
    **dict.fromkeys(("UINT64", "INT64", "FLOAT64"), 64),
}
# Types of CUDA for what it has no name for, and for elements of so many bytes.
_BYTES = {"BOOL": "UINT8", "INT8": "UINT8", "INT16": "UINT16"}
_SIZED = {1: "UINT8", 2: "UINT16", 4: "UINT32", 8: "UINT64"}
# Packed, and spread over 16 bytes when they are copied: the swizzles that they may have.
_SPREAD = {
    "16U4_ALIGN16B": ("NONE", "128B", "128B_ATOM_32B"),
    "16U6_ALIGN16B": ("NONE", "128B", "128B_ATOM_32B", "128B_ATOM_64B"),
}
_TYPE = "CU_TENSOR_MAP_DATA_TYPE_"
# Of each choice what CUDA writes before its names, and the names.
_CHOICES = {
    "interleave": ("CU_TENSOR_MAP_INTERLEAVE_", ("NONE", "16B", "32B")),
    "swizzle": (
        "CU_TENSOR_MAP_SWIZZLE_",
        ("NONE", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"),
    ),
    "l2_promotion": ("CU_TENSOR_MAP_L2_PROMOTION_", ("NONE", "L2_64B", "L2_128B", "L2_256B")),
    "oob_fill": ("CU_TENSOR_MAP_FLOAT_OOB_FILL_", ("NONE", "NAN_REQUEST_ZERO_FMA")),
}


@frozen
class TensorMap:
    """The arguments of CUDA's ``cuTensorMapEncodeTiled`` for a layout, all of them but the address.

    Dimensions go from the fastest to the slowest: `global_dims` and `box_dims` in elements,
    `global_strides` in **bytes** (without the fastest, which is one element), `element_strides`.
    `data_type`, `interleave`, `swizzle`, `l2_promotion` and `oob_fill` are CUDA's names of the
    enumerators. `byte_offset`: where the element at index (0, …, 0) begins, in **bytes** from slot
    0; its address has to be a multiple of `alignment` bytes. `axes`: for each dimension of the map,
    that of the layout, and which of its parts, the most major being 0.

    >>> from tensorlayout import Layout
    >>> found = Layout.row_major((100, 64)).tensor_map((8, 32), "float32")
    >>> found.global_dims, found.global_strides, found.box_dims, found.data_type
    ((64, 100), (256,), (32, 8), 'CU_TENSOR_MAP_DATA_TYPE_FLOAT32')
    """

    data_type: str
    global_dims: tuple[int, ...]
    global_strides: tuple[int, ...]
    box_dims: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: str
    swizzle: str
    l2_promotion: str
    oob_fill: str
    byte_offset: int
    axes: tuple[tuple[int, int], ...]

    @property
    def rank(self) -> int:
        """The number of dimensions of the map, from 1 to 5."""
        return len(self.global_dims)

    @property
    def alignment(self) -> int:
        """What the address of the first element has to be a multiple of, in **bytes**."""
        return _alignment(self.data_type.removeprefix(_TYPE), self.interleave.rpartition("_")[2])

    def coordinates(self, index: Sequence[int]) -> tuple[int, ...]:
        """The coordinates in the map, fastest first, of the element at `index` of the layout.

        Of the first element of a box they are what the instructions of a kernel take. An index may
        be outside of the shape, as the first of a box may: what is copied from there is filled in.
        ValueError for another number of entries, TypeError for what is no integer.

        >>> from tensorlayout import Layout
        >>> tiles = Layout.tiled((16, 256), [(8, 128)])
        >>> tiles.tensor_map((8, 128), "float32").coordinates((8, 130))
        (2, 0, 1, 1)
        """
        at = checked_integers("index", index)
        checked_length("index", at, 1 + max(dim for dim, _ in self.axes))
        extents = dict(zip(self.axes, self.global_dims, strict=True))
        found = []
        for (dim, part), extent in extents.items():
            unit = math.prod(n for (d, p), n in extents.items() if d == dim and p > part)
            digit = at[dim] // unit
            found.append(digit % extent if part else digit)
        return tuple(found)

    def encode(self, address: int) -> Any:
        """The ``CUtensorMap`` of cuda-python: what kernels take, as a parameter, for TMA.

        `address`: that of slot 0 of the storage, on the device. ValueError where the first element
        does not begin at a multiple of `alignment` bytes, and for names that the installed
        cuda-python lacks; TypeError for what is no integer; ImportError without cuda-python;
        RuntimeError without a driver, and with the name of CUDA's error where it refuses.
        """
        start = checked_integer("address", address) + self.byte_offset
        if start <= 0 or start % self.alignment:
            rule = f"must be positive and a multiple of {self.alignment} bytes"
            came = f"{shown(address)} and {self.byte_offset} bytes to the first element"
            refuse("globalAddress", f"{rule}, got {came}")
        try:
            driver = loaded("cuda.bindings.driver")
        except ImportError as error:
            msg = "encode: needs cuda-python, which is not installed; pip install cuda-bindings"
            raise ImportError(msg) from error
        long, short = driver.cuuint64_t, driver.cuuint32_t
        result, made = driver.cuTensorMapEncodeTiled(
            _member(driver, "CUtensorMapDataType", self.data_type),
            self.rank,
            start,
            [long(n) for n in self.global_dims],
            # Of an empty list a null pointer is made.
            [long(n) for n in self.global_strides or (0,)],
            [short(n) for n in self.box_dims],
            [short(n) for n in self.element_strides],
            _member(driver, "CUtensorMapInterleave", self.interleave),
            _member(driver, "CUtensorMapSwizzle", self.swizzle),
            _member(driver, "CUtensorMapL2promotion", self.l2_promotion),
            _member(driver, "CUtensorMapFloatOOBfill", self.oob_fill),
        )
        if result != driver.CUresult.CUDA_SUCCESS:
            name = getattr(result, "name", result)
            raise RuntimeError(f"encode: cuTensorMapEncodeTiled gives {name} for {self}")
        return made


def _member(driver: Any, kind: str, name: str) -> Any:
    try:
        return getattr(getattr(driver, kind), name)
    except AttributeError:
        msg = f"encode: the cuda-python that is installed has no {kind}.{name}; install a newer one"
        raise ValueError(msg) from None


# --- made -----------------------------------------------------------------------------------------


class _Axis(NamedTuple):
    """A dimension of a map: a part of a dimension of the layout; stride and box count elements."""

    dim: int
    part: int
    extent: int
    stride: int
    box: int
    step: int


def tensor_map_of(
    layout: Placement,
    box: Sequence[int],
    dtype: Any,
    element_strides: Sequence[int] | None,
    *choices: str,
) -> TensorMap:
    """The map of a layout, the choices in the order of `_CHOICES`; see `Layout.tensor_map`."""
    kind = _data_type(dtype)
    names = {name: _chosen(name, given) for name, given in zip(_CHOICES, choices, strict=True)}
    boxes = checked_integers("box", box)
    checked_length("box", boxes, layout.ndim)
    steps = checked_integers("element_strides", element_strides or (1,) * layout.ndim)
    checked_length("element_strides", steps, layout.ndim)
    _check_choices(kind, names)
    axes = _ordered(layout, [*_axes(layout, boxes, steps)])
    _check_sizes(kind, names, axes)
    return TensorMap(
        data_type=_TYPE + kind,
        global_dims=tuple(axis.extent for axis in axes),
        global_strides=tuple(_strides(kind, _alignment(kind, names["interleave"]), axes)),
        box_dims=tuple(axis.box for axis in axes),
        element_strides=tuple(axis.step for axis in axes),
        byte_offset=_in_bytes("globalAddress", "the offset", layout.offset, kind),
        axes=tuple((axis.dim, axis.part) for axis in axes),
        **{option: _CHOICES[option][0] + name for option, name in names.items()},
    )


def _data_type(dtype: Any) -> str:
    """CUDA's name, without its beginning, of a dtype, its name, CUDA's own, or bytes."""
    given = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    name = given or getattr(dtype, "__name__", None)
    if isinstance(name, str):
        if not getattr(dtype, "isnative", True):
            refuse("tensorDataType", f"must have the order of bytes of the GPU, got {shown(dtype)}")
        word = name.upper().removeprefix(_TYPE)
        word = "UINT8" if word.startswith("FLOAT8_") else _BYTES.get(word, word)
        if word not in _BITS:
            fix = "a number of bytes, 1, 2, 4 or 8, moves any others"
            refuse("tensorDataType", f"must be {', '.join(_BITS)}; {fix}, got {shown(name)}")
        return word
    size = checked_integer("dtype", dtype)
    if size not in _SIZED:
        refuse("tensorDataType", f"must have 1, 2, 4 or 8 bytes, got {shown(size)}")
    return _SIZED[size]


def _chosen(option: str, given: Any) -> str:
    """CUDA's name of a choice, without its beginning."""
    prefix, names = _CHOICES[option]
    word = str(getattr(given, "name", given)).upper().removeprefix(prefix)
    for name in names:
        if word in (name, name.removeprefix("L2_"), name.partition("_REQUEST")[0]):
            return name
    return refuse(option, f"must be {', '.join(names)}, got {shown(given)}")


def _alignment(kind: str, interleave: str) -> int:
    """In bytes, of addresses and of strides."""
    return 32 if interleave == "32B" or kind in _SPREAD else 16


def _check_choices(kind: str, names: dict[str, str]) -> None:
    interleave, swizzle = names["interleave"], names["swizzle"]
    if interleave == "32B" and swizzle != "32B":
        refuse("swizzle", f"must be 32B with an interleave of 32B, got {swizzle}")
    if kind == "16U6_ALIGN16B" and interleave != "NONE":
        refuse("interleave", f"must be NONE for {kind}, got {interleave}")
    if swizzle not in _SPREAD.get(kind, (swizzle,)):
        refuse("swizzle", f"must be {', '.join(_SPREAD[kind])} for {kind}, got {swizzle}")
    if (fill := names["oob_fill"]) != "NONE" and "FLOAT" not in kind:
        refuse("oobFill", f"must be NONE but for types of floating point, got {fill} for {kind}")


def _axes(layout: Placement, boxes: Sequence[int], steps: Sequence[int]) -> Iterator[_Axis]:
    """A dimension for each part of each dimension, the most minor first."""
    for dim in layout.minor_to_major:
        parts, size = layout.parts[dim], layout.shape[dim]
        if size == 0:
            refuse("globalDim", f"must not be 0, got shape {shown(layout.shape)}")
        if len(parts) > 1:
            _check_tiles(layout, dim, steps[dim])
        rest = boxes[dim]  # a box takes whole parts, then a share of one, then one of the others
        for number in reversed(range(len(parts))):
            extent, stride = parts[number]
            if number == 0 or rest < 1 or extent % rest == 0:
                share, rest = rest, 1
            elif rest % extent == 0:
                share, rest = extent, rest // extent
            else:
                tiles = math.prod(e for e, _ in parts[number:])
                rule = f"must be a multiple of the tiles of {tiles}, or divide them"
                refuse("boxDim", f"{rule}, got {shown(boxes[dim])} for dimension {dim}")
            yield _Axis(dim, number, extent, stride, share, steps[dim])


def _check_tiles(layout: Placement, dim: int, step: int) -> None:
    whole = math.prod(extent for extent, _ in layout.parts[dim])
    is_zero = layout.is_padded and layout.padding_value is PaddingValue.ZERO
    if whole != layout.shape[dim] and not is_zero:
        came = f"{layout.shape[dim]} of {whole} along dimension {dim} of {cut(layout)}"
        fix = "with padding_value=ZERO it reads zeros there, as it does outside"
        refuse("globalDim", f"a tile that ends early is copied whole; {fix}, got {came}")
    if step != 1:
        refuse("elementStrides", f"must be 1 along tiles, got {shown(step)} for dimension {dim}")


def _ordered(layout: Placement, axes: list[_Axis]) -> list[_Axis]:
    """Fastest first: as the layout says, or as the tiles do."""
    if len(axes) > 5:
        came = f"{len(axes)} for {cut(layout)}; a part of a tiled dimension counts as one"
        refuse("tensorRank", f"must be at most 5, got {came}; reshape() or slice() the layout")
    for dim, _, extent, stride, _, _ in axes:
        if extent > 1 and stride <= 0:
            kind = "a broadcast dimension repeats" if stride == 0 else "elements run backwards"
            refuse("globalStrides", f"must be positive, got {stride} for dimension {dim}: {kind}")
    if not layout.is_tiled:
        return axes
    return sorted(axes, key=lambda axis: (abs(axis.stride), axis.extent == 1))


def _check_sizes(kind: str, names: dict[str, str], axes: Sequence[_Axis]) -> None:
    interleave, swizzle = names["interleave"], names["swizzle"]
    if not axes or (interleave != "NONE" and len(axes) < 3):
        least = "3 with an interleave" if axes else "1"
        refuse("tensorRank", f"must be at least {least}, got {len(axes)}")
    for dim, _, extent, _, box, step in axes:
        if extent > 2**32:
            refuse("globalDim", f"must be at most 2**32, got {shown(extent)} for dimension {dim}")
        if not 1 <= box <= 256:
            refuse("boxDim", f"must be from 1 to 256, got {shown(box)} for dimension {dim}")
        if not 1 <= step <= 8:
            refuse("elementStrides", f"must be from 1 to 8, got {shown(step)} for dimension {dim}")
    first = axes[0]
    group = 128 if kind in _SPREAD else 2 if _BITS[kind] == 4 else 1
    if first.extent % group:
        came = f"{first.extent} for dimension {first.dim}"
        refuse("globalDim", f"the fastest must be a multiple of {group} for {kind}, got {came}")
    if kind in _SPREAD and first.box != group:
        refuse("boxDim", f"the fastest must be 128 for {kind}, got {first.box}")
    if first.extent > 1 and first.stride != 1:
        came = f"{first.stride} elements for dimension {first.dim}"
        refuse("globalStrides", f"the fastest must be one element, got {came}")
    if interleave != "NONE":
        return
    if first.step != 1:
        refuse("elementStrides", f"the fastest must be 1 without an interleave, got {first.step}")
    bits = first.box * _BITS[kind]
    if bits % 128:
        came = f"{first.box} of {kind}, {bits / 8:g} bytes"
        rule = "the fastest must take a multiple of 16 bytes without an interleave"
        refuse("boxDim", f"{rule}, got {came}")
    if swizzle != "NONE" and bits > 8 * int(swizzle.partition("B")[0]):
        rule = f"the fastest must take at most as many bytes as the swizzle {swizzle}"
        refuse("boxDim", f"{rule}, got {bits // 8}")


def _strides(kind: str, alignment: int, axes: Sequence[_Axis]) -> Iterator[int]:
    """The strides in bytes of all dimensions but the fastest; each includes the one before it."""
    bits = axes[0].extent * _BITS[kind]  # that the dimensions so far take
    for axis in axes[1:]:
        if axis.extent == 1:  # it moves nothing
            stride = -(-bits // (8 * alignment)) * alignment
        else:
            stride = _in_bytes("globalStrides", f"dimension {axis.dim}", axis.stride, kind)
        came = f"got {stride} bytes for dimension {axis.dim}"
        if stride % alignment:
            refuse("globalStrides", f"must be multiples of {alignment} bytes, {came}")
        if stride >= 2**40:
            refuse("globalStrides", f"must be less than 2**40 bytes, {came}")
        if 8 * stride < bits:
            least = f"at least the {bits // 8} bytes of the faster dimensions"
            refuse("globalStrides", f"must be {least}, {came}")
        yield stride
        bits = 8 * stride * axis.extent


def _in_bytes(parameter: str, what: str, elements: int, kind: str) -> int:
    whole, rest = divmod(elements * _BITS[kind], 8)
    if rest:
        refuse(parameter, f"must be whole bytes, got {elements} elements of {kind} for {what}")
    return whole
