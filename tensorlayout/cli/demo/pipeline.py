"""The parts of the demo, step by step, and the pictures that they draw."""

from __future__ import annotations

import importlib
import textwrap
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image, fromarray

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.cli.answers import CommandError
from tensorlayout.cli.demo.drawing import captioned_sheet, histogram, layouts_sheet, rgb, tiled
from tensorlayout.cli.demo.table import Table, difference, host, in_memory
from tensorlayout.typing import Array

PITCH = 256  # bytes to which rows are aligned, as DirectX and Vulkan textures want them
MEAN, STD = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])  # of ImageNet, by channel
EACH = (0, 2, 3)  # the dimensions of a batch that statistics by channel reduce
TILE, TILES = (8, 128), "{1,0:T(8,128)}"  # as XLA stores matrices for TPUs
GRID = 4  # tiles of the checkerboard by side, and the side of the blocks of SPACE_TO_DEPTH
ZOOM = 8  # by how much UPSAMPLE_2D magnifies
LEAST = 8  # pixels: in smaller pictures there is nothing to cut for DirectML
WAVES, SWING = 4, 0.06  # of the distortions: waves over the height, their swing as part of a side
WITHIN = 1e-6  # of the order in which 32-bit floats are summed
SAMPLE = 7  # of so many pixels one is counted, which keeps the simulator quick
BOX = 31  # pixels: the side of the squares of which the means are taken
CROPS, CROP = 9, 128  # how many crops there are, and the pixels of their sides
# Columns: brightness, blue and red against it, from red, green and blue. In 256ths, so that each
# product and sum is exact in 32-bit floats, in whatever order it is taken.
YCBCR = np.array([[77, -43, 128], [150, -85, -107], [29, 128, -21]], np.float32) / 256


def run(table: Table, photographs: Array) -> dict[str, Image]:
    """Carry out all parts on pictures (N, H, W, C); return what they drew by the file's name."""
    table.say("\n1. Photographs as NHWC")
    x = tl.asarray(photographs, device=table.device)
    batch = table.step(
        "seen as NCHW", lambda xp, x: xp.permute_dims(x, (0, 3, 1, 2)), x, order="NHWC", kind="view"
    )
    drawn = {"mosaic.png": _mosaic(table, batch)}
    normalised, planes = _normalise(table, batch)
    drawn["layouts.png"] = layouts_sheet(batch[0], PITCH)
    drawn["normalised.png"] = _draw_normalised(table, batch, planes)
    if min(batch.shape[2:]) < LEAST:
        table.say(f"\n6. DirectML: left out, the pictures are smaller than {LEAST} x {LEAST}")
    else:
        table.say("\n6. DirectML's operators on the same memory")
        drawn["directml.png"] = _directml(table, batch)
    table.say("\n7. A normalised plane in XLA's tiles")
    _tile(table, planes[0, 0])
    table.say("\n8. Statistics, colours, sums and sorting")
    drawn["statistics.png"] = _statistics(table, batch)
    table.say(f"\n{table.total}\n\n9. The normalised batch in other libraries")
    _hand_over(table, normalised)
    return drawn


