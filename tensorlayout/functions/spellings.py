"""Names in other libraries, and what to write instead in this package.

The error for such a name gives the replacement: ``tl.cat`` is an AttributeError that names
`concat`. A test compares each replacement with NumPy. For other names the error suggests the
closest public name.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

# Names, then their replacement, and after a semicolon a note.
_TABLE = """
as_strided: tl.from_storage(storage, layout), which checks the bounds of the memory
as_tensor from_numpy tensor: tl.asarray(obj)
asnumpy: np.asarray(x)
bmm mm: tl.matmul(x, y)
cat: tl.concat(arrays, axis=0)
cdist: tl.linalg.vector_norm(x[:, None] - y[None, :], axis=-1)
chunk: tl.array_split(x, sections, axis=axis)
clamp: tl.clip(x, min, max)
clone: x.copy()
contiguous: tl.to_layout(x, tl.Layout.row_major(x.shape))
cpu: x.to_device("cpu")
cuda: x.to_device("cuda:0")
eq: tl.equal(x, y)
errstate seterr: nothing; there are no warnings
expand: tl.broadcast_to(x, shape)
frombuffer: tl.from_storage(storage, layout, dtype=dtype)
gather: tl.take_along_axis(x, indices, axis=axis)
ge: tl.greater_equal(x, y)
genfromtxt loadtxt: tl.asarray(np.loadtxt(file))
gt: tl.greater(x, y)
index_add: tl.scatter_add(x, indices, values, axis=0)
index_select: tl.take(x, indices, axis=axis)
le: tl.less_equal(x, y)
lt: tl.less(x, y)
manual_seed rand randn randint random: tl.asarray(np.random.default_rng(seed).random(shape))
masked_fill: tl.where(mask, value, x)
masked_select: x[mask]
memmap: tl.asarray(np.memmap(file))
mul: tl.multiply(x, y)
ne: tl.not_equal(x, y)
neg: tl.negative(x)
nn: nothing; there are no layers here
no_grad: nothing; there is no automatic differentiation
numel: x.size
relu: tl.maximum(x, 0)
repeat_interleave: tl.repeat(x, repeats, axis=axis)
rsqrt: 1 / tl.sqrt(x)
savetxt: np.savetxt(file, np.asarray(x))
scatter: tl.put_along_axis(x, indices, values, axis=axis); in place
set_printoptions: np.set_printoptions(precision=3), which holds for tensors, too
sgn: tl.sign(x)
sigmoid: 1 / (1 + tl.exp(-x))
softmax: (lambda e: e / tl.sum(e, axis, keepdims=True))(tl.exp(x - tl.max(x, axis, keepdims=True)))
sub: tl.subtract(x, y)
tril_indices: tl.nonzero(tl.tri(n, k=k))
triu_indices: tl.nonzero(tl.triu(tl.ones((n, n)), k=k))
topk: tl.flip(tl.sort(x))[:k]
unbind: tl.unstack(x, axis=0)
unfold: tl.sliding_window(x, window_shape, axis=axis)
unsqueeze: tl.expand_dims(x, axis=axis)
view_as_real: tl.stack([tl.real(x), tl.imag(x)], axis=-1)
"""

SPELLINGS: dict[str, str] = {
    name: answer
    for names, answer in (row.split(": ", 1) for row in _TABLE.strip().splitlines())
    for name in names.split()
}


def make_module_getattr(module: str, names: Collection[str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module whose public names are `names`."""

    @functools.lru_cache(maxsize=256)  # libraries may look a name up at every call
    def replacement_hint(name: str) -> str:
        code, _, remark = SPELLINGS.get(name, "").partition("; ")
        if code == "nothing":
            return f"; {remark}"
        if code:
            return f"; use {code}{f'; {remark}' if remark else ''}"
        numpy_function = getattr(np, name, None)
        if isinstance(numpy_function, np.ufunc):
            return f"; use np.{name}({', '.join('xyz'[: numpy_function.nin])}), which takes tensors"
        if callable(numpy_function):
            return f"; use np.{name}(np.asarray(x), …), on the CPU"
        # Short names are similar to too many others.
        close = difflib.get_close_matches(name, names, 1, 0.75) if len(name) > 3 else []
        return f"; did you mean {close[0]!r}?" if close else ""

    def raise_missing_attribute(name: str) -> Any:
        """Raise AttributeError; protocol names get no hint, which takes time to find."""
        more = "" if name.startswith("_") else replacement_hint(name)
        msg = f"module {module!r} has no attribute {name!r}{more}"
        # Setting `obj` keeps the interpreter from adding its own suggestion to the message.
        raise AttributeError(msg, name=name, obj=None)

    return raise_missing_attribute
