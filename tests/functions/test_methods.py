"""The methods of `Tensor` that NumPy's arrays have: names, views, destinations, refusals.

`tests/ops/numpy_cases.py` compares what they give with NumPy's.
"""

import ast
import inspect
import math
import pickle
from pathlib import Path

import layouts
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensors import BFLOAT16, asarray, fits, host, padding_of, read_only, shared, slots, tensor_in

import tensorlayout as tl
from tensorlayout.functions import methods
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.plan.rules import padding_bytes

pytestmark = pytest.mark.usefixtures("device")

NAMES = {
    *("sum", "mean", "max", "min", "prod", "any", "all", "std", "var", "argmax", "argmin"),
    *("cumsum", "cumulative_sum", "cumprod", "cumulative_prod", "sort", "argsort", "reshape"),
    *("ravel", "flatten", "squeeze", "transpose", "swapaxes", "permute", "astype", "copy", "clip"),
    *("round", "take", "repeat", "nonzero", "conj", "conjugate", "item", "tolist", "tobytes"),
    *("view", "fill", "dot", "diagonal", "trace", "searchsorted", "nbytes", "itemsize", "real"),
    *("imag", "__round__", "__divmod__", "__rdivmod__", "__format__", "__bytes__"),
    *("__array_priority__", "shape", "ndim", "size", "dtype", "T", "mT"),
}
METHODS_ALONE = {"reshape", "transpose", "sort", "astype", "copy", "conj", "conjugate"}
AS_NUMPYS = sorted({n for n in NAMES if hasattr(np, n)} & vars(methods)["_METHODS"].keys())


# The functions behind the methods are tried on all layouts by `tests/ops`.
SOME = ["(3,4):(4,1)", "(2,3,4):(1,2,6)", "(7,):(-2,)+12", "(1,3):(7,1)", "(0,):(1,)"]
SOME += ["(3,4):(0,1)", "(2,3):(5,1) padded=(2,5) padding=ONE"]
SOME = [*map(Layout.parse, SOME), Layout.tiled((3, 4), [(2, 3)])]


def test_python_values():
    array = np.array([[1.5, -2.0], [0.25, 4.0]])
    x = asarray(array, layout=(0, 1))
    assert x.tolist() == array.tolist()
    assert [x.item(1), x.item(-1, 0), x[0, 1].item(), x[0, 1].item(())] == [-2.0, 0.25, -2.0, -2.0]
    assert bytes(x) == x.tobytes() == array.tobytes()
    assert (x.nbytes, x.itemsize, asarray(2.5).tolist()) == (32, 8, 2.5)
    assert asarray([True, False]).max().item() is True


def test_by_hand():
    x = asarray([1, 2, 2, 5])
    assert asarray([5, 1]).searchsorted(2, sorter=asarray([1, 0])).item() == 1
    assert x.cumulative_sum(include_initial=True).tolist() == [0, 1, 3, 5, 10]
    assert x.cumulative_prod(axis=0).tolist() == [1, 2, 4, 20]
    assert x.permute(0).tolist() == x.permute([0]).tolist() == [1, 2, 2, 5]
    assert x.clip([0, 3, 3, 3], asarray(4.5)).tolist() == [1.0, 3.0, 3.0, 4.5]
    assert x.repeat(asarray([0, 1, 2, 0])).tolist() == [2, 2, 2]


@pytest.mark.cpu
def test_each_is_there_and_pickles():
    assert set(dir(tl.Tensor)) >= NAMES
    for name in vars(methods)["_METHODS"]:
        method = getattr(tl.Tensor, name)
        assert pickle.loads(pickle.dumps(method)) is method


@pytest.mark.cpu
def test_methods_are_the_functions():
    for name, function in methods._METHODS.items():
        assert inspect.unwrap(vars(tl.Tensor)[name]) is inspect.unwrap(function)


