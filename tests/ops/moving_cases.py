"""Cases of creation, views, joins, copies between layouts, and exchanges."""

import copy
import math
import pickle

import numpy as np
from case import Case, in_dtype, near, packed, same
from casting import cast, promoted
from draws import MOST
from numpy.lib.stride_tricks import sliding_window_view as windows
from on_devices import MIXED
from tensors import DTYPES, as_dtype, kind

import tensorlayout as tl
from tensorlayout.layout import Layout


def anything(draw, least=0, most=6, empty=True, words="movable"):
    return draw.operand(draw.dtype(words), draw.shape(least, most, empty), "moved")


def viewed(name, text, x, function, layout=None):
    """A view of `x`; of tiles perhaps, unless they allow it always."""
    view = True if name in OF_TILES or not x.layout.is_tiled else None
    return Case(name, text, {"x": x}, lambda a: np.asarray(function(a)), same, layout, view)


# Views that all tiles have.
OF_TILES = ("permute_dims", "T", "matrix_transpose", "moveaxis", "expand_dims", "squeeze")


# --- views ---------------------------------------------------------------------------------------


def permute_dims(draw):
    x = anything(draw)
    axes = draw.order(x.layout.ndim)
    layout = x.layout.permute(axes)
    text = draw.choice([f"tl.permute_dims(x, {axes})", f"tl.transpose(x, {list(axes)})"])
    return viewed("permute_dims", text, x, lambda a: a.transpose(axes), layout)


def transposed(draw):
    x = anything(draw, 2, 2)
    return viewed("T", draw.choice(["x.T", "tl.transpose(x)"]), x, lambda a: a.T)


def matrix_transpose(draw):
    x = anything(draw, 2)
    text = draw.choice(["x.mT", "tl.matrix_transpose(x)", "tl.linalg.matrix_transpose(x)"])
    return viewed("matrix_transpose", text, x, np.matrix_transpose)


def moveaxis(draw):
    x = anything(draw, 1)
    rank = x.layout.ndim
    source = draw.random.sample(range(rank), draw.between(1, rank))
    target = draw.random.sample(range(rank), len(source))
    text = f"tl.moveaxis(x, {tuple(source)}, {tuple(target)})"
    return viewed("moveaxis", text, x, lambda a: np.moveaxis(a, source, target))


def expand_dims(draw):
    x = anything(draw)
    count = draw.between(1, 3)
    rank = x.layout.ndim + count
    axes = tuple(d - rank * draw.chance(0.3) for d in draw.random.sample(range(rank), count))
    axis = axes[0] if count == 1 else axes
    return viewed("expand_dims", f"tl.expand_dims(x, {axis})", x, lambda a: np.expand_dims(a, axis))


def squeeze(draw):
    x = anything(draw, 1)
    units = [d for d, n in enumerate(x.layout.shape) if n == 1]
    axes = tuple(draw.random.sample(units, draw.between(0, len(units))))
    return viewed("squeeze", f"tl.squeeze(x, {axes})", x, lambda a: np.squeeze(a, axes))


def flip(draw):
    x = anything(draw)
    axes = draw.axes(x.layout.ndim)
    return viewed("flip", f"tl.flip(x, axis={axes})", x, lambda a: np.flip(a, axes))


def broadcast_to(draw):
    x = anything(draw, 0, 4)
    lead = tuple(draw.choice((1, 2, 0)) for _ in range(draw.between(0, 2)))
    shape = lead + tuple(draw.choice((1, 3, 0)) if n == 1 else n for n in x.layout.shape)
    text = f"tl.broadcast_to(x, {shape})"
    return viewed("broadcast_to", text, x, lambda a: np.broadcast_to(a, shape))


def broadcast_arrays(draw):
    x = anything(draw, 0, 4)
    y = draw.operand(draw.dtype(), draw.broadcast_with(x.layout.shape))
    return Case(
        "broadcast_arrays",
        "tl.broadcast_arrays(x, y)",
        {"x": x, "y": y},
        lambda a, b: tuple(np.asarray(f) for f in np.broadcast_arrays(a, b)),
        same,
        view=None,
    )


def unstack(draw):
    x = anything(draw, 1)
    axis = draw.axis(x.layout.ndim)
    return Case(
        "unstack",
        f"tl.unstack(x, axis={axis})",
        {"x": x},
        lambda a: tuple(np.moveaxis(a, axis, 0)[k] for k in range(a.shape[axis])),
        lambda got, wanted: same(got, np.asarray(wanted)),
        view=None if x.layout.is_tiled else True,
    )


