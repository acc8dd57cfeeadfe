"""Foreign names: what the package and its tensors say when asked for one, held against NumPy.

Each hint is code that is run beside NumPy's function of that name; the page that says the same to
readers, docs/coming-from.md, names nothing else.
"""

import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tensors import host

import tensorlayout as tl
from tensorlayout.spellings import SPELLINGS

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text("utf-8")

# Names, NumPy's call, in which @ is the name, and what `x`, `y`, `i` … are where not what `space`
# makes them.
ORACLE = """
absolute arccos arcsin arcsinh arctan arctanh ascontiguousarray asfortranarray cbrt copy: np.@(x)
deg2rad degrees diagonal exp2 fabs fft.fft2 fft.ifft2 fft.rfft2 fliplr flipud iscomplexobj: np.@(x)
isrealobj ndim ptp ravel rot90 shape sinc size: np.@(x)
amax amin: np.@(x, axis=axis)
angle conjugate: np.@(x) | x=z
append arctan2 array_equal cross divmod fmod logaddexp2 mod power true_divide union1d: np.@(x, y)
arccosh: np.arccosh(x) | x=x + 1
argwhere flatnonzero invert: np.@(x) | x=i
around rint: np.@(x) | x=x * 10
array: np.array(obj)
asanyarray: np.array(obj)
atleast_1d: np.atleast_1d(x) | x=x[0, 0]
atleast_2d diagflat vander: np.@(x) | x=v
average: np.average(x, weights=w) | x=v
bitwise_not: np.invert(x) | x=i
bool_ byte cdouble csingle double half intc intp short single ubyte uint ushort: np.@
column_stack: np.column_stack(arrays) | arrays=[v, w]
compress: np.extract(mask, x)
extract: np.extract(mask, x)
concatenate dstack hstack vstack: np.@(arrays)
radians: np.deg2rad(x)
rad2deg: np.degrees(x)
delete: np.delete(x, i, axis=0) | i=1
digitize: np.digitize(x, edges) | x=v
dot: np.dot(x, y) | y=y.T
fill_diagonal: np.fill_diagonal(x, value)
float_power: np.power(x, y)
fmax fmin: np.@(x, y) | x=holes
fromfunction: np.fromfunction(function, shape, dtype=int)
fromiter: np.fromiter(iterable, float)
geomspace: np.geomspace(start, stop, num)
heaviside: np.heaviside(x, y) | x=x - 0.3
histogram: np.histogram(x, edges)[0] | x=v
identity tri: np.@(n)
indices: np.indices(shape)
inner outer vdot: np.@(x, y) | x=v, y=w
int_ long longlong: np.int64
isneginf isposinf: np.@(x) | x=holes
issubdtype: np.issubdtype(x.dtype, np.floating)
kron: np.kron(x, y) | shape=(4, 9)
left_shift right_shift: np.@(x, y) | x=i, y=i
mgrid: tuple(np.mgrid[0:2, 0:3]) | x=two, y=three
nan_to_num: np.nan_to_num(x) | x=gaps
nanpercentile: np.nanpercentile(x, q) | x=gaps
percentile: np.percentile(x, q)
promote_types: np.promote_types(dtype1, dtype2)
put: np.put(x, indices, values) | x=v
rollaxis: np.rollaxis(x, axis)
row_stack: np.vstack(arrays)
swapaxes: np.swapaxes(x, 0, 1)
trapezoid: np.trapezoid(y, x) | x=v, y=w
tril_indices triu_indices: np.@(n, k)
linalg.lstsq: np.linalg.lstsq(x, y)[0] | x=x.T, y=v
linalg.multi_dot: np.linalg.multi_dot([x, y, z]) | y=y.T, z=x
fft.irfft2: np.fft.irfft2(x) | x=z2
"""

# What is words, files, randomness, or about memory; and `fix`, which NumPy deprecates.
NOT_RUN = {
    *("add.at", "array_split", "block", "copyto", "dsplit", "dtype", "errstate", "fix"),
    "frombuffer",
    *("genfromtxt", "hsplit", "loadtxt", "memmap", "ndarray", "random", "savetxt"),
    *("array2string", "array_repr", "array_str"),
    *("select", "seterr", "split", "unique", "vsplit", "linalg.cond", "linalg.norm"),
}


