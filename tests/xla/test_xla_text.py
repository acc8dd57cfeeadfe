"""Shape text: every text of the facts, what is refused and how, and mutated texts."""

import contextlib
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xla_facts import FACTS, tile_of
from xla_shapes import shapes

from tensorlayout import xla
from tensorlayout.xla import PrimitiveType, Shape, ShapeSyntaxError, Tile, XlaLayout, parse_shape

GRAMMAR = FACTS["text_grammar"]
TEXTS = [
    entry["text"]
    for part in ("examples", "invalid", "parsed_but_fails_validation", "parser_quirks")
    for entry in GRAMMAR[part]
]


def text_of(entry):
    return entry["text"] or "empty text"


def structure(shape):
    """A shape in the notation of the facts."""
    if shape.is_tuple:
        return {"kind": "tuple", "elements": [structure(e) for e in shape.elements]}
    if shape.is_buffer:
        return {"kind": "buffer", "array": structure(shape.elements[0])}
    if not shape.is_array:
        return {"kind": shape.element_type.text}
    layout = shape.layout
    return {
        "kind": "array",
        "element_type": shape.element_type.text,
        "dimensions": ["?" if n == xla.UNBOUNDED else n for n in shape.dimensions],
        "dynamic": list(shape.dynamic),
        "layout": {
            "minor_to_major": list(layout.minor_to_major),
            "tiles": [["*" if n == xla.COMBINE else n for n in t.dimensions] for t in layout.tiles],
            "tail_padding_alignment": layout.tail_padding_alignment,
            "index_type": None,
            "pointer_type": None,
            "element_size_in_bits": layout.element_size_in_bits,
            "memory_space": layout.memory_space,
            "split_configs": [
                {"dimension": s.dimension, "split_indices": list(s.split_indices)}
                for s in layout.split_configs
            ],
            "metadata_prefix_bytes": layout.metadata_prefix_bytes,
        },
    }


@pytest.mark.parametrize("entry", GRAMMAR["examples"], ids=text_of)
def test_good_text(entry):
    shape = parse_shape(entry["text"])
    assert structure(shape) == entry["parsed"]
    assert str(shape) == entry["canonical_text"]


@pytest.mark.parametrize("entry", GRAMMAR["invalid"], ids=text_of)
def test_rejected_text(entry):
    with pytest.raises(ShapeSyntaxError) as caught:
        parse_shape(entry["text"])
    rule, shown, caret = str(caught.value).split("\n")
    assert rule.startswith("shape text: expected ")
    assert ", got " in rule
    assert caret.strip() == "^"
    column = caret.index("^") - 2
    assert column == caught.value.column <= len(entry["text"])
    assert shown == f"  {entry['text']}"


@pytest.mark.parametrize("entry", GRAMMAR["parsed_but_fails_validation"], ids=text_of)
def test_text_that_parses_and_is_not_valid(entry):
    shape = parse_shape(entry["text"])
    with pytest.raises(ValueError, match="shape ") as caught:
        xla.shape_util.validate_shape(shape)
    assert shape.to_string() in str(caught.value)
    with pytest.raises(ShapeSyntaxError, match="valid elements"):
        parse_shape(f"({entry['text']})")


# What XLA's parser does with each oddity is in the facts; these are read as it reads them.
HARMLESS = {"f32[2,3]{1,0:T(2,*)}", "f32[2,3]{1,0:SC(1:)}"}


@pytest.mark.parametrize("entry", GRAMMAR["parser_quirks"], ids=text_of)
def test_oddity(entry):
    if entry["text"] in HARMLESS:
        assert str(parse_shape(entry["text"])) == entry["observed_canonical_text"]
    else:
        with pytest.raises(ShapeSyntaxError):
            parse_shape(entry["text"])


@pytest.mark.parametrize(
    ("text", "column", "rule"),
    [
        ("f32[2,3]{1,0:T(2,)}", 17, "expected a tile size or '*', got ')'"),
        ("f32[2,3]{0}", 10, "expected 2 dimension numbers, one for each size, got 1"),
        ("f32[2,3]{1,0:S(3)E(16)}", 17, "properties once each and in the order D T L"),
        ("(f32[2]", 7, "expected ')' or ',', got the end of the text"),
        ("f32[2]{0:S(128)}", 11, "expected a number for S from -128 to 127, got '128'"),
        ("f32[2]/* never ends", 6, "expected */ at the end of a comment"),
        ("f32[٣]", 4, "expected a size, '<=' or '?', got '٣'"),
        ("f32[1e3]", 4, "expected a size, '<=' or '?', got '1e3'"),
        ("(f32[2]{1})", 0, "expected valid elements in a tuple"),
        ("b(token[])", 2, "expected an array in a buffer, got 'token'"),
    ],
)
def test_errors_say_what_was_expected_and_where(text, column, rule):
    with pytest.raises(ShapeSyntaxError) as caught:
        parse_shape(text)
    assert caught.value.column == column
    assert caught.value.text == text
    assert rule in str(caught.value)
    assert f"at column {column + 1}" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).column == column


