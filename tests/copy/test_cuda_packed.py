"""Packed copies on CUDA: how many launches, of which kernels, and the sectors that they touch."""

import pytest
from simulated import needs_compiler, simulator

import tensorlayout as tl
from tensorlayout.cuda.copy import plan_move
from tensorlayout.cuda.copy.packed import plan_pack, plan_unpack
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.devices import Device
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.tensor import TensorSpec

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def driver():
    with simulator() as result:
        yield result


def planned(source, result, dtype="uint4", padding=None, whole=True, alignments=(32, 32)):
    """The case and the kernels of a copy between layouts, each packed if it has bits."""
    kind, cuda = tl.asarray(0, dtype=dtype).dtype, Device("cuda", 0)
    specs = [TensorSpec(kind, layout, cuda) for layout in (source, result)]
    actual = plan_move(*specs, alignments, padding, owns_all_bytes=whole)
    return actual.case, [launch.kernel.name for launch in actual.launches]


LARGE = (999, 1001)
ROWS = Layout.row_major(LARGE)
TILES = Layout.tiled(LARGE, [(8, 128)], padding_value=PaddingValue.ONE)
PADDED = Layout.padded(LARGE, (999, 1004), padding_value=PaddingValue.ONE)
SHORT_RUNS = Layout.tiled((9, 40), [(4, 4)])
FEW_ROWS, FEW_COLUMNS = Layout.row_major((9, 7)), Layout.column_major((9, 7))


def few(layout):
    return layout.with_slot_bits(4)


@pytest.mark.parametrize(
    ("source", "result", "case", "kernels"),
    [
        (ROWS, few(ROWS), "packed flat", ["pack_flat"]),
        (few(ROWS), ROWS, "unpacked flat", ["unpack_flat"]),
        (FEW_ROWS, few(FEW_COLUMNS), "packed", ["pack_elements"]),
        (few(FEW_COLUMNS), FEW_ROWS, "unpacked", ["unpack_elements"]),
        (few(TILES), ROWS, "unpacked runs", ["unpack_runs"]),
        (ROWS, few(TILES), "packed runs", ["pack_runs"]),
        (PADDED, few(TILES), "packed runs", ["pack_runs"]),
        (few(PADDED), ROWS, "unpacked runs", ["unpack_runs"]),
        (few(TILES), PADDED, "unpacked", ["unpack_elements"]),  # its padding is not the walk's
        # runs of four
        (few(SHORT_RUNS), Layout.row_major((9, 40)), "unpacked", ["unpack_elements"]),
        (Layout.row_major((9, 40)), few(SHORT_RUNS), "packed", ["pack_elements"]),
        (few(ROWS), TILES, "unpacked", ["unpack_elements"]),
        (few(ROWS), few(TILES), "packed", ["pack_elements"]),
        # other orders of many elements would cost a sector for each
        (ROWS, few(Layout.column_major(LARGE)), "two moves", ["copy_tiles", "pack_flat"]),
        (few(ROWS), Layout.column_major(LARGE), "two moves", ["unpack_flat", "copy_tiles"]),
        # tails of the source that the destination has no slots for
        (
            Layout.tiled((9, 7), [(2, 2)]),
            few(Layout.row_major((9, 7))),
            "two moves",
            ["copy_bounded", "pack_flat"],
        ),
    ],
)  # fmt: skip
def test_launches(source, result, case, kernels):
    assert planned(source, result, padding=b"\1") == (case, kernels)


def test_padding_is_written_in_the_same_launch():
    padded = Layout.padded((9, 7), (11, 8), padding_value=PaddingValue.ONE)
    assert planned(Layout.row_major((9, 7)), few(padded), padding=b"\1")[1] == ["pack_elements"]
    assert planned(few(Layout.row_major((9, 7))), padded, padding=b"\1")[1] == ["unpack_elements"]


def test_shared_bytes_are_read_and_packed_again():
    every_second = few(Layout((9,), (2,)))
    names = ["unpack_flat", "copy_strided", "pack_flat"]
    assert planned(Layout((9,)), every_second, whole=False) == ("in its bytes", names)
    # an odd number of elements leaves bits of another's
    assert planned(Layout((9,)), few(Layout((9,))), whole=False) == ("packed flat", ["pack_flat"])


@pytest.mark.parametrize("bits", [1, 2, 4, 6])
@pytest.mark.parametrize("alignments", [(1, 32), (32, 1), (1, 1), (2, 16), (8, 16)])
def test_any_alignment_has_a_launch(bits, alignments):
    count = Layout((77,))
    slots = count.with_slot_bits(bits)
    result = plan_pack(slots, count, alignments, None, True)
    assert len(result.launches) == 1
    assert len(plan_unpack(count, slots, alignments[::-1], None).launches) == 1


def test_memory_that_words_are_not_aligned_for_goes_slot_by_slot():
    for alignments in ((8, 32), (32, 4)):
        assert planned(few(TILES), ROWS, alignments=alignments)[1] == ["unpack_elements"]
    small, tiles = Layout.row_major((9, 40)), few(Layout.tiled((9, 40), [(4, 16)]))
    for alignments, name in (((32, 32), "pack_runs"), ((4, 32), "pack_elements")):
        assert planned(small, tiles, alignments=alignments)[1] == [name]
    assert planned(small, tiles, alignments=(32, 8))[1] == ["pack_elements"]


@pytest.mark.parametrize("shape", [(256, 512), (131, 513)])
def test_tiles_are_coalesced(shape):
    x = tl.zeros(shape, dtype="uint4", device="cuda")
    with checking("count") as packing:
        y = tl.to_layout(x, Layout.tiled(shape, [(8, 128)]).with_slot_bits(4))
    with checking("count") as unpacking:
        tl.to_layout(y, x.layout)
    (packed,), (unpacked,) = packing.counts.values(), unpacking.counts.values()
    for side, least in (
        (packed.loads, 0.8),
        (packed.stores, 0.98),
        (unpacked.loads, 0.7),
        (unpacked.stores, 0.98),
    ):
        assert side.ideal / side.units > least


@pytest.mark.parametrize("dtype", ["uint1", "uint2", "uint4"])
def test_runs_are_coalesced_on_both_sides(dtype):
    x = tl.zeros((100_003,), dtype=dtype, device="cuda")
    with checking("count") as packing:
        y = tl.to_layout(x, x.layout.with_slot_bits(int(dtype[-1])))
    with checking("count") as unpacking:
        tl.to_layout(y, x.layout)
    for record in (packing, unpacking):
        (counts,) = record.counts.values()
        for side in (counts.loads, counts.stores):
            assert side.ideal / side.units > 0.98
