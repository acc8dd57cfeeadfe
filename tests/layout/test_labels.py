"""Labels, words and other libraries' layouts: which order in memory each asks for."""

import ast
import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from tensors import asarray, host, shared, slots_of

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.layout import cut_middle, short_layout_text

pytestmark = pytest.mark.usefixtures("device")

# What is written, the order of the shape, and the order minor to major that both mean.
LABELS = """
WH HW 0,1
HWC CHW 0,2,1
NLC NCL 1,2,0
BTC BCT 1,2,0
NHWC NCHW 1,3,2,0
BHWC BCHW 1,3,2,0
CHWN NCHW 0,3,2,1
HWCN NCHW 0,1,3,2
NDHWC NCDHW 1,4,3,2,0
NTHWC NCTHW 1,4,3,2,0
IO OI 0,1
OHWI OIHW 1,3,2,0
HWIO OIHW 0,1,3,2
DHWIO OIDHW 0,1,4,3,2
hwigo goihw 1,0,2,4,3
KRSC KCRS 1,3,2,0
RSCK KCRS 0,1,3,2
KTRSC KCTRS 1,4,3,2,0
NPQK NKPQ 1,3,2,0
BSHD BHSD 3,1,2,0
SBHD BHSD 3,1,0,2
CR RC 0,1
KM MK 0,1
NK KN 0,1
bnm bmn 1,2,0
acdb abcd 1,3,2,0
ba ab 0,1
XY YX 0,1
xyz zyx 0,1,2
xyzp pzyx 0,1,2,3
TZYXC TCZYX 1,4,3,2,0
yxc cyx 0,2,1
XYZCT TCZYX 0,1,2,3,4
"""
LABELS = [line.split() for line in LABELS.split("\n") if line]


def minor_to_major(text):
    return tuple(map(int, text.split(",")))


@pytest.mark.parametrize(("labels", "logical", "order"), LABELS)
def test_labels_say_the_order_in_memory(labels, logical, order):
    array = np.arange(720).reshape([*(2, 3, 4, 5, 6)[: len(logical)], -1])[..., 0]
    in_memory = array.transpose([logical.index(letter) for letter in labels]).ravel()
    x = tl.to_layout(tl.asarray(array), labels)
    assert x.layout.minor_to_major == minor_to_major(order)
    assert slots_of(x).tolist() == in_memory.tolist()
    assert host(x).tolist() == array.tolist()
    assert tl.Layout.labelled(array.shape, labels) is x.layout


@pytest.mark.parametrize("letters", ["W", "HW", "CHW", "NCHW", "NCDHW"])
def test_a_layout_says_its_labels(letters):
    shape = (2, 3, 4, 5, 6)[: len(letters)]
    for order in itertools.permutations(letters):
        labels = "".join(order)
        x = tl.zeros((2, *shape))
        assert tl.Layout.labelled(shape, labels).labels == labels
        assert tl.to_layout(x[1], labels.lower()).layout.labels == labels


def test_layouts_without_labels():
    x = tl.zeros((4, 3, 4, 5), layout="NHWC")
    assert x[1:3].layout.labels == "NHWC"  # wherever it begins
    for layout in (
        x[:, :2].layout,
        tl.flip(x).layout,
        tl.broadcast_to(tl.zeros(3), (2, 3)).layout,
        tl.Layout.padded((2, 3), (2, 4)),
        tl.Layout.tiled((4, 4), [(2, 2)]),
        tl.Layout.row_major(()),
        tl.Layout.row_major((1,) * 6),
    ):
        assert layout.labels is None


@pytest.mark.parametrize("text", ["NHWC", "(2,3):(3,1)", "{1,0}", ""])
def test_a_layout_is_not_compared_with_text(text):
    layout = tl.Layout.row_major((2, 3))
    for call in (lambda: layout == text, lambda: text != layout, lambda: layout in [text]):
        with pytest.raises(TypeError, match=f"cannot be compared, got '{re.escape(text)}'; "):
            call()
    assert {layout: 1, text: 2}[tl.Layout((2, 3))] == 1
    assert layout == tl.Layout.parse("(2,3):(3,1)")
    assert layout != (3, 1)
    assert layout is not None
    assert layout != None  # noqa: E711


