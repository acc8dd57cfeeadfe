"""IndexUtil, LayoutUtil, ShapeUtil and the rest: each vector of the facts, by the name of its fact.

A vector names a function and its arguments, and `call_of` finds the one and reads the others by
their annotations. `CALLS` says how it is called where the facts say it otherwise. Where they record
that XLA aborts or goes wrong in silence, this package raises: `DIFFERENT` lists each such vector.
"""

import inspect
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

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

from tensorlayout import xla
from tensorlayout.xla import PrimitiveType, Tile, index_util, parse_shape, permutations
from tensorlayout.xla import layout_util as lu
from tensorlayout.xla import shape_util as su

MODULES = {
    "IndexUtil": index_util,
    "LayoutUtil": lu,
    "Permutation": permutations,
}  # else shape_util

READERS = {  # of arguments, by the annotation of the parameter
    "PrimitiveType": PrimitiveType.of_text,
    "Sequence[Shape]": lambda values: [*map(shape_of, values)],
    "Sequence[Tile | Sequence[int]]": lambda values: [*map(tile_of, values)],
    "Sequence[int]": lambda values: [*map(size_of, values)],
    "Shape": shape_of,
    "Shape | XlaLayout": shape_of,
    "XlaLayout": layout_of,
    "int": size_of,
}


def call_of(entry, args):
    """The function that a vector or its fact names, with its arguments: by name, or in order."""
    args = dict(args)
    name = snake(args.pop("function", entry["name"].split()[0].removeprefix("Shape::")))
    function = getattr(MODULES.get(entry["group"].split()[0], su), name)
    parameters = inspect.signature(function).parameters.values()
    known = {p.name: p.annotation for p in parameters if p.kind is not p.VAR_KEYWORD}
    if not known.keys() >= args.keys():
        options = {key: args[key] for key in [*args][len(known) :]}
        args = dict(zip(known, args.values(), strict=False))
        function = partial(function, **options)
    arguments = {key: READERS.get(known[key], lambda x: x)(value) for key, value in args.items()}
    return partial(function, **arguments)


def bumped(a):
    indices = list(a["indices"])
    return {"returned": index_util.bump_indices(shape_of(a["shape"]), indices), "indices": indices}


def layouts_equal(a):
    return lu.equal(layout_of(a["a"]), layout_of(a["b"]), a.get("ignore", ()))


def layout_text(a):
    return str(Tile(tuple(a["tile"])) if "tile" in a else layout_of(a["layout"]))


def deleted_from_layout(a):
    return lu.make_layout(a["minor_to_major"]).delete_dimension(a["dimension"]).minor_to_major


def dynamic_answers(a):
    shape = shape_of(a["shape"])
    return {
        "is_static": shape.is_static,
        "is_unbounded_dynamic": shape.is_unbounded_dynamic,
        "dynamic_dimensions": list(shape.dynamic),
    }


def made_layout(a):
    return parse_shape(a["text"]).layout if "text" in a else lu.make_layout(**a)


def layout_validated(a):
    if "shape_with_layout" in a:
        shape = parse_shape(a["shape_with_layout"])
        return lu.validate_layout_for_shape(shape.layout, shape)
    if "sizes" in a:
        shape = su.make_shape(PrimitiveType.F32, a["sizes"])
        layout = lu.make_layout(a["minor_to_major"], tiles=a["tiles"])
    else:
        shape, layout = shape_of(a["shape"]), layout_of(a["layout"])
    return lu.validate_layout_for_shape(layout, shape)


def cleared(a):
    shape = lu.clear_layout(shape_of(a["shape"]))
    return lu.has_layout(shape) if a.get("then") == "HasLayout" else shape


def paths_visited(a):
    seen = []
    function = getattr(su, snake(a["function"].removeprefix("visit order of ")))
    function(shape_of(a["shape"]), lambda _, index: seen.append(list(index)))
    return seen


def filtered(a):
    assert a["keep"] == "numbers below 2"
    return su.filter_dimensions(lambda d: d < 2, shape_of(a["shape"]))


def decomposed(a):
    result = su.decompose_bitcast(shape_of(a["input"]), shape_of(a["output"]))
    if isinstance(result, su.ReshapeBitcast):
        return {"kind": "reshape"}
    return {"kind": "transpose", "transpose_dims": result.transpose_dims}


def visited(a):
    seen = []
    lists = [a[name] for name in ("base", "count", "incr") if name in a]
    su.for_each_index(shape_of(a["shape"]), lambda index: seen.append(list(index)), *lists)
    return seen if lists else len(seen)


