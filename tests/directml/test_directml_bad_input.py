"""Values of odd kinds for all members and arguments: errors name the operator and the member."""

import dataclasses

import numpy as np
import pytest
from directml_facts import ARGUMENTS, DESCS, OPERATORS
from test_directml_rules import VALID, t

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.directml import TensorDesc

HUGE = 10**5000  # more digits than Python writes


class Odd:
    """Object that no member accepts."""


def once(*values):
    """A generator, which is used up by whoever looks into it first."""
    yield from values


TENSORS = [
    tl.zeros(3, dtype=tl.complex64),
    tl.zeros(3, dtype=tl.bool),
    tl.zeros((1, 0), dtype=tl.float32),
    tl.zeros((1,) * 9, dtype=tl.float32),
    tl.asarray(1.5),
]
NO_NUMBER = [None, "1", b"1", 1j, [1], {1}, Odd(), Odd, np.ones(2), *TENSORS[:4]]
NO_INTEGER = [*NO_NUMBER, 1.5, 1.0, True, np.True_, np.float32(1), float("nan"), TENSORS[4]]
NO_INTEGERS = [None, 1.5, True, "11", b"11", {1}, {}, [None], [1.0, 1.0], [True, True], [[1], [1]]]
NO_INTEGERS += [1j, Odd(), Odd, np.ones(2), [Odd()], *TENSORS[:2], TENSORS[4]]
NO_ENUM = [None, 1.0, True, "UP", "", 99, -1, HUGE, [0], Odd(), np.float32(0), *TENSORS]
NO_TYPE = [1.5, True, "FLOAT8", "", 77, -1, HUGE, [1], Odd(), tl.bool, tl.complex64, Odd, *TENSORS]
NO_TRUTH = [None, 0, 1, "yes", 1.0, [True], Odd(), np.int64(1), *TENSORS]
NO_DESC = [None, 1, 1.5, "FLOAT32", b"", [], [t(2, 3)], TypeError, Odd(), HUGE, *TENSORS]
NO_PAIR = [1.0, (1,), (1, 2, 3), ("1", 2), (1, None), (1j, 1), (HUGE, 1), (1, 1e300), "ab", [[1]]]
NO_CHOICE = [None, 1, "first", "", [], np.ones(2), HUGE, [1] * 1000, Odd(), *TENSORS]


# Members that are numbers, or sequences of them, in some range.
KINDS = dict.fromkeys(("Naturals", "Positives", "Steps"), "Integers")
KINDS |= dict.fromkeys(("Axis", "Positive", "Signed"), "int")
KINDS |= dict.fromkeys(("Float", "Scalar", "Delta"), "Number")


def kind_of(annotation):
    kind = annotation.removesuffix(" | None").removeprefix("members.")
    return KINDS.get(kind, kind)


def wrong(kind):
    """Values that a member annotated so cannot have, generators among them."""
    if kind in ("Mode", "Interpolation", "Direction", "Order"):
        return [*NO_ENUM, once(0)]
    return {
        "TensorDesc": [*NO_DESC, once(t(2, 3))],
        "Tensors": [None, 1, "ab", t(2, 3), [None], [[t(2, 3)]], once(t(2, 3)), [Odd()], Odd],
        "Integers": [
            *(*NO_INTEGERS, [], (), once(), once(0), [1] * 9, [1] * 1000),
            *([-(2**70)] * 2, [HUGE] * 2, [-HUGE] * 3, np.ones(20, np.int64)),
        ],
        "int": [*NO_INTEGER, once(1), -1, 2**40, -(2**70), HUGE, -HUGE, np.int64(2**40)],
        "bool": [*NO_TRUTH, once(True)],
        "Number": [*NO_NUMBER, once(1), HUGE, -HUGE, 10**400],
        "AnyDataType": [*NO_TYPE, once(1)],
        "Pair": [*NO_PAIR, once(1, 2)],
        "Duplicates": [*NO_CHOICE, once("last")],
    }[kind]


SIGNED = {"Offset", "DiagonalFillBegin", "DiagonalFillEnd"}


def member_of(name, field):
    """The member in C that a field is, read from the facts."""
    if field == "duplicates":  # ours
        return field
    names = [m["name"] for m in OPERATORS[name]["members"]]
    short = field.replace("_", "").lower()
    return next(m for m in names if m.lower() in (short, f"{short}tensor", f"{short[:-1]}tensors"))


def refused(run, *beginnings):
    """The error is clear: TypeError or ValueError, short, and begins so."""
    with pytest.raises((TypeError, ValueError)) as caught:
        run()
    message = str(caught.value)
    assert message.startswith(beginnings), message
    assert len(message) < 400


@pytest.mark.parametrize("name", OPERATORS)
def test_members_of_odd_kinds(name):
    for field in dataclasses.fields(DESCS[name]):
        kind, member = kind_of(field.type), member_of(name, field.name)
        says = [f"{name}: {member}"]
        if member in ("InputTensors", "OutputTensors"):
            says.append(f"{name}: {member.removesuffix('Tensors')}Count")
        for value in wrong(kind):
            optional = value is None and field.type.endswith(" | None")
            if optional or (member in SIGNED and type(value) is int and value == -1):
                continue
            members = {**VALID[name], field.name: value}
            refused(lambda members=members: DESCS[name](**members).validate(), *says)


