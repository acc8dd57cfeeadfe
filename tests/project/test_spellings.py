"""Names of other libraries: what the package says when asked for one, run beside NumPy."""

import re
from pathlib import Path

import numpy as np
import pytest
from tensors import host

import tensorlayout as tl
from tensorlayout.support.spellings import METHOD_SPELLINGS, SPELLINGS

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text("utf-8")

# Names, and what NumPy gives for what their replacements mean.
ORACLE = """
addcdiv: x + 9.0 * y / x | z=x
addcmul: x + 9.0 * y * x | z=x
addmm addmv baddbmm: x + y @ q | y=y[:, :2]; x=q; z=q
adjoint: x.conj().T | x=z[:, None]
aminmax: (x.min(1), x.max(1))
as_tensor asnumpy clone contiguous detach fromDlpack from_numpy scalar_tensor tensor: x
bartlett blackman hamming hanning: np.{NumPy's}(4)
bmm mm mv: x @ y | y=y.T
broadcast_tensors: np.broadcast_arrays(x, y) | y=v
bucketize: np.searchsorted(v, x) | boundaries=v
cat: np.concatenate([x, y])
cdist: np.abs(v[:, None] - v) | x=v[:, None]; y=v[:, None]
cholesky det inverse pinverse slogdet: np.linalg.{NumPy's}(x) | x=q
chain_matmul: x @ y | y=y.T
chunk tensor_split: np.array_split(x, 2, 1)
clamp: np.clip(x, 0.2, 0.5)
clamp_max: np.minimum(x, 0.5)
clamp_min: np.maximum(x, 0.2)
cpu: x
cummax: np.maximum.accumulate(x, 1) | x=x[:, ::-1]
cummin: np.minimum.accumulate(x, 1)
diag_indices: np.diag_indices(4)
dist: np.linalg.norm(x - y)
div: x / y
eq ge gt le lt ne: np.{NumPy's}(x, y)
expand: np.broadcast_to(x, (4, 2, 3))
flatten: x.flatten()
frac: np.modf(x)[0] | x=x * -7
fromfunction: np.indices((4, 2, 3)).sum(0)
gather take_along_dim: np.take_along_axis(x, i, 1)
ger: np.outer(x, y) | x=v; y=v
in1d: np.isin(x, y)
index_select: np.take(x, [2, 0], 1) | indices=np.asarray([2, 0])
indices: np.indices((4, 2, 3))
is_complex iscomplexobj: np.iscomplexobj(x) | x=z
is_floating_point: np.issubdtype(x.dtype, np.floating)
is_tensor: True
kaiser: np.kaiser(4, 0.5)
lerp: x + 9.0 * (y - x)
log_softmax: x - np.log(np.exp(x).sum(1, keepdims=True))
logcumsumexp: np.log(np.cumsum(np.exp(x), 1))
logdet: np.log(np.linalg.det(x)) | x=q
logit: np.log(x / (1 - x))
logsumexp: np.log(np.exp(x).sum(1))
lstsq: np.linalg.lstsq(x, y)[0]
masked_fill: np.where(mask, 9.0, x)
masked_select: x[mask]
matrix_power: q @ q @ q @ q | x=q
mgrid: [*np.mgrid[:3, :4]]
movedim: np.moveaxis(x, 0, 1)
msort: np.sort(y, 0) | x=y
mul neg sub sgn: np.{NumPy's}(x, y)
ndim: x.ndim
norm: np.linalg.norm(x)
numel size: x.size
ogrid: np.ogrid[:3, :4]
permute: np.transpose(x, (1, 0))
polar: x * np.exp(1j * y)
qr: [*np.linalg.qr(x)] | x=q
range: np.arange(0, 9, 2)
relu: np.maximum(x, 0) | x=x - 0.3
repeat_interleave: np.repeat(x, 2, 1)
row_stack: np.vstack([x, y])
rsqrt: x**-0.5
shape: x.shape
sigmoid: 1 / (1 + np.exp(-x))
softmax: np.exp(x) / np.exp(x).sum(1, keepdims=True)
solve_triangular: np.linalg.solve(x, y) | x=q
std_mean: (np.std(x, 1, ddof=1), np.mean(x, 1))
svd: [*np.linalg.svd(x)] | x=q
swapdims: x.T
t: x.T
topk: np.sort(v)[::-1][:2] | x=v
trapz: np.trapezoid(y, x)
tril_indices triu_indices: np.{NumPy's}(4, 1)
unbind: [*x]
unfold: np.lib.stride_tricks.sliding_window_view(x, 2, 1)
unsqueeze: np.expand_dims(x, 1)
var_mean: (np.var(x, 1, ddof=1), np.mean(x, 1))
view_as_complex: x[:, 0] + 1j * x[:, 1]
view_as_real: np.stack([z.real, z.imag], -1) | x=z
"""
NUMPYS = {"eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less"}
NUMPYS |= {"ne": "not_equal", "mul": "multiply", "sub": "subtract"}
NUMPYS |= {"inverse": "inv", "pinverse": "pinv"}
OF_THE_SAME_NAME = (
    "bartlett blackman cholesky det hamming hanning slogdet tril_indices triu_indices"
)
NUMPYS |= {name: name for name in OF_THE_SAME_NAME.split()}
OF_ONE = {"neg": "negative", "sgn": "sign"}

