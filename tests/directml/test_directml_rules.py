"""Each constraint that the facts state of an operator, broken: the error word for word."""

import dataclasses

import pytest
from directml_facts import DESCS, FACTS, OPERATORS, field, rows_of

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

# A valid descriptor of each operator, all members given.
VALID = {
    "JOIN": {"inputs": [t(1, 2, 4), t(1, 3, 4)], "output": t(1, 5, 4), "axis": 1},
    "SPLIT": {"input": t(1, 5, 4), "outputs": [t(1, 2, 4), t(1, 3, 4)], "axis": 1},
    "SLICE": {
        "input": t(2, 3),
        "output": t(1, 2),
        "offsets": [0, 0],
        "sizes": [1, 2],
        "strides": [1, 1],
    },
    "SLICE1": {"input": t(2, 6), "output": t(2, 3), **WINDOW},
    "SLICE_GRAD": {"input_gradient": t(2, 3), "output_gradient": t(2, 6), **WINDOW},
    "GATHER": {
        "input": t(1, 4, 3),
        "indices": i32(1, 1, 2),
        "output": t(1, 2, 3),
        "axis": 1,
        "index_dimensions": 1,
    },
    "GATHER_ELEMENTS": {"input": t(4, 3), "indices": i32(2, 3), "output": t(2, 3), "axis": 0},
    "GATHER_ND": {
        "input": t(2, 3, 4),
        "indices": i32(1, 5, 2),
        "output": t(1, 5, 4),
        **BY_TUPLES,
    },
    "GATHER_ND1": {
        "input": t(2, 3, 4),
        "indices": i32(1, 2, 2),
        "output": t(1, 1, 2),
        **BY_TUPLES,
        "batch_dimension_count": 1,
    },
    "SCATTER": {
        "input": t(4, 3),
        "indices": i32(2, 3),
        "updates": t(2, 3),
        "output": t(4, 3),
        "axis": 0,
        "duplicates": "last",
    },
    "SCATTER_ND": {
        "input": t(2, 3, 4),
        "indices": i32(1, 5, 2),
        "updates": t(1, 5, 4),
        "output": t(2, 3, 4),
        **BY_TUPLES,
        "duplicates": "last",
    },
    "PADDING": {"input": t(1, 1, 2, 3), "output": t(1, 1, 4, 4), "padding_value": 0, **BORDER},
    "PADDING1": {
        "input": t(1, 1, 2, 3),
        "output": t(1, 1, 4, 4),
        "padding_value_data_type": "FLOAT32",
        "padding_value": 0,
        **BORDER,
    },
    "TILE": {"input": t(2, 3), "output": t(2, 6), "repeats": [1, 2]},
    "SPACE_TO_DEPTH": {"input": t(1, 2, 4, 6), "output": t(1, 8, 2, 3), "block_size": 2},
    "DEPTH_TO_SPACE": {"input": t(1, 8, 2, 3), "output": t(1, 2, 4, 6), "block_size": 2},
    "REVERSE_SUBSEQUENCES": {
        "input": t(2, 3),
        "sequence_lengths": u32(2, 1),
        "output": t(2, 3),
        "axis": 1,
    },
    "ELEMENT_WISE_IDENTITY": {"input": t(2, 3), "output": t(2, 3), "scale_bias": (2.0, 1.0)},
    "CAST": {"input": t(2, 3), "output": i32(2, 3)},
    "FILL_VALUE_CONSTANT": {"output": t(2, 3), "value_data_type": "FLOAT32", "value": 1},
    "FILL_VALUE_SEQUENCE": {
        "output": t(2, 3),
        "value_data_type": "FLOAT32",
        "value_start": 1,
        "value_delta": 1,
    },
    "DIAGONAL_MATRIX": {"output": t(2, 3), "offset": 0, "value": 1},
    "DIAGONAL_MATRIX1": {
        "input": t(2, 3),
        "output": t(2, 3),
        "value_data_type": "FLOAT32",
        "value": 1,
        "diagonal_fill_begin": 0,
        "diagonal_fill_end": 1,
    },
    "ONE_HOT": {"indices": u32(2, 1), "values": t(1, 2), "output": t(2, 3), "axis": 1},
    "NONZERO_COORDINATES": {
        "input": t(2, 3),
        "output_count": u32(1, 1),
        "output_coordinates": u32(6, 2),
    },
    "TOP_K": {
        "input": t(2, 5),
        "output_value": t(2, 3),
        "output_index": u32(2, 3),
        "axis": 1,
        "k": 3,
    },
    "CUMULATIVE_SUMMATION": {
        "input": t(2, 3),
        "output": t(2, 3),
        "axis": 1,
        "axis_direction": "INCREASING",
        "has_exclusive_sum": False,
    },
    "CUMULATIVE_PRODUCT": {
        "input": t(2, 3),
        "output": t(2, 3),
        "axis": 1,
        "axis_direction": "INCREASING",
        "has_exclusive_product": False,
    },
    "UPSAMPLE_2D": {
        "input": t(1, 1, 2, 3),
        "output": t(1, 1, 4, 9),
        "scale_size": (3, 2),
        "interpolation_mode": "LINEAR",
    },
    "ELEMENT_WISE_IF": {
        "condition": t(2, 3, kind="UINT8"),
        "a": t(2, 3),
        "b": t(2, 3),
        "output": t(2, 3),
    },
    "MAX_UNPOOLING": {
        "input": t(1, 1, 2, 2),
        "indices": u32(1, 1, 2, 2),
        "output": t(1, 1, 4, 4),
    },
    "FOLD": {"input": t(1, 4, 2), "output": t(1, 1, 2, 3), **PATCH},
    "UNFOLD": {"input": t(1, 1, 2, 3), "output": t(1, 4, 2), **PATCH},
}
VALID["SPACE_TO_DEPTH1"] = {**VALID["SPACE_TO_DEPTH"], "order": "COLUMN_ROW_DEPTH"}
VALID["DEPTH_TO_SPACE1"] = {**VALID["DEPTH_TO_SPACE"], "order": "COLUMN_ROW_DEPTH"}
VALID["TOP_K1"] = {**VALID["TOP_K"], "axis_direction": "INCREASING"}


