"""Tiles: every example of the facts, two independent oracles, and layouts both ways."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from xla_facts import FACTS
from xla_shapes import tiles

from tensorlayout import xla
from tensorlayout.layout import BitPattern, Layout, PaddingValue
from tensorlayout.xla import (
    COMBINE,
    PaddedLayout2017,
    PaddingValue2017,
    PrimitiveType,
    Shape,
    XlaLayout,
    layout_util,
    parse_shape,
    shape_util,
)

EXAMPLES = FACTS["tiling"]["examples"]
TABLES = [e for e in EXAMPLES if e["linear_index"] is not None]
SPOTS = [(e, s) for e in EXAMPLES for s in e.get("spot_checks", [])]
F32 = PrimitiveType.F32
SOME = settings(max_examples=50)


def shape_text(entry):
    return entry["shape_text"]


def positions(shape):
    """The position of each element, as XLA's written rule has it."""
    result = np.zeros(shape.dimensions, np.int64)
    for index in np.ndindex(*shape.dimensions):
        result[index] = layout_util.linear_index_for_nested_tiling(shape, index)
    return result


# --- the facts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", TABLES, ids=shape_text)
def test_linear_index(entry):
    shape = parse_shape(entry["shape_text"])
    assert positions(shape).tolist() == entry["linear_index"]
    for index, slot in np.ndenumerate(np.asarray(entry["linear_index"])):
        assert layout_util.delinearize_index_for_nested_tiling(shape, int(slot)) == index


@pytest.mark.parametrize(("entry", "spot"), SPOTS, ids=lambda e: e.get("shape_text", str(e)))
def test_spot_check(entry, spot):
    shape = parse_shape(entry["shape_text"])
    slot = spot["linear_index"]
    assert layout_util.linear_index_for_nested_tiling(shape, spot["index"]) == slot
    at = layout_util.delinearize_index_for_nested_tiling(shape, slot)
    assert list(at) == spot["index"]


@pytest.mark.parametrize("entry", EXAMPLES, ids=shape_text)
def test_sizes(entry):
    shape = parse_shape(entry["shape_text"])
    assert shape_util.physical_size(shape) == entry["physical_size"]
    assert shape_util.byte_size_of(shape) == entry["byte_size_of"]
    if entry["array_size_bytes"] is None:  # stars, which XLA's own functions do not know
        with pytest.raises(ValueError, match="does not know stars"):
            shape_util.array_size(shape)
        with pytest.raises(ValueError, match="does not know stars"):
            shape_util.array_data_size(shape)
        return
    assert shape_util.array_size(shape) == entry["array_size_bytes"]
    assert shape_util.array_data_size(shape) == entry["array_data_size_bytes"]
    agrees = shape_util.physical_byte_size(shape) == entry["array_size_bytes"]
    assert agrees == entry["array_size_matches_physical_size"]


@pytest.mark.parametrize(
    "entry", [e for e in TABLES if "linear_index_by_top_level_tile_function" in e], ids=shape_text
)
def test_the_function_of_the_first_tile_alone(entry):
    shape = parse_shape(entry["shape_text"])
    result = np.zeros(shape.dimensions, np.int64)
    for index in np.ndindex(*shape.dimensions):
        result[index] = layout_util.linear_index(shape, index)
    assert result.tolist() == entry["linear_index_by_top_level_tile_function"]


UNEVEN = {
    "f32[2,3,4]{2,1,0:T(*,2,3)}",
    "f32[2,3,4]{2,1,0:T(2,*,3)}",
    "f32[2,2,3,4]{3,2,1,0:T(*,*,2,3)}",
    "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}",
}


@pytest.mark.parametrize("entry", EXAMPLES, ids=shape_text)
def test_layout_of(entry):
    shape = parse_shape(entry["shape_text"])
    if entry["shape_text"] in UNEVEN:
        with pytest.raises(ValueError, match="cannot be expressed as splits") as caught:
            xla.layout_of(shape)
        assert entry["shape_text"] in str(caught.value)
        return
    layout = xla.layout_of(shape)
    if "L(" not in entry["shape_text"]:
        assert Layout.parse(entry["shape_text"].removeprefix(entry["element_type"])) is layout
    assert layout.required_size == entry["physical_size_before_tail"]
    assert layout.size + layout.padding_size == entry["physical_size_before_tail"]
    if entry["linear_index"] is not None:
        for index, slot in np.ndenumerate(np.asarray(entry["linear_index"])):
            assert layout.offset_of(index) == slot
    for spot in entry.get("spot_checks", []):
        assert layout.offset_of(spot["index"]) == spot["linear_index"]


