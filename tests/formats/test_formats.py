"""Layouts as other libraries write them: literal ones, formulas, and laws over all layouts."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from layouts import every_layout, has_tails, indices, packed, slots_of

import tensorlayout as tl
from tensorlayout import Layout, PaddingValue, formats, xla

ROWS = {name: getattr(formats, name) for name in formats.__all__ if name != "written"}
SAY_PADDING = {"cute", "jax", "onednn"}


def options_of(name, layout):
    """Return the options of `read` that the written form does not contain."""
    if name == "numpy":
        return {"itemsize": 4}
    return {"padding_value": layout.padding_value} if name in ("cute", "jax") else {}


def written(name, layout):
    row = ROWS[name]
    return row.write(layout, 4) if name == "numpy" else row.write(layout)


# --- laws ----------------------------------------------------------------------------------------


@every_layout
def test_what_is_written_is_read(layout):
    """By each row; and `formats.written` has what the rows write."""
    table = formats.written(layout, 4)
    assert table.keys() <= ROWS.keys()
    assert "cute" in table or (has_tails(layout) and not layout.is_padded)
    for name in ROWS:
        try:
            there = written(name, layout)
        except ValueError as error:
            assert str(error).startswith(f"{name}.write: ")  # noqa: PT017
            assert name not in table
            continue
        assert table[name] == there
        back = ROWS[name].read(layout.shape, there, **options_of(name, layout))
        if name == "cute":
            back = back.with_slot_bits(layout.slot_bits)
        assert back.same_placement(layout)
        assert back.slot_bits == layout.slot_bits
        if name in SAY_PADDING and layout.size:
            assert back.padded_shape == layout.padded_shape
            assert not layout.is_padded or back.padding_value is layout.padding_value


@given(packed())
def test_packed_blocks_have_an_order_everywhere(layout):
    """The order of dimensions of size 1 is said, too, where letters or numbers say it."""
    layout = layout.at_origin
    for name in ("einops", "jax", "onednn") if layout.ndim else ("einops", "jax"):
        back = ROWS[name].read(layout.shape, written(name, layout))
        assert back is layout.with_padding_value(PaddingValue.UNSPECIFIED), name


def test_the_page_has_each_row_once():
    page = Path(__file__).parents[2] / "docs" / "formats.md"
    rows = re.findall(r"^\| `(\w+)` \|", page.read_text("utf-8"), re.MULTILINE)
    assert rows == sorted(ROWS)


# --- oneDNN --------------------------------------------------------------------------------------

# The names of its domains and what its header says that they stand for.
ALIASES = """
x=a nc=ab cn=ba ncw=abc nwc=acb nchw=abcd nhwc=acdb chwn=bcda ncdhw=abcde ndhwc=acdeb
oi=ab owi=acb wio=cba oihw=abcd hwio=cdba iohw=bacd dhwio=cdeba idhwo=bcdea wigo=dcab
goihw=abcde hwigo=decab giohw=acbde giodhw=acbdef dhwigo=defcab tnc=abc ntc=bac ldgoi=abdec
ldgo=abcd ldgOi32o=abdEc32e nCdhw32c=aBcde32b NChw32n32c=ABcd32a32b Owi16o=Acb16a
OIhw4i16o4i=ABcd4b16a4b IOhw16o16i=BAcd16a16b Goihw16g=Abcde16a gOIhw16i16o=aBCde16c16b
gOhwi16o=aBdec16b OwI16o2i=AcB16a2b
"""


@pytest.mark.parametrize("alias", ALIASES.split())
def test_letters_of_domains(alias):
    domain, plain = alias.split("=")
    shape = (3, 5, 2, 7, 4, 6)[: sum(map(str.isalpha, "".join(plain.rstrip("0123456789"))))]
    shape = shape[: len({letter.lower() for letter in plain if letter.isalpha()})]
    result = formats.onednn.read(shape, domain)
    assert result is formats.onednn.read(shape, plain)
    back = formats.onednn.read(shape, formats.onednn.write(result))
    assert back.same_placement(result)
    assert (back.padded_shape, back.padding_value) == (result.padded_shape, result.padding_value)


def blocked(shape, tag, dims):
    """The memory of a tag by its definition: pad, cut every dimension, and transpose.

    `dims`: what each letter of the tag, from left to right, is: (dimension, block or None).
    """
    blocks = {dim: [b for d, b in dims if d == dim and b] for dim in range(len(shape))}
    whole = [-(-n // math.prod(blocks[d])) * math.prod(blocks[d]) for d, n in enumerate(shape)]
    array = np.full(whole, -1)
    array[tuple(map(slice, shape))] = np.arange(math.prod(shape)).reshape(shape)
    split, axes = [], {}
    for dim, n in enumerate(whole):
        axes[dim, None] = len(split)
        split += [n // math.prod(blocks[dim]), *blocks[dim]]
    seen = dict.fromkeys(range(len(shape)), 0)
    order = []
    for dim, block in dims:
        seen[dim] += block is not None
        order.append(axes[dim, None] + (seen[dim] if block else 0))
    return array.reshape(split).transpose(order).ravel()


@pytest.mark.parametrize(
    ("shape", "tag", "dims"),
    [
        ((2, 32, 3, 2), "nChw16c", [(0, None), (1, None), (2, None), (3, None), (1, 16)]),
        ((2, 3, 2, 2), "aBcd8b", [(0, None), (1, None), (2, None), (3, None), (1, 8)]),
        (
            (17, 20, 1, 2),
            "OIhw4i16o4i",
            [(0, None), (1, None), (2, None), (3, None), (1, 4), (0, 16), (1, 4)],
        ),
        ((3, 9, 18, 2), "gOIw16i8o", [(0, None), (1, None), (2, None), (3, None), (2, 16), (1, 8)]),
        ((3, 5, 2), "aCb2c", [(0, None), (2, None), (1, None), (2, 2)]),
    ],
)
def test_blocks_by_their_definition(shape, tag, dims):
    layout = formats.onednn.read(shape, tag)
    memory = blocked(shape, tag, dims)
    assert layout.required_size == memory.size
    assert memory[slots_of(layout)].tolist() == list(range(math.prod(shape)))
    if layout.is_padded:
        assert layout.padding_value is PaddingValue.ZERO
    assert formats.onednn.read(shape, formats.onednn.write(layout)) is layout


def test_tags_that_are_written():
    write = formats.onednn.write
    assert write(Layout.labelled((2, 3, 4, 5), "NHWC"), "nchw") == "nhwc"
    assert write(formats.onednn.read((64, 32, 3, 3), "OIhw4i16o4i"), "oihw") == "OIhw4i16o4i"
    assert write(Layout.padded((2, 3), (2, 8), padding_value="ZERO")) == "aB8b"
    assert write(Layout.padded((3, 5), (4, 8), padding_value="ZERO")) in ("AB4a8b", "aB8b")
    assert write(Layout.row_major((0, 3))) == "ab"
    assert write(Layout.packed((1, 1, 1), (1, 0, 2))) == "cab"


# --- cuDNN ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", [4, 32])
def test_vectors_of_channels(vector):
    """An element is a vector of channels: x[n][c / v][h][w][c % v]."""
    shape = (2, 64, 3, 5)
    array = np.arange(math.prod(shape)).reshape(shape)
    memory = array.reshape(2, 64 // vector, vector, 3, 5).transpose(0, 1, 3, 4, 2).ravel()
    layout = formats.cudnn.read(shape, f"NC/{vector}HW{vector}")
    assert memory[slots_of(layout)].tolist() == array.ravel().tolist()
    assert formats.cudnn.write(layout) == f"NC/{vector}HW{vector}"
    assert formats.cudnn.read(shape, "CUDNN_TENSOR_NCHW_VECT_C", vector) is layout
    assert formats.cudnn.read(shape, f"NC/{vector}HW{vector}", vector) is layout
    assert layout is formats.onednn.read(shape, f"aBcd{vector}b")


@pytest.mark.parametrize(
    ("shape", "name", "strides"),
    [
        ((2, 3, 4, 5), "NCHW", (60, 20, 5, 1)),
        ((2, 3, 4, 5), "CUDNN_TENSOR_NHWC", (60, 1, 15, 3)),
        ((2, 3, 4, 5, 6), "NDHWC", (360, 1, 90, 18, 3)),
        ((2, 3, 4, 5, 6), "NCDHW", (360, 120, 30, 6, 1)),
        ((2, 3, 4), "NHWC", (12, 1, 3)),
    ],
)
def test_orders_of_cudnn(shape, name, strides):
    layout = formats.cudnn.read(shape, name)
    assert layout.strides == strides
    one_channel = (shape[0], 1, *shape[2:])
    if len(shape) == 4:
        short = name.removeprefix("CUDNN_TENSOR_")
        assert formats.cudnn.write(formats.cudnn.read(one_channel, name)) == short
    assert formats.cudnn.write(layout) == ("NHWC" if strides[1] == 1 else "NCHW")


# --- BLAS ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (1, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("trans", ["N", "T"])
def test_where_blas_finds_elements(shape, trans):
    """Of A, of which op(A) is `shape`, the element (i, j) is a[i + j * ld]."""
    column = shape[trans == "T"]
    for ld in (max(1, column), column + 3):
        layout = formats.blas.read(shape, (trans, ld))
        for i, j in indices(shape):
            row, col = (i, j) if trans == "N" else (j, i)
            assert layout.offset_of((i, j)) == row + col * ld
        assert formats.blas.write(layout.moved(7))[2] == 7


def test_matrices_that_are_written():
    write = formats.blas.write
    assert write(Layout.row_major((3, 4))) == ("T", 4, 0)
    assert write(Layout((3, 4), (1, 5), offset=2)) == ("N", 5, 2)
    assert write(Layout.packed((1, 4), (0, 1))) == ("N", 1, 0)
    assert write(Layout.packed((1, 4), (1, 0))) == ("T", 4, 0)
    for wrong in ("(3,4):(8,2)", "(3,4):(0,1)", "(3,4):(-4,1)+8", "(3,4):(1,1)"):
        with pytest.raises(ValueError, match=r"blas.write: one stride must be 1"):
            write(Layout.parse(wrong))


# --- PyTorch, NumPy, DirectML --------------------------------------------------------------------


def test_memory_formats():
    read = formats.pytorch.read
    assert read((2, 3, 4, 5), "torch.channels_last").strides == (60, 1, 15, 3)
    assert read((2, 3, 4, 5, 6), "channels_last_3d").strides == (360, 1, 90, 18, 3)
    assert read((2, 3, 4), "contiguous_format").strides == (12, 4, 1)
    turned = Layout((2, 3, 4), (1, 8, 2))
    assert read((2, 3, 4), "preserve_format", turned).strides == (1, 8, 2)
    assert read((2, 3), "preserve_format", Layout((2, 3), (1, 5))).strides == (1, 2)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((0, 2, 3, 4), (24, 1, 8, 2)), ((2, 0, 3, 4), (0, 1, 0, 0)), ((2, 3, 0, 4), (0, 1, 12, 3))],
)
def test_channels_last_without_elements(shape, strides):
    """Literal strides of PyTorch 2.13: the products of the sizes, with those of 0."""
    layout = formats.pytorch.read(shape, "channels_last")
    assert layout.strides == strides
    assert formats.pytorch.write(layout) == "channels_last"
    for other in ((1, 1, 1, 1), (0, 0, 0, 0), (24, 1, 8, 99)):
        layout = Layout(shape, other)
        assert formats.pytorch.write(layout) == "contiguous_format"


def test_numpy_counts_bytes():
    read = formats.numpy.read
    with pytest.raises(ValueError, match=r"^numpy.read: "):
        read((2, 3), (12, -4), 4)
    assert read((2, 3), formats.numpy.NumpyMemory((12, -4), 8), 4) is Layout(
        (2, 3), (3, -1), offset=2
    )
    assert read((2, 3), "f").strides == (1, 2)
    assert read((2, 3), (24, 8), tl.float64).is_row_major
    assert formats.numpy.write(Layout((3,), (-2,), offset=4), 8)[:2] == ((-16,), 32)


def test_directml_counts_elements():
    assert formats.directml.read((2, 3), None).strides == (3, 1)
    assert formats.directml.read((2, 3), (0, 1)).strides == (0, 1)
    padded = Layout.padded((2, 3), (2, 5)).moved(4)
    assert formats.directml.write(padded) == ((5, 1), 4)
    assert formats.directml.read((2, 3), formats.directml.write(padded)).offset == 4


# --- einops, JAX ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "pattern", "lengths", "strides"),
    [
        ((2, 3, 4, 5), "b c h w -> b h w c", {}, "(60,1,15,3)"),
        ((4, 6), "(h p) (w q) -> h w (p q)", {"p": 2, "q": 2}, "(2*12+2*2,3*4+2*1)"),
        ((4, 6), "(h p) w -> p h w", {"h": 2}, "(2*6+2*12,1)"),
        ((2, 1), "a () -> a", {}, "(1,1)"),
        ((), " -> ", {}, "()"),
        ((2, 1, 3), "é 01 a_b->a_b(é)", {}, "(1,1,2)"),
        ((0, 3), "a b -> b a", {}, "(1,1)"),
    ],
)
def test_patterns(shape, pattern, lengths, strides):
    layout = formats.einops.read(shape, pattern, **lengths)
    text = f"({','.join(map(str, shape))}{',' * (len(shape) == 1)}):{strides}"
    assert layout.same_placement(Layout.parse(text))


def test_tiles_of_jax():
    read, JaxLayout = formats.jax.read, formats.jax.JaxLayout
    assert read((3, 5), JaxLayout((1, 0))) is Layout.column_major((3, 5))
    result = read((3, 5), JaxLayout((0, 1), ((2, 2),)), padding_value="ZERO")
    assert result is Layout.tiled((3, 5), [(2, 2)], padding_value="ZERO")
    assert formats.jax.write(result) == ((0, 1), ((2, 2),), 0)
    gaps = JaxLayout((0, 1), ((3,), (8, 4)))  # 64 slots for XLA, whose padding no sizes give
    assert read((2, 6), gaps) is xla.layout_of("f32[2,6]{1,0:T(3)(8,4)}")
    assert not read((2, 6), gaps).is_padded
    assert read((6, 12), JaxLayout((0, 1), ((3,),)), "ZERO").padding_size == 0
    bfloat16 = Layout.tiled((16, 128), [(8, 128), (2, 1)])
    assert formats.jax.read((16, 128), formats.jax.write(bfloat16)) is bfloat16


# --- what is refused -----------------------------------------------------------------------------

WRONG = """
numpy.read((2, 3), "K") -> numpy.read: order must be 'C' or 'F'
numpy.read((2, 3), (24, 8)) -> numpy.read: strides count bytes, so itemsize must be given
numpy.read((2, 3), (24, 7), 8) -> numpy.read: strides and offset must be multiples of the element
numpy.read((2, 3), (24,), 8) -> numpy.read: strides: must have length 2
numpy.write(tiles, 4) -> numpy.write: NumPy has strides, and no tiles
blas.read((2, 3, 4), ("N", 5)) -> blas.read: a matrix has two dimensions, got shape (2, 3, 4)
pytorch.read((2, 3), "strided") -> pytorch.read: memory_format must be one of contiguous_format
einops.read((2, 6), "a (b c) -> a b c", b=1, c=2) -> einops.read: axes 'b c' make 2, the size is 6
blas.read((2, 3), ("C", 5)) -> blas.read: trans must be 'N' or 'T' ('C' of a real matrix is 'T')
blas.read((2, 3), ("N", 1)) -> blas.read: ld must be at least 2, the length of a column
blas.write(cube) -> blas.write: a matrix has two dimensions and no tiles
directml.read((2, 0), None) -> directml.read: each of Sizes
directml.write(flipped) -> directml.write: Strides are unsigned
pytorch.read((2, 3, 4), "channels_last") -> pytorch.read: channels_last is for 4 dimensions
pytorch.read((2, 3), "preserve_format") -> pytorch.read: preserve_format needs like=, a layout of
pytorch.write(column) -> pytorch.write: PyTorch has no name for this order; as_strided()
pytorch.write(flipped) -> pytorch.write: has only blocks that begin at slot 0
pytorch.write(Layout((0, 3), (3, -1), offset=2)) -> pytorch.write: has no tiles, no padding and no
pytorch.write(padded) -> pytorch.write: has no padding
cudnn.read((2, 3), "NCHW") -> cudnn.read: a tensor has 3 to 8 dimensions
cudnn.read((2, 6, 4, 4), "NC/4HW4") -> cudnn.read: channels must be a multiple of the 4 of a vector
cudnn.read((2, 64, 4, 4), "NC/4HW4", 32) -> cudnn.read: tensor_format must be one of NCHW, NHWC
cudnn.read((2, 64, 4, 4), "NCDHW") -> cudnn.read: tensor_format must be one of NCHW, NHWC
cudnn.write(Layout.labelled((2, 3, 4, 5), "HWCN")) -> cudnn.write: no format of cuDNN
onednn.read((2, 3), "aB") -> onednn.read: tag must be letters of dimensions
onednn.read((2, 3), "aB08b") -> onednn.read: tag must be letters of dimensions
onednn.read((2, 3), "aa") -> onednn.read: tag must be letters of dimensions
onednn.read((2, 3), "nchw") -> onednn.read: tag 'nchw' is of 4 dimensions
onednn.read((2**40, 2), "aB999999999b") -> onednn.read:
onednn.write(padded) -> onednn.write: padding must hold zeros (with_padding_value('ZERO'))
onednn.write(Layout((1,) * 13)) -> onednn.write: needs 1 to 12 dimensions, a letter for each
onednn.write(cube.with_slot_bits(4)) -> onednn.write: slots are whole bytes (with_slot_bits(None)
onednn.write(reversal) -> onednn.write: no tag describes
einops.read((2, 3), "a b") -> einops.read: pattern must have the form 'b c -> c b'
einops.read((2, 3), "a b -> b a", c=2) -> einops.read: each axis must be on both sides, once
einops.read((2, 3), "a b c -> c b a") -> einops.read: pattern 'a b c -> c b a' is of 3 dimensions
einops.read((2, 3), "a (b c) -> a b c") -> einops.read: axes b c need lengths of 1 or more
einops.read((2, 3), "a (b -> a b") -> einops.read: pattern must have the form 'b (h p)
einops.read((2, 3), "... ... -> ...") -> einops.read: '...' must be an axis of its own
einops.read((2, 3), "a\\tb -> b a") -> einops.read: pattern must have the form 'b (h p)
einops.write(padded) -> einops.write: has no padding
einops.write(cube, "a b c1") -> einops.write: names must be 3 different ones
einops.write(Layout((1,) * 27)) -> einops.write: names must be 27 different ones
jax.read((2, 3), jax.JaxLayout((0, 1, 2))) -> jax.read: minor_to_major: must be a permutation
jax.read((2, 3), jax.JaxLayout((0, 1), ((0, 2),))) -> jax.read: tiles: sizes must be at least 1
jax.read((2, 6), jax.JaxLayout((0, 1), ((3,), (8, 4))), "ZERO") -> jax.read: the 64 slots of ((3,)
cute.write(torn) -> cute.write: dimension 0 of size 3 ends inside a tile
cute.read((2, 3), "(2,3)") -> cute.read: must have the form shape:stride
written(cube, 0) -> written: itemsize: must be at least one byte
"""


def space():
    return {
        **vars(formats),
        "Layout": Layout,
        "cube": Layout.row_major((2, 3, 4)),
        "column": Layout.column_major((2, 3, 4)),
        "flipped": Layout.row_major((2, 3)).flip((1,)),
        "padded": Layout.padded((2, 3), (2, 4)),
        "tiles": Layout.tiled((4, 6), [(2, 2)]),
        "torn": Layout.tiled((4, 6), [(2, 2)]).slice((slice(0, 3), slice(None))),
        "reversal": Layout.parse("(8,):(2*1+2*2+2*4,)"),
    }


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_what_is_refused(line):
    call, _, message = line.rpartition(") -> ")
    if "->" in message:  # of a pattern
        call, _, message = line.partition(") -> ")
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        eval(f"{call})", space())
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("name", ROWS)
def test_only_layouts_are_written(name):
    for wrong in (None, (2, 3), "(2,3):(3,1)", np.zeros(3)):
        with pytest.raises(TypeError, match=rf"^{name}.write: layout must be a Layout"):
            ROWS[name].write(wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda: formats.jax.read((2, 3), formats.jax.JaxLayout((0, 1), ("ab",))),
        lambda: formats.blas.read((2, 3), ("N", 2.5)),
        lambda: formats.numpy.read((2, 3), formats.numpy.NumpyMemory((12, 4), 4.0), 4),
        lambda: formats.pytorch.read((2, 3), formats.jax.JaxLayout((0, 1, 2, 3), 5)),
        lambda: formats.directml.read((5,), formats.directml.DirectmlBuffer((1,), None)),
        lambda: formats.einops.read((4,), formats.einops.EinopsPattern("(a z) -> a z", None)),
        lambda: formats.onednn.read("ab", "ab"),
        lambda: formats.cute.read((2, 3), None),
        lambda: formats.einops.read((4,), "(a b) -> a b", a="2"),
        lambda: formats.written(None),
    ],
)
def test_what_is_of_a_wrong_type(call):
    with pytest.raises(TypeError, match=r"^(\w+\.read|written): .*must be .*, got "):
        call()