@pytest.mark.parametrize("name", OPERATORS)
def test_valid_descriptors(name):
    desc = DESCS[name](**VALID[name])
    assert desc.validate() == desc
    assert desc.validate().validate() == desc


# --- what breaks a constraint: a member changed, and what is said ---------------------------------


def member(name):
    """The member that a field is, by its name: tensors have a word more."""
    return {"a": "A", "b": "B"}.get(name, "".join(word.capitalize() for word in name.split("_")))


def wrong_type(**changed):
    """A tensor of another data type than FLOAT32."""
    ((name, desc),) = changed.items()
    return changed, f"{member(name)}Tensor: DataType must be FLOAT32, got {desc.data_type.name}"


def wrong_rank(rank, **changed):
    """A tensor of more or fewer dimensions."""
    ((name, desc),) = changed.items()
    return changed, f"{member(name)}Tensor: DimensionCount must be {rank}, got {desc.rank}"


def wrong_sizes(sizes, **changed):
    """A tensor of other sizes."""
    ((name, desc),) = changed.items()
    return changed, f"{member(name)}Tensor: Sizes must be {sizes}, got {desc.sizes}"


def wrong_count(count, **changed):
    """A list that has not an entry for each dimension."""
    ((name, values),) = changed.items()
    return changed, f"{member(name)} must have {count} entries, DimensionCount, got {len(values)}"


def outside(allowed, **changed):
    """A number outside of its range."""
    ((name, value),) = changed.items()
    return changed, f"{member(name)} must be {allowed}, got {value}"


NONE = "no level allows"