def test_the_caret_stands_under_the_place_in_a_long_text():
    text = f"({'f32[2], ' * 50}f33[2])"
    with pytest.raises(ShapeSyntaxError) as caught:
        parse_shape(text)
    _, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^") :].startswith("f33[2])")
    assert len(shown) < 130


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "b(" * 1000,
        "(()" * 5000,
        "f32[" + "9" * 100_000 + "]",
        "/*" * 10_000,
        "f32[2]{0:T" + "(2)" * 10_000,
        "(f32[" + "9223372036854775807," * 10_000 + "2])",
    ],
    ids=lambda t: f"{t[:12]} {len(t)}",
)
def test_long_and_deep_texts_are_refused(text):
    with pytest.raises(ShapeSyntaxError):
        parse_shape(text)


def test_long_texts_are_read():
    assert parse_shape("f32[" + "0" * 10_000 + "7]").dimensions == (7,)
    assert parse_shape("f32[" + "1," * 10_000 + "2]").rank == 10_001
    deep = "(" * 100 + ")" * 100
    assert str(parse_shape(deep)) == deep


def test_comments_and_blanks_stand_between_any_two_tokens():
    loose = "/*a*/ f32\t[ 2 ,\n <=3 ] // rest\r\n { 1 , 0 : T ( 8 , * ) ( 2 ) S ( 1 ) } "
    assert str(parse_shape(loose)) == "f32[2,<=3]{1,0:T(8,*)(2)S(1)}"


def test_layouts_may_be_left_out():
    shape = parse_shape("(f32[2,3], s32[], f32[4]{0})", default_layout=False)
    assert [e.layout for e in shape.elements] == [None, XlaLayout(), XlaLayout.row_major(1)]
    assert str(shape) == "(f32[2,3], s32[], f32[4]{0})"


def test_lists_of_shapes():
    assert [str(s) for s in xla.parse_shapes("{f32[2], (s32[])}")] == ["f32[2]{0}", "(s32[])"]
    assert xla.parse_shapes("{}") == []
    with pytest.raises(ShapeSyntaxError):
        xla.parse_shapes("{f32[2],}")


def test_layouts_alone():
    assert xla.parse_layout("{}") == XlaLayout()
    layout = xla.parse_layout("{1,0:T(2,*,128)E(4)}")
    assert layout.tiles == (Tile(tile_of([2, "*", 128])),)
    assert eval(repr(layout), {"parse_layout": xla.parse_layout}) == layout
    with pytest.raises(ShapeSyntaxError):
        xla.parse_layout("{1,0:T(8,128)")


def test_no_text():
    with pytest.raises(TypeError, match="must be a PrimitiveType, got 'f32'"):
        Shape.array("f32", (2,))
    with pytest.raises(TypeError, match="must be a str, got bytes"):
        parse_shape(b"f32[2]")


@settings(max_examples=60)
@given(shapes(with_layouts=st.booleans()))
def test_parse_reads_what_was_written(shape):
    assert parse_shape(str(shape), default_layout=False) == shape
    assert eval(repr(shape), {"parse_shape": parse_shape}) == shape
    assert pickle.loads(pickle.dumps(shape)) == shape
    again = parse_shape(str(shape))
    assert str(parse_shape(str(again))) == str(again)


LETTERS = "".join(sorted(set("".join(TEXTS)))) + "é٣\x00\ud800"
PIECES = st.sampled_from(LETTERS) | st.sampled_from(TEXTS)


@settings(max_examples=300)
@given(
    st.sampled_from(TEXTS),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), PIECES), min_size=1, max_size=4),
)
def test_mutated_texts_are_shapes_or_syntax_errors(text, changes):
    for at, cut, new in changes:
        text = text[:at] + new + text[at + cut :]
    for other in (xla.parse_layout, xla.parse_shapes):
        with contextlib.suppress(ShapeSyntaxError):
            other(text[text.find("{") :])
    with contextlib.suppress(ShapeSyntaxError):
        shape = parse_shape(text)
        assert parse_shape(str(shape)) == shape


