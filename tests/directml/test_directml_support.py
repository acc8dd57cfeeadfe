"""Types and ranks that each operator accepts at each feature level, compared with the facts."""

import dataclasses
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import directml_support
import pytest
from directml_facts import (
    COUNTS,
    DESCS,
    FACTS,
    LEVELS,
    OPERATORS,
    TYPES,
    at_least,
    field,
    row_at,
    rows_of,
)

from tensorlayout import directml
from tensorlayout.directml import TensorDesc

RAW = tomllib.loads((Path(directml.__file__).parent / "support.toml").read_text("utf-8"))
RANKS = range(1, 9)
EIGHT_BITS_UP = [name for name in TYPES if name not in ("UINT4", "INT4")]

# Members that make a descriptor of sizes 1 valid; those of lists have an entry for each dimension.
PLAIN = dict.fromkeys(("axis", "offset", "diagonal_fill_begin", "batch_dimension_count"), 0)
PLAIN |= dict.fromkeys(("axis_direction", "interpolation_mode"), 0)
PLAIN |= dict.fromkeys(("has_exclusive_sum", "has_exclusive_product"), False)
PLAIN |= dict.fromkeys(("k", "block_size", "order", "padding_mode", "value", "value_start"), 1)
PLAIN |= dict.fromkeys(("value_delta", "diagonal_fill_end", "index_dimensions"), 1)
PLAIN |= {"indices_dimension_count": 1, "scale_size": (1, 1)}
PLAIN |= {key: [0] for key in ("offsets", "input_window_offsets", "start_padding", "end_padding")}
PLAIN |= {key: [1] for key in ("sizes", "input_window_sizes", "window_sizes", "repeats")}
PLAIN |= {key: [1] for key in ("strides", "input_window_strides", "dilations")}


def attributes_of(name, rank):
    """The members of an operator that are no tensors, for tensors of a rank."""
    entries = max(rank - 2, 1) if name in ("FOLD", "UNFOLD") else rank
    plain = {"input_dimension_count": rank} | PLAIN
    names = {field(member["name"]) for member in OPERATORS[name]["members"]}
    return {
        key: value * entries if isinstance(value, list) else value
        for key, value in plain.items()
        if key in names
    }


def plain(name, row, tensor, data_type, rank):
    """A descriptor with sizes of 1, in which `tensor` has a data type and a rank.

    Tensors with the same types in the row share the type: those of data do.
    """
    members = {}
    for member, allowed in row.items():
        same = allowed["dtypes"] == row[tensor]["dtypes"]
        kind = data_type if same else allowed["dtypes"][0]
        low, high = allowed["dims"]
        n = rank if allowed["dims"] == row[tensor]["dims"] else max(low, min(rank, high))
        sizes = [1] * n
        if member == "ValuesTensor":
            sizes[-1] = 2
        desc = TensorDesc(kind, sizes)
        members[field(member)] = [desc] if member.endswith("Tensors") else desc
    if name == "FOLD":
        members["input"] = TensorDesc(data_type, [1] * max(rank, 3))
    return DESCS[name](**members, **attributes_of(name, rank))


ROWS = [
    pytest.param(name, level, row, id=f"{name} from {level}")
    for name in OPERATORS
    for level, row in rows_of(name)
    if None not in [t["dtypes"] for t in row.values()]
]


@pytest.mark.parametrize(("name", "level", "row"), ROWS)
def test_every_pair_of_type_and_rank(name, level, row):
    for tensor, allowed in row.items():
        low, high = allowed["dims"]
        for data_type in TYPES:
            for rank in RANKS:
                desc = plain(name, row, tensor, data_type, rank)
                if data_type in allowed["dtypes"] and low <= rank <= high:
                    desc.validate(level)
                    continue
                with pytest.raises((TypeError, ValueError)) as caught:
                    desc.validate(level)
                assert str(caught.value).startswith(f"{name}: ")
                assert f"at feature level {level}, got " in str(caught.value)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_table_at_every_level(name):
    for level in LEVELS:
        row = row_at(name, level)
        if row is None:
            first = next(rows_of(name))[0]
            with pytest.raises(ValueError, match=f"{name}: .* level {level}; .* has it is {first}"):
                directml.support(name, level)
            continue
        table = directml.support(name, level)
        assert table.keys() == row.keys()
        for tensor, allowed in row.items():
            assert list(table[tensor].ranks) == allowed["dims"]
            wanted = allowed["dtypes"] or EIGHT_BITS_UP  # a choice of ours where the page is empty
            assert {t.name for t in table[tensor].data_types} == set(wanted)


def test_every_refusal_names_the_lowest_level_of_the_facts():
    for name in ("GATHER", "TOP_K", "CAST"):
        row = row_at(name, LEVELS[-1])
        first = next(rows_of(name))[0]
        for data_type in EIGHT_BITS_UP:
            for rank in RANKS:
                levels = [
                    level
                    for level, own in rows_of(name)
                    if data_type in own["InputTensor"]["dtypes"]
                    and own["InputTensor"]["dims"][0] <= rank <= own["InputTensor"]["dims"][1]
                ]
                if not levels or levels[0] == first:
                    continue
                desc = plain(name, row, "InputTensor", data_type, rank)
                with pytest.raises((TypeError, ValueError), match=f"it is {levels[0]}$"):
                    desc.validate(first)