def test_is_untiled_layout_of_stars_and_repeats():
    assert layout_util.is_untiled_layout([2, 3, 128], [(COMBINE, 6, 128)])
    assert layout_util.is_untiled_layout([24, 128], [(8, 128), (8, 128)])
    assert not layout_util.is_untiled_layout([24, 128], [(8, 128), (2, 1)])
    with pytest.raises(ValueError, match=r"at most 1 sizes are allowed, got \(8,128\)"):
        layout_util.is_untiled_layout([128], [(8, 128)])


@pytest.mark.parametrize("text", ["f32[2,3]{1,0:T(2,*)}", "f32[2,3]{1,0:T(0,2)}"])
def test_tiles_without_a_meaning_have_no_positions(text):
    with pytest.raises(ValueError, match="tile"):
        layout_util.linear_index_for_nested_tiling(parse_shape(text), (0, 0))
    with pytest.raises(ValueError, match="tile"):
        shape_util.physical_size(parse_shape(text))


def test_a_later_tile_that_does_not_divide_makes_array_size_too_small():
    shape = parse_shape("f32[8]{0:T(4)(3)}")
    assert shape_util.array_size(shape) == 8 * 4
    assert shape_util.physical_byte_size(shape) == 12 * 4
    assert positions(shape).max() == 9


@pytest.mark.parametrize("entry", FACTS["tiling"]["tpu_formats"], ids=lambda e: e["tiles"])
def test_format_of_processors(entry):
    """Whole tiles take no padding, and one element takes a whole tile; all are splits."""
    text = f"{{2,1,0:{entry['tiles']}}}"
    whole, single = parse_shape(f"f32[3,64,256]{text}"), parse_shape(f"f32[1,1,1]{text}")
    assert shape_util.physical_size(whole) == 3 * 64 * 256
    assert shape_util.physical_size(single) == math.prod(single.layout.tiles[0].dimensions)
    layout = xla.layout_of(whole)
    assert xla.layout_of(xla.shape_of(layout, F32)) is layout
    for index in [(0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 40, 130), (2, 63, 255)]:
        slot = layout_util.linear_index_for_nested_tiling(whole, index)
        assert layout.offset_of(index) == slot


# --- oracles -------------------------------------------------------------------------------------


@st.composite
def tiled_shapes(draw):
    sizes = draw(st.lists(st.integers(1, 7), max_size=4))
    assume(math.prod(sizes) <= 200)
    order = draw(st.permutations(range(len(sizes))))
    layout = XlaLayout(
        minor_to_major=order,
        tiles=draw(st.lists(tiles(), max_size=2)),
        tail_padding_alignment=draw(st.sampled_from([1, 1, 8])),
    )
    return Shape.array(F32, sizes, layout)


