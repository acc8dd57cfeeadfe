"""Tensor descriptors, the rules of operators, and what tensors operators may be given."""

import inspect
import re
import typing

import numpy as np
import pytest
from directml_facts import ARGUMENTS, FACTS, OPERATORS
from test_architecture import modules_after
from test_errors import sessions, shared

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.directml import TensorDesc, calc_buffer_tensor_size
from tensorlayout.errors import prefix_operation_name
from tensorlayout.layout import Layout

# --- tensor descriptors ---


@pytest.mark.parametrize("fact", FACTS["calc_buffer_tensor_size"]["examples"], ids=str)
def test_calc_buffer_tensor_size(fact):
    arguments = fact["dtype"], fact["sizes"], fact["strides"]
    assert calc_buffer_tensor_size(*arguments) == fact["bytes"]
    assert TensorDesc(*arguments).total_tensor_size_in_bytes == fact["bytes"]


def test_sizes_of_other_types():
    assert calc_buffer_tensor_size(0, (2, 3)) == 0
    assert calc_buffer_tensor_size(99, (2, 3)) == 0
    assert calc_buffer_tensor_size("UINT4", (5,)) == 4
    assert calc_buffer_tensor_size("INT4", (9,)) == 8
    assert calc_buffer_tensor_size(tl.float16, (3,)) == 8
    assert calc_buffer_tensor_size("UINT8", (2**32 - 1,)) == 2**32
    with pytest.raises(TypeError, match=r"DataType must be a data type of DirectML: .* got False"):
        calc_buffer_tensor_size(False, (1,))


@pytest.mark.parametrize("fact", FACTS["tensor_desc"]["examples"], ids=lambda f: f["note"])
def test_strides_page(fact):
    desc = TensorDesc("FLOAT32", fact["sizes"], fact["strides"])
    layout = desc.layout
    if "coordinates" in fact:
        assert layout.offset_of(fact["coordinates"]) == fact["offset"]
    if "buffer" in fact:
        buffer = np.array([ord(v) for v in fact["buffer"]], np.uint8)
        x = tl.from_storage(buffer, layout, dtype=tl.uint8)
        assert np.asarray(x).tolist() == [[ord(v) for v in row] for row in fact["logical"]]
    if "NHWC" in fact["note"]:
        assert layout.same_placement(Layout.labelled(fact["sizes"], "NHWC"))


def test_members_of_a_descriptor():
    desc = TensorDesc("DML_TENSOR_DATA_TYPE_FLOAT16", [2, 3])
    assert desc == TensorDesc(2, (2, 3)) == TensorDesc(tl.float16, (2, 3), None, flags="NONE")
    assert hash(desc) == hash(TensorDesc(2, (2, 3)))
    assert (desc.data_type, desc.sizes, desc.strides) == (directml.DataType.FLOAT16, (2, 3), None)
    assert (desc.rank, desc.layout) == (2, Layout.row_major((2, 3)))
    assert (
        TensorDesc("UINT8", (3,), total_tensor_size_in_bytes=100).total_tensor_size_in_bytes == 100
    )
    assert TensorDesc("UINT8", (3,), guaranteed_base_offset_alignment=16).rank == 1


def test_broadcast_and_largest_descriptors():
    assert TensorDesc("UINT8", (2**32 - 1,)).layout.size == 2**32 - 1
    assert TensorDesc("FLOAT32", (2, 3), (0, 1)).layout.is_overlapping
    assert TensorDesc("FLOAT32", (1, 3), (-7, 1)).strides == (0, 1)  # never used
    assert TensorDesc(np.int64(1), (np.int32(2),)) == TensorDesc("FLOAT32", (2,))


def test_channels_first_over_channels_last():
    image = tl.zeros((3, 5, 2), dtype=tl.float32)
    view = tl.permute_dims(image, (2, 0, 1))
    assert TensorDesc.of(view).strides == (1, 10, 2)
    assert TensorDesc.of(view).with_rank(4).sizes == (1, 2, 3, 5)
    batch = tl.zeros((1, 1, 3, 5), dtype=tl.float32, layout="NHWC")
    assert TensorDesc.of(batch).strides == (15, 1, 5, 1)


