"""Steps of the demo, part by part, and the pictures that they draw."""

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
from tensorlayout.cli.demo.drawing import (
    arrange_pictures_in_square,
    draw_captioned_sheet,
    draw_histogram,
    draw_layouts_sheet,
    to_rgb_bytes,
)
from tensorlayout.cli.demo.table import Table, describe_difference, describe_memory_order, to_numpy
from tensorlayout.typing import Array

# Row alignment in bytes, as textures of DirectX and Vulkan require.
PITCH = 256
# ImageNet's statistics per channel, which pretrained models expect.
MEAN, STD = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
REDUCED_DIMS = (0, 2, 3)  # N, H and W, for statistics per channel
# Tiles in which XLA stores matrices of 32-bit floats on TPUs.
TILE, TILES = (8, 128), "{1,0:T(8,128)}"
GRID = 4  # tiles per side of the checkerboard; block size of SPACE_TO_DEPTH
ZOOM = 8  # factor of UPSAMPLE_2D
LEAST = 8  # pixels: smaller pictures cannot be cut for DirectML's operators
WAVES, SWING = 4, 0.06  # distortions: waves over the height, amplitude relative to the side
# Relative. NumPy adds 32-bit floats in another order, so the last bits differ.
TOLERANCE = 1e-6
# Histograms count one pixel in seven, because the simulator is slow.
SAMPLE = 7
BOX = 31  # pixels: side of the squares for box means
CROPS, CROP = 9, 128  # number of crops, and their side in pixels
# Columns: luma and the two colour differences, computed from red, green and blue. Multiples of
# 1/256 make all products and sums exact in 32-bit floats, in any order of summation.
YCBCR = np.array([[77, -43, 128], [150, -85, -107], [29, 128, -21]], np.float32) / 256


def run_pipeline(table: Table, photographs: Array) -> dict[str, Image]:
    """Run all parts on pictures (N, H, W, C); return the drawn pictures by file name."""
    table.print_line("\n1. Photographs as NHWC")
    x = tl.asarray(photographs, device=table.device)
    batch = table.run_step(
        "seen as NCHW",
        lambda xp, x: xp.permute_dims(x, (0, 3, 1, 2)),
        x,
        memory_order="NHWC",
        expected_kind="view",
    )
    images = {"mosaic.png": _draw_mirrored_and_flipped_views(table, batch)}
    normalised, planes = _normalise_batch(table, batch)
    images["layouts.png"] = draw_layouts_sheet(batch[0], PITCH)
    images["normalised.png"] = _draw_normalised_with_histograms(table, batch, planes)
    if min(batch.shape[2:]) < LEAST:
        table.print_line(
            f"\n6. DirectML: left out, the pictures are smaller than {LEAST} x {LEAST}"
        )
    else:
        table.print_line("\n6. DirectML's operators on the same memory")
        images["directml.png"] = _draw_directml_operator_results(table, batch)
    table.print_line("\n7. A normalised plane in XLA's tiles")
    _tile_plane(table, planes[0, 0])
    table.print_line("\n8. Statistics, colours, sums and sorting")
    images["statistics.png"] = _draw_statistics(table, batch)
    table.print_line(
        f"\n{table.total_row_and_legend}\n\n9. The normalised batch in other libraries"
    )
    _share_with_libraries(table, normalised)
    return images


