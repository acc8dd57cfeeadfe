"""IndexUtil, LayoutUtil, ShapeUtil and the rest: each vector of the facts, by the name of its fact.

`CALLS` says how a vector's arguments reach the function. Where the facts record that XLA aborts or
goes wrong in silence, this package raises: `DIFFERENT` lists each such vector with what it gives.
"""

import json

import pytest
from xla_facts import (
    ERROR,
    FACTS,
    expected_of,
    layout_of,
    result_of,
    shape_of,
    size_of,
    snake,
    tile_of,
)

from tensorlayout.xla import (
    PrimitiveType,
    Tile,
    index_util,
    parse_shape,
    permutations,
)
from tensorlayout.xla import layout_util as lu
from tensorlayout.xla import shape_util as su


def kind(name):
    return PrimitiveType.of_text(name)


def validated(call):
    """The word ok, or the ValueError of a validating function."""
    call()
    return "ok"


def on_shape(function, *names):
    """A call of one shape, further arguments by name."""
    return lambda a: function(shape_of(a["shape"]), *(a[name] for name in names))


def on_layout(function, *names):
    return lambda a: function(layout_of(a["layout"]), *(a[name] for name in names))


def on_pair(function, first="lhs", second="rhs"):
    return lambda a: function(shape_of(a[first]), shape_of(a[second]))


def by_name(module, *names):
    """A call of the function that the vector names, of one shape."""

    def call(a):
        found = getattr(module, snake(a["function"]))
        return found(shape_of(a["shape"]), *(a[name] for name in names if name in a))

    return call


def pair_by_name(module):
    return lambda a: on_pair(getattr(module, snake(a["function"])))(a)


def bumped(a):
    indices = list(a["indices"])
    return {
        "returned": index_util.bump_indices(shape_of(a["shape"]), indices),
        "indices": indices,
    }


def layouts_equal(a):
    ignore = a.get("ignore", ())
    return lu.equal(layout_of(a["a"]), layout_of(a["b"]), ignore)


def layout_text(a):
    if "tile" in a:
        return str(Tile(tuple(a["tile"])))
    return str(layout_of(a["layout"]))


def deleted_from_layout(a):
    layout = lu.make_layout(a["minor_to_major"])
    return list(layout.delete_dimension(a["dimension"]).minor_to_major)


def dynamic_answers(a):
    shape = shape_of(a["shape"])
    return {
        "is_static": shape.is_static,
        "is_unbounded_dynamic": shape.is_unbounded_dynamic,
        "dynamic_dimensions": list(shape.dynamic),
    }


def made_layout(a):
    if "text" in a:
        return parse_shape(a["text"]).layout
    return lu.make_layout(a["minor_to_major"], tiles=a["tiles"])


def layout_validated(a):
    if "shape_with_layout" in a:
        shape = parse_shape(a["shape_with_layout"])
        return validated(lambda: lu.validate_layout_for_shape(shape.layout, shape))
    if "sizes" in a:
        shape = su.make_shape(PrimitiveType.F32, a["sizes"])
        layout = lu.make_layout(a["minor_to_major"], tiles=a["tiles"])
    else:
        shape, layout = shape_of(a["shape"]), layout_of(a["layout"])
    return validated(lambda: lu.validate_layout_for_shape(layout, shape))


def cleared(a):
    shape = lu.clear_layout(shape_of(a["shape"]))
    return lu.has_layout(shape) if a.get("then") == "HasLayout" else shape


def split(a):
    if a.get("function") == "MaxElementsInPerSplit":
        return lu.max_elements_in_per_split(shape_of(a["shape"]))
    return lu.max_split_size(shape_of(a["shape"]), a["dim"])


def made(a):
    sizes = [size_of(n) for n in a["dimensions"]]
    return su.make_shape(kind(a["element_type"]), sizes, a.get("dynamic", ()))


def made_dense(a):
    options = {k: v for k, v in a.items() if k == "element_size_in_bits"}
    return su.make_shape_with_dense_layout(
        kind(a["element_type"]), a["dimensions"], a["minor_to_major"], **options
    )