WINDOWS = [
    (
        {"input_window_strides": [1, 0]},
        "InputWindowStrides must not be 0, in dimension 1, got (1, 0)",
    ),
    (
        {"input_window_strides": [1, 2**31]},
        "InputWindowStrides must fit 32 bits with a sign, got 2147483648",
    ),
    ({"input_window_sizes": [2, 0]}, "InputWindowSizes must be 1 to 2**32 - 1, got 0"),
    (
        {"input_window_offsets": [0, 1]},
        "InputWindowOffsets + InputWindowSizes must be at most 6, in dimension 1, got 1 + 6",
    ),
    ({"input_window_offsets": [0, -1]}, "InputWindowOffsets must be 0 to 2**32 - 1, got -1"),
]
WINDOW_COUNTS = [
    wrong_count(2, input_window_offsets=[0]),
    wrong_count(2, input_window_sizes=[1, 1, 1]),
    wrong_count(2, input_window_strides=[]),
]
COUNTS_OF_TUPLES = [
    outside("1 to 3", input_dimension_count=4),
    outside("1 to 3", input_dimension_count=0),
    outside("1 to 3", indices_dimension_count=4),
    outside("1 to 3", indices_dimension_count=0),
    (
        {"input_dimension_count": 2},
        "InputTensor: Sizes before the last 2, InputDimensionCount, must be 1, got (2, 3, 4)",
    ),
]
INDICES_RANK = wrong_rank(3, indices=i32(5, 2))
OUTPUT_TYPE = wrong_type(output=i32(2, 3))
OUTPUT_RANK = wrong_rank(2, output=t(1, 2, 3))
OUTPUT_SIZES = wrong_sizes((2, 3), output=t(3, 2))
AXIS = [outside("0 to 1", axis=2), outside("0 to 1", axis=-1)]
BORDERS = {
    0: [wrong_sizes((1, 1, 4, 4), output=t(1, 1, 4, 5))],
    1: [
        wrong_count(4, start_padding=[1, 0]),
        ({"end_padding": [1] * 5}, "EndPadding must have 4 entries, DimensionCount, got 5"),
        wrong_rank(4, output=t(1, 4, 4)),
    ],
    2: [
        ({"start_padding": [0, 0, -1, 0]}, "StartPadding must be 0 to 2**32 - 1, got -1"),
        ({"end_padding": [0, 0, 0, 2**32]}, "EndPadding must be 0 to 2**32 - 1, got 4294967296"),
    ],
    3: [wrong_type(output=i32(1, 1, 4, 4))],
}


NOT_FOUR = f"must be 4 at feature level {LEVELS[-1]}, got 3; {NONE} FLOAT32 with 3 dimensions"
BY_FOUR = [
    ({"input": t(8, 2, 6)}, f"InputTensor: DimensionCount {NOT_FOUR}"),
    ({"output": t(8, 2, 6)}, f"OutputTensor: DimensionCount {NOT_FOUR}"),
]
SELECTED = {
    0: [wrong_rank(2, output_value=t(3)), wrong_rank(2, output_index=u32(3))],
    1: [wrong_type(output_value=i32(2, 3))],
    2: AXIS,
    3: [outside("1 to 5, the size along Axis", k=0), outside("1 to 5, the size along Axis", k=6)],
    4: [wrong_sizes((2, 3), output_value=t(2, 4)), wrong_sizes((2, 3), output_index=u32(1, 3))],
}
TO_DEPTH = {
    0: BY_FOUR,
    1: [wrong_type(output=i32(1, 8, 2, 3))],
    2: [
        (
            {"block_size": 4},
            "InputTensor: height and width must be multiples of BlockSize 4,"
            " got Sizes (1, 2, 4, 6)",
        ),
        outside("1 to 2**32 - 1", block_size=0),
        wrong_sizes((1, 8, 2, 3), output=t(1, 8, 2, 6)),
    ],
}
TO_SPACE = {
    0: BY_FOUR,
    1: [wrong_type(output=i32(1, 2, 4, 6))],
    2: [
        (
            {"block_size": 3},
            "InputTensor: channels must be a multiple of BlockSize squared, 9,"
            " got Sizes (1, 8, 2, 3)",
        ),
        outside("1 to 2**32 - 1", block_size=-2),
        wrong_sizes((1, 2, 4, 6), output=t(1, 8, 2, 6)),
    ],
}
RUNNING = {0: [OUTPUT_TYPE, OUTPUT_RANK, OUTPUT_SIZES], 1: AXIS}
PATCHES = {
    0: [
        ({"window_sizes": [1] * 7}, "DimensionCount must be 1 to 6, got 7 WindowSizes"),
        ({"window_sizes": []}, "DimensionCount must be 1 to 6, got 0 WindowSizes"),
        wrong_count(2, strides=[1]),
        wrong_count(2, dilations=[1, 1, 1]),
        wrong_count(2, start_padding=[0]),
        wrong_count(2, end_padding=[]),
    ],
    1: [
        ({"window_sizes": [2, 0]}, "WindowSizes must be 1 to 2**32 - 1, got 0"),
        ({"strides": [0, 1]}, "Strides must be 1 to 2**32 - 1, got 0"),
        ({"dilations": [1, 0]}, "Dilations must be 1 to 2**32 - 1, got 0"),
        ({"start_padding": [-1, 0]}, "StartPadding must be 0 to 2**32 - 1, got -1"),
        ({"end_padding": [0, -1]}, "EndPadding must be 0 to 2**32 - 1, got -1"),
        (
            {"dilations": [2, 1]},
            "WindowSizes: a window must fit into the padded image,"
            " got (2, 2) for Sizes (1, 1, 2, 3)",
        ),
    ],
}