def test_from_tensors_and_back():
    x = tl.zeros((2, 3), dtype=tl.int16, layout=Layout.padded((2, 3), (4, 5), (0, 1)))
    desc = TensorDesc.of(x, guaranteed_base_offset_alignment=4)
    assert (desc.data_type.name, desc.sizes, desc.strides) == ("INT16", (2, 3), (1, 4))
    assert desc.guaranteed_base_offset_alignment == 4
    result = desc.empty()
    assert (result.dtype, result.shape, result.strides) == (tl.int16, (2, 3), (1, 4))
    assert TensorDesc.of(result) == TensorDesc.of(x)
    assert TensorDesc.of(tl.broadcast_to(x[:1, :], (2, 3))).strides == (0, 4)
    assert TensorDesc.of(x[1:, 1:]).strides == (1, 4)
    assert TensorDesc.from_layout("INT16", Layout.parse("(2,3):(5,1)+7")).strides == (5, 1)


def test_other_ranks():
    desc = TensorDesc("FLOAT32", (2, 3), (1, 2))
    five = desc.with_rank(5)
    assert (five.sizes, five.strides) == ((1, 1, 1, 2, 3), (6, 6, 6, 1, 2))
    assert five.with_rank(2) == desc
    assert TensorDesc("FLOAT32", (2, 3)).with_rank(3) == TensorDesc("FLOAT32", (1, 2, 3))


# --- errors ---

NAMES = vars(directml) | {"tl": tl, "np": np, "Layout": Layout}
NAMES |= {"x": tl.zeros((2, 3), dtype=tl.float32), "k": tl.zeros((2, 3), dtype=tl.int32)}
NAMES |= {"half": tl.zeros(1, dtype=tl.float16), "bytes": tl.zeros(1, dtype=tl.uint8)}
PIECE = TensorDesc("INT64", (2,))
NAMES["operator"] = directml.compile(directml.JoinOperatorDesc(inputs=[PIECE, PIECE], axis=0))
NAMES |= {
    "pair": tl.asarray([1, 2]),
    "three": tl.asarray([1, 2, 3]),
    "tiled": tl.zeros((4, 4), layout="{1,0:T(2,2)}"),
}
NAMES["counts"] = [tl.zeros(n, dtype=tl.uint32) for n in ((1, 1), (6, 2))]
NAMES["desc"] = TensorDesc("FLOAT32", (2, 3))

