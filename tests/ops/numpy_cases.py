"""NumPy's functions on tensors beside NumPy on copies, also where NumPy raises.

A line of `LINES` is a family: names, and the arguments of a call. Each word in braces is drawn by
the method of `Arguments` of that name; a part in angle brackets is left out sometimes. A line
without names has other arguments for the line before: each draw takes one of these lines. The text
of a call is evaluated twice, with tensors and with arrays. Where NumPy raises, an error of the same
built-in type is expected, and nothing may have been written.
"""

from __future__ import annotations

import builtins
import collections
import re
import warnings

import numpy as np
import tensors
from case import Case, Refused
from draws import MOST
from tensors import DTYPES

from tensorlayout.interchange.numpy_ufuncs import _COMPOSED, _OURS

LINES = """
all any | {x}<, axis={axes}><, keepdims=True><, where={mask}>
sum | {i}<, axis={axes}><, keepdims=True><, initial={number}>
sum nansum | {q}<, axis={axes}><, keepdims=True><, dtype={dtype}><, initial={small}>
sum | {i}, where={mask}
prod nanprod | {q}<, axis={axes}><, keepdims=True>
max min amax amin | {r}<, axis={axes}><, keepdims=True><, initial={number}><, where={mask}>
nanmax nanmin | {r}<, axis={axes}><, keepdims=True><, initial={small}><, where={mask}>
mean nanmean | {q}<, axis={axes}><, keepdims=True><, where={mask}>
var std nanvar nanstd | {q}<, axis={axes}><, keepdims=True><, ddof=1>
median nanmedian | {q}<, axis={axes}><, keepdims=True>
quantile nanquantile | {q}, {fraction}<, axis={axes}><, method={method}><, keepdims=True>
quantile | {ranked}, {fraction}<, axis={axis}>, method={exact}
     | p(np.array([2**53 + 1, 2**62 + 1, 2**62 + 3])), {fraction}, method={exact}
percentile nanpercentile | {q}, {percent}<, axis={axes}><, method={method}>
percentile | {ranked}, {percent}<, axis={axis}>, method={exact}
argmax argmin | {r}<, axis={axis}><, keepdims=True>
nanargmax nanargmin | {q}<, axis={axis}><, keepdims=True>
ptp | {r}<, axis={axes}><, keepdims=True>
count_nonzero | {x}<, axis={axes}><, keepdims=True>
cumsum | {i}<, axis={axis}>
cumsum nancumsum | {q}<, axis={axis}><, dtype={dtype}>
cumprod nancumprod | {q}<, axis={axis}>
cumulative_sum cumulative_prod | {q}<, axis={axis}><, include_initial=True>
average | {q}<, axis={axis}><, weights={y}><, returned=True><, keepdims=True>
diff | {x}, n={small}
diff | {x}<, n=2><, axis={axis}>
     | {f}<, n=2>, axis={axis}, prepend=0.5<, append=x>
ediff1d | {f}<, to_end={number}><, to_begin=[7, 8]>
trapezoid | {q}<, axis={axis}><, dx={number}>
     | {vector}, {second_vector}
gradient | {line}
     | {q}, 2.0, axis={axis}
sort argsort | {r}<, axis={axis}>, kind="stable"
     | {r}, axis=None, kind="stable"
lexsort | ({r}, x[::-1])<, {axis}>
searchsorted | {sorted}, {y}<, side='right'>
digitize | {f}, {sorted}<, right=True>
     | {f}, {sorted}[::-1]<, right=True>
isin | {x}, {same}<, invert=True>
unique | {x}<, return_counts=True>
     | {r}<, return_index=True><, return_inverse=True><, return_counts=True>
     | {r}, equal_nan=False
     | p(np.array([nan, 1.0, nan, {special}, 1.0])), return_inverse=True<, return_counts=True>
unique_all unique_counts unique_inverse | {i}
union1d intersect1d setdiff1d setxor1d | {r}, {same}
intersect1d | {i}, {same}, return_indices=True
bincount | {counts}<, minlength={small}>
     | {counts}, weights={weights}<, minlength={small}>
histogram | {q}<, bins={small}><, range=(0, 4)>
     | {q}, {edges}<, density=True>
     | {q}, [1.0]
     | {counts}, {edges}, weights={weights}<, density=True>
histogram_bin_edges | {q}<, {small}><, range=(0, 4)>
take | {x}, {positions}<, axis={axis}><, mode={mode}>
take | p(np.arange(300)), {short}<, mode={mode}>
var std nanvar nanstd nanmean | p(np.array([1.0, {special}, 2.0, {special}]))<, ddof=1>
average | p(np.ones(({few}, 3)))<, axis=0><, weights=p(np.ones(({few}, 3)))>
take_along_axis | {x}, {along}<, axis={axis}>
     | {x}, p(np.array([0, -1])), axis=None
compress | {listmask}, {x}<, axis={axis}>
     | {wmask}, {x}<, axis={axis}>
extract | {y}, {x}
choose | {counts}, {list}<, mode={mode}>
select | [{mask}, {mask}], [{x}, {tensor}]<, {number}>
     | [{mask}, {mask}], [5, {f}], 3
     | [{mask}], [{x}]
piecewise | {f}, [{wmask}], [np.negative<, 2>]
     | {f}, [{wmask}, ~m], [1, lambda part, y, z: part + y + z], 2, z=3
where | {mask}, {x}, {y}
     | {x}
delete | {x}, {positions}<, axis={axis}>
     | {x}, slice(None, None, 2)<, axis={axis}>
insert | {x}, {place}, {inserted}<, axis={axis}>
     | {x}, {place}, x, axis={axis}
append | {x}, {y}<, axis={axis}>
repeat | {x}, {small}<, axis={axis}>
     | {x}, {repeats}, axis=-1
ravel_multi_index | ({counts}, {c}), (300, 5)<, mode={mode}>
unravel_index | {counts}, (5, 60)
nonzero flatnonzero argwhere squeeze real imag real_if_close | {x}
ravel copy | {x}<, order='F'>
angle | {x}<, deg=True>
atleast_1d atleast_2d atleast_3d | {x}<, {tensor}>
broadcast_arrays | {q}, {tensor}<, 2>
meshgrid | {vector}, {second_vector}<, indexing='ij'><, sparse=True>
ix_ | {counts}, p(np.array([True, False, True]))
tril_indices_from triu_indices_from | {x}<, {small}>
diag_indices_from | {square}
size | {x}<, axis={axes}>
ndim shape isreal iscomplex iscomplexobj isrealobj | {x}
around round | {f}<, {small}>
nan_to_num | {f}<, nan={number}><, posinf={small}><, neginf={small}>
     | {x}
clip | {r}, {number}, {small}
     | {r}, {small}, {number}
     | {r}<, min={small}><, max={number}>
isclose allclose | {f}, {y}<, equal_nan=True><, atol={few}>
array_equal array_equiv | {x}, {y}
array_equal | {x}, x<, equal_nan=True>
reshape | {x}, {shape}<, order='F'>
resize | {x}, {shape}
tile | {x}, {small}
     | {x}, ({few}, 1, 2)
roll | {x}, {small}<, axis={axes}>
     | {x}, ({small}, {small}), axis=({dim}, {dim})
rot90 | {x}<, {small}><, axes=({dim}, {dim})>
flip | {x}<, axis={axes}>
fliplr flipud | {x}
moveaxis | {x}, {dim}, {dim}
     | {x}, ({dim}, {dim}), ({dim}, {dim})
rollaxis | {x}, {dim}<, {small}>
swapaxes | {x}, {dim}, {dim}
transpose | {x}<, {axes}>
expand_dims | {x}, {axes}
broadcast_to | {x}, {shape}
concatenate stack | [{x}, {same}]<, axis={axis}>
     | [{x}, x], axis={axis}, dtype={dtype}
block | [[{x}, x], [x, x]]
     | [{x}, 3.0]
hstack vstack dstack column_stack | [{x}, {same}]
split array_split | {x}, {small}<, axis={axis}>
     | {x}, [1, 3]<, axis={axis}>
hsplit vsplit dsplit | {x}, {parts}
unstack | {x}<, axis={axis}>
pad | {m}, {small}<, mode={padmode}>
     | {m}, {widths}<, {padmode}>
     | {m}, {widths}, constant_values={constants}
lib.stride_tricks.sliding_window_view | {x}, 2, axis={axis}
tril triu | {x}<, {small}>
diagonal trace | {x}<, offset={small}>
     | {x}, axis1={dim}, axis2={dim}
matrix_transpose linalg.matrix_transpose | {x}
diag diagflat | {x}<, {small}>
dot inner outer vdot kron | {m}, {n}
matmul linalg.matmul | {m}, {n}
linalg.outer | {vector}, {second_vector}
tensordot linalg.tensordot | {m}, x, axes=1
     | {m}, x[::-1], axes=(({dim},), ({dim},))
vecdot | {m}, x[::-1]<, axis={axis}>
linalg.vecdot | {m}, x[::-1]<, axis=-1>
cross linalg.cross | {threes}, x[..., ::-1]
einsum | "...i,...i->...", {m}, x[::-1]<, optimize=True>
linalg.multi_dot | [np.diag({vector}), np.diag(x), x]
convolve correlate | {m}, {n}<, mode='full'>
     | {vector}, {shorter}<, {overlap}>
cov corrcoef | {m}<, rowvar=False>
cov | {vector}, {second_vector}<, ddof={few}>
interp | {r}, {sorted}, {c}<, left=-1.0><, right=-2.0>
     | {q}, p(np.array([1.0, 2.0, 4.0, 8.0])), {c}, period=5.0
array ascontiguousarray asfortranarray | {x}, like=x
array | {x}, ndmin=3<, order='F'>, like=x
identity tri | {few}, like={x}
tri | {few}, 3, {small}, like={x}
zeros_like ones_like | {x}<, dtype={dtype}><, shape=(4, 2)><, order='F'>
empty_like | {x}, shape=(0, 2)
full_like | {x}, {small}
     | {f}, x
astype | {f}, {dtype}
linspace | {q}, 10.0, {few}<, endpoint=False><, axis=-1><, retstep=True>
     | {q}, x[::-1], 3<, dtype={dtype}>
logspace | {q}, 3.0, 4
geomspace | abs({q}) + 1, 64.0, 4
apply_along_axis | np.sum, -1, {i}
     | np.diag, {axis}, {q}
     | lambda part: part[:2] * 2, 0, {q}
apply_over_axes | np.sum, {i}, [0, 1]
isneginf isposinf fix sinc | {r}
unwrap | {q}<, axis={axis}><, period=4.0>
vander | {r}<, {small}><, increasing=True>
polyval | p(np.array([1.5, -2.0, 1.0])), {m}
     | [1, -2, 3], {m}
fft.fft fft.ifft fft.hfft fft.irfft | {m}<, n={small}><, axis={axis}><, norm={scaling}>
fft.rfft fft.ihfft | {q}<, n={small}><, axis={axis}><, norm={scaling}>
fft.fft2 fft.ifft2 fft.fftn fft.ifftn | {m}<, axes={pair}><, norm={scaling}>
fft.irfft2 fft.irfftn | {m}<, axes={pair}><, norm={scaling}>
fft.rfft2 fft.rfftn | {q}<, axes={pair}><, norm={scaling}>
fft.fftshift fft.ifftshift | {several}<, axes={axis}>
linalg.norm | {m}<, axis={axes}><, ord={norm}><, keepdims=True>
linalg.vector_norm | {m}<, axis={axes}><, keepdims=True><, ord=1>
linalg.matrix_norm | {m}<, keepdims=True><, ord=1>
linalg.cond | {definite}<, {norm}>
linalg.cholesky | {definite}<, upper=True>
linalg.eigvalsh | {definite}<, UPLO='U'>
linalg.solve | {definite}, x[..., 0, :]
linalg.matrix_rank | {m}<, tol=2.9>
linalg.det linalg.inv linalg.slogdet linalg.svdvals | {square}
linalg.pinv | {square}, rtol=None
     | {square}, 1e-3
linalg.matrix_power | {square}, {small}
linalg.trace linalg.diagonal | {x}<, offset={small}>
add.reduce multiply.reduce | {q}<, axis={axes}><, dtype={dtype}><, keepdims=True><, initial={small}>
maximum.reduce minimum.reduce | {r}, axis={axes}<, initial={small}><, where={mask}>
logical_and.reduce logical_or.reduce logical_xor.reduce | {x}, axis={axis}<, keepdims=True>
bitwise_and.reduce bitwise_or.reduce bitwise_xor.reduce | {i}<, axis={axis}><, keepdims=True>
subtract.reduce | {i}<, axis={axis}><, keepdims=True>
     | {q}, axis={axis}<, initial={small}><, dtype={dtype}>
hypot.reduce logaddexp.reduce | abs({q})<, axis={axis}>
add.accumulate multiply.accumulate subtract.accumulate | {i}<, axis={axis}>
     | {q}<, axis={axis}><, dtype={dtype}>
maximum.accumulate minimum.accumulate | {r}<, axis={axis}>
multiply.outer subtract.outer maximum.outer | {q}, {finite}
     | {finite}, {q}
     | {q}, x[::-1]
matvec vecmat | {square}, x[..., 0, :]
"""

