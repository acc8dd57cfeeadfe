"""Types of 8 bits and fewer, held against the formulas of their formats in exact arithmetic."""

import itertools
import math
import tracemalloc
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from layouts import TENSORS
from narrow_values import FLOATS, INTEGERS, NAMES, bits_of, content_of, number_of, value_of
from tensors import asarray, over

import tensorlayout as tl
from tensorlayout.plan.base import backend_of

pytestmark = pytest.mark.usefixtures("device")


def test_the_oracle():
    """Numbers that the specifications print."""
    assert value_of("float8_e4m3fn", 0x7E) == 448
    assert value_of("float8_e4m3fn", 0x08) == Fraction(1, 64)
    assert value_of("float8_e5m2", 0x7B) == 57344
    assert value_of("float8_e5m2", 0x01) == Fraction(1, 2**16)
    assert value_of("float6_e2m3fn", 0x1F) == Fraction(15, 2)
    assert value_of("float6_e3m2fn", 0x1F) == 28
    assert [value_of("float4_e2m1fn", c) for c in range(8)] == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert value_of("float8_e8m0fnu", 0) == Fraction(1, 2**127)
    assert content_of("float8_e4m3fn", 464.0, False) == 0x7E
    assert content_of("float8_e4m3fn", 464.1, False) == 0x7F
    assert content_of("float8_e5m2", -1e9, False) == 0xFC
    assert content_of("float8_e5m2", -1e9, True) == 0xFB
    assert content_of("float4_e2m1fn", 2.5, False) == 4
    assert content_of("float4_e2m1fn", -math.inf, False) == 0xF
    assert content_of("float8_e8m0fnu", 3.0, False) == 129
    assert content_of("int4", -9, False) == 7
    assert content_of("int4", -9.5, False) == 8


def contents(x):
    """The bytes of a tensor, wherever it is."""
    return np.asarray(x.to_device("cpu")).view(np.uint8)


@pytest.mark.parametrize("name", NAMES)
def test_every_value(name):
    """Each byte, of which the low bits count, in types that hold its value."""
    dtype = getattr(tl, name)
    x = asarray(np.arange(256, dtype=np.uint8).view(dtype))
    want = np.array([number_of(name, c) for c in range(256)])
    for wide in (tl.float32, tl.float64):
        got = np.asarray(tl.astype(x, wide).to_device("cpu"))
        np.testing.assert_array_equal(got, want.astype(wide))
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want.astype(wide)))
    truths = np.asarray(tl.astype(x, tl.bool).to_device("cpu"))
    np.testing.assert_array_equal(truths, want != 0)
    integers = np.asarray(tl.astype(x, tl.int32).to_device("cpu"))
    limits = np.iinfo(np.int32)
    exact = [
        0 if math.isnan(v) else int(max(limits.min, min(limits.max, v)))
        for v in (value_of(name, c) for c in range(256))
    ]
    np.testing.assert_array_equal(integers, exact)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize(("name", "other"), list(itertools.permutations(NAMES, 2)))
def test_every_pair(name, other, saturate):
    """Each byte in every other narrow type."""
    x = asarray(np.arange(256, dtype=np.uint8).view(getattr(tl, name)))
    got = contents(tl.astype(x, getattr(tl, other), saturate=saturate))
    want = [content_of(other, number_of(name, c), saturate) for c in range(256)]
    np.testing.assert_array_equal(got, want)


