"""Elementwise kernels on the simulator: plans, cases, addresses, accesses.

Values in every layout and dtype: `ops/elementwise_cases.py`, and `test_device_functions`.
"""

import layouts
import numpy as np
import pytest
from cuda_memory import assert_coalesced, assert_no_spills, planned_with
from simulated import needs_compiler, simulator
from tensors import as_dtype, elements, same, slots

from tensorlayout.cpu.engine.memory import padding_value_array
from tensorlayout.cuda.elementwise import make_scalar_packer, plan_conversion, plan_elementwise
from tensorlayout.cuda.engine.launch import bind_launches
from tensorlayout.cuda.engine.memory import overlaps_at_other_elements
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.devices import Device
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.outputs import WHERE
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.tensor import TensorSpec

ALIGNED = 256  # what the driver gives
OPERATIONS = {"clip": ew._CLIP, "imag": ew._IMAG, "where": WHERE}


def operation(name):
    return OPERATIONS.get(name) or getattr(ew, name).operation


def spec(layout, dtype):
    return TensorSpec(as_dtype(dtype), layout, Device("cpu"))


@pytest.fixture(scope="module", name="driver")
def _device():
    with simulator() as result:
        yield result


class Operand:
    """Values in a layout, in device memory; nothing else of that memory was ever written."""

    def __init__(self, driver, layout, dtype, seed=0, finite=False, shift=0):
        self.spec = spec(layout, dtype)
        self.layout, self.dtype = self.spec.layout, self.spec.dtype
        values = slots(self.dtype, max(self.layout.required_size, 1), seed, finite)
        self.array = elements(self.layout, values)
        itemsize = self.dtype.itemsize
        size = self.layout.required_size * itemsize
        self.buffer = driver.allocate(size + shift * itemsize, 0)
        self.pointer = self.buffer.pointer + shift * itemsize
        self.alignment = ALIGNED if shift == 0 else itemsize & -itemsize
        raw = values.view(np.uint8).reshape(-1, itemsize)
        if self.layout.size == self.layout.required_size and not self.layout.is_overlapping:
            driver.copy_to_device(self.pointer, raw[: self.layout.required_size].reshape(-1))
        else:
            for slot in set(layouts.slots_of(self.layout)):
                driver.copy_to_device(self.pointer + slot * itemsize, raw[slot])


class Result:
    """New memory for a result."""

    def __init__(self, driver, result, shift=0):
        self.driver, self.spec = driver, result
        size = result.layout.required_size * result.dtype.itemsize
        offset = shift * result.dtype.itemsize
        self.buffer = driver.allocate(size + offset, 0)
        self.pointer = self.buffer.pointer + offset
        self.alignment = ALIGNED if shift == 0 else result.dtype.itemsize

    def slots(self):
        back = np.empty(self.spec.layout.required_size * self.spec.dtype.itemsize, np.uint8)
        self.driver.copy_to_host(back, self.pointer)
        return back.view(self.spec.dtype)

    def array(self):
        return elements(self.spec.layout, self.slots())

    def check_padding(self):
        layout = self.spec.layout
        bits = padding_value_array(layout.padding_value, self.spec.dtype)
        if bits is not None and layout.is_padded:
            padding = self.slots()[sorted(layouts.padding_of(layout))]
            assert padding.tobytes() == bits.tobytes() * padding.size


def padding_for(result):
    bits = None
    if result.layout.is_padded:
        bits = padding_value_array(result.layout.padding_value, result.dtype)
    return None if bits is None else bits.tobytes()


def run(driver, name, *operands, shift=0, tuning=()):
    """Plan and launch; the launch's plan and the result."""
    arguments = [o.spec if isinstance(o, Operand) else type(o) for o in operands]
    plan = operation(name).plan(*arguments)
    result = Result(driver, plan.result, shift)
    alignments = [result.alignment, *[getattr(o, "alignment", ALIGNED) for o in operands]]
    with planned_with(dict(tuning)):
        planned = plan_elementwise(plan, alignments, padding_for(plan.result))
    places = [o.pointer if isinstance(o, Operand) else 0 for o in operands]
    content = make_scalar_packer(plan)
    bind_launches(planned, 0)([result.pointer, *places], content(operands) if content else b"")
    result.check_padding()
    return planned, result.array()


def convert(driver, operand, dtype, layout=None, tuning=()):
    result = Result(driver, spec(layout or operand.layout.form, dtype))
    alignments = [result.alignment, operand.alignment]
    padding = padding_for(result.spec)
    with planned_with(dict(tuning)):
        planned = plan_conversion(result.spec, operand.spec, alignments, padding)
    bind_launches(planned, 0)([result.pointer, operand.pointer])
    result.check_padding()
    return planned, result.array()


