"""Random functions of random tensors, for fused and unfused calls to be compared."""

import math

import layouts
import numpy as np
from hypothesis import note
from hypothesis import strategies as st
from tensors import DTYPES, as_dtype, host, padding_of, slots, tensor_in

import tensorlayout as tl

ONE = {
    **{name: getattr(tl, name) for name in ("abs", "exp", "log1p", "negative", "sign", "sqrt")},
    **{name: getattr(tl, name) for name in ("square", "tanh", "isnan", "round", "logical_not")},
    **{name: getattr(tl, name) for name in ("bitwise_invert", "floor", "acos", "log10", "conj")},
    "copy": lambda x: x.copy(),
    **{name: (lambda x, d=name: x.astype(getattr(tl, d))) for name in DTYPES["any"]},
}
TWO = {
    **{name: getattr(tl, name) for name in ("add", "subtract", "multiply", "divide", "maximum")},
    **{name: getattr(tl, name) for name in ("less", "equal", "floor_divide", "remainder", "pow")},
    **{name: getattr(tl, name) for name in ("bitwise_and", "logical_or", "atan2", "copysign")},
    "where": lambda x, y: tl.where(x != y, x, y),
    "clip": lambda x, y: tl.clip(x, -1, _bound(x, y)),
    "reused": lambda x, y: (x + y) * (x - y),
    "in place": lambda x, y: _in_place(x, y),
}
LAST = {
    **{name: getattr(tl, name) for name in ("sum", "max", "mean", "any", "count_nonzero", "var")},
    "argmin": lambda x, axis: tl.argmin(x, axis=axis[0] if axis else None),
}
SCALARS = st.sampled_from([True, 2, -1, 0.5, 2.0, -0.0, math.inf, 1.5 + 2j])


def _bound(x, y):
    """`y`, unless it is a number that has to be rounded for integers: that takes its value."""
    if isinstance(y, float) and x.dtype.kind in "iu":
        raise TypeError
    return y


def _in_place(x, y):
    found = x * y
    found += x
    return found


@st.composite
def tensors(draw, shape, dtype, tiled=True):
    """A tensor whose layout is of any form; each element a value that functions are tried at."""
    rank = len(shape)
    order = draw(layouts.orders(rank))
    forms = ["packed", "packed", "padded", "stepped", "flipped", "repeated"]
    form = draw(st.sampled_from(forms + ["tiled"] * (tiled and 0 not in shape and rank > 0)))
    layout = tl.Layout.packed(shape, order)
    if form == "padded":
        padding = draw(st.sampled_from([tl.PaddingValue.ZERO, tl.PaddingValue.UNSPECIFIED]))
        layout = tl.Layout.padded(
            shape, [n + draw(st.integers(0, 2)) for n in shape], order, padding
        )
    elif form == "stepped":
        layout = tl.Layout(shape, [2 * s for s in layout.strides])
    elif form == "flipped":
        signs = [draw(st.sampled_from([1, -1])) for _ in shape]
        strides = [a * s for a, s in zip(signs, layout.strides, strict=True)]
        lowest = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0 and n)
        layout = tl.Layout(shape, strides, offset=-lowest)
    elif form == "repeated" and rank:
        dim = draw(st.integers(0, rank - 1))
        layout = tl.Layout(shape, [0 if d == dim else s for d, s in enumerate(layout.strides)])
    elif form == "tiled":
        layout = tl.Layout.tiled(shape, [(2,) * min(rank, 2)], order)
    values = slots(as_dtype(dtype), max(1, layout.required_size), draw(st.integers(0, 3)))
    return tensor_in(layout, values)[0]


@st.composite
def calls(draw, dtypes=None, shape=None):
    """A function and its arguments, that can be called: at least two steps, maybe a reduction."""
    shape = draw(layouts.shapes(3)) if shape is None else shape
    names = st.sampled_from(dtypes or DTYPES["any"])
    main = draw(names)
    args = [draw(tensors(shape, main))]
    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from([main, main, main, draw(names)]))
        smaller = tuple([draw(st.sampled_from([n, n, 1])) for n in shape])
        part = draw(st.sampled_from([shape, shape, smaller[draw(st.integers(0, len(shape))) :]]))
        args.append(draw(tensors(part, kind)))
    args += draw(st.lists(SCALARS, max_size=1))
    steps, values = [], list(args)
    for _ in range(draw(st.integers(2, 6))):
        step = _drawn(draw, len(values))
        try:
            found = _taken(step, values)
        except (AttributeError, TypeError, OverflowError):  # not of these dtypes
            continue
        if isinstance(found, tl.Tensor):  # numbers alone give a number
            values.append(found)
            steps.append(step)
    if draw(st.integers(0, 3)) == 0:
        axis = draw(st.none() | st.lists(st.integers(0, max(0, len(shape) - 1)), max_size=1))
        step = (draw(st.sampled_from(sorted(LAST))), len(values) - 1, tuple(axis) if axis else None)
        try:
            values.append(_taken(step, values))
            steps.append(step)
        except (TypeError, ValueError):
            pass
    return _function(steps or [("copy", 0)]), args


def _drawn(draw, count):
    recent = st.integers(max(0, count - 3), count - 1)
    if draw(st.booleans()):
        return draw(st.sampled_from(sorted(ONE))), draw(recent)
    other = draw(st.one_of(recent, st.integers(0, count - 1)))
    literal = draw(st.none() | SCALARS)
    return draw(st.sampled_from(sorted(TWO))), draw(recent), other if literal is None else [literal]


def _taken(step, values):
    name, first, *rest = step
    x = values[first]
    if name in LAST:
        return LAST[name](x, axis=rest[0])
    if name in ONE:
        return ONE[name](x)
    (other,) = rest
    return TWO[name](x, other[0] if isinstance(other, list) else values[other])


def _function(steps):
    def chain(*args):
        values = list(args)
        for step in steps:
            values.append(_taken(step, values))
        return values[-1]

    note(steps)
    chain.__doc__ = repr(steps)
    return chain


def identical(found, expected, message=""):
    """Spec, bits of elements (one NaN is like another), and padding."""
    assert found._spec is expected._spec, (found._spec, expected._spec, message)
    assert bits(host(found)) == bits(host(expected)), (host(found), host(expected), message)
    if not found.layout.is_overlapping and found.layout.padding_value.name != "UNSPECIFIED":
        np.testing.assert_array_equal(padding_of(found), padding_of(expected), err_msg=message)


def bits(array):
    """The bytes of an array, all NaN made one; real and imaginary parts each by itself."""
    array = np.array(array, order="C", ndmin=1)
    if array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    if array.dtype.kind in "fV":
        array[np.isnan(array)] = np.nan
    return array.tobytes()