def sliding_window(draw):
    draw.most = MOST  # what is made grows with the square
    x = anything(draw, 1, 3, empty=False)
    axis = draw.axis(x.layout.ndim)
    size = draw.between(1, x.layout.shape[axis])
    text = f"tl.sliding_window(x, {size}, axis={axis})"
    return viewed(
        "sliding_window",
        text,
        x,
        lambda a: (
            windows(a.view(np.uint8), size, axis).view(a.dtype)  # NumPy takes no "f1"
            if kind(a.dtype) == "n"
            else windows(a, size, axis)
        ),
    )


def diagonal(draw):
    x = anything(draw, 2)
    k = draw.between(-3, 4)
    if x.layout.ndim == 2 and draw.chance(0.5):
        return viewed("diag", f"tl.diag(x, {k})", x, lambda a: np.diagonal(a, k))
    text = f"tl.linalg.diagonal(x, offset={k})"
    return viewed("diagonal", text, x, lambda a: np.diagonal(a, k, -2, -1))


def diag(draw):
    draw.most = MOST  # what is made grows with the square
    x, k = anything(draw, 1, 1), draw.between(-3, 3)
    return Case("diag", f"tl.diag(x, {k})", {"x": x}, lambda a: np.diag(a, k), same, "row-major")


def reshape(draw):
    x = anything(draw)
    shape, rest = [], x.layout.size
    if rest == 0:
        shape = draw.choice([[0], [3, 0], [0, 2, 1]])
    else:
        while rest > 1 and len(shape) < 5:
            n = draw.choice([n for n in range(1, min(rest, 40) + 1) if rest % n == 0])
            shape.append(n)
            rest //= n
        shape.insert(draw.between(0, len(shape)), rest)
        if draw.chance(0.3):
            shape[draw.between(0, len(shape) - 1)] = -1
    copy = draw.choice(["", "", ", copy=True"])
    text = f"tl.reshape(x, {tuple(shape)}{copy})"

    def expect(a):
        return a.reshape(shape)

    return Case("reshape", text, {"x": x}, expect, same, view=False if copy else None)


# --- joins and repeats ---------------------------------------------------------------------------


def several(draw, shapes, dtypes=None):
    """Operands x0, x1, … of these shapes, and the text of a list of them."""
    first = draw.dtype()
    names = dtypes or [first if draw.few or draw.chance(0.8) else draw.dtype() for _ in shapes]
    result = {
        f"x{k}": draw.operand(d, s, "moved")
        for k, (d, s) in enumerate(zip(names, shapes, strict=True))
    }
    return result, promoted(*names), f"[{', '.join(result)}]"


def concat(draw):
    shape = draw.shape(1)
    count = draw.between(1, 4)
    if draw.chance(0.15):
        shapes = [draw.shape(0, 3) for _ in range(count)]
        result, dtype, listed = several(draw, shapes)
        return Case(
            "concat",
            f"tl.concat({listed}, axis=None)",
            result,
            lambda *arrays: np.concatenate([cast(a, dtype).ravel() for a in arrays]),
            same,
            "packed",
        )
    axis = draw.axis(len(shape))
    shapes = []
    for _ in range(count):
        sizes = list(shape)
        sizes[axis] = draw.choice((0, 1, 1, 2, 3, shape[axis]))
        shapes.append(tuple(sizes))
    result, dtype, listed = several(draw, shapes)
    total = list(shape)
    total[axis] = sum(s[axis] for s in shapes)
    return Case(
        "concat",
        f"tl.concat({listed}, axis={axis})",
        result,
        lambda *arrays: np.concatenate([cast(a, dtype) for a in arrays], axis),
        same,
        packed(total, result["x0"].layout.minor_to_major),
    )


def stack(draw):
    shape = draw.shape(0, 5)
    result, dtype, listed = several(draw, [shape] * draw.between(1, 3))
    axis = draw.axis(len(shape) + 1)
    at = axis % (len(shape) + 1)
    total = (*shape[:at], len(result), *shape[at:])
    order = [d + (d >= at) for d in result["x0"].layout.minor_to_major] + [at]
    return Case(
        "stack",
        f"tl.stack({listed}, axis={axis})",
        result,
        lambda *arrays: np.stack([cast(a, dtype) for a in arrays], axis),
        same,
        packed(total, order),
    )