def made_other(a):
    if a["function"] == "MakeMaybeTupleShape":
        return su.make_maybe_tuple_shape([shape_of(e) for e in a["elements"]])
    return getattr(su, snake(a["function"]))()


def dimension_added(a):
    return getattr(su, snake(a["function"]))(a["bound"], shape_of(a["shape"]))


def byte_size_of(a):
    return su.byte_size_of(shape_of(a["shape"]), a.get("pointer_size", -1))


def dimension_asked(a):
    function = getattr(su, snake(a.get("function", "GetDimension")))
    return function(shape_of(a["shape"]), a["dimension_number"])


def tree_answer(a):
    shape, name = shape_of(a["shape"]), a["function"].removeprefix("visit order of ")
    if name.startswith("ForEach"):
        seen = []
        getattr(su, snake(name))(shape, lambda _, index: seen.append(list(index)))
        return seen
    return getattr(su, snake(name))(shape, *([a["index"]] if "index" in a else []))


def dimensions_dropped(a):
    shape = shape_of(a["shape"])
    if a.get("function") == "FilterDimensions":
        assert a["keep"] == "numbers below 2"
        return su.filter_dimensions(lambda d: d < 2, shape)
    return su.drop_degenerate_dimensions(shape)


def ones(a):
    pre, post = shape_of(a["shape_pre"]), shape_of(a["shape_post"])
    found = su.inserted_or_deleted_1_sized_dimensions(pre, post)
    return None if found is None else {"deleted": found[0], "inserted": found[1]}


def bitcast(function, first="input", second="output"):
    def call(a):
        given = [a["dimension_mapping"]] if "dimension_mapping" in a else []
        return function(
            shape_of(a[first]), shape_of(a[second]), *given, a.get("ignore_element_type", False)
        )

    return call


def decomposed(a):
    shapes = shape_of(a["input"]), shape_of(a["output"])
    if a.get("function") == "IsDecomposableBitcast":
        return su.is_decomposable_bitcast(*shapes)
    if a.get("function") == "DecomposeBitcastToTrt":
        found = su.decompose_bitcast_to_trt(*shapes)
        names = ("transpose1_dims", "transpose1_shape", "reshape_shape", "transpose2_dims")
        return {name: getattr(found, name) for name in names}
    found = su.decompose_bitcast(*shapes)
    if isinstance(found, su.ReshapeBitcast):
        return {"kind": "reshape"}
    return {"kind": "transpose", "transpose_dims": found.transpose_dims}


def normalized(a):
    shapes = shape_of(a["input"]), shape_of(a["output"])
    dims, permutation = su.get_normalized_logical_transpose_shape(*shapes, a["dimensions"])
    return {"dims": dims, "permutation": permutation}


def visited(a):
    seen = []
    shape = shape_of(a["shape"])
    lists = [a[name] for name in ("base", "count", "incr")] if "base" in a else []
    su.for_each_index(shape, lambda index: seen.append(list(index)), *lists)
    return seen if lists else len(seen)


def permutation(a):
    function = getattr(permutations, snake(a["function"]))
    names = ("input", "p", "p1", "p2", "from", "to")
    return function(*(a[name] for name in names if name in a))


def changed_type(a):
    return su.change_element_type(shape_of(a["shape"]), kind(a["element_type"]))


def ignoring(a):
    return su.equal(shape_of(a["a"]), shape_of(a["b"]), a.get("ignore", ()))


def minor_or_major(a):
    return getattr(lu, a["function"].lower())(layout_of(a["layout"]), a["k"])


def moved_dim(a):
    return getattr(lu, snake(a.get("function", "MoveDimToMajor")))(layout_of(a["layout"]), a["dim"])


def human_layout(a):
    return lu.human_string(layout_of(a["layout"]))