def _mosaic(table: Table, batch: tl.Tensor) -> Image:
    """Draw a row for each picture: itself, its halves with their mirror images, and upside down."""

    def joined(xp: Any, x: Any) -> Any:
        half = max(1, x.shape[3] // 2)
        left, right = x[..., :half], x[..., -half:]
        halves = [left, xp.flip(left, axis=3), xp.flip(right, axis=3), right]
        return xp.concat([x, *halves, xp.flip(x, axis=(2, 3))], axis=3)

    rows = host(table.step("mosaic: views, joined once", joined, batch, order="NHWC"))
    return fromarray(rows.transpose(0, 2, 3, 1).reshape(-1, rows.shape[3], 3))


def _normalise(table: Table, batch: tl.Tensor) -> tuple[tl.Tensor, tl.Tensor]:
    """Normalise by NumPy code and by a fused function; return the batch, and padded planes."""
    name, code = "numpy_code.py", dict[str, Any]()
    text = Path(__file__).with_name(name).read_text("utf-8")
    # Compiled as if the file lay outside of this package, so that traces name its lines.
    exec(compile(text, name, "exec"), code)
    lines = [f"{number:4}  {line}" for number, line in enumerate(text.splitlines(), 1)]
    table.say(f"\n2. NumPy code called with tensors, unchanged: {name}")
    table.say("\n".join(lines[text[: text.index("def ")].count("\n") :]))
    numbers = [tl.asarray(v, dtype=tl.float32, device=batch.device) for v in (255, MEAN, STD)]
    layout = tl.Layout.pitched(batch.shape, PITCH, tl.uint8, padding_value=tl.PaddingValue.ZERO)
    planes = table.step(
        f"planes, rows at {PITCH} bytes",
        lambda x: tl.to_layout(x, layout),
        batch,
        by_numpy=lambda x: np.pad(x, [(0, 0)] * 3 + [(0, -x.shape[3] % PITCH)])[..., : x.shape[3]],
        order="NCHW",
    )
    normalise = code["normalise"]
    step = partial(table.step, by_numpy=normalise)
    step("normalise(planes)", normalise, planes, *numbers)
    table.say("\n3. The trace names the line that copied")
    for line, part in table.steps[-1].trace.by_line().items():
        table.say(f"{line}: {', '.join(r.name for r in part)}: {part.bytes_copied:,} bytes copied")
    table.say("\n4. no_copies refuses it before anything is moved, and says what helps")
    try:
        with tl.no_copies():
            normalise(planes, *numbers)
        table.say("nothing is refused: of planes like these the reshape is a view")
    except tl.CopyError as error:
        table.say(textwrap.fill(str(error), 100))
    step("normalise(batch)", normalise, batch, *numbers, order="NHWC", kind="compute")

    @tl.fuse
    def fused(images: Any, white: Any, mean: Any, std: Any) -> Any:
        scaled = images.astype(tl.float32) / white
        return (scaled - mean[:, None, None]) / std[:, None, None]

    table.say("\n5. fuse does it in one pass, whatever the layout")
    normalised = step("fused(batch)", fused, batch, *numbers, order="NHWC", kind="compute")
    planes = step("fused(planes)", fused, planes, *numbers, order="NCHW", kind="compute")
    return normalised, planes


def _draw_normalised(table: Table, batch: tl.Tensor, planes: tl.Tensor) -> Image:
    """Draw the values of each channel before and after, and the normalised pictures."""

    def viewable(xp: Any, x: Any) -> Any:
        low, high = xp.min(x), xp.max(x)
        span = high - low if float(high) > float(low) else 1.0
        octets = xp.astype(xp.round((x - low) / span * 255), xp.uint8)
        return xp.permute_dims(xp.concat(xp.unstack(octets), axis=2), (1, 2, 0))

    rows = table.step(
        "rescaled to rows of pixels",
        lambda x: tl.to_layout(viewable(tl, x), (2, 1, 0)),
        planes,
        by_numpy=lambda x: np.ascontiguousarray(viewable(np, x)),
        dims="HWC",
        order="HWC",
    )
    before, after = host(batch), host(planes).astype(np.float64)
    counts = np.stack([np.bincount(before[:, c].ravel(), minlength=256) for c in range(3)], axis=1)
    of_bytes = histogram(counts, before.mean(EACH), before.std(EACH), ticks=(0, 64, 128, 192, 255))
    levels = (np.arange(256)[:, None] / 255 - MEAN) / STD  # from -2.2 to 2.7
    of_floats = histogram(counts, after.mean(EACH), after.std(EACH), levels, (-3, 3), range(-2, 3))
    drawn = (batch, "NCHW", of_bytes), (planes, "NCHW", of_floats), (rows, "HWC", host(rows))
    panels = [(f"{x.dtype} {in_memory(x.layout, dims)}", picture) for x, dims, picture in drawn]
    return captioned_sheet("normalised.png", panels)


def _directml(table: Table, batch: tl.Tensor) -> Image:
    """Carry out operators on a batch that is NHWC in memory, as their results must be."""
    height, width = (n // GRID * GRID for n in batch.shape[2:])
    rows, columns = height // ZOOM, width // ZOOM
    vertical, horizontal = (_between(n) for n in (rows, columns))
    sideways = (np.arange(width) + _wave(width, height)[:, None]) % width
    upwards = np.clip(np.arange(height) + 2 * _wave(height, height), 0, height - 1)[:, None]
    pads, mirrored = (0, 0, height // 4, width // 4), directml.PaddingMode.REFLECTION
    nearest, linear = directml.InterpolationMode

    def middle(x: Any) -> Any:
        return x[..., : height // 2, width // 4 : width // 4 + width // 2]

    def patch(xp: Any, x: Any) -> Any:
        top, left = height // 4, width // 2 - columns // 2
        return xp.astype(x[..., top : top + rows, left : left + columns], xp.float32)

    operators: dict[str, tuple[Any, ...]] = {
        "JOIN": (
            lambda x: directml.join([directml.join(row, 3) for row in _checkerboard(x)], 2),
            lambda x: np.block(_checkerboard(x)),
        ),
        "SLICE1": (
            lambda x: directml.slice1(x, (0, 0, 0, 0), x.shape, (1, 1, 1, -1)),
            lambda x: x[..., ::-1].copy("K"),
        ),
        "SCATTER": (lambda x, at: directml.scatter(x, at, x, 3), _put, sideways),
        "GATHER_ELEMENTS": (
            lambda x, at: directml.gather_elements(x, at, 2),
            lambda x, at: np.take_along_axis(x, at, 2),
            upwards,
        ),
        "SPACE_TO_DEPTH": (lambda x: directml.space_to_depth(x, GRID), _to_depth),
        "PADDING": (
            lambda x: directml.padding(middle(x), pads, pads, mirrored),
            lambda x: np.pad(middle(x), [(pad, pad) for pad in pads], mode="reflect"),
        ),
        "UPSAMPLE_2D, nearest": (
            lambda x: directml.upsample_2d(patch(tl, x), (ZOOM, ZOOM), nearest),
            lambda x: patch(np, x).repeat(ZOOM, 2).repeat(ZOOM, 3),
        ),
        "UPSAMPLE_2D, linear": (
            lambda x: directml.upsample_2d(patch(tl, x), (ZOOM, ZOOM), linear),
            lambda x: vertical @ patch(np, x) @ horizontal.T,
        ),
    }
    x = table.step("cut to whole blocks", lambda _, x: x[..., :height, :width], batch, kind="view")
    drawn = []
    for title, (call, by_numpy, *indices) in operators.items():
        # Positions take no memory for what repeats.
        at = [tl.broadcast_to(tl.asarray(each, device=x.device), x.shape) for each in indices]
        result = table.step(title, call, x, *at, by_numpy=by_numpy, order="NHWC")
        picture = host(result)[-1 if title == "GATHER_ELEMENTS" else 0]
        if title == "SPACE_TO_DEPTH":
            picture = tiled(picture.reshape(GRID**2, 3, *picture.shape[1:]))
        drawn.append((f"{result.dtype} {result.layout}", rgb(picture)))
    return captioned_sheet("directml.png", drawn)


def _checkerboard(x: Any) -> list[list[Any]]:
    """Cut tiles, row by row, in turn from the first picture and the last."""
    h, w = (n // GRID for n in x.shape[2:])
    ends = x[:1], x[-1:]
    return [
        [ends[(i + j) % 2][..., i * h : (i + 1) * h, j * w : (j + 1) * w] for j in range(GRID)]
        for i in range(GRID)
    ]


def _wave(across: int, along: int) -> Array:
    """Return offsets that swing by a part of the size `across`, over the size `along`."""
    angles = 2 * np.pi * WAVES * np.arange(along) / along
    return np.round(SWING * across * np.sin(angles)).astype(np.int64)


def _put(x: Array, at: Array) -> Array:
    out = np.empty_like(x)
    np.put_along_axis(out, at, x, 3)
    return out


def _to_depth(x: Array) -> Array:
    n, channels, height, width = x.shape
    blocks = x.reshape(n, channels, height // GRID, GRID, width // GRID, GRID)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, -1, height // GRID, width // GRID)


def _between(size: int) -> Array:
    """Return the matrix that magnifies `size` numbers, given at pixel centres, linearly."""
    at = np.clip((np.arange(size * ZOOM) + 0.5) / ZOOM - 0.5, 0, size - 1)
    weights: Array = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(size)))
    return weights.astype(np.float32)


def _tile(table: Table, plane: tl.Tensor) -> None:
    """Store a plane in XLA's tiles, as NumPy cuts them by hand, and compute in them."""
    (height, width), (rows, columns) = plane.shape, TILE

    def cut(x: Array) -> Array:
        whole = np.pad(x, [(0, -height % rows), (0, -width % columns)])
        return whole.reshape(-1, rows, whole.shape[1] // columns, columns).swapaxes(1, 2).ravel()

    def memory(x: tl.Tensor) -> Array:
        octets = tl.xla.to_buffer(x.to_device("cpu"), f"f32[{height},{width}]{TILES}")
        return np.frombuffer(octets, np.float32)

    step = partial(table.step, dims="HW")
    tiled = step(TILES, lambda x: tl.to_layout(x, TILES), plane, by_numpy=cut, read=memory)
    step("clipped in its tiles", lambda xp, x: xp.clip(x, -1, 1), tiled, kind="compute")


def _statistics(table: Table, batch: tl.Tensor) -> Image:
    """Carry out steps on a batch that is NHWC in memory; draw the results."""
    floats = table.step("bytes to float32", lambda xp, x: xp.astype(x, xp.float32), batch)
    compute = partial(table.step, kind="compute")
    mean, deviation = (
        compute(
            f"{name} by channel",
            partial(getattr(tl, name), axis=EACH),
            floats,
            by_numpy=lambda x, name=name: getattr(x, name)(EACH, np.float64).astype(np.float32),
            dims="C",
            within=WITHIN,
        )
        for name in ("mean", "std")
    )
    counts = compute("histogram by scatter_add", _count, batch, by_numpy=_bincounts, dims="VC")
    weights = tl.asarray(YCBCR, device=batch.device)
    planes = compute("YCbCr by matmul", _ycbcr, floats, weights, dims="PC")
    sums = compute("integral image", _summed, batch)
    side = min(BOX, *batch.shape[2:])
    boxes = compute(f"means of {side} x {side} from it", partial(_box_means, side=side), sums)
    red = compute("rows of red sorted", lambda xp, x: xp.sort(x[:, 0], axis=2), batch, dims="NHW")
    crops = table.step(f"stack {CROPS} crops", _crops, batch)
    picture, table_of_sums = host(floats)[0], host(sums)[0].astype(np.int64)
    greatest = np.maximum(table_of_sums.max((1, 2), keepdims=True), 1)
    ycbcr = host(planes)[: picture[0].size].T.reshape(picture.shape)
    grey = (ycbcr + np.array([[[0]], [[128]], [[128]]], np.float32)).clip(0, 255)
    drawn = [
        (counts, histogram(host(counts), host(mean), host(deviation))),
        (planes, rgb(tiled(np.stack([picture, *grey[:, None].repeat(3, axis=1)])))),
        (sums, rgb(table_of_sums * 255 // greatest)),
        (boxes, rgb(host(boxes)[0])),
        (red, host(red)[0][..., None].repeat(3, 2)),
        (crops, rgb(tiled(host(crops)))),
    ]
    panels = [(f"{x.dtype} {x.layout}", picture) for x, picture in drawn]
    return captioned_sheet("statistics.png", panels, side=side)


def _rows_of_pixels(xp: Any, x: Any) -> Any:
    """View an NHWC batch as a matrix, a row for each pixel."""
    return xp.reshape(xp.permute_dims(x, (0, 2, 3, 1)), (-1, 3))


def _count(x: tl.Tensor) -> tl.Tensor:
    bins = tl.zeros((256, 3), dtype=tl.int32, device=x.device)
    return tl.scatter_add(bins, _rows_of_pixels(tl, x)[::SAMPLE], 1)


def _bincounts(x: Array) -> Array:
    channels = _rows_of_pixels(np, x)[::SAMPLE].T
    return np.stack([np.bincount(c, minlength=256) for c in channels], axis=1).astype(np.int32)


def _ycbcr(xp: Any, x: Any, weights: Any) -> Any:
    return xp.matmul(_rows_of_pixels(xp, x), weights)


def _summed(xp: Any, x: Any) -> Any:
    for axis in (3, 2):
        x = xp.cumulative_sum(x, axis=axis, dtype=xp.int32, include_initial=True)
    return x


def _box_means(_: Any, sums: Any, side: int) -> Any:
    """Return the mean of the square around each pixel, from four numbers of the integral image."""
    top, bottom = sums[:, :, :-side], sums[:, :, side:]
    whole = bottom[..., side:] - bottom[..., :-side] - top[..., side:] + top[..., :-side]
    return whole // side**2


def _crops(xp: Any, x: Any) -> Any:
    """Join parts of the pictures in turn, from left above to right below, each second mirrored."""
    n, _, height, width = x.shape
    side = min(CROP, height, width)
    parts = []
    for number in range(CROPS):
        top, left = ((size - side) * number // (CROPS - 1) for size in (height, width))
        part = x[number % n, :, top : top + side, left : left + side]
        parts.append(xp.flip(part, axis=2) if number % 2 else part)
    return xp.stack(parts)


def _hand_over(table: Table, x: tl.Tensor) -> None:
    """Hand `x` to other libraries: each must see its elements, and `x` what it writes."""
    if table.repeat == 0:  # the simulator
        table.say("no other library knows of the simulator's device memory")
        return
    for number, name in enumerate(["numpy" if table.device == "cpu" else "cupy", "torch"], 7):
        try:
            library = importlib.import_module(name)
            array = library.from_dlpack(x) if name == "torch" else library.asarray(x)
        except (ImportError, OSError, AssertionError, RuntimeError) as error:  # or it sees no GPU
            table.say(f"{name}: not tried: {error}")
            continue
        array[0, 0, 0, 0] = number  # which no normalised value is
        on_host = {"numpy": "view", "cupy": "get", "torch": "cpu"}[name]
        if fault := difference(np.asarray(getattr(array, on_host)()), host(x)):
            raise CommandError(f"{name} does not share the memory of the batch, {fault}", status=1)
        table.say(f"{name}: {tl.from_dlpack(array).layout}, no copy: what it writes is seen")
