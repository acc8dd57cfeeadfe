"""Between tensors on CUDA and the arrays of a numerical library, CuPy or NumPy, without a copy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine.driver import Strided, driver
from tensorlayout.cuda.engine.memory import borrowed
from tensorlayout.devices import Device
from tensorlayout.dtypes import DType
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.run import carried_out
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec


def array_of(x: Tensor) -> Any:
    """The library's array over the elements of a tensor, to be read; of bools a copy in 0 and 1.

    Every byte but 0 is True, but libraries compare, sort and add up the bytes.
    """
    layout, itemsize = x._spec.layout, x.itemsize
    first = x._memory.address + layout.offset * itemsize
    steps = tuple(stride * itemsize for stride in layout.strides)
    assert x._home is not None
    given = Strided(first, layout.shape, steps, x.dtype, x.device.number)
    array = driver().array(given, x._home[0])
    return array.view(np.uint8) != 0 if x.dtype == dtypes.bool else array


def tensor_of(array: Any, device: Device) -> Tensor:
    """A tensor over an array of the library on `device`, which is kept with it."""
    described = getattr(array, "__cuda_array_interface__", None) or array.__array_interface__
    address = int(described["data"][0])
    found = borrowed(
        address, array.dtype, array.shape, array.strides, device, array, readonly=False
    )
    assert found is not None, "the library's arrays have whole elements"
    return found


def placer() -> Callable[[Any, TensorSpec], Tensor]:
    """What makes an array a tensor of a row-major spec: over it where it lies so, else a copy."""

    @functools.lru_cache(maxsize=64)  # where data decide, shapes are many
    def copier(source: TensorSpec, result: TensorSpec) -> Run:
        return carried_out(CopyPlan(source, result))

    def placed(array: Any, spec: TensorSpec) -> Tensor:
        found = tensor_of(array, spec.device)
        same = found.dtype == spec.dtype and found._spec.layout.same_placement(spec.layout)
        if same:
            return Tensor._new(found._memory, spec, found._home)
        return copier(found._spec, spec)(found)

    return placed


def ready(name: str, spec: TensorSpec, dtype: DType) -> Callable[[Tensor], Tensor]:
    """What gives a tensor of `spec` in another dtype, in its form; what it repeats stays so."""
    if spec.dtype == dtype:
        return lambda x: x
    layout = spec.layout
    cut = [
        slice(0, 1) if n and not s else slice(None)
        for n, s in zip(layout.shape, layout.strides, strict=True)
    ]
    once = layout.slice(tuple(cut))
    assert once is not None, "operands are strided, and have every slice"
    source = TensorSpec(spec.dtype, once, spec.device)
    result = TensorSpec(dtype, once.form, spec.device)
    whole = TensorSpec(dtype, result.layout.broadcast_to(layout.shape), spec.device)
    copy, step = carried_out(CopyPlan(source, result)), Step(name, source, result)

    def converted(x: Tensor) -> Tensor:
        note(step)
        found = copy(Tensor._new(x._memory, source, x._home))
        return Tensor._new(found._memory, whole, found._home)

    return converted
