"""Cases of reductions, scans, sorts, searches and sets."""

import math
import warnings

import numpy as np
from case import Case, Refused, but_signs_of_zeros, near, packed, same
from reducing_oracle import REDUCTIONS, WIDE, result_dtype, scanned_by_numpy
from tensors import BFLOAT16, as_dtype, host, kind

import tensorlayout as tl


def widest(array):
    return array.astype(WIDE.get(kind(array.dtype), np.int64))


def floats(array):
    """Of bfloat16 in float32, which NumPy can compare."""
    return array.astype(np.float32) if array.dtype == BFLOAT16 else array


def reduced(x, axes, keepdims):
    rank = x.layout.ndim
    dims = range(rank) if axes is None else np.atleast_1d(np.array(axes, int))
    dims = {int(d) % rank for d in dims}
    order = x.layout.minor_to_major
    if keepdims:
        return packed([1 if d in dims else n for d, n in enumerate(x.layout.shape)], order)
    left = [d for d in range(rank) if d not in dims]
    return packed([x.layout.shape[d] for d in left], [left.index(d) for d in order if d in left])


def count_along(shape, axes):
    dims = range(len(shape)) if axes is None else np.atleast_1d(np.array(axes, int))
    return math.prod(shape[int(d)] for d in dims)


def tolerances(x, dtype, count):
    """Of sums: runs of float32 are added up in float32, their sums in float64."""
    if kind(as_dtype(dtype)) not in "fc":
        return same
    finite = x.array[np.isfinite(x.array.astype(np.complex128))].astype(np.complex128)
    scale = float(np.abs(finite).max(initial=0)) * max(count, 1)
    eps = float(tl.finfo(dtype).eps)
    exact = 2.0**-50 if dtype in ("float64", "complex128") else 2.0**-23
    return near(2 * eps, exact * scale)


def reduction(name):
    def make(draw):
        words = REDUCTIONS[name][1]
        dtype = draw.dtype(words)
        summing = name not in ("min", "max", "all", "any", "count_nonzero")
        shape = draw.shape()
        x = draw.operand(dtype, shape, "mild" if summing else "wild")
        if summing and kind(x.dtype) == "f" and draw.chance(0.15) and name != "prod":
            x = _with_specials(draw, dtype, shape)
        if name == "prod" and kind(x.dtype) == "c":
            x = _of_modulus_one(draw, dtype, shape)
        axes, keep = draw.axes(len(shape)), draw.chance(0.4)
        count = count_along(shape, axes)
        accurate = summing and kind(x.dtype) in "fc"
        more = {}
        if name in ("var", "std"):
            more["correction"] = draw.choice((0.0, 0.0, 1.0, 0.5))
        arguments = {"axis": axes, "keepdims": keep}

        def expect(a):
            if count == 0 and name in ("min", "max"):
                empty = a.size == 0 and 0 not in _shape_of(reduced(x, axes, keep))
                if empty or a.size == 0:
                    return _of_nothing(a, axes, keep, name)
            return _numpys(name, a, arguments, more)

        options = "".join(f", {k}={v}" for k, v in (arguments | more).items())
        check = but_signs_of_zeros if name in ("min", "max") else same
        if accurate and name == "prod":
            check = near(2.0**-20 if dtype not in ("float64", "complex128") else 2.0**-40, 1e-30)
            if dtype in ("float16", "bfloat16"):
                check = near(2 * float(tl.finfo(dtype).eps), float(tl.finfo(dtype).smallest_normal))
        elif accurate and name in ("var", "std"):
            eps = max(float(tl.finfo(dtype).eps), 2.0**-50)
            most = 32 * eps * max(1, count / 1000)  # blocks may be tiny, one added to the other
            check = near(most, most)
        elif accurate:
            check = tolerances(x, dtype, count)
        text = f"tl.{name}(x{options})"
        return Case(name, text, {"x": x}, expect, check, reduced(x, axes, keep))

    return make


def _shape_of(layout):
    return layout.shape