# Calls that write into `w`, an operand drawn first.
WRITING = """
put | {w}, {flat}, {values}<, mode={mode}>
put_along_axis | {w}, {along}, {values}, {axis}
     | {w}, p(np.array([0, {small}, 7])), 1, None
putmask place | {w}, {wmask}, {values}
     | {some}, {wmask}, {other}
copyto | {w}, {values}<, casting={casting}><, where={wmask}>
copyto | {w}, {finite}, casting='unsafe'<, where={wmask}>
put | {w}, [0, -1, 0], [7, 1, 3]<, mode={mode}>
fill_diagonal | {w}, {number}
     | {w}, {filling}
sum prod max min mean any all | {q}, 0, out={reduced}
cumsum cumprod | {q}, 0, out={like}
clip | {q}, -1, 1, out={like}
add multiply hypot | {q}, {same}, out={like}<, where={wmask}>
concatenate | [{q}, x], out={twice}
add.reduce subtract.reduce | {q}, 0, out={reduced}
add.accumulate subtract.accumulate | {q}, 0, out={like}
"""

# Methods: names, the tensor, arguments.
METHODS = """
all any | {x} | <axis={axes}, ><keepdims=True, ><where={mask}>
sum | {i} | <axis={axes}, ><keepdims=True, ><initial={small}, ><where={mask}>
     | {q} | {axes}, {dtype}<, keepdims=True>
prod | {q} | <axis={axes}, ><keepdims=True>
max min | {r} | <axis={axes}, ><keepdims=True, ><initial={small}, ><where={mask}>
mean | {q} | <axis={axes}, ><keepdims=True, ><where={mask}>
     | {q} | {axes}, {dtype}
var std | {q} | <axis={axes}, ><keepdims=True, ><ddof=1, ><where={mask}>
     | {q} | 0, mean=x.mean(0, keepdims=True)
argmax argmin | {r} | <axis={axis}, ><keepdims=True>
argsort | {r} | <axis={axis}, >kind="stable"
     | {r} | None, "stable"
     | {r} | stable=True
cumsum | {q} | <axis={axis}, ><dtype={dtype}>
     | {q} | {axis}, {dtype}
cumprod | {q} | <axis={axis}>
reshape | {x} | {shape}<, order='F'>
     | {x} | *{shape}<, order='F'>
ravel flatten copy | {x} | <order='F'>
squeeze conj conjugate nonzero | {x} |
transpose | {x} | <{axes}>
     | {x} | *range(1, x.ndim), 0
swapaxes | {x} | {dim}, {dim}
diagonal trace | {x} | <{small}>
     | {x} | {small}, {dim}, {dim}
astype | {f} | <dtype=>{dtype}<, order='F'>
     | {f} | {dtype}, 'C', copy=False
clip | {r} | {small}, 5
     | {r} | <min={small}, ><max={number}>
     | {i} | -(2**70), 2**70
round | {f} | <{small}>
repeat | {x} | {small}<, axis={axis}>
take | {x} | {positions}<, axis={axis}><, mode={mode}>
dot | {m} | {n}
searchsorted | p(np.array([0, 1, 1, 4])) | {ranked}<, side='right'>
"""