def boundaries(name, dtype):
    """Values of the type and the middles between them, with their neighbours in a float dtype."""
    values = [v for c in range(256) if math.isfinite(v := value_of(name, c))]
    distinct = sorted(set(values))
    middles = [(a + b) / 2 for a, b in itertools.pairwise(distinct)]
    top, step = distinct[-1], distinct[-1] - distinct[-2]
    ends = [s * (top + step * k) for s in (1, -1) for k in (Fraction(1, 2), 1, 2)]
    exact = np.array([float(v) for v in (*distinct, *middles, *ends)]).astype(dtype)
    more = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-38, -1e-38, 3e38, -3e38, 2.0**31, 2.0**63]
    info = np.finfo(dtype)
    more += [info.smallest_subnormal, -info.smallest_subnormal, info.max, info.min]
    return np.concatenate(
        [
            exact,
            np.nextafter(exact, dtype(np.inf)),
            np.nextafter(exact, dtype(-np.inf)),
            np.array(more).astype(dtype),
        ]
    )


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_boundary_rounds_once(name, saturate):
    with np.errstate(all="ignore"):
        for dtype in (np.float32, np.float64):
            numbers = boundaries(name, dtype)
            got = contents(tl.astype(asarray(numbers), getattr(tl, name), saturate=saturate))
            want = [content_of(name, float(n), saturate) for n in numbers]
            np.testing.assert_array_equal(got, want, str(dtype))


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_16_bits(name):
    every = np.arange(0, 1 << 16, 13).astype(np.uint16)
    for source in (np.float16, ml_dtypes.bfloat16):
        numbers = every.view(source)
        with np.errstate(all="ignore"):
            floats = [float(n) for n in numbers.astype(np.float32)]
        # The sign of a NaN is in its bits; Python's own conversion keeps it on this machine only.
        want = [
            content_of(name, math.copysign(n, -1 if b >> 15 else 1), False)
            for n, b in zip(floats, every.tolist(), strict=True)
        ]
        got = contents(tl.astype(asarray(numbers), getattr(tl, name)))
        np.testing.assert_array_equal(got, want, str(source))


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_integers(name, saturate):
    every = (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.bool)
    for dtype in every if tl.default_device() == "cpu" else (np.int64, np.bool):
        limits = (0, 1) if dtype is np.bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        results = {0, 1, *limits}
        for power in (*range(20), 31, 32, 53, 63):
            for near in (2**power, 3 * 2**power // 2, 17 * 2**power // 16):
                results |= {sign * near + by for sign in (1, -1) for by in (-1, 0, 1)}
        numbers = sorted(n for n in results if limits[0] <= n <= limits[1])
        x = asarray(np.array(numbers, dtype))
        got = contents(tl.astype(x, getattr(tl, name), saturate=saturate))
        want = [content_of(name, n, saturate) for n in numbers]
        np.testing.assert_array_equal(got, want, str(dtype))


def test_saturate_is_for_narrow_dtypes():
    x = asarray([1.0, 2.0])
    with pytest.raises(ValueError, match="astype: saturate is for narrow dtypes"):
        tl.astype(x, tl.float16, saturate=True)
    with pytest.raises(TypeError, match="astype: saturate"):
        tl.astype(x, tl.float8_e5m2, saturate=2)
    for order in "KCF":
        result = asarray([[1.0, 500.0]]).astype(tl.float8_e4m3fn, order=order, saturate=True)
        assert result.tolist() == [[1.0, 448.0]]
    same = tl.astype(asarray([1.0], dtype=tl.float8_e5m2), tl.float8_e5m2, saturate=True)
    assert same.tolist() == [1.0]


def _set(x, key, value):
    y = x.copy()
    y[key(y)] = value(y)
    return y


def _ones(x):
    return tl.ones(x.shape, dtype=tl.bool, device=x.device)


def _first(x):
    return tl.asarray([0, 0], device=x.device)


def _own_kind(x):
    return tl.zeros((), dtype=x.dtype, device=x.device)


MOVES = {
    "copy": lambda x: x.copy(),
    "row-major": lambda x: tl.to_layout(x, "C"),
    "column-major": lambda x: tl.to_layout(x, "F"),
    "reshape": lambda x: tl.reshape(x, (-1,)),
    "permute_dims": lambda x: tl.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "expand_dims": lambda x: tl.expand_dims(x, axis=0),
    "flip": tl.flip,
    "broadcast_to": lambda x: tl.broadcast_to(x, (2, *x.shape)),
    "concat": lambda x: tl.concat([x, x], axis=0),
    "stack": lambda x: tl.stack([x, tl.flip(x)]),
    "unstack": lambda x: tl.stack(tl.unstack(x)),
    "roll": lambda x: tl.roll(x, 1),
    "repeat": lambda x: tl.repeat(x, 2, axis=0),
    "tile": lambda x: tl.tile(x, (2,) * x.ndim),
    "pad": lambda x: tl.pad(x, 1),
    "take": lambda x: tl.take(x, _first(x), axis=0),
    "take_along_axis": lambda x: tl.take_along_axis(
        x, tl.zeros(x.shape, dtype=tl.int64, device=x.device), axis=-1
    ),
    "where": lambda x: tl.where(_ones(x), x, tl.flip(x)),
    "a mask": lambda x: x[_ones(x)],
    "positions": lambda x: x[_first(x)],
    "a slice": lambda x: x[..., ::-2],
    "diag": lambda x: tl.diag(x, -1),
    "linalg.diagonal": lambda x: tl.linalg.diagonal(x, offset=1),
    "matrix_transpose": tl.matrix_transpose,
    "sliding_window": lambda x: tl.sliding_window(x, 2, axis=0),
    "zeros_like": tl.zeros_like,
    "tril": tl.tril,
    "assigned": lambda x: _set(x, lambda y: ..., tl.flip),
    "assigned by a mask": lambda x: _set(x, _ones, lambda y: tl.reshape(tl.flip(y), (-1,))),
    "assigned at positions": lambda x: _set(x, lambda y: _first(y)[:1], lambda y: tl.flip(y)[:1]),
    "a scalar": lambda x: _set(x, lambda y: (..., 0), _own_kind),
}
NEED_RANK = {"concat", "repeat", "take", "positions", "pad", "a slice", "assigned at positions"}
NEED_RANK |= {"take_along_axis", "unstack", "a scalar"}


def _suits(move, layout):
    if move in ("tril", "linalg.diagonal", "matrix_transpose"):
        return layout.ndim >= 2
    if move == "diag":
        return layout.ndim == 2
    if move == "sliding_window":
        return layout.ndim > 0 and layout.shape[0] >= 2 and len(layout.parts[0]) == 1
    return move not in NEED_RANK or (layout.ndim > 0 and layout.size > 0)


def layouts_for(move):
    """The layouts that a move is tried on."""
    return [
        layout
        for layout in TENSORS
        if not isinstance(layout.padding_value, tl.BitPattern) and _suits(move, layout)
    ]


def hold(move, name, layout):
    """Compare a move of a narrow type with the same of bytes; the page of narrow types counts all.

    `tests/ops` draws most moves.
    """
    octets = np.random.default_rng(7).integers(0, 2 ** bits_of(name), layout.required_size)
    octets = octets.astype(np.uint8)
    x = over(octets.view(getattr(tl, name)), layout)
    plain = over(octets, layout.with_padding_value("UNSPECIFIED"))
    results, want = MOVES[move](x), MOVES[move](plain)
    assert results.dtype == getattr(tl, name)
    placed = [y.layout.with_padding_value("UNSPECIFIED") for y in (results, want)]
    assert placed[0] == placed[1]
    np.testing.assert_array_equal(contents(results), np.asarray(want.to_device("cpu")))


@pytest.mark.parametrize("move", MOVES)
def test_packed_elements_move_bit_for_bit(move):
    """Of tensors packed below a byte, in the forms of layouts; some views begin no byte."""
    held = 0
    for number, layout in enumerate(layouts_for(move)[:: 3 if tl.default_device() == "cpu" else 9]):
        name = [n for n in NAMES if bits_of(n) < 8][number % 9]
        octets = np.random.default_rng(7).integers(0, 2 ** bits_of(name), layout.required_size)
        octets = octets.astype(np.uint8)
        plain = over(octets, layout.with_padding_value("UNSPECIFIED"))
        x = tl.astype(over(octets.view(getattr(tl, name)), layout), getattr(tl, name))
        x = tl.to_layout(x, x.layout.with_slot_bits(bits_of(name)))
        want = MOVES[move](plain)
        try:
            result = MOVES[move](x)
        except ValueError as error:
            if "whole byte" not in str(error):
                raise
            continue
        held += 1
        assert (result.dtype, result.shape) == (getattr(tl, name), want.shape)
        np.testing.assert_array_equal(contents(result), np.asarray(want.to_device("cpu")))
    assert held


@pytest.mark.cpu
def test_packed_tensors_of_one_value_take_no_other_memory():
    layout = tl.Layout((1 << 23,), slot_bits=1)
    tracemalloc.start()
    for make in (tl.zeros, tl.ones, tl.empty, lambda *a, **k: tl.full(a[0], 1, **k)):
        make((1 << 23,), dtype=tl.uint1, layout=layout)  # what is imported then stays
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        x = make((1 << 23,), dtype=tl.uint1, layout=layout)
        assert tracemalloc.get_traced_memory()[1] - before < 1.1 * 2**20
        del x
    tracemalloc.stop()


@pytest.mark.parametrize("name", NAMES)
def test_padding_holds_its_value(name):
    """ZERO is bytes of 0, also where no 0 is; the extremes are infinities, or the largest."""
    dtype = getattr(tl, name)
    for value, number in (("ZERO", None), ("HIGHEST", math.inf), ("LOWEST", -math.inf)):
        layout = tl.Layout.padded((2, 3), (2, 5), padding_value=value)
        x = tl.to_layout(tl.zeros((2, 3), dtype=dtype), layout)
        padding = np.array(backend_of(x.device).read_bytes(x)).reshape(2, 5)[:, 3:]
        if number is None:
            assert (padding == 0).all()
        else:
            every = [v for c in range(256) if not math.isnan(v := value_of(name, c))]
            want = max(every) if number > 0 else min(every)
            assert {value_of(name, int(c)) for c in padding.flat} == {want}


@pytest.mark.parametrize("name", NAMES)
def test_equality_is_of_values(name):
    octets = np.arange(256, dtype=np.uint8)
    x = asarray(octets.view(getattr(tl, name)))
    values = [value_of(name, c) for c in range(256)]
    for at in range(0, 256, 51):
        want = [value == values[at] for value in values]
        assert (x == x[at]).tolist() == want
        assert (x != x[at]).tolist() == [not item for item in want]


@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_by_value(descending):
    octets = np.random.default_rng(0).permutation(256).astype(np.uint8)
    for name in ("float8_e5m2", "float4_e2m1fn", "int4", "float8_e8m0fnu"):
        dtype = getattr(tl, name)
        x = asarray(octets.view(dtype))
        numbers = [value_of(name, c) for c in octets.tolist()]
        keys = [math.inf if math.isnan(n) else n for n in numbers]
        keys = [(math.isnan(n), k) for n, k in zip(numbers, keys, strict=True)]
        order = sorted(range(256), key=keys.__getitem__)
        if descending:  # equal ones stay in their order
            order = sorted(range(256), key=lambda k: (not keys[k][0], -keys[k][1]))
        assert tl.argsort(x, descending=descending).tolist() == order
        np.testing.assert_array_equal(contents(tl.sort(x, descending=descending)), octets[order])


REFUSED = {
    "add": lambda x: x + x,
    "less": lambda x: x < x,
    "matmul": lambda x: x @ x,
    "sum": tl.sum,
    "cumulative_sum": tl.cumulative_sum,
    "searchsorted": lambda x: tl.searchsorted(x, x),
}


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "int4", "uint1"])
@pytest.mark.parametrize("function", REFUSED)
def test_nothing_is_computed_with_narrow_dtypes(function, name):
    x = tl.zeros(3, dtype=getattr(tl, name))
    wide = "float32" if name.startswith("float") else name.strip("124") + "8"
    with pytest.raises(TypeError, match=rf"got {name}.*; astype\(x, tl.{wide}\) first"):
        REFUSED[function](x)


