"""The constraints that the facts state of operators, each broken: the errors."""

import dataclasses
import re

import pytest
from directml_facts import DESCS, FACTS, OPERATORS, field, rows_of
from test_errors import sessions

import tensorlayout as tl
from tensorlayout.directml import LEVELS, TensorDesc, compile


def t(*sizes, kind="FLOAT32", **members):
    """A tensor descriptor."""
    return TensorDesc(kind, sizes, **members)


def i32(*sizes):
    return t(*sizes, kind="INT32")


def u32(*sizes):
    return t(*sizes, kind="UINT32")


WINDOW = {"input_window_offsets": [0, 0], "input_window_sizes": [2, 6]}
WINDOW |= {"input_window_strides": [1, -2]}
BY_TUPLES = {"input_dimension_count": 3, "indices_dimension_count": 2}
BORDER = {"padding_mode": "CONSTANT", "start_padding": [0, 0, 1, 0], "end_padding": [0, 0, 1, 1]}
PATCH = {"window_sizes": [2, 2], "strides": [1, 1], "dilations": [1, 1]}
PATCH |= {"start_padding": [0, 0], "end_padding": [0, 0]}

SAME = {"input": t(2, 3), "output": t(2, 3)}
IMAGES = {"input": t(1, 1, 2, 3), "output": t(1, 1, 4, 4)}
RUNNING = {**SAME, "axis": 1, "axis_direction": "INCREASING"}

# A valid descriptor of each operator, all members given, in terms of the names above.
MEMBERS = """
JOIN: inputs=[t(1, 2, 4), t(1, 3, 4)], output=t(1, 5, 4), axis=1
SPLIT: input=t(1, 5, 4), outputs=[t(1, 2, 4), t(1, 3, 4)], axis=1
SLICE: input=t(2, 3), output=t(1, 2), offsets=[0, 0], sizes=[1, 2], strides=[1, 1]
SLICE1: input=t(2, 6), output=t(2, 3), **WINDOW
SLICE_GRAD: input_gradient=t(2, 3), output_gradient=t(2, 6), **WINDOW
GATHER: input=t(1, 4, 3), indices=i32(1, 1, 2), output=t(1, 2, 3), axis=1, index_dimensions=1
GATHER_ELEMENTS: input=t(4, 3), indices=i32(2, 3), output=t(2, 3), axis=0
GATHER_ND: input=t(2, 3, 4), indices=i32(1, 5, 2), output=t(1, 5, 4), **BY_TUPLES
GATHER_ND1: input=t(2, 3, 4), indices=i32(1, 2, 2), output=t(1, 1, 2), **BY_TUPLES,
    batch_dimension_count=1
SCATTER: input=t(4, 3), indices=i32(2, 3), updates=t(2, 3), output=t(4, 3), axis=0,
    duplicates="last"
SCATTER_ND: input=t(2, 3, 4), indices=i32(1, 5, 2), updates=t(1, 5, 4), output=t(2, 3, 4),
    **BY_TUPLES, duplicates="last"
PADDING: **IMAGES, padding_value=0, **BORDER
PADDING1: **IMAGES, padding_value_data_type="FLOAT32", padding_value=0, **BORDER
TILE: input=t(2, 3), output=t(2, 6), repeats=[1, 2]
SPACE_TO_DEPTH: input=t(1, 2, 4, 6), output=t(1, 8, 2, 3), block_size=2
DEPTH_TO_SPACE: input=t(1, 8, 2, 3), output=t(1, 2, 4, 6), block_size=2
REVERSE_SUBSEQUENCES: **SAME, sequence_lengths=u32(2, 1), axis=1
ELEMENT_WISE_IDENTITY: **SAME, scale_bias=(2.0, 1.0)
CAST: input=t(2, 3), output=i32(2, 3)
FILL_VALUE_CONSTANT: output=t(2, 3), value_data_type="FLOAT32", value=1
FILL_VALUE_SEQUENCE: output=t(2, 3), value_data_type="FLOAT32", value_start=1, value_delta=1
DIAGONAL_MATRIX: output=t(2, 3), offset=0, value=1
DIAGONAL_MATRIX1: **SAME, value_data_type="FLOAT32", value=1, diagonal_fill_begin=0,
    diagonal_fill_end=1
ONE_HOT: indices=u32(2, 1), values=t(1, 2), output=t(2, 3), axis=1
NONZERO_COORDINATES: input=t(2, 3), output_count=u32(1, 1), output_coordinates=u32(6, 2)
TOP_K: input=t(2, 5), output_value=t(2, 3), output_index=u32(2, 3), axis=1, k=3
CUMULATIVE_SUMMATION: **RUNNING, has_exclusive_sum=False
CUMULATIVE_PRODUCT: **RUNNING, has_exclusive_product=False
UPSAMPLE_2D: input=t(1, 1, 2, 3), output=t(1, 1, 4, 9), scale_size=(3, 2),
    interpolation_mode="LINEAR"
ELEMENT_WISE_IF: condition=t(2, 3, kind="UINT8"), a=t(2, 3), b=t(2, 3), output=t(2, 3)
MAX_UNPOOLING: input=t(1, 1, 2, 2), indices=u32(1, 1, 2, 2), output=t(1, 1, 4, 4)
FOLD: input=t(1, 4, 2), output=t(1, 1, 2, 3), **PATCH
UNFOLD: input=t(1, 1, 2, 3), output=t(1, 4, 2), **PATCH
"""
VALID = {
    name: eval(f"dict({members})")
    for name, members in re.findall(r"^(\w+): (.*(?:\n .*)*)", MEMBERS, re.MULTILINE)
}
VALID["SPACE_TO_DEPTH1"] = {**VALID["SPACE_TO_DEPTH"], "order": "COLUMN_ROW_DEPTH"}
VALID["DEPTH_TO_SPACE1"] = {**VALID["DEPTH_TO_SPACE"], "order": "COLUMN_ROW_DEPTH"}
VALID["TOP_K1"] = {**VALID["TOP_K"], "axis_direction": "INCREASING"}


