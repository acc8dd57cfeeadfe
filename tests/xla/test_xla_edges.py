"""XLA's functions where the facts have no vector: tuples edited, types compared, and refusals."""

import numpy as np
import pytest

from tensorlayout import Layout
from tensorlayout.xla import (
    UNBOUNDED,
    PaddedLayout2017,
    PrimitiveType,
    Shape,
    SplitConfig,
    XlaLayout,
    index_util,
    layout_of,
    parse_layout,
    parse_shape,
    permutations,
    shape_of,
)
from tensorlayout.xla import layout_util as lu
from tensorlayout.xla import shape_util as su

F32 = PrimitiveType.F32

# The largest exponent e of a finite value below 2**e, and the bits of the significand.
RANGES = {
    "f16": (16, 11),
    "bf16": (128, 8),
    "f32": (128, 24),
    "f64": (1024, 53),
    "f8e5m2": (16, 3),
    "f8e4m3": (8, 4),
    "f8e4m3fn": (9, 4),
    "f8e4m3b11fnuz": (5, 4),
    "f8e5m2fnuz": (16, 3),
    "f8e4m3fnuz": (8, 4),
    "f8e3m4": (4, 5),
    "f4e2m1fn": (3, 2),
    "f6e3m2fn": (5, 3),
    "f6e2m3fn": (3, 4),
    "f8e8m0fnu": (128, 1),
}
TREE = parse_shape("(f32[42], (f32[101], ()), token[])")
PAIRS = parse_shape("f32[3]{0:T(2)}")


def texts(shapes):
    return [str(shape) for shape in shapes]


