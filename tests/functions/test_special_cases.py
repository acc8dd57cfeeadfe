"""Special cases: what the standard's text says of infinities, zeros and NaN holds in every lane.

Each case of `special_cases` stands once in every place of a 67-element line (no multiple of any
vector width, so that bodies and tails of vectorised loops both meet it), among ordinary values.
"""

import operator

import numpy as np
import pytest
from special_cases import CALLS, CASES, CONVERSIONS, ORDINARY, array_of, numbers, same
from tensors import asarray, host

import tensorlayout as tl
from tensorlayout.cpu.elementwise.functions import elementwise_function
from tensorlayout.functions import elementwise as ew

pytestmark = pytest.mark.usefixtures("device")

LANES = 67
REPAIRED = [name for name in ew.__all__ if name != "real" and elementwise_function(name).fixes]
DTYPES = {
    "real": ("float16", "bfloat16", "float32", "float64"),
    "complex": ("complex64", "complex128"),
    "integer": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "signed": ("int8", "int16", "int32", "int64"),
}
OPERATORS = {
    "abs": operator.abs,
    "negative": operator.neg,
    "positive": operator.pos,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
}
IN_PLACE = {
    name: getattr(operator, f"i{apply.__name__}")
    for name, apply in OPERATORS.items()
    if name not in ("abs", "negative", "positive", "equal", "not_equal")
    and not name.startswith(("greater", "less"))
}


class Group:
    """All cases of one function in one dtype, as arrays of operands and of allowed results."""

    def __init__(self, function, kind, dtype):
        self.function, self.kind, self.dtype = function, kind, np.dtype(getattr(tl, dtype))
        self.call = getattr(tl, function)
        self.cases = [c for c in CASES if (c.function, c.kind) == (function, kind)]
        self.operands = [
            numbers(column, self.dtype)
            for column in zip(*(c.operands for c in self.cases), strict=True)
        ]
        key = (function, kind if (function, kind) in ORDINARY else "integer")
        ordinary, result = ORDINARY[key]
        self.ordinary = [numbers([v], self.dtype) for v in ordinary]
        self.result = self._result_dtype(result)
        self.ordinary_result = numbers([result], self.result)
        self.allowed = self._allowed()

    def _result_dtype(self, result):
        if isinstance(result, bool):
            return np.dtype(bool)
        if self.dtype.kind == "c" and not isinstance(result, tuple):
            return np.dtype(f"f{self.dtype.itemsize // 2}")
        return self.dtype

    def _allowed(self):
        rows = []
        for i, case in enumerate(self.cases):
            arguments = [o[i] for o in self.operands]
            rows.append([v(*arguments) if callable(v) else v for v in case.allowed])
        most = max(map(len, rows))
        columns = zip(*((row + row[:1] * most)[:most] for row in rows), strict=True)
        return [numbers(column, self.result) for column in columns]

    def placed(self, lanes=None):
        """Operands of shape (case, lane, LANES): case i stands at [i, k, lanes[k]]."""
        self.lanes = np.arange(LANES) if lanes is None else lanes
        arrays = []
        for special, ordinary in zip(self.operands, self.ordinary, strict=True):
            array = np.broadcast_to(ordinary, (len(special), len(self.lanes), LANES)).copy()
            array[:, np.arange(len(self.lanes)), self.lanes] = special[:, None]
            arrays.append(array)
        return arrays

    def check(self, result, how):
        """The result of the operands of `placed`."""
        actual = host(result)
        assert actual.dtype == self.result, how
        rows = np.arange(len(self.lanes))
        special = actual[..., rows, self.lanes]
        self.report(special, how)
        others = actual.copy()
        others[..., rows, self.lanes] = self.ordinary_result
        assert same(others, self.ordinary_result).all(), f"{how}: a lane with an ordinary value"

    def report(self, special, how):
        """Each row of `special` holds results of one case."""
        exact = self.function == "copysign"
        right = np.zeros(special.shape, bool)
        for allowed in self.allowed:
            right |= same(special, allowed[:, None], exact)
        if special.dtype.kind == "f":  # the sign of a zero may be open, but not differ by lane
            zeros = (special == 0) & np.signbit(special)
            right &= zeros == zeros[..., :1]
        if not right.all():
            wrong = right.all(tuple(d for d in range(right.ndim) if d != right.ndim - 2))
            rows = np.flatnonzero(~wrong)
            lines = [
                f"{self.cases[i].function}{self.cases[i].operands} must be"
                f" {self.cases[i].allowed}, is {set(map(str, np.ravel(special[..., i, :])))}"
                f" ({self.cases[i].section})"
                for i in rows[:40]
            ]
            pytest.fail(f"{how}, {self.dtype}: {len(rows)} cases\n" + "\n".join(lines))


