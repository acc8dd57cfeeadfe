"""Narrow types on the simulator: every layout, in one launch; what moves them keeps all bits."""

import layouts
import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import host, padding_of, tensor_in
from test_cuda_narrow_conversions import BYTES, dtype_of, expected, nearest, values

import tensorlayout as tl
from benchmarks.resources import compiled
from tensorlayout.cuda.elementwise import plan_conversion, plan_elementwise
from tensorlayout.cuda.engine.launch_log import launch_log
from tensorlayout.cuda.engine.warm_up import common
from tensorlayout.devices import Device
from tensorlayout.dtypes import bits_of
from tensorlayout.tensor import TensorSpec

pytestmark = needs_compiler

SHAPE = (6, 10)
PLACES = {
    "row-major": tl.Layout.row_major(SHAPE),
    "column-major": tl.Layout.column_major(SHAPE),
    "padded": tl.Layout.padded(SHAPE, (8, 16)),
    "tiled": tl.Layout.tiled(SHAPE, [(4, 8)]),
}


@pytest.fixture(scope="module", autouse=True)
def _device():
    with simulator(1), tl.using_device("cuda"):
        yield


def octets(x):
    return host(x).view(np.uint8)


def there(array, name=None, layout=None):
    """An array on the device; of bytes, as a tensor of a narrow type."""
    x = tl.asarray(np.ascontiguousarray(array), device="cuda")
    x = x if layout is None else tl.to_layout(x, layout)
    return x if name is None else x.view(dtype_of(name))


# ---- Conversions


@pytest.mark.parametrize(
    ("source", "target", "saturate"),
    [
        ("float32", "float8_e4m3fn", False),
        ("float32", "float8_e4m3fn", True),
        ("int64", "int4", True),
        ("float8_e8m0fnu", "bfloat16", False),
        ("float4_e2m1fn", "float32", False),
        pytest.param("float8_e5m2", "float6_e2m3fn", False, marks=pytest.mark.long),
        pytest.param("uint2", "bool", False, marks=pytest.mark.long),
    ],
)
def test_astype_of_every_layout(source, target, saturate):
    numbers = np.array([0, 1, 2.5, 5, -1, -3, 464, 465, -500, np.inf, np.nan, 2.0**-10] * 40)
    if dtype_of(source).kind == "i":
        numbers = np.array([0, 1, 5, 7, 8, -8, -9, 2**40, -(2**63)] * 60)
    for layout in layouts.TENSORS:
        slots = np.resize(BYTES if dtype_of(source).itemsize == 1 else numbers, 4096)
        slots = slots.view(dtype_of(source)) if slots.dtype == np.uint8 else slots.astype(source)
        if isinstance(layout.padding_value, tl.BitPattern):
            continue
        x, array = tensor_in(layout, slots)
        with launch_log() as seen:
            found = tl.astype(x, dtype_of(target), saturate=saturate)
        wanted = value_of(array, target, saturate)
        np.testing.assert_array_equal(host(found).view(wanted.dtype), wanted, err_msg=str(layout))
        assert found.layout.padding_value == layout.padding_value
        assert sum(each.launches for each in seen.values()) == 1 or not layout.size, layout
        if layout.padding_value is tl.PaddingValue.ONE:
            assert set(padding_of(found).astype(np.float32)) <= {1.0}


def value_of(array, target, saturate):
    """Narrow elements as bytes."""
    if target.startswith(("float8", "float6", "float4", "int4")):
        flat = expected(array.reshape(-1), target, saturate)
        return flat.reshape(array.shape)
    low = array.view(np.uint8) & (2 ** bits_of(array.dtype) - 1)
    return low.view(array.dtype).astype(np.float32).astype(dtype_of(target))


def test_orders_that_differ_and_reads_that_are_shared():
    shape = (96, 160)
    bytes_ = np.resize(BYTES, shape)
    x = there(bytes_, "float8_e4m3fn")
    known = host(x).astype(np.float32)
    turned = tl.astype(tl.to_layout(x, tl.Layout.column_major(shape)).mT, tl.float32)
    np.testing.assert_array_equal(host(turned), known.T)
    spread = tl.broadcast_to(x[3], (5, shape[1]))
    np.testing.assert_array_equal(host(tl.astype(spread, tl.float32)), known[[3] * 5])
    flipped = tl.astype(tl.flip(x), tl.float32)
    np.testing.assert_array_equal(host(flipped), known[::-1, ::-1])
    y = tl.zeros(shape, dtype=tl.float32)
    y[:, ::2] = x[:, ::2]
    np.testing.assert_array_equal(host(y), np.where(np.arange(shape[1]) % 2, 0, known))