# As in `project/test_errors.py`: a call, and behind or under it the error; "…" is anything.
ERRORS = """
TensorDesc('FLOAT32', ())  # ValueError: TensorDesc: DimensionCount must be 1 to 8, got 0…
TensorDesc('FLOAT32', (1,) * 9)  # ValueError: …DimensionCount must be 1 to 8, got 9…
TensorDesc('FLOAT32', (2, 0))  # ValueError: …each of Sizes must be at least 1…(2, 0)…
TensorDesc('FLOAT32', (2, -1))  # ValueError: …each of Sizes must be…got (2, -1)…
TensorDesc('UINT8', (2**32,))  # ValueError: …must be at least 1 and fit 32 bits…
TensorDesc('UINT8', (2**16, 2**16))
    ValueError: …a tensor addresses at most 2**32 - 1 elements, got 4294967296…
TensorDesc('UINT8', (2,), (2**32 - 1,))
    ValueError: …a tensor addresses at most 2**32 - 1 elements, got 4294967296…
TensorDesc('UINT8', (2**16, 2**16), (0, 0))
    ValueError: …a tensor addresses at most 2**32 - 1 elements…
TensorDesc('FLOAT32', (2, 3), (3,))  # ValueError: …Strides must be as many as Sizes, 2…
TensorDesc('FLOAT32', (2, 3), (3, -1))  # ValueError: …Strides are unsigned,…(3, -1)…
TensorDesc('FLOAT32', (2, 3), (2**32, 1))  # ValueError: …each of Strides must fit 32 bits…
TensorDesc('FLOAT32', (10**5000,))  # ValueError: …an integer of 16610 bits…
TensorDesc('FLOAT32', (2,), (-(10**5000),))  # ValueError: …an integer of 16610 bits…
TensorDesc('FLOAT32', (2,), (1.0,))  # TypeError: TensorDesc: Strides must be…
TensorDesc('FLOAT32', 'ab')  # TypeError: TensorDesc: Sizes must be…
TensorDesc.of(tl.flip(x, axis=1))  # ValueError: …unsigned,…got (3, -1); copy…SLICE1…
TensorDesc.of(x[0, 0])  # ValueError: …DimensionCount must be 1 to 8, got 0…
TensorDesc.of(x[:0])  # ValueError: …each of Sizes must be at least 1…
TensorDesc.of(x > 0)  # TypeError: …DirectML has no data type for bool…
TensorDesc.from_layout('INT8', tiled.layout)  # ValueError: …is tiled…
TensorDesc.from_layout('INT8', 5)  # TypeError: TensorDesc: layout must be a Layout, got 5…
TensorDesc('FLOAT32', (2, 3), (0, 1)).empty()  # ValueError: …share slots…
TensorDesc('INT8', (3,)).empty(device=5)  # TypeError: TensorDesc: device must be one of…
TensorDesc('INT8', (3,)).over(5)  # TypeError: TensorDesc: buffer: storage must have the buf…
TensorDesc('FLOAT16', (3,)).over(bytearray(6))
    ValueError: …TotalTensorSizeInBytes is 8, got 6 bytes…
TensorDesc('FLOAT16', (3,)).over(bytearray(32), 8)
    ValueError: …must be a multiple of 16 bytes, got 8…
TensorDesc('FLOAT16', (3,)).over(bytearray(32), -16)
    ValueError: …Offset must not be negative, got -16…
desc.with_rank(1)  # ValueError: …Sizes (2, 3) cannot have 1 dimensions…
OperatorDesc()  # TypeError: OperatorDesc: must be the descriptor of an operator, such as Join…
join([tiled, tiled], axis=0)  # ValueError: JOIN: InputTensors[0]:…is tiled,…to_lay…
top_k(x, 1, 1, out=[x])  # ValueError: TOP_K: out must be 2 tensors, got 1…
nonzero_coordinates(x, out=[x] * 3)  # ValueError: NONZERO_COORDINATES: out must be 2 tensors…
nonzero_coordinates(k, 1, out=counts)  # ValueError: …Sizes must be (6, 1), got (6, 2)…
split(x, [3, 0], 1)  # ValueError: SPLIT: OutputTensors: each of Sizes must be at least 1…(2, 0)…
slice1(x, [0, 0], [2, 3], [1, 1], [2, 0])  # ValueError: …each of Sizes must be at least…
tile(x, [2**16, 2**16])
    ValueError: TILE: OutputTensor: a tensor addresses at most 2**32 - 1 elements, got 25769803776…
diagonal_matrix1(None, 1, 0, 1)  # ValueError: DIAGONAL_MATRIX1: …sizes and data_type, must…got None
diagonal_matrix1(None, 1, 0, 1, (2, 2))  # ValueError: DIAGONAL_MATRIX1: sizes and data_type must…
diagonal_matrix1(x, 1, 0, 1, None, 'INT8')  # ValueError: …must be given together, got no sizes
one_hot(k[:, :1], x, 0, 1)  # ValueError: ONE_HOT: OutputTensor: each of Sizes must be at…
padding(x, [0, 0], [0, 0], value=1e300)  # ValueError: …PaddingValue must fit FLOAT32…
padding(k, [0, 0], [0, 0], value=np.inf)  # ValueError: …must be finite for INT32, got inf…
padding(half, [0], [1], value=70000)  # ValueError: PADDING:…FLOAT16, got 70000.0
padding1(half, [0], [1], value=-70000)  # ValueError: PADDING1:…FLOAT16, got -70000
padding(bytes, [0], [1], value=-1)  # ValueError: PADDING:…0 to 255 for UINT8, got…
padding1(bytes, [0], [1], value=256)  # ValueError: PADDING1:…0 to 255…got 256…
padding1(bytes, [0], [1], value=1.5)  # TypeError: PADDING1:…be an integer…got 1.5…
element_wise_identity(half, (1, 1e300))  # ValueError: …Bias must fit FLOAT32, got 1e+300…
element_wise_identity(half, (2**200, 0))  # ValueError: …Scale must fit…of 201 bits
fill_value_constant((2,), np.nan, 'INT8')  # TypeError: …Value must be an integer…nan…
fill_value_sequence((2,), 0, 256, 'UINT8')  # ValueError: …Delta must be -128 to 255…
fill_value_sequence((2,), -1, 1, 'UINT8')  # ValueError: …Start must be 0 to 255…got -1…
fill_value_sequence((2,), 70000, 1, 'FLOAT16')  # ValueError: …: ValueStart must fit FLOAT16, got…
fill_value_sequence((2,), 1, 70000, 'FLOAT16')  # ValueError: …: ValueDelta must fit FLOAT16, got…
fill_value_constant((2,), 1e39, 'FLOAT32')  # ValueError: …: Value must fit FLOAT32, got…
fill_value_sequence((2,), 1e39, 1, 'FLOAT32')  # ValueError: …: ValueStart must fit FLOAT32, got…
fill_value_sequence((2,), 1, 1e39, 'FLOAT32')  # ValueError: …: ValueDelta must fit FLOAT32, got…
diagonal_matrix1(None, 1e39, 0, 1, (2, 2), 'FLOAT32')  # ValueError: …: Value must fit FLOAT32, got…
fill_value_sequence((2,), 2**200, 1, 'FLOAT16')  # ValueError: …: ValueStart must fit FLOAT16, got…
fill_value_sequence((2,), 1, 2**200, 'FLOAT16')  # ValueError: …: ValueDelta must fit FLOAT16, got…
operator(pair)  # TypeError: …2 tensors must be bound (InputTensors[0],…got 1…
operator(pair, pair > 1)  # TypeError: …InputTensors[1] is described as INT64, got dtype bool…
operator(pair, three)  # ValueError: …described with Sizes (2,), got shape (3,)…
operator(pair, three[::2])  # ValueError: …described with strides (1,), got (2,)…
operator(pair, pair, out=three)  # ValueError: …OutputTensor is described with Sizes…
operator(pair, pair, out=[pair, pair])  # ValueError: JOIN: out must be 1 tensors, got 2
operator(pair, pair, out=5)  # TypeError: JOIN: OutputTensor must be a tensor, got int…
compile('JOIN')  # TypeError: …desc must be an operator descriptor, got 'JOIN'…
join([x])  # TypeError: …missing 1 required positional argument: 'axis'…
join([x], 0, x)  # TypeError: …takes 2 positional arguments but 3 were given…
join([x], 0, into=x)  # TypeError: …got an unexpected keyword argument 'into'…
join([x], 0, axis=0)  # TypeError: …got multiple values for argument 'axis'…
join(inputs=[x], out=x)  # TypeError: …missing 1 required positional…'axis'…
scatter(x, updates=x, axis=0)  # TypeError: …missing 1 required…: 'indices'…
"""