@pytest.mark.cpu
@pytest.mark.parametrize("name", [n for n in AS_NUMPYS if n not in METHODS_ALONE])
def test_signature_is_numpys(name):
    """Of the function of that name: names, their order, and those that are keywords only."""
    ours = inspect.signature(getattr(tl.Tensor, name)).parameters.values()
    theirs = inspect.signature(getattr(np, name)).parameters.values()
    named = [p for p in theirs if p.kind is not p.VAR_KEYWORD]
    ours = [p for p in ours if p.name != "descending" or p.name in {q.name for q in named}]
    assert [p.name for p in ours] == [p.name for p in named]
    # `keepdims` and what follows may come by position, as in the longest of NumPy's signatures.
    assert [p.name for p in ours if p.kind is p.KEYWORD_ONLY] == [
        p.name for p in named if p.kind is p.KEYWORD_ONLY
    ]


def test_sorted_the_other_way():
    x = tl.asarray([[3.0, math.nan, 1.0], [2.0, 2.0, 5.0]])
    assert x.argsort(descending=True).tolist() == [[1, 0, 2], [2, 0, 1]]
    x.sort(axis=0, descending=True)
    assert repr(x.tolist()) == "[[3.0, nan, 5.0], [2.0, 2.0, 1.0]]"


@pytest.mark.cpu
def test_declarations_are_the_signatures():
    """The declarations for type checkers have the parameters of the functions."""
    source = ast.parse(Path(inspect.getsourcefile(tl.Tensor)).read_text("utf-8"))
    declared = {n.name: n.args for n in ast.walk(source) if isinstance(n, ast.FunctionDef)}
    for node in ast.walk(source):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            declared |= {
                t.id: declared[node.value.id] for t in node.targets if node.value.id in declared
            }
    for name in methods._METHODS.keys() & declared.keys() - {"conj", "conjugate"}:
        results = [*inspect.signature(getattr(tl.Tensor, name)).parameters.values()]
        argument = declared[name]
        named = [
            *argument.posonlyargs,
            *argument.args,
            *filter(None, [argument.vararg]),
            *argument.kwonlyargs,
        ]
        assert [p.name for p in results[1:]] == [a.arg for a in named[1:]], name
        defaults = [ast.literal_eval(d) for d in [*argument.defaults, *argument.kw_defaults]]
        assert [p.default for p in results if p.default is not p.empty] == defaults, name


OUT = {
    **{
        name: lambda x, out, name=name: getattr(x, name)(0, out=out)
        for name in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all")
    },
    "trace": lambda x, out: x.reshape(3, 1, 3).trace(0, 0, 1, out=out),
    "take": lambda x, out: x.take(1, 0, out),
}
LINES = {
    "cumsum": lambda x, out: x.cumsum(0, None, out),
    "cumprod": lambda x, out: x.cumprod(0, out=out),
    "clip": lambda x, out: x.clip(1, 3, out),
    "round": lambda x, out: x.round(out=out),
}


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16"])
def test_out_is_worked_in(name, dtype):
    values = np.array([2, 255, 3, 7, 1, 251, 249, 13, 11], dtype)
    values = values if dtype != "int64" else values << 30
    out, expected = (np.zeros(9 if name.startswith("cum") else ()) for _ in range(2))
    out = asarray(out)
    assert getattr(asarray(values), name)(out=out) is out
    np.testing.assert_allclose(host(out), getattr(values, name)(out=expected), rtol=1e-14)