ORDINARY_OPERANDS = {function: operands for (function, _), (operands, _) in ORDINARY.items()}
GROUPS = [
    pytest.param((function, kind, dtype), id=f"{function}-{dtype}")
    for function, kind in dict.fromkeys((c.function, c.kind) for c in CASES)
    for dtype in DTYPES[kind]
]


@pytest.fixture(name="group")
def _group(request):
    return Group(*request.param)


def row_major(a):
    return asarray(a.copy())


def permuted(a):
    return tl.permute_dims(asarray(a.transpose(1, 0, 2).copy()), (1, 0, 2))


def column_major(a):
    return tl.to_layout(asarray(a), (0, 1, 2))


def padded(a):
    layout = tl.Layout.padded(a.shape, (*a.shape[:2], 72), (2, 1, 0), tl.PaddingValue.ZERO)
    return tl.to_layout(asarray(a), layout)


def flipped(a):
    return tl.flip(asarray(a[..., ::-1].copy()), axis=-1)


def strided(a):
    wide = np.zeros((*a.shape[:2], 2 * LANES), a.dtype)
    wide[..., ::2] = a
    return asarray(wide)[..., ::2]


LAYOUTS = [row_major, permuted, column_major, padded, flipped, strided]


def lanes():
    """All of them, but for devices without vectors: there some, at different alignments."""
    return None if tl.default_device() == "cpu" else np.array([0, 23, 44, 66])


@pytest.mark.parametrize("make", LAYOUTS)
@pytest.mark.parametrize("group", GROUPS, indirect=True)
def test_every_lane_of_every_layout(group, make):
    group.check(group.call(*map(make, group.placed(lanes()))), make.__name__)


OF_OPERATORS = [g for g in GROUPS if g.values[0][0] in OPERATORS]
BINARY = [g for g in GROUPS if len(ORDINARY_OPERANDS[g.values[0][0]]) == 2]


@pytest.mark.cpu  # elsewhere an operator is the function
@pytest.mark.parametrize("group", OF_OPERATORS, indirect=True)
def test_operators(group):
    arrays = group.placed()
    for make in (row_major, padded):
        operands = [make(array) for array in arrays]
        group.check(OPERATORS[group.function](*operands), f"operator, {make.__name__}")


@pytest.mark.parametrize("make", LAYOUTS)
@pytest.mark.parametrize("group", [g for g in GROUPS if g.values[0][0] in IN_PLACE], indirect=True)
def test_in_place(group, make):
    x1, x2 = map(make, group.placed(lanes()))
    assert IN_PLACE[group.function](x1, x2) is x1
    group.check(x1, f"in place, {make.__name__}")


@pytest.mark.cpu  # elsewhere scalars are operands of rank 0, which `tests/ops` draws
@pytest.mark.parametrize("group", BINARY, indirect=True)
def test_beside_scalars(group):
    """All lanes hold the case; the other operand is a Python scalar, or of rank 0."""
    apply = OPERATORS.get(group.function, group.call)
    in_place = IN_PLACE.get(group.function)
    names = ("function", "rank 0", "both of rank 0", "operator", "reflected", "in place")
    results = {name: [] for name in names}
    for one, other in zip(*group.operands, strict=True):
        x1, x2 = (asarray(np.full(LANES, v, group.dtype)) for v in (one, other))
        first, second = (float(v) if v.dtype.kind == "V" else v.item() for v in (one, other))
        results["function"].append(group.call(x1, second))
        results["rank 0"].append(group.call(x1[0], x2))
        results["both of rank 0"].append(group.call(x1[0], x2[0]))
        results["operator"].append(apply(x1, second))
        results["reflected"].append(apply(first, x2))
        if in_place:
            results["in place"].append(in_place(x1, second))
    for name, result in results.items():
        if result:
            rows = [np.broadcast_to(host(f), LANES) for f in result]
            group.report(np.stack(rows), name)


OF_REPAIRED = [g for g in GROUPS if g.values[0][0] in REPAIRED]