# Errors of several calls.
RULES = """
ValueError: TensorDesc: TotalTensorSizeInBytes must be 24 to 18446744073709551615, from the…, got…
    TensorDesc('FLOAT32', (2, 3), total_tensor_size_in_bytes=23) |
    TensorDesc('FLOAT32', (2, 3), total_tensor_size_in_bytes=2**64)
ValueError: TensorDesc:…Alignment must be 0 or a power of two…at least 4,…got …
    TensorDesc('FLOAT32', (2, 3), guaranteed_base_offset_alignment=2) |
    TensorDesc('FLOAT32', (2, 3), guaranteed_base_offset_alignment=24) |
    TensorDesc('FLOAT32', (2, 3), guaranteed_base_offset_alignment=-4) |
    TensorDesc('FLOAT32', (2, 3), guaranteed_base_offset_alignment=2**32)
ValueError: TensorDesc: DimensionCount must be 1 to 8, got …
    desc.with_rank(0) | desc.with_rank(-1) | desc.with_rank(9) | desc.with_rank(2**40)
TypeError: TensorDesc: DataType must be…
    TensorDesc('FLOAT8', (1,)) | TensorDesc(None, (1,)) | TensorDesc(77, (1,)) |
    TensorDesc(tl.complex64, (1,)) | TensorDesc(tl.bool, (1,)) | TensorDesc(tl.bfloat16, (1,)) |
    TensorDesc(True, (1,))
ValueError: TensorDesc: Flags must be one of…
    TensorDesc('INT8', (2,), flags=None) | TensorDesc('INT8', (2,), flags=True) |
    TensorDesc('INT8', (2,), flags='ALL') | TensorDesc('INT8', (2,), flags=1.0) |
    TensorDesc('INT8', (2,), flags=2)
TypeError: TensorDesc: TotalTensorSizeInBytes must be an…
    TensorDesc('INT8', (2,), total_tensor_size_in_bytes=1.5) |
    TensorDesc('INT8', (2,), total_tensor_size_in_bytes=True) |
    TensorDesc('INT8', (2,), total_tensor_size_in_bytes='64') |
    TensorDesc('INT8', (2,), total_tensor_size_in_bytes=[64])
TypeError: TensorDesc: GuaranteedBaseOffsetAlignment must be an…
    TensorDesc('INT8', (2,), guaranteed_base_offset_alignment=1.5) |
    TensorDesc('INT8', (2,), guaranteed_base_offset_alignment=True) |
    TensorDesc('INT8', (2,), guaranteed_base_offset_alignment='64') |
    TensorDesc('INT8', (2,), guaranteed_base_offset_alignment=[64])
ValueError: …: Value must fit FLOAT16, got…
    fill_value_constant((2,), 70000, 'FLOAT16') |
    diagonal_matrix1(None, 70000, 0, 1, (2, 2), 'FLOAT16') |
    fill_value_constant((2,), 2**200, 'FLOAT16') |
    diagonal_matrix1(None, 2**200, 0, 1, (2, 2), 'FLOAT16')
"""


