"""Replacements for names of other libraries: ``tl.cat`` is an AttributeError that names `concat`.

The same holds for methods of PyTorch's tensors, such as ``x.cpu()``. Tests compare each replacement
with NumPy. For other names, the error suggests NumPy's function or the closest public name.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

import numpy as np

# Names: replacement; remark. A replacement "nothing" has only a remark.
_TABLE = """
as_strided: tl.from_storage(storage, layout), which checks the bounds of the memory
as_tensor from_numpy tensor: tl.asarray(obj)
asnumpy: np.asarray(x)
bmm mm: tl.matmul(x, y)
bool_: tl.bool
cat: tl.concat(arrays, axis=0)
cdist: tl.linalg.vector_norm(x[:, None] - y[None, :], axis=-1)
chunk: tl.array_split(x, sections, axis=axis)
clamp: tl.clip(x, min, max)
clone: x.copy()
contiguous: tl.to_layout(x, tl.Layout.row_major(x.shape))
complex: tl.complex128; tl.complex64 has single precision
cpu: x.to_device("cpu")
eq: tl.equal(x, y)
errstate seterr: nothing; there are no warnings
expand: tl.broadcast_to(x, shape)
float: tl.float64; PyTorch's float has 32 bits
frombuffer: tl.from_storage(storage, layout, dtype=dtype)
fromiter: tl.asarray(np.fromiter(iterable, dtype))
gather: tl.take_along_axis(x, indices, axis=axis)
ge: tl.greater_equal(x, y)
genfromtxt loadtxt: tl.asarray(np.loadtxt(file))
gt: tl.greater(x, y)
index_add: tl.scatter_add(x, indices, values, axis=0)
half: tl.float16
in1d: tl.isin(x, y)
index_select: tl.take(x, indices, axis=axis)
int: tl.int64; PyTorch's int has 32 bits
le: tl.less_equal(x, y)
lt: tl.less(x, y)
long: tl.int64
manual_seed rand random: tl.asarray(np.random.default_rng(seed).random(shape))
masked_fill: tl.where(mask, value, x)
masked_select: x[mask]
memmap: tl.asarray(np.memmap(file))
mul: tl.multiply(x, y)
ne: tl.not_equal(x, y)
ndarray: tl.Tensor
ndim: x.ndim
neg: tl.negative(x)
nn: nothing; there are no layers here
no_grad: nothing; there is no automatic differentiation
norm: tl.linalg.norm(x)
normal randn: tl.asarray(np.random.default_rng(seed).standard_normal(shape))
numel: x.size
randint: tl.asarray(np.random.default_rng(seed).integers(low, high, shape))
pin_memory: tl.cuda.pin_memory(x)
relu: tl.maximum(x, 0)
repeat_interleave: tl.repeat(x, repeats, axis=axis)
row_stack: tl.vstack(arrays)
rsqrt: 1 / tl.sqrt(x)
savetxt: np.savetxt(file, np.asarray(x))
scatter: tl.put_along_axis(x, indices, values, axis=axis); in place
set_printoptions: np.set_printoptions(precision=3), which holds for tensors, too
sgn: tl.sign(x)
shape: x.shape
sigmoid: 1 / (1 + tl.exp(-x))
softmax: (lambda e: e / tl.sum(e, axis, keepdims=True))(tl.exp(x - tl.max(x, axis, keepdims=True)))
sub: tl.subtract(x, y)
tril_indices: tl.nonzero(tl.tri(n, k=k))
trapz: tl.trapezoid(y, x)
triu_indices: tl.nonzero(tl.triu(tl.ones((n, n)), k=k))
topk: tl.top_k(x, k)[0]
unbind: tl.unstack(x, axis=0)
unfold: tl.sliding_window(x, window_shape, axis=axis)
unsqueeze: tl.expand_dims(x, axis=axis)
view_as_real: tl.stack([tl.real(x), tl.imag(x)], axis=-1)
"""

# Methods and attributes of PyTorch's tensors and NumPy's arrays that a `Tensor` does not have.
_METHOD_TABLE = """
backward grad requires_grad requires_grad_: nothing; there is no automatic differentiation
bool: x.astype(tl.bool)
copy_: x[...] = y
cuda: x.to_device("cuda:0")
detach: x; there is no automatic differentiation
dim: x.ndim
div: x / y
double: x.astype(tl.float64)
fill_: x.fill(value)
flags: x.layout and x.readonly
float: x.astype(tl.float32); PyTorch's float has 32 bits
half: x.astype(tl.float16)
int: x.astype(tl.int32); PyTorch's int has 32 bits
is_contiguous: x.layout.is_row_major
long: x.astype(tl.int64)
numpy: np.asarray(x)
record_stream: tl.cuda.record_stream(x, stream)
split: tl.split(x, sections, axis=axis); PyTorch's number is the size of a part
t: x.T
to: x.to_device(device) or x.astype(dtype)
type: x.astype(dtype)
where: tl.where(condition, x, y)
zero_: x.fill(0)
"""
# Names of `torch.cuda` and `cupy.cuda`.
_CUDA_TABLE = """
CUDAGraph graph: tl.cuda.capture()
Device device set_device: tl.using_device("cuda:0")
ExternalStream: tl.cuda.Stream.from_external(stream)
RawKernel RawModule: tl.cuda.raw_kernel(kernel)
alloc_pinned_memory: tl.cuda.pin_memory(x)
current_device: tl.default_device()
device_count is_available: tl.__array_namespace_info__().devices()
get_current_stream: tl.cuda.Stream.current()
get_default_memory_pool: tl.cuda.memory_stats() and tl.cuda.empty_cache()
max_memory_allocated mem_get_info memory_allocated memory_reserved: tl.cuda.memory_stats()
set_per_process_memory_fraction: tl.cuda.set_memory_limit(nbytes)
stream: tl.cuda.Stream(); it is current in a with block
synchronize: tl.cuda.Stream.current().synchronize()
"""
_METHODS_IN_TABLE = """
bmm chunk clamp clone contiguous cpu eq expand gather ge gt index_add index_select le lt
masked_fill masked_select mm mul ne neg numel pin_memory relu repeat_interleave rsqrt scatter sgn
sigmoid softmax sub topk unbind unfold unsqueeze
"""
_METHODS_AS_FUNCTIONS = """
abs add divide exp expand_dims flip isnan log matmul maximum minimum multiply pow roll sqrt
subtract tanh tile to_layout
"""


def _parse_table(table: str) -> dict[str, str]:
    rows = (row.split(": ", 1) for row in table.strip().splitlines())
    return {name: replacement for names, replacement in rows for name in names.split()}


SPELLINGS = _parse_table(_TABLE)
CUDA_SPELLINGS = _parse_table(_CUDA_TABLE)
METHOD_SPELLINGS = {
    **{name: SPELLINGS[name] for name in _METHODS_IN_TABLE.split()},
    **{name: f"tl.{name}(x, …)" for name in _METHODS_AS_FUNCTIONS.split()},
    **_parse_table(_METHOD_TABLE),
}


class MissingMethod:
    """Descriptor whose access is an AttributeError with a hint: ``__getattr__`` costs more."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> NoReturn:
        hint = _format_hint(METHOD_SPELLINGS[self.name])
        message = f"'Tensor' object has no attribute {self.name!r}{hint}"
        raise AttributeError(message, name=self.name, obj=None)


def _format_hint(spelling: str) -> str:
    code, _, remark = spelling.partition("; ")
    return f"; {remark}" if code == "nothing" else f"; use {code}{f'; {remark}' if remark else ''}"


def make_module_getattr(
    module: str, names: Collection[str], spellings: Mapping[str, str] = SPELLINGS
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module with the public names `names`.

    `spellings`: replacements of other libraries' names.
    """

    @functools.lru_cache(maxsize=256)  # libraries may look a name up at every call
    def replacement_hint(name: str) -> str:
        if name in spellings:
            return _format_hint(spellings[name])
        # Not getattr, which would warn of deprecated names.
        numpy_function = vars(np).get(name)
        if isinstance(numpy_function, np.ufunc):
            return f"; use np.{name}({', '.join('xyz'[: numpy_function.nin])}), which takes tensors"
        if callable(numpy_function) and not isinstance(numpy_function, type):
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