# Quotients and powers follow the standard where NumPy does not; `elementwise_cases` has them.
OF_THE_STANDARD = {"divmod", "floor_divide", "power", "float_power", "remainder", "modf"}
UFUNCS = sorted({u.__name__: u.nin for u in [*_OURS, *_COMPOSED]}.items())

# Functions of `TABLE` that are in no line: their results have no one right order or sign.
LEFT_OUT = {*("argpartition", "partition", "unique_values", "eig", "eigh", "eigvals", "qr", "svd")}

SEQUENCES = {
    *("split", "array_split", "hsplit", "vsplit", "dsplit", "nonzero", "gradient", "histogram")
}

NUMBERS = (
    *("True", "0", "1", "-1", "7", "2.5", "-0.0", "inf", "nan", "2**53 + 1", "300", "-200"),
    *("np.int8(-3)", "np.uint8(200)", "np.float32(1.5)", "np.float64(0.5)", "np.bool(True)"),
    *("np.int64(2**62)", "1j", "np.asarray(2)", "np.uint64(2**63)"),
)


# As int64 it would be -1, which is inside.
GREATEST = "p(np.array([2**64 - 1], np.uint64))"


class Arguments:
    """The arguments of one call: texts, and the operands that these name."""

    def __init__(self, draw):
        self.draw = draw
        self.operands = {}

    def _operand(self, name, category, shape=None, how="wild", writable=False):
        draw = self.draw
        if shape is None:
            shape = draw.shape() if not draw.chance(0.03) else (1,) * draw.between(33, 62) + (3,)
        dtype = draw.dtype(category) if category in DTYPES else category
        while dtype in ("bfloat16", "float16"):  # NumPy's sums of them are less accurate
            dtype = draw.dtype(category)
        if len(shape) > 6:
            layout = tensors.tl.Layout.packed(shape, draw.order(len(shape)))
            result = draw.operand(dtype, shape, how, writable, layout)
        else:
            result = draw.operand(dtype, shape, how, writable)
        self.operands[name] = result
        return name

    @property
    def shape_of_first(self):
        return next(iter(self.operands.values())).layout.shape if self.operands else (3,)

    def x(self):
        return self._operand("x", "any")

    def r(self):
        return self._operand("x", self.draw.choice(("real numeric", "real numeric", "any")))

    def i(self):
        return self._operand("x", "integral")

    def f(self):
        return self._operand("x", "real floating")

    def w(self):
        return self._operand("w", self.draw.choice(("any", "integral")), writable=True)

    def some(self):
        return self._operand("w", "any", self.draw.shape(empty=False), writable=True)

    def other(self):
        return self._operand("y", "any", self.shape_of_first)

    def line(self):
        return self._operand("x", "real floating", (self.draw.between(0, 5),))

    def m(self):
        shape = self.draw.shape(1, 4, empty=False)
        return self._operand("x", "floating-point", shape, "mild")

    def q(self):
        shape = self.draw.shape(1, 4, empty=False)
        return self._operand("x", "real floating", shape, "mild")

    def ranked(self):
        """Integers, even none; or floats, which are NaN here where none is found."""
        if self.draw.chance(0.6):
            return self._operand("x", "integral")
        return self._operand("x", "real floating", self.draw.shape(empty=False))

    def like(self):
        """A destination of the shape of the first operand."""
        return self._destination(self.shape_of_first)

    def reduced(self):
        """A destination of the shape of the first operand, but for its first dimension."""
        return self._destination(self.shape_of_first[1:])

    def twice(self):
        first, *others = self.shape_of_first
        return self._destination((2 * first, *others))

    def _destination(self, shape):
        category = self.draw.choice(("real floating", "real floating", "int64"))
        return self._operand("w", category, shape, writable=True)

    def vector(self):
        return self._operand("x", "real floating", self.draw.shape(1, 1, empty=False), "mild")

    def second_vector(self):
        """As many numbers as the vector has."""
        return self._operand("y", "real floating", self.shape_of_first, "mild")

    def shorter(self):
        return self._operand("y", "real floating", (self.draw.between(1, 4),), "mild")

    def threes(self):
        shape = (*self.draw.shape(0, 3, empty=False), 3)
        return self._operand("x", "real floating", shape, "mild")

    def definite(self):
        """Symmetric matrices whose eigenvalues are far from 0."""
        dtype, n = self.draw.choice(("float32", "float64")), self.draw.between(1, 4)
        array = self.draw.values(np.dtype("int8"), n * n, "mild").reshape(n, n) / 4
        array = np.broadcast_to(array + array.T + 8 * np.eye(n), (*self.draw.shape(0, 1), n, n))
        self.operands["x"] = self.draw.holding(array.astype(dtype))
        return "x"

    def weights(self):
        """As many as `counts` has, which may be one more."""
        return f"p(np.array([0.5, 1.0, 4.0], {self.draw.choice(('np.float32', 'np.float64'))}))"

    def edges(self):
        return self.draw.choice(("[0, 1, 4, 9]", "p(np.array([-1.0, 0.5, 3.0]))"))

    def repeats(self):
        n = self.shape_of_first[-1] if self.shape_of_first else 1
        return str([self.draw.between(0, 3) for _ in range(n)])

    def parts(self):
        return self.draw.choice(("1", "2", "[1]", "[1, 3]"))

    def widths(self):
        """Widths of borders: of all dimensions, of either end, or of each end of each."""
        items = [(self.draw.between(0, 2), self.draw.between(0, 2)) for _ in self.shape_of_first]
        return self.draw.choice((str(items), "(1, 2)", "[(2, 0)]"))

    def constants(self):
        return self.draw.choice(("3", "(1, 2)", "[(1, 2)]", "p(np.array(6.0))"))

    def several(self):
        return self._operand("x", "any", self.draw.shape(1, 4))

    def pair(self):
        return self.draw.choice(("(0, 1)", "(1, 0)"))

    def overlap(self):
        return repr(self.draw.choice(("full", "same", "valid")))

    def scaling(self):
        return repr(self.draw.choice(("ortho", "forward", "backward")))

    def filling(self):
        return self.draw.choice(("[]", "[1, 0]", "[1.0, 2.0]"))

    def dim(self):
        return str(self.draw.between(-len(self.shape_of_first) - 1, len(self.shape_of_first)))

    def same(self):
        category = next(iter(self.operands.values())).dtype.name
        shape = self.draw.broadcast_with(self.shape_of_first[:4])
        return self._operand("y", category, shape)

    def n(self):
        if self.draw.chance(0.1):
            return self.draw.choice(("2", "-1.5", "1j", "np.float32(2)"))
        shape = self.shape_of_first
        return self._operand(
            "y", "floating-point", shape[: self.draw.between(1, len(shape))], "mild"
        )

    def place(self):
        n = min(self.shape_of_first, default=1)
        return self.draw.choice(
            ("0", str(n), str(-n), "[0, 0]", f"[{n + 1}]", f"p(np.array([{n}]))", GREATEST)
        )

    def inserted(self):
        return self.draw.choice((self.number(), "[7, 8]", "[1]"))

    def short(self):
        """Positions in integers too short for the size of what they are positions in."""
        result = [self.draw.between(0, 127) for _ in range(2)]
        return f"p(np.array({result}, {self.draw.choice(('np.int8', 'np.uint8'))}))"

    def special(self):
        return self.draw.choice(("np.inf", "-np.inf", "np.nan", "3.0"))

    def few(self):
        return str(self.draw.choice((0, 0, 1, 2)))

    def flat(self):
        """Positions among all elements, one in four outside."""
        n = int(np.prod(self.shape_of_first))
        at = self.draw.between(-n, max(n - 1, -n))
        at = self.draw.choice((n, n + 2, -n - 1)) if self.draw.chance(0.25) else at
        return f"p(np.array([{at}]))" if self.draw.chance(0.5) else f"[{at}]"

    def square(self):
        n = self.draw.between(0, 4)
        return self._operand("x", "real floating", (*self.draw.shape(0, 1), n, n), "mild")

    def sorted(self):
        result = sorted(self.draw.between(-4, 9) for _ in range(4))
        kind = self.draw.choice(("np.int64", "np.float64", "np.int8", "np.uint64"))
        return f"p(np.array({[abs(v) for v in result]}).astype({kind}))"

    def y(self):
        return self.number() if self.draw.chance(0.1) else self.tensor()

    def tensor(self):
        shape = self.shape_of_first
        if self.draw.chance(0.3):
            shape = self.draw.broadcast_with(shape) if len(shape) < 6 else shape
        return self._operand("y", "any", shape)

    def values(self):
        if self.draw.chance(0.3):
            return self.draw.choice(("[]", "[7, 8]", "[1.5]", self.number()))
        return self.number() if self.draw.chance(0.4) else self.same()

    def counts(self):
        sizes = [self.draw.between(0, 4) for _ in range(3)]
        sizes += [self.draw.choice((250, -1, 310, 3))] if self.draw.chance(0.3) else []
        kinds = ["np.int64", "np.uint8", "np.int16"] if max(sizes) < 256 else ["np.int64"]
        return f"p(np.array({sizes}, {self.draw.choice(kinds if min(sizes) >= 0 else kinds[:1])}))"

    def c(self):
        return "p(np.array([0, 1, 4, 2]))"

    def list(self):
        return f"[{self._operand('a', 'any', (3,))}, {self._operand('b', 'any', (3,))}, 7, 2.5]"

    def mask(self):
        if self.draw.chance(0.2):
            return self.draw.choice(("True", "np.bool(False)"))
        shape = self.shape_of_first
        shape = self.draw.broadcast_with(shape) if len(shape) < 6 else shape
        return self._operand(f"m{len(self.operands)}", "bool", shape)

    def wmask(self):
        return self._operand("m", "bool", self.shape_of_first)

    def listmask(self):
        return str([self.draw.chance(0.5) for _ in range(self.draw.between(0, 4))])

    def positions(self):
        """Integers, or several, of any dtype: sometimes negative, sometimes outside."""
        reach = max(self.shape_of_first, default=1) if self.draw.chance(0.5) else 3
        low = 0 if self.draw.chance(0.5) else -reach
        most = reach if self.draw.chance(0.15) else reach - 1
        count = self.draw.choice((0, 1, 1, 2, 3))
        result = [self.draw.between(low, max(most, low)) for _ in range(count)]
        if len(result) == 1 and self.draw.chance(0.4):
            return str(result[0])
        if self.draw.chance(0.3):
            return str(result)
        kinds = ["int64", "int8", "int32"] if max(map(abs, result), default=0) < 128 else ["int64"]
        kinds += ["uint8"] if min(result, default=0) >= 0 else []
        return f"p(np.array({result}, np.{self.draw.choice(kinds)}))"

    def along(self):
        shape = list(self.shape_of_first) or [1]
        shape[-1] = self.draw.between(0, 3)
        n = self.shape_of_first[-1] if self.shape_of_first else 1
        at = [self.draw.between(0, max(n - 1, 0)) for _ in range(int(np.prod(shape)))]
        if at and self.draw.chance(0.2):
            at[0] = self.draw.choice((-n, n, -n - 1, 99))
        return f"p(np.reshape(np.array({at}, np.int64), {tuple(shape)}))"

    def axis(self):
        rank = len(self.shape_of_first)
        if self.draw.chance(0.12):
            return str(self.draw.choice((rank, -rank - 1, None)))
        return str(self.draw.axis(rank)) if rank else "0"

    def axes(self):
        rank = len(self.shape_of_first)
        if self.draw.chance(0.08):
            return self.draw.choice((f"{rank}", "(0, 0)"))
        drawn = self.draw.axes(rank) if rank < 7 else self.draw.axis(rank)
        return "None" if drawn == () else str(drawn)

    def shape(self):
        n = int(np.prod(self.shape_of_first))
        rank = len(self.shape_of_first)
        shapes = [(n,), (-1,), (n, 1), (1, n), (n + 1,), (2, -1), (3, *self.shape_of_first)]
        return str(self.draw.choice(shapes if rank < 30 else shapes[:2]))

    def number(self):
        return self.draw.choice(NUMBERS)

    def finite(self):
        return self.draw.choice([n for n in NUMBERS if n not in ("inf", "nan")])

    def small(self):
        return str(self.draw.choice((0, 1, 1, 2, 2, 3, -1, -2)))

    def norm(self):
        return self.draw.choice(("None", "1", "2", "np.inf", "-np.inf", "0", "3", "'nuc'"))

    def dtype(self):
        return f"np.{self.draw.choice(('float64', 'complex128'))}"

    def fraction(self):
        return self.draw.choice(("0.5", "0.0", "1.0", "[0.25, 0.75]", "0.3", "1.5", "nan"))

    def percent(self):
        return self.draw.choice(("50", "0", "100.0", "[25, 75]", "30", "-1"))

    def method(self):
        return repr(self.draw.choice(("lower", "higher", "nearest", "linear", "midpoint", "no")))

    def exact(self):
        return repr(self.draw.choice(("lower", "higher", "nearest")))

    def mode(self):
        return repr(self.draw.choice(("raise", "wrap", "clip")))

    def padmode(self):
        return repr(self.draw.choice(("constant", "edge", "reflect", "symmetric", "wrap")))

    def casting(self):
        return repr(self.draw.choice(("no", "safe", "same_kind")))