# --- functions ---

# Arguments that say what an output is: a value, the kind, and how errors may begin.
OUTPUT = "OutputTensor: "
NEW = {"sizes": ([2, 3], "Integers", (OUTPUT,)), "data_type": ("FLOAT32", "AnyDataType", (OUTPUT,))}
INDEX = {"index_data_type": ("UINT32", "AnyDataType", ("index_data_type", "OutputIndexTensor: "))}
OTHERS = {
    "SPLIT": {"sizes": ([2, 3], "Integers", ("sizes", "OutputTensors: ", "OutputCount"))},
    "SLICE1": {"output_sizes": ([2, 3], "Integers", (OUTPUT,))},
    "SLICE_GRAD": {
        "output_sizes": ([2, 6], "Integers", ("OutputGradientTensor: ", "InputWindowOffsets must"))
    },
    "CAST": {"data_type": ("INT32", "AnyDataType", (OUTPUT,))},
    "FILL_VALUE_CONSTANT": NEW,
    "FILL_VALUE_SEQUENCE": NEW,
    "DIAGONAL_MATRIX": NEW,
    "ONE_HOT": {"depth": (3, "int", ("depth", OUTPUT))},
    "NONZERO_COORDINATES": {"columns": (2, "int", ("columns", "OutputCoordinatesTensor: "))},
    "TOP_K": INDEX,
    "TOP_K1": INDEX,
    "MAX_UNPOOLING": {"output_sizes": ([1, 1, 4, 4], "Integers", (OUTPUT,))},
    "FOLD": {"output_sizes": ([1, 1, 2, 3], "Integers", (OUTPUT,))},
}
NO_TENSOR = [1, 1.5, "x", [1, 2], np.ones(2, ">f4"), np.float32(1), t(2, 3), Odd(), Odd, 1j]
NO_TENSOR += TENSORS
NO_TENSORS = [None, 1, "x", [], (), [1], [None], [np.ones(2, ">f4")], t(2, 3)]
NO_TENSORS += [TENSORS[:1], TENSORS[3:]]


def tensor_of(value):
    """Zeros for a descriptor, or for each of a list of them."""
    if isinstance(value, list) and value and isinstance(value[0], TensorDesc):
        return [tensor_of(item) for item in value]
    if isinstance(value, TensorDesc):
        return tl.zeros(value.sizes, dtype=value.data_type.dtype)
    return value


def arguments_of(name):
    """Valid arguments of an operator's function, and what each is: kind, and how errors begin."""
    valid, known = {}, {}
    kinds = {f.name: f.type for f in dataclasses.fields(DESCS[name])}
    members = [word for word in ARGUMENTS[name].split() if not word.endswith("=")]
    for word in members:
        argument, _, field = word.partition("=")
        field = field or argument
        valid[argument] = tensor_of(VALID[name][field])
        known[argument] = kinds[field], (member_of(name, field),)
    for argument, (value, kind, begins) in OTHERS.get(name, {}).items():
        valid[argument] = value
        known[argument] = kind, begins
    return valid, known


@pytest.mark.parametrize("name", OPERATORS)
def test_arguments_of_odd_kinds(name):
    function = getattr(directml, name.lower())
    valid, known = arguments_of(name)
    function(**valid)
    for argument, (annotation, begins) in known.items():
        kind = kind_of(annotation)
        values = {"TensorDesc": NO_TENSOR, "Tensors": NO_TENSORS}.get(kind) or wrong(kind)
        says = [f"{name}: {begin}" for begin in begins]
        for value in values:
            optional = annotation.endswith(" | None") or argument in ("output_sizes", "columns")
            if value is None and optional:
                continue
            if begins[0] in SIGNED and type(value) is int and value == -1:
                continue
            refused(lambda a=argument, v=value: function(**{**valid, a: v}), *says)


@pytest.mark.parametrize("name", OPERATORS)
def test_outputs_and_levels_of_odd_kinds(name):
    function = getattr(directml, name.lower())
    valid, _ = arguments_of(name)
    for out in NO_TENSOR:
        says = [f"{name}: {begin}" for begin in ("Output", "out", "InputWindowOffsets")]
        refused(lambda out=out: function(**valid, out=out), *says)
    for level in (None, 3, 0x3001, -1, 3.0, True, "", "7_0", HUGE, [1], Odd(), TENSORS[0]):
        refused(
            lambda level=level: function(**valid, feature_level=level),
            f"{name}: feature_level must be one of 1_0, ",
        )


def test_devices_of_odd_kinds():
    for name in ("FILL_VALUE_CONSTANT", "FILL_VALUE_SEQUENCE", "DIAGONAL_MATRIX"):
        valid, _ = arguments_of(name)
        for device in (1, "", "tpu", True, [1], Odd(), HUGE, TENSORS[0]):
            refused(
                lambda device=device, name=name, valid=valid: getattr(directml, name.lower())(
                    **valid, device=device
                ),
                f"{name}: device must be one of those available (",
            )