@pytest.mark.parametrize("name", OPERATORS)
def test_valid_descriptors(name):
    desc = DESCS[name](**VALID[name])
    assert desc.validate() == desc
    assert desc.validate().validate() == desc


# --- tensors and numbers of any operator, changed one at a time -----------------------------------


def member_of(name):
    """Return the name of a member in C, without the word for tensors."""
    return {"a": "A", "b": "B"}.get(name, "".join(word.capitalize() for word in name.split("_")))


def refused(name, changes, says):
    """Assert that a change of the valid descriptor is refused by an error that begins so."""
    with pytest.raises((TypeError, ValueError)) as caught:
        DESCS[name](**VALID[name] | changes).validate()
    assert str(caught.value).startswith(f"{name}: {says}"), changes
    assert ", got " in str(caught.value)


# What may change of a tensor while the others stay.
FREE = {
    "type": (
        "CAST.input CAST.output DIAGONAL_MATRIX.output ONE_HOT.indices NONZERO_COORDINATES.input"
    ),
    "rank": (
        "FILL_VALUE_CONSTANT.output FILL_VALUE_SEQUENCE.output DIAGONAL_MATRIX.output FOLD.input"
        " UNFOLD.output"
    ),
    "sizes": (
        "SLICE.input SLICE1.input SLICE_GRAD.output_gradient GATHER_ND1.input ONE_HOT.values"
        " ONE_HOT.output FILL_VALUE_CONSTANT.output FILL_VALUE_SEQUENCE.output"
        " DIAGONAL_MATRIX.output TOP_K.input TOP_K1.input MAX_UNPOOLING.output"
    ),
}