# By operator and the number of the constraint in the facts.
BROKEN = {
    "JOIN": {
        0: [({"inputs": []}, "InputCount must be at least 1, got 0")],
        1: [outside("0 to 2", axis=3), outside("0 to 2", axis=-1)],
        2: [
            (
                {"inputs": [t(1, 2, 4), i32(1, 3, 4)]},
                "InputTensors[1]: DataType must be FLOAT32, got INT32",
            ),
            ({"inputs": [t(1, 2, 4), t(3, 4)]}, "InputTensors[1]: DimensionCount must be 3, got 2"),
            wrong_type(output=i32(1, 5, 4)),
            wrong_rank(3, output=t(5, 4)),
        ],
        3: [
            (
                {"inputs": [t(1, 2, 4), t(1, 3, 5)]},
                "InputTensors[1]: Sizes away from Axis 1 must be (1, 3, 4), got (1, 3, 5)",
            ),
            wrong_sizes((1, 5, 4), output=t(1, 5, 5)),
        ],
        4: [wrong_sizes((1, 5, 4), output=t(1, 6, 4))],
    },
    "SPLIT": {
        0: [({"outputs": []}, "OutputCount must be at least 1, got 0")],
        1: [outside("0 to 2", axis=3), outside("0 to 2", axis=-1)],
        2: [
            (
                {"outputs": [t(1, 2, 4), i32(1, 3, 4)]},
                "OutputTensors[1]: DataType must be FLOAT32, got INT32",
            ),
            (
                {"outputs": [t(2, 4), t(1, 3, 4)]},
                "OutputTensors[0]: DimensionCount must be 3, got 2",
            ),
        ],
        3: [
            (
                {"outputs": [t(1, 2, 4), t(2, 3, 4)]},
                "OutputTensors[1]: Sizes away from Axis 1 must be (1, 3, 4), got (2, 3, 4)",
            )
        ],
        4: [
            (
                {"outputs": [t(1, 2, 4), t(1, 2, 4)]},
                "OutputTensors: Sizes along Axis 1 must add up to 5, got (2, 2)",
            ),
            (
                {"outputs": [t(1, 1, 4)] * 9},
                "OutputTensors: Sizes along Axis 1 must add up to 5, got 9 numbers",
            ),
        ],
    },
    "SLICE": {
        0: [
            wrong_sizes((1, 2), output=t(2, 2)),
            ({"sizes": [1, 0]}, "Sizes must be 1 to 2**32 - 1, got 0"),
        ],
        1: [
            (
                {"offsets": [0, 2]},
                "Offsets + (Sizes - 1) * Strides must be below 3, the size of the input,"
                " in dimension 1, got 3",
            ),
            (
                {"strides": [1, 2**32 - 1]},
                "Offsets + (Sizes - 1) * Strides must be below 3, the size of the input,"
                " in dimension 1, got 4294967295",
            ),
            ({"offsets": [0, -1]}, "Offsets must be 0 to 2**32 - 1, got -1"),
        ],
        2: [
            wrong_count(2, offsets=[0]),
            wrong_count(2, sizes=[1, 1, 1]),
            wrong_count(2, strides=[]),
            wrong_rank(2, output=t(2)),
        ],
        3: [
            ({"strides": [1, -1]}, "Strides must be 1 to 2**32 - 1, got -1"),
            ({"strides": [1, 0]}, "Strides must be 1 to 2**32 - 1, got 0"),
        ],
        4: [wrong_type(output=i32(1, 2))],
    },
    "SLICE1": {
        0: [WINDOWS[2]],
        1: WINDOWS[3:],
        2: WINDOWS[:2],
        3: [({"output": t(2, 4)}, "OutputTensor: Sizes must be at most (2, 3), got (2, 4)")],
        4: [*WINDOW_COUNTS, wrong_rank(2, output=t(3))],
        5: [OUTPUT_TYPE],
    },
    "SLICE_GRAD": {
        0: WINDOWS[:2],
        1: [
            *WINDOWS[2:],
            (
                {"input_gradient": t(2, 4)},
                "InputGradientTensor: Sizes must be at most (2, 3), got (2, 4)",
            ),
        ],
        2: [*WINDOW_COUNTS, wrong_rank(2, input_gradient=t(3))],
        3: [wrong_type(output_gradient=i32(2, 6))],
    },
    "GATHER": {
        0: [wrong_rank(3, indices=i32(1, 2)), wrong_rank(3, output=t(2, 3))],
        1: [wrong_type(output=i32(1, 2, 3))],
        2: [outside("0 to 2", axis=3), outside("0 to 2", axis=-1)],
        3: [
            outside("0 to 3", index_dimensions=4),
            outside("0 to 3", index_dimensions=-1),
            (
                {"indices": i32(1, 2, 2)},
                "IndicesTensor: Sizes before the last 1, IndexDimensions, must be 1, got (1, 2, 2)",
            ),
        ],
        4: [
            (
                {"index_dimensions": 3},
                "InputTensor: the rank without leading ones + IndexDimensions - 1 must be"
                " at most DimensionCount, 3, got 2 + 3 - 1",
            ),
            (
                {"input": t(2, 4, 3), "index_dimensions": 2},
                "InputTensor: the rank without leading ones + IndexDimensions - 1 must be"
                " at most DimensionCount, 3, got 3 + 2 - 1",
            ),
            (
                {"input": t(1, 1, 5), "indices": i32(2, 3, 4), "axis": 0, "index_dimensions": 3},
                "OutputTensor: sizes before the last 3, DimensionCount, must be 1,"
                " got (2, 3, 4, 1, 5)",
            ),
            wrong_sizes((1, 2, 3), output=t(1, 4, 3)),
        ],
    },
    "GATHER_ELEMENTS": {
        0: [wrong_rank(2, indices=i32(3)), OUTPUT_RANK],
        1: [OUTPUT_TYPE],
        2: [
            (
                {"indices": i32(2, 4)},
                "IndicesTensor: Sizes away from Axis 0 must be (2, 3), got (2, 4)",
            )
        ],
        3: [OUTPUT_SIZES],
        4: AXIS,
    },
    "GATHER_ND": {
        0: [INDICES_RANK, wrong_rank(3, output=t(5, 4))],
        1: [wrong_type(output=i32(1, 5, 4))],
        2: [({"indices": i32(1, 5, 1)}, "OutputTensor: Sizes must be (5, 3, 4), got (1, 5, 4)")],
        3: [
            *COUNTS_OF_TUPLES,
            (
                {"indices": i32(2, 5, 2)},
                "IndicesTensor: Sizes before the last 2, IndicesDimensionCount, must be 1,"
                " got (2, 5, 2)",
            ),
        ],
        4: [
            (
                {"indices": i32(1, 5, 4)},
                "IndicesTensor: the last size, of coordinate tuples, must be at most 3, got 4",
            )
        ],
        5: [
            (
                {"indices": i32(2, 5, 1), "indices_dimension_count": 3},
                "IndicesTensor: blocks must have at most 3 dimensions, DimensionCount,"
                " got sizes (2, 5, 3, 4)",
            )
        ],
    },
    "GATHER_ND1": {
        0: [wrong_rank(3, indices=i32(2, 2)), wrong_rank(3, output=t(2))],
        1: [wrong_type(output=i32(1, 1, 2))],
        2: [({"indices": i32(1, 2, 1)}, "OutputTensor: Sizes must be (1, 2, 4), got (1, 1, 2)")],
        3: COUNTS_OF_TUPLES,
        4: [
            outside("0 to 1", batch_dimension_count=2),
            outside("0 to 1", batch_dimension_count=-1),
            ({"indices": i32(1, 3, 2)}, "IndicesTensor: batch sizes must be (2,), got (3,)"),
        ],
        5: [
            (
                {"indices": i32(1, 2, 3)},
                "IndicesTensor: the last size, of coordinate tuples, must be at most 2, got 3",
            )
        ],
    },
    "SCATTER": {
        0: [
            wrong_rank(2, indices=i32(3)),
            wrong_rank(2, updates=t(3)),
            wrong_rank(2, output=t(1, 4, 3)),
        ],
        1: [wrong_type(updates=i32(2, 3)), wrong_type(output=i32(4, 3))],
        2: [
            (
                {"indices": i32(2, 4)},
                "IndicesTensor: Sizes away from Axis 0 must be (2, 3), got (2, 4)",
            )
        ],
        3: [wrong_sizes((2, 3), updates=t(3, 3)), wrong_sizes((4, 3), output=t(2, 3))],
        4: AXIS,
    },
    "SCATTER_ND": {
        0: [INDICES_RANK, wrong_rank(3, updates=t(5, 4)), wrong_rank(3, output=t(1, 2, 3, 4))],
        1: [wrong_type(updates=i32(1, 5, 4)), wrong_type(output=i32(2, 3, 4))],
        2: [wrong_sizes((2, 3, 4), output=t(2, 3, 5))],
        3: [
            (
                {"indices": i32(1, 5, 4)},
                "IndicesTensor: the last size, of coordinate tuples, must be at most 3, got 4",
            ),
            wrong_sizes((1, 5, 4), updates=t(1, 5, 3)),
        ],
        4: COUNTS_OF_TUPLES,
    },
    "PADDING": {
        **BORDERS,
        4: [
            (
                {"padding_mode": "SYMMETRIC", "level": "2_1"},
                "PaddingMode SYMMETRIC is not available at feature level 2_1;"
                " the lowest level that allows it is 3_0",
            ),
            (
                {"padding_mode": "WRAP", "level": "6_3"},
                "PaddingMode WRAP is not available at feature level 6_3;"
                " the lowest level that allows it is 6_4",
            ),
        ],
    },
    "PADDING1": {
        **BORDERS,
        4: [
            (
                {"padding_value_data_type": "FLOAT16"},
                "PaddingValueDataType must be FLOAT32, that of the output, got FLOAT16",
            )
        ],
        5: [
            (
                {"padding_mode": "WRAP", "level": "6_3"},
                "PaddingMode WRAP is not available at feature level 6_3;"
                " the lowest level that allows it is 6_4",
            )
        ],
    },
    "TILE": {
        0: [({"repeats": [1, 0]}, "Repeats must be 1 to 2**32 - 1, got 0")],
        1: [
            wrong_count(2, repeats=[1]),
            wrong_rank(2, output=t(1, 2, 6)),
            wrong_sizes((2, 6), output=t(2, 7)),
        ],
        2: [wrong_type(output=i32(2, 6))],
    },
    "SPACE_TO_DEPTH": TO_DEPTH,
    "SPACE_TO_DEPTH1": TO_DEPTH,
    "DEPTH_TO_SPACE": TO_SPACE,
    "DEPTH_TO_SPACE1": TO_SPACE,
    "REVERSE_SUBSEQUENCES": {
        0: [wrong_rank(2, sequence_lengths=u32(2)), OUTPUT_RANK],
        1: [OUTPUT_TYPE, OUTPUT_SIZES, wrong_sizes((2, 1), sequence_lengths=u32(2, 3))],
        2: AXIS,
    },
    "ELEMENT_WISE_IDENTITY": {
        0: [
            OUTPUT_TYPE,
            OUTPUT_RANK,
            OUTPUT_SIZES,
            (
                {"input": i32(2, 3), "output": i32(2, 3)},
                "ScaleBias is for floating-point tensors, got INT32",
            ),
        ]
    },
    "CAST": {0: [OUTPUT_RANK, OUTPUT_SIZES]},
    "FILL_VALUE_CONSTANT": {
        0: [
            (
                {"value_data_type": "INT32"},
                "ValueDataType must be FLOAT32, that of the output, got INT32",
            )
        ]
    },
    "FILL_VALUE_SEQUENCE": {
        0: [
            (
                {"value_data_type": "FLOAT16"},
                "ValueDataType must be FLOAT32, that of the output, got FLOAT16",
            )
        ]
    },
    "DIAGONAL_MATRIX": {},
    "DIAGONAL_MATRIX1": {
        0: [
            (
                {"value_data_type": "FLOAT64"},
                "ValueDataType must be FLOAT32, that of the output, got FLOAT64",
            )
        ],
        1: [OUTPUT_TYPE, OUTPUT_RANK, OUTPUT_SIZES],
    },
    "ONE_HOT": {
        0: [wrong_rank(2, indices=u32(2)), wrong_rank(2, values=t(2))],
        1: [wrong_type(values=i32(1, 2))],
        2: AXIS,
        3: [
            ({"values": t(1, 1)}, "ValuesTensor: must have two elements, got Sizes (1, 1)"),
            wrong_sizes((2, 1), indices=u32(2, 3)),
        ],
    },
    "NONZERO_COORDINATES": {
        0: [wrong_sizes((1, 1), output_count=u32(2, 1)), wrong_rank(2, output_count=u32(1))],
        1: [
            wrong_sizes((6, 2), output_coordinates=u32(5, 2)),
            wrong_rank(2, output_coordinates=u32(1, 6, 2)),
        ],
        2: [
            (
                {"output_coordinates": u32(6, 1)},
                "OutputCoordinatesTensor: the last size must be 2 to 2, got 1",
            ),
            (
                {"output_coordinates": u32(6, 3)},
                "OutputCoordinatesTensor: the last size must be 2 to 2, got 3",
            ),
        ],
    },
    "TOP_K": SELECTED,
    "TOP_K1": SELECTED,
    "CUMULATIVE_SUMMATION": RUNNING,
    "CUMULATIVE_PRODUCT": RUNNING,
    "UPSAMPLE_2D": {
        0: [
            (
                {"scale_size": (3, 0)},
                "ScaleSize: Height must be 1 to 2147483647, 2**32 - 1 over the size 2, got 0",
            ),
            (
                {"scale_size": (3, 2**31)},
                "ScaleSize: Height must be 1 to 2147483647, 2**32 - 1 over the size 2,"
                " got 2147483648",
            ),
            (
                {"scale_size": (-1, 2)},
                "ScaleSize: Width must be 1 to 1431655765, 2**32 - 1 over the size 3, got -1",
            ),
            ({"scale_size": (2,)}, "ScaleSize must be a width and a height, got (2,)"),
        ],
        1: [
            wrong_sizes((1, 1, 4, 9), output=t(1, 2, 4, 9)),
            wrong_sizes((1, 1, 4, 9), output=t(1, 1, 6, 6)),
        ],
        2: [wrong_type(output=t(1, 1, 4, 9, kind="FLOAT16"))],
    },
    "ELEMENT_WISE_IF": {
        0: [
            wrong_rank(2, condition=t(3, kind="UINT8")),
            wrong_sizes((2, 3), condition=t(2, 1, kind="UINT8")),
            wrong_rank(2, b=t(3)),
            wrong_sizes((2, 3), b=t(1, 3)),
            OUTPUT_RANK,
            OUTPUT_SIZES,
        ],
        1: [
            wrong_type(b=i32(2, 3)),
            OUTPUT_TYPE,
            (
                {"condition": t(2, 3, kind="INT8")},
                f"ConditionTensor: DataType must be one of UINT8 at feature level {LEVELS[-1]},"
                f" got INT8; {NONE} INT8 with 2 dimensions",
            ),
        ],
    },
    "MAX_UNPOOLING": {
        0: [wrong_type(output=i32(1, 1, 4, 4))],
        1: [wrong_sizes((1, 1, 2, 2), indices=u32(1, 1, 2, 3))],
        2: BY_FOUR,
    },
    "FOLD": {
        0: [
            *PATCHES[0],
            (
                {"window_sizes": [2]},
                "OutputTensor: DimensionCount must be 3, two more than WindowSizes, got 4",
            ),
        ],
        1: [
            *PATCHES[1],
            wrong_sizes((1, 4, 2), input=t(1, 4, 3)),
            wrong_sizes((1, 4, 2), input=t(2, 1, 4, 2)),
            wrong_type(output=i32(1, 1, 2, 3)),
        ],
    },
    "UNFOLD": {
        0: [
            *PATCHES[0],
            (
                {"window_sizes": [2]},
                "InputTensor: DimensionCount must be 3, two more than WindowSizes, got 4",
            ),
        ],
        1: [
            *PATCHES[1],
            wrong_sizes((1, 4, 2), output=t(1, 5, 2)),
            (
                {"strides": [2**31, 1], "start_padding": [2**31, 0]},
                "InputTensor with padding: a tensor addresses at most 2**32 - 1 elements,"
                " got 6442450950 by Sizes (1, 1, 2147483650, 3)",
            ),
            wrong_type(output=i32(1, 4, 2)),
        ],
    },
}

