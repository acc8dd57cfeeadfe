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
addcdiv: x + value * y / z
addcmul: x + value * y * z
addmm addmv baddbmm: x + tl.matmul(y, z)
adjoint: tl.conj(x).mT
aminmax: (tl.min(x, axis), tl.max(x, axis))
as_strided: tl.from_storage(storage, layout, dtype=dtype), which checks the bounds of the memory
as_tensor from_numpy scalar_tensor tensor: tl.asarray(obj)
asnumpy: np.asarray(x)
bartlett: tl.asarray(np.bartlett(n))
blackman: tl.asarray(np.blackman(n))
bmm mm mv: tl.matmul(x, y)
bool_: tl.bool
broadcast_tensors: tl.broadcast_arrays(x, y)
bucketize: tl.searchsorted(boundaries, x)
cat: tl.concat(arrays, axis=0)
cdist: tl.linalg.vector_norm(x[:, None] - y[None, :], axis=-1)
chain_matmul: tl.linalg.multi_dot(arrays)
cholesky: tl.linalg.cholesky(x)
chunk tensor_split: tl.array_split(x, sections, axis=axis)
clamp: tl.clip(x, min, max)
clamp_max: tl.minimum(x, max)
clamp_min: tl.maximum(x, min)
clone: x.copy()
complex: tl.complex128; tl.complex64 has single precision
contiguous: tl.to_layout(x, tl.Layout.row_major(x.shape))
cpu: x.to_device("cpu")
cummax: np.maximum.accumulate(x, axis)
cummin: np.minimum.accumulate(x, axis)
det: tl.linalg.det(x)
detach: x; there is no automatic differentiation
diag_indices: (tl.arange(n),) * 2
dist: tl.linalg.vector_norm(x - y)
div: tl.divide(x, y)
empty_strided: tl.empty(shape, layout=layout)
eq: tl.equal(x, y)
erf: scipy.special.erf(x), on the CPU
erfc: scipy.special.erfc(x), on the CPU
erfinv: scipy.special.erfinv(x), on the CPU
errstate geterr seterr: nothing; there are no warnings
expand: tl.broadcast_to(x, shape)
flatten: x.flatten()
float: tl.float64; PyTorch's float has 32 bits
frac: x - tl.trunc(x)
frombuffer: tl.from_storage(storage, layout, dtype=dtype)
fromDlpack: tl.from_dlpack(x)
fromfile: tl.asarray(np.fromfile(file, dtype))
fromfunction: tl.asarray(np.fromfunction(function, shape))
fromiter: tl.asarray(np.fromiter(iterable, dtype))
gather take_along_dim: tl.take_along_axis(x, indices, axis=axis)
ge: tl.greater_equal(x, y)
genfromtxt loadtxt: tl.asarray(np.loadtxt(file))
ger: tl.outer(x, y)
get_array_module: x.__array_namespace__()
get_default_device: tl.default_device()
get_device: x.device
gt: tl.greater(x, y)
half: tl.float16
hamming: tl.asarray(np.hamming(n))
hanning: tl.asarray(np.hanning(n))
in1d: tl.isin(x, y)
index_add: tl.scatter_add(x, indices, values, axis=0)
index_select: tl.take(x, indices, axis=axis)
indices: tl.stack(tl.meshgrid(*map(tl.arange, shape), indexing="ij"))
int: tl.int64; PyTorch's int has 32 bits
inverse: tl.linalg.inv(x)
is_complex iscomplexobj: tl.isdtype(x.dtype, "complex floating")
is_floating_point: tl.isdtype(x.dtype, "real floating")
is_tensor: isinstance(x, tl.Tensor)
issubdtype: np.issubdtype(dtype, kind), or tl.isdtype(dtype, kind)
kaiser: tl.asarray(np.kaiser(n, beta))
le: tl.less_equal(x, y)
lerp: x + weight * (y - x)
lgamma: scipy.special.gammaln(x), on the CPU
log_softmax: x - np.logaddexp.reduce(x, axis, keepdims=True)
logcumsumexp: np.logaddexp.accumulate(x, axis)
logdet: tl.linalg.slogdet(x)[1]
logit: tl.log(x / (1 - x))
logsumexp: np.logaddexp.reduce(x, axis)
long: tl.int64
lstsq: tl.matmul(tl.linalg.pinv(x), y)
lt: tl.less(x, y)
manual_seed rand random: tl.asarray(np.random.default_rng(seed).random(shape))
masked_fill: tl.where(mask, value, x)
masked_select: x[mask]
matrix_power: tl.linalg.matrix_power(x, n)
memmap: tl.asarray(np.memmap(file))
mgrid: tl.meshgrid(tl.arange(m), tl.arange(n), indexing="ij")
movedim: tl.moveaxis(x, source, destination)
msort: tl.sort(x, axis=0)
mul: tl.multiply(x, y)
ndarray: tl.Tensor
ndim: x.ndim
ne: tl.not_equal(x, y)
neg: tl.negative(x)
nn: nothing; there are no layers here
no_grad: nothing; there is no automatic differentiation
norm: tl.linalg.norm(x)
normal randn: tl.asarray(np.random.default_rng(seed).standard_normal(shape))
numel size: x.size
ogrid: tl.meshgrid(tl.arange(m), tl.arange(n), indexing="ij", sparse=True)
permute: tl.permute_dims(x, axes)
pin_memory: tl.cuda.pin_memory(x)
pinverse: tl.linalg.pinv(x)
polar: x * tl.exp(1j * y)
printoptions: np.printoptions(precision=3), which holds for tensors, too
promote_types: tl.result_type(x, y)
qr: tl.linalg.qr(x)
rand_like: tl.asarray(np.random.default_rng(seed).random(x.shape))
randint: tl.asarray(np.random.default_rng(seed).integers(low, high, shape))
randn_like: tl.asarray(np.random.default_rng(seed).standard_normal(x.shape))
randperm: tl.asarray(np.random.default_rng(seed).permutation(n))
range: tl.arange(start, stop, step); PyTorch's range includes the stop
relu: tl.maximum(x, 0)
repeat_interleave: tl.repeat(x, repeats, axis=axis)
row_stack: tl.vstack(arrays)
rsqrt: 1 / tl.sqrt(x)
savetxt: np.savetxt(file, np.asarray(x))
savez_compressed: tl.savez(file, x), which does not compress
scatter: tl.put_along_axis(x, indices, values, axis=axis); in place
scatter_reduce: tl.scatter_add(x, indices, values), or tl.scatter_min or tl.scatter_max
set_printoptions: np.set_printoptions(precision=3), which holds for tensors, too
sgn: tl.sign(x)
shape: x.shape
sigmoid: 1 / (1 + tl.exp(-x))
slogdet: tl.linalg.slogdet(x)
softmax: (lambda e: e / tl.sum(e, axis, keepdims=True))(tl.exp(x - tl.max(x, axis, keepdims=True)))
solve_triangular: tl.linalg.solve(x, y)
std_mean: (tl.std(x, axis, correction=1), tl.mean(x, axis))
sub: tl.subtract(x, y)
svd: tl.linalg.svd(x, full_matrices=False); its third result is Vh, where PyTorch gives V
swapdims: tl.swapaxes(x, axis1, axis2)
t: tl.matrix_transpose(x)
topk: tl.top_k(x, k)[0]
trapz: tl.trapezoid(y, x)
tril_indices: tl.nonzero(tl.tri(n, k=k))
triu_indices: tl.nonzero(tl.triu(tl.ones((n, n)), k=k))
unbind: tl.unstack(x, axis=0)
unfold: tl.sliding_window(x, window_shape, axis=axis)
unsqueeze: tl.expand_dims(x, axis=axis)
var_mean: (tl.var(x, axis, correction=1), tl.mean(x, axis))
view_as_complex: x[..., 0] + 1j * x[..., 1]
view_as_real: tl.stack([tl.real(x), tl.imag(x)], axis=-1)
"""

# Methods and attributes of PyTorch's tensors and NumPy's arrays that a `Tensor` does not have.
_METHOD_TABLE = """
H mH: tl.conj(x).mT
at: x[key] = value; in place
bfloat16: x.astype(tl.bfloat16)
backward grad requires_grad requires_grad_: nothing; there is no automatic differentiation
bool: x.astype(tl.bool)
byte: x.astype(tl.uint8)
cdouble: x.astype(tl.complex128)
cfloat: x.astype(tl.complex64)
char: x.astype(tl.int8)
copy_: x[...] = y
cuda: x.to_device("cuda:0")
dim ndimension: x.ndim
div: x / y
double: x.astype(tl.float64)
element_size: x.itemsize
expand_as: tl.broadcast_to(x, y.shape)
fill_: x.fill(value)
flags: x.layout and x.readonly
flat: x.ravel()
float: x.astype(tl.float32); PyTorch's float has 32 bits
get: np.asarray(x.to_device("cpu"))
half: x.astype(tl.float16)
index_copy index_put: x[indices] = values; in place
int: x.astype(tl.int32); PyTorch's int has 32 bits
is_contiguous: x.layout.is_row_major
long: x.astype(tl.int64)
nelement: x.size
new_empty: tl.empty(shape, dtype=x.dtype, device=x.device)
new_full: tl.full(shape, value, dtype=x.dtype, device=x.device)
new_ones: tl.ones(shape, dtype=x.dtype, device=x.device)
new_zeros: tl.zeros(shape, dtype=x.dtype, device=x.device)
numpy: np.asarray(x)
reshape_as view_as: tl.reshape(x, y.shape)
record_stream: tl.cuda.record_stream(x, stream)
select: tl.take(x, index, axis=axis)
set: x[...] = y
short: x.astype(tl.int16)
split: tl.split(x, sections, axis=axis); PyTorch's number is the size of a part
storage_offset: x.layout.offset
stride: x.strides
t: x.T
to: x.to_device(device) or x.astype(dtype)
tofile: np.asarray(x).tofile(file)
type: x.astype(dtype)
type_as: x.astype(y.dtype)
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
addcdiv addcmul addmm addmv adjoint aminmax baddbmm bmm cholesky chunk clamp clamp_max clamp_min
clone contiguous cpu cummax cummin det detach dist eq erf erfc erfinv expand frac gather ge ger
get_device gt index_add index_select inverse is_complex is_floating_point le lerp lgamma
log_softmax logcumsumexp logdet logit logsumexp lt masked_fill masked_select matrix_power mm
movedim msort mul mv ne neg numel pin_memory pinverse qr relu repeat_interleave rsqrt scatter
scatter_reduce sgn sigmoid slogdet softmax sub svd swapdims take_along_dim tensor_split topk
unbind unfold unsqueeze
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


def make_module_dir(namespace: Mapping[str, Any]) -> Callable[[], list[str]]:
    """Return the ``__dir__`` of a module: its ``__all__``, without the names that it imports."""

    def list_public_names() -> list[str]:
        special = (name for name in namespace if name.startswith("__"))
        return sorted({*namespace["__all__"], *special})

    return list_public_names


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