def padded_reshaped_transposed(physical, tile_list):
    """The buffer of an array in physical order, tile by tile with NumPy; padding is -1."""
    x = physical
    for tile in tile_list:
        x = x.reshape((1,) * (len(tile) - x.ndim) + x.shape)
        rest = x.ndim - len(tile)
        sizes, pending = list(x.shape[:rest]), 1
        for n, t in zip(x.shape[rest:], tile, strict=True):
            pending *= n
            if t != COMBINE:
                sizes.append(pending)
                pending = 1
        x = x.reshape(sizes)
        t = [n for n in tile if n != COMBINE]
        width = [(0, 0)] * rest + [(0, -n % k) for n, k in zip(sizes[rest:], t, strict=True)]
        x = np.pad(x, width, constant_values=-1)
        split = [*x.shape[:rest]]
        for n, k in zip(x.shape[rest:], t, strict=True):
            split += [n // k, k]
        ends = range(rest, rest + 2 * len(t), 2)
        x = x.reshape(split).transpose([*range(rest), *ends, *(d + 1 for d in ends)])
    return x.ravel()


@SOME
@given(tiled_shapes())
def test_positions_by_pad_reshape_transpose(shape):
    numbers = np.arange(math.prod(shape.dimensions)).reshape(shape.dimensions)
    physical = numbers.transpose(shape.layout.minor_to_major[::-1])
    memory = padded_reshaped_transposed(physical, [t.dimensions for t in shape.layout.tiles])
    places = positions(shape)
    assert (memory[places] == numbers).all()
    aligned = -(-memory.size // shape.layout.tail_padding_alignment)
    assert shape_util.physical_size(shape) == aligned * shape.layout.tail_padding_alignment
    # and padding is told from elements
    for slot, number in enumerate(memory[:50]):
        index = None if number < 0 else np.unravel_index(number, shape.dimensions)
        assert layout_util.element_at(shape, slot) == index


@given(tiled_shapes())
@example(parse_shape("f32[2,1,1]{0,1,2:T(3,2,1)(2,1,2)}"))  # said by long tiles, or with stars
@settings(max_examples=100)
def test_layouts_stand_where_the_positions_are(shape):
    tile_list = shape.layout.tiles
    try:
        layout = xla.layout_of(shape)
    except ValueError:
        assert len(tile_list) > 1 or any(t.has_star for t in tile_list)
        return
    for index, slot in np.ndenumerate(positions(shape)):
        assert layout.offset_of(index) == slot
    if layout.covers_block and shape.rank:
        slots = shape_util.physical_size(
            shape.replace(layout=shape.layout.replace(tail_padding_alignment=1))
        )
        # Padding behind a merged dimension, or behind a later tile that does not divide an earlier
        # one, may be storage that the layout does not own.
        evenly = len(tile_list) < 2 and not any(t.has_star for t in tile_list)
        assert layout.required_size == slots or not evenly
        assert xla.layout_of(xla.shape_of(layout, F32)) is layout


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        # The star merges, the tile ends where a row ends, or inside of one row alone.
        ("f32[4,6]{1,0:T(*,6)}", "(4,6):(6,1)"),
        ("f32[4,6]{1,0:T(*,3)}", "(4,6):(6,1)"),
        ("f32[4,6,5]{2,1,0:T(*,3,5)}", "(4,6,5):(30,5,1)"),
        ("f32[4,6,5]{2,1,0:T(*,12,5)}", "(4,6,5):(30,5,1)"),
        ("f32[4,6,5]{2,1,0:T(*,3,2)}", "(4,6,5):(36,2*18+3*2,3*6+2*1)"),
        # It ends in the middle of a row, but counts and rests stand side by side.
        ("f32[8,8]{1,0:T(*,6)}", "(8,8):(8,1)"),
        ("f32[3,5]{1,0:T(*,2)}", "(3,5):(5,1)"),
        ("f32[2,8,8]{2,1,0:T(*,6)(4,6)}", "(2,8,8):(72,8,1)"),
        # Later tiles that do not divide the one before leave gaps.
        ("f32[8]{0:T(2)(4)}", "(8,):(1*2+4*4+2*1,)"),
        ("f32[5]{0:T(2)(3)}", "(5,):(3*3+2*1,)"),
        ("f32[8]{0:T(4)(3)}", "(8,):(2*6+4*1,)"),
    ],
)
def test_stars_and_odd_tiles_said_as_splits(text, layout):
    shape = parse_shape(text)
    result = xla.layout_of(shape)
    assert str(result).split(" ")[0] == layout
    slots = [result.offset_of(i) for i in np.ndindex(*shape.dimensions)]
    assert slots == positions(shape).ravel().tolist()


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))], ids=str)
@pytest.mark.parametrize("permutation", [*itertools.permutations(range(3))], ids=str)
def test_permute_dimensions_moves_nothing(order, permutation):
    shape = Shape.array(F32, (2, 3, 4), XlaLayout(minor_to_major=order))
    turned = shape_util.permute_dimensions(permutation, shape)
    assert shape_util.transpose_is_bitcast(shape, turned, permutation)
    for index in np.ndindex(2, 3, 4):
        moved = [index[d] for d in permutation]
        assert layout_util.linear_index(shape, index) == layout_util.linear_index(turned, moved)