@pytest.mark.parametrize(("code", "words"), [*sessions(ERRORS), *shared(RULES)])
def test_errors(code, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        eval(code, NAMES.copy())
    said = f"{type(caught.value).__name__}: {caught.value}"
    assert re.fullmatch(re.escape(words).replace("…", ".*"), said)


def test_the_largest_number_rounds_down():
    largest = directml.fill_value_constant((1,), 65519.99, "FLOAT16")
    assert np.asarray(largest).tolist() == [65504.0]


def test_a_lack_of_memory_names_the_operator(monkeypatch):
    def short(*_, **__):
        raise prefix_operation_name("empty", MemoryError("shape (3,) needs more than there is"))

    tile = directml.compile(directml.TileOperatorDesc(input=TensorDesc("INT8", (3,)), repeats=[1]))
    x = tl.zeros(3, dtype=tl.int8)
    for owner, name in ((TensorDesc, "empty"), (directml.TileOperatorDesc, "_execute")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, short)
            with pytest.raises(MemoryError, match=r"^TILE: shape \(3,\) needs more than there is$"):
                tile(x)


# --- compiled operators ---


def joined(**members):
    piece = TensorDesc("INT64", (2,), **members)
    return directml.compile(directml.JoinOperatorDesc(inputs=[piece, piece], axis=0))


def test_an_operator_is_used_again():
    join = joined()
    assert np.asarray(join(tl.asarray([1, 2]), tl.asarray([3, 4]))).tolist() == [1, 2, 3, 4]
    out = tl.zeros((4,), dtype=tl.int64)
    assert join(tl.asarray([5, 6]), tl.asarray([7, 8]), out=out) is out
    assert np.asarray(out).tolist() == [5, 6, 7, 8]
    assert join.desc.output == TensorDesc("INT64", (4,))
    assert join.feature_level == "6_4"
    assert "JoinOperatorDesc" in repr(join)


def test_promised_alignment():
    join = joined(guaranteed_base_offset_alignment=16)
    storage = tl.arange(8)
    join(storage[:2], storage[2:4])
    with pytest.raises(ValueError, match=r"InputTensors\[1\] promises .*Alignment 16, got 8 bytes"):
        join(storage[:2], storage[1:3])


def test_declared_bytes_are_there_and_not_shared():
    """The bytes that a descriptor declares beyond its elements belong to the binding."""
    join, storage = joined(total_tensor_size_in_bytes=32), tl.arange(12)
    result = join(storage[:2], storage[8:10])
    assert np.asarray(result).tolist() == [0, 1, 8, 9]
    says = r"InputTensors\[1\]: TotalTensorSizeInBytes is 32, got 16 bytes"
    with pytest.raises(ValueError, match=f"^JOIN: {says}$"):
        join(storage[:2], storage[10:])
    with pytest.raises(ValueError, match="TotalTensorSizeInBytes is 32, got 16 bytes"):
        join(tl.asarray([1, 2]), storage[:2])
    says = r"OutputTensor must share with InputTensors\[1\] no memory, got 16 bytes shared;"
    with pytest.raises(ValueError, match=f"^JOIN: {says}"):
        join(storage[:2], storage[6:8], out=storage[8:])
    desc = TensorDesc("INT8", (2, 3), (4, 1), total_tensor_size_in_bytes=100)
    tensor = desc.empty()
    assert (tensor.shape, tensor.strides) == ((2, 3), (4, 1))
    copied = directml.compile(directml.TileOperatorDesc(input=desc, output=desc, repeats=(1, 1)))
    tensor[...] = 7
    assert np.asarray(copied(copied(tensor))).tolist() == [[7] * 3] * 2


def test_outputs_that_share_declared_bytes():
    piece = TensorDesc("INT64", (2,), total_tensor_size_in_bytes=24)
    desc = directml.SplitOperatorDesc(input=TensorDesc("INT64", (4,)), outputs=[piece] * 2, axis=0)
    split, x, storage = directml.compile(desc), tl.arange(4), tl.arange(8)
    first, _ = split(x, out=[storage[:2], storage[3:5]])
    assert np.asarray(first).tolist() == [0, 1]
    says = r"OutputTensors\[0\] must share with OutputTensors\[1\] no memory, got 8 bytes shared"
    with pytest.raises(ValueError, match=f"^SPLIT: {says}$"):
        split(x, out=[storage[:2], storage[2:4]])


def test_inputs_owned_by_the_operator():
    owned = TensorDesc("INT64", (2,), flags="OWNED_BY_DML")
    desc = directml.JoinOperatorDesc(inputs=[owned, TensorDesc("INT64", (1,))], axis=0)
    join, weights = directml.compile(desc), tl.asarray([1, 2])
    with pytest.raises(ValueError, match=r"InputTensors\[0\] must be bound by initialize\(\)"):
        join(tl.asarray([3]))
    assert join.initialize(weights) is join
    weights[0] = 9  # a copy was taken
    assert np.asarray(join(tl.asarray([3]))).tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match=r"1 tensors must be bound \(InputTensors\[1\]\), got 2"):
        join(weights, tl.asarray([3]))
    says = r"^JOIN: 1 tensors must be bound by initialize\(\) \(InputTensors\[0\]\), got 2$"
    with pytest.raises(TypeError, match=says):
        join.initialize(weights, weights)