def space():
    """What the names in hints stand for, in NumPy's arrays."""
    x = np.asarray([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    holes = np.asarray([[math.nan, 0.5, -math.inf], [math.inf, 2.0, 0.1]])
    lists = {"v": [0.5, 1.5, 4.0], "w": [2.0, 3.0, 7.0], "i": [1, 0, 2], "edges": [0.0, 1.0, 4.0]}
    lists |= {"two": [0, 1], "three": [0, 1, 2], "indices": [0, 2], "values": [7.0, 8.0]}
    arrays = {name: np.asarray(numbers) for name, numbers in lists.items()}
    arrays |= {"x": x, "y": x[::-1] * 2, "z": np.asarray([1 + 2j, -1j, 3.0]), "z2": x + 1j}
    gaps = np.where(np.isinf(holes), 1.0, holes)
    return arrays | {"holes": holes, "gaps": gaps, "mask": x > 0.25}


PLAIN = {"axis": 1, "k": 1, "n": 3, "q": 30, "value": 9.0, "start": 1.0, "stop": 8.0, "num": 4}
PLAIN |= {"shape": (2, 3), "obj": [[1, 2]], "iterable": [1.0, 2.0], "math": math}
PLAIN |= {"dtype1": np.int64, "dtype2": np.float32, "function": lambda a, b: a * 10 + b}
ROWS = [
    (name, *row[1].replace("@", name).split(" | "))
    for row in (line.split(": ", 1) for line in ORACLE.strip().splitlines())
    for name in row[0].split()
]


def answer(name):
    """The hint for a name of NumPy's, and its code alone."""
    owner, _, last = f"tensorlayout.{name}".rpartition(".")
    return SPELLINGS[owner][last].partition("; ")[0]


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_hint_is_what_numpy_does(row):
    name, call, *others = row
    arrays = space()
    changed = {}
    for other in re.split(r", (?=\w+=)", others[0]) if others else []:
        key, _, text = other.partition("=")
        changed[key] = eval(text, {**arrays})
    arrays |= changed
    arrays.setdefault("arrays", [arrays["x"], arrays["y"]])
    plain = {**PLAIN, **{k: v for k, v in arrays.items() if not isinstance(v, (np.ndarray, list))}}
    ours = {**plain, **{k: on_device(v) for k, v in arrays.items() if k not in plain}}
    ours["tl"] = tl
    theirs = {"np": np, **plain, **arrays}
    code = answer(name)
    if " = " in code:
        exec(code, ours)
        eval(call, theirs)
        same(ours["x"], theirs["x"])
    else:
        found, expected = eval(code, ours), eval(call, theirs)
        same(found, theirs["x"] if expected is None else expected)


def on_device(value):
    if isinstance(value, list) and isinstance(value[0], np.ndarray):
        return [on_device(each) for each in value]
    here = tl.default_device()
    return tl.asarray(value, device=here, copy=True) if isinstance(value, np.ndarray) else value


def same(found, expected):
    if isinstance(expected, tuple) and isinstance(found, (tuple, list)) and found:
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            same(*pair)
    elif isinstance(found, tl.Tensor):
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(host(found), expected, rtol=1e-12, atol=1e-12)
    elif isinstance(expected, type):
        assert found == np.dtype(expected)
    else:
        assert found == expected


def has(library, name):
    for part in name.split("."):
        library = getattr(library, part, None)
    return library is not None


def test_each_hint_for_a_name_of_numpys_is_run():
    names = {*SPELLINGS["tensorlayout"]}
    names |= {f"{s}.{n}" for s in ("linalg", "fft") for n in SPELLINGS[f"tensorlayout.{s}"]}
    tried = {name for name, *_ in ROWS}
    assert {n for n in names if has(np, n)} - tried - NOT_RUN == set()
    assert (tried | NOT_RUN) - names == set()


def test_no_hint_for_what_is_there():
    assert [n for n in SPELLINGS["tensorlayout"] if hasattr(tl, n)] == []
    assert [n for n in SPELLINGS["Tensor"] if hasattr(tl.Tensor, n)] == []
    for extension in (tl.linalg, tl.fft):
        found = [n for n in SPELLINGS[extension.__name__] if hasattr(extension, n)]
        assert found == []


def test_what_hints_call_is_there():
    for answers in SPELLINGS.values():
        for text in answers.values():
            for name in re.findall(r"\btl\.((?:linalg\.|fft\.)?\w+)", text):
                assert has(tl, name), text


FOREIGN_NAMES = """
tl.concatenate: concatenate; use tl.concat(arrays, axis=0)
tl.errstate: errstate; there are no warnings
tl.reshpe: reshpe; did you mean 'reshape'?
tl.nonsense: nonsense
tl._summ: _summ
tl.linalg.svdd: svdd; did you mean 'svd'?
tl.fft.fft2: fft2; use tl.fft.fftn(x, axes=(-2, -1))
x.cpu(): cpu; use x.to_device("cpu")
x.requires_grad: requires_grad; there are no gradients
tl.Tensor.numel: numel; use x.size
x.nonsense: nonsense
"""


@pytest.mark.usefixtures("device")
def test_foreign_names():
    for row in FOREIGN_NAMES.strip().splitlines():
        code, words = row.split(": ")
        name, semicolon, hint = words.partition("; ")
        with pytest.raises(AttributeError) as caught:
            eval(code, {"tl": tl, "x": tl.zeros((2,))})
        space = code.rpartition(".")[0].replace("tl", "tensorlayout")
        of_tensor = code.startswith(("x.", "tl.Tensor"))
        owner = "'Tensor' object" if of_tensor else f"module '{space}'"
        assert str(caught.value) == f"{owner} has no attribute '{name}'{semicolon}{hint}"


def test_tensors_have_no_foreign_names():
    x = tl.zeros((2,))
    assert not any(hasattr(x, name) for name in SPELLINGS["Tensor"])
    assert SPELLINGS["Tensor"].keys() & set(dir(x)) == set()
    assert {"shape", "layout", "to_device", "__add__"} <= set(dir(x))


@pytest.mark.parametrize("name", ["concatenate", "random", "reshpe", "shapee", "sizes"])
def test_the_interpreter_guesses_nothing_foreign(name, capsys):
    """What the interpreter prints last: our words alone, or a name that is there."""
    for owner in (tl, tl.zeros(1)):
        with pytest.raises(AttributeError) as caught:
            getattr(owner, name)
        sys.__excepthook__(caught.type, caught.value, None)
        last = capsys.readouterr().err.strip().splitlines()[-1]
        assert last.startswith("AttributeError: ")
        guess = re.search(r"Did you mean: '(\w+)'", last)
        assert not guess or (owner is not tl and has(tl.Tensor, guess[1]))


# --- the page ---------------------------------------------------------------------------------


def named_on_the_page():
    """(owner, name, the cell of ours) of each name of NumPy's and PyTorch's in the tables."""
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[2].startswith(("`tl.", "`x", "`float")):
            for name in re.findall(r"`((?:np|torch|a|x)\.[\w.]+)", " ".join(cells[:2])):
                library, _, rest = name.partition(".")
                owner = "Tensor" if library in ("a", "x") else "tensorlayout"
                yield owner, rest, cells[2]


def test_the_page_and_the_table_give_the_same_answers():
    rows = [*named_on_the_page()]
    assert len(rows) > 70
    for owner, name, cell in rows:
        extension, _, last = name.rpartition(".")
        space = SPELLINGS.get(f"tensorlayout.{extension}", SPELLINGS[owner])
        text = space.get(name) or space.get(last)
        here = tl.Tensor if owner == "Tensor" else getattr(tl, extension, tl)
        if text is None:
            assert has(here, last), f"{name} is neither here nor in the table"
            continue
        said = set(re.findall(r"(?:tl|x)\.[\w.]+", cell))
        use = set(re.findall(r"(?:tl|x)\.[\w.]+", text))
        assert said & use, f"{name}: the page says {cell}, the table {text}"