@pytest.mark.parametrize("name", [*OUT, *LINES])
def test_out_lies_in_the_operand(name):
    """A row of it, or all of it backwards."""
    values = np.array([[1.5, 2.5, 4.0], [3.0, 0.5, 2.0], [5.0, 6.0, 0.25]])
    x = asarray(values.copy())
    out = x[1] if name in OUT else x[::-1]
    call = (OUT | LINES)[name]
    assert call(x, out) is out
    np.testing.assert_allclose(host(out), call(values, None), rtol=1e-12)


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (lambda: tl.zeros(2), ValueError, r"must have the shape of the result, \(3,\), got \(2,\)"),
        (
            lambda: tl.zeros(3, dtype="int64"),
            TypeError,
            "cannot cast the result from float64 to int64, .* by",
        ),
        (lambda: tl.broadcast_to(tl.zeros(1), (3,)), ValueError, "elements of .* share slots"),
        (lambda: np.zeros(3, ">f8"), TypeError, "must be a tensor, got numpy.ndarray"),
        (lambda: read_only(tl.zeros(3)), ValueError, "the tensor is read-only"),
    ],
)
def test_out_that_does_not_fit(out, error, words):
    with pytest.raises(error, match=words):
        tl.ones((2, 3)).sum(0, out=out())


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_sort_in_place(dtype):
    """On layouts that can be written to; the memory stays what it is."""
    for layout in SOME:
        if layout.is_overlapping:
            continue
        x, values = tensor_in(layout, slots(np.dtype(dtype), 500))
        for axis in (-1, 0):
            before = x.memory if x.device == "cpu" else x.memory.address
            assert x.sort(axis) is None
            values = np.sort(values, axis)
            np.testing.assert_array_equal(host(x), values)
            assert x.layout is layout
            assert before is (x.memory if x.device == "cpu" else before)


def test_in_place_on_views():
    x = asarray([[3, 1, 2], [9, 7, 8]])
    x[:, ::-1].sort()
    assert x.tolist() == [[3, 2, 1], [9, 8, 7]]
    x.T[0].fill(5)
    assert x.tolist() == [[5, 2, 1], [5, 8, 7]]
    x[1:, 1:].fill(asarray(True))
    assert x.tolist() == [[5, 2, 1], [5, 1, 1]]
    z = asarray([1 + 2j, 3 + 4j])
    z.real = asarray([7.0, 8.0])
    z.imag = -1
    assert z.tolist() == [7 - 1j, 8 - 1j]
    z.real[0] = 0
    assert z.tolist() == [0 - 1j, 8 - 1j]


def test_views_are_views():
    x = asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for view in (
        *(x.reshape(3, 2), x.reshape(-1, copy=False), x.T.reshape(6, order="F")),
        *(x.T.reshape(6, order="A"), x.ravel(), x.T.ravel("F"), x.T.ravel("K"), x[None].squeeze()),
        *(x.transpose(1, 0), x.permute(1, 0), x.swapaxes(0, 1), x.diagonal(), x.real, x.view()),
        *(x.view(tl.int32), x.astype(tl.float64, copy=False)),
    ):
        assert shared(view, x)
    for new in (x.flatten(), x.copy(), x.take(0, axis=0), x.astype(tl.float64), x.clip(0, 9)):
        assert not shared(new, x)
    assert x.view() is not x
    with pytest.raises(ValueError, match="copy=False"):
        x.T.reshape(6, copy=False)


def test_orders_of_copies():
    x = tl.zeros((2, 3), layout=(0, 1))
    assert x.copy().strides == (1, 2)
    assert x.copy("C").strides == (3, 1)
    assert x.astype(tl.int8, "A").strides == (1, 2)
    assert x[:1].astype(tl.int8, order="F").strides == (1, 1)
    assert x.flatten("A").shape == (6,)
    assert x.astype(x.dtype, "F", copy=False) is x
    assert not shared(x.astype(x.dtype, "F"), x)


def is_even(layout, have, want):
    """Return True if NumPy's rule, and ours for strides, permits a view with this item size."""
    if have == want:
        return True
    if layout.ndim == 0 or layout.is_tiled or layout.shape[-1] * have % want:
        return False
    steps = [s for n, s in zip(layout.shape[:-1], layout.strides, strict=False) if n > 1]
    last = layout.shape[-1] == 1 or layout.strides[-1] == 1
    return not layout.size or (last and not any(s * have % want for s in (*steps, layout.lowest)))


