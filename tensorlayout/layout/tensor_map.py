"""Tensor maps: arguments of CUDA's ``cuTensorMapEncodeTiled`` for a layout, for copies by TMA.

The rules are those of the CUDA driver API, Tensor Map Object Management. Errors name the parameter
of that function and the rule. CUDA lists dimensions from the fastest to the slowest. Strides are in
**bytes**, without that of the fastest dimension, which is always one element.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tensorlayout.errors import short_repr, truncate
from tensorlayout.layout.checks import (
    check_integer,
    check_integers,
    check_length,
    raise_argument_error,
)
from tensorlayout.layout.padding import PaddingValue
from tensorlayout.layout.placement import Placement
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.support.light_dataclasses import frozen_dataclass

# Bits of an element, for each of CUDA's types without the common prefix. Packed types count single
# elements of 4 or 6 bits in all sizes, not their groups of 16.
_BITS = {
    **dict.fromkeys(("16U4_ALIGN8B", "16U4_ALIGN16B"), 4),
    **dict.fromkeys(("16U6_ALIGN16B",), 6),
    **dict.fromkeys(("UINT8",), 8),
    **dict.fromkeys(("UINT16", "FLOAT16", "BFLOAT16"), 16),
    **dict.fromkeys(("UINT32", "INT32", "FLOAT32", "FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ"), 32),
    **dict.fromkeys(("UINT64", "INT64", "FLOAT64"), 64),
}
# CUDA's types for dtypes that it has no name for, and for elements of a number of bytes.
_BYTES = {"BOOL": "UINT8", "INT8": "UINT8", "INT16": "UINT16"}
_SIZED = {1: "UINT8", 2: "UINT16", 4: "UINT32", 8: "UINT64"}
# Allowed swizzles of packed types whose elements are spread over 16 bytes when they are copied.
_SPREAD = {
    "16U4_ALIGN16B": ("NONE", "128B", "128B_ATOM_32B"),
    "16U6_ALIGN16B": ("NONE", "128B", "128B_ATOM_32B", "128B_ATOM_64B"),
}
_TYPE = "CU_TENSOR_MAP_DATA_TYPE_"
# For each choice the common prefix of CUDA's names, and the names.
_CHOICES = {
    "interleave": ("CU_TENSOR_MAP_INTERLEAVE_", ("NONE", "16B", "32B")),
    "swizzle": (
        "CU_TENSOR_MAP_SWIZZLE_",
        ("NONE", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"),
    ),
    "l2_promotion": ("CU_TENSOR_MAP_L2_PROMOTION_", ("NONE", "L2_64B", "L2_128B", "L2_256B")),
    "oob_fill": ("CU_TENSOR_MAP_FLOAT_OOB_FILL_", ("NONE", "NAN_REQUEST_ZERO_FMA")),
}


@frozen_dataclass
class TensorMap:
    """Arguments of CUDA's ``cuTensorMapEncodeTiled`` for a layout, except the address.

    Dimensions go from the fastest to the slowest.

    - `global_dims`, `box_dims`, `element_strides`: in elements.
    - `global_strides`: in **bytes**, without the fastest dimension, which is one element.
    - `data_type`, `interleave`, `swizzle`, `l2_promotion`, `oob_fill`: CUDA's names of enumerators.
    - `byte_offset`: **bytes** from slot 0 to the element at index (0, …, 0), whose address must be
      a multiple of `alignment` bytes.
    - `axes`: for each dimension of the map, the dimension of the layout and the number of its part,
      where 0 is the most major.

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
        """Number of dimensions of the map, from 1 to 5."""
        return len(self.global_dims)

    @property
    def alignment(self) -> int:
        """Required alignment of the first element's address, in **bytes**."""
        return _required_byte_alignment(
            self.data_type.removeprefix(_TYPE), self.interleave.rpartition("_")[2]
        )

    def coordinates(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the map's coordinates, fastest first, of the layout's element at `index`.

        The instructions of a kernel take the coordinates of the first element of a box. It may be
        outside the shape: TMA fills elements outside.

        Raises ValueError for another number of entries, TypeError for non-integers.

        >>> from tensorlayout import Layout
        >>> tiles = Layout.tiled((16, 256), [(8, 128)])
        >>> tiles.tensor_map((8, 128), "float32").coordinates((8, 130))
        (2, 0, 1, 1)
        """
        indices = check_integers("index", index)
        check_length("index", indices, 1 + max(dim for dim, _ in self.axes))
        extents = dict(zip(self.axes, self.global_dims, strict=True))
        result = []
        for (dim, part), extent in extents.items():
            unit = math.prod(n for (d, p), n in extents.items() if d == dim and p > part)
            digit = indices[dim] // unit
            # The first digit has no modulus, so that an index outside the shape is outside the map.
            result.append(digit % extent if part else digit)
        return tuple(result)

    def encode(self, address: int) -> Any:
        """Return a ``CUtensorMap`` of cuda-python, which kernels take as a parameter for TMA.

        `address`: device address of slot 0 of the storage.

        Raises ValueError if the first element is not at a multiple of `alignment` bytes, and for
        names that the installed cuda-python lacks; TypeError for a non-integer; ImportError without
        cuda-python; RuntimeError without a driver, or with the name of CUDA's error.
        """
        start = check_integer("address", address) + self.byte_offset
        if start <= 0 or start % self.alignment:
            rule = f"must be positive and a multiple of {self.alignment} bytes"
            message = f"{short_repr(address)} and {self.byte_offset} bytes to the first element"
            raise_argument_error("globalAddress", f"{rule}, got {message}")
        try:
            driver = import_lazily("cuda.bindings.driver")
        except ImportError as error:
            msg = "encode: needs cuda-python, which is not installed; pip install cuda-bindings"
            raise ImportError(msg) from error
        long, short = driver.cuuint64_t, driver.cuuint32_t
        result, encoded_map = driver.cuTensorMapEncodeTiled(
            _driver_enum_member(driver, "CUtensorMapDataType", self.data_type),
            self.rank,
            start,
            [long(n) for n in self.global_dims],
            # cuda-python would turn an empty list into a null pointer.
            [long(n) for n in self.global_strides or (0,)],
            [short(n) for n in self.box_dims],
            [short(n) for n in self.element_strides],
            _driver_enum_member(driver, "CUtensorMapInterleave", self.interleave),
            _driver_enum_member(driver, "CUtensorMapSwizzle", self.swizzle),
            _driver_enum_member(driver, "CUtensorMapL2promotion", self.l2_promotion),
            _driver_enum_member(driver, "CUtensorMapFloatOOBfill", self.oob_fill),
        )
        if result != driver.CUresult.CUDA_SUCCESS:
            name = getattr(result, "name", result)
            raise RuntimeError(f"encode: cuTensorMapEncodeTiled gives {name} for {self}")
        return encoded_map


def _driver_enum_member(driver: Any, kind: str, name: str) -> Any:
    try:
        return getattr(getattr(driver, kind), name)
    except AttributeError:
        msg = f"encode: the cuda-python that is installed has no {kind}.{name}; install a newer one"
        raise ValueError(msg) from None


# --- made -----------------------------------------------------------------------------------------


class _Axis(NamedTuple):
    """A dimension of a map, which is a part of a layout's dimension; all sizes count elements."""

    dim: int
    part: int
    extent: int
    stride: int
    box: int
    step: int


def make_tensor_map(
    layout: Placement,
    box: Sequence[int],
    dtype: Any,
    element_strides: Sequence[int] | None,
    *choices: str,
) -> TensorMap:
    """Return the tensor map of a layout; `choices` are in the order of `_CHOICES`."""
    kind = _tensor_map_data_type(dtype)
    choice_names = {
        name: _parse_enum_choice(name, choice)
        for name, choice in zip(_CHOICES, choices, strict=True)
    }
    boxes = check_integers("box", box)
    check_length("box", boxes, layout.ndim)
    steps = check_integers("element_strides", element_strides or (1,) * layout.ndim)
    check_length("element_strides", steps, layout.ndim)
    _check_mode_combinations(kind, choice_names)
    axes = _sort_axes_fastest_first(layout, [*_tensor_map_axes(layout, boxes, steps)])
    _check_map_limits(kind, choice_names, axes)
    return TensorMap(
        data_type=_TYPE + kind,
        global_dims=tuple(axis.extent for axis in axes),
        global_strides=tuple(
            _outer_byte_strides(
                kind, _required_byte_alignment(kind, choice_names["interleave"]), axes
            )
        ),
        box_dims=tuple(axis.box for axis in axes),
        element_strides=tuple(axis.step for axis in axes),
        byte_offset=_elements_to_bytes("globalAddress", "the offset", layout.offset, kind),
        axes=tuple((axis.dim, axis.part) for axis in axes),
        **{option: _CHOICES[option][0] + name for option, name in choice_names.items()},
    )


def _tensor_map_data_type(dtype: Any) -> str:
    """Return CUDA's name, without prefix, for a dtype, a name, or a number of bytes."""
    dtype_name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    name = dtype_name or getattr(dtype, "__name__", None)
    if isinstance(name, str):
        if not getattr(dtype, "isnative", True):
            raise_argument_error(
                "tensorDataType",
                f"must have the order of bytes of the GPU, got {short_repr(dtype)}",
            )
        word = name.upper().removeprefix(_TYPE)
        word = "UINT8" if word.startswith("FLOAT8_") else _BYTES.get(word, word)
        if word not in _BITS:
            fix = "a number of bytes, 1, 2, 4 or 8, moves any others"
            raise_argument_error(
                "tensorDataType", f"must be {', '.join(_BITS)}; {fix}, got {short_repr(name)}"
            )
        return word
    size = check_integer("dtype", dtype)
    if size not in _SIZED:
        raise_argument_error(
            "tensorDataType", f"must have 1, 2, 4 or 8 bytes, got {short_repr(size)}"
        )
    return _SIZED[size]


def _parse_enum_choice(option: str, requested: Any) -> str:
    """Return CUDA's name of a choice, without prefix."""
    prefix, allowed_names = _CHOICES[option]
    word = str(getattr(requested, "name", requested)).upper().removeprefix(prefix)
    for name in allowed_names:
        if word in (name, name.removeprefix("L2_"), name.partition("_REQUEST")[0]):
            return name
    return raise_argument_error(
        option, f"must be {', '.join(allowed_names)}, got {short_repr(requested)}"
    )


def _required_byte_alignment(kind: str, interleave: str) -> int:
    """Return the required alignment of addresses and strides, in **bytes**."""
    return 32 if interleave == "32B" or kind in _SPREAD else 16


def _check_mode_combinations(kind: str, names: dict[str, str]) -> None:
    interleave, swizzle = names["interleave"], names["swizzle"]
    if interleave == "32B" and swizzle != "32B":
        raise_argument_error("swizzle", f"must be 32B with an interleave of 32B, got {swizzle}")
    if kind == "16U6_ALIGN16B" and interleave != "NONE":
        raise_argument_error("interleave", f"must be NONE for {kind}, got {interleave}")
    if swizzle not in _SPREAD.get(kind, (swizzle,)):
        raise_argument_error(
            "swizzle", f"must be {', '.join(_SPREAD[kind])} for {kind}, got {swizzle}"
        )
    if (fill := names["oob_fill"]) != "NONE" and "FLOAT" not in kind:
        raise_argument_error(
            "oobFill", f"must be NONE but for types of floating point, got {fill} for {kind}"
        )


def _tensor_map_axes(
    layout: Placement, boxes: Sequence[int], steps: Sequence[int]
) -> Iterator[_Axis]:
    """Yield a dimension for each part of each dimension, the most minor first."""
    for dim in layout.minor_to_major:
        parts, size = layout.parts[dim], layout.shape[dim]
        if size == 0:
            raise_argument_error(
                "globalDim", f"must not be 0, got shape {short_repr(layout.shape)}"
            )
        if len(parts) > 1:
            _check_tiled_dim_extent_and_step(layout, dim, steps[dim])
        # A box takes whole parts, then a share of one, then one of the others.
        remaining_size = boxes[dim]
        for number in reversed(range(len(parts))):
            extent, stride = parts[number]
            if number == 0 or remaining_size < 1 or extent % remaining_size == 0:
                share, remaining_size = remaining_size, 1
            elif remaining_size % extent == 0:
                share, remaining_size = extent, remaining_size // extent
            else:
                tiles = math.prod(e for e, _ in parts[number:])
                rule = f"must be a multiple of the tiles of {tiles}, or divide them"
                raise_argument_error(
                    "boxDim", f"{rule}, got {short_repr(boxes[dim])} for dimension {dim}"
                )
            yield _Axis(dim, number, extent, stride, share, steps[dim])


def _check_tiled_dim_extent_and_step(layout: Placement, dim: int, step: int) -> None:
    padded_extent = math.prod(extent for extent, _ in layout.parts[dim])
    is_zero = layout.is_padded and layout.padding_value is PaddingValue.ZERO
    if padded_extent != layout.shape[dim] and not is_zero:
        mismatch = (
            f"{layout.shape[dim]} of {padded_extent} along dimension {dim} of {truncate(layout)}"
        )
        fix = "with padding_value=ZERO it reads zeros there, as it does outside"
        raise_argument_error(
            "globalDim", f"a tile that ends early is copied whole; {fix}, got {mismatch}"
        )
    if step != 1:
        raise_argument_error(
            "elementStrides", f"must be 1 along tiles, got {short_repr(step)} for dimension {dim}"
        )


def _sort_axes_fastest_first(layout: Placement, axes: list[_Axis]) -> list[_Axis]:
    """Return the axes, fastest first, in the layout's order or, with tiles, by strides."""
    if len(axes) > 5:
        message = f"{len(axes)} for {truncate(layout)}; a part of a tiled dimension counts as one"
        raise_argument_error(
            "tensorRank", f"must be at most 5, got {message}; reshape() or slice() the layout"
        )
    for dim, _, extent, stride, _, _ in axes:
        if extent > 1 and stride <= 0:
            kind = "a broadcast dimension repeats" if stride == 0 else "elements run backwards"
            raise_argument_error(
                "globalStrides", f"must be positive, got {stride} for dimension {dim}: {kind}"
            )
    # Without tiles the order of the layout holds, even for dimensions of size 1, whose strides may
    # be anything. The order of tiled dimensions says nothing of their parts, so strides decide. At
    # one stride, an extent of 1 comes last: it could not fill the 16 bytes that CUDA demands of a
    # box along the fastest dimension.
    if not layout.is_tiled:
        return axes
    return sorted(axes, key=lambda axis: (abs(axis.stride), axis.extent == 1))


def _check_map_limits(kind: str, choice_names: dict[str, str], axes: Sequence[_Axis]) -> None:
    interleave, swizzle = choice_names["interleave"], choice_names["swizzle"]
    if not axes or (interleave != "NONE" and len(axes) < 3):
        least = "3 with an interleave" if axes else "1"
        raise_argument_error("tensorRank", f"must be at least {least}, got {len(axes)}")
    for dim, _, extent, _, box, step in axes:
        if extent > 2**32:
            raise_argument_error(
                "globalDim", f"must be at most 2**32, got {short_repr(extent)} for dimension {dim}"
            )
        if not 1 <= box <= 256:
            raise_argument_error(
                "boxDim", f"must be from 1 to 256, got {short_repr(box)} for dimension {dim}"
            )
        if not 1 <= step <= 8:
            raise_argument_error(
                "elementStrides", f"must be from 1 to 8, got {short_repr(step)} for dimension {dim}"
            )
    first = axes[0]
    group = 128 if kind in _SPREAD else 2 if _BITS[kind] == 4 else 1
    if first.extent % group:
        message = f"{first.extent} for dimension {first.dim}"
        raise_argument_error(
            "globalDim", f"the fastest must be a multiple of {group} for {kind}, got {message}"
        )
    if kind in _SPREAD and first.box != group:
        raise_argument_error("boxDim", f"the fastest must be 128 for {kind}, got {first.box}")
    if first.extent > 1 and first.stride != 1:
        message = f"{first.stride} elements for dimension {first.dim}"
        raise_argument_error("globalStrides", f"the fastest must be one element, got {message}")
    if interleave != "NONE":
        return
    if first.step != 1:
        raise_argument_error(
            "elementStrides", f"the fastest must be 1 without an interleave, got {first.step}"
        )
    bits = first.box * _BITS[kind]
    if bits % 128:
        message = f"{first.box} of {kind}, {bits / 8:g} bytes"
        rule = "the fastest must take a multiple of 16 bytes without an interleave"
        raise_argument_error("boxDim", f"{rule}, got {message}")
    if swizzle != "NONE" and bits > 8 * int(swizzle.partition("B")[0]):
        rule = f"the fastest must take at most as many bytes as the swizzle {swizzle}"
        raise_argument_error("boxDim", f"{rule}, got {bits // 8}")


def _outer_byte_strides(kind: str, alignment: int, axes: Sequence[_Axis]) -> Iterator[int]:
    """Yield the byte strides of all dimensions but the fastest; each spans the faster ones."""
    bits = axes[0].extent * _BITS[kind]  # that the dimensions so far take
    for axis in axes[1:]:
        if axis.extent == 1:  # never used, but CUDA checks it: the least valid stride
            stride = -(-bits // (8 * alignment)) * alignment
        else:
            stride = _elements_to_bytes("globalStrides", f"dimension {axis.dim}", axis.stride, kind)
        message = f"got {stride} bytes for dimension {axis.dim}"
        if stride % alignment:
            raise_argument_error(
                "globalStrides", f"must be multiples of {alignment} bytes, {message}"
            )
        if stride >= 2**40:
            raise_argument_error("globalStrides", f"must be less than 2**40 bytes, {message}")
        if 8 * stride < bits:
            least = f"at least the {bits // 8} bytes of the faster dimensions"
            raise_argument_error("globalStrides", f"must be {least}, {message}")
        yield stride
        bits = 8 * stride * axis.extent


def _elements_to_bytes(parameter: str, description: str, elements: int, kind: str) -> int:
    byte_count, remainder = divmod(elements * _BITS[kind], 8)
    if remainder:
        raise_argument_error(
            parameter, f"must be whole bytes, got {elements} elements of {kind} for {description}"
        )
    return byte_count