# Constraints that say what is allowed, or what an operator equals: nothing breaks them.
UNBREAKABLE = {
    "SPACE_TO_DEPTH1": {3},
    "DEPTH_TO_SPACE1": {3},
    "REVERSE_SUBSEQUENCES": {3},
    "CAST": {1},
    "DIAGONAL_MATRIX": {0},
    "DIAGONAL_MATRIX1": {2},
    "TOP_K1": {5},
}

CASES = [
    pytest.param(name, changes, says, id=f"{name} {number}: {says}")
    for name, constraints in BROKEN.items()
    for number, cases in constraints.items()
    for changes, says in cases
]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_constraint_is_broken_once(name):
    stated = range(len(OPERATORS[name]["constraints"]))
    assert BROKEN[name].keys() | UNBREAKABLE.get(name, set()) == set(stated)


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
        given = VALID[name][field(member)]
        if isinstance(given, list):
            yield field(member), f"{member}[0]", given[0]
        else:
            yield field(member), member, given


def with_output(name, changed, **members):
    """The valid descriptor with members of an output's descriptor replaced."""
    given = VALID[name][changed]
    if isinstance(given, list):
        return {**VALID[name], changed: [dataclasses.replace(given[0], **members), *given[1:]]}
    return {**VALID[name], changed: dataclasses.replace(given, **members)}


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
    fresh = [tl.zeros(d.sizes, dtype=d.data_type.dtype) for d in desc.inputs_of]
    for i, source in enumerate(desc.inputs_of):
        for j, target in enumerate(desc.outputs_of):
            storage = bytearray(max(source.total_tensor_size_in_bytes, 64) * 8)
            inputs, outs = list(fresh), [d.empty() for d in desc.outputs_of]
            inputs[i] = source.over(storage)
            outs[j] = target.over(storage)
            same = source.layout.nbytes(inputs[i].dtype) == target.layout.nbytes(outs[j].dtype)
            if same and name in IN_PLACE:
                operator(*inputs, out=outs)
            else:
                with pytest.raises(ValueError, match=f"^{name}: Output.* no memory: not done in"):
                    operator(*inputs, out=outs)
            source_bytes = source.layout.nbytes(inputs[i].dtype)
            if source_bytes <= 16:
                continue
            outs[j] = target.over(storage, 16)
            with pytest.raises(ValueError, match=f"^{name}: Output.*, got .* bytes shared; copy"):
                operator(*inputs, out=outs)