def check_view(layout, have, want):
    x, values = tensor_in(layout, slots(have, max(500, layout.required_size)))
    x = x if layout.size else tl.zeros(layout.shape, dtype=have, layout=layout.form)
    if not is_even(layout, have.itemsize, want.itemsize):
        with pytest.raises(ValueError, match=r"^view: "):
            x.view(want)
        return
    result = x.view(want)
    expected = np.ascontiguousarray(values).view(want) if layout.ndim else values.view(want)
    assert (result.dtype, result.shape) == (want, expected.shape)
    assert np.array(host(result), order="C").tobytes() == expected.tobytes()
    assert shared(result, x) == bool(layout.size)
    np.testing.assert_array_equal(host(result.view(have)), values)
    padding = result.layout.padding_value
    if result.layout.is_padded and padding is not PaddingValue.UNSPECIFIED:
        content = padding_bytes(padding, want)
        assert padding_of(result).tobytes() == content * result.layout.padding_size


WIDTHS = st.sampled_from(["int8", "int16", "int32", "int64", "complex128"]).map(np.dtype)


@settings(max_examples=60)
@given(layouts.packed() | layouts.padded() | layouts.strided() | layouts.tiled(), WIDTHS, WIDTHS)
def test_view_of_any_layout(device, layout, have, want):
    if fits(layout, have):
        check_view(layout, have, want)


def test_view_in_wider_items_and_back():
    x = asarray(np.arange(12, dtype=np.int16).reshape(2, 6)[:, ::1].copy())
    wide = x.view(tl.int32)
    assert wide.shape == (2, 3)
    assert wide[1, 0].item() == 6 + (7 << 16)
    assert read_only(x).view(tl.int32).readonly
    wide[1, 0] = -1
    assert x[1].tolist() == [-1, -1, 8, 9, 10, 11]
    assert x[:, 2:4].view(tl.int32).strides == (3, 1)
    assert [x[1].view(kind).layout.offset for kind in (tl.int8, tl.int32)] == [12, 3]
    assert wide[:, 1:].view(tl.int8).shape == (2, 8)
    assert wide[::-1].view(tl.int8)[1].tolist() == wide.view(tl.int8)[0].tolist()
    assert x.view(tl.bfloat16).dtype == BFLOAT16
    padded = tl.ones((2, 4), dtype=tl.int16, layout=Layout.padded((2, 4), (2, 8)))
    assert str(padded.view(tl.int32).layout) == "(2,2):(4,1) padded=(2,4)"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: x[1:7].view("int32"), ValueError, "must begin at a multiple of 4 bytes"),
        (lambda x: x[:3].view("int32"), ValueError, "3 items of 2 bytes .* no whole ones of 4"),
        (lambda x: x[::2].view("int32"), ValueError, "the last dimension must have stride 1"),
        (lambda x: x[0].view("int8"), ValueError, r"has rank 0; reshape\(\) it to \(1,\)"),
        (lambda x: x.view(-1), TypeError, "for another shape use reshape"),
        (lambda x: x.view("text"), TypeError, "view: dtype must be a dtype"),
    ],
)  # fmt: skip
def test_view_refuses(call, error, words):
    with pytest.raises(error, match=words):
        call(tl.zeros(8, dtype=tl.int16))


def test_view_of_memory_that_is_not_aligned():
    """NumPy can read such memory, but kernels cannot."""
    x = tl.zeros(9, dtype=tl.int16)
    if x.device == "cpu":
        octets = memoryview(bytearray(range(18)))[1:]
        assert tl.from_storage(octets, "(8,):(1,)", dtype="int16").view("int32")[0] == 0x04030201
        return
    later = x.memory._replace(address=x.memory.address + 2)
    y = tl.Tensor._from_memory(later, x[:8].spec, x.home)
    with pytest.raises(ValueError, match="view: the tensor must begin at a multiple of 4 bytes"):
        y.view("int32")