@SOME
@given(st.data())
def test_reshape_is_bitcast_by_moving_every_element(data):
    sizes = data.draw(st.lists(st.integers(0, 4), max_size=3))
    count = math.prod(sizes)
    target = list(data.draw(st.permutations(sizes)))
    if len(target) > 1 and data.draw(st.booleans()):
        target = [target[0] * target[1], *target[2:]]
    one, other = (
        Shape.array(F32, s, XlaLayout(minor_to_major=data.draw(st.permutations(range(len(s))))))
        for s in (sizes, target)
    )
    places = [
        [layout_util.linear_index(s, i) for i in np.ndindex(*s.dimensions)] for s in (one, other)
    ]
    assert len(places[0]) == len(places[1]) == count
    assert shape_util.reshape_is_bitcast(one, other) == (places[0] == places[1])


@SOME
@given(st.data())
def test_align_layouts_gives_a_bitcast(data):
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=4))
    order = data.draw(st.permutations(range(len(sizes))))
    target = data.draw(st.permutations([*sizes, 1])) if data.draw(st.booleans()) else sizes
    shape = Shape.array(F32, sizes, XlaLayout(minor_to_major=order))
    wanted = Shape.array(F32, target)
    result = shape_util.align_layouts(shape, wanted)
    orders = itertools.permutations(range(len(target)))
    free = any(
        shape_util.reshape_is_bitcast(shape, wanted.replace(layout=XlaLayout(minor_to_major=p)))
        for p in orders
    )
    assert (result is not None) == free
    assert result is None or shape_util.reshape_is_bitcast(shape, result)


def test_endless_steps_are_refused():
    with pytest.raises(ValueError, match="incr: must be at least 1"):
        shape_util.for_each_index(parse_shape("f32[4]"), print, [0], [4], [0])


def test_a_visitor_that_returns_false_stops():
    seen = []
    shape = parse_shape("f32[5]")
    shape_util.for_each_index(shape, lambda i: (seen.append(i), len(seen) < 2)[1])
    assert seen == [(0,), (1,)]
    shape_util.for_each_index_parallel(shape, lambda i: seen.append(i))
    assert len(seen) == 7


# --- layouts both ways ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (Layout.row_major((2, 3)), "f32[2,3]{1,0}"),
        (Layout.row_major(()), "f32[]"),
        (Layout.padded((2, 3), (3, 5), (0, 1)), "f32[2,3]{0,1:T(5,3)}"),
        (Layout.padded((2, 3), (2, 4)), "f32[2,3]{1,0:T(4)}"),
        (xla.layout_of("f32[9,300]{1,0:T(8,128)(2,1)}"), "f32[9,300]{1,0:T(8,128)(2,1)}"),
    ],
    ids=str,
)
def test_shape_of(layout, text):
    shape = xla.shape_of(layout, F32)
    assert str(shape) == text
    assert xla.layout_of(shape) is layout


@pytest.mark.parametrize(
    "layout",
    [
        Layout((2, 3), (5, 1)),
        Layout.row_major((2, 3)).moved(4),
        Layout.row_major((2, 3)).flip((0,)),
        Layout((2, 3), (0, 1)),
        Layout.padded((0, 3), (2, 3)),
    ],
    ids=str,
)
def test_layouts_that_no_shape_says(layout):
    with pytest.raises(ValueError, match="shape_of: ") as caught:
        xla.shape_of(layout, F32)
    assert str(layout) in str(caught.value)


def test_what_a_layout_does_not_hold():
    tail = parse_shape("f32[3,5]{1,0:T(2,2)L(32)}")
    assert xla.layout_of(tail).required_size == 24
    assert shape_util.physical_size(tail) == 32
    scalar = parse_shape("f32[]{:T(128)}")
    assert xla.layout_of(scalar) is Layout.row_major(())
    assert shape_util.physical_size(scalar) == 128
    with pytest.raises(ValueError, match=r"T\(8,9223372036854775807\)\} takes 2\*\*63 slots"):
        xla.layout_of(parse_shape("f32[1]{0:T(8,9223372036854775807)}"))
    with pytest.raises(ValueError, match="known sizes"):
        xla.layout_of(parse_shape("f32[?,3]"))
    with pytest.raises(ValueError, match="must be an array"):
        xla.layout_of(parse_shape("(f32[3])"))