def test_functions_take_a_feature_level():
    x = tl.asarray([1, 2])
    with pytest.raises(TypeError, match="INT64; the lowest level that allows it is 4_1"):
        directml.join([x], 0, feature_level="4_0")
    result = directml.join([x], 0, feature_level="DML_FEATURE_LEVEL_4_1")
    assert np.asarray(result).tolist() == [1, 2]


def test_bindings():
    buffer = np.arange(16, dtype=np.float32)
    x = TensorDesc("FLOAT32", (2, 3), (5, 1)).over(buffer, 16)
    assert np.asarray(x).tolist() == [[4, 5, 6], [9, 10, 11]]
    x[0, 0] = 99
    assert buffer[4] == 99
    aligned = TensorDesc("FLOAT16", (3,), guaranteed_base_offset_alignment=64)
    with pytest.raises(ValueError, match="Offset must be a multiple of 64 bytes, got 32"):
        aligned.over(bytearray(256), 32)
    with pytest.raises(ValueError, match="TotalTensorSizeInBytes is 64, got 48 bytes"):
        TensorDesc("INT8", (1,), total_tensor_size_in_bytes=64).over(bytearray(64), 16)


def test_zeros_keep_their_sign():
    for value in (0.0, -0.0, 0.0):
        result = directml.fill_value_constant((1,), value, "FLOAT32")
        assert np.signbit(np.asarray(result)[0]) == np.signbit(value)
        x = tl.asarray([-0.0])
        result = directml.element_wise_identity(x, (1.0, value))
        assert np.signbit(np.asarray(result)[0]) == np.signbit(value)
        result = directml.padding(x, [1], [0], value=value)
        assert np.signbit(np.asarray(result)[0]) == np.signbit(value)


