"""Tensor maps: what TMA would read by the documents, and each rule of CUDA's broken alone.

CUDA driver API, Tensor Map Object Management: the element at coordinates c is at the address of the
first element plus c[0] elements and c[i] times globalStrides[i - 1] bytes; outside of globalDim it
is filled in with zero; of a box every elementStrides[i]-th is taken, ceil(boxDim / elementStrides).
"""

import contextlib
import enum
import itertools
import pickle
import random
import sys
import types

import ml_dtypes
import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout.layout import Layout, PaddingValue, tensor_map
from tensorlayout.layout.tensor_map import TensorMap
from tensorlayout.support.lazy_imports import import_lazily

BITS = {"UINT8": 8, "UINT16": 16, "UINT32": 32, "UINT64": 64, "16U4_ALIGN8B": 4, "16U6_ALIGN16B": 6}
TYPES = {1: "UINT8", 2: "UINT16", 4: "UINT32", 8: "UINT64"}


def box_read(result, bits, at):
    """The coordinates of each element of a box, and the bit it begins at; None outside the map."""
    steps = result.element_strides
    counts = [-(-box // step) for box, step in zip(result.box_dims, steps, strict=True)]
    for place in itertools.product(*map(range, counts)):
        c = [a + k * step for a, k, step in zip(at, place, steps, strict=True)]
        start = 8 * result.byte_offset + c[0] * bits
        start += sum(8 * i * s for i, s in zip(c[1:], result.global_strides, strict=True))
        yield c, start if inside(c, result.global_dims) else None


def inside(index, shape):
    return all(0 <= i < n for i, n in zip(index, shape, strict=True))


def index_in(layout, result, coordinates):
    """The index of the layout that the coordinates of a map stand for, digit by digit."""
    index = [0] * layout.ndim
    for (dim, part), c in zip(result.axes, coordinates, strict=True):
        unit = 1
        for extent, _ in layout.parts[dim][part + 1 :]:
            unit *= extent
        index[dim] += c * unit
    return tuple(index)


def check(layout, box, kind, starts, **options):
    """Boxes from each start hold the elements of the layout, each index in a box once, or zeros."""
    results, bits = layout.tensor_map(box, kind, **options), BITS[kind]
    steps = options.get("element_strides", (1,) * layout.ndim)
    for start in starts:
        at = results.coordinates(start)
        assert index_in(layout, results, at) == tuple(start)
        seen = set()
        for c, bit in box_read(results, bits, at):
            index = index_in(layout, results, c)
            if inside(index, layout.shape):
                assert bit == layout.offset_of(index) * bits, (layout, box, start, index)
            elif bit is not None:
                assert layout.padding_value is PaddingValue.ZERO
                assert layout.index_of(bit // bits) is None, (layout, box, start, index)
            seen.add(index)
        ranges = (range(i, i + n, s) for i, n, s in zip(start, box, steps, strict=True))
        assert seen == {*itertools.product(*ranges)}
    return results


def drawn(random):
    """A strided layout that TMA can take, its kind, a box and steps."""
    size = random.choice([1, 2, 4, 8])
    group = 16 // size
    rank = random.randint(1, 5)
    order = random.sample(range(rank), rank)
    shape = [random.randint(1, 5) for _ in range(rank)]
    shape[order[0]] = random.randint(1, 2 * group + 3)
    padded = [n + random.choice([0, 0, 1]) for n in shape]
    padded[order[0]] = -(-shape[order[0]] // group) * group
    layout = Layout.padded(shape, padded, order, "ZERO")
    if random.random() < 0.5:
        key = [slice(random.randrange(n), None, random.choice([1, 2])) for n in shape]
        # CUDA has it that a stride includes what is left of the last step.
        key = [k if n % 2 == 0 else slice(k.start, None) for k, n in zip(key, padded, strict=True)]
        key[order[0]] = slice(random.choice([0, 0, 1]), None)
        view = layout.slice(tuple(key))
        layout = view if view.size else layout
    layout = layout.moved(random.choice([0, 7]))
    steps = [random.randint(1, 3) for _ in shape]
    steps[order[0]] = 1
    box = [random.randint(1, 4) for _ in shape]
    box[order[0]] = group * random.randint(1, 2)
    return layout, TYPES[size], box, steps


@pytest.mark.parametrize("seed", range(150))
def test_boxes_of_strided_layouts_hold_their_elements(seed):
    dice = random.Random(seed)
    layout, kind, box, steps = drawn(dice)
    starts = [[0] * layout.ndim]
    starts += [[dice.randint(-3, n + 1) for n in layout.shape] for _ in range(4)]
    result = check(layout, box, kind, starts, element_strides=steps)
    assert [dim for dim, _ in result.axes] == [*layout.minor_to_major]


TILES = [
    # whole tiles, all of them in a box; some; a share of one
    (Layout.tiled((16, 16), [(8, 8)]), [(16, 16), (8, 8), (8, 16), (2, 4), (1, 8)], "UINT32"),
    # tails, which hold zeros
    (Layout.tiled((13, 21), [(4, 8)], None, "ZERO"), [(4, 8), (8, 16), (2, 8), (16, 32)], "UINT16"),
    # columns first; one dimension in tiles; tiles in tiles
    (Layout.tiled((16, 24), [(8, 8)], (0, 1)), [(8, 8), (8, 4)], "UINT64"),
    (Layout.tiled((3, 40), [(16,)], None, "ZERO"), [(2, 16), (3, 48)], "UINT8"),
    (Layout.tiled((6, 32), [(2, 16), (2, 1)]), [(2, 16), (2, 8)], "UINT64"),
    (Layout.tiled((2, 10, 2, 2), [(8, 1, 1)], None, "ZERO"), [(1, 8, 2, 1), (2, 16, 2, 2)],
     "UINT16"),
    # one tile, mostly of padding
    (Layout.tiled((3, 5), [(8, 16)], None, "ZERO"), [(8, 16), (4, 4)], "UINT32"),
    # a view of whole tiles
    (Layout.tiled((16, 32), [(8, 8)]).slice((slice(8, None), slice(0, 16))), [(8, 8)], "UINT32"),
]  # fmt: skip


@pytest.mark.parametrize(("layout", "boxes", "kind"), TILES, ids=lambda x: str(x)[:40])
def test_boxes_of_tiles_hold_their_elements(layout, boxes, kind):
    for box in boxes:
        # a box begins where one of its size does
        most = [n // b + 1 for n, b in zip(layout.shape, box, strict=True)]
        starts = itertools.product(*(range(-b, m * b, b) for m, b in zip(most, box, strict=True)))
        check(layout, box, kind, starts)


def test_packed_types_are_counted_in_elements_of_their_bits():
    layout = Layout.padded((3, 40), (3, 64), None, "ZERO")
    result = check(layout, (2, 32), "16U4_ALIGN8B", [(0, 0), (1, 8), (2, -4)])
    assert result.global_strides == (32,)
    view = Layout.row_major((4, 256)).slice((slice(1, None), slice(0, 128)))
    result = check(view, (3, 128), "16U6_ALIGN16B", [(0, 0), (1, 0)])
    assert (result.global_strides, result.byte_offset) == ((192,), 192)


def test_a_matrix():
    result = Layout.row_major((1000, 512)).tensor_map(
        (64, 32), tl.bfloat16, swizzle="64B", l2_promotion="128B", oob_fill="NaN"
    )
    assert result == TensorMap(
        data_type="CU_TENSOR_MAP_DATA_TYPE_BFLOAT16",
        global_dims=(512, 1000),
        global_strides=(1024,),
        box_dims=(32, 64),
        element_strides=(1, 1),
        interleave="CU_TENSOR_MAP_INTERLEAVE_NONE",
        swizzle="CU_TENSOR_MAP_SWIZZLE_64B",
        l2_promotion="CU_TENSOR_MAP_L2_PROMOTION_L2_128B",
        oob_fill="CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA",
        byte_offset=0,
        axes=((1, 0), (0, 0)),
    )
    assert (result.rank, result.alignment) == (2, 16)
    assert pickle.loads(pickle.dumps(result)) == result
    assert len({result, pickle.loads(pickle.dumps(result))}) == 1
    with pytest.raises(AttributeError, match="cannot change 'box_dims'"):
        result.box_dims = (1, 1)


def test_tiles_of_eight_by_128():
    result = Layout.tiled((64, 512), [(8, 128)]).tensor_map((16, 256), "float32")
    assert result.global_dims == (128, 8, 4, 8)
    assert result.global_strides == (512, 4096, 16384)
    assert result.box_dims == (128, 8, 2, 2)
    assert result.axes == ((1, 1), (0, 1), (1, 0), (0, 0))
    assert result.coordinates((24, 300)) == (44, 0, 2, 3)


def test_dimensions_of_size_1_take_any_stride():
    """CUDA has to be given one all the same: the next that its rules allow."""
    result = Layout((1, 8, 5), (7, 8, 1), minor_to_major=(2, 1, 0)).tensor_map((1, 8, 4), 4)
    assert (result.global_dims, result.global_strides) == ((5, 8, 1), (32, 256))
    result = Layout((1, 5), (3, 1), minor_to_major=(1, 0)).tensor_map((1, 4), 4)
    assert result.global_strides == (32,)  # five elements take 20 bytes


def test_interleaved():
    result = Layout.row_major((2, 4, 4, 16)).tensor_map(
        (1, 2, 2, 16), "float16", interleave="32B", swizzle="32b"
    )
    assert result.alignment == 32
    assert result.interleave == "CU_TENSOR_MAP_INTERLEAVE_32B"


NAMES = [
    *((name, name.upper()) for name in ("uint8", "uint16", "uint32", "int32", "uint64", "int64")),
    *((name, name.upper()) for name in ("float16", "bfloat16", "float32", "float64")),
    *(("bool", "UINT8"), ("int8", "UINT8"), ("int16", "UINT16")),
    *(("float8_e4m3fn", "UINT8"), ("float8_e5m2", "UINT8"), ("float8_e8m0fnu", "UINT8")),
    *(("TFLOAT32", "TFLOAT32"), ("FLOAT32_FTZ", "FLOAT32_FTZ")),
    *(("tfloat32_ftz", "TFLOAT32_FTZ"), ("CU_TENSOR_MAP_DATA_TYPE_INT32", "INT32")),
    *((1, "UINT8"), (2, "UINT16"), (4, "UINT32"), (8, "UINT64")),
    *((np.float32, "FLOAT32"), (np.dtype("int16"), "UINT16"), (tl.bfloat16, "BFLOAT16")),
    *((bool, "UINT8"), (np.int64(4), "UINT32")),
    *((ml_dtypes.float8_e4m3fn, "UINT8"), (np.dtype(ml_dtypes.float8_e4m3fn), "UINT8")),
]


@pytest.mark.parametrize(("dtype", "name"), NAMES, ids=str)
def test_names_of_types(dtype, name):
    result = Layout.row_major((64,)).tensor_map((32,), dtype)
    assert result.data_type == f"CU_TENSOR_MAP_DATA_TYPE_{name}"


ROWS = Layout.row_major((64, 64))
CUBE = Layout.row_major((4, 64, 64))
SPREAD = {"dtype": "16U4_ALIGN16B", "layout": Layout.row_major((64, 256)), "box": (8, 128)}
SIXES = SPREAD | {"dtype": "16U6_ALIGN16B"}

# What breaks one rule, what of it does not, and the error.
RULES = [
    # tensorRank
    ({"layout": Layout.row_major(()), "box": ()}, {"layout": Layout.row_major((64,)), "box": (4,)},
     "tensorRank: must be at least 1, got 0"),
    ({"layout": Layout.row_major((2,) * 5 + (4,)), "box": (1,) * 5 + (4,)},
     {"layout": Layout.row_major((2,) * 4 + (4,)), "box": (1,) * 4 + (4,)},
     "tensorRank: must be at most 5, got 6 for (2,2,2,2,2,4):(64,32,16,8,4,1); a part"),
    ({"layout": Layout.tiled((8, 8, 8), [(4, 4, 4)]), "box": (4, 4, 4)},
     {"layout": Layout.tiled((8, 8, 8), [(4, 4)]), "box": (4, 4, 4)},
     "tensorRank: must be at most 5, got 6"),
    ({"interleave": "16B"}, {"interleave": "16B", "layout": CUBE, "box": (1, 8, 4)},
     "tensorRank: must be at least 3 with an interleave, got 2"),
    # globalDim
    ({"layout": Layout.row_major((0, 64))}, {}, "globalDim: must not be 0, got shape (0, 64)"),
    ({"layout": Layout.row_major((2**32 + 1,)), "box": (4,)},
     {"layout": Layout.row_major((2**32,)), "box": (4,)},
     "globalDim: must be at most 2**32, got 4294967297 for dimension 0"),
    (SPREAD | {"layout": Layout.padded((64, 250), (64, 256))}, SPREAD,
     "globalDim: the fastest must be a multiple of 128 for 16U4_ALIGN16B, got 250 for dimension 1"),
    ({"dtype": "16U4_ALIGN8B", "layout": Layout.padded((8, 31), (8, 32)), "box": (1, 32)},
     {"dtype": "16U4_ALIGN8B", "layout": Layout.padded((8, 30), (8, 32)), "box": (1, 32)},
     "globalDim: the fastest must be a multiple of 2 for 16U4_ALIGN8B, got 31"),
    ({"layout": Layout.tiled((9, 64), [(8, 8)])},
     {"layout": Layout.tiled((9, 64), [(8, 8)], padding_value="ZERO")},
     "globalDim: a tile that ends early is copied whole; with padding_value=ZERO"),
    # globalStrides
    ({"layout": Layout((64, 64), (0, 1))}, {},
     "globalStrides: must be positive, got 0 for dimension 0: a broadcast dimension repeats"),
    ({"layout": ROWS.flip((0,))}, {},
     "globalStrides: must be positive, got -64 for dimension 0: elements run backwards"),
    ({"layout": Layout((64, 32), (64, 2))}, {"layout": Layout((64, 32), (64, 1))},
     "globalStrides: the fastest must be one element, got 2 elements for dimension 1"),
    ({"layout": Layout((64, 32), (66, 1))}, {"layout": Layout((64, 32), (68, 1))},
     "globalStrides: must be multiples of 16 bytes, got 264 bytes for dimension 0"),
    ({"layout": Layout((4, 8, 16), (32 * 18, 36, 1)), "box": (1, 8, 8), "dtype": "float16",
      "interleave": "32B", "swizzle": "32B"},
     {"layout": Layout((4, 8, 16), (32 * 18, 32, 1)), "box": (1, 8, 8), "dtype": "float16",
      "interleave": "32B", "swizzle": "32B"},
     "globalStrides: must be multiples of 32 bytes, got 72 bytes for dimension 1"),
    (SPREAD | {"layout": Layout((64, 128), (160, 1))},
     SPREAD | {"layout": Layout((64, 128), (192, 1))},
     "globalStrides: must be multiples of 32 bytes, got 80 bytes for dimension 0"),
    ({"layout": Layout((2, 64), (2**38, 1))}, {"layout": Layout((2, 64), (2**38 - 4, 1))},
     "globalStrides: must be less than 2**40 bytes, got 1099511627776 bytes for dimension 0"),
    ({"layout": Layout((64, 64), (32, 1))}, {"layout": Layout((64, 32), (32, 1))},
     "globalStrides: must be at least the 256 bytes of the faster dimensions, got 128 bytes"),
    ({"layout": Layout((2, 2, 32), (96, 64, 1)), "box": (1, 1, 4)},
     {"layout": Layout((2, 2, 32), (128, 64, 1)), "box": (1, 1, 4)},
     "globalStrides: must be at least the 512 bytes of the faster dimensions, got 384 bytes"),
    ({"dtype": "16U4_ALIGN8B", "layout": Layout((8, 32), (33, 1)), "box": (1, 32)},
     {"dtype": "16U4_ALIGN8B", "layout": Layout((8, 32), (64, 1)), "box": (1, 32)},
     "globalStrides: must be whole bytes, got 33 elements of 16U4_ALIGN8B for dimension 0"),
    # globalAddress
    ({"dtype": "16U4_ALIGN8B", "layout": Layout((8, 32), (32, 1), offset=1), "box": (1, 32)},
     {"dtype": "16U4_ALIGN8B", "layout": Layout((8, 32), (32, 1), offset=2), "box": (1, 32)},
     "globalAddress: must be whole bytes, got 1 elements of 16U4_ALIGN8B for the offset"),
    # boxDim
    ({"box": (0, 4)}, {"box": (1, 4)}, "boxDim: must be from 1 to 256, got 0 for dimension 0"),
    ({"box": (257, 4)}, {"box": (256, 4)}, "boxDim: must be from 1 to 256, got 257"),
    ({"box": (8, 6)}, {"box": (8, 8)},
     "boxDim: the fastest must take a multiple of 16 bytes without an interleave, got 6 of FLOAT32"
     ", 24 bytes"),
    (SPREAD | {"box": (8, 64)}, SPREAD,
     "boxDim: the fastest must be 128 for 16U4_ALIGN16B, got 64"),
    *(({"swizzle": f"{n}B", "box": (8, n // 4 + 4)}, {"swizzle": f"{n}B", "box": (8, n // 4)},
       f"boxDim: the fastest must take at most as many bytes as the swizzle {n}B, got {n + 16}")
      for n in (32, 64, 128)),
    ({"swizzle": "128B_ATOM_32B", "box": (8, 36)}, {"swizzle": "128B_ATOM_64B", "box": (8, 32)},
     "boxDim: the fastest must take at most as many bytes as the swizzle 128B_ATOM_32B, got 144"),
    ({"layout": Layout.tiled((64, 64), [(8, 8)]), "box": (12, 8)},
     {"layout": Layout.tiled((64, 64), [(8, 8)]), "box": (16, 8)},
     "boxDim: must be a multiple of the tiles of 8, or divide them, got 12 for dimension 0"),
    # elementStrides
    ({"element_strides": (0, 1)}, {"element_strides": (1, 1)},
     "elementStrides: must be from 1 to 8, got 0 for dimension 0"),
    ({"element_strides": (9, 1)}, {"element_strides": (8, 1)},
     "elementStrides: must be from 1 to 8, got 9 for dimension 0"),
    ({"element_strides": (1, 2)}, {"element_strides": (2, 1)},
     "elementStrides: the fastest must be 1 without an interleave, got 2"),
    ({"layout": Layout.tiled((64, 64), [(8, 8)]), "element_strides": (2, 1)}, {},
     "elementStrides: must be 1 along tiles, got 2 for dimension 0"),
    # interleave, swizzle
    ({"layout": CUBE, "box": (1, 8, 4), "interleave": "32B"},
     {"layout": CUBE, "box": (1, 8, 4), "interleave": "32B", "swizzle": "32B"},
     "swizzle: must be 32B with an interleave of 32B, got NONE"),
    (SIXES | {"layout": Layout.row_major((4, 64, 256)), "box": (1, 8, 128), "interleave": "16B"},
     SIXES | {"layout": Layout.row_major((4, 64, 256)), "box": (1, 8, 128)},
     "interleave: must be NONE for 16U6_ALIGN16B, got 16B"),
    *((base | {"swizzle": bad}, base | {"swizzle": good}, f"swizzle: must be {listed} for ")
      for base, bads, good, listed in [
          (SPREAD, ("32B", "64B", "128B_ATOM_64B", "128B_ATOM_32B_FLIP_8B"), "128B_ATOM_32B",
           "NONE, 128B, 128B_ATOM_32B"),
          (SIXES, ("32B", "64B", "128B_ATOM_32B_FLIP_8B"), "128B_ATOM_64B",
           "NONE, 128B, 128B_ATOM_32B, 128B_ATOM_64B")]
      for bad in bads),
    # oobFill
    *(({"dtype": kind, "oob_fill": "NAN", "box": box}, {"dtype": kind, "box": box},
       "oobFill: must be NONE but for types of floating point, got NAN_REQUEST_ZERO_FMA for"
       f" {name}")
      for kind, name, box in [("int32", "INT32", (8, 4)), ("float8_e5m2", "UINT8", (8, 16)),
                              ("16U4_ALIGN8B", "16U4_ALIGN8B", (8, 32))]),
    # tensorDataType
    ({"dtype": "int4"}, {"dtype": 4}, "1, 2, 4 or 8, moves any others, got 'int4'"),
    ({"dtype": 16}, {"dtype": 8}, "tensorDataType: must have 1, 2, 4 or 8 bytes, got 16"),
    ({"dtype": np.dtype(">f4")}, {"dtype": np.dtype("=f4")},
     "tensorDataType: must have the order of bytes of the GPU, got dtype('>f4')"),
    # arguments
    ({"box": (4,)}, {"box": (1, 4)}, "box: must be the 2 elements, got 1"),
    ({"element_strides": (1,)}, {}, "element_strides: must be the 2 elements, got 1"),
    *(({option: "128"}, {option: "none"}, f"{option}: must be NONE, ")
      for option in ("interleave", "swizzle", "l2_promotion", "oob_fill")),
]  # fmt: skip


def map_of(changes):
    argument = {"layout": ROWS, "box": (8, 8), "dtype": "float32"} | changes
    layout = argument.pop("layout")
    return layout.tensor_map(argument.pop("box"), argument.pop("dtype"), **argument)


@pytest.mark.parametrize(("broken", "kept", "message"), RULES, ids=[m[:60] for *_, m in RULES])
def test_each_rule_alone(broken, kept, message):
    assert map_of(kept).rank >= 1
    with pytest.raises(ValueError, match=r"\w+: ") as error:
        map_of(broken)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"box": 4}, "box: must be a sequence of integers, got 4"),
        ({"box": (4.0, 4)}, "box: must be a sequence of integers"),
        ({"element_strides": (1, "2")}, "element_strides: must be a sequence of integers"),
        ({"dtype": None}, "dtype: must be an integer, got None"),
        ({"dtype": 4.0}, "dtype: must be an integer, got 4.0"),
    ],
)
def test_what_is_no_integer(changes, message):
    with pytest.raises(TypeError, match=message):
        map_of(changes)


def test_coordinates_of_another_rank():
    with pytest.raises(ValueError, match="index: must be the 2 elements, got 1"):
        map_of({}).coordinates((1,))
    with pytest.raises(TypeError, match="index: must be a sequence of integers"):
        map_of({}).coordinates((1, 2.0))


def stand_in(answer="CUDA_SUCCESS"):
    """A module with the names of cuda-python, whose call gives back what it was given."""
    names = {
        "CUtensorMapDataType": ("DATA_TYPE_", ("UINT8", "FLOAT32")),
        "CUtensorMapInterleave": ("INTERLEAVE_", ("NONE", "16B", "32B")),
        "CUtensorMapSwizzle": ("SWIZZLE_", ("NONE", "32B", "64B", "128B")),
        "CUtensorMapL2promotion": ("L2_PROMOTION_", ("NONE", "L2_64B", "L2_128B", "L2_256B")),
        "CUtensorMapFloatOOBfill": ("FLOAT_OOB_FILL_", ("NONE", "NAN_REQUEST_ZERO_FMA")),
    }
    kinds = {
        kind: enum.Enum(kind, [f"CU_TENSOR_MAP_{word}{name}" for name in members])
        for kind, (word, members) in names.items()
    }
    results = enum.Enum("CUresult", ["CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE"])
    return types.SimpleNamespace(
        **kinds,
        CUresult=results,
        cuuint64_t=lambda n: ("64 bits", n),
        cuuint32_t=lambda n: ("32 bits", n),
        cuTensorMapEncodeTiled=lambda *arguments: (results[answer], arguments),
    )


@pytest.fixture
def installed(monkeypatch):
    """Puts a module in the place of cuda-python's."""

    def install(module):
        names = ("cuda", "cuda.bindings", "cuda.bindings.driver")
        for name in names[:2]:
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        monkeypatch.setitem(sys.modules, names[2], module)
        import_lazily.cache_clear()

    yield install
    import_lazily.cache_clear()


def test_encoding(installed):
    module = stand_in()
    installed(module)
    result = map_of({"layout": ROWS.moved(4), "swizzle": "32B", "l2_promotion": "64B"})
    assert result.encode(2**20) == (
        module.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        2,
        2**20 + 16,
        [("64 bits", 64), ("64 bits", 64)],
        [("64 bits", 256)],
        [("32 bits", 8), ("32 bits", 8)],
        [("32 bits", 1), ("32 bits", 1)],
        module.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        module.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_32B,
        module.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        module.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    line = Layout.row_major((64,)).tensor_map((16,), "uint8").encode(16)
    # An empty list becomes a null pointer, so that one of length 1 stands for no strides.
    assert line[1:5] == (1, 16, [("64 bits", 64)], [("64 bits", 0)])


CUBES = {"layout": CUBE, "box": (1, 8, 8), "interleave": "32B", "swizzle": "32B"}
REFUSED = "CUDA_ERROR_INVALID_VALUE"


@pytest.mark.parametrize(
    ("module", "changes", "address", "error", "message"),
    [
        (stand_in(), {}, 0, ValueError, "globalAddress: must be positive and a multiple of 16 byt"),
        (stand_in(), {}, -16, ValueError, "globalAddress: must be positive"),
        (stand_in(), {}, 2**20 + 4, ValueError, "globalAddress: .* a multiple of 16 byt"),
        (stand_in(), CUBES, 2**20 + 16, ValueError, "globalAddress: .* a multiple of 32 byt"),
        (stand_in(), {}, 1.5, TypeError, r"address: must be an integer, got 1\.5"),
        (stand_in(), SPREAD, 2**20, ValueError, r"no CUtensorMapDataType\.CU_TENSOR_MAP_DATA_"),
        (stand_in(REFUSED), {}, 2**20, RuntimeError, f"cuTensorMapEncodeTiled gives {REFUSED}"),
        (None, {}, 2**20, ImportError, "encode: needs cuda-python, .* pip install cuda-bindings"),
    ],
)
def test_what_cannot_be_encoded(installed, module, changes, address, error, message):
    installed(module)
    with pytest.raises(error, match=message):
        map_of(changes).encode(address)


def test_the_first_element_is_what_is_aligned(installed):
    installed(stand_in())
    assert (
        map_of({"layout": Layout((64, 32), (64, 1), offset=3)}).encode(2**20 + 4)[2] == 2**20 + 16
    )
    assert map_of(CUBES).encode(2**20)[2] == 2**20
    assert map_of(SPREAD).alignment == map_of(SIXES).alignment == 32


def test_with_cuda_python():
    """Its own function takes all arguments, and has all names; without a driver it ends there."""
    driver = pytest.importorskip("cuda.bindings.driver", reason="optional: cuda-bindings")
    for _, kept, _ in RULES:
        with contextlib.suppress(RuntimeError):
            result = map_of(kept)
            result.encode(2**20 - result.byte_offset)
    kinds = {
        "CUtensorMapInterleave": tensor_map._CHOICES["interleave"],
        "CUtensorMapSwizzle": tensor_map._CHOICES["swizzle"],
        "CUtensorMapL2promotion": tensor_map._CHOICES["l2_promotion"],
        "CUtensorMapFloatOOBfill": tensor_map._CHOICES["oob_fill"],
        "CUtensorMapDataType": (tensor_map._TYPE, [*tensor_map._BITS]),
    }
    for kind, (prefix, names) in kinds.items():
        assert {member.name for member in getattr(driver, kind)} >= {prefix + n for n in names}
    member = driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_64B
    assert map_of({"swizzle": member}).swizzle == member.name
    member = driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_INT32
    assert map_of({"dtype": member}).data_type == member.name