def _call(draw, called, template):
    """The text of a call, and its operands."""
    draw.most = MOST  # there are products of all elements with all
    argument = Arguments(draw)
    text = re.sub("<(.*?)>", lambda m: m[1] if draw.chance(0.35) else "", template)
    text = re.sub(r"\{(\w+)\}", lambda m: getattr(argument, m[1])(), text)
    return f"tuple({text})" if called in SEQUENCES else text, argument.operands


def _evaluated(text, space):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(text, space)


# What NumPy computes and tensors may refuse: kinds of dtypes that a function does not take, Python
# integers that do not fit the dtype of a tensor.
BY_DESIGN = (TypeError, NotImplementedError, OverflowError)


# Shapes and counts are checked here although there is nothing to move.
CHECKED_FIRST = {"take_along_axis", "put_along_axis", "repeat", "place"}


def _may_refuse(called, text, operands):
    """Return the errors that tensors may raise where NumPy gives a result."""
    result = BY_DESIGN if "p(" not in text or "inf" in text else BY_DESIGN[:2]
    nothing = any(not o.layout.shape or not o.array.size for o in operands.values())
    return (*result, ValueError, IndexError) if nothing or called in CHECKED_FIRST else result


SPACE = {"np": np, "inf": np.inf, "nan": np.nan}