# --- the namespace ---


def test_names():
    listed = {name: getattr(directml, name) for name in directml.__all__}
    assert len(listed) == len(directml.__all__), "a name occurs twice"
    for name, value in listed.items():
        if callable(value):
            first, *rest = value.__doc__.split("\n")
            assert first, name
            assert not rest or not rest[0].strip(), f"{name}: the first paragraph is one line"
    public = {name for name, value in vars(directml).items() if name[0] != "_" and callable(value)}
    assert public <= listed.keys()


@pytest.mark.parametrize("name", OPERATORS)
def test_signatures(name):
    """As in the facts, then keywords; type checkers, `help` and IDEs see what is declared."""
    function = getattr(directml, name.lower())
    parameters = inspect.signature(function).parameters
    named = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
    words = [word.partition("=")[0] for word in ARGUMENTS[name].split()]
    assert [*parameters][: -len(named)] == [word for word in words if word not in named]
    assert named[-2:] == ["out", "feature_level"]
    assert typing.get_type_hints(function).keys() == {*parameters, "return"}
    assert (function.__name__, function.__qualname__) == (name.lower(),) * 2
    assert function.__doc__.split("\n")[0].endswith(f": {name}.")


def test_it_is_imported_at_first_use():
    code = "import sys, tensorlayout as tl; assert 'tensorlayout.directml' not in sys.modules"
    assert "tensorlayout.directml" in modules_after(f"{code}; tl.directml")


# --- calls that are made again ---


def test_a_call_made_again_is_checked_by_what_it_is_given():
    x, y = tl.asarray([1, 2]), tl.asarray([3, 4])
    for _ in range(3):
        assert np.asarray(directml.join([x, x], 0)).tolist() == [1, 2, 1, 2]
        assert np.asarray(directml.join([x, y], 0)).tolist() == [1, 2, 3, 4]
        assert np.asarray(directml.gather_elements(y, x - 1, 0)).tolist() == [3, 4]
        assert np.asarray(directml.gather_elements(indices=y - 3, x=x, axis=0)).tolist() == [1, 2]
        with pytest.raises(TypeError, match="HasExclusiveSum must be True or False, got 1"):
            directml.cumulative_summation(x, 0, 0, 1)
        with pytest.raises(TypeError, match="Axis must be an integer, got False"):
            directml.join([x, y], False)
        assert np.asarray(directml.cumulative_summation(x, 0, 0, True)).tolist() == [0, 1]