# Devices, files, randomness, memory, settings and what there is not.
NOT_RUN = {
    *("as_strided", "errstate", "frombuffer", "genfromtxt", "index_add", "loadtxt"),
    *("manual_seed", "memmap", "nn", "no_grad", "rand", "randint", "randn", "random"),
    *("savetxt", "scatter", "set_printoptions", "seterr", "bool_", "long", "ndarray", "normal"),
    *("complex", "float", "fromiter", "half", "int", "pin_memory", "fromfile", "geterr"),
    *(
        "empty_strided",
        "get_array_module",
        "get_device",
        "get_default_device",
        "issubdtype",
        "printoptions",
        "rand_like",
        "randn_like",
        "randperm",
    ),
    *("promote_types", "savez_compressed", "scatter_reduce"),
}
# Functions of SciPy.
NOT_RUN |= {"erf", "erfc", "erfinv", "lgamma"}


def rows():
    for line in ORACLE.strip().splitlines():
        names, _, rest = line.partition(": ")
        call, _, changed = rest.partition(" | ")
        for name in names.split():
            theirs = call.replace("{NumPy's}", NUMPYS.get(name, OF_ONE.get(name, "")))
            yield name, theirs.replace("(x, y)", "(x)") if name in OF_ONE else theirs, changed


def arrays():
    x = np.asarray([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    v, z = np.asarray([0.5, 1.5, 4.0]), np.asarray([1 + 2j, -1j])
    i, q = np.asarray([[0, 2], [1, 1]]), np.asarray([[4.0, 1.0], [1.0, 3.0]])
    return {"x": x, "y": x[::-1] * 2, "v": v, "z": z, "i": i, "q": q, "mask": x > 0.25}


PLAIN = {"axis": 1, "k": 2, "min": 0.2, "max": 0.5, "repeats": 2, "sections": 2, "value": 9.0}
PLAIN |= {"shape": (4, 2, 3), "window_shape": 2, "n": 4, "m": 3, "weight": 9.0, "beta": 0.5}
PLAIN |= {"source": 0, "destination": 1, "axis1": 0, "axis2": 1, "axes": (1, 0)}
PLAIN |= {"start": 0, "stop": 9, "step": 2, "function": lambda *index: sum(index)}


def same(result, expected):
    if isinstance(expected, (list, tuple)):
        assert len(result) == len(expected)
        for pair in zip(result, expected, strict=True):
            same(*pair)
    else:
        result = host(result) if isinstance(result, tl.Tensor) else result
        np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("row", [*rows()], ids=lambda row: row[0])
def test_a_replacement_is_what_numpy_does(row):
    name, call, changed = row
    theirs = arrays()
    for change in filter(None, changed.split("; ")):
        key, _, text = change.partition("=")
        theirs[key] = eval(text, {"np": np, **theirs})
    ours = {key: tl.asarray(value, copy=True) for key, value in theirs.items()}
    ours |= {"tl": tl, "np": np, "obj": theirs["x"], "indices": ours.get("indices", ours["i"])}
    ours |= {"arrays": [ours["x"], ours["y"]]} | PLAIN
    ours |= {"k": 1} if name.endswith("_indices") else {}
    if name == "asnumpy" and ours["x"].device != "cpu":
        pytest.skip("NumPy sees no memory of a GPU")
    same(eval(SPELLINGS[name].partition("; ")[0], ours), eval(call, {"np": np, **theirs}))


def test_every_replacement_is_run():
    assert {name for name, *_ in rows()} | NOT_RUN == SPELLINGS.keys()


def test_no_hint_for_what_is_there():
    assert [name for name in SPELLINGS if name in tl.__all__] == []


FOREIGN_NAMES = """
tl.cat: cat; use tl.concat(arrays, axis=0)
tl.errstate: errstate; there are no warnings
tl.reshpe: reshpe; did you mean 'reshape'?
tl.nonsense: nonsense
tl.ufunc: ufunc
tl.degrees: degrees; use np.degrees(x), which takes tensors
tl.packbits: packbits; use np.packbits(np.asarray(x), …), on the CPU
tl._summ: _summ
tl.linalg.svdd: svdd; did you mean 'svd'?
tl.pin_memory: pin_memory; use tl.cuda.pin_memory(x)
tl.cuda.synchronize: synchronize; use tl.cuda.Stream.current().synchronize()
tl.cuda.memory_allocated: memory_allocated; use tl.cuda.memory_stats()
tl.cuda.memory_stat: memory_stat; did you mean 'memory_stats'?
"""


def test_foreign_names():
    for row in FOREIGN_NAMES.strip().splitlines():
        code, words = row.split(": ")
        name, semicolon, hint = words.partition("; ")
        with pytest.raises(AttributeError) as caught:
            eval(code, {"tl": tl})
        space = code.rpartition(".")[0].replace("tl", "tensorlayout")
        words = f"module '{space}' has no attribute '{name}'{semicolon}{hint}"
        assert str(caught.value) == words


@pytest.mark.parametrize("name", METHOD_SPELLINGS)
def test_methods_of_other_libraries(name):
    x = tl.zeros((2, 3))
    assert not hasattr(x, name)
    assert not hasattr(tl.Tensor, name)
    assert name not in dir(x)
    with pytest.raises(AttributeError, match=f"'Tensor' object has no attribute '{name}'; "):
        getattr(x, name)


METHOD_HINTS = """
cpu: use x.to_device("cpu")
exp: use tl.exp(x, …)
float: use x.astype(tl.float32); PyTorch's float has 32 bits
grad: there is no automatic differentiation
numpy: use np.asarray(x)
pin_memory: use tl.cuda.pin_memory(x)
"""


def test_hints_for_methods():
    for row in METHOD_HINTS.strip().splitlines():
        name, hint = row.split(": ", 1)
        with pytest.raises(AttributeError) as caught:
            getattr(tl.zeros(2), name)
        assert str(caught.value) == f"'Tensor' object has no attribute '{name}'; {hint}"


def test_names_that_dir_lists_are_there():
    x = tl.zeros((2, 2))
    for owner in (x, tl.Tensor):
        assert [
            name for name in dir(owner) if not has(owner, name) and not name.startswith("__")
        ] == []


def has(library, name):
    for part in name.split("."):
        library = getattr(library, part, None)
    return library is not None


def test_names_on_the_page_for_newcomers():
    """Replacements in the tables exist; names they list as foreign are in the table, or here."""
    names = set()
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[2].startswith(("`tl.", "`x", "`float")):
            names |= set(re.findall(r"`np\.([\w.]+)`", cells[0]))
            for use in re.findall(r"`tl\.([\w.]+)", cells[2]):
                assert has(tl, use), line
    assert len(names) > 10
    left_out = {"add.at", "lib.stride_tricks.as_strided", "lib.stride_tricks.sliding_window_view"}
    assert {n for n in names if not has(tl, n)} - left_out - SPELLINGS.keys() == set()