class TestTuples:
    def test_elements(self):
        assert su.tuple_element_count(TREE) == 3
        assert str(su.get_tuple_element_shape(TREE, 2)) == "token[]"
        assert str(su.slice_tuple(TREE, 1, 3)) == "((f32[101]{0}, ()), token[])"
        assert str(su.slice_tuple(TREE, 2, 2)) == "()"

    def test_editing_returns_the_changed_tuple(self):
        pair = parse_shape("(s32[], s8[])")
        assert str(su.append_shape_to_tuple(Shape.token(), pair)) == "(s32[], s8[], token[])"
        assert str(su.update_tuple_shape(Shape.token(), 0, pair)) == "(token[], s8[])"
        assert str(pair) == "(s32[], s8[])"

    def test_paths(self):
        assert su.is_leaf_index(TREE, (1, 0))
        assert not su.is_leaf_index(TREE, (1, 1))  # the empty tuple
        assert not su.index_is_valid(TREE, (0, 0))
        assert not su.index_is_valid(TREE, (-1,))
        assert su.try_get_subshape(TREE, ()) == TREE
        assert [path for path, _ in su.get_leaf_shapes(TREE)] == [(0,), (1, 0), (2,)]
        assert texts(su.flatten_tuple_shape(TREE)) == ["f32[42]{0}", "f32[101]{0}", "token[]"]
        assert su.subshape_count(TREE) == 6

    def test_making(self):
        assert str(su.make_tuple_shape([Shape.array(F32, (2,))])) == "(f32[2])"
        assert str(su.make_maybe_tuple_shape([])) == "()"
        assert str(su.make_opaque_shape()) == "opaque[]"
        assert str(su.make_scalar_shape(F32)) == "f32[]"
        assert su.byte_size_of_tuple_index_table(TREE, 8) == 24
        assert su.byte_size_of(Shape.opaque(), 8) == 8
        assert su.byte_size_of(parse_shape("b(f32[4])")) == 16

    def test_parents_may_come_last(self):
        paths = [path for path, _ in su.subshapes(TREE, post_order=True)]
        assert paths == [(0,), (1, 0), (1, 1), (1,), (2,), ()]

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: su.get_tuple_element_shape(TREE, 3), r"path \(3,\) leads nowhere"),
            (lambda: su.slice_tuple(TREE, 2, 4), "limit <= 3"),
            (lambda: su.get_subshape(TREE, (0, 0)), r"path \(0, 0\) leads nowhere in \(f32"),
            (lambda: su.tuple_element_count(parse_shape("f32[2]")), r"a tuple, got f32\[2\]\{0\}"),
            (lambda: su.byte_size_of(TREE), r"pointer_size: must be at least 1 for \(f32"),
        ],
    )
    def test_refusals(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()


class TestTypes:
    def test_ranges_are_those_of_the_floats(self):
        kinds = [kind for kind in PrimitiveType if kind.is_floating]
        assert {kind.text: kind.precision[1:3] for kind in kinds} == RANGES

    @pytest.mark.parametrize(
        ("lhs", "rhs", "preferred"),
        [
            ("f16", "bf16", "bf16"),
            ("c64", "f64", "c64"),
            ("u8", "s8", "s8"),
            ("u16", "s8", "u16"),
            ("f8e5m2", "f8e4m3fn", "f8e5m2"),
            ("f8e8m0fnu", "bf16", "bf16"),
        ],
    )
    def test_preferred(self, lhs, rhs, preferred):
        shapes = parse_shape(f"{lhs}[2]"), parse_shape(f"{rhs}[2]")
        for pair in (shapes, shapes[::-1]):
            assert su.higher_precision_element_type(*pair).text == preferred

    def test_types_that_tie(self):
        shapes = parse_shape("f8e4m3[2]"), parse_shape("f8e4m3fnuz[2]")
        with pytest.raises(ValueError, match="f8e4m3 and f8e4m3fnuz tie"):
            su.higher_precision_element_type(*shapes)
        with pytest.raises(ValueError, match="must be an array"):
            su.higher_precision_element_type(shapes[0], Shape.token())

    def test_comparing(self):
        half, single, short = (parse_shape(f"{t}[2]") for t in ("f16", "f32", "s16"))
        assert su.same_element_type(half, half)
        assert not su.same_element_type(half, single)
        assert su.same_element_type_ignoring_fp_precision(half, single)
        assert not su.same_element_type_ignoring_fp_precision(half, short)
        assert su.same_rank(half, short)
        assert not su.same_rank(half, parse_shape("f32[2,1]"))
        assert su.element_is_integral_with_bits(short, 16)
        assert not su.element_is_integral_with_bits(half, 16)
        assert su.is_scalar_with_element_type(parse_shape("f16[]"), PrimitiveType.F16)
        assert not su.is_scalar_with_element_type(half, PrimitiveType.F16)

    def test_unbounded_sizes_match_where_dynamic_flags_do_not_count(self):
        unknown, known = parse_shape("f32[?,3]"), parse_shape("f32[7,3]")
        assert su.compatible(unknown, known)
        assert su.same_dimensions(unknown, known)
        assert not su.equal(unknown, known)
        assert su.dynamic_shape_is_compatible(known, unknown)
        assert not su.dynamic_shape_is_compatible(unknown, known)
        assert su.dynamic_array_shape_is_compatible(known, parse_shape("f32[8,3]"))
        assert su.dynamic_shape_is_compatible(TREE, TREE)
        assert not su.dynamic_shape_is_compatible(TREE, known)


class TestMaking:
    def test_the_many_names_of_row_major(self):
        layouts = lu.get_default_layout_for_r2(), lu.get_default_layout_for_r3()
        layouts += (lu.get_default_layout_for_r4(),)
        assert texts(layouts) == ["{1,0}", "{2,1,0}", "{3,2,1,0}"]
        shape = parse_shape("f32[2,3]")
        assert su.make_validated_shape(F32, (2, 3)) == shape
        assert su.make_shape_with_descending_layout(F32, (2, 3)) == shape
        assert su.make_validated_shape_with_dense_layout(F32, (2, 3), (1, 0)) == shape
        assert lu.get_with_default_layout(parse_shape("f32[2,3]{0,1}")) == shape
        assert su.human_string_with_layout(shape) == "f32[2,3]{1,0}"
        assert su.make_shape(PrimitiveType.TOKEN, ()) == Shape.token()

    def test_unbounded_sizes_are_dynamic_by_themselves(self):
        assert str(su.make_shape(F32, (UNBOUNDED, 3))) == "f32[?,3]{1,0}"
        assert su.static_extent_product(parse_shape("f32[?,0]")) == 0

    def test_appended_dimensions_keep_tiles_and_flags(self):
        shape = parse_shape("f32[<=2,3]{0,1:T(2,2)S(1)}")
        assert str(su.append_major_dimension(4, shape)) == "f32[<=2,3,4]{0,1,2:T(2,2)S(1)}"
        assert str(su.append_minor_dimension(4, shape)) == "f32[<=2,3,4]{2,0,1:T(2,2)S(1)}"

    def test_permuting_keeps_tiles_and_moves_flags(self):
        shape = parse_shape("f32[<=2,3]{1,0:T(2,2)}")
        assert str(su.permute_dimensions([1, 0], shape)) == "f32[3,<=2]{0,1:T(2,2)}"

    def test_split_configs_follow_a_deleted_dimension(self):
        layout = parse_layout("{0,1,2:SC(0:30)(1:40)(2:5)}")
        assert str(layout.delete_dimension(1)) == "{0,1:SC(0:30)(1:5)}"
        assert lu.get_split_config(parse_shape("f32[8]{0:SC(0:3)}")) == SplitConfig(0, (3,))
        assert lu.get_split_config(parse_shape("f32[8]")) is None

    def test_a_type_of_fewer_bits_keeps_the_old_element_size(self):
        changed = su.change_element_type(parse_shape("s4[8]{0:E(4)}"), PrimitiveType.S2)
        assert str(changed) == "s2[8]{0:E(4)}"
        assert str(su.update_element_size_in_bits(changed, True)) == "s2[8]{0:E(2)}"

    def test_buffers_are_walked_through(self):
        assert str(lu.clear_tiles(parse_shape("b(f32[4]{0:T(2)})"))) == "b(f32[4]{0})"
        assert str(lu.get_default_layout_for_shape(parse_shape("b(f32[4,2]{0,1})"))) == "{1,0}"

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: su.make_shape(F32, (-1,)), "-1 is no size"),
            (lambda: su.complex_component_shape(parse_shape("u4[2]")), "c64 or c128, got u4$"),
            (lambda: su.make_shape(F32, (2, 3), (True,)), "one flag for each"),
            (lambda: su.make_shape_with_dense_layout(F32, (2,), (1,)), r"\{1\} of shape f32\[2\]"),
            (lambda: su.make_static_shape(parse_shape("f32[?]")), r"got f32\[\?\]"),
            (lambda: su.insert_dimension_at_index(parse_shape("f32[2]"), 2, 4), "from 0 to 1"),
            (lambda: su.delete_dimensions([0, 0], parse_shape("f32[2,3]")), "different dimensions"),
            (lambda: su.permute_dimensions([0, 0], parse_shape("f32[2,3]")), "a permutation"),
            (lambda: su.permute_dimensions_ignoring_layout([], TREE), "^shape: must be an array"),
            (lambda: su.last_dim_is_minor_most(parse_shape("f32[]")), "a scalar"),
            (lambda: su.array_size(Shape.array(F32, (2,))), r"with a layout, got f32\[2\]"),
            (lambda: su.align_layouts(parse_shape("f32[2]"), parse_shape("f32[3]")), "equal num"),
            (lambda: lu.minor(parse_layout("{1,0}"), 2), r"from 0 to 1 for \{1,0\}, got 2"),
            (lambda: lu.are_dimensions_consecutive(parse_layout("{1,0}"), [3]), "dimensions of"),
            (lambda: lu.linear_index(parse_shape("f32[2,3]"), (2, 0)), r"inside f32\[2,3\]\{1,0\}"),
            (lambda: lu.delinearize_index_for_nested_tiling(PAIRS, 4), r"from 0 to 3 for f32\[3\]"),
            (lambda: lu.get_split_config(parse_shape("f32[8,8]{1,0:SC(0:3)(1:3)}")), "at most one"),
        ],
    )
    def test_refusals(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()


class TestBitcasts:
    WIDE, TALL = parse_shape("f32[2,3]{1,0}"), parse_shape("f32[3,2]{0,1}")

    def test_other_types_ranks_and_counts(self):
        bits = parse_shape("s32[3,2]{0,1}")
        assert su.transpose_is_bitcast(self.WIDE, self.TALL, (1, 0))
        assert not su.transpose_is_bitcast(self.WIDE, bits, (1, 0))
        assert not su.reshape_is_bitcast(self.WIDE, parse_shape("s32[6]"))
        assert not su.is_reshape_or_transpose_bitcast(self.WIDE, bits)
        assert su.deduce_transpose_dimensions_for_bitcast(self.WIDE, parse_shape("f32[6]")) is None
        assert su.decompose_bitcast(self.WIDE, parse_shape("f32[2]")) is None

    def test_the_steps_of_a_bitcast(self):
        steps = su.decompose_bitcast_to_trt(self.WIDE, self.TALL)
        assert (steps.transpose1_dims, steps.transpose2_dims) == ((0, 1), (1, 0))
        assert (steps.is_transpose1_identity, steps.is_transpose2_identity) == (True, False)

    def test_without_elements_any_order_will_do(self):
        result = su.align_layouts(parse_shape("f32[0,3]{0,1}"), parse_shape("f32[3,0,2]{0,1,2}"))
        assert str(result) == "f32[3,0,2]{2,1,0}"
        assert permutations.common_factors([0, 2], [0, 3]) == [(0, 0), (2, 2)]
        assert permutations.common_factors([2, 0, 3], [2, 3, 0]) == [(0, 0), (1, 1), (3, 3)]


class TestIndices:
    SHAPE = parse_shape("f32[2,3]{0,1}")

    @pytest.mark.parametrize("index", [[2, 0], [0, -1], [0], [0, 0, 0]], ids=str)
    def test_indices_outside(self, index):
        with pytest.raises(ValueError, match=r"inside f32\[2,3\]\{0,1\}"):
            index_util.multidimensional_index_to_linear_index(self.SHAPE, index)
        with pytest.raises(ValueError, match="must lie inside"):
            index_util.bump_indices(self.SHAPE, index)
        assert not index_util.index_in_bounds(self.SHAPE, index)

    def test_numbers_outside(self):
        for number in (-1, 6):
            with pytest.raises(ValueError, match=f"from 0 to 5 for f32.* got {number}"):
                index_util.linear_index_to_multidimensional_index(self.SHAPE, number)

    def test_the_order_given_must_be_that_of_the_shape(self):
        call = index_util.multidimensional_index_to_linear_index
        assert call(self.SHAPE, (1, 2), (0, 1)) == 5
        with pytest.raises(ValueError, match="minor_to_major must be that of"):
            call(self.SHAPE, (1, 2), (1, 0))

    def test_numpy_integers_are_integers(self):
        at = np.asarray([1, 2])
        assert index_util.multidimensional_index_to_linear_index(self.SHAPE, at) == 5
        with pytest.raises(TypeError, match="sequence of integers"):
            index_util.index_in_bounds(self.SHAPE, [0.5, 1])


ROWS = parse_layout("{1,0}")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lu.equal(ROWS), TypeError, "missing 1 required positional argument: 'rhs'"),
        (lambda: lu.equal(ROWS, ROWS, 3), TypeError, "ignore must be a collection of names, got 3"),
        (lambda: lu.equal(ROWS, ROWS, ["order"]), ValueError, r"ignore must be of .*\['order'\]"),
        (lambda: XlaLayout(tiles=3), TypeError, "tiles: must be a sequence, got 3"),
        (lambda: XlaLayout(split_configs=[3]), TypeError, "must be pairs .*, got 3"),
        (lambda: Shape.token().own_layout, ValueError, r"with a layout, got token\[\]"),
        (lambda: layout_of(3), TypeError, "^layout_of: must be a Shape or its text, got 3$"),
        (lambda: shape_of(3, F32), TypeError, "layout must be a Layout, got 3"),
        (lambda: shape_of(NIBBLES, PrimitiveType.S2), ValueError, "slots must be those of s2"),
    ],
)
def test_what_is_no_layout(call, error, message):
    with pytest.raises(error, match=message):
        call()