def _errors_like(error):
    """The built-in types of an error; a rule may be told before a division by zero happens."""
    bases = [b for b in type(error).__mro__ if vars(builtins).get(b.__name__) is b]
    more = [ValueError, IndexError] if isinstance(error, ArithmeticError) else []
    return [b for b in bases if b not in (Exception, BaseException, object)] + more


def _of_numpy(text, operands, writes):
    """Return a function that calls NumPy on copies; errors become types that may replace them."""

    def expect(*arrays):
        space = SPACE | dict(zip(operands, arrays, strict=True)) | {"p": lambda array: array}
        try:
            result = _evaluated(text, space)
        except Exception as error:
            return None if isinstance(error, RuntimeError) else Refused(*_errors_like(error))
        if writes:
            return space["w"]
        return tuple(result) if isinstance(result, (list, tuple)) else result

    return expect


def _alike(got, expected):
    """The same dtype and shape, and values: equal, or close for sums and products of floats."""
    array, expected = tensors.host(got), np.asarray(expected)
    kind = expected.dtype.kind
    assert array.dtype == expected.dtype, f"dtype {array.dtype}, expected {expected.dtype}"
    assert array.shape == expected.shape, f"shape {array.shape}, expected {expected.shape}"
    if kind not in "fc":
        np.testing.assert_array_equal(array, expected)
        return
    part = expected.dtype.itemsize // (1 + (kind == "c"))
    share = {2: 2e-2, 4: 2e-4, 8: 1e-9}[part]
    with np.errstate(all="ignore"):
        wide = np.complex128 if kind == "c" else np.float64
        array, expected = array.astype(wide), expected.astype(wide)
        if kind == "c" and tensors.tl.default_device() != "cpu":
            # Which part of a quotient by zero is NaN differs from device to device.
            infinite = ~np.isfinite(expected)
            assert not np.isfinite(array[infinite]).any()
            array, expected = (np.where(infinite, 0, a) for a in (array, expected))
        scale = abs(expected[np.isfinite(expected)]).max(initial=0)
        scale = scale if np.isfinite(scale) else 0
        np.testing.assert_allclose(array, expected, share, share * scale)