def sequence(draw):
    """Tensors in lists, and in lists of lists, stacked in row-major order."""
    result, dtype, _ = several(draw, [draw.shape(0, 3)] * draw.choice((1, 2, 4)))
    names = list(result)
    nested = len(names) == 4 and draw.chance(0.5)
    rows = [names[:2], names[2:]] if nested else names
    return Case(
        "asarray of tensors",
        f"tl.asarray({str(rows).replace(chr(39), '')})",
        result,
        lambda *arrays: np.reshape(
            [cast(a, dtype) for a in arrays],
            ((2, 2) if nested else (len(names),)) + arrays[0].shape,
        ),
        same,
        "row-major",
    )


def kept_order(x, shape):
    return packed(shape, x.layout.minor_to_major)


def roll(draw):
    x = anything(draw)
    rank = x.layout.ndim
    if draw.chance(0.3) or not rank:
        shift, axis = draw.between(-9, 9), None
    elif draw.chance(0.5):
        shift, axis = draw.between(-9, 9), draw.axis(rank)
    else:
        axis = tuple(draw.random.sample(range(rank), draw.between(1, rank)))
        shift = tuple(draw.between(-5, 5) for _ in axis)
    return Case(
        "roll",
        f"tl.roll(x, {shift}, axis={axis})",
        {"x": x},
        lambda a: np.roll(a, shift, axis),
        same,
        kept_order(x, x.layout.shape),
    )


def repeat(draw):
    x = anything(draw, 1, 4)
    if draw.chance(0.25):
        count = draw.between(0, 3)
        return Case(
            "repeat",
            f"tl.repeat(x, {count})",
            {"x": x},
            lambda a: np.repeat(a, count),
            same,
            "packed",
        )
    axis = draw.axis(x.layout.ndim)
    n = x.layout.shape[axis]
    if draw.chance(0.5):
        count = draw.between(0, 3)
        operands, text = {"x": x}, f"tl.repeat(x, {count}, axis={axis})"
        expect = lambda a: np.repeat(a, count, axis)  # noqa: E731
        total = n * count
    else:
        counts = np.array([draw.between(0, 3) for _ in range(n)], np.int64)
        operands = {"x": x, "counts": draw.holding(counts)}
        text = f"tl.repeat(x, counts, axis={axis})"
        expect = lambda a, r: np.repeat(a, r, axis)  # noqa: E731
        total = int(counts.sum())
    shape = list(x.layout.shape)
    shape[axis] = total
    return Case("repeat", text, operands, expect, same, kept_order(x, shape))


def tile(draw):
    """New dimensions are the slowest."""
    x = anything(draw, 0, 4)
    counts = tuple(draw.choice((0, 1, 1, 2, 2, 3)) for _ in range(draw.between(0, 4)))
    new = max(len(counts) - x.layout.ndim, 0)
    order = [*(d + new for d in x.layout.minor_to_major), *reversed(range(new))]
    return Case(
        "tile",
        f"tl.tile(x, {counts})",
        {"x": x},
        lambda a: np.tile(a, counts),
        same,
        packed(np.tile(x.array, counts).shape, order),
    )


def pad(draw):
    x = anything(draw, 1, 4, empty=False, words="holding small numbers")
    mode = draw.choice(["constant", "edge", "reflect", "symmetric", "wrap"])
    widths = tuple((draw.between(0, 3), draw.between(0, 3)) for _ in x.layout.shape)
    shape = [n + sum(w) for n, w in zip(x.layout.shape, widths, strict=True)]
    return Case(
        "pad",
        f'tl.pad(x, {widths}, "{mode}")',
        {"x": x},
        lambda a: np.pad(a, widths, mode),
        same,
        kept_order(x, shape),
    )


# --- copies --------------------------------------------------------------------------------------


def target(draw, shape, dtype):
    layout = draw.layout(shape, dtype, writable=True)
    return layout, f'tl.Layout.parse("{layout}")'


def to_layout(draw):
    x = anything(draw)
    layout, text = target(draw, x.layout.shape, x.dtype)
    return Case(
        "to_layout",
        f"tl.to_layout(x, {text})",
        {"x": x},
        lambda a: a,
        same,
        None if x.layout.at_origin.same_placement(layout.at_origin) else layout.at_origin,
        view=None,
    )


def copied(draw):
    x = anything(draw)
    return Case("copy", "x.copy()", {"x": x}, lambda a: a, same, x.layout.form)


def assigned(draw):
    """All of a tensor, from another dtype and layout: of tiles, perhaps in two steps."""
    x = draw.operand(draw.dtype("movable"), draw.shape(), "moved", writable=True)
    complex_too = x.dtype.kind == "c"
    names = [n for n in DTYPES["movable"] if complex_too or not n.startswith("complex")]
    other = draw.choice([n for n in names if not draw.few or n in MIXED])
    y = draw.operand(other, x.layout.shape, "moved")
    return Case(
        "x[...] = y",
        "x[...] = y",
        {"x": x, "y": y},
        lambda a, b: cast(b, x.dtype.name),
        same,
        writes="x",
    )