def _of_nothing(a, axes, keep, name):
    """The least of no elements is refused, also where there are no results."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = getattr(np, name)(floats(a), axis=axes, keepdims=keep)
    except ValueError:
        return Refused(ValueError)
    return host(result).astype(a.dtype)


def _with_specials(draw, dtype, shape):
    x = draw.operand(dtype, shape, "mild")
    for _ in range(draw.between(1, 3)):
        if x.storage.size and not x.layout.is_padded:
            x.storage[draw.between(0, x.storage.size - 1)] = draw.choice(
                (math.nan, math.inf, -math.inf)
            )
    return draw.over(x.layout, x.storage)


def _of_modulus_one(draw, dtype, shape):
    x = draw.operand(dtype, shape, "mild")
    turns = np.array([1, -1, 1j, -1j])[draw.between(0, 3) :]
    storage = np.resize(turns, x.storage.size).astype(dtype)
    return draw.over(x.layout, storage)


def _numpys(name, a, arguments, more):
    if name in ("var", "std"):
        arguments = {**arguments, "ddof": more["correction"]}
    if name == "count_nonzero":
        return host(np.sum(a != 0, dtype=np.int64, **arguments))
    if name in ("min", "max", "all", "any"):
        result = host(getattr(np, name)(floats(a), **arguments))
        return result.astype(bool if name in ("all", "any") else a.dtype)
    wide = widest(a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = host(getattr(np, name)(wide, **arguments))
    return result.astype(a.dtype if kind(a.dtype) in "fc" else wide.dtype)


def sum_in(draw):
    """Sums and products in a dtype that is asked for."""
    name = draw.choice(["sum", "prod"])
    dtype, asked = draw.dtype("integral"), draw.dtype("integral")
    x = draw.operand(dtype, draw.shape(), "wild")
    axes = draw.axes(x.layout.ndim)
    return Case(
        name,
        f'tl.{name}(x, axis={axes}, dtype="{asked}")',
        {"x": x},
        lambda a: host(getattr(np, name)(a.astype(asked), axis=axes, dtype=asked)),
        same,
        reduced(x, axes, False),
    )


def position(name):
    def make(draw):
        dtype = draw.dtype("real numeric")
        shape = draw.shape(empty=False)
        x = draw.operand(dtype, shape, draw.choice(["wild", "mild"]))
        axis = None if not shape or draw.chance(0.3) else draw.axis(len(shape))
        keep = draw.chance(0.4)
        return Case(
            name,
            f"tl.{name}(x, axis={axis}, keepdims={keep})",
            {"x": x},
            lambda a: host(getattr(np, name)(floats(a), axis=axis, keepdims=keep)),
            same,
            reduced(x, axis, keep),
        )

    return make


def nan_position(draw):
    name = draw.choice(["nanargmin", "nanargmax"])
    dtype = draw.dtype("real numeric")
    shape = draw.shape(empty=False)
    x = draw.operand(dtype, shape, "mild")
    if kind(x.dtype) == "f" and x.storage.size > 1:
        x.storage[:: draw.between(2, 5)] = np.nan
        x = draw.over(x.layout, x.storage)
    axis = None if not shape or draw.chance(0.3) else draw.axis(len(shape))

    def expect(a):
        try:
            return host(getattr(np, name)(floats(a), axis=axis))
        except ValueError:
            return Refused(ValueError)

    layout = reduced(x, axis, False)
    return Case(name, f"tl.{name}(x, axis={axis})", {"x": x}, expect, same, layout)


NAN_WORDS = {
    "nansum": "any",
    "nanprod": "any",
    "nanmin": "real numeric",
    "nanmax": "real numeric",
    "nanmean": "numeric",
    "nanvar": "real numeric",
    "nanstd": "real numeric",
    "median": "real numeric",
    "nanmedian": "real numeric",
}


def nan_reduction(name):
    def make(draw):
        dtype = draw.dtype(NAN_WORDS[name])
        shape = draw.shape(empty=name in ("nansum", "nanprod"))
        x = draw.operand(dtype, shape, "mild")
        if kind(x.dtype) in "fc" and name != "median":
            holes = np.array([draw.chance(0.3) for _ in range(min(x.storage.size, 64))], bool)
            if holes.size:
                x.storage[np.resize(holes, x.storage.size)] = np.nan
                x = draw.over(x.layout, x.storage)
        if name == "nanprod" and kind(x.dtype) == "c":
            x = _of_modulus_one(draw, dtype, shape)
        axes, keep = draw.axes(len(shape)), draw.chance(0.4)

        def expect(a):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = getattr(np, name)(widest(a), axis=axes, keepdims=keep)
            return host(result).astype(result_dtype(name, a.dtype))

        wide = kind(as_dtype(dtype)) in "fc"
        eps = float(tl.finfo(dtype).eps) if wide else 2.0**-50
        check = near(64 * eps, 64 * eps * max(1, count_along(shape, axes)) ** 0.5)
        if name in ("nanmin", "nanmax") or (not wide and name in ("nansum", "nanprod")):
            check = near(0)
        text = f"tl.{name}(x, axis={axes}, keepdims={keep})"
        return Case(name, text, {"x": x}, expect, check, reduced(x, axes, keep))

    return make


METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull")
METHODS += ("median_unbiased", "normal_unbiased", "interpolated_inverted_cdf")


def quantile(draw):
    dtype = draw.dtype("real floating")
    shape = draw.shape(empty=False)
    x = draw.operand(dtype, shape, "mild")
    axis = None if not shape or draw.chance(0.3) else draw.axis(len(shape))
    q = draw.choice((0.0, 0.25, 0.5, 0.9, 1.0, [0.25, 0.75]))
    method = draw.choice(METHODS)
    keep = draw.chance(0.3)

    name = draw.choice(["quantile", "nanquantile"])

    def expect(a):
        result = getattr(np, name)(widest(a), q, axis=axis, method=method, keepdims=keep)
        kept = np.ndim(q) == 0 or method in ("lower", "higher", "nearest")
        return host(result).astype(a.dtype if kept else np.float64)

    eps = float(tl.finfo(dtype).eps)
    text = f'tl.{name}(x, {q}, axis={axis}, method="{method}", keepdims={keep})'
    return Case(name, text, {"x": x}, expect, near(8 * eps, 8 * eps), "packed")


# --- scans ---------------------------------------------------------------------------------------


def scan(name):
    def make(draw):
        dtype = draw.dtype("numeric")
        shape = draw.shape(1)
        how = "mild" if kind(as_dtype(dtype)) in "fc" or name.endswith("prod") else "wild"
        x = draw.operand(dtype, shape, how)
        if name == "cumulative_prod" and kind(x.dtype) == "c":
            x = _of_modulus_one(draw, dtype, shape)
        elif kind(x.dtype) == "f" and draw.chance(0.15):
            x = _with_specials(draw, dtype, shape)
        axis, initial = draw.axis(len(shape)), draw.chance(0.4)
        sizes = list(shape)
        sizes[axis] += initial
        eps = float(tl.finfo(dtype).eps) if kind(x.dtype) in "fc" else 0
        n = max(shape[axis], 1)
        scale = 3 * n if name.endswith("sum") else 0
        near_by = 2.0**-50 * scale
        check = near(max(2 * eps, 2.0**-40 if eps else 0), max(near_by, 1e-300 if not eps else 0))
        if name.endswith("prod") and eps:
            tiny = float(tl.finfo(dtype).smallest_normal)
            check = near(max(2 * eps, 2.0**-45 * n), 2 * tiny)
        return Case(
            name,
            f"tl.{name}(x, axis={axis}, include_initial={initial})",
            {"x": x},
            lambda a: scanned_by_numpy(name, a, axis, initial),
            same if not eps else check,
            packed(sizes, x.layout.minor_to_major),
        )

    return make


def scan_in(draw):
    """The dtype of the result is asked for; of sums a float or complex one, too."""
    name = draw.choice(["cumulative_sum", "cumulative_prod"])
    summing = name == "cumulative_sum"
    dtype, asked = draw.dtype("integral"), draw.dtype("numeric" if summing else "integral")
    integral = kind(as_dtype(asked)) in "iu"
    x = draw.operand(dtype, draw.shape(1), "wild" if integral else "mild")
    axis, initial = draw.axis(x.layout.ndim), draw.chance(0.4)
    return Case(
        name,
        f'tl.{name}(x, axis={axis}, dtype="{asked}", include_initial={initial})',
        {"x": x},
        lambda a: scanned_by_numpy(name, a, axis, initial, as_dtype(asked)),
        same,
        "packed",
    )


def numpys_scan(draw):
    name = draw.choice(["cumsum", "cumprod", "nancumsum", "nancumprod"])
    dtype = draw.dtype("integral")
    x = draw.operand(dtype, draw.shape(1), "wild")
    axis = None if draw.chance(0.3) else draw.axis(x.layout.ndim)
    return Case(
        name,
        f"tl.{name}(x, axis={axis})",
        {"x": x},
        lambda a: getattr(np, name)(widest(a), axis),
        same,
        "packed",
    )


def diff(draw):
    dtype = draw.dtype("integral" if draw.chance(0.6) else "numeric")
    x = draw.operand(dtype, draw.shape(1), "mild")
    axis, n = draw.axis(x.layout.ndim), draw.between(0, 3)
    operands, more = {"x": x}, ""
    for name in ("prepend", "append"):
        if draw.chance(0.25):
            shape = list(x.layout.shape)
            shape[axis] = draw.between(0, 2)
            operands[name] = draw.operand(dtype, tuple(shape), "mild")
            more += f", {name}={name}"

    def expect(a, *rest):
        argument = dict(zip(list(operands)[1:], rest, strict=True))
        parts = [p for p in (argument.get("prepend"), a, argument.get("append")) if p is not None]
        result = np.concatenate(parts, axis)
        for _ in range(n):
            length = result.shape[axis]
            take = lambda f, s: f[(slice(None),) * (axis % f.ndim) + (s,)]  # noqa: E731
            if length == 0:
                break
            high, low = take(result, slice(1, None)), take(result, slice(0, length - 1))
            result = np.subtract(high, low).astype(a.dtype)
        return np.array(result)

    text = f"tl.diff(x, axis={axis}, n={n}{more})"
    return Case("diff", text, operands, expect, same, "packed")


# --- sorts ---------------------------------------------------------------------------------------


def sorted_positions(a, axis, descending):
    """Stable; NaN is greater than all."""
    wide = floats(a)
    if not descending:
        return np.argsort(wide, axis=axis, kind="stable")
    flipped = np.argsort(np.flip(wide, axis), axis=axis, kind="stable")
    return np.flip(wide.shape[axis] - 1 - flipped, axis)


def sort(draw):
    name = draw.choice(["sort", "argsort"])
    dtype = draw.dtype("real numeric")
    x = draw.operand(dtype, draw.shape(1), draw.choice(["wild", "mild"]))
    axis, down = draw.axis(x.layout.ndim), draw.chance(0.5)

    def expect(a):
        order = sorted_positions(a, axis, down)
        return order if name == "argsort" else np.take_along_axis(a, order, axis)

    text = f"tl.{name}(x, axis={axis}, descending={down})"
    layout = packed(x.layout.shape, x.layout.minor_to_major)
    return Case(name, text, {"x": x}, expect, same, layout)


def top_k(draw):
    dtype = draw.dtype("any")
    x = draw.operand(dtype if kind(as_dtype(dtype)) != "c" else "float32", draw.shape(1), "wild")
    axis, down = draw.axis(x.layout.ndim), draw.chance(0.5)
    k = draw.between(0, x.layout.shape[axis])

    def expect(a):
        order = sorted_positions(a, axis, down).take(range(k), axis)
        return np.take_along_axis(a, order, axis), order

    text = f'tl.top_k(x, {k}, axis={axis}, mode="{"largest" if down else "smallest"}")'
    layout = packed(
        tuple(k if d == axis % x.layout.ndim else n for d, n in enumerate(x.layout.shape)),
        x.layout.minor_to_major,
    )
    return Case("top_k", text, {"x": x}, expect, same, layout)


def searchsorted(draw):
    dtype = draw.dtype("real numeric")
    base = draw.operand(dtype, (draw.between(0, 40),), draw.choice(["wild", "mild"]))
    line = np.sort(floats(base.array)).astype(base.dtype)
    x = draw.holding(line)
    y = draw.operand(dtype, draw.shape(), "wild")
    side = draw.choice(["left", "right"])
    if draw.chance(0.3):
        order = np.array(draw.random.sample(range(len(line)), len(line)), np.int64)
        mixed = np.empty_like(line)
        mixed[order] = line
        x, k = draw.holding(mixed), draw.holding(order)
        return Case(
            "searchsorted",
            f'tl.searchsorted(x, y, side="{side}", sorter=k)',
            {"x": x, "y": y, "k": k},
            lambda a, b, i: host(np.searchsorted(floats(a), floats(b), side, i)).astype(np.int64),
            same,
            "row-major",
        )
    return Case(
        "searchsorted",
        f'tl.searchsorted(x, y, side="{side}")',
        {"x": x, "y": y},
        lambda a, b: host(np.searchsorted(floats(a), floats(b), side)).astype(np.int64),
        same,
        "row-major",
    )


def nonzero(draw):
    x = draw.operand(draw.dtype(), draw.shape(1), draw.choice(["mild", "wild"]))
    return Case(
        "nonzero", "tl.nonzero(x)", {"x": x}, lambda a: tuple(np.nonzero(a != 0)), same, "row-major"
    )


def isin(draw):
    dtype = draw.dtype("any")
    x = draw.operand(dtype, draw.shape(), "mild")
    y = draw.operand(dtype, draw.shape(0, 3), "mild")
    invert = draw.chance(0.3)

    def expect(a, b):
        result = np.zeros(a.shape, bool)
        for value in np.unique(floats(b)) if b.size else ():
            result |= floats(a) == value
        return np.asarray(result != invert)

    text = f"tl.isin(x, y, invert={invert})"
    return Case("isin", text, {"x": x, "y": y}, expect, same, "row-major")


def unique(draw):
    name = draw.choice(["unique_all", "unique_counts", "unique_inverse", "unique_values"])
    dtype = draw.dtype("any")
    how = draw.choice(["mild", "wild"])
    x = draw.operand(dtype, draw.shape(), how if kind(as_dtype(dtype)) != "f" else "mild")

    def expect(a):
        flat = floats(a).ravel()
        values, index, inverse, counts = np.unique(
            flat, return_index=True, return_inverse=True, return_counts=True
        )
        values = a.ravel()[index]
        inverse = inverse.reshape(a.shape).astype(np.int64)
        parts = {
            "unique_all": (values, index.astype(np.int64), inverse, counts.astype(np.int64)),
            "unique_counts": (values, counts.astype(np.int64)),
            "unique_inverse": (values, inverse),
            "unique_values": (values,),
        }[name]
        return parts if len(parts) > 1 else parts[0]

    return Case(name, f"tl.{name}(x)", {"x": x}, expect, but_signs_of_zeros, "row-major")


def contains(draw):
    dtype = draw.dtype("integral")
    x = draw.operand(dtype, draw.shape(), "mild")
    value = draw.between(0, 9)
    return Case("in", f"{value} in x", {"x": x}, lambda a: bool((a == value).any()), traced=False)


def bincount(draw):
    dtype = draw.dtype("integral")
    values = np.array([draw.between(0, 12) for _ in range(draw.between(0, 60))])
    x = draw.holding(values.astype(dtype))
    least = draw.choice((0, 0, 20))
    return Case(
        "bincount",
        f"tl.bincount(x, minlength={least})",
        {"x": x},
        lambda a: np.bincount(a.astype(np.int64), minlength=least).astype(np.int64),
        same,
        "row-major",
    )


CASES = {name: reduction(name) for name in REDUCTIONS}
CASES |= {name: position(name) for name in ("argmin", "argmax")}
CASES |= {name: nan_reduction(name) for name in NAN_WORDS}
CASES |= {name: scan(name) for name in ("cumulative_sum", "cumulative_prod")}
CASES |= {
    f.__name__: f
    for f in (
        *(
            sum_in,
            quantile,
            scan_in,
            numpys_scan,
            nan_position,
            diff,
            sort,
            top_k,
            searchsorted,
            nonzero,
            isin,
            unique,
            contains,
        ),
        bincount,
    )
}