@pytest.mark.parametrize(
    ("word", "orders"),
    [
        ("C", {0: (), 1: (0,), 2: (1, 0), 4: (3, 2, 1, 0), 7: (6, 5, 4, 3, 2, 1, 0)}),
        ("c", {3: (2, 1, 0)}),
        ("row_major", {3: (2, 1, 0)}),
        ("contiguous_format", {0: (), 3: (2, 1, 0)}),
        ("F", {0: (), 1: (0,), 2: (0, 1), 4: (0, 1, 2, 3)}),
        ("f", {3: (0, 1, 2)}),
        ("column_major", {3: (0, 1, 2)}),
        ("channels_first", {4: (3, 2, 1, 0), 5: (4, 3, 2, 1, 0)}),
        ("channels_last", {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}),
        ("channels_last_3d", {5: (1, 4, 3, 2, 0)}),
    ],
)
def test_words(word, orders):
    for rank, order in orders.items():
        assert tl.zeros((2,) * rank, layout=word).layout.minor_to_major == order


@pytest.mark.parametrize(
    ("labels", "rank", "message"),
    [
        (
            "hwc",
            4,
            r"'hwc' names 3 .*; give 'nhwc', or the dimensions from minor to major such as \(1, 3,",
        ),
        (
            "HWIO",
            2,
            r"\(O, I, H, W\), the shape has 2; give a letter .* dimensions from minor to major$",
        ),
        (
            "B",
            2,
            r"'B' names 1 dimension \(B\), the shape has 2; .* the dimensions from minor to major$",
        ),
        ("Nhwc", 4, "different letters of one case.*, got 'Nhwc'; give 'NHWC', or the dimensions"),
        (
            "nChw16c",
            4,
            "different letters .*, got 'nChw16c'; .* or the dimensions from minor to major$",
        ),
        ("NHHC", 4, "different letters .*, got 'NHHC'; .* or the dimensions from minor to major$"),
        ("NÄHW", 4, "different letters .*, got 'NÄHW'"),
        ("NHWX", 4, r"one family of NCTDHWL, .* TCZYX, .* \(AB, ABC, …\), got 'NHWX'; give "),
        ("acd", 3, "one family of NCTDHWL, .*, got 'acd'; give a letter .* from minor to major$"),
        (
            "TC",
            2,
            "'TC' is ambiguous, the shape may be CT or TC; .* dimensions from minor to major$",
        ),
        ("bhd", 3, "'bhd' is ambiguous, the shape may be BDH or BHD; "),
        ("preserve_format", 2, "one of C, F, .* channels_last_3d, got 'preserve_format'"),
        ("channels_last", 3, "is NHWC of rank 4 or NDHWC of rank 5, the shape has 3 dimensions; "),
        (
            "channels_last_3d",
            4,
            "is NDHWC of rank 5, the shape has 4 dimensions; .* from minor to major",
        ),
    ],
)
def test_labels_that_do_not_fit(labels, rank, message):
    shape = (2,) * rank
    with pytest.raises(ValueError, match=f"^labels: .*{message}"):
        tl.Layout.labelled(shape, labels)
    with pytest.raises(ValueError, match=f"^zeros: labels: .*{message}"):
        tl.zeros(shape, layout=labels)


# --- other libraries' objects, as far as can be seen from outside -------------------------------