def test_narrow_dtypes_promote_with_none_but_themselves():
    assert tl.result_type(tl.int4, tl.int4, 1) == tl.int4
    assert tl.result_type(tl.float8_e5m2, 1.0) == tl.float8_e5m2
    assert tl.can_cast(tl.int4, tl.int4)
    for other in (tl.float32, tl.float8_e4m3fn, tl.int8, tl.bool):
        with pytest.raises(TypeError, match=r"promote to no dtype; astype\(\)"):
            tl.result_type(tl.float8_e5m2, other)
    with pytest.raises(TypeError, match=r"int4 and a Python float promote to no dtype"):
        tl.result_type(tl.int4, 1.0)
    with pytest.raises(TypeError, match="complex64 cannot become int4"):
        tl.astype(tl.zeros(2, dtype=tl.complex64), tl.int4)


STANDARDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating"]
STANDARDS += ["complex floating", "numeric"]


@pytest.mark.cpu
@pytest.mark.parametrize("name", NAMES)
def test_kinds(name):
    dtype = getattr(tl, name)
    assert not any(tl.isdtype(dtype, kind) for kind in STANDARDS)
    assert tl.isdtype(dtype, "narrow")
    assert tl.isdtype(dtype, "narrow integer") is (name in INTEGERS)
    assert tl.isdtype(dtype, "narrow floating") is (name not in INTEGERS)
    assert not tl.isdtype(tl.bfloat16, "narrow")