def test_empty_and_single():
    for shape in [(), (0,), (1,), (3, 0)]:
        x = tl.ones(shape, dtype=tl.float32)
        found = tl.astype(x, tl.float8_e4m3fn)
        assert (found.shape, octets(found).tolist()) == (shape, np.full(shape, 0x38).tolist())
        np.testing.assert_array_equal(host(tl.astype(found, tl.float32)), np.ones(shape))


# ---- Numbers


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("float8_e4m3fn", 464.0),
        ("float8_e4m3fn", 464.0000000001),
        ("float8_e4m3fn", 1.0625 + 2.0**-50),  # above a midpoint, which a rounding to float32 loses
        ("float8_e4m3fn", -(2**70)),
        ("float8_e5m2", 10**300),
        ("float8_e5m2fnuz", -0.0),
        ("float8_e8m0fnu", 0),
        ("float8_e8m0fnu", -2.0),
        ("float6_e3m2fn", float("nan")),
        ("float4_e2m1fn", True),
    ],
)
def test_python_numbers_are_rounded_once(name, number):
    wanted = nearest(number, name, False)
    dtype = dtype_of(name)
    full = tl.full((3, 5), number, dtype=dtype, layout=tl.Layout.padded((3, 5), (4, 8)))
    assert octets(full).tolist() == [[wanted] * 5] * 3
    written = tl.ones((2, 2), dtype=dtype)
    written[:, 1] = number
    one = nearest(1, name, False)
    assert octets(written).tolist() == [[one, wanted]] * 2
    chosen = tl.where(there([True, False]), written[0], number)
    assert octets(chosen).tolist() == [one, wanted]


@pytest.mark.parametrize(
    ("name", "number"), [("int4", 8), ("uint2", 4), ("int1", 1), ("uint4", -1)]
)
def test_integers_that_do_not_fit(name, number):
    with pytest.raises(OverflowError, match=f"^full: .*{number} does not fit {name}"):
        tl.full((2,), number, dtype=dtype_of(name))
    with pytest.raises(OverflowError, match=f"^where: .*{number} does not fit {name}"):
        tl.where(there([True]), there([0], name), number)


@pytest.mark.parametrize(
    ("name", "value", "byte"),
    [
        ("float8_e4m3fn", "HIGHEST", 0x7E),
        ("float8_e5m2", "LOWEST", 0xFC),
        ("float8_e8m0fnu", "ZERO", 0x00),
        ("float8_e8m0fnu", "ONE", 0x7F),
        ("int4", "LOWEST", 0x08),
        ("uint2", "HIGHEST", 0x03),
    ],
)
def test_padding_holds_its_value(name, value, byte):
    layout = tl.Layout.padded((3, 5), (4, 8), padding_value=tl.PaddingValue[value])
    for made in (
        tl.zeros((3, 5), dtype=dtype_of(name), layout=layout),
        tl.astype(tl.ones((3, 5), dtype=tl.uint8, layout=layout), dtype_of(name)),
        tl.to_layout(there(np.zeros((3, 5), np.uint8), name), layout),
    ):
        assert padding_of(made).view(np.uint8).tolist() == [byte] * 17


# ---- What moves elements


def written(x, key, value):
    x = x.copy()
    x[key] = value
    return x


ROWS, MASK = np.array([3, 0, 5, 1]), np.random.default_rng(1).random(SHAPE) < 0.5
ALONG = np.random.default_rng(2).integers(0, 6, (4, 10))
MOVES = {
    "copy": lambda x, n: x.copy(),
    "transposed": lambda x, n: n.permute_dims(x, (1, 0)).copy(),
    "flipped": lambda x, n: n.flip(x).copy(),
    "sliced": lambda x, n: x[1:5:2, ::-3].copy(),
    "broadcast": lambda x, n: n.broadcast_to(x[None], (3, *SHAPE)).copy(),
    "reshaped": lambda x, n: n.reshape(n.permute_dims(x, (1, 0)), (5, 12)),
    "concat": lambda x, n: n.concat([x, n.flip(x)], axis=1),
    "stack": lambda x, n: n.stack([x, x], axis=1),
    "unstack": lambda x, n: n.unstack(x, axis=1)[2].copy(),
    "roll": lambda x, n: n.roll(x, 3, axis=1),
    "repeat": lambda x, n: n.repeat(x, 2, axis=0),
    "tile": lambda x, n: n.tile(x, (2, 3)),
    "take": lambda x, n: n.take(x, given(x, ROWS), axis=1),
    "take_along_axis": lambda x, n: n.take_along_axis(x, given(x, ALONG), axis=0),
    "at positions": lambda x, n: x[given(x, ROWS), given(x, ROWS + 2)],
    "masked": lambda x, n: x[given(x, MASK)],
    "where": lambda x, n: n.where(given(x, MASK), x, n.flip(x)),
    "pad": lambda x, n: n.pad(x, ((1, 2), (0, 3))),
    "tril": lambda x, n: n.tril(x),
    "diagonal": lambda x, n: n.linalg.diagonal(x).copy(),
    "written slices": lambda x, n: written(x, np.s_[1:4, ::2], x[2:5, 1::2]),
    "written rows": lambda x, n: written(x, given(x, ROWS), x[1:5]),
    "written mask": lambda x, n: written(x, given(x, MASK), x[0, 0]),
}