def test_a_call_made_again_validates_nothing(monkeypatch):
    """Positions, arguments by name, numbers that are no integers, dtypes, and no tensors at all."""
    x, at = tl.asarray([[1.5, 2.5]]), tl.asarray([[1, 0]])
    calls = [
        (lambda: directml.join([x, x], 1), [[1.5, 2.5, 1.5, 2.5]]),
        (lambda: directml.scatter(updates=x, indices=at, x=x, axis=1), [[2.5, 1.5]]),
        (lambda: directml.slice1(x, (0, 0), [1, 2], strides=[1, -1]), [[2.5, 1.5]]),
        (lambda: directml.element_wise_identity(x, (2.0, 1)), [[4, 6]]),
        (lambda: directml.cast(x, tl.int8), [[1, 2]]),
        (lambda: directml.fill_value_constant((1, 2), 3, "INT8", device="cpu"), [[3, 3]]),
    ]
    for call, expected in calls:
        assert np.asarray(call()).tolist() == expected
    monkeypatch.delattr(directml.OperatorDesc, "validate")
    for call, expected in calls:
        assert np.asarray(call()).tolist() == expected


def test_equal_arguments_of_other_kinds_are_judged_by_themselves():
    x = tl.asarray([1, 2])
    for _ in range(2):
        assert np.asarray(directml.slice1(x, [0], [2], [1])).tolist() == [1, 2]
        with pytest.raises(TypeError, match=r"InputWindowStrides must be .*, got \[1\.0\]"):
            directml.slice1(x, [0], [2], [1.0])
        # A tensor of rank 0 is an integer: its value counts, not what its dtype is.
        assert np.asarray(directml.join([x], tl.asarray(0))).tolist() == [1, 2]
        with pytest.raises(ValueError, match="JOIN: Axis must be 0 to 0, got 1"):
            directml.join([x], tl.asarray(1))
        # Used up by the first look into it.
        assert np.asarray(directml.tile(x, (n for n in (2,)))).tolist() == [1, 2, 1, 2]


def test_an_operator_that_calls_another_is_remembered_as_itself():
    x = tl.asarray([[[1, 2, 3]]])
    for _ in range(3):
        result = directml.unfold(x, [2], [1], [1], [1], [0])
        assert np.asarray(result).tolist() == [[[0, 1, 2], [1, 2, 3]]]


def test_errors_of_a_users_own_code_stay_as_they_are():
    class Odd:
        def __index__(self):
            raise ValueError("no index today")

    x = tl.asarray([1, 2])
    for call in (lambda: directml.join([x], Odd()), lambda: directml.tile(x, [Odd()])):
        with pytest.raises(ValueError, match=r"^no index today$"):
            call()


def test_memory_is_checked_at_every_call():
    storage = tl.arange(8)
    for _ in range(3):
        directml.tile(storage[:4], (1,), out=storage[4:])
        with pytest.raises(ValueError, match=r"TILE: OutputTensor must share with InputTensor no"):
            directml.tile(storage[:4], (1,), out=storage[2:6])
        fixed = tl.from_storage(bytes(32), "(4):(1)", dtype=tl.int64)
        with pytest.raises(ValueError, match="TILE: OutputTensor: the tensor is read-only"):
            directml.tile(storage[:4], (1,), out=fixed)


def test_arrays_are_operands():
    """NumPy arrays of the CPU, in place of tensors, for `out`, too; beside lists of them."""
    x, out = np.asarray([[1.5, 2.5]], np.float32), np.zeros((2, 2), np.float32)
    assert np.asarray(directml.join([x, tl.asarray(x)], 0, out=out)).tolist() == out.tolist()
    assert out.tolist() == [[1.5, 2.5], [1.5, 2.5]]
    values, positions = directml.top_k(x, 1, 1)
    assert (np.asarray(values).item(), np.asarray(positions).item()) == (2.5, 1)
    assert np.asarray(directml.diagonal_matrix1(x, 7, 0, 1)).tolist() == [[7, 2.5]]
    assert np.asarray(joined()(np.asarray([1, 2]), tl.asarray([3, 4]))).tolist() == [1, 2, 3, 4]