# Tensors against which others are held, which errors name instead.
REFERENCES = {"input", "inputs", "outputs", "a", "indices", "input_gradient", "output_gradient"}
OUTPUT_FIRST = {"FILL_VALUE_CONSTANT", "FILL_VALUE_SEQUENCE", "FOLD", "ONE_HOT"}


def others_of(desc):
    """Yield descriptors of another data type, of another rank and of other sizes."""
    kind = "INT32" if desc.data_type.name != "INT32" else "FLOAT32"
    yield "type", TensorDesc(kind, desc.sizes)
    yield "rank", TensorDesc(desc.data_type, (1, *desc.sizes))
    yield "sizes", TensorDesc(desc.data_type, (*desc.sizes[:-1], desc.sizes[-1] + 1))


@pytest.mark.parametrize("name", OPERATORS)
def test_tensors_fit_each_other(name):
    for key, value in VALID[name].items():
        last = value[-1] if isinstance(value, list) else value
        if not isinstance(last, TensorDesc):
            continue
        other_is_named = key in REFERENCES or (key == "output" and name in OUTPUT_FIRST)
        for what, other in others_of(last):
            if f"{name}.{key}" not in FREE[what].split():
                changed = [*value[:-1], other] if isinstance(value, list) else other
                refused(name, {key: changed}, "" if other_is_named else member_of(key))