def test_padding_values_go_along():
    bits = BitPattern(0x3F800000, "float32")
    layout = xla.layout_of(parse_shape("f32[3,5]{1,0:T(2,2)}"), bits)
    assert layout.padding_value == bits
    assert xla.shape_of(layout, F32, memory_space=1).layout.memory_space == 1


# --- 2017 ----------------------------------------------------------------------------------------

OLD = FACTS["layout_proto_2017"]


def test_padding_values_have_the_old_numbers():
    named = {entry["name"]: entry["value"] for entry in OLD["padding_value_enum"]}
    assert {value.name: value.value for value in PaddingValue2017} == named


@pytest.mark.parametrize("entry", OLD["examples"], ids=lambda e: str(e["memory"]))
def test_old_example(entry):
    value = PaddingValue2017[entry["padding_value"] or "INVALID_PAD"]
    old = PaddedLayout2017(entry["minor_to_major"], entry["padded_dimensions"], value)
    layout = old.layout_of(entry["sizes"])
    assert list(layout.strides) == entry["strides_elements"]
    names = [name for row in entry["logical"] for name in row]
    _, memory = layout.table(names).splitlines()
    assert memory.split()[1:] == list(map(str, entry["memory"]))
    assert PaddedLayout2017.of_layout(layout) == old
    strides = [old.get_dimension_stride(entry["sizes"], d) for d in range(2)]
    assert strides == entry["strides_elements"]


def old_of(args):
    rank = len(args["sizes"])
    order = args.get("minor_to_major", list(range(rank - 1, -1, -1)))
    value = PaddingValue2017[args.get("padding_value", "INVALID_PAD")]
    return PaddedLayout2017(order, args.get("padded_dimensions", ()), value)


@pytest.mark.parametrize("vector", OLD["vectors"], ids=lambda v: f"{v['function']} {v['args']}")
def test_old_vector(vector):
    args, result, name = vector["args"], vector["result"], vector["function"]
    if name == "Equal":
        assert (old_of(args["a"]) == old_of(args["b"])) == result
    elif name == "IsPadded":
        actual = args.get("has_layout", True) and old_of(args).is_padded(args["sizes"])
        assert actual == result
    elif name == "ByteSizeOf":
        kind = PrimitiveType.of_text(args["element_type"])
        assert old_of(args).byte_size_of(kind, args["sizes"]) == result
    elif name == "GetDimensionStride":
        actual = old_of(args).get_dimension_stride(args["sizes"], args["dimension"])
        assert actual == result
    elif result == "ok":
        old_of(args).validate(args["sizes"])
    else:
        assert name == "ValidateLayoutForShape"
        with pytest.raises(ValueError, match="got PaddedLayout2017"):
            old_of(args).validate(args["sizes"])


@pytest.mark.parametrize("old", PaddingValue2017, ids=lambda v: v.name)
def test_old_padding_values_as_layouts_say_them(old):
    symbol = old.name.removesuffix("_PAD").replace("UNKNOWN", "UNSPECIFIED")
    expected = PaddingValue["UNSPECIFIED" if symbol == "INVALID" else symbol]
    layout = PaddedLayout2017((1, 0), (2, 5), old).layout_of((2, 3))
    assert layout is Layout.padded((2, 3), (2, 5), None, expected)
    back = PaddedLayout2017.of_layout(layout).padding_value
    assert back is (PaddingValue2017.UNKNOWN_PAD if old.name == "INVALID_PAD" else old)


@pytest.mark.parametrize(
    "layout",
    [
        Layout((2, 3), (5, 1)),
        Layout((3, 5), parts=[((2, 12), (2, 2)), ((3, 4), (2, 1))]),
        Layout.padded((2, 3), (2, 5), None, BitPattern(1, "float32")),
    ],
    ids=str,
)
def test_layouts_that_the_old_form_cannot_say(layout):
    with pytest.raises(ValueError, match="of_layout: "):
        PaddedLayout2017.of_layout(layout)


def test_the_old_permutation_was_the_inverse():
    old = PaddedLayout2017((2, 1, 0), (4, 5, 6))
    turned = old.permute_dimensions([1, 2, 0])
    assert turned == PaddedLayout2017((0, 2, 1), (6, 4, 5))
    same = Layout.padded((1, 2, 3), (4, 5, 6)).permute([2, 0, 1])
    assert turned.layout_of((3, 1, 2)).same_placement(same)