def like(draw):
    x = anything(draw, words="holding small numbers")
    name = draw.choice(["zeros_like", "ones_like", "full_like", "empty_like"])
    dtype = x.dtype.name if draw.chance(0.6) else draw.dtype()
    value = {"zeros_like": 0, "ones_like": 1, "full_like": draw.choice((True, 3, 2))}.get(name)
    more = f", {value}" if name == "full_like" else ""
    other = f', dtype="{dtype}"' if dtype != x.dtype.name else ""

    def expect(a):
        return None if value is None else np.full(a.shape, value).astype(as_dtype(dtype))

    layout = in_dtype(x.layout.form, dtype)
    return Case(name, f"tl.{name}(x{more}{other})", {"x": x}, expect, same, layout)


def moved_between_devices(draw):
    x = anything(draw)
    device = tl.default_device()
    way = draw.choice(
        [f'x.to_device("{device}")', f'x.to_device("cpu").to_device("{device}")']
        if device != "cpu"
        else ['x.to_device("cpu")']
    )
    return Case("to_device", way, {"x": x}, lambda a: a, same, view=None, traced=False)


def exchanged(draw):
    x = anything(draw)
    x.shift = 0  # DLPack is for aligned memory
    ways = ["tl.from_dlpack(x)", "tl.asarray(x)"]
    if x.layout.is_tiled:
        ways = ["tl.from_dlpack(x, copy=True)", "tl.asarray(x)"]
    elif tl.default_device() == "cpu" and kind(x.dtype) != "n" and x.dtype.name != "bfloat16":
        ways += ["tl.from_dlpack(np.from_dlpack(x))", "tl.asarray(np.asarray(x))"]
    if x.dtype.name == "bool":
        ways = ways[1:2]
    text = draw.choice(ways)
    view = None if "from_dlpack(x" in text else True
    return Case("exchange", text, {"x": x}, lambda a: a, same, view=view, traced=False)


def asarray(draw):
    x = anything(draw, 0, 4)
    layout, text = target(draw, x.layout.shape, x.dtype)
    device = f', device="{tl.default_device()}"'
    return Case(
        "asarray",
        f"tl.asarray(a, layout={text}{device})",
        {},
        lambda: x.array,
        same,
        layout.at_origin,
        None,
        traced=False,
        names={"a": x.array.copy()},
    )


# --- creation ------------------------------------------------------------------------------------


def filled(draw):
    name = draw.choice(["zeros", "ones", "full", "empty"])
    shape, dtype = draw.shape(), as_dtype(draw.dtype("holding small numbers"))
    layout, text = target(draw, shape, dtype)
    if draw.chance(0.3):
        layout, text = Layout.row_major(shape), "None"
    value = {"zeros": 0, "ones": 1, "full": draw.choice((True, 2, 3))}.get(name)
    more = f", {value}" if name == "full" else ""

    def expect():
        return None if value is None else np.full(shape, value).astype(dtype)

    text = f'tl.{name}({shape}{more}, dtype="{dtype.name}", layout={text})'
    return Case(name, text, {}, expect, same, layout.at_origin)


def eye(draw):
    rows, columns = draw.between(0, 9), draw.between(0, 9)
    k = draw.choice((*range(-4, 5), 10**30, -(10**30)))
    dtype = as_dtype(draw.dtype("holding small numbers"))
    layout, text = target(draw, (rows, columns), dtype)
    return Case(
        "eye",
        f'tl.eye({rows}, {columns}, k={k}, dtype="{dtype.name}", layout={text})',
        {},
        lambda: np.eye(rows, columns, max(-99, min(k, 99))).astype(dtype),
        same,
        layout.at_origin,
    )


def arange(draw):
    start, stop = draw.between(-9, 9), draw.between(-20, 90)
    step = draw.choice((1, 1, 2, 3, -1, -2, 0.5, 0.25))
    dtype = draw.choice(["int64", "int32", "float32", "float64"])
    if not isinstance(step, int):
        dtype = draw.choice(["float32", "float64"])
    if draw.few:
        dtype = {"int32": "int64", "float64": "float32"}.get(dtype, dtype)
    return Case(
        "arange",
        f'tl.arange({start}, {stop}, {step}, dtype="{dtype}")',
        {},
        lambda: np.arange(start, stop, step).astype(dtype),
        same,
        "row-major",
    )


