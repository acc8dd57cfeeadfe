"""Tensor descriptors: DML_BUFFER_TENSOR_DESC, its rules, and the buffer size function."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorlayout.devices import as_device
from tensorlayout.directml import constants, tables
from tensorlayout.directml.constants import DataType, DataTypeLike, TensorFlags, check_range
from tensorlayout.errors import call_with_error_name, raise_named_error, truncate
from tensorlayout.functions import arguments
from tensorlayout.functions.creation import empty
from tensorlayout.functions.layouts import from_storage
from tensorlayout.layout import Layout
from tensorlayout.support.interning import cached_property
from tensorlayout.tensor import Tensor, TensorSpec
from tensorlayout.typing import DeviceLike, Storage

_NAME = "TensorDesc"
# DML_TENSOR_DIMENSION_COUNT_MAX1.
_MOST_DIMENSIONS = 8
_LEAST_ALIGNMENT = 16  # bytes: DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT


@dataclass(frozen=True)
class TensorDesc:
    """Data type, sizes and strides of a tensor: DML_BUFFER_TENSOR_DESC.

    - `data_type`: a `DataType`, its name or number, or a dtype.
    - `sizes`: 1 to 8 sizes of at least 1.
    - `strides`: in **elements**, not negative; None means packed row-major.
    - `total_tensor_size_in_bytes`: at least the size implied by sizes and strides, its default.
    - `guaranteed_base_offset_alignment`: **bytes**, 0 or a power of two not below the element size.

    Rules of feature levels are checked by `validate`.

    Raises `ValueError` if a rule is broken; `TypeError` for values that are not numbers or data
    types.

    >>> from tensorlayout.directml import TensorDesc
    >>> TensorDesc("FLOAT32", (2, 3), (5, 1)).total_tensor_size_in_bytes
    32
    """

    data_type: DataType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None
    flags: TensorFlags
    total_tensor_size_in_bytes: int
    guaranteed_base_offset_alignment: int

    def __init__(
        self,
        data_type: DataTypeLike,
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        flags: str | int = TensorFlags.NONE,
        total_tensor_size_in_bytes: int | None = None,
        guaranteed_base_offset_alignment: int = 0,
    ) -> None:
        others = flags, total_tensor_size_in_bytes, guaranteed_base_offset_alignment
        normalized = call_with_error_name(
            _NAME, _normalize_members, data_type, sizes, strides, *others
        )
        # A frozen dataclass forbids assignment. The values come in the order of the fields.
        vars(self).update(zip(self.__dataclass_fields__, normalized, strict=True))

    @property
    def rank(self) -> int:
        """Number of dimensions: DimensionCount."""
        return len(self.sizes)

    @cached_property
    def layout(self) -> Layout:
        """Layout with these sizes and strides, from slot 0."""
        return Layout(self.sizes, self.strides)

    @cached_property
    def declared_total_bytes(self) -> int:
        """TotalTensorSizeInBytes if it exceeds what sizes and strides imply, else 0."""
        total = self.total_tensor_size_in_bytes
        return total if total > _buffer_nbytes(self.data_type, self.sizes, self.strides) else 0

    @classmethod
    def from_layout(cls, data_type: DataTypeLike, layout: Layout, **members: Any) -> TensorDesc:
        """Return the descriptor of a layout without its offset, which belongs to the binding.

        Raises `ValueError` for a layout that DirectML cannot describe: negative strides, tiles,
        sizes of 0.
        """
        if not isinstance(layout, Layout):
            raise_named_error(
                _NAME,
                f"layout must be a Layout, got {arguments.format_argument(layout)}",
                TypeError,
            )
        if layout.is_tiled:
            rule = f"layout {truncate(layout)} is tiled, DirectML has strides only"
            raise_named_error(_NAME, f"{rule}; use to_layout() first")
        return cls(data_type, layout.shape, layout.strides, **members)

    @classmethod
    def of(cls, x: Tensor, **members: Any) -> TensorDesc:
        """Return the descriptor of a tensor, including strides; raises as `from_layout`.

        A view with channels first over memory with channels last keeps its strides:

        >>> import tensorlayout as tl
        >>> from tensorlayout.directml import TensorDesc
        >>> image = tl.zeros((3, 5, 2), dtype=tl.float32)  # height, width, channels
        >>> TensorDesc.of(tl.permute_dims(image, (2, 0, 1))).strides
        (1, 10, 2)
        """
        x = call_with_error_name(_NAME, arguments.as_tensor, x)
        return cls.from_layout(x.dtype, x.layout, **members)

    def empty(self, *, device: DeviceLike | None = None) -> Tensor:
        """Return a new, uninitialised tensor as described.

        It has more memory than its elements need if `total_tensor_size_in_bytes` is larger.
        ValueError if elements share slots.
        """
        dtype, layout = self.data_type.dtype, self.layout
        device = as_device(device, f"{_NAME}: device")
        if not self.declared_total_bytes:
            return empty(self.sizes, dtype=dtype, device=device, layout=layout)
        # A storage longer than its elements: two such tensors, `step` slots apart, of which the
        # first is returned. The memory behind it belongs to its storage.
        step = max(layout.required_size, -(-self.declared_total_bytes // dtype.itemsize))
        sizes = (2, *self.sizes)
        double_layout = Layout(sizes, (step, *layout.strides))
        return empty(sizes, dtype=dtype, device=device, layout=double_layout)[0, ...]

    def over(self, buffer: Storage, offset_in_bytes: int = 0) -> Tensor:
        """Return a tensor as described that shares a buffer: DML_BUFFER_BINDING.

        `buffer`: an object with the buffer protocol, whose memory is read as bytes. Raises
        `ValueError` if `offset_in_bytes` is not a multiple of 16 **bytes** and of the guaranteed
        alignment, or if fewer than `total_tensor_size_in_bytes` follow it.
        """
        offset = call_with_error_name(
            _NAME, arguments.as_nonnegative_integer, "Offset", offset_in_bytes
        )
        # DirectML binds buffers at multiples of 16 bytes, whatever a descriptor promises beyond
        # that.
        alignment = max(_LEAST_ALIGNMENT, self.guaranteed_base_offset_alignment)
        if offset % alignment:
            received = arguments.format_argument(offset)
            raise_named_error(
                _NAME, f"Offset must be a multiple of {alignment} bytes, got {received}"
            )
        # A tensor without elements checks the buffer and tells its length before a layout is
        # applied.
        home = call_with_error_name(
            f"{_NAME}: buffer", from_storage, buffer, "(0):(1)", dtype="uint8", reinterpret=True
        ).home
        assert home is not None
        available_bytes = home[0].nbytes - offset
        if available_bytes < self.total_tensor_size_in_bytes:
            needed = self.total_tensor_size_in_bytes
            received = f"{arguments.format_argument(available_bytes)} bytes behind the offset"
            raise_named_error(_NAME, f"TotalTensorSizeInBytes is {needed}, got {received}")
        # 16 bytes are a multiple of every element, so the division leaves no remainder.
        dtype = self.data_type.dtype
        layout = self.layout.moved(offset // dtype.itemsize)
        return from_storage(buffer, layout, dtype=dtype, reinterpret=True)

    def with_rank(self, rank: int) -> TensorDesc:
        """Return a descriptor with `rank` dimensions, adding or removing leading sizes of 1.

        ValueError if a removed size is not 1.
        """
        new_rank = call_with_error_name(_NAME, arguments.as_integer, "rank", rank)
        call_with_error_name(_NAME, check_range, "DimensionCount", new_rank, 1, _MOST_DIMENSIONS)
        dropped_count = self.rank - new_rank
        if any(n != 1 for n in self.sizes[: max(dropped_count, 0)]):
            raise_named_error(_NAME, f"Sizes {self.sizes} cannot have {rank} dimensions")
        strides = self.layout.strides
        # The stride of a size of 1 is never used. A stride beyond all others keeps the new
        # dimensions the slowest.
        outermost = max((n * s for n, s in zip(self.sizes, strides, strict=True)), default=1)
        return dataclasses.replace(
            self,
            sizes=(1,) * -dropped_count + self.sizes[max(dropped_count, 0) :],
            # None stays None: the descriptor remains packed row-major.
            strides=self.strides
            and (outermost,) * -dropped_count + strides[max(dropped_count, 0) :],
        )

    def validate(self, feature_level: str | int = tables.HIGHEST) -> TensorDesc:
        """Return the descriptor; ValueError if a feature level lacks this data type or rank."""
        level = call_with_error_name(_NAME, tables.parse_feature_level, feature_level)
        try:
            tables.check_supported(_NAME, _NAME, level, self.data_type, self.rank)
        except (TypeError, ValueError) as error:
            raise_named_error(_NAME, str(error))
        return self


def calc_buffer_tensor_size(
    data_type: DataTypeLike, sizes: Sequence[int], strides: Sequence[int] | None = None
) -> int:
    """Return the minimal size of a buffer in **bytes**: DMLCalcBufferTensorSize.

    - `data_type`: as in `TensorDesc`. An unknown number gives 0, as in C.
    - `sizes`, `strides`: count elements.

    The result is a multiple of 4.

    Raises `TypeError` for other objects as data type; `ValueError` for `sizes` and `strides` that a
    descriptor must not have.

    >>> from tensorlayout.directml import calc_buffer_tensor_size
    >>> calc_buffer_tensor_size("FLOAT16", (3,))
    8
    """
    # C code may pass any number, and DMLCalcBufferTensorSize returns 0 for those that it does not
    # know.
    if type(data_type) is int and data_type not in DataType.__members__.values():
        return 0
    return _buffer_nbytes(
        *call_with_error_name(_NAME, _parse_type_sizes_strides, data_type, sizes, strides)
    )


def _spanned_elements(sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
    """Return the number of slots from the first to the last element."""
    if strides is None:
        return math.prod(sizes)
    return 1 + sum([(n - 1) * s for n, s in zip(sizes, strides, strict=True)])


def _buffer_nbytes(
    data_type: DataType, sizes: tuple[int, ...], strides: tuple[int, ...] | None
) -> int:
    # Two roundings, as in DirectMLX.h: 4-bit elements to bytes, then bytes to a multiple of 4.
    nbytes = -(-_spanned_elements(sizes, strides) * data_type.bits // 8)
    return (nbytes + 3) // 4 * 4


@functools.lru_cache(maxsize=1024)
def desc_from_spec(spec: TensorSpec) -> TensorDesc:
    """Return the descriptor of a spec, or a packed one if DirectML cannot describe its strides.

    Operators on tensors use the tensor's own placement, so a flipped view is read correctly.
    ValueError for tiles.
    """
    layout = spec.layout
    if not layout.is_tiled and min(layout.strides, default=0) < 0:
        layout = Layout(layout.shape)
    return TensorDesc.from_layout(spec.dtype, layout)


def parse_integers(member_name: str, value: Any) -> tuple[int, ...]:
    """Return integers from a sequence, or from one integer; TypeError for other objects."""
    if type(value) is list and {*map(type, value)} == {int}:  # fast path
        return tuple(value)
    parsed = arguments.as_integers(value, member_name, allow_none=False)
    return (parsed,) if isinstance(parsed, int) else tuple(parsed)


def _parse_type_sizes_strides(
    data_type: Any, given_sizes: Any, given_strides: Any
) -> tuple[DataType, tuple[int, ...], tuple[int, ...] | None]:
    """Return data type, sizes and strides; raise an error if a descriptor must not have them."""
    type_of_data = constants.parse_data_type("DataType", data_type)
    sizes = parse_integers("Sizes", given_sizes)
    check_range("DimensionCount", len(sizes), 1, _MOST_DIMENSIONS)
    if not 1 <= min(sizes) <= max(sizes) <= constants.UINT32_MAX:
        rule = "each of Sizes must be at least 1 and fit 32 bits"
        raise ValueError(f"{rule}, got {arguments.format_argument(sizes)}")
    if given_strides is None:
        return type_of_data, sizes, None
    strides = parse_integers("Strides", given_strides)
    if len(strides) != len(sizes):
        raise ValueError(f"Strides must be as many as Sizes, {len(sizes)}, got {len(strides)}")
    # Strides of dimensions of size 1 are never used; views may have any there.
    strides = tuple([max(s, 0) if n == 1 else s for n, s in zip(sizes, strides, strict=True)])
    if min(strides) < 0:
        rule = (
            "Strides are unsigned, so none can be negative, got "
            f"{arguments.format_argument(strides)}"
        )
        fix = "copy the tensor first, or reverse by SLICE1 with a negative stride"
        raise ValueError(f"{rule}; {fix}")
    if max(strides) > constants.UINT32_MAX:
        raise ValueError(
            f"each of Strides must fit 32 bits, got {arguments.format_argument(strides)}"
        )
    return type_of_data, sizes, strides


def _normalize_members(
    data_type: Any, sizes: Any, strides: Any, flags: Any, total: Any, alignment: Any
) -> tuple[Any, ...]:
    type_of_data, sizes, strides = _parse_type_sizes_strides(data_type, sizes, strides)
    # With gaps the span exceeds the number of elements; with strides of 0 it is the reverse.
    # DirectML limits what a tensor addresses to 32 bits, so both are checked.
    count = max(math.prod(sizes), _spanned_elements(sizes, strides))
    if count > constants.UINT32_MAX:
        received = f"Sizes {sizes}" + ("" if strides is None else f" and Strides {strides}")
        raise ValueError(
            f"a tensor addresses at most 2**32 - 1 elements, got {count} by {received}"
        )
    min_bytes = _buffer_nbytes(type_of_data, sizes, strides)
    total = min_bytes if total is None else arguments.as_integer("TotalTensorSizeInBytes", total)
    reason = ", from the minimum implied size on"
    check_range("TotalTensorSizeInBytes", total, min_bytes, 2**64 - 1, reason)
    name, element = "GuaranteedBaseOffsetAlignment", max(type_of_data.bits // 8, 1)
    alignment = arguments.as_integer(name, alignment)
    # A power of two has no bit in common with its predecessor.
    if alignment and (alignment & (alignment - 1) or not element <= alignment < 2**32):
        rule = f"0 or a power of two that is at least {element}, the bytes of an element"
        raise ValueError(f"{name} must be {rule}, got {arguments.format_argument(alignment)}")
    flags = constants.parse_enumeration("Flags", TensorFlags, flags)
    return type_of_data, sizes, strides, flags, total, alignment