# What numbers of a kind cannot be.
OUTSIDE = {
    "Naturals": (-1, 2**32),
    "Positives": (0, -1, 2**32),
    "Steps": (0, 2**31),
    "Axis": (-1, 9),
    "Positive": (0, -1, 2**32),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_are_in_their_range(name):
    """Sequences have a number for each dimension, each in the range of its kind."""
    for item in dataclasses.fields(DESCS[name]):
        value = VALID[name].get(item.name)
        for number in OUTSIDE.get(item.type.removeprefix("members."), ()):
            changed = [*value[:-1], number] if isinstance(value, list) else number
            refused(name, {item.name: changed}, member_of(item.name))
        if isinstance(value, list) and isinstance(value[0], int):
            for changed in (value[:-1], [*value, value[-1]]):
                refused(name, {item.name: changed}, "")


# --- what else breaks a constraint: a member changed, and the error word for word -----------------

BROKEN = """
JOIN inputs=[]  # InputCount must be at least 1, got 0
JOIN axis=3  # Axis must be 0 to 2, got 3
JOIN inputs=[t(1, 2, 4), i32(1, 3, 4)]  # InputTensors[1]: DataType must be FLOAT32, got INT32
JOIN inputs=[t(1, 2, 4), t(3, 4)]  # InputTensors[1]: DimensionCount must be 3, got 2
JOIN inputs=[t(1, 2, 4), t(1, 3, 5)]
    InputTensors[1]: Sizes must be (1, 3, 4), got (1, 3, 5)
JOIN output=t(1, 6, 4)  # OutputTensor: Sizes must be (1, 5, 4), got (1, 6, 4)
SPLIT outputs=[]  # OutputCount must be at least 1, got 0
SPLIT outputs=[t(1, 2, 4), t(2, 3, 4)]
    OutputTensors[1]: Sizes must be (1, 3, 4), got (2, 3, 4)
SPLIT outputs=[t(1, 2, 4), t(1, 2, 4)]
    OutputTensors: Sizes along Axis 1 must add up to 5, got (2, 2)
SPLIT outputs=[t(1, 1, 4)] * 9
    OutputTensors: Sizes along Axis 1 must add up to 5, got (1, 1, 1, 1, 1, 1, 1, 1, 1)
SLICE offsets=[0, 2]
    Offsets + (Sizes - 1) * Strides must be 0 to 2, in dimension 1, got 3
SLICE strides=[1, 2**32 - 1]
    Offsets + (Sizes - 1) * Strides must be 0 to 2, in dimension 1, got 4294967295
SLICE1 SLICE_GRAD input_window_strides=[1, 0]
    InputWindowStrides must not be 0, in dimension 1, got (1, 0)
SLICE1 SLICE_GRAD input_window_strides=[1, 2**31]
    InputWindowStrides must be -2147483648 to 2147483647, got 2147483648
SLICE1 SLICE_GRAD input_window_sizes=[2, 0]  # InputWindowSizes must be 1 to 4294967295, got 0
SLICE1 SLICE_GRAD input_window_offsets=[0, 1]
    InputWindowOffsets + InputWindowSizes must be 1 to 6, in dimension 1, got 7
SLICE1 output=t(2, 4)  # OutputTensor: Sizes must be at most (2, 3), got (2, 4)
SLICE_GRAD input_gradient=t(2, 4)  # InputGradientTensor: Sizes must be at most (2, 3), got (2, 4)
GATHER index_dimensions=4  # IndexDimensions must be 0 to 3, got 4
GATHER indices=i32(1, 2, 2)
    IndicesTensor: Sizes before the last 1, IndexDimensions, must be 1, got (1, 2, 2)
GATHER index_dimensions=3
    InputTensor: the rank without leading ones + IndexDimensions must be 0 to 4,
    DimensionCount + 1, got 5
GATHER input=t(2, 4, 3), index_dimensions=2
    InputTensor: the rank without leading ones + IndexDimensions must be 0 to 4,
    DimensionCount + 1, got 5
GATHER input=t(1, 1, 5), indices=i32(2, 3, 4), axis=0, index_dimensions=3
    OutputTensor: Sizes before the last 3, DimensionCount, must be 1, got (2, 3, 4, 1, 5)
GATHER_ELEMENTS SCATTER indices=i32(2, 4)  # IndicesTensor: Sizes must be (2, 3), got (2, 4)
GATHER_ND GATHER_ND1 SCATTER_ND input_dimension_count=4
    InputDimensionCount must be 1 to 3, got 4
GATHER_ND GATHER_ND1 SCATTER_ND indices_dimension_count=0
    IndicesDimensionCount must be 1 to 3, got 0
GATHER_ND GATHER_ND1 SCATTER_ND input_dimension_count=2
    InputTensor: Sizes before the last 2, InputDimensionCount, must be 1, got (2, 3, 4)
GATHER_ND SCATTER_ND indices=i32(1, 5, 4)
    IndicesTensor: the last size, of coordinate tuples, must be 1 to 3, got 4
GATHER_ND indices=i32(1, 5, 1)  # OutputTensor: Sizes must be (5, 3, 4), got (1, 5, 4)
GATHER_ND indices=i32(2, 5, 2)
    IndicesTensor: Sizes before the last 2, IndicesDimensionCount, must be 1, got (2, 5, 2)
GATHER_ND indices=i32(2, 5, 1), indices_dimension_count=3
    IndicesTensor: the number of dimensions of all blocks must be 1 to 3, DimensionCount, got 4
GATHER_ND1 batch_dimension_count=2  # BatchDimensionCount must be 0 to 1, got 2
GATHER_ND1 batch_dimension_count=-1  # BatchDimensionCount must be 0 to 1, got -1
GATHER_ND1 indices=i32(1, 3, 2)  # IndicesTensor: batch sizes must be (2,), got (3,)
GATHER_ND1 indices=i32(1, 2, 3)
    IndicesTensor: the last size, of coordinate tuples, must be 1 to 2, got 3
PADDING padding_mode="SYMMETRIC", level="2_1"
    PaddingMode SYMMETRIC is not available at feature level 2_1; the lowest level that allows it
    is 3_0
PADDING PADDING1 padding_mode="WRAP", level="6_3"
    PaddingMode WRAP is not available at feature level 6_3; the lowest level that allows it is 6_4
PADDING1 padding_value_data_type="FLOAT16"
    PaddingValueDataType must be FLOAT32, that of the output, got FLOAT16
SPACE_TO_DEPTH SPACE_TO_DEPTH1 DEPTH_TO_SPACE DEPTH_TO_SPACE1 MAX_UNPOOLING input=t(8, 2, 6)
    InputTensor: DimensionCount must be 4 at feature level 6_4, got 3; no level allows FLOAT32
    with 3 dimensions
SPACE_TO_DEPTH SPACE_TO_DEPTH1 DEPTH_TO_SPACE DEPTH_TO_SPACE1 MAX_UNPOOLING output=t(8, 2, 6)
    OutputTensor: DimensionCount must be 4 at feature level 6_4, got 3; no level allows FLOAT32
    with 3 dimensions
SPACE_TO_DEPTH SPACE_TO_DEPTH1 block_size=4
    InputTensor: height and width must be multiples of BlockSize 4, got Sizes (1, 2, 4, 6)
DEPTH_TO_SPACE DEPTH_TO_SPACE1 block_size=3
    InputTensor: channels must be a multiple of BlockSize squared, 9, got Sizes (1, 8, 2, 3)
ELEMENT_WISE_IDENTITY input=i32(2, 3), output=i32(2, 3)
    ScaleBias is for floating-point tensors, got INT32
FILL_VALUE_CONSTANT value_data_type="INT32"
    ValueDataType must be FLOAT32, that of the output, got INT32
FILL_VALUE_SEQUENCE value_data_type="FLOAT16"
    ValueDataType must be FLOAT32, that of the output, got FLOAT16
DIAGONAL_MATRIX1 value_data_type="FLOAT64"
    ValueDataType must be FLOAT32, that of the output, got FLOAT64
ONE_HOT values=t(1, 1)  # ValuesTensor: must have two elements, got Sizes (1, 1)
NONZERO_COORDINATES output_coordinates=u32(6, 1)
    OutputCoordinatesTensor: the last size must be 2 to 2, got 1
NONZERO_COORDINATES output_coordinates=u32(6, 3)
    OutputCoordinatesTensor: the last size must be 2 to 2, got 3
TOP_K TOP_K1 k=6  # K must be 1 to 5, the size along Axis, got 6
UPSAMPLE_2D scale_size=(3, 2**31)
    ScaleSize: Height must be 1 to 2147483647, 2**32 - 1 over the size 2, got 2147483648
UPSAMPLE_2D scale_size=(-1, 2)
    ScaleSize: Width must be 1 to 1431655765, 2**32 - 1 over the size 3, got -1
UPSAMPLE_2D scale_size=(2,)  # ScaleSize must be a width and a height, got (2,)
ELEMENT_WISE_IF condition=t(2, 3, kind="INT8")
    ConditionTensor: DataType must be one of UINT8 at feature level 6_4, got INT8; no level allows
    INT8 with 2 dimensions
FOLD UNFOLD window_sizes=[1] * 7  # WindowSizes must have 2 entries, DimensionCount, got 7
FOLD UNFOLD window_sizes=[]  # WindowSizes must have 2 entries, DimensionCount, got 0
FOLD UNFOLD dilations=[2, 1]
    WindowSizes: a window must fit into the padded image, got (2, 2) for Sizes (1, 1, 2, 3)
FOLD UNFOLD window_sizes=[2]  # WindowSizes must have 2 entries, DimensionCount, got 1
UNFOLD strides=[2**31, 1], start_padding=[2**31, 0]
    InputTensor with padding: a tensor addresses at most 2**32 - 1 elements, got 6442450950 by
    Sizes (1, 1, 2147483650, 3)
"""
CASES = [
    pytest.param(name, eval(f"dict({changes})"), says, id=f"{name}: {says}")
    for row, says in sessions(BROKEN)
    for names, changes in re.findall(r"^([A-Z_\d ]+) (.*)", row)
    for name in names.split()
]


@pytest.mark.parametrize(("name", "changes", "says"), CASES)
def test_a_broken_constraint(name, changes, says):
    members = {**VALID[name], **changes}
    level = members.pop("level", LEVELS[-1])
    desc = DESCS[name](**members)
    with pytest.raises((TypeError, ValueError)) as caught:
        desc.validate(level)
    assert str(caught.value) == f"{name}: {says}"
    assert type(caught.value) is (
        TypeError if "DataType" in says or "floating" in says else ValueError
    )


# --- rules of all operators alike ---


def outputs_of(name):
    """The fields that are outputs, each with its member and its first descriptor."""
    for member in (m["name"] for m in OPERATORS[name]["members"] if m["kind"] == "output"):
        argument = VALID[name][field(member)]
        if isinstance(argument, list):
            yield field(member), f"{member}[0]", argument[0]
        else:
            yield field(member), member, argument


def with_output(name, changed, **members):
    """The valid descriptor with members of an output's descriptor replaced."""
    argument = VALID[name][changed]
    if isinstance(argument, list):
        return {
            **VALID[name],
            changed: [dataclasses.replace(argument[0], **members), *argument[1:]],
        }
    return {**VALID[name], changed: dataclasses.replace(argument, **members)}


@pytest.mark.parametrize("name", OPERATORS)
def test_elements_of_an_output_share_no_memory(name):
    for changed, member, desc in outputs_of(name):
        if max(desc.sizes) == 1:
            continue
        strides = (0,) * desc.rank
        members = with_output(name, changed, strides=strides)
        with pytest.raises(ValueError, match="share memory") as caught:
            DESCS[name](**members).validate()
        assert str(caught.value) == (
            f"{name}: {member}: elements of an output must not share memory,"
            f" got Sizes {desc.sizes} and Strides {strides}"
        )


@pytest.mark.parametrize("name", OPERATORS)
def test_outputs_are_not_owned(name):
    for changed, member, _ in outputs_of(name):
        members = with_output(name, changed, flags="OWNED_BY_DML")
        with pytest.raises(ValueError, match="OWNED_BY_DML") as caught:
            DESCS[name](**members).validate()
        assert str(caught.value) == f"{name}: {member}: Flags OWNED_BY_DML is for inputs only"


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_not_there_before_its_level(name):
    first = LEVELS.index(next(rows_of(name))[0])
    desc = DESCS[name](**VALID[name])
    for level in LEVELS[:first]:
        with pytest.raises(ValueError, match="not available") as caught:
            desc.validate(level)
        assert str(caught.value) == (
            f"{name}: the operator is not available at feature level {level};"
            f" the lowest level that has it is {LEVELS[first]}"
        )


IN_PLACE = FACTS["tensor_desc"]["in_place"]["supporting_operators_in_this_table"]


@pytest.mark.parametrize("name", OPERATORS)
def test_an_output_over_an_input(name):
    """One storage for each pair of an input and an output: the very same bytes, or some of them."""
    operator = compile(DESCS[name](**VALID[name]))
    desc = operator.desc
    fresh = [tl.zeros(d.sizes, dtype=d.data_type.dtype) for d in desc.input_descs]
    for i, source in enumerate(desc.input_descs):
        for j, target in enumerate(desc.output_descs):
            storage = bytearray(max(source.total_tensor_size_in_bytes, 64) * 8)
            inputs, outs = list(fresh), [d.empty() for d in desc.output_descs]
            inputs[i] = source.over(storage)
            outs[j] = target.over(storage)
            same = source.layout.nbytes(inputs[i].dtype) == target.layout.nbytes(outs[j].dtype)
            if same and name in IN_PLACE:
                operator(*inputs, out=outs)
            else:
                with pytest.raises(ValueError, match=f"^{name}: Output.* no memory, got"):
                    operator(*inputs, out=outs)
            source_bytes = source.layout.nbytes(inputs[i].dtype)
            if source_bytes <= 16:
                continue
            outs[j] = target.over(storage, 16)
            with pytest.raises(ValueError, match=f"^{name}: Output.*, got .* bytes shared; copy"):
                operator(*inputs, out=outs)
