"""NumPy arrays as operands: taken as they are on the CPU, refused beside tensors on CUDA."""

import operator

import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import same

import tensorlayout as tl

TILED = "{1,0:T(2,2)}"
VALUES = np.arange(1.0, 13).reshape(3, 4)
OTHER = VALUES[::-1, ::-1] * 0.5 + 1

# NumPy's answer is what the call gives of two arrays; one of them is replaced by a tensor.
CALLS = {
    name: getattr(operator, name) for name in ("add", "sub", "floordiv", "pow", "eq", "lt")
} | {
    "matmul": lambda a, b: a @ np.swapaxes(b, 0, 1),
    "divmod": lambda a, b: divmod(a, b)[1],
    "ufunc": np.hypot,
    "where": lambda a, b: np.where(a > b, a, b),
    "array_equal": np.array_equal,
    "solve": lambda a, b: np.linalg.solve(a[:, :3] + 9 * np.eye(3), b[:, :1]),
    "broadcast_arrays": lambda a, b: np.broadcast_arrays(a, b[0])[1],
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_a_tensor_and_an_array(name):
    call, expected = CALLS[name], CALLS[name](VALUES, OTHER)
    x, y = tl.asarray(VALUES), tl.asarray(OTHER)
    for item in (call(x, OTHER), call(VALUES, y)):
        assert isinstance(item, tl.Tensor) or name == "array_equal"
        np.testing.assert_allclose(np.asarray(item), expected, rtol=1e-14, strict=True)


def test_functions_of_one_array():
    for name in ("sum", "sort", "exp", "flip", "max", "zeros_like", "nonzero"):
        plain = getattr(np, name)(VALUES[0])
        result = getattr(tl, name)(VALUES[0])
        same(result[0] if name == "nonzero" else result, plain[0] if name == "nonzero" else plain)
    same(tl.fft.fft(VALUES), np.fft.fft(VALUES))
    assert np.shares_memory(np.asarray(tl.reshape(VALUES, (12,))), VALUES)


@pytest.mark.parametrize(
    "layout", ["(3,4):(1,3)", "(3,4):(6,1) padded=(3,6) padding=ONE", "(3,4):(-4,-1)+11", TILED]
)
def test_layouts_of_the_tensor(layout):
    x = tl.to_layout(tl.asarray(VALUES), layout)
    array = np.asfortranarray(VALUES + 1)
    same(x + array, VALUES + array)
    same(array - x, array - VALUES)
    same(tl.fuse(lambda x, y: x * y + 1)(x, array), VALUES * array + 1)


def test_arrays_in_every_order_are_not_copied():
    x = tl.asarray(VALUES)
    for array in (OTHER, OTHER.copy("F"), OTHER[:, ::-1], np.broadcast_to(OTHER[0], (3, 4))):
        array.flags.writeable = False
        with tl.trace() as trace, tl.no_copies():
            results = x * array, array * x
        for item in results:
            same(item, VALUES * array)
        assert [record.kind for record in trace] == ["compute", "compute"]
    column_major = tl.asarray(VALUES.copy("F"))
    assert (column_major + OTHER.copy("F")).layout == column_major.layout


def test_results_in_arrays():
    x, out = tl.asarray(VALUES.copy()), np.zeros((3, 4))
    assert np.add(x, OTHER, out=out) is out
    same(out, VALUES + OTHER)
    kept = out
    out -= x
    assert out is kept
    same(out, VALUES + OTHER - VALUES)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        np.add(x, 1, out=out)
    x += OTHER
    same(x, VALUES + OTHER)
    x @= np.eye(4)
    same(x, VALUES + OTHER)
    doubled = np.zeros((3, 4))
    tl.fuse(lambda v: v * 2 + 1)(x, out=doubled)
    same(doubled, (VALUES + OTHER) * 2 + 1)


class Foreign:
    """An array of another library, whose operators tell that they were asked."""

    def __array__(self, dtype=None, copy=None):
        return np.ones(3)

    def __radd__(self, other):
        return "asked"

    __rdivmod__ = __radd__


def test_who_is_asked_first():
    x = tl.ones(3)
    with pytest.raises(TypeError, match=r"Foreign; make it a tensor with asarray\(\) first"):
        x + Foreign()
    by_protocol = type("ByProtocol", (Foreign,), {"__array_ufunc__": lambda *_, **__: "ufunc"})
    by_priority = type("ByPriority", (Foreign,), {"__array_priority__": 2000.0})
    units = type("Units", (np.ndarray,), {**vars(by_protocol), "__radd__": Foreign.__radd__})
    assert x + by_protocol() == x + by_priority() == x + np.ones(3).view(units) == "asked"
    assert divmod(x, by_protocol()) == divmod(x, by_priority()) == "asked"
    assert np.add(x, by_protocol()) == np.add(x, np.ones(3).view(units)) == "ufunc"


@needs_compiler
def test_beside_tensors_on_cuda():
    with simulator(1):
        check_refusals(tl.asarray(VALUES, device="cuda"))


def check_refusals(x):
    for call in (
        lambda: x + VALUES,
        lambda: VALUES - x,
        lambda: tl.where(x > 0, VALUES, x),
        lambda: np.average(x, weights=VALUES),
        lambda: tl.concat([x, VALUES]),
        lambda: tl.matmul(x, VALUES.T),
        lambda: tl.clip(x, VALUES, 2),
        lambda: tl.fuse(lambda x, y: x * y + 1)(x, VALUES),
        lambda: np.add(x, 1, out=np.zeros((3, 4))),
    ):
        with pytest.raises((TypeError, ValueError), match=r"asarray\(\) first|to_device\(\)"):
            call()