@pytest.mark.parametrize("entry", GRAMMAR["properties"], ids=lambda e: e["letter"])
def test_defaults_of_properties_are_not_printed(entry):
    """A property at its default is not there in the text; of the dense ones each is, otherwise."""
    assert entry["letter"] not in XlaLayout(minor_to_major=(1, 0)).properties()
    written = {"T": "T(2,2)", "L": "L(8)", "E": "E(4)", "S": "S(1)", "SC": "SC(0:1)"}
    if entry["dense"]:
        text = f"f32[2,3]{{1,0:{written[entry['letter']]}}}"
        assert str(parse_shape(text)) == text


@pytest.mark.parametrize("entry", FACTS["primitive_types"], ids=lambda e: e["name"])
def test_primitive_type(entry):
    kind = PrimitiveType[entry["name"]]
    assert kind.value == entry["enum_value"]
    assert (kind.bit_width, kind.byte_width) == (entry["bit_width"], entry["byte_width"])
    assert kind.category == entry["category"]
    assert kind.numpy_name == entry["numpy"]
    assert kind.ml_dtypes_name == entry["ml_dtypes"]
    assert kind.is_array == entry["array_type"]
    assert kind.is_sub_byte == entry["sub_byte_packable"]
    if entry["name"] not in ("PRIMITIVE_TYPE_INVALID", "TUPLE", "BUFFER"):
        assert kind.text == entry["lower_name"]
        assert PrimitiveType.of_text(kind.text) is kind


@pytest.mark.parametrize("kind", [k for k in PrimitiveType if k.is_array], ids=lambda k: k.text)
def test_dtypes_of_numpy_and_ml_dtypes(kind):
    dtype = kind.dtype
    assert dtype.itemsize == kind.byte_width
    assert dtype.name == (kind.numpy_name or kind.ml_dtypes_name).rstrip("_")
    assert PrimitiveType.of_dtype(dtype) is kind


@pytest.mark.parametrize("name", ["tuple", "buffer", "opaque_type", "F32", "float32", ""])
def test_words_that_name_no_type(name):
    with pytest.raises(ValueError, match="element type: must be one of pred"):
        PrimitiveType.of_text(name)


def test_types_without_a_dtype():
    with pytest.raises(TypeError, match="token has no NumPy dtype"):
        _ = PrimitiveType.TOKEN.dtype
    with pytest.raises(TypeError, match="no element type for datetime64"):
        PrimitiveType.of_dtype("datetime64")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Shape(PrimitiveType.TOKEN, (2,)), "token has no sizes"),
        (lambda: Shape.array(PrimitiveType.F32, (-1,)), "-1 is no size of a static dimension"),
        (lambda: Shape.array(PrimitiveType.F32, (2,), None, (True, False)), "one flag for each"),
        (lambda: Shape(PrimitiveType.PRIMITIVE_TYPE_INVALID), "type of some shape"),
        (lambda: Shape.buffer(Shape.token()), "must hold an array"),
        (lambda: XlaLayout(tail_padding_alignment=0), "must be at least 1, got 0"),
        (lambda: XlaLayout(memory_space=300), "8 signed bits, got 300"),
        (lambda: XlaLayout(minor_to_major=(2**63,)), "64-bit integers"),
        (lambda: Tile((-1, 2)), r"must not be negative .* got \(-1, 2\)"),
    ],
)
def test_values_that_are_none(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_shapes_too_deep():
    shape = Shape.token()
    for _ in range(100):
        shape = Shape.tuple_of([shape])
    with pytest.raises(ValueError, match="nested 100 deep"):
        Shape.tuple_of([shape])
    assert str(shape).count("(") == 100
    assert hash(shape) == hash(parse_shape(str(shape)))


def test_values_are_immutable_and_hashable():
    shape = parse_shape("(f32[2,3]{0,1:T(2,2)}, token[])")
    assert {shape: 1}[parse_shape("(f32[2,3]{0,1:T(2,2)},token[])")] == 1
    with pytest.raises(AttributeError):
        shape.dimensions = (3,)
    with pytest.raises(AttributeError):
        shape.elements[0].layout.tiles = ()


def test_the_metadata_prefix_is_never_compared():
    assert parse_shape("f32[2]{0:M(8)}") == parse_shape("f32[2]{0}")
    assert hash(parse_shape("f32[2]{0:M(8)}")) == hash(parse_shape("f32[2]{0}"))