@pytest.mark.parametrize("level", LEVELS)
def test_tensors_by_level(level):
    limits = FACTS["tensor_desc"]["dimension_limits"]
    most = [x["max_dimension_count"] for x in limits if at_least(level, x["from_feature_level"])]
    for rank in RANKS:
        desc = TensorDesc("FLOAT32", (1,) * rank)
        if rank <= most[-1]:
            assert desc.validate(level) is desc
        else:
            with pytest.raises(ValueError, match=r"DimensionCount must be 1 to 5 .*is 3_0$"):
                desc.validate(level)
    for fact in FACTS["tensor_desc"]["data_types"]:
        desc, needed = TensorDesc(fact["name"], (2,)), fact["from_feature_level"]
        if at_least(level, needed):
            assert desc.validate(level) is desc
        else:
            with pytest.raises(ValueError, match=f"got {fact['name']}; .* it is {needed}$"):
                desc.validate(level)


def test_levels_in_all_their_spellings():
    assert list(directml.LEVELS) == LEVELS
    for fact in FACTS["feature_levels"]:
        table = directml.support("FILL_VALUE_CONSTANT", "6_4")
        for item in (fact["level"], fact["constant"], int(fact["value"], 16)):
            if at_least(fact["level"], "4_1"):
                assert directml.support("FILL_VALUE_CONSTANT", item) == table
    for wrong in ("7_0", "", 0x3001, 3, None, True, 3.0):
        with pytest.raises(ValueError, match="feature_level must be one of 1_0, "):
            directml.support("JOIN", wrong)


def test_names_of_operators():
    assert set(directml.OPERATORS) == OPERATORS.keys()
    scatter = directml.support("SCATTER")
    for name in ("SCATTER_ELEMENTS", "DML_OPERATOR_SCATTER", "scatter"):
        assert directml.support(name) == scatter
    with pytest.raises(ValueError, match=r"operator must be one of JOIN, .* got 'RESAMPLE'"):
        directml.support("RESAMPLE")


# Members that are ours.
OURS = {"SCATTER": {"duplicates"}, "SCATTER_ND": {"duplicates"}}


@pytest.mark.parametrize("name", OPERATORS)
def test_members(name):
    fact = OPERATORS[name]
    spatial = name in ("FOLD", "UNFOLD")
    members = [m["name"] for m in fact["members"] if m["name"] not in COUNTS]
    fields = {f.name for f in dataclasses.fields(DESCS[name])}
    assert fields - OURS.get(name, set()) == {field(m) for m in members}
    assert DESCS[name].in_place == (
        name in FACTS["tensor_desc"]["in_place"]["supporting_operators_in_this_table"]
    )
    assert spatial or fact["in_place"]["supported"] in (None, DESCS[name].in_place)


def test_enumerations():
    enums = FACTS["tensor_desc"]["enums"]
    for cls, name in (
        (directml.PaddingMode, "DML_PADDING_MODE"),
        (directml.InterpolationMode, "DML_INTERPOLATION_MODE"),
        (directml.AxisDirection, "DML_AXIS_DIRECTION"),
        (directml.DepthSpaceOrder, "DML_DEPTH_SPACE_ORDER"),
    ):
        assert {m.name: m.value for m in cls} == enums[name]
    types = {t["name"]: t["enum_value"] for t in FACTS["tensor_desc"]["data_types"]}
    assert {t.name: t.value for t in directml.DataType} == types
    for fact in FACTS["tensor_desc"]["data_types"]:
        kind = directml.DataType[fact["name"]]
        assert kind.bits == fact["bits"]
        if fact["numpy"]:
            assert kind.dtype == fact["numpy"]
            assert directml.DataType.of(fact["numpy"]) is kind
        else:
            with pytest.raises(TypeError, match=f"{fact['name']} has no dtype"):
                kind.dtype  # noqa: B018


# --- the tables that the site appends to docs/directml-support.md ---

TABLE_ROW = re.compile(
    r"^\| (\d_\d) \| ([\w, ]+) \| (\d)(?: to (\d))? \| ([\w, ]+) \|$", re.MULTILINE
)
SETS = {
    "all of 8 to 64 bits": set(EIGHT_BITS_UP),
    "all of 8 to 32 bits": {name for name in EIGHT_BITS_UP if "64" not in name},
    "all of 8 to 64 bits but FLOAT64": set(EIGHT_BITS_UP) - {"FLOAT64"},
}


@pytest.fixture(scope="module")
def sections():
    """The sections of the page as the site shows it, by heading."""
    page = SimpleNamespace(file=SimpleNamespace(src_uri="directml-support.md"))
    introduction, *parts = directml_support.on_page_markdown("introduction", page=page).split("## ")
    assert introduction == "introduction\n"
    return dict(part.split("\n", 1) for part in parts)


def test_the_page_has_a_section_for_each_operator(sections):
    assert list(sections) == list(directml.OPERATORS)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_page_states_what_the_data_states(sections, name):
    """Each level, tensor, range of ranks and data type of `support.toml`, and no more."""
    stated = {}
    rows = TABLE_ROW.findall(sections[name])
    assert len(rows) == sections[name].count("\n| ") - 2  # a header and the line below it
    for level, tensors, low, high, types in rows:
        allowed = SETS.get(types) or set(types.split(", "))
        for tensor in tensors.split(", "):
            entry = (int(low), int(high or low)), allowed
            assert stated.setdefault(level, {}).setdefault(tensor, entry) is entry
    data = {
        level: {
            tensor: (ranks, {t.name for t in data_types})
            for tensor, (ranks, data_types) in directml.support(name, level).items()
        }
        for level in RAW[name]
    }
    assert stated == data


def test_the_page_states_modes_that_came_later(sections):
    assert "PaddingMode: `SYMMETRIC` from 3_0, `WRAP` from 6_4." in sections["PADDING"]
    assert "PaddingMode: `WRAP` from 6_4." in sections["PADDING1"]


def test_other_pages_stay_as_they_are():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="directml.md"))
    assert directml_support.on_page_markdown("text", page=page) == "text"
