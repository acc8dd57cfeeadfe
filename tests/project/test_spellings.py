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
as_tensor asnumpy clone contiguous from_numpy tensor: x
bmm mm: x @ y | y=y.T
cat: np.concatenate([x, y])
cdist: np.abs(v[:, None] - v) | x=v[:, None]; y=v[:, None]
chunk: np.array_split(x, 2, 1)
clamp: np.clip(x, 0.2, 0.5)
cpu: x
eq ge gt le lt ne: np.{NumPy's}(x, y)
expand: np.broadcast_to(x, (4, 2, 3))
gather: np.take_along_axis(x, i, 1)
in1d: np.isin(x, y)
index_select: np.take(x, [2, 0], 1) | indices=np.asarray([2, 0])
masked_fill: np.where(mask, 9.0, x)
masked_select: x[mask]
mul neg sub sgn: np.{NumPy's}(x, y)
ndim: x.ndim
norm: np.linalg.norm(x)
numel: x.size
relu: np.maximum(x, 0) | x=x - 0.3
repeat_interleave: np.repeat(x, 2, 1)
row_stack: np.vstack([x, y])
rsqrt: x**-0.5
shape: x.shape
sigmoid: 1 / (1 + np.exp(-x))
softmax: np.exp(x) / np.exp(x).sum(1, keepdims=True)
trapz: np.trapezoid(y, x)
tril_indices triu_indices: np.{NumPy's}(4, 1)
topk: np.sort(v)[::-1][:2] | x=v
unbind: [*x]
unfold: np.lib.stride_tricks.sliding_window_view(x, 2, 1)
unsqueeze: np.expand_dims(x, 1)
view_as_real: np.stack([z.real, z.imag], -1) | x=z
"""
NUMPYS = {"eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less"}
NUMPYS |= {"ne": "not_equal", "mul": "multiply", "sub": "subtract"}
NUMPYS |= {name: name for name in ("tril_indices", "triu_indices")}
OF_ONE = {"neg": "negative", "sgn": "sign"}

# Devices, files, randomness, memory, settings and what there is not.
NOT_RUN = {
    *("as_strided", "errstate", "frombuffer", "genfromtxt", "index_add", "loadtxt"),
    *("manual_seed", "memmap", "nn", "no_grad", "rand", "randint", "randn", "random"),
    *("savetxt", "scatter", "set_printoptions", "seterr", "bool_", "long", "ndarray", "normal"),
    *("complex", "float", "fromiter", "half", "int", "pin_memory"),
}


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
    i = np.asarray([[0, 2], [1, 1]])
    return {"x": x, "y": x[::-1] * 2, "v": v, "z": z, "i": i, "mask": x > 0.25}


PLAIN = {"axis": 1, "k": 2, "min": 0.2, "max": 0.5, "repeats": 2, "sections": 2, "value": 9.0}
PLAIN |= {"shape": (4, 2, 3), "window_shape": 2, "n": 4}


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