def test_special_methods():
    x = asarray([[1.25, -2.75]])
    assert round(x).tolist() == [[1.0, -3.0]]
    assert round(x, 1).tolist() == [[1.2, -2.8]]
    assert bytes(x.T) == np.array([1.25, -2.75]).tobytes()
    assert [part.tolist() for part in divmod(asarray([7, -7]), 2)] == [[3, -4], [1, 1]]
    assert [part.tolist() for part in divmod(7, asarray([2, -2]))] == [[3, -4], [1, -1]]
    with pytest.raises(TypeError, match="unsupported operand"):
        divmod(x, "2")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: x.max(where=x > 0), ValueError, "max: where needs initial"),
        (lambda x: x.var(ddof=1, correction=2), ValueError, "var: ddof and correction"),
        (lambda x: x.std(ddof="1"), TypeError, "std: ddof must be a real number"),
        (lambda x: x.cumulative_sum(), ValueError, "cumulative_sum: axis must be given"),
        (lambda x: x.sort(kind="bubble"), ValueError, "sort: kind must be"),
        (lambda x: bool(x[:0]), ValueError, "bool: .* empty tensor is ambiguous, got shape"),
        (lambda x: x.fill(x), ValueError, "fill: value must be one number, got shape"),
        (lambda x: x.item(), ValueError, "item: can only convert a tensor with one element"),
        (lambda x: x.item(1, 9), IndexError, "item: index 9 is out of bounds for axis 1"),
        (lambda x: x.item(1, 1, 1), ValueError, "item: needs 2 integers"),
        (lambda x: x.take(0, mode="near"), ValueError, "take: mode must be"),
        (lambda x: x.clip(1, min=2), ValueError, "clip: a_min and min"),
        (lambda x: x.reshape(6, order="K"), ValueError, "reshape: order must be"),
        (lambda x: x.squeeze(0), ValueError, "squeeze: only dimensions of size 1 can be squeezed"),
        (lambda x: x.dot(np.ones(3, ">f8")), TypeError, "dot: .* got numpy.ndarray"),
        (lambda x: x.argsort(kind={}), ValueError, "argsort: kind must be"),
        (lambda x: x.astype("int8", np.ones(2)), ValueError, "astype: order must be"),
        (lambda x: x.item(np.ones(())), TypeError, "item: index must be an integer"),
        (lambda x: x.round(400), ValueError, "round: decimals must be from -308 to 308"),
        (lambda x: x.take([True], mode="clip"), TypeError, "take: indices"),
        (lambda x: setattr(x, "imag", 1), TypeError, "imag: only a complex tensor"),
        (lambda x: x.copy("Z"), ValueError, "copy: order must be"),
        (lambda x: round(x, 1.5), TypeError, "round: decimals must be"),
        (
            lambda x: x.__array_namespace__(foo=1),
            TypeError,
            "__array_namespace__: got an unexpected keyword argument 'foo'",
        ),
        (lambda x: tl.stack(x[0, 0]), TypeError, "stack: a tensor of rank 0"),
        (lambda x: np.zeros((2, 3), order="A", like=x), ValueError, "zeros: order must be"),
        (lambda x: np.arange("a", like=x), TypeError, "arange: stop must be"),
    ],
)  # fmt: skip
def test_errors(call, error, words):
    with pytest.raises(error, match=f"^{words}"):
        call(asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


def test_dir_leaves_out_internal_attributes():
    x = tl.ones(3)
    for names in (dir(x), dir(tl.Tensor)):
        assert "shape" in names
        assert not {"memory", "spec", "home"} & set(names)


def test_put_takes_one_position_for_any_dtype():
    x = tl.zeros(300, dtype=tl.int8)
    tl.put(x, 200, 1)
    tl.put(x, -1, 2)
    assert (int(x[200]), int(x[299])) == (1, 2)
    y = tl.zeros(3)
    np.put(y, 1, 5.0)
    assert y.tolist() == [0.0, 5.0, 0.0]