def usual(function):
    def quiet(*arrays):
        with np.errstate(all="ignore"):
            return function(*arrays)

    return quiet


# ---- Cases


def case_of(name, *operands, alignments=None):
    """The case and the kernel, without what the names of all have in common."""
    plan = operation(name).plan(*operands)
    planned = plan_elementwise(plan, alignments or [ALIGNED] * (1 + len(operands)))
    symbols = [launch.kernel.symbol.removeprefix("elementwise_") for launch in planned.launches]
    return " ".join([planned.case, *symbols[:1]])


ROWS = Layout.row_major((64, 128))
SMALL = Layout.row_major((64, 127))  # too small for tiles
DEEP = Layout((3,) * 6).slice((slice(0, 2),) * 6)


@pytest.mark.parametrize(
    ("name", "dtype", "layouts", "expected"),
    [
        ("add", "float32", [Layout.row_major((0, 3))] * 2, "empty"),
        ("add", "float32", [ROWS] * 2, "flat flat_4"),
        ("add", "float32", [ROWS.permute((1, 0))] * 2, "flat flat_4"),
        ("add", "float32", [ROWS.flip((0, 1))] * 2, "strided strided_1_int32_t"),
        ("add", "float32", [ROWS, Layout(())], "flat flat_4"),
        ("add", "int8", [ROWS] * 2, "flat flat_16"),
        ("equal", "float64", [ROWS] * 2, "flat flat_2"),
        ("add", "complex128", [ROWS] * 2, "flat flat_1"),
        # one row, or one column, for all
        ("add", "float32", [ROWS, Layout((128,))], "rows rows_2_int32_t_4"),
        ("add", "float32", [ROWS, Layout((64, 1))], "rows rows_2_int32_t_4"),
        # rows that end within a pack, and rows that begin at no pack
        ("exp", "float32", [Layout.pitched((64, 99), 128, 4)], "rows rows_2_int32_t_4"),
        ("exp", "float32", [Layout((64, 99), (103, 1))], "rows strided_2_int32_t"),
        ("exp", "float32", [Layout((64, 6), (8, 1))], "rows strided_2_int32_t"),
        ("exp", "float32", [Layout.pitched((64, 100), 128, 4)], "rows rows_2_int32_t_4"),
        # orders that differ
        ("add", "float32", [SMALL, Layout.column_major((64, 127))], "strided strided_2_int32_t"),
        ("exp", "float32", [Layout((7,), (3,))], "strided strided_1_int32_t"),
        ("exp", "float32", [DEEP], "rows strided_0_int32_t"),
        # the furthest offset counts, not the number of elements
        ("exp", "float32", [Layout((2, 3), (2**31 + 8, 1))], "rows strided_2_int64_t"),
    ],
)
def test_cases(name, dtype, layouts, expected):
    assert case_of(name, *[spec(layout, dtype) for layout in layouts]) == expected


def test_cases_as_memory_is_aligned():
    octets, singles = spec(ROWS, "int8"), spec(ROWS, "float32")
    assert case_of("add", octets, octets, alignments=(256, 256, 4)) == "flat flat_4"
    assert case_of("add", singles, singles, alignments=(256, 256, 8)) == "flat flat_1"


def test_more_elements_than_32_bits_count():
    count = 2**33 + 5
    planned = plan_elementwise(operation("exp").plan(spec(Layout((count,)), "float32")), [256] * 2)
    assert (planned.case, planned.launches[0].grid) == ("flat", 2**33 // 1024 + 1)
    tall = spec(Layout((2**20, 2**13), (2**14, 1)), "float32")
    planned = plan_elementwise(operation("exp").plan(tall), [256] * 2)
    assert planned.launches[0].kernel.symbol == "elementwise_rows_2_int64_t_4"
    assert planned.launches[0].grid == 2**33 // 1024


@needs_compiler
def test_offsets_beyond_32_bits(driver):
    """Of 4 GB that are never touched but for 6 bytes."""
    with checking("bounds"):
        x = Operand(driver, Layout((1,)), "int8")
        x.spec = spec(Layout((2, 3), (2**32 + 8, 1)), "int8")
        x.buffer = driver.allocate(2**32 + 11, 0)
        x.pointer = x.buffer.pointer
        for row, values in enumerate(([1, 2, 3], [4, 5, 6])):
            driver.copy_to_device(x.pointer + row * (2**32 + 8), np.array(values, np.uint8))
        planned, result = run(driver, "add", x, 1)
    assert planned.launches[0].kernel.symbol == "elementwise_strided_2_int64_t"
    assert result.tolist() == [[2, 3, 4], [5, 6, 7]]


@needs_compiler
@pytest.mark.parametrize("shift", [0, 1, 4, 8])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 4095, 4096, 4097])
def test_ends_and_alignments(driver, count, shift):
    with checking("bounds", "initialized"):
        x = Operand(driver, Layout((count,)), "int8", 1, shift=shift)
        y = Operand(driver, Layout((count,)), "int8", 2)
        x.alignment = 16 if not shift else shift & -shift
        _, result = run(driver, "add", x, y)
    same(result, x.array + y.array)