class memory_format:
    """PyTorch's type of formats."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


def jax_layout(order, tiling=None):
    return SimpleNamespace(major_to_minor=order, tiling=tiling)


def jax_format(layout):
    return SimpleNamespace(layout=layout, sharding=None)


def asked_everywhere(shape, arguments):
    """The layouts that the ways of asking for one give."""
    array = np.ones(shape)
    return {
        tl.zeros(shape, layout=arguments).layout,
        tl.full_like(tl.zeros(shape), 2.0, layout=arguments).layout,
        tl.to_layout(tl.asarray(array), arguments).layout,
        tl.asarray(array, layout=arguments).layout,
        tl.asarray(array, dtype=tl.int8, layout=arguments).layout,
        tl.asarray(array.tolist(), layout=arguments).layout,
    }


@pytest.mark.parametrize(
    ("arguments", "rank", "order"),
    [
        (memory_format("contiguous_format"), 2, (1, 0)),
        (memory_format("channels_last"), 4, (1, 3, 2, 0)),
        (memory_format("channels_last_3d"), 5, (1, 4, 3, 2, 0)),
        (jax_layout((0, 1)), 2, (1, 0)),
        (jax_layout((0, 2, 3, 1), ()), 4, (1, 3, 2, 0)),
        (jax_format(jax_layout((1, 2, 0))), 3, (0, 2, 1)),
        ([0, 1], 2, (0, 1)),
        (range(3), 3, (0, 1, 2)),
        (np.array([0, 2, 1]), 3, (0, 2, 1)),
        ((np.int8(0), 1), 2, (0, 1)),
        (np.str_("HWC"), 3, (0, 2, 1)),
    ],
)
def test_what_may_be_asked_for(arguments, rank, order):
    assert asked_everywhere((2,) * rank, arguments) == {tl.Layout.packed((2,) * rank, order)}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (memory_format("preserve_format"), ValueError, "labels: .*, got 'preserve_format'"),
        (memory_format("channels_last"), ValueError, "labels: 'channels_last' is NHWC of rank 4"),
        (jax_layout((0, 1, 2)), ValueError, r"minor_to_major: must be .* got \(2, 1, 0\)"),
        (jax_layout((1, 0), ((0, 128),)), ValueError, r"tiles: .*0"),
        (jax_layout((1, 0), (("x",),)), ValueError, r"layout text: .*, got '{0,1:T\(x\)}'"),
        (jax_format(None), ValueError, "a Format must hold a Layout, got one of None"),
        (SimpleNamespace(layout="HW"), TypeError, "must be a Layout, its text, labels or a minor"),
        (b"NC", TypeError, "must be a Layout, its text, labels or a minor-to-major .*, got b'NC'"),
        (float, TypeError, "must be a Layout, its text, labels or a .*, got <class 'float'>"),
        (tl.Layout, TypeError, "must be a Layout, its text, labels or a minor-to-major"),
    ],
)
def test_what_may_not(arguments, error, message):
    for call in (
        lambda: tl.zeros((2, 3), layout=arguments),
        lambda: tl.to_layout(tl.zeros((2, 3)), arguments),
        lambda: tl.asarray([[1.0]], layout=arguments),
    ):
        with pytest.raises(error, match=f"^(zeros|to_layout|asarray): .*{message}"):
            call()


@pytest.mark.parametrize(
    ("arguments", "shape", "text"),
    [
        (jax_layout((0, 1), ((2, 2),)), (3, 5), "(3,5):(2*12+2*2,3*4+2*1)"),
        (jax_layout((1, 0), [[2, 2]]), (5, 3), "(5,3):(3*4+2*1,2*12+2*2)"),
        (jax_format(jax_layout((0, 1), ((2, 4), (2, 1)))), (2, 4), "(2,4):(1,2)"),
        (jax_layout((0, 1), ((-(2**63), 5),)), (3, 5), "(3,5):(5,1)"),
        (jax_layout((), ((128,),)), (), "():()"),
    ],
)
def test_tiled_layouts_of_jax(arguments, shape, text):
    """Positions by hand: blocks of 2 by 2 beside each other, then below; pairs of rows; a star."""
    assert asked_everywhere(shape, arguments) == {tl.Layout.parse(text)}


def test_layouts_of_xla():
    result = asked_everywhere((3, 5), tl.xla.parse_layout("{1,0:T(2,2)}"))
    assert result == {tl.Layout.parse("(3,5):(2*12+2*2,3*4+2*1)")}
    assert asked_everywhere((3, 5), tl.xla.parse_layout("{0,1}")) == {tl.Layout((3, 5), (1, 3))}
    with pytest.raises(ValueError, match=r"xla\.layout_of reads all else .*, got '{1,0:S\(1\)}'"):
        tl.zeros((3, 5), layout=tl.xla.parse_layout("{1,0:S(1)}"))


def test_plans_are_kept_under_our_words_not_under_objects():
    x = tl.zeros((2, 3))
    tl.to_layout(x, (0, 1))
    before = plan.run.cache_info()
    for _ in range(5):
        tl.to_layout(x, jax_layout((1, 0)))
        tl.to_layout(x, np.array([0, 1]))
        tl.to_layout(x, jax_format(jax_layout((1, 0))))
    assert plan.run.cache_info().misses == before.misses
    assert plan.run.cache_info().hits == before.hits + 15


@pytest.mark.cpu
def test_the_formats_of_pytorch():
    torch = pytest.importorskip("torch", reason="optional: PyTorch")
    y = tl.zeros((2, 3, 4, 5), layout=torch.channels_last)
    assert y.strides == (60, 1, 15, 3)
    with pytest.raises(TypeError, match=r"must be a Layout, .* got torch\.strided"):
        tl.zeros((2,), layout=torch.strided)


@pytest.mark.cpu
def test_the_layouts_of_jax():
    jax = pytest.importorskip("jax", reason="optional: JAX")
    layouts = pytest.importorskip("jax.experimental.layout", reason="optional: JAX")
    if not hasattr(layouts, "Format"):
        pytest.skip("optional: JAX with Format and Layout")
    assert tl.zeros((2, 3), layout=jax.numpy.zeros((2, 3)).format).layout.minor_to_major == (1, 0)
    tiled = tl.zeros((3, 5), layout=layouts.Layout((0, 1), ((2, 2),)))
    assert tiled.layout == tl.Layout.parse("(3,5):(2*12+2*2,3*4+2*1)")
    with pytest.raises(TypeError, match="must be a Layout, its text"):
        tl.zeros((2, 3), layout=layouts.Layout.AUTO)


# --- padding by name ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", tl.PaddingValue, ids=lambda v: v.name)
@pytest.mark.parametrize("spelt", [str.upper, str.lower])
def test_padding_by_name(value, spelt):
    name = spelt(value.name)
    wanted = tl.Layout.padded((2, 3), (2, 4), padding_value=value)
    assert tl.Layout.padded((2, 3), (2, 4), padding_value=name) is wanted
    assert tl.Layout((2, 3), padded_shape=(2, 4), padding_value=name) is wanted
    assert tl.Layout.pitched((2, 3), 4, 1, padding_value=name) is wanted
    assert tl.Layout.padded((2, 3), (2, 4)).with_padding_value(name) is wanted
    assert tl.Layout.parse(f"(2,3):(4,1) padded=(2,4) padding={name}") is wanted
    assert tl.Layout.tiled((3,), [(2,)], None, name).padding_value is value
    assert tl.xla.layout_of("f32[3]{0:T(2)}", name).padding_value is value


def test_padding_by_name_is_written():
    x = tl.ones((2, 3), layout=tl.Layout.padded((2, 3), (2, 4), padding_value="zero"))
    assert slots_of(x).tolist() == [1, 1, 1, 0, 1, 1, 1, 0]


ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (tl.PaddingValue.LOWEST, tl.complex64),
        (tl.BitPattern(1, "float32"), tl.float64),
        (tl.BitPattern(256, "uint8"), tl.uint8),
    ],
    ids=str,
)
def test_padding_that_the_dtype_cannot_hold_is_refused(value, dtype):
    layout = tl.Layout.padded((1,), (3,), padding_value=value)
    for make in (tl.zeros, tl.empty):
        with pytest.raises(ValueError, match="has no meaning in"):
            make((1,), dtype=dtype, layout=layout)
    with pytest.raises(ValueError, match="has no meaning in"):
        tl.to_layout(tl.zeros((1,), dtype=dtype), layout)


def test_copy_only_where_asked_or_needed():
    x = asarray(ARRAY)
    assert tl.to_layout(x, "CHW") is x
    assert tl.to_layout(x, "CHW", copy=False) is x
    y = tl.to_layout(x, "CHW", copy=True)
    assert not shared(y, x)
    with pytest.raises(ValueError, match=r"to_layout: unable to avoid a copy, .* is not"):
        tl.to_layout(x, "HWC", copy=False)


def test_the_same_placement_in_another_order_is_a_view():
    x = tl.zeros((1, 4))
    y = tl.to_layout(x, (0, 1), copy=False)
    assert y.layout.minor_to_major == (0, 1)
    y[0, 2] = 5
    assert float(x[0, 2]) == 5


@pytest.mark.cpu
def test_a_tensor_over_storage_shares_it():
    storage = bytearray(b"ABCxxDEFxx")
    x = tl.from_storage(storage, "(2,3):(5,1)", dtype=tl.uint8)
    assert bytes(host(x).ravel()) == b"ABCDEF"
    x[1, 1] = ord("!")
    assert storage == b"ABCxxD!Fxx"
    assert str(tl.from_storage(storage, "(2,2):(-5,1)+6", dtype=tl.int8).layout) == "(2,2):(-5,1)+6"


@pytest.mark.cpu
def test_storage_that_is_read_only_makes_read_only_tensors():
    x = tl.from_storage(b"abc", "(3,):(1,)", dtype=tl.uint8)
    assert x.readonly
    assert x[1:].readonly
    assert tl.flip(x).readonly
    assert not x.copy().readonly


# Shape, layout as it is asked for, and the layout that repr shows: none for row-major.
SHOWN = """
(2, 3) C -
(2, 3) F F
(2, 3, 4) HWC HWC
(2, 3, 4) F F
(2, 3, 4) CWH (2,3,4):(12,1,3)
(2, 3, 4, 5) NHWC NHWC
(2, 3, 4, 5) F F
(2, 3, 4, 5) NWCH (2,3,4,5):(60,4,1,12)
(2, 3, 4, 5, 6) NDHWC NDHWC
(1, 3, 1, 5) NHWC NHWC
(1, 3, 1, 5) F F
(2, 1, 4, 5) NHWC -
(2, 3, 4) (2,3,4):(1,8,2) HWC
(2, 3, 4) (2,3,4):(1,8,2)+7 HWC
(2, 3) (2,3):(1,3)_padded=(3,3) (2,3):(1,3)_padded=(3,3)
(2, 3) (2,3):(1,2)_padding=ZERO F
(2, 3) {1,0:T(2,2)} (2,3):(2,2*4+2*1)_order=(1,0)
(4,) (4,):(3,) (4,):(3,)
"""


@pytest.mark.parametrize("row", SHOWN.strip().splitlines())
def test_repr_names_layouts_as_layout_arguments_do(row):
    shape, layout, expected = re.fullmatch(r"(\(.*?\)) (\S+) (\S+)", row).groups()
    shape = ast.literal_eval(shape)
    x = tl.zeros(shape, dtype=tl.int8, layout=layout.replace("_", " "))
    shown = re.search(r", layout='(.*)'\)", repr(x))
    assert (shown[1] if shown else "-") == expected.replace("_", " ")
    if shown:
        assert tl.zeros(shape, dtype=tl.int8, layout=shown[1]).layout is x.layout


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (tl.Layout.row_major((2, 3)), "(2,3)"),
        (tl.Layout.row_major(()), "()"),
        (tl.Layout((3,), (1,), offset=4), "(3,)"),
        (tl.Layout.labelled((2, 3, 4, 5), "NHWC"), "NHWC (2,3,4,5)"),
        (tl.Layout((2, 3), (5, 1), offset=7), "(2,3):(5,1)"),
        (tl.Layout((3,), (-1,), offset=9), "(3,):(-1,)+2"),
        (tl.Layout((2, 3), slot_bits=4), "(2,3):(3,1) bits=4"),
        (
            tl.Layout.tiled((26, 3, 224, 224), [(8, 128), (2, 1)], (3, 2, 1, 0)),
            "(26,3,224,224):(172032,5…4*256+2*1,2*1024+128*2)",
        ),
    ],
)
def test_short_texts(layout, text):
    assert short_layout_text(layout) == text
    assert len(text) <= 48


def test_texts_are_cut_in_the_middle():
    assert [cut_middle("abcdefg", n) for n in (7, 6, 5)] == ["abcdefg", "abc…fg", "ab…fg"]