@pytest.mark.cpu
@pytest.mark.parametrize("name", NAMES)
def test_limits(name):
    every = [v for c in range(2 ** bits_of(name)) if math.isfinite(v := value_of(name, c))]
    if name in INTEGERS:
        info = tl.iinfo(name)
        assert (info.bits, info.min, info.max) == (bits_of(name), min(every), max(every))
        with pytest.raises(TypeError, match="finfo"):
            tl.finfo(name)
        return
    info = tl.finfo(name)
    assert (info.bits, info.max, info.min) == (bits_of(name), max(every), min(every))
    assert info.eps == min(v for v in every if v > 1) - 1
    least = 1 if name == "float8_e8m0fnu" else 2 ** FLOATS[name][1]
    normal = 0 if name == "float8_e8m0fnu" else least
    assert info.smallest_normal == value_of(name, normal)
    with pytest.raises(TypeError, match="iinfo"):
        tl.iinfo(name)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("size", [7, 1 << 19])
def test_fused_functions_begin_and_end_with_casts(size, saturate):
    """One pass over the narrow elements: the trace shows the bytes of these alone."""

    @tl.fuse
    def scaled(x, by):
        wide = tl.astype(x, tl.float32) * by
        return tl.astype(wide, tl.float8_e4m3fn, saturate=saturate)

    octets = np.arange(size).astype(np.uint8)
    x = asarray(octets.view(tl.float8_e5m2))
    with tl.trace() as seen:
        result = scaled(x, 0.75)
    assert [(r.bytes_read, r.bytes_written) for r in seen] == [(size, size)]
    numbers = [0.75 * number_of("float8_e5m2", c) for c in range(256)]
    want = np.array([content_of("float8_e4m3fn", n, saturate) for n in numbers], np.uint8)
    got, nans = contents(result), np.isnan([numbers[c] for c in octets])
    # The sign of a NaN that was computed with is nobody's business.
    np.testing.assert_array_equal(got[~nans], want[octets[~nans]])
    assert set(got[nans].tolist()) <= {0x7F, 0xFF}