def given(x, array):
    """An array of positions or truths, beside `x`."""
    return array if isinstance(x, np.ndarray) else there(array)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["float8_e5m2", "int4"])
def test_moves_keep_all_bits(name, place):
    """Those above the low ones of a narrower type, too."""
    array = np.random.default_rng(0).integers(0, 256, SHAPE, np.uint8)
    x = there(array, name, PLACES[place])
    for move, function in MOVES.items():
        found = function(x, tl)
        assert found.dtype == x.dtype, move
        np.testing.assert_array_equal(octets(found), function(array, np), err_msg=move)


# ---- Equality


@pytest.mark.parametrize("name", ["float8_e4m3fn", "int4"])
def test_equality_is_that_of_values(name):
    known = values(name) if name.startswith("float") else [(n & 15 ^ 8) - 8 for n in range(256)]
    same = [[a is not None and a == b for b in known] for a in known]
    x = there(BYTES, name)
    for y in (x, tl.to_layout(tl.broadcast_to(x, (256, 256)), tl.Layout.column_major((256, 256)))):
        assert host(tl.equal(x[:, None], y)).tolist() == same
        assert (host(tl.not_equal(x[:, None], y)) != same).all()
    assert host(tl.equal(x, 1)).tolist() == [a == 1 for a in known]


# ---- Chains


def gelu(x, scale):
    wide = x.astype(tl.float32) * scale
    return tl.astype(wide * tl.tanh(wide) / 2, tl.float8_e4m3fn, saturate=True)


def quantised(x, y):
    z = tl.where(x == y, x, y).astype(tl.bfloat16)
    return (z + x.astype(tl.bfloat16)).astype(tl.float8_e5m2).astype(tl.int8)


@pytest.mark.parametrize("place", PLACES)
def test_a_chain_between_narrow_types_is_one_launch(place):
    x, y = (there(np.resize(BYTES[k:], SHAPE), "float8_e4m3fn", PLACES[place]) for k in (0, 60))
    for function, arguments in [(gelu, (x, 3.5)), (quantised, (x, y))]:
        one_by_one = function(*arguments)
        with launch_log() as seen:
            found = tl.fuse(function)(*arguments)
        ((kernel, counts),) = seen.items()
        assert (kernel.file, counts.launches) == ("fuse.cu", 1)
        assert (found.dtype, found.layout) == (one_by_one.dtype, one_by_one.layout)
        assert octets(found).tolist() == octets(one_by_one).tolist()


# ---- Machine code


def kernels():
    flat, rows = tl.Layout.row_major((64, 64)), tl.Layout.row_major((640, 640))
    turned, tailed = tl.Layout.column_major((640, 640)), tl.Layout.tiled((65, 131), [(8, 128)])
    spread = tl.Layout.row_major((64, 64, 7)).slice(np.s_[:, ::2, ::-2])

    def spec(layout, name):
        return TensorSpec(dtype_of(name), layout, Device("cuda", 0))

    for source, target, saturate, to, from_ in [
        ("float32", "float8_e4m3fn", False, flat, flat),
        ("float64", "float8_e5m2", True, spread, spread),
        ("int64", "float8_e8m0fnu", False, rows, turned),
        ("uint64", "int4", True, flat, flat),
        ("float16", "float6_e3m2fn", False, tailed, tailed),
        ("float8_e4m3fn", "float8_e5m2fnuz", False, flat, flat),
        ("float8_e8m0fnu", "complex128", False, rows, turned),
    ]:
        given = spec(to, target), spec(from_, source), [256, 256]
        yield plan_conversion(*given, saturate=saturate).launches[0].kernel
    plan = tl.equal.operation.plan(spec(rows, "float8_e3m4"), spec(turned, "float8_e3m4"))
    yield plan_elementwise(plan, [256] * 3).launches[0].kernel
    yield from common("float8_e4m3fn")


@pytest.mark.parametrize(
    "architecture", [75, *[pytest.param(n, marks=pytest.mark.long) for n in (80, 90, 100, 120)]]
)
def test_compiled_for_a_gpu_without_spills(architecture):
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: NVRTC comes with cupy")
    for kernel in kernels():
        made = compiled(kernel, architecture)
        found = made.resources[kernel.name]
        assert (made.warnings, found.spilled, found.registers <= 64) == ("", 0, True), kernel
