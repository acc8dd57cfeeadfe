"""Every kernel, launched with many blocks, from public functions: values are NumPy's.

What is small runs in one block, which hides a mistake in how blocks share the work. The list of
kernels is read from ``kernels/``, and each has to be in a case.
"""

import re

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import Layout, PaddingValue, directml
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.support.kernel_sources import kernel_directory

pytestmark = pytest.mark.usefixtures("device")

TILES = "{1,0:T(8,128)}"
NARROW = "{1,0:T(8,128)(2,1)}"


def numbers(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


def there(values, layout=None):
    argument = {} if layout is None else {"layout": layout}
    return tl.asarray(np.ascontiguousarray(values), device=tl.default_device(), **argument)


def on_host(x):
    return np.asarray(x.to_device("cpu"))


def copies():
    for dtype in ("int8", "float32"):
        a = numbers(120, 130, dtype=dtype)
        x = there(a)
        y = tl.zeros(a.shape, dtype=dtype)
        y[...] = x
        yield y, a
        yield tl.to_layout(x.mT, (1, 0)), a.T
        yield tl.to_layout(x[::2, ::3], (1, 0)), a[::2, ::3]
    deep = numbers(4, 5, 6, 7, 8, 9, dtype="int8")
    yield tl.to_layout(there(deep), tuple(range(6))), deep


def copies_of_tiles():
    for a in (numbers(501, 300), numbers(501, 300, dtype="float16")):
        for layout in (TILES, NARROW):
            x = there(a, layout)
            yield x, a
            yield tl.to_layout(x, (1, 0)), a


def fills():
    zeros = Layout.tiled((301, 205), [(8, 128)], padding_value=PaddingValue.ZERO)
    for layout in (None, (0, 1), TILES, zeros):
        yield tl.full((301, 205), 7, dtype="int16", layout=layout), np.full((301, 205), 7)
    a = numbers(100, 300)
    x = there(a)
    x[::2, ::3] = 5
    a[::2, ::3] = 5
    yield x, a


def joins():
    for sizes in ((515, 1001), (64, 128)):
        parts = [numbers(300, n, seed=n) for n in sizes]
        yield tl.concat([there(part) for part in parts], axis=1), np.concatenate(parts, 1)
        yield tl.concat([there(part.T) for part in parts]), np.concatenate(parts, 1).T


def spreads():
    a = numbers(90, 70)
    x = there(a)
    expected = np.zeros((200, 150), a.dtype)
    expected[:180:2, :140:2] = a
    yield directml.slice_grad(x, (200, 150), (0, 0), (180, 140), (2, 2)), expected


def elements():
    a, b = numbers(150, 140), numbers(150, 140, seed=1)
    x, y = there(a), there(b)
    yield x + y, a + b
    yield x + there(b.T).mT, a + b
    yield tl.to_layout(x, (0, 1)) * y, a * b
    yield x[:, 1:] + y[:, :-1], a[:, 1:] + b[:, :-1]
    yield x + y[0], a + b[0]
    yield x[::2, ::3] - y[::2, ::3], a[::2, ::3] - b[::2, ::3]
    rows = tl.to_layout(x, Layout.pitched((150, 140), 160, 4))
    yield rows + 1, a + 1
    for layout in (TILES, NARROW):
        yield there(a, layout) + there(b, layout), a + b


def chains():
    a, b = numbers(150, 140), numbers(150, 140, seed=1)
    x, y = there(a), there(b)
    fused = tl.fuse(lambda x, y: (x + y) * x - 3)
    yield fused(x, y), (a + b) * a - 3
    yield fused(x, there(b.T).mT), (a + b) * a - 3
    yield fused(x, y[0]), (a + b[0]) * a - 3
    yield fused(x[::2, ::3], y[::2, ::3]), ((a + b) * a - 3)[::2, ::3]
    yield fused(there(a, TILES), there(b, TILES)), (a + b) * a - 3


def gathers():
    a = numbers(300, 40)
    at = np.random.default_rng(0).integers(0, 300, 500)
    x = there(a)
    yield tl.take(x, there(at), axis=0), a[at]
    yield x[there(at)], a[at]
    a = numbers(6, 5, 4, 5, 6)  # of more dimensions than a launch takes positions of
    places = [numbers(3000, dtype="int64", seed=d) % n for d, n in enumerate(a.shape)]
    yield there(a)[tuple(map(there, places))], a[tuple(places)]


def added(a, at, values):
    expected = a.copy()
    np.add.at(expected, at, values)
    return tl.scatter_add(there(a), there(at), there(values)), expected


def scatters():
    a, values = numbers(3000, 5), numbers(2000, 5, seed=1)
    at = np.random.default_rng(0).integers(0, 3000, 2000)
    x, expected = there(a), a.copy()
    x[there(at)] = there(values)
    expected[at] = values
    yield x, expected
    yield added(a, at, values)
    yield added(a, at % 7, values)
    for dtype in ("int16", "int64"):
        counts = numbers(3000, 5, dtype=dtype)
        expected = counts.copy()
        np.add.at(expected, at, 1)
        yield tl.scatter_add(there(counts), there(at), 1), expected
    yield added(numbers(3, 100), at[:1100] % 2, numbers(1100, 100, seed=1))
    expected = a.copy()
    np.maximum.at(expected, at % 7, values)
    yield tl.scatter_max(there(a), there(at % 7), there(values)), expected


def replacements():
    a, values = numbers(300, 200), numbers(300, 2, seed=1)
    at = np.array([[3, 150]] * 300)
    expected = a.copy()
    np.put_along_axis(expected, at, values, 1)
    x = directml.scatter_elements(there(a), there(at.astype("int32")), there(values), 1)
    yield x, expected


def masks():
    a = numbers(200, 150)
    mask = a % 3 == 0
    x = there(a)
    yield x[there(mask)], a[mask]
    yield tl.stack(tl.nonzero(there(mask))), np.stack(np.nonzero(mask))
    x[there(mask)] = 9
    yield x, np.where(mask, 9, a)


def reductions():
    for shape in ((700, 300), (300, 77), (3000, 2), (5, 40000), (30, 40, 50)):
        a = numbers(*shape, dtype="int64")
        x = there(a)
        yield tl.sum(x), a.sum()
        for axis in range(len(shape)):
            yield tl.sum(x, axis=axis), a.sum(axis)
            yield tl.max(x, axis=axis), a.max(axis)
            yield tl.argmax(x, axis=axis), a.argmax(axis)
    yield tl.sum(there(a), axis=(0, 2)), a.sum((0, 2))


def scans():
    for shape, axis in (((40, 3000), 1), ((3000, 40), 0), ((50000,), 0), ((30, 400, 30), 1)):
        a = numbers(*shape, dtype="int64")
        yield tl.cumulative_sum(there(a), axis=axis), a.cumsum(axis)


def sorts():
    for shape, axis in (((20, 700), 1), ((700, 20), 0), ((12000,), 0)):
        a = np.random.default_rng(0).permutation(np.prod(shape)).reshape(shape).astype("float32")
        yield tl.sort(there(a), axis=axis), np.sort(a, axis)
        yield tl.argsort(there(a), axis=axis), np.argsort(a, axis)
    a = numbers(2, 20000, dtype="int8")
    yield tl.sort(there(a), axis=1), np.sort(a, 1)
    a = numbers(260, 2500)  # so many runs that a block does not split them all
    yield tl.sort(there(a), axis=1), np.sort(a, 1)


def leading():
    a = np.random.default_rng(0).permutation(96 * 700).reshape(96, 700).astype("float32")
    yield directml.top_k(there(a), 1, 8)[0], -np.sort(-a, 1)[:, :8]


def searches():
    line, a = np.sort(numbers(5000)), numbers(3000, seed=1)
    yield tl.searchsorted(there(line), there(a)), np.searchsorted(line, a)


def quantiles():
    a = numbers(5, 5000)
    yield tl.quantile(there(a), 0.5, axis=0), np.quantile(a, 0.5, axis=0).astype("float32")


def ranges():
    yield tl.arange(20000), np.arange(20000)
    yield tl.arange(20000, dtype="float32"), np.arange(20000, dtype="float32")
    yield tl.linspace(0, 16384j, 16385, dtype="complex64"), np.arange(16385) * 1j


def bands():
    yield tl.eye(300, 301), np.eye(300, 301)
    a = numbers(300, 200)
    yield tl.tril(there(a)), np.tril(a)
    yield tl.triu(tl.to_layout(there(a), (0, 1))), np.triu(a)
    yield tl.tril(there(a)[:, 1:]), np.tril(a[:, 1:])


def pads():
    a = numbers(200, 100)
    yield directml.padding(there(a), (3, 2), (4, 5)), np.pad(a, ((3, 4), (2, 5)))


def patterns():
    out = there(np.zeros((200, 100), np.int32)).mT
    result = directml.fill_value_sequence((100, 200), 5, 3, "INT32", out=out)
    yield result, 5 + 3 * np.arange(20000).reshape(100, 200)
    at = numbers(150, 1, dtype="uint32")
    values = there(np.array([7, 8], np.int16).reshape(2, 1))
    yield directml.one_hot(there(at), values, 100, 1), np.where(at == np.arange(100), 8, 7)
    yield directml.diagonal_matrix((150, 160), 2, 3, "FLOAT32"), 3 * np.eye(150, 160, 2)


def lines():
    a, lengths = numbers(100, 90), numbers(100, 1, dtype="uint32") % 91
    expected = a.copy()
    for row, (n,) in zip(expected, lengths, strict=True):
        row[:n] = row[:n][::-1].copy()
    yield directml.reverse_subsequences(there(a), there(lengths), 1), expected


def blocks():
    a = numbers(320, 301) % 16 - 8  # four bits of digits hold these
    for axis in (0, 1):
        result = tl.quantize_blocks(there(a), "mxfp8_e4m3", axis=axis)
        yield tl.dequantize_blocks(*result, axis=axis), a


def patches():
    a = numbers(2, 3, 60, 60)
    x = there(a)
    columns = directml.unfold(x, [3, 3], [3, 3], [1, 1], [0, 0], [0, 0])
    yield directml.fold(columns, a.shape, [3, 3], [3, 3], [1, 1], [0, 0], [0, 0]), a


def stretches():
    a = np.full((2, 3, 40, 50), 3, np.float32)
    yield directml.upsample_2d(there(a), (2, 3), "LINEAR"), np.full((2, 3, 120, 100), 3)


def products():
    a, b = numbers(150, 90, dtype="int32"), numbers(90, 130, dtype="int32", seed=1)
    yield there(a) @ there(b), a @ b


def packed_copies():
    for dtype, bits in (("uint4", 4), ("uint1", 1), ("float6_e2m3fn", 6)):
        octets = numbers(300, 1000, dtype="uint8", seed=bits) % 2**bits
        x = tl.from_storage(octets, Layout((300, 1000)), dtype=dtype)
        x = x.to_device(tl.default_device())
        rows, tiles = (tl.Layout.parse(f"[300,1000]{{1,0{how}}}") for how in ("", ":T(8,128)"))
        for layout in (rows, tiles):
            y = tl.to_layout(x, layout.with_slot_bits(bits))
            for back in (rows, tiles, tiles.with_slot_bits(bits), rows.with_slot_bits(bits)):
                result = tl.to_layout(tl.to_layout(y, back), rows)
                yield result.view(tl.uint8), octets


# Cases, and the kernels that each launches with many blocks.
CASES = {
    copies: "copy_flat copy_strided copy_tiles",
    copies_of_tiles: "copy_bounded copy_bounded_boxes",
    packed_copies: "pack_flat unpack_flat pack_runs unpack_runs pack_elements unpack_elements",
    fills: "fill_flat fill_strided fill_bounded",
    joins: "join_parts join_rows",
    spreads: "spread_elements",
    elements: (
        "elementwise_flat elementwise_rows elementwise_strided elementwise_tiles"
        " elementwise_bounded"
    ),
    chains: "fuse_flat fuse_rows fuse_strided fuse_tiles fuse_bounded",
    gathers: "gather_elements place_positions",
    scatters: (
        "mark_positions scatter_elements tally_positions list_places find_segments fold_runs"
        " combine_elements change_elements"
    ),
    replacements: "replace_elements",
    masks: "count_true scan_counts select_elements select_positions store_masked",
    reductions: "reduce_rows reduce_columns reduce_short reduce_partials",
    scans: "scan_lines scan_rows scan_columns",
    sorts: "sort_tiles split_runs merge_tiles count_digits scatter_digits",
    leading: "leading_tiles",
    searches: "search_line",
    quantiles: "read_quantiles",
    ranges: "sequence_integers sequence_real sequence_complex",
    bands: "band_flat band_strided",
    pads: "pad_elements",
    patterns: "count_up one_hot",
    lines: "reverse_lines",
    blocks: "quantize_rows quantize_columns dequantize",
    patches: "fold",
    stretches: "stretch",
    products: "matmul",
}

# A block of these does all.
ONE_BLOCK = {"scan_counts"}


@pytest.fixture(scope="module")
def launched(device):
    """The most blocks of one launch, of each kernel that was launched so far."""
    results = {}
    if device.kind == "cpu":
        yield results
        return
    kind = type(driver())
    plain = kind.launcher

    def launcher(self, kernel):
        result = plain(self, kernel)

        def launch(grid, parameters):
            result(grid, parameters)
            blocks = np.prod(grid, dtype=int)
            results[kernel.name] = max(results.get(kernel.name, 0), int(blocks))

        return launch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "launcher", launcher)
        tl.plan.run.cache_clear()
        yield results
    tl.plan.run.cache_clear()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_many_blocks(case, launched, device):
    launched.clear()
    for result, expected in case():
        np.testing.assert_array_equal(on_host(result), expected)
    if device.kind == "cuda":
        least = {kernel: 1 + (kernel not in ONE_BLOCK) for kernel in CASES[case].split()}
        too_few = {k: launched.get(k, 0) for k, n in least.items() if launched.get(k, 0) < n}
        assert not too_few, launched


@pytest.mark.cpu
def test_every_kernel_has_a_case():
    texts = [path.read_text("utf-8") for path in kernel_directory().rglob("*.cu")]
    declared = re.findall(r"^(?:BLOCK_)?KERNEL\((\w+),", "".join(texts), re.MULTILINE)
    assert set(declared) == set(" ".join(CASES.values()).split())