NIBBLES = Layout((4,), slot_bits=4)


def test_layouts_from_parts():
    assert str(shape_of(NIBBLES, PrimitiveType.S4)) == "s4[4]{0:E(4)}"
    layout = XlaLayout(minor_to_major=(1, 0), split_configs=[(0, (4,))])
    assert str(layout) == "{1,0:SC(0:4)}"
    assert PaddedLayout2017((0, 1), (3, 5)).human_string() == "{0,1}"


def test_byte_strides_are_those_of_whole_bytes():
    assert su.byte_strides(parse_shape("f32[2,3]{0,1}")) == (4, 8)
    for text in ("s4[8]{0:E(4)}", "token[]"):
        assert su.byte_strides(parse_shape(text)) is None


def test_bounds_are_no_unknown_sizes():
    assert parse_shape("(f32[2], f32[<=4])").is_bounded_dynamic
    assert not parse_shape("f32[?]").is_bounded_dynamic


def test_growth():
    assert su.growth_factor(parse_shape("f32[1,1]{1,0:T(8,128)}")) == 1024
    assert su.growth_factor(parse_shape("s4[8]{0:E(4)}")) == 1
    assert su.growth_factor(parse_shape("f32[0]{0:T(8)}")) == 1


def test_layouts_of_different_trees():
    with pytest.raises(ValueError, match="must be tuples alike"):
        lu.copy_layout_between_shapes(TREE, parse_shape("(f32[42])"))
    assert not lu.layouts_in_shapes_equal(parse_shape("f32[2]"), parse_shape("f32[2,3]"))
    pair = parse_shape("(f32[2]{0:T(2)})"), parse_shape("(f32[2]{0})")
    assert not lu.layouts_in_shapes_equal(*pair)
    assert lu.layouts_in_shapes_equal(*pair, ["tiles"])


def test_the_other_forms_of_visiting():
    shape = parse_shape("f32[2,2]")
    for visit in (su.for_each_index_with_status, su.for_each_index_no_status):
        seen = []
        visit(shape, seen.append)
        assert seen == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_count_of_0_pins_its_dimension():
    result = su.indices(parse_shape("f32[4,9]"), (1, 2), (0, 3), (1, 2))
    assert list(result) == [(1, 2), (1, 4)]


def test_shapes_validated_without_layouts():
    su.validate_shape_with_optional_layout(Shape.array(F32, (2,)))
    with pytest.raises(ValueError, match=r"shape f32\[2\]: has no layout"):
        su.validate_shape(Shape.array(F32, (2,)))


def test_a_size_of_0_does_not_excuse_an_overflow_before_it():
    with pytest.raises(ValueError, match=r"has 2\*\*63 elements or more"):
        su.validate_shape(parse_shape("f32[4294967296,4294967296,0]"))
    su.validate_shape(parse_shape("f32[0,4294967296,4294967296]"))