def _draw_mirrored_and_flipped_views(table: Table, batch: tl.Tensor) -> Image:
    """Draw a row per picture: the picture, its halves with mirror images, and upside down."""

    def join_flipped_views(xp: Any, x: Any) -> Any:
        half = max(1, x.shape[3] // 2)
        left, right = x[..., :half], x[..., -half:]
        halves = [left, xp.flip(left, axis=3), xp.flip(right, axis=3), right]
        return xp.concat([x, *halves, xp.flip(x, axis=(2, 3))], axis=3)

    rows = to_numpy(
        table.run_step("mosaic: views, joined once", join_flipped_views, batch, memory_order="NHWC")
    )
    return fromarray(rows.transpose(0, 2, 3, 1).reshape(-1, rows.shape[3], 3))


def _normalise_batch(table: Table, batch: tl.Tensor) -> tuple[tl.Tensor, tl.Tensor]:
    """Normalise with NumPy code and with a fused function; return the batch and padded planes."""
    name, code_names = "numpy_code.py", dict[str, Any]()
    text = Path(__file__).with_name(name).read_text("utf-8")
    # Traces skip lines of this package: compile the file under a name outside of it.
    exec(compile(text, name, "exec"), code_names)
    lines = [f"{number:4}  {line}" for number, line in enumerate(text.splitlines(), 1)]
    table.print_line(f"\n2. NumPy code called with tensors, unchanged: {name}")
    table.print_line("\n".join(lines[text[: text.index("def ")].count("\n") :]))
    numbers = [tl.asarray(v, dtype=tl.float32, device=batch.device) for v in (255, MEAN, STD)]
    layout = tl.Layout.pitched(batch.shape, PITCH, tl.uint8, padding_value=tl.PaddingValue.ZERO)
    planes = table.run_step(
        f"planes, rows at {PITCH} bytes",
        lambda x: tl.to_layout(x, layout),
        batch,
        # NumPy reaches the same memory by padding and slicing.
        numpy_reference=lambda x: np.pad(x, [(0, 0)] * 3 + [(0, -x.shape[3] % PITCH)])[
            ..., : x.shape[3]
        ],
        memory_order="NCHW",
    )
    normalise = code_names["normalise"]
    step = partial(table.run_step, numpy_reference=normalise)
    step("normalise(planes)", normalise, planes, *numbers)
    table.print_line("\n3. The trace names the line that moved elements")
    for line, line_trace in table.steps[-1].trace.by_line().items():
        table.print_line(
            f"{line}: {', '.join(f'{r.name} ({r.kind})' for r in line_trace)}: "
            f"{line_trace.bytes_copied:,} bytes moved"
        )
    table.print_line("\n4. no_copies refuses it before anything is moved, and says what helps")
    try:
        with tl.no_copies():
            normalise(planes, *numbers)
        table.print_line("nothing is refused: of planes like these the reshape is a view")
    except tl.CopyError as error:
        table.print_line(textwrap.fill(str(error), 100))
    step(
        "normalise(batch)", normalise, batch, *numbers, memory_order="NHWC", expected_kind="compute"
    )

    @tl.fuse
    def fused_normalise(images: Any, white: Any, mean: Any, std: Any) -> Any:
        scaled = images.astype(tl.float32) / white
        return (scaled - mean[:, None, None]) / std[:, None, None]

    table.print_line("\n5. fuse does it in one pass, whatever the layout")
    normalised = step(
        "fused(batch)",
        fused_normalise,
        batch,
        *numbers,
        memory_order="NHWC",
        expected_kind="compute",
    )
    planes = step(
        "fused(planes)",
        fused_normalise,
        planes,
        *numbers,
        memory_order="NCHW",
        expected_kind="compute",
    )
    return normalised, planes


def _draw_normalised_with_histograms(
    table: Table, batch: tl.Tensor, normalised_planes: tl.Tensor
) -> Image:
    """Draw histograms before and after normalising, and the normalised pictures."""

    def pictures_side_by_side(xp: Any, x: Any) -> Any:
        low, high = xp.min(x), xp.max(x)
        span = high - low if float(high) > float(low) else 1.0
        octets = xp.astype(xp.round((x - low) / span * 255), xp.uint8)
        return xp.permute_dims(xp.concat(xp.unstack(octets), axis=2), (1, 2, 0))

    rows = table.run_step(
        "rescaled to rows of pixels",
        lambda x: tl.to_layout(pictures_side_by_side(tl, x), (2, 1, 0)),
        normalised_planes,
        numpy_reference=lambda x: np.ascontiguousarray(pictures_side_by_side(np, x)),
        dims="HWC",
        memory_order="HWC",
    )
    before, after = to_numpy(batch), to_numpy(normalised_planes).astype(np.float64)
    counts = np.stack([np.bincount(before[:, c].ravel(), minlength=256) for c in range(3)], axis=1)
    byte_histogram = draw_histogram(
        counts, before.mean(REDUCED_DIMS), before.std(REDUCED_DIMS), ticks=(0, 64, 128, 192, 255)
    )
    levels = (np.arange(256)[:, None] / 255 - MEAN) / STD  # from -2.2 to 2.7
    float_histogram = draw_histogram(
        counts, after.mean(REDUCED_DIMS), after.std(REDUCED_DIMS), levels, (-3, 3), range(-2, 3)
    )
    pictures = (
        (batch, "NCHW", byte_histogram),
        (normalised_planes, "NCHW", float_histogram),
        (rows, "HWC", to_numpy(rows)),
    )
    panels = [
        (f"{x.dtype} {describe_memory_order(x.layout, dims)}", picture)
        for x, dims, picture in pictures
    ]
    return draw_captioned_sheet("normalised.png", panels)


def _draw_directml_operator_results(table: Table, batch: tl.Tensor) -> Image:
    """Run DirectML's operators on a batch with NHWC memory; each result must be NHWC, too."""
    height, width = (n // GRID * GRID for n in batch.shape[2:])
    rows, columns = height // ZOOM, width // ZOOM
    vertical, horizontal = (_linear_upsampling_matrix(n) for n in (rows, columns))
    column_indices = (np.arange(width) + _wave_offsets(width, height)[:, None]) % width
    row_indices = np.clip(np.arange(height) + 2 * _wave_offsets(height, height), 0, height - 1)[
        :, None
    ]
    pads, mirrored = (0, 0, height // 4, width // 4), directml.PaddingMode.REFLECTION
    nearest, linear = directml.InterpolationMode

    def crop_top_center(x: Any) -> Any:
        return x[..., : height // 2, width // 4 : width // 4 + width // 2]

    def crop_patch(xp: Any, x: Any) -> Any:
        top, left = height // 4, width // 2 - columns // 2
        return xp.astype(x[..., top : top + rows, left : left + columns], xp.float32)

    operators: dict[str, tuple[Any, ...]] = {
        "JOIN": (
            lambda x: directml.join(
                [directml.join(row, 3) for row in _tiles_alternating_first_and_last(x)], 2
            ),
            lambda x: np.block(_tiles_alternating_first_and_last(x)),
        ),
        "SLICE1": (
            lambda x: directml.slice1(x, (0, 0, 0, 0), x.shape, (1, 1, 1, -1)),
            lambda x: x[..., ::-1].copy("K"),
        ),
        "SCATTER": (
            lambda x, index_tensors: directml.scatter(x, index_tensors, x, 3),
            _scatter_columns,
            column_indices,
        ),
        "GATHER_ELEMENTS": (
            lambda x, index_tensors: directml.gather_elements(x, index_tensors, 2),
            lambda x, index_tensors: np.take_along_axis(x, index_tensors, 2),
            row_indices,
        ),
        "SPACE_TO_DEPTH": (lambda x: directml.space_to_depth(x, GRID), _space_to_depth),
        "PADDING": (
            lambda x: directml.padding(crop_top_center(x), pads, pads, mirrored),
            lambda x: np.pad(crop_top_center(x), [(pad, pad) for pad in pads], mode="reflect"),
        ),
        "UPSAMPLE_2D, nearest": (
            lambda x: directml.upsample_2d(crop_patch(tl, x), (ZOOM, ZOOM), nearest),
            lambda x: crop_patch(np, x).repeat(ZOOM, 2).repeat(ZOOM, 3),
        ),
        "UPSAMPLE_2D, linear": (
            lambda x: directml.upsample_2d(crop_patch(tl, x), (ZOOM, ZOOM), linear),
            lambda x: vertical @ crop_patch(np, x) @ horizontal.T,
        ),
    }
    x = table.run_step(
        "cut to whole blocks", lambda _, x: x[..., :height, :width], batch, expected_kind="view"
    )
    panels = []
    for title, (call, by_numpy, *indices) in operators.items():
        # Broadcast views: repeated positions take no memory.
        index_tensors = [
            tl.broadcast_to(tl.asarray(index, device=x.device), x.shape) for index in indices
        ]
        result = table.run_step(
            title, call, x, *index_tensors, numpy_reference=by_numpy, memory_order="NHWC"
        )
        picture = to_numpy(result)[-1 if title == "GATHER_ELEMENTS" else 0]
        if title == "SPACE_TO_DEPTH":
            picture = arrange_pictures_in_square(picture.reshape(GRID**2, 3, *picture.shape[1:]))
        panels.append((f"{result.dtype} {result.layout}", to_rgb_bytes(picture)))
    return draw_captioned_sheet("directml.png", panels)


def _tiles_alternating_first_and_last(x: Any) -> list[list[Any]]:
    """Cut tiles row by row, alternately from the first and the last picture."""
    h, w = (n // GRID for n in x.shape[2:])
    ends = x[:1], x[-1:]
    return [
        [ends[(i + j) % 2][..., i * h : (i + 1) * h, j * w : (j + 1) * w] for j in range(GRID)]
        for i in range(GRID)
    ]


def _wave_offsets(size_across: int, size_along: int) -> Array:
    """Return integer offsets of waves along `size_along`, of an amplitude for `size_across`."""
    angles = 2 * np.pi * WAVES * np.arange(size_along) / size_along
    return np.round(SWING * size_across * np.sin(angles)).astype(np.int64)


def _scatter_columns(x: Array, column_indices: Array) -> Array:
    # The indices of each row are a rotation of it, so every element is written.
    result = np.empty_like(x)
    np.put_along_axis(result, column_indices, x, 3)
    return result


def _space_to_depth(x: Array) -> Array:
    n, channels, height, width = x.shape
    # In the new channels, the row in a block changes slowest and the old channel fastest.
    blocks = x.reshape(n, channels, height // GRID, GRID, width // GRID, GRID)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, -1, height // GRID, width // GRID)


def _linear_upsampling_matrix(size: int) -> Array:
    """Return the matrix (size * ZOOM, size) that enlarges `size` pixels linearly."""
    # Pixel i has its centre at i + 0.5. Positions before the first or after the last centre take
    # its value; all others are weighted by their distance from two neighbours.
    positions = np.clip((np.arange(size * ZOOM) + 0.5) / ZOOM - 0.5, 0, size - 1)
    weights: Array = np.maximum(0, 1 - np.abs(positions[:, None] - np.arange(size)))
    return weights.astype(np.float32)


def _tile_plane(table: Table, plane: tl.Tensor) -> None:
    """Store a plane in XLA's tiles, compare with NumPy's reshaping, and compute in them."""
    (height, width), (rows, columns) = plane.shape, TILE

    def to_tile_order(x: Array) -> Array:
        padded = np.pad(x, [(0, -height % rows), (0, -width % columns)])
        # (H/8, 8, W/128, 128) with the middle swapped: tile by tile, each row-major.
        return padded.reshape(-1, rows, padded.shape[1] // columns, columns).swapaxes(1, 2).ravel()

    def tiled_xla_buffer_elements(x: tl.Tensor) -> Array:
        octets = tl.xla.to_buffer(x.to_device("cpu"), f"f32[{height},{width}]{TILES}")
        return np.frombuffer(octets, np.float32)

    step = partial(table.run_step, dims="HW")
    tiled = step(
        TILES,
        lambda x: tl.to_layout(x, TILES),
        plane,
        numpy_reference=to_tile_order,
        read_elements=tiled_xla_buffer_elements,
    )
    step("clipped in its tiles", lambda xp, x: xp.clip(x, -1, 1), tiled, expected_kind="compute")


def _draw_statistics(table: Table, batch: tl.Tensor) -> Image:
    """Run statistics, sums and sorting on a batch with NHWC memory; draw the results."""
    floats = table.run_step("bytes to float32", lambda xp, x: xp.astype(x, xp.float32), batch)
    compute = partial(table.run_step, expected_kind="compute")
    mean, deviation = (
        compute(
            f"{name} by channel",
            partial(getattr(tl, name), axis=REDUCED_DIMS),
            floats,
            numpy_reference=lambda x, name=name: getattr(x, name)(REDUCED_DIMS, np.float64).astype(
                np.float32
            ),
            dims="C",
            tolerance=TOLERANCE,
        )
        for name in ("mean", "std")
    )
    counts = compute(
        "histogram by scatter_add",
        _channel_histogram,
        batch,
        numpy_reference=_channel_histogram_numpy,
        dims="VC",
    )
    weights = tl.asarray(YCBCR, device=batch.device)
    planes = compute("YCbCr by matmul", _convert_to_ycbcr, floats, weights, dims="PC")
    sums = compute("integral image", _integral_image, batch)
    side = min(BOX, *batch.shape[2:])
    boxes = compute(f"means of {side} x {side} from it", partial(_box_means, side=side), sums)
    red = compute("rows of red sorted", lambda xp, x: xp.sort(x[:, 0], axis=2), batch, dims="NHW")
    crops = table.run_step(f"stack {CROPS} crops", _stack_crops, batch)
    picture, table_of_sums = to_numpy(floats)[0], to_numpy(sums)[0].astype(np.int64)
    greatest = np.maximum(table_of_sums.max((1, 2), keepdims=True), 1)
    ycbcr = to_numpy(planes)[: picture[0].size].T.reshape(picture.shape)
    grey = (ycbcr + np.array([[[0]], [[128]], [[128]]], np.float32)).clip(0, 255)
    pictures = [
        (counts, draw_histogram(to_numpy(counts), to_numpy(mean), to_numpy(deviation))),
        (
            planes,
            to_rgb_bytes(
                arrange_pictures_in_square(np.stack([picture, *grey[:, None].repeat(3, axis=1)]))
            ),
        ),
        (sums, to_rgb_bytes(table_of_sums * 255 // greatest)),
        (boxes, to_rgb_bytes(to_numpy(boxes)[0])),
        (red, to_numpy(red)[0][..., None].repeat(3, 2)),
        (crops, to_rgb_bytes(arrange_pictures_in_square(to_numpy(crops)))),
    ]
    panels = [(f"{x.dtype} {x.layout}", picture) for x, picture in pictures]
    return draw_captioned_sheet("statistics.png", panels, side=side)


def _pixel_matrix(xp: Any, x: Any) -> Any:
    """Return a view of an NHWC batch as a matrix with one row per pixel."""
    return xp.reshape(xp.permute_dims(x, (0, 2, 3, 1)), (-1, 3))


def _channel_histogram(x: tl.Tensor) -> tl.Tensor:
    bins = tl.zeros((256, 3), dtype=tl.int32, device=x.device)
    return tl.scatter_add(bins, _pixel_matrix(tl, x)[::SAMPLE], 1)


def _channel_histogram_numpy(x: Array) -> Array:
    channels = _pixel_matrix(np, x)[::SAMPLE].T
    return np.stack([np.bincount(c, minlength=256) for c in channels], axis=1).astype(np.int32)


def _convert_to_ycbcr(xp: Any, x: Any, weights: Any) -> Any:
    return xp.matmul(_pixel_matrix(xp, x), weights)


def _integral_image(xp: Any, x: Any) -> Any:
    for axis in (3, 2):
        # int32 suffices: 255 times the most pixels of a picture, `MAX_PIXELS`, is below 2**30.
        x = xp.cumulative_sum(x, axis=axis, dtype=xp.int32, include_initial=True)
    return x


def _box_means(_: Any, sums: Any, side: int) -> Any:
    """Return the mean of the square around each pixel, from four values of the integral image."""
    top, bottom = sums[:, :, :-side], sums[:, :, side:]
    # An entry is the sum of all pixels above and left of it. A box is the sum to its lower right
    # corner, less those above and left of it, plus the corner subtracted twice.
    sums_of_boxes = bottom[..., side:] - bottom[..., :-side] - top[..., side:] + top[..., :-side]
    return sums_of_boxes // side**2


def _stack_crops(xp: Any, x: Any) -> Any:
    """Join crops of the pictures in turn, from top left to bottom right, every second mirrored."""
    n, _, height, width = x.shape
    side = min(CROP, height, width)
    parts = []
    for number in range(CROPS):
        top, left = ((size - side) * number // (CROPS - 1) for size in (height, width))
        part = x[number % n, :, top : top + side, left : left + side]
        parts.append(xp.flip(part, axis=2) if number % 2 else part)
    return xp.stack(parts)


def _share_with_libraries(table: Table, x: tl.Tensor) -> None:
    """Export `x` to other libraries: they must see its elements, and `x` their writes."""
    if table.repeat == 0:  # the simulator
        table.print_line("no other library knows of the simulator's device memory")
        return
    for value, name in enumerate(["numpy" if table.device == "cpu" else "cupy", "torch"], 7):
        try:
            library = importlib.import_module(name)
            array = library.from_dlpack(x) if name == "torch" else library.asarray(x)
        except (ImportError, OSError, AssertionError, RuntimeError) as error:  # or it sees no GPU
            table.print_line(f"{name}: not tried: {error}")
            continue
        array[0, 0, 0, 0] = value  # outside the range of normalised values
        to_host = {"numpy": "view", "cupy": "get", "torch": "cpu"}[name]
        if fault := describe_difference(np.asarray(getattr(array, to_host)()), to_numpy(x)):
            raise CommandError(f"{name} does not share the memory of the batch, {fault}", status=1)
        layout = tl.from_dlpack(array).layout
        table.print_line(f"{name}: {layout}, no copy: both see each other's writes")