def case_of(called, templates):
    """The case of a function or method, by one of some templates of the call, drawn each time.

    Each template comes with whether it writes to an operand.
    """

    def make_case(draw):
        template, writes = draw.choice(templates)
        text, operands = _call(draw, called, template)
        return Case(
            called,
            text,
            operands,
            _of_numpy(text, operands, writes),
            check=_alike,
            view=None,
            writes="w" if writes else "",
            traced=False,
            may_refuse=_may_refuse(called, text, operands),
            names={"p": tensors.asarray},
        )

    return make_case


def _families(lines):
    """The names of each line, and the rest of it and of those that follow without names."""
    families = []
    for line in lines.strip().splitlines():
        names, _, rest = line.partition("|")
        if names.strip():
            families.append((names.split(), [rest.strip()]))
        else:
            families[-1][1].append(rest.strip())
    return families


def _calls():
    """Yield what is called, and templates of the call, each with whether it writes."""
    for lines, writes in ((LINES, False), (WRITING, True)):
        for names, every in _families(lines):
            for name in names:
                yield f"numpy.{name}", [(f"np.{name}({item})", writes) for item in every]
    for names, every in _families(METHODS):
        pairs = [[part.strip() for part in rest.split("|")] for rest in every]
        for name in names:
            templates = [(f"{tensor}.{name}({item})", False) for tensor, item in pairs]
            yield f"method {name}", templates
    for name, count in UFUNCS:
        if name not in OF_THE_STANDARD:
            yield f"numpy.{name}", [(f"np.{name}({('{x}', '{x}, {y}')[count - 1]})", False)]


def _cases():
    """By name; a name that begins several families has a number for each but the first."""
    counts = collections.Counter()
    for name, templates in _calls():
        counts[name] += 1
        number = f" {counts[name]}" if counts[name] > 1 else ""
        called = name.rpartition(" ")[2].rpartition("numpy.")[2]
        yield name + number, case_of(called, templates)


CASES = dict(_cases())