@needs_compiler
@pytest.mark.parametrize(("shape", "row"), [((5,), 1001), ((2, 3), 129), ((2, 2, 3, 2, 2), 143)])
def test_rows_that_end_within_a_pack(driver, shape, row):
    block = (*(n + 1 for n in shape), row // 16 * 16 + 16)
    layout = Layout.padded((*shape, row), block, None, PaddingValue.ONE)
    with checking("bounds", "initialized"):
        x, y = Operand(driver, layout, "int8", 1), Operand(driver, layout, "int8", 2)
        one_row = Operand(driver, Layout((row,)), "int8", 3)
        one_column = Operand(driver, Layout((shape[-1], 1)), "int8", 4)
        for other in (y, one_row, one_column):
            planned, result = run(driver, "add", x, other)
            same(result, x.array + other.array)
            assert planned.launches[0].kernel.name == "elementwise_rows"
        planned, result = run(driver, "add", x, -3)
        same(result, x.array - np.int8(3))
        planned, result = convert(driver, x, "float64", layout)
        same(result, x.array.astype(np.float64))
        assert planned.launches[0].kernel.name == "elementwise_rows"


@needs_compiler
def test_every_rank(driver):
    """Rows, and single elements, of rank 1 to 6."""
    with checking("bounds", "initialized"):
        for rank in range(1, 7):
            for row, step in ((32, 1), (3, 2)):
                whole = Layout.row_major((*[4] * (rank - 1), row * step + 16))
                part = whole.slice((*[slice(0, 3)] * (rank - 1), slice(0, row * step, step)))
                x, y = (Operand(driver, part, "int8", seed) for seed in (1, 2))
                planned, result = run(driver, "add", x, y)
                same(result, x.array + y.array)
                if rank > 1:
                    name = "rows" if step == 1 else "strided"
                    shown = rank if rank <= 4 else 0
                    symbol = planned.launches[0].kernel.symbol
                    assert symbol.startswith(f"elementwise_{name}_{shown}_int32_t")


# ---- Padding


def test_padding_that_no_launch_can_hold():
    layout = Layout.padded((1,) * 6, (2,) * 6, None, PaddingValue.ZERO)
    plan = operation("exp").plan(spec(layout, "float64"))
    planned = plan_elementwise(plan, [ALIGNED] * 2, bytes(8))
    assert (planned.case, len(planned.launches)) == ("flat", 7)


# ---- Overlap


LINE = Layout.row_major((16,))
SQUARE = Layout.row_major((4, 4))


@pytest.mark.parametrize(
    ("destination", "to", "operand", "from_", "expected"),
    [
        (SQUARE, 0, SQUARE, 0, False),  # exactly where it is
        # one element further
        (LINE.slice((slice(1, None),)), 4, LINE.slice((slice(0, 15),)), 0, True),
        # behind its end
        (LINE, 0, LINE, 64, False),
        (LINE, 0, LINE, 60, True),
        (LINE, 64, LINE, 0, False),
        # rows of two between single elements
        (Layout((3,), (4,)), 0, Layout((3, 2), (4, 1)), 12, True),
        # transposed, turned round, repeated
        (SQUARE, 0, SQUARE.permute((1, 0)), 0, True),
        (LINE, 0, LINE.flip((0,)), 0, True),
        (SQUARE, 0, SQUARE.slice((0,)), 0, True),
        # every other element, of either half; and one column of several
        (Layout((8,), (2,)), 0, Layout((8,), (2,)), 4, False),
        (Layout((8,), (2,)), 0, Layout((8,), (2,)), 8, True),
        (Layout((4,), (4,)), 0, Layout((4,), (4,)), 12, False),
        (Layout((4, 3), (4, 1)), 0, Layout((4, 1), (4, 1)), 12, False),
        (Layout((4, 3), (4, 1)), 0, Layout((4, 1), (4, 1)), 8, True),
        (Layout((0,)), 0, Layout((0,)), 0, False),  # nothing to overlap
    ],
)
def test_operands_that_must_be_copied_first(destination, to, operand, from_, expected):
    written, read = spec(destination, "float32"), spec(operand, "float32")
    assert overlaps_at_other_elements(written, 1000 + to, read, 1000 + from_) == expected


def test_only_exact_overlap_of_equal_sizes_is_safe():
    assert overlaps_at_other_elements(spec(LINE, "float32"), 0, spec(LINE, "float16"), 0)
    assert not overlaps_at_other_elements(spec(LINE, "float32"), 0, spec(LINE, "int32"), 0)


# ---- Coalescing


def run_counted(driver, kernel, name, *operands):
    with checking("bounds", "count") as record:
        planned, _ = run(driver, name, *operands)
    assert planned.launches[0].kernel.name == kernel
    return record.total_of_kernel(kernel)


@needs_compiler
@pytest.mark.parametrize(("dtype", "nbytes"), [("int8", 16), ("float16", 16), ("complex128", 16)])
def test_flat_is_coalesced(driver, dtype, nbytes):
    x, y = (Operand(driver, Layout((16384,)), dtype, seed) for seed in (1, 2))
    counts = run_counted(driver, "elementwise_flat", "add", x, y)
    assert counts.sector_efficiency_read == counts.sector_efficiency_write == 1.0
    assert counts.lane_activity == 1.0
    assert counts.bytes_per_access == nbytes
    assert counts.loads.bytes == 2 * counts.stores.bytes == 2 * 16384 * x.dtype.itemsize


def counted_in_place(driver, layout, other, dtype):
    """In place, so that the result has such rows too."""
    x, y = Operand(driver, layout, dtype, 1), Operand(driver, other, dtype, 2)
    plan = operation("add").plan(x.spec, y.spec).with_destination(x.spec)
    planned = plan_elementwise(plan, [ALIGNED] * 3)
    with checking("bounds", "count") as record:
        bind_launches(planned, 0)([x.pointer, x.pointer, y.pointer])
    assert planned.case == "rows"
    return record.total_of_kernel("elementwise_rows")


@needs_compiler
@pytest.mark.parametrize(
    ("layout", "other", "dtype"),
    [
        (Layout((40, 512), (528, 1)), Layout((512,)), "int8"),
        (Layout((40, 512), (528, 1)), Layout((40, 1)), "int8"),
        (Layout((40, 64), (72, 1)), Layout((64,)), "float64"),
        (Layout((20, 8, 64), (600, 72, 1)), Layout((8, 64)), "float64"),
    ],
)
def test_rows_of_512_bytes_are_coalesced(driver, layout, other, dtype):
    counts = counted_in_place(driver, layout, other, dtype)
    assert_coalesced(counts)


@needs_compiler
@pytest.mark.parametrize("row", [517, 1031, 4099])
def test_the_last_elements_of_rows_leave_few_lanes_idle(driver, row):
    layout = Layout((40, row), (row // 16 * 16 + 16, 1))
    counts = counted_in_place(driver, layout, Layout((row,)), "int8")
    assert_coalesced(counts)


# ---- NVRTC


def kernels_to_compile():
    """One of each kind of walk, the greatest functors, conversions, and all that take 16 bits."""
    for name, dtypes in [("add", ["int8"] * 2), ("where", ["bool"] + ["complex128"] * 2)]:
        orders = Layout.row_major((300, 400)), Layout.column_major((300, 400))
        specs = [spec(orders[n > 0], dtype) for n, dtype in enumerate(dtypes)]
        plan = operation(name).plan(*specs)
        planned = plan_elementwise(plan, [ALIGNED] * (1 + len(specs)))
        assert planned.launches[0].kernel.name == "elementwise_tiles"
        yield planned.launches[0].kernel
    rows = Layout((64, 128), (256, 1))
    odd = Layout((3, 5, 7), (1000, 150, 20))
    huge = Layout((3, 2**16, 2**16))
    for name, layout, operands in [
        ("add", LINE, ["float32"] * 2),
        ("pow", LINE, ["complex128"] * 2),
        ("pow", odd, ["complex128"] * 2),
        ("asin", rows, ["complex64"]),
        ("tan", LINE, ["float16"]),
        ("floor_divide", rows, ["int8"] * 2),
        ("multiply", DEEP, ["bfloat16", "int64"]),
        ("less", huge.slice((slice(0, 2), slice(0, 7))), ["int64", "uint64"]),
        ("where", rows, ["bool", "uint8", "uint16"]),
        ("clip", odd, ["float64"] * 3),
    ]:
        plan = operation(name).plan(*[spec(layout, dtype) for dtype in operands])
        yield plan_elementwise(plan, [ALIGNED] * (1 + len(operands))).launches[0].kernel
    for source, dtype in [("float64", "bfloat16"), ("bool", "complex128")]:
        yield (plan_conversion(spec(rows, dtype), spec(rows, source), [16, 16]).launches[0].kernel)


@pytest.mark.parametrize("architecture", [75, 90])
def test_a_sample_is_compiled_without_spills(architecture):
    assert_no_spills(kernels_to_compile(), architecture, registers=128)