@pytest.mark.parametrize("group", OF_REPAIRED, indirect=True)
def test_an_element_does_not_depend_on_its_neighbours(group):
    """The same bits, whether or not special elements stand in the same block."""
    rng = np.random.default_rng(5)
    # more than one block on the CPU
    size = (3 * 2**18 if tl.default_device() == "cpu" else 2**12) // group.dtype.itemsize + 5
    count = len(group.cases)
    arrays = [ordinary_values(rng, size, group.dtype) for _ in group.operands]
    alone = host(group.call(*map(asarray, arrays))).copy()
    places = rng.choice(size, count, replace=False)
    for array, special in zip(arrays, group.operands, strict=True):
        array[places] = special
    together = host(group.call(*map(asarray, arrays)))
    group.report(together[places][:, None], "in large tensors")
    untouched = np.ones(size, bool)
    untouched[places] = False
    assert together[untouched].tobytes() == alone[untouched].tobytes()


def ordinary_values(rng, size, dtype):
    if dtype.kind in "iu":
        return rng.integers(1, 6, size).astype(dtype)
    values = rng.uniform(0.25, 3.0, size)
    return (values + 1j * values[::-1] if dtype.kind == "c" else values).astype(dtype)


HALF = np.concatenate([[0.0, 1.0], np.geomspace(1e-6, 80.0, LANES)])
PLANE = (HALF[:, None] + 1j * HALF).ravel()
CONJUGATE = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log"),
    *("log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh"),
)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", CONJUGATE)
def test_conjugates_give_conjugates(name, dtype):
    function = getattr(tl, name)
    for sign in (1, -1):
        z = tl.asarray((sign * PLANE).astype(dtype))
        mirrored = host(function(tl.conj(z)))
        assert mirrored.tobytes() == host(tl.conj(function(z))).tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex128"])
@pytest.mark.parametrize(
    ("name", "odd"),
    [("cosh", False), ("sinh", True), ("tanh", True), ("asinh", True), ("atanh", True)],
)
def test_odd_and_even_functions(name, odd, dtype):
    x = asarray(PLANE if dtype == "complex128" else np.linspace(0.0, 0.96, 4001))
    x = tl.astype(x, getattr(tl, dtype))
    mirrored, direct = (host(getattr(tl, name)(v)) for v in (-x, x))
    assert mirrored.tobytes() == (-direct if odd else direct).tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_hypot_is_symmetric(dtype):
    values = tl.astype(asarray(np.linspace(-9.0, 9.0, 301)), getattr(tl, dtype))
    x, y = values[:, None], values[None, :]
    result = host(tl.hypot(x, y)).tobytes()
    for one, other in ((-x, y), (x, -y), (-x, -y)):
        assert host(tl.hypot(one, other)).tobytes() == result
    assert host(tl.hypot(y, x)).tobytes() == result


def agrees(result, expected):
    if isinstance(expected, complex):
        expected = (expected.real, expected.imag)
    if isinstance(expected, tuple) and not isinstance(result, (tl.Tensor, np.ndarray)):
        parts = zip(result, expected, strict=True)
        return all(agrees(part, value) for part, value in parts)
    array = host(result)
    values = expected if isinstance(expected, list) else [expected]
    if array.shape != (np.shape(values) if isinstance(expected, list) else ()):
        return False
    return same(array.ravel(), numbers(values, array.dtype)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("call", CALLS, ids=lambda c: f"{c.function}{c.arguments}{c.keywords}")
def test_calls(call, dtype):
    function = tl
    for part in call.function.split("."):
        function = getattr(function, part)
    arguments = [asarray(array_of(a, dtype)) if isinstance(a, list) else a for a in call.arguments]
    keywords = dict(call.keywords)
    if call.function in ("linspace", "arange"):
        keywords["dtype"] = getattr(tl, dtype)
    if isinstance(call.expected, type):
        with pytest.raises(call.expected):
            function(*arguments, **keywords)
    else:
        result = function(*arguments, **keywords)
        assert agrees(result, call.expected), f"{result} for {call.expected} ({call.section})"


@pytest.mark.parametrize(("kind", "held", "expected"), CONVERSIONS, ids=str)
def test_conversions_to_numbers_of_python(kind, held, expected):
    x = asarray(held)
    if isinstance(expected, type):
        with pytest.raises(expected):
            kind(x)
        return
    result = kind(x)
    assert type(result) is kind
    assert agrees(host(result), expected)