CALLS = {  # by the function that a vector names, else by the fact
    "BumpIndices": bumped,
    "Layout (constructor and defaults)": lambda a: parse_shape(a["text"]),
    "Layout::ToString": layout_text,
    "Layout::Equal (configurable) and ==": layouts_equal,
    "Layout::DeleteDimension": deleted_from_layout,
    "Shape::ToString / Print": lambda a: shape_of(a["shape"]).to_string(layout=a["layout"]),
    "Shape::is_static / is_dynamic / is_unbounded_dynamic / is_bounded_dynamic": dynamic_answers,
    "Shape::DeleteDimension / DeleteDimensions (also ShapeUtil::DeleteDimension(s))": lambda a: (
        su.delete_dimensions(a["dimensions"], shape_of(a["shape"]))
    ),
    "MakeLayout": made_layout,
    "ValidateLayoutForShape": layout_validated,
    "ClearLayout": cleared,
    "HumanString": lambda a: lu.human_string(layout_of(a["layout"])),
    "InsertDimensionAtIndex / InsertDimensionsAtIndex": lambda a: su.insert_dimensions_at_index(
        shape_of(a["shape"]), a["dim_idx"], a["bounds"]
    ),
    "DynamicArrayShapeIsCompatible / DynamicShapeIsCompatible": lambda a: (
        su.dynamic_shape_is_compatible(shape_of(a["dynamic"]), shape_of(a["bounded"]))
    ),
    "visit order of ForEachSubshape": paths_visited,
    "visit order of ForEachLeafShape": paths_visited,
    "FilterDimensions": filtered,
    "IsDecomposableBitcast / DecomposeBitcast / DecomposeBitcastToTrt": decomposed,
    "ForEachIndex (and WithStatus, NoStatus, Parallel forms)": visited,
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

VECTORS = [(entry, vector) for entry in FACTS["functions"] for vector in entry.get("vectors", [])]


def key_of(entry, vector):
    return entry["name"], json.dumps(vector["args"])


def name_of(value):
    return value["name"] if "name" in value else json.dumps(value["args"])[:120]


@pytest.mark.parametrize(("entry", "vector"), VECTORS, ids=name_of)
def test_the_fact(entry, vector):
    args = vector["args"]
    expected = DIFFERENT.get(key_of(entry, vector), expected_of(vector["result"]))
    own = CALLS.get(args.get("function")) or ("function" not in args and CALLS.get(entry["name"]))
    result = result_of(partial(own, args) if own else call_of(entry, args))
    if isinstance(expected, dict) and not isinstance(result, dict):
        fields = list(expected.values())  # by name there, in this order here
        assert result == (fields if isinstance(result, list) else expected)
    else:
        assert result == (None if expected == "ok" else expected)


def test_every_call_and_every_difference_is_a_vector():
    named = {name for entry, v in VECTORS for name in (entry["name"], v["args"].get("function"))}
    assert CALLS.keys() <= named
    assert DIFFERENT.keys() <= {key_of(entry, vector) for entry, vector in VECTORS}


PAGE = (Path(__file__).parents[2] / "docs" / "xla.md").read_text("utf-8")


def test_functions_that_the_page_names_exist():
    named = re.findall(r"`(?:xla\.)?(index_util|layout_util|shape_util)\.(\w+)", PAGE)
    assert len(named) > 25
    for module, name in named:
        assert name in getattr(xla, module).__all__, f"{module}.{name}"


@pytest.mark.parametrize("module", [index_util, lu, su], ids=lambda m: m.__name__)
def test_all_lists_what_there_is_and_all_is_documented(module):
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__, name


KINDS = {"PrimitiveType", "Shape", "Shape | XlaLayout", "XlaLayout"}
VALUES = {  # of arguments, by the annotation of the parameter
    "PrimitiveType": PrimitiveType.F32,
    "Shape": parse_shape("f32[2,3]{1,0:T(2,2)}"),
    "Shape | XlaLayout": parse_shape("f32[2,3]"),
    "XlaLayout": parse_shape("f32[2,3]").layout,
    "int": 1,
    "Sequence[Shape]": [parse_shape("f32[2,3]")],
    "Sequence[int]": [1, 0],
    "list[int]": [1, 0],
}


# Arguments that are only compared or written.
ANYTHING = {
    ("human_string", "layout"),
    ("has_primitive_type", "element_type"),
    ("is_scalar_with_element_type", "element_type"),
    ("make_program_shape", "result"),
}


@pytest.mark.parametrize("module", [index_util, lu, su], ids=lambda m: m.__name__)
def test_an_argument_of_a_wrong_class_is_named(module):
    for name in filter(lambda n: inspect.isfunction(getattr(module, n)), module.__all__):
        parameters = inspect.signature(getattr(module, name)).parameters.values()
        kinds = {p.name: p.annotation for p in parameters if p.default is p.empty}
        arguments = {
            key: VALUES.get(kind, print) for key, kind in kinds.items() if key != "properties"
        }
        arguments |= (
            {"tuple_shape": parse_shape("(f32[2], s8[])")} if "tuple_shape" in kinds else {}
        )
        for key, kind in kinds.items():
            if kind in KINDS and (name, key) not in ANYTHING:
                message = rf"^\w+: {key} must be of class {re.escape(kind)}, got 'f32'$"
                with pytest.raises(TypeError, match=message):
                    getattr(module, name)(**{**arguments, key: "f32"})


def test_names_for_expressions_say_them():
    assert su.is_scalar.__doc__ == "Return ``shape.is_array and not shape.dimensions``."
    assert str(inspect.signature(su.byte_size_of_tuple_index_table)) == (
        "(shape: 'Shape', pointer_size: 'int' = -1) -> 'int'"
    )
    assert (su.is_scalar.__name__, lu.make_layout.__qualname__) == ("is_scalar", "make_layout")


def test_every_oddity_is_on_the_page():
    """Each text that XLA's parser reads in its own way, by the property that makes it odd."""
    section = PAGE.partition("| text |")[2].partition("\n\n")[0]
    for entry in FACTS["text_grammar"]["parser_quirks"]:
        odd = entry["text"].removeprefix("f32[2,3]{1,0:").removeprefix("f32[").rstrip("]}")
        assert f"`{odd}`" in section or f"`{odd}` alone" in section, odd


def test_the_module_says_what_it_offers():
    assert set(xla.__all__) <= set(dir(xla))
    assert all(getattr(xla, name) is not None for name in xla.__all__)


@pytest.mark.ci
def test_import_leaves_it_for_later():
    code = "import sys, tensorlayout\nassert 'tensorlayout.xla' not in sys.modules\n"
    code += "print(tensorlayout.xla.parse_shape('f32[2]'))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout == "f32[2]{0}\n"
