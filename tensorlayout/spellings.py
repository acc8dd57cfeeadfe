"""What other libraries call things, and how the same is said here.

One table: a foreign name of NumPy, CuPy, JAX or PyTorch, and our spelling with its arguments in
place. It answers whoever asks the package or a tensor for such a name, and is held against
docs/coming-from.md by a test, which also runs each spelling beside NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

# Names of functions, dtypes and modules; then what to use, and behind a semicolon what to know.
_OF_THE_PACKAGE = """
absolute fabs: tl.abs(x)
add.at scatter_add_ index_add index_add_: tl.scatter_add(x, indices, values, axis=0); a new tensor
amax: tl.max(x, axis=axis)
amin: tl.min(x, axis=axis)
angle: tl.atan2(tl.imag(x), tl.real(x))
append: tl.concat([tl.reshape(x, -1), tl.reshape(y, -1)])
arccos: tl.acos(x)
arccosh: tl.acosh(x)
arcsin: tl.asin(x)
arcsinh: tl.asinh(x)
arctan: tl.atan(x)
arctan2: tl.atan2(x, y)
arctanh: tl.atanh(x)
argwhere: tl.stack(tl.nonzero(x), axis=-1)
around: tl.round(x)
array asanyarray as_tensor from_numpy: tl.asarray(obj)
array_equal: x.shape == y.shape and bool(tl.all(x == y))
array_str array_repr array2string: str(x) or repr(x); np.array2string(np.asarray(x)) has options
array_split tensor_split: x[start:stop], which is a view, for each part
as_strided: tl.from_storage(storage, layout), checked against the bounds of the memory
ascontiguousarray contiguous: tl.to_layout(x, tl.Layout.row_major(x.shape))
asfortranarray: tl.to_layout(x, tl.Layout.column_major(x.shape))
asnumpy: np.asarray(x)
atleast_1d: tl.reshape(x, -1); or x[None]
atleast_2d: x[None, :]
average: tl.sum(x * w) / tl.sum(w)
bitwise_not invert: tl.bitwise_invert(x)
left_shift: tl.bitwise_left_shift(x, y)
block: tl.concat(arrays, axis=axis), within one another
bool_ bool8: tl.bool
bmm mm: tl.matmul(x, y)
byte: tl.int8
cat concatenate: tl.concat(arrays, axis=0)
cbrt: tl.sign(x) * tl.abs(x) ** (1 / 3)
cdist: tl.linalg.vector_norm(x[:, None] - y[None, :], axis=-1)
cdouble complex_ cfloat128: tl.complex128
chunk split vsplit: x[start:stop], which is a view, for each part
clamp: tl.clip(x, min, max)
clone: x.copy()
column_stack: tl.stack(arrays, axis=1); of vectors
compress masked_select extract: x[mask]
conjugate: tl.conj(x)
copy copyto: x.copy(); x[...] = y writes into memory that is there
cross: tl.linalg.cross(x, y)
csingle cfloat: tl.complex64
deg2rad radians: x * (tl.pi / 180)
degrees rad2deg: x * (180 / tl.pi)
delete: tl.concat([x[:i], x[i + 1:]])
cholesky: tl.linalg.cholesky(x)
det: tl.linalg.det(x)
eig: tl.linalg.eig(x)
eigh: tl.linalg.eigh(x)
inv inverse: tl.linalg.inv(x)
matrix_power: tl.linalg.matrix_power(x, n)
norm: tl.linalg.vector_norm(x) or tl.linalg.matrix_norm(x)
pinv pinverse: tl.linalg.pinv(x)
qr: tl.linalg.qr(x)
slogdet: tl.linalg.slogdet(x)
solve: tl.linalg.solve(x, y)
svd: tl.linalg.svd(x)
diag_embed diagflat: tl.diag(x)
diagonal: tl.linalg.diagonal(x)
digitize bucketize: tl.searchsorted(edges, x, side="right")
divmod: (x // y, x % y)
dot: tl.matmul(x, y)
double float_: tl.float64
float: tl.float32 or tl.float64
dsplit hsplit: x[:, start:stop], which is a view, for each part
dstack: tl.stack(arrays, axis=2); of matrices
dtype: x.dtype; dtypes are NumPy's: tl.float32, tl.asarray(obj).dtype
eq: tl.equal(x, y)
errstate seterr: nothing; there are no warnings
exp2: tl.pow(2.0, x)
fill_diagonal: tl.where(tl.eye(*x.shape, dtype=tl.bool), value, x)
fix: tl.trunc(x)
flatnonzero: tl.nonzero(tl.reshape(x, -1))[0]
flatten ravel: tl.reshape(x, -1)
fliplr: tl.flip(x, axis=1)
flipud: tl.flip(x, axis=0)
float_power power: tl.pow(x, y)
fmax: tl.where(tl.isnan(x), y, tl.where(tl.isnan(y), x, tl.maximum(x, y)))
fmin: tl.where(tl.isnan(x), y, tl.where(tl.isnan(y), x, tl.minimum(x, y)))
fmod: x - y * tl.trunc(x / y)
frombuffer: tl.from_storage(storage, layout, dtype=dtype)
fromfunction: function(*tl.meshgrid(*map(tl.arange, shape), indexing="ij"))
fromiter: tl.asarray(list(iterable))
gather: tl.take_along_axis(x, indices, axis=axis)
ge: tl.greater_equal(x, y)
geomspace: tl.logspace(math.log10(start), math.log10(stop), num)
gt: tl.greater(x, y)
half: tl.float16
heaviside: tl.where(x == 0, y, tl.astype(x > 0, x.dtype))
histogram: tl.bincount(tl.searchsorted(edges[1:-1], x, side="right"), minlength=edges.size - 1)
hstack: tl.concat(arrays, axis=1); of vectors axis=0
identity: tl.eye(n)
index_select: tl.take(x, indices, axis=axis)
indices: tl.stack(tl.meshgrid(*map(tl.arange, shape), indexing="ij"))
inner: tl.vecdot(x, y)
int_ long longlong: tl.int64
int intc: tl.int32
intp: tl.int64
isneginf: x == -tl.inf
isposinf: x == tl.inf
iscomplexobj is_complex: tl.isdtype(x.dtype, "complex floating")
isrealobj: not tl.isdtype(x.dtype, "complex floating")
issubdtype is_floating_point: tl.isdtype(x.dtype, "real floating")
kron: tl.reshape(x[:, None, :, None] * y[None, :, None, :], shape)
le: tl.less_equal(x, y)
loadtxt genfromtxt: tl.asarray(np.loadtxt(file))
logaddexp2: tl.logaddexp(x * math.log(2), y * math.log(2)) / math.log(2)
logsumexp: tl.max(x) + tl.log(tl.sum(tl.exp(x - tl.max(x))))
lt: tl.less(x, y)
manual_seed rand randn randint randperm: tl.asarray(np.random.default_rng(seed).random(shape))
masked_fill: tl.where(mask, value, x)
memmap: tl.asarray(np.memmap(file))
mgrid: tl.meshgrid(x, y, indexing="ij")
mod: tl.remainder(x, y)
movedim: tl.moveaxis(x, source, destination)
mul: tl.multiply(x, y)
multinomial normal: tl.asarray(np.random.default_rng(seed).normal(size=shape))
narrow: x[start:start + length]
nan_to_num: tl.where(tl.isnan(x), 0.0, x); tl.clip(x, -1e300, 1e300) for infinities
nanpercentile: tl.nanquantile(x, q / 100)
ndarray: tl.Tensor, the class; tl.asarray(obj) makes one
ndim: x.ndim
neg: tl.negative(x)
ne: tl.not_equal(x, y)
nn optim: nothing; there are no layers here
no_grad enable_grad autograd: nothing; there is no automatic differentiation
numel: x.size
outer: tl.linalg.outer(x, y)
percentile: tl.quantile(x, q / 100)
permute: tl.permute_dims(x, axes)
promote_types: tl.result_type(dtype1, dtype2)
ptp: tl.max(x) - tl.min(x)
put: x[indices] = values
random: tl.asarray(np.random.default_rng(seed).random(shape))
relu: tl.maximum(x, 0)
repeat_interleave: tl.repeat(x, repeats, axis=axis)
right_shift: tl.bitwise_right_shift(x, y)
rint: tl.round(x)
rollaxis: tl.moveaxis(x, axis, 0)
rot90: tl.flip(tl.permute_dims(x, (1, 0)), axis=0)
row_stack vstack: tl.concat(arrays, axis=0); of vectors tl.stack(arrays)
rsqrt: 1 / tl.sqrt(x)
savetxt: np.savetxt(file, np.asarray(x))
scatter scatter_: tl.put_along_axis(x, indices, values, axis=axis)
select: tl.where(condition, x, y), within one another
short: tl.int16
sgn: tl.sign(x)
shape: x.shape
sigmoid: 1 / (1 + tl.exp(-x))
single: tl.float32
sliding_window_view unfold: tl.sliding_window(x, window_shape, axis=axis)
sinc: tl.where(x == 0, 1.0, tl.sin(tl.pi * x) / (tl.pi * x))
size: x.size
softmax: (lambda e: e / tl.sum(e))(tl.exp(x - tl.max(x)))
sub: tl.subtract(x, y)
swapaxes swapdims: tl.permute_dims(x, (1, 0)); the axes in their new order
topk: tl.flip(tl.sort(x))[:k]
trapezoid: tl.sum((y[1:] + y[:-1]) * tl.diff(x)) / 2
tri: tl.tril(tl.ones((n, n)))
tril_indices: tl.nonzero(tl.tril(tl.ones((n, n)), k=k))
triu_indices: tl.nonzero(tl.triu(tl.ones((n, n)), k=k))
true_divide div: tl.divide(x, y)
ubyte: tl.uint8
uint: tl.uint64
unbind: tl.unstack(x, axis=0)
union1d: tl.unique_values(tl.concat([x, y]))
unique: tl.unique_values(x), tl.unique_counts(x), tl.unique_inverse(x) or tl.unique_all(x)
unsqueeze: tl.expand_dims(x, axis=axis)
ushort: tl.uint16
vander: x[:, None] ** tl.arange(x.size - 1, -1, -1)
vdot: tl.vecdot(x, y)
view_as_real: tl.stack([tl.real(x), tl.imag(x)], axis=-1)
"""

# Methods and attributes of arrays.
_OF_TENSORS = """
abs: abs(x)
absolute: abs(x)
add mul sub div pow: x + y, x * y, x - y, x / y, x ** y
add_ mul_ sub_ div_: x += y, x *= y, x -= y, x /= y
argpartition partition: tl.argsort(x), tl.sort(x)
argwhere: tl.stack(tl.nonzero(x), axis=-1)
at: x[index] = value, x[index] += value; in place
backward grad requires_grad requires_grad_ grad_fn is_leaf: nothing; there are no gradients
base: tl.asarray(obj), which keeps what it shares alive; there is no base
bfloat16: tl.astype(x, tl.bfloat16)
block_until_ready: nothing; reading a tensor waits for it
bool: tl.astype(x, tl.bool)
byteswap newbyteorder: nothing; dtypes have the byte order of the machine
byte: tl.astype(x, tl.uint8)
choose: tl.take_along_axis(choices, x[None], axis=0)
chunk split unbind: tl.unstack(x, axis=0), or x[start:stop] for each part
clamp: tl.clip(x, min, max)
clamp_: x[...] = tl.clip(x, min, max)
clone: x.copy()
compress masked_select: x[mask]
contiguous: tl.to_layout(x, tl.Layout.row_major(x.shape))
copy_: x[...] = y
cos exp log sin sqrt tan tanh: tl.cos(x), tl.exp(x), …, which are functions
cpu: x.to_device("cpu")
ctypes data data_ptr: x.__dlpack__() or x.__cuda_array_interface__; np.asarray(x).ctypes
cuda: x.to_device("cuda:0")
detach: x; there is no automatic differentiation
dim ndimension: x.ndim
double: tl.astype(x, tl.float64)
dump dumps: pickle.dumps(x)
element_size: x.itemsize
expand broadcast_to: tl.broadcast_to(x, shape)
expand_dims unsqueeze: tl.expand_dims(x, axis=axis)
expand_as: tl.broadcast_to(x, y.shape)
fill_: x[...] = value
flags is_contiguous: x.layout.is_row_major, x.layout.is_column_major or x.layout.is_packed
flat: tl.reshape(x, -1), x.item(k) for one
flip: tl.flip(x, axis=axis)
float: tl.astype(x, tl.float32)
gather: tl.take_along_axis(x, indices, axis=axis)
get: np.asarray(x.to_device("cpu"))
get_device is_cuda: x.device
getfield setfield: x[index]; there are no fields
half: tl.astype(x, tl.float16)
index_add scatter_add: tl.scatter_add(x, indices, values, axis=0)
index_add_ scatter_add_: x[...] = tl.scatter_add(x, indices, values, axis=0)
index_select: tl.take(x, indices, axis=axis)
int: tl.astype(x, tl.int32)
is_complex: tl.isdtype(x.dtype, "complex floating")
is_floating_point: tl.isdtype(x.dtype, "real floating")
is_pinned pin_memory: nothing; copies between devices need no pinned memory
isnan isinf isfinite: tl.isnan(x), tl.isinf(x), tl.isfinite(x)
long: tl.astype(x, tl.int64)
masked_fill: tl.where(mask, value, x)
masked_fill_: x[mask] = value
matmul mm bmm: x @ y
median quantile: tl.median(x), tl.quantile(x, q)
movedim moveaxis: tl.moveaxis(x, source, destination)
narrow: x[start:start + length]
neg: -x
norm: tl.linalg.vector_norm(x)
numel: x.size
numpy: np.asarray(x); of a GPU's np.asarray(x.to_device("cpu"))
permute_dims: tl.permute_dims(x, axes)
ptp: tl.max(x) - tl.min(x)
put: x[indices] = values
put_along_axis scatter scatter_: tl.put_along_axis(x, indices, values, axis=axis)
repeat_interleave: tl.repeat(x, repeats, axis=axis)
resize resize_: tl.reshape(x, shape); a tensor keeps its size
roll: tl.roll(x, shift, axis=axis)
setflags: x.readonly, which says it; copy() makes one to write to
short: tl.astype(x, tl.int16)
softmax: (lambda e: e / tl.sum(e))(tl.exp(x - tl.max(x)))
stride: x.strides, in elements
storage untyped_storage: x.layout, which says where each element is
storage_offset: x.layout.offset
t: x.T
tile: tl.tile(x, repetitions)
tofile: np.asarray(x).tofile(file)
to: tl.astype(x, dtype), x.to_device(device) or tl.to_layout(x, "NHWC")
topk: tl.flip(tl.sort(x))[:k]
tril triu: tl.tril(x), tl.triu(x)
type type_as: tl.astype(x, dtype); x.dtype says which it has
unfold: tl.sliding_window(x, window_shape, axis=axis)
unique: tl.unique_values(x), tl.unique_counts(x), tl.unique_inverse(x) or tl.unique_all(x)
view_as: tl.reshape(x, y.shape)
where: tl.where(condition, x, y)
zero_: x[...] = 0
"""

_OF_LINALG = """
cond: tl.linalg.svdvals(x), the first over the last
lstsq: tl.linalg.pinv(x) @ y
multi_dot: x @ y @ z
norm: tl.linalg.vector_norm(x) or tl.linalg.matrix_norm(x)
einsum: tl.einsum(subscripts, x, y)
"""

_OF_FFT = """
fft2: tl.fft.fftn(x, axes=(-2, -1))
ifft2: tl.fft.ifftn(x, axes=(-2, -1))
irfft2: tl.fft.irfftn(x, axes=(-2, -1))
rfft2: tl.fft.rfftn(x, axes=(-2, -1))
"""


def _rows(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in text.strip().splitlines():
        names, _, answer = row.partition(": ")
        found.update(dict.fromkeys(names.split(), answer))
    return found


# By what has the name in other libraries: the package, a tensor, or a namespace of the package.
SPELLINGS = {
    "tensorlayout": _rows(_OF_THE_PACKAGE),
    "Tensor": _rows(_OF_TENSORS),
    "tensorlayout.linalg": _rows(_OF_LINALG),
    "tensorlayout.fft": _rows(_OF_FFT),
}


def of_module(module: str, names: list[str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module, whose public `names` are guessed from."""

    @functools.lru_cache(maxsize=256)  # a library may ask for a name at every call
    def hint(name: str) -> str:
        answer = SPELLINGS[module].get(name)
        if answer is not None:
            return _use(answer)
        if callable(getattr(np, name, None)) and module == "tensorlayout":
            return f"; use tl.asarray(np.{name}(np.asarray(x), …)), on the CPU"
        import difflib  # only for errors

        # Short names are close to many.
        close = difflib.get_close_matches(name, names, 1, 0.75) if len(name) > 3 else []
        return f"; did you mean {close[0]!r}?" if close else ""

    def absent(name: str) -> Any:
        if name.startswith("_"):  # a protocol asked for, which is to be quick
            msg = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(msg)
        raise _error(_MODULE.format(module), name, hint(name))

    return absent


class _Elsewhere:
    """An attribute of other libraries' arrays: not there, and the error says what is.

    A descriptor for each name costs nothing until it is asked for; ``__getattr__`` in the class
    would make each attribute of each tensor slower to read.
    """

    def __init__(self, name: str, answer: str) -> None:
        self.name, self.answer = name, answer

    def __get__(self, tensor: object, kind: type) -> Any:
        raise _error(_OBJECT.format(kind.__name__), self.name, _use(self.answer))


def bind(tensor: type) -> None:
    """Give the class `tensor` what answers to foreign names, where it has none of its own."""
    foreign = SPELLINGS[tensor.__name__].keys() - set(dir(tensor))
    for name in foreign:
        setattr(tensor, name, _Elsewhere(name, SPELLINGS[tensor.__name__][name]))

    def listed(self: object) -> list[str]:
        return sorted(set(object.__dir__(self)) - foreign)

    type.__setattr__(tensor, "__dir__", listed)


def _use(answer: str) -> str:
    code, _, more = answer.partition("; ")
    return f"; {more}" if code == "nothing" else f"; use {answer}"


_MODULE, _OBJECT = "module {!r}", "{!r} object"


def _error(owner: str, name: str, more: str) -> AttributeError:
    """`obj` is given, so that the interpreter adds no guess of its own to what is said here."""
    return AttributeError(f"{owner} has no attribute {name!r}{more}", name=name, obj=None)
