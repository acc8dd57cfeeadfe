"""`Tensor`: memory, dtype, layout and device.

Operators and methods that compute are functions of other modules, which `functions.methods` binds
to the class when the package is imported. Type checkers find methods there, and operators here.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from tensorlayout.devices import Device
from tensorlayout.dtypes import DType, value_bits
from tensorlayout.errors import truncate
from tensorlayout.layout import Layout
from tensorlayout.support.interning import Interned
from tensorlayout.typing import Array, ArrayLike, DTypeLike, Key, NumpyOperand, Operand

if TYPE_CHECKING:  # nothing above is imported when the package runs
    from tensorlayout.functions.methods import SpecialMethods
else:
    SpecialMethods = object

_interned_specs: Interned[TensorSpec] = Interned()


class TensorSpec:
    """Everything that a plan may know of a tensor: dtype, device, and the layout moved to slot 0.

    Specs are interned: equal ones are the same object, so a plan is found by identity. The offset
    in the storage is not part of a spec, so a thousand slices of one shape share one.
    """

    __slots__ = ("__weakref__", "device", "dtype", "layout")

    dtype: DType
    layout: Layout
    device: Device

    def __new__(cls, dtype: DType, layout: Layout, device: Device) -> TensorSpec:
        """Return the interned spec; `layout` is moved to slot 0.

        Raises SlotBitsError if slots below a byte do not have the bits of the dtype.
        """
        if layout._span[0]:
            layout = layout.at_origin
        # The parts of the device, because hashing a Device runs Python code.
        key = (dtype, layout, device.kind, device.number)
        reference = _interned_specs.find_reference(key)
        spec = None if reference is None else reference()
        if spec is None:
            # Only a new spec is checked: an interned one has passed.
            if layout.slot_bits is not None:
                check_slot_bits(layout, dtype)
            new_spec = object.__new__(cls)
            new_spec.dtype, new_spec.layout, new_spec.device = dtype, layout, device
            spec = _interned_specs.intern(key, new_spec)
        return spec

    def __repr__(self) -> str:
        return f"TensorSpec({self.dtype}, {self.layout}, {self.device})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self.dtype, self.layout, self.device)


class SlotBitsError(ValueError):
    """The slots of a layout packed below a byte do not have the bits of the dtype."""


def check_slot_bits(layout: Layout, dtype: DType) -> None:
    """Raise SlotBitsError if a layout packed below a byte does not fit a dtype."""
    if layout.slot_bits != value_bits(dtype):
        rule = f"slots of {layout.slot_bits} bits hold no {dtype}, which has {value_bits(dtype)}"
        raise SlotBitsError(f"{rule}; layout {truncate(layout)}, use its with_slot_bits(None)")


# Place of a tensor in a larger storage: the storage, and the lowest slot in it. On the CPU the
# storage is a C-contiguous array, of which only the bytes matter. On CUDA it is a driver's buffer.
# It is a plain tuple because every view makes one. Below a byte, the lowest slot begins a byte; it
# is counted in slots, as in layouts.
Home = tuple[Any, int]


class _PublicDirMeta(type):
    """Metaclass of `Tensor` that hides internal attributes from `dir` and completion."""

    def __dir__(cls) -> list[str]:
        # Names of other libraries raise AttributeError with a hint; they are not listed either.
        return [n for n in type.__dir__(cls) if n not in _INTERNAL and hasattr(cls, n)]


# Attributes that only this package uses.
_INTERNAL = ("home", "memory", "spec")


class Tensor(SpecialMethods, metaclass=_PublicDirMeta):
    """An array of the array API standard with an explicit memory layout.

    Functions such as `asarray`, `zeros` and `from_storage` create tensors. Calling the class raises
    TypeError.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([[1, 2, 3], [4, 5, 6]])
    >>> isinstance(x, tl.Tensor), x.T.layout
    (True, Layout.parse('(3,2):(1,3)'))
    """

    # Internal to the package. memory: on CUDA an address; on the CPU the strided NumPy view of the
    # elements, kept because building one costs more than a small addition (of a tiled tensor, the
    # vector of its slots from the lowest on; of one packed below a byte, the bytes that they take).
    # home: on the CPU None if the memory is the whole storage.
    __slots__ = ("__weakref__", "home", "memory", "spec")

    memory: Any
    spec: TensorSpec
    home: Home | None

    def __init__(self, *_: object, **__: object) -> None:
        msg = "Tensor: not made by calling the class; use asarray(), zeros() or from_storage()"
        raise TypeError(msg)

    @classmethod
    def _from_memory(cls, memory: Any, spec: TensorSpec, home: Home | None = None) -> Tensor:
        """Return a tensor over memory that must fit the spec; this is not checked."""
        tensor = object.__new__(cls)
        tensor.memory = memory
        tensor.spec = spec
        tensor.home = home
        return tensor

    @property
    def dtype(self) -> DType:
        """Element type, a NumPy dtype object."""
        return self.spec.dtype

    @property
    def device(self) -> Device:
        """Device that holds the memory."""
        return self.spec.device

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions, without padding."""
        return self.spec.layout.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.spec.layout.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.spec.layout.size

    @property
    def layout(self) -> Layout:
        """Layout: the place of each element, in slots of the storage."""
        home, layout = self.home, self.spec.layout
        return layout.moved(home[1]) if home and home[1] else layout

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides in **elements**. Raises ValueError for a tiled tensor."""
        return self.spec.layout.strides

    @property
    def itemsize(self) -> int:
        """**Bytes** of one element."""
        return int(self.spec.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """**Bytes** of the elements, without padding and gaps."""
        return self.spec.layout._slots_to_bytes(self.size, self.itemsize)

    def __dir__(self) -> list[str]:
        return dir(type(self))

    def __hash__(self) -> int:
        reason = "tensors can be written to; use id(x), or x.layout and x.dtype"
        raise TypeError(f"unhashable type: 'Tensor', because {reason}")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len: a tensor of rank 0 has no length")
        return self.shape[0]

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Tensor:
        return self.copy()

    if TYPE_CHECKING:  # bound by `methods`

        @property
        def readonly(self) -> bool: ...
        @property
        def T(self) -> Tensor: ...  # noqa: N802 - the standard's name
        @property
        def mT(self) -> Tensor: ...  # noqa: N802 - the standard's name

        @property
        def real(self) -> Tensor: ...
        @real.setter
        def real(self, value: ArrayLike) -> None: ...
        @property
        def imag(self) -> Tensor: ...
        @imag.setter
        def imag(self, value: ArrayLike) -> None: ...

        def conj(self, /) -> Tensor: ...

        conjugate = conj

        def view(self, dtype: DTypeLike | None = None) -> Tensor: ...

        def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType: ...
        def __array_function__(
            self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]
        ) -> Any: ...
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any: ...
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]: ...
        def __getitem__(self, key: Key, /) -> Tensor: ...
        def __setitem__(self, key: Key, value: ArrayLike, /) -> None: ...
        def __contains__(self, value: Tensor | Operand, /) -> bool: ...
        def __divmod__(self, other: Tensor | float | NumpyOperand, /) -> tuple[Tensor, Tensor]: ...
        def __rdivmod__(self, other: Tensor | float | NumpyOperand, /) -> tuple[Tensor, Tensor]: ...

        def __pos__(self) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __add__(self, other: Tensor | Operand, /) -> Tensor: ...

        __radd__ = __iadd__ = __add__
        __sub__ = __rsub__ = __isub__ = __add__
        __mul__ = __rmul__ = __imul__ = __add__
        __truediv__ = __rtruediv__ = __itruediv__ = __add__
        __pow__ = __rpow__ = __ipow__ = __add__

        def __floordiv__(self, other: Tensor | float | NumpyOperand, /) -> Tensor: ...

        __rfloordiv__ = __ifloordiv__ = __floordiv__
        __mod__ = __rmod__ = __imod__ = __floordiv__
        __lt__ = __le__ = __gt__ = __ge__ = __floordiv__

        def __and__(self, other: Tensor | int | NumpyOperand, /) -> Tensor: ...

        __rand__ = __iand__ = __and__
        __or__ = __ror__ = __ior__ = __and__
        __xor__ = __rxor__ = __ixor__ = __and__
        __lshift__ = __rlshift__ = __ilshift__ = __and__
        __rshift__ = __rrshift__ = __irshift__ = __and__

        def __eq__(self, other: Tensor | Operand, /) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Tensor | Operand, /) -> Tensor: ...  # type: ignore[override]
        def __matmul__(self, other: Tensor | Array, /) -> Tensor: ...

        __rmatmul__ = __imatmul__ = __matmul__
