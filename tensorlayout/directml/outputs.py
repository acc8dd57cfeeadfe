"""Where results go: into ``out``, or into new tensors."""

from __future__ import annotations

from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions.creation import empty
from tensorlayout.functions.manipulation import reshape
from tensorlayout.tensor import Tensor


def target(out: Tensor | None, desc: TensorDesc | None, like: Tensor | None = None) -> Tensor:
    """`out`, or a new tensor: packed in the order of `like` if that has as many dimensions."""
    if out is not None:
        return out
    assert desc is not None
    order = like.layout.minor_to_major if like is not None and like.ndim == desc.rank else None
    device = None if like is None else like.device
    return empty(desc.sizes, dtype=desc.data_type.dtype, device=device, layout=order)


def copied(view: Tensor, out: Tensor | None, desc: TensorDesc | None) -> Tensor:
    """The elements of a view in `out` or in a new tensor, packed in the order of the view."""
    result = target(out, desc, view)
    result[...] = view
    return result


def delivered(result: Tensor, out: Tensor) -> Tensor:
    """A result, worked out in a tensor of its own, copied into `out`."""
    out[...] = result
    return out


def seen_as(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A view with dimensions split, or with sizes of 1 added or dropped: those always exist."""
    return reshape(x, sizes, copy=False)