CALLS = {
    "MultidimensionalIndexToLinearIndex": on_shape(
        index_util.multidimensional_index_to_linear_index, "multi_index"
    ),
    "LinearIndexToMultidimensionalIndex": on_shape(
        index_util.linear_index_to_multidimensional_index, "linear_index"
    ),
    "BumpIndices": bumped,
    "GetDimensionStride": on_shape(index_util.get_dimension_stride, "dimension"),
    "IndexInBounds": on_shape(index_util.index_in_bounds, "index"),
    "CompareIndices": lambda a: index_util.compare_indices(a["lhs"], a["rhs"]),
    "Layout (constructor and defaults)": lambda a: parse_shape(a["text"]),
    "Layout::ToString": layout_text,
    "Layout::Equal (configurable) and ==": layouts_equal,
    "Layout::DeleteDimension": deleted_from_layout,
    "Shape::ToString / Print": lambda a: shape_of(a["shape"]).to_string(layout=a["layout"]),
    "Shape::IsValidDimensionSize": lambda a: su.is_valid_dimension_size(
        size_of(a["size"]), a["is_dynamic"]
    ),
    "Shape::is_static / is_dynamic / is_unbounded_dynamic / is_bounded_dynamic": dynamic_answers,
    "Shape::DeleteDimension / DeleteDimensions (also ShapeUtil::DeleteDimension(s))": lambda a: (
        su.delete_dimensions(a["dimensions"], shape_of(a["shape"]))
    ),
    "Shape::Equal (configurable) and ==": ignoring,
    "MakeLayout": made_layout,
    "MakeLayoutFromMajorToMinor": lambda a: lu.make_layout_from_major_to_minor(a["major_to_minor"]),
    "MakeDescendingLayout": lambda a: lu.make_descending_layout(a["num_dims"]),
    "HasDescendingLayout": on_layout(lu.has_descending_layout),
    "MakeAscendingLayout": lambda a: lu.make_ascending_layout(a["num_dims"]),
    "HasAscendingLayout": on_layout(lu.has_ascending_layout),
    "GetDefaultLayoutForShape": on_shape(lu.get_default_layout_for_shape),
    "GetDefaultLayoutForRank (and ...ForR2, ...ForR3, ...ForR4)": lambda a: (
        lu.get_default_layout_for_rank(a["num_dims"])
    ),
    "SetToDefaultLayout / GetWithDefaultLayout": on_shape(lu.set_to_default_layout),
    "ValidateLayoutForShape": layout_validated,
    "ValidateLayoutInShape": lambda a: validated(
        lambda: lu.validate_layout_in_shape(shape_of(a["shape"]), a["allow_missing_layouts"])
    ),
    "ClearLayout": cleared,
    "ClearTiles": on_shape(lu.clear_tiles),
    "IsMonotonicWithDim0Minor": on_layout(lu.is_monotonic_with_dim0_minor),
    "IsMonotonicWithDim0Major": on_layout(lu.is_monotonic_with_dim0_major),
    "HasLayout / HasAnyLayout": by_name(lu),
    "HasCustomElementSizeInBits": on_shape(lu.has_custom_element_size_in_bits),
    "Equal": layouts_equal,
    "MinorToMajor": on_shape(lu.minor_to_major),
    "Minor / Major": minor_or_major,
    "MakeLogicalToPhysical": on_layout(lu.make_logical_to_physical),
    "HumanString": human_layout,
    "CopyLayoutBetweenShapes": on_pair(lu.copy_layout_between_shapes, "src", "dst"),
    "LayoutsInShapesEqual": on_pair(lu.layouts_in_shapes_equal),
    "AreDimensionsConsecutive": on_layout(lu.are_dimensions_consecutive, "dims"),
    "MoveDimToMajor / MoveDimToMinor": moved_dim,
    "LinearIndex": on_shape(lu.linear_index, "indices"),
    "LinearIndexForNestedTiling": on_shape(lu.linear_index_for_nested_tiling, "indices"),
    "DelinearizeIndexForNestedTiling": on_shape(
        lu.delinearize_index_for_nested_tiling, "linear_index"
    ),
    "MemorySpace": on_shape(lu.memory_space),
    "ByteStridesIsMajorToMinor": lambda a: lu.byte_strides_is_major_to_minor(
        a["byte_strides"], a["dims"], kind(a["element_type"])
    ),
    "MaxSplitSize / MaxElementsInPerSplit / GetSplitConfig": split,
    "IsUntiledLayout": lambda a: lu.is_untiled_layout(a["sizes"], map(tile_of, a["tiles"])),
    "MakeShape / MakeValidatedShape": made,
    "MakeShapeWithDenseLayout (Validated form too)": made_dense,
    "MakeShapeWithDescendingLayout": made,
    "MakeShapeWithDescendingLayoutAndSamePhysicalLayout": on_shape(
        su.make_shape_with_descending_layout_and_same_physical_layout
    ),
    "MakeTupleShape / MakeMaybeTupleShape / MakeNil / MakeOpaqueShape / MakeTokenShape /"
    " MakeScalarShape / MakeProgramShape": made_other,
    "MakeStaticShape": on_shape(su.make_static_shape),
    "ChangeElementType": changed_type,
    "ComplexComponentShape": on_shape(su.complex_component_shape),
    "AppendMajorDimension / AppendMinorDimension / PrependMajorDimension": dimension_added,
    "InsertDimensionAtIndex / InsertDimensionsAtIndex": on_shape(
        su.insert_dimensions_at_index, "dim_idx", "bounds"
    ),
    "MoveDimToMajor (shape form)": on_shape(su.move_dim_to_major, "dim"),
    "ValidateShape / ValidateShapeWithOptionalLayout": lambda a: validated(
        lambda: su.validate_shape(shape_of(a["shape"]))
    ),
    "ElementsIn": on_shape(su.elements_in),
    "StaticExtentProduct / ElementsInRecursive": by_name(su),
    "IsZeroElementArray": on_shape(su.is_zero_element_array),
    "ByteSizeOf": byte_size_of,
    "ByteSizeOfPrimitiveType": lambda a: su.byte_size_of_primitive_type(kind(a["element_type"])),
    "ByteSizeOfElements / ByteSizeOfElementsRecursive / ByteSizeOfTupleIndexTable": by_name(su),
    "ArraySize": on_shape(su.array_size),
    "ArrayDataSize": on_shape(su.array_data_size),
    "ElementSizeInBits / UpdateElementSizeInBits": by_name(su, "pack"),
    "UnpackedByteStrides / ByteStrides": by_name(su),
    "StridesForShape / ByteStridesForShape (free functions)": by_name(su),
    "SameDimensions / SameRank / SameElementType / SameElementTypeIgnoringFpPrecision /"
    " HigherPrecisionElementType": pair_by_name(su),
    "Compatible": pair_by_name(su),
    "CompatibleIgnoringElementType / CompatibleIgnoringFpPrecision / CompatibleKind": (
        pair_by_name(su)
    ),
    "Equal / EqualIgnoringElementType / EqualIgnoringFpPrecision": pair_by_name(su),
    "EqualStructure / IsPrefix": lambda a: getattr(su, snake(a["function"]))(
        shape_of(a.get("lhs") or a["prefix"]), shape_of(a.get("rhs") or a["shape"])
    ),
    "ElementCanUpcast": on_pair(su.element_can_upcast, "from", "to"),
    "DynamicArrayShapeIsCompatible / DynamicShapeIsCompatible": on_pair(
        su.dynamic_shape_is_compatible, "dynamic", "bounded"
    ),
    "TrueNumDimensions (formerly TrueRank)": on_shape(su.true_num_dimensions),
    "IsScalar / IsEffectiveScalar / IsScalarWithElementType": by_name(su),
    "GetDimension / GetDimensionNumber": dimension_asked,
    "ElementIsIntegral / ElementIsFloating / ElementIsComplex / ElementIsSigned /"
    " ElementHasBitWidth / ElementIsIntegralWithBits": by_name(su, "bits"),
    "HasPrimitiveType": lambda a: su.has_primitive_type(shape_of(a["shape"]), kind(a["type"])),
    "IsEffectivelyMostMajorDimension": on_shape(
        su.is_effectively_most_major_dimension, "dimension"
    ),
    "LastDimIsMinorMost": on_shape(su.last_dim_is_minor_most),
    "HasDegenerateDimensions": on_shape(su.has_degenerate_dimensions),
    "DeviceShapeIsHostShape / DeviceShapeToHostShape": by_name(su),
    "PackedFactorFor1DInterleavedArray": on_shape(su.packed_factor_for_1d_interleaved_array),
    "IsNestedTuple / IsEmptyTuple / TupleElementCount / GetTupleElementShape / SliceTuple /"
    " AppendShapeToTuple / UpdateTupleShape": by_name(su),
    "IndexIsValid / GetSubshape / TryGetSubshape / IsLeafIndex / GetLeafCount / GetLeafShapes /"
    " SubshapeCount / FlattenTupleShape / ForEachSubshape": tree_answer,
    "PermuteDimensions": lambda a: su.permute_dimensions(a["permutation"], shape_of(a["shape"])),
    "PermuteDimensionsIgnoringLayout": lambda a: su.permute_dimensions_ignoring_layout(
        a["permutation"], shape_of(a["shape"])
    ),
    "ReorderLogicalDimensions": on_shape(su.reorder_logical_dimensions, "permutation"),
    "DropDegenerateDimensions / FilterDimensions": dimensions_dropped,
    "InsertedOrDeleted1SizedDimensions": ones,
    "DimensionsUnmodifiedByReshape": on_pair(
        su.dimensions_unmodified_by_reshape, "input", "output"
    ),
    "ReshapeLeavesDimensionsUnmodified": lambda a: su.reshape_leaves_dimensions_unmodified(
        shape_of(a["from"]), shape_of(a["to"]), a["input_dim_indices"]
    ),
    "TransposeIsBitcast": bitcast(su.transpose_is_bitcast),
    "ReshapeIsBitcast": bitcast(su.reshape_is_bitcast),
    "IsReshapeOrTransposeBitcast": bitcast(su.is_reshape_or_transpose_bitcast, "a", "b"),
    "DeduceTransposeDimensionsForBitcast": on_pair(
        su.deduce_transpose_dimensions_for_bitcast, "input", "output"
    ),
    "IsDecomposableBitcast / DecomposeBitcast / DecomposeBitcastToTrt": decomposed,
    "AlignLayouts": on_pair(su.align_layouts, "input", "output_sizes"),
    "GetNormalizedLogicalTransposeShape": normalized,
    "ForEachIndex (and WithStatus, NoStatus, Parallel forms)": visited,
    "IsPermutation / IsIdentityPermutation": permutation,
    "Permute / PermuteInverse / InversePermutation / ComposePermutations / MoveSingleElement": (
        permutation
    ),
    "CommonFactors": lambda a: permutations.common_factors(a["a"], a["b"]),
}