def linspace(draw):
    start, stop, num = draw.between(-9, 9), draw.between(-9, 9), draw.between(0, 70)
    end = draw.choice((True, False))
    dtype = draw.dtype("floating-point")
    if dtype in ("float16", "bfloat16"):
        dtype = "float32"

    def expect():
        return np.linspace(start, stop, num, end, dtype=np.float64).astype(as_dtype(dtype))

    text = f'tl.linspace({start}, {stop}, {num}, dtype="{dtype}", endpoint={end})'
    eps = float(tl.finfo(dtype).eps)
    return Case("linspace", text, {}, expect, near(4 * eps, 40 * eps), "row-major")


def logspace(draw):
    start, stop, num = draw.between(-3, 3), draw.between(-3, 3), draw.between(0, 40)
    dtype = draw.choice(["float32", "float64"])

    def expect():
        return np.logspace(start, stop, num).astype(dtype)

    text = f'tl.logspace({start}, {stop}, {num}, dtype="{dtype}")'
    return Case("logspace", text, {}, expect, near(64 * float(tl.finfo(dtype).eps)), "row-major")


def from_storage(draw):
    x = anything(draw)
    layout = x.layout
    values = x.storage.tobytes()
    text = f'tl.from_storage(memory, "{layout}", dtype="{x.dtype.name}")'
    names = {"memory": bytearray(values) or bytearray(x.dtype.itemsize)}
    device = tl.default_device()
    if device != "cpu":  # what covers no block is packed on the way
        text, layout = f'{text}.to_device("{device}")', None
    return Case("from_storage", text, {}, lambda: x.array, same, layout, traced=False, names=names)


def serialised(draw):
    x = anything(draw)
    text = draw.choice(["pickle.loads(pickle.dumps(x))", "copy.copy(x)", "copy.deepcopy(x)"])
    if tl.default_device() != "cpu":
        text = text.replace("pickle.loads(pickle.dumps(x))", "copy.copy(x)")
    names = {"pickle": pickle, "copy": copy}
    return Case("pickle", text, {"x": x}, lambda a: a, same, None, None, traced=False, names=names)


def dtypes_of_results(draw):
    names = [draw.dtype() for _ in range(draw.between(1, 3))]
    result = {f"x{k}": draw.operand(name, (2,), "mild") for k, name in enumerate(names)}
    wanted = as_dtype(promoted(*names))
    return Case(
        "result_type", f"tl.result_type({', '.join(result)})", result, lambda *_: wanted, view=None
    )


def triangle(draw):
    name, k = draw.choice(["tril", "triu"]), draw.choice((*range(-4, 5), 10**30, -(10**30)))
    x = anything(draw, 2)
    return Case(
        name,
        f"tl.{name}(x, k={k})",
        {"x": x},
        lambda a: getattr(np, name)(a, max(-99, min(k, 99))).astype(a.dtype),
        same,
        x.layout.form,
    )


def meshgrid(draw):
    draw.most = MOST  # what is made grows with the square
    dtype = draw.dtype("numeric")
    result = {f"x{k}": draw.operand(dtype, draw.shape(1, 1)) for k in range(draw.between(1, 3))}
    way = draw.choice(["xy", "ij"])
    if math.prod(o.layout.size for o in result.values()) > 20000:
        return meshgrid(draw)
    return Case(
        "meshgrid",
        f'tl.meshgrid({", ".join(result)}, indexing="{way}")',
        result,
        lambda *a: tuple(np.meshgrid(*a, indexing=way)),
        same,
        "row-major",
    )


def padded_once_more(draw):
    """Padding after writes through a view of the elements."""
    x = anything(draw, 1, words="holding small numbers")
    value = draw.choice((0, 1, True))
    y = draw.operand(x.dtype, x.layout.shape, "mild", writable=True)
    return Case(
        "write through a view",
        f"z = y[...]; z[...] = {value}",
        {"y": y},
        lambda a: np.full(a.shape, value).astype(a.dtype),
        same,
        writes="y",
    )


CASES = {
    f.__name__: f
    for f in (
        *(permute_dims, transposed, matrix_transpose, moveaxis, expand_dims, squeeze, flip),
        *(broadcast_to, broadcast_arrays, unstack, sliding_window, diagonal, diag, reshape),
        *(
            concat,
            stack,
            sequence,
            roll,
            repeat,
            tile,
            pad,
            to_layout,
            copied,
            assigned,
            like,
            exchanged,
        ),
        asarray,
        *(moved_between_devices, filled, eye, arange, linspace, triangle, meshgrid),
        *(logspace, from_storage, serialised, dtypes_of_results),
        padded_once_more,
    )
}
