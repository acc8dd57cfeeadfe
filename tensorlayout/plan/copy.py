"""Plans of copies, assignments to whole tensors, and transfers between devices."""

from __future__ import annotations

from tensorlayout.devices import Device
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.events import Kind, copy_trace_kind
from tensorlayout.plan.rules import (
    adapt_layout_to_dtype,
    check_no_complex_to_real,
    check_padding_for_dtype,
    check_same_device,
)
from tensorlayout.tensor import TensorSpec


@plan_dataclass
class CopyPlan(Plan):
    """A new tensor with the elements of another, converted to the result's dtype.

    A result of another shape is row-major, with the elements in row-major index order.
    """

    kind = "copy"

    source: TensorSpec
    result: TensorSpec
    saturate: bool = False  # clips values to the limits of a narrow dtype
    # The source holds Python numbers: a trace shows that the tensor was created, not copied.
    from_python_numbers: bool = False

    @property
    def trace_kind(self) -> Kind:
        return (
            "compute"
            if self.from_python_numbers
            else copy_trace_kind(self.source.layout, self.result.layout)
        )


@plan_dataclass
class Copy:
    """A copy into a given layout and dtype; None for the source's form, or dtype."""

    name: str
    from_python_numbers: bool = False

    def plan(
        self, source: TensorSpec, layout: Layout | None, dtype: DType | None, saturate: bool = False
    ) -> CopyPlan:
        kind = source.dtype if dtype is None else dtype
        # The standard advises against such a cast, in which NumPy drops the imaginary parts. As a
        # bool, a complex number is True unless it is 0, so nothing is dropped.
        if source.dtype.kind == "c" and kind.kind not in "bc":
            raise TypeError(f"{source.dtype} cannot become {kind}; take real() or abs() first")
        if layout is None:
            result_layout = adapt_layout_to_dtype(source.layout.form, kind)
        else:
            result_layout = check_padding_for_dtype(layout, kind)
        result = TensorSpec(kind, result_layout, source.device)
        return CopyPlan(source, result, saturate, self.from_python_numbers)


@plan_dataclass
class TransferPlan(Plan):
    """A copy of a storage's bytes on another device, gaps and padding included."""

    kind = "transfer"
    trace_kind = "copy"

    source: TensorSpec
    result: TensorSpec


@plan_dataclass
class Transfer:
    """A copy on another device in the same layout; gaps are copied too, so pack them away first."""

    name: str = "to_device"

    def plan(self, source: TensorSpec, device: Device) -> TransferPlan:
        return TransferPlan(source, TensorSpec(source.dtype, source.layout, device))


@plan_dataclass
class AssignPlan(Plan):
    """A write of a tensor or Python scalar into another tensor."""

    kind = "assign"
    destinations = 1
    in_place = True

    name: str
    source: TensorSpec | type
    result: TensorSpec

    @property
    def trace_kind(self) -> Kind:
        return "compute" if isinstance(self.source, type) else "copy"


@plan_dataclass
class Assign:
    """A write of a value, which is broadcast and converted, into a tensor."""

    name: str = "__setitem__"

    def plan(self, destination: TensorSpec, value: TensorSpec | type) -> AssignPlan:
        if isinstance(value, TensorSpec):
            check_same_device([destination, value])
            try:
                value.layout.broadcast_to(destination.layout.shape)
            except ValueError:
                raise ValueError(
                    f"a value of shape {value.layout.shape} could not be broadcast to"
                    f" {destination.layout.shape}"
                ) from None
        check_no_complex_to_real(destination, value)
        return AssignPlan(self.name, value, destination)