# What this package does otherwise, and on purpose: it raises where XLA goes wrong in silence.
DIFFERENT = {
    # memory space 300 does not fit 8 bits, XLA makes it 44
    ("Layout (constructor and defaults)", '{"text": "f32[2,3]{1,0:S(300)}"}'): ERROR,
    # a dimension that is not there, XLA gives the number back
    (
        "GetDimension / GetDimensionNumber",
        '{"shape": "f32[2,3]", "dimension_number": 7, "function": "GetDimensionNumber"}',
    ): ERROR,
}


def vectors():
    for entry in FACTS["functions"]:
        for vector in entry.get("vectors", []):
            yield entry["name"], vector


def name_of(value):
    return value if isinstance(value, str) else json.dumps(value["args"])[:120]


@pytest.mark.parametrize(("name", "vector"), [*vectors()], ids=name_of)
def test_the_fact(name, vector):
    args = vector["args"]
    expected = DIFFERENT.get((name, json.dumps(args)), expected_of(vector["result"]))
    assert result_of(lambda: CALLS[name](args)) == expected


def test_every_function_of_the_facts_is_called():
    assert CALLS.keys() == {entry["name"] for entry in FACTS["functions"]}


def test_every_difference_is_a_vector():
    known = {(name, json.dumps(vector["args"])) for name, vector in vectors()}
    assert DIFFERENT.keys() <= known
