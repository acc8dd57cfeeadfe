"""The one list of layouts that tests go through, strategies for more, and what brute force says."""

import itertools
import math

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tensorlayout.layout import BitPattern, Layout, PaddingValue

ROWS = Layout.row_major((3, 4))
CUBE = Layout.row_major((2, 3, 4))
EXAMPLES = 40  # drawn for each law, after all of LAYOUTS
NAN = BitPattern(0x7FC00000, "float32")


def _view(layout, *key):
    return layout.slice(key)


_STRIDED = [
    ("row-major", ROWS),  # what most code assumes
    ("column-major", Layout.column_major((3, 4))),  # what it then gets wrong
    # every order of a rank
    *((f"order {p}", Layout.packed((2, 3, 4), p)) for p in itertools.permutations(range(3))),
    # an order that no transpose of two dimensions gives
    ("NHWC", Layout.labelled((2, 3, 2, 4), "NHWC")),
    ("rank 0", Layout.row_major(())),  # no dimension to walk
    ("rank 1", Layout.row_major((7,))),  # the only rank that is row-major and column-major
    # many dimensions, half of them without a stride that matters
    ("rank 12, sizes 1 and 2", Layout.packed((1, 2) * 6, (*range(0, 12, 2), *range(1, 12, 2)))),
    ("one element", Layout.row_major((1,))),  # any stride would do
    ("one element, rank 3", Layout.packed((1, 1, 1), (1, 0, 2))),  # an order that no stride shows
    # not the packed stride, and packed all the same
    ("size 1 with a stride of its own", Layout((1, 3), (7, 1))),
    # a dimension of size 1 between the others
    ("size 1 in column-major order", Layout.column_major((3, 1, 2))),
    ("empty", Layout.row_major((0,))),  # no element, no slot
    # strides of the others go on as if it were 1
    ("empty in the middle", Layout.packed((2, 0, 3), (1, 0, 2))),
    # slots, yet no element
    ("empty but for padding", Layout.padded((0, 3), (2, 3), None, PaddingValue.ONE)),
    # padded sizes, yet no slot
    ("empty with an empty block", Layout.padded((0, 3), (0, 5), None, PaddingValue.ZERO)),
    # each symbol
    *((f"padded {v.name}", Layout.padded((3, 4), (3, 6), None, v)) for v in PaddingValue),
    # bits that compare equal to nothing as a float
    ("padded with a pattern", Layout.padded((3, 4), (3, 6), None, NAN)),
    # the printed XLA example
    ("padded on all sides", Layout.padded((2, 3), (3, 5), (0, 1), PaddingValue.ZERO)),
    # elements fill a block by themselves
    ("padded major side alone", Layout.padded((2, 3), (4, 3), None, PaddingValue.LOWEST)),
    # the padding alone says the order
    ("padded size 1", Layout.padded((1, 3), (4, 3), (0, 1), PaddingValue.HIGHEST)),
    # a block that begins inside the storage
    ("padded, offset", Layout.padded((2, 3), (2, 5), None, PaddingValue.ONE).moved(4)),
    # padding stays behind the elements in memory
    ("padded, flipped", Layout.padded((2, 3), (2, 5), None, PaddingValue.ONE).flip((1,))),
    # rows that begin at whole pitches
    ("pitched", Layout.pitched((3, 5), 32, 4, None, PaddingValue.ZERO)),
    # the strides of padded rows, but nobody owns the gaps
    ("gaps without padding", Layout((2, 3), (5, 1))),
    ("offset", ROWS.moved(5)),  # packed, elsewhere
    ("flipped", ROWS.flip((0, 1))),  # packed, backwards: one flat run
    ("flipped in one dimension", CUBE.flip((1,))),  # packed, but no flat run
    # a step and an offset
    ("every second row", _view(Layout.row_major((6, 4)), slice(1, None, 2))),
    # a negative stride that leaves gaps
    ("backwards in steps", _view(Layout.row_major((9,)), slice(8, None, -3))),
    ("a column", _view(ROWS, slice(None), 2)),  # one dimension gone, stride left
    # a view that leaves out elements owns no padding
    ("cut from padding", _view(Layout.padded((3, 4), (3, 6)), slice(1, 3))),
    ("broadcast", Layout.row_major((3,)).broadcast_to((2, 3))),  # a leading dimension of stride 0
    # stride 0 between dimensions that would merge
    ("broadcast inside", Layout.row_major((2, 1, 3)).broadcast_to((2, 4, 3))),
    ("broadcast scalar", Layout.row_major(()).broadcast_to((2, 2))),  # nothing but stride 0
    # an order that stride 0 cannot show
    ("broadcast, column-major order", Layout((2, 3), (0, 1), minor_to_major=(0, 1))),
    ("sliding window", Layout.row_major((6,)).sliding_window((3,), (0,))),  # equal strides
    # two pairs of equal strides
    ("sliding window, rank 2", Layout.row_major((3, 4)).sliding_window((2, 2), (0, 1))),
    ("diagonal", Layout((3,), (5,))),  # a stride that is no product of sizes
    ("shared slots without stride 0", Layout((3, 3), (2, 3))),  # overlap that only a search finds
    # strides that interleave without overlap
    ("no shared slots, not nested", Layout((3, 2), (2, 3))),
]

_TILED = [
    # the first figure of the XLA page
    ("T(2,2), tails", Layout((3, 5), parts=[((2, 12), (2, 2)), ((3, 4), (2, 1))])),
    # whole tiles: a strided layout of more dimensions
    ("T(2,2), no tails", Layout((4, 6), parts=[((2, 12), (2, 2)), ((3, 4), (2, 1))])),
    # tiled and strided dimensions together
    ("T(2,2), batch", Layout((2, 3, 4), parts=[[(2, 16)], [(2, 8), (2, 2)], [(2, 4), (2, 1)]])),
    # the second figure: the tile of a tile, whose parts partly merge
    ("T(2,4)(2,1)", Layout((4, 8), parts=[((2, 16), (2, 1)), ((2, 8), (4, 2))])),
    # two nested tiles
    (
        "T(4,4)(2,2): three parts, tails",
        Layout((5, 6), parts=[((2, 32), (2, 8), (2, 2)), ((2, 16), (2, 4), (2, 1))]),
    ),
    # tails that hold something
    (
        "tiled, padded, a value",
        Layout(
            (3, 5), parts=[((2, 12), (2, 2)), ((3, 4), (2, 1))], padding_value=PaddingValue.ZERO
        ),
    ),
    # negative strides in every part of one dimension
    ("tiled, flipped", Layout((4, 6), parts=[((2, -12), (2, -2)), ((3, 4), (2, 1))], offset=14)),
    # a block that begins inside the storage
    ("tiled, offset", Layout((3, 5), parts=[((2, 12), (2, 2)), ((3, 4), (2, 1))], offset=3)),
    # a view of whole rows of one column of tiles
    ("tiled, one tile cut out", Layout((4, 2), parts=[((2, 12), (2, 2)), ((2, 1),)])),
    # a block of no slots at all, which need not have strides
    ("tiled, padded, no slots", Layout.parse("(0,2,2):(0,1,1*2+2*4) padded=(0,2,4) padding=ZERO")),
    # tiles with a stride of their own
    ("tiled with gaps", Layout((4, 3), parts=[((2, 20), (2, 3)), ((3, 1),)])),
    ("tiled, broadcast", Layout((4, 3), parts=[((2, 3), (2, 0)), ((3, 1),)])),  # a part of stride 0
    # the most minor part belongs to the first dimension
    ("tiled, column-major order", Layout((4, 4), parts=[[(2, 4), (2, 1)], [(2, 8), (2, 2)]])),
]

LAYOUTS = _STRIDED + _TILED  # (name, layout)
STRIDED = [layout for _, layout in _STRIDED]
TILED = [layout for _, layout in _TILED]

# What every function of the namespace is tried on: of the tiled ones, the fewest that differ in
# what happens to them. The marker `long` tries all.
FEW_TILED = [
    Layout.tiled((3, 4), [(2, 3)], None, PaddingValue.ONE),  # tails that must be written again
    # a view that owns none of its tail, and has no slices at odd indices
    Layout.tiled((5, 4), [(2, 2)]).slice((slice(2, 5),)),
    # a tile of a tile, in column-major order, under a dimension without tiles
    Layout.tiled((2, 3, 4), [(2, 2), (2, 1)], (1, 2, 0)),
]
TENSORS = STRIDED + FEW_TILED  # what tests of functions go through, on every device


# --- brute force -------------------------------------------------------------------------------


def indices(shape):
    """All indices, in row-major order."""
    return itertools.product(*map(range, shape))


def slot_of(layout, index):
    """The slot of an element: each dimension's index in mixed radix, digits times strides."""
    slot = layout.offset
    for i, parts in zip(index, layout.parts, strict=True):
        for number, (extent, stride) in enumerate(parts):
            below = math.prod(e for e, _ in parts[number + 1 :])
            slot += (i // below if number == 0 else i // below % extent) * stride
    return slot


def slots_of(layout):
    """The slots of all elements, in row-major index order."""
    return [slot_of(layout, index) for index in indices(layout.shape)]


def slot_array(layout):
    """The slots as an array of the layout's shape: what NumPy does to it is what views do."""
    return np.array(slots_of(layout), np.int64).reshape(layout.shape)


def padding_of(layout):
    """The slots of the padding that a layout owns: its block without its elements."""
    if layout.padded_shape == layout.shape:
        return set()
    lowest = min(slots_of(layout), default=layout.offset)
    block = range(lowest, lowest + math.prod(layout.padded_shape))
    return set(block) - set(slots_of(layout))


def has_tails(layout):
    """Return True if the extents of some tiled dimension multiply to more than its size."""
    pairs = zip(layout.shape, layout.parts, strict=True)
    return any(math.prod(e for e, _ in parts) != n for n, parts in pairs)


# --- strategies --------------------------------------------------------------------------------


def shapes(max_dims=4, least=0):
    """Shapes of few elements, with sizes 0 and 1 often."""
    sizes = st.sampled_from([n for n in (0, 1, 1, 2, 2, 3, 3, 4, 5) if n >= least])
    return st.lists(sizes, max_size=max_dims).map(tuple)


def orders(rank):
    return st.permutations(range(rank)).map(tuple)


PADDING_VALUES = st.sampled_from([*PaddingValue, NAN, BitPattern(0, "int8")])
OFFSETS = st.sampled_from([0, 0, 0, 1, 7])


@st.composite
def packed(draw):
    shape = draw(shapes())
    return Layout.packed(shape, draw(orders(len(shape)))).moved(draw(OFFSETS))


@st.composite
def padded(draw, least=0):
    shape = draw(shapes(least=least))
    block = [n + draw(st.integers(0, 2)) for n in shape]
    layout = Layout.padded(shape, block, draw(orders(len(shape))), draw(PADDING_VALUES))
    return layout.moved(draw(OFFSETS))


def _fitting(shape, parts, extra=0):
    """A layout of these parts at the lowest offset that they allow, plus some."""
    zero = Layout(shape, parts=parts, offset=2**40)
    return zero.moved(extra - zero.lowest)


@st.composite
def strided(draw):
    """Any strides at all: gaps, overlaps, repeated, backwards."""
    shape = draw(shapes())
    parts = [[(n, draw(st.integers(-9, 9)))] for n in shape]
    return _fitting(shape, parts, draw(OFFSETS))


@st.composite
def tiled(draw):
    """A packed block of tiles, nested ones too, with tails or without."""
    shape = draw(shapes(max_dims=3, least=1))
    extents = []
    for n in shape:
        inner = draw(st.lists(st.sampled_from([1, 2, 2, 3]), max_size=2))
        extents.append([-(-n // math.prod(inner)), *inner])
    places = [(d, p) for d, dim in enumerate(extents) for p in range(len(dim))]
    strides, running = {}, 1
    for place in draw(st.permutations(places)):
        strides[place] = running
        running *= extents[place[0]][place[1]]
    parts = [[(e, strides[d, p]) for p, e in enumerate(dim)] for d, dim in enumerate(extents)]
    value = draw(PADDING_VALUES)
    return Layout(shape, parts=parts, padding_value=value).moved(draw(OFFSETS))


@st.composite
def tiled_anyhow(draw):
    """Tiles whose parts have any strides."""
    layout = draw(tiled())
    parts = [[(e, draw(st.integers(-9, 9))) for e, _ in dim] for dim in layout.parts]
    return _fitting(layout.shape, parts, draw(OFFSETS))


def keys(shape):
    """Basic indices: integers, slices with any step, None and an Ellipsis."""
    bounds = st.none() | st.integers(-6, 6)
    steps = st.sampled_from([None, 1, -1, -1, 2, -2, 3])
    items = [
        st.builds(slice, bounds, bounds, steps) | st.just(slice(None))
        if n == 0
        else st.integers(-n, n - 1) | st.builds(slice, bounds, bounds, steps)
        for n in shape
    ]

    @st.composite
    def draw_key(draw):
        count = draw(st.integers(0, len(shape)))
        key = [draw(item) for item in items[:count]]
        if draw(st.booleans()):
            key.append(...)
            key += [draw(item) for item in items[len(shape) - draw(st.integers(0, 1)) :][:1]]
            if sum(item is not ... for item in key) > len(shape):
                key.pop()
        for _ in range(draw(st.integers(0, 2))):
            key.insert(draw(st.integers(0, len(key))), None)
        return tuple(key)

    return draw_key()


def reshapes(size):
    """Shapes of `size` elements."""
    if size == 0:
        return st.sampled_from([(0,), (3, 0), (0, 1, 2)])
    divisors = [n for n in range(1, size + 1) if size % n == 0]

    @st.composite
    def draw_value(draw):
        shape, rest = [], size
        for _ in range(draw(st.integers(0, 3))):
            shape.append(draw(st.sampled_from([n for n in divisors if rest % n == 0])))
            rest //= shape[-1]
        shape.insert(draw(st.integers(0, len(shape))), rest)
        return tuple(shape)

    return draw_value()


def operations(layout):
    """A view operation that suits a layout: the name of the method, and its arguments."""
    shape, rank = layout.shape, layout.ndim
    numbers = st.lists(st.integers(0, max(rank - 1, 0)), max_size=rank, unique=True)
    units = [d for d, n in enumerate(shape) if n == 1]
    lead = st.lists(st.sampled_from([1, 2]), max_size=2)
    wider = st.tuples(*(st.sampled_from([1, 2, 0]) if n == 1 else st.just(n) for n in shape))
    windows = [d for d, n in enumerate(shape) if n and len(layout.parts[d]) == 1]
    choices = [
        st.tuples(st.just("permute"), orders(rank)),
        st.tuples(st.just("slice"), keys(shape)),
        st.tuples(st.just("flip"), numbers.map(tuple)),
        st.tuples(st.just("expand_dims"), st.integers(0, rank)),
        st.tuples(st.just("squeeze"), st.sets(st.sampled_from(units)).map(tuple))
        if units
        else st.just(("squeeze", ())),
        st.tuples(st.just("broadcast_to"), st.builds(lambda a, b: (*a, *b), lead, wider)),
        st.tuples(st.just("reshape"), reshapes(layout.size)),
    ]
    if windows:
        window = st.sampled_from(windows).flatmap(
            lambda d: st.tuples(st.integers(1, shape[d]).map(lambda w: (w,)), st.just((d,)))
        )
        choices.append(window.map(lambda pair: ("sliding_window", *pair)))
    return st.one_of(choices)


def bases():
    return st.one_of(packed(), padded(), strided(), tiled(), tiled_anyhow())


@st.composite
def layouts(draw, base=None, most=2):
    """A layout after a chain of views; views that do not exist are left out."""
    layout = draw(bases() if base is None else base)
    for _ in range(draw(st.integers(0, most))):
        name, *arguments = draw(operations(layout))
        result = getattr(layout, name)(*arguments)
        if result is not None and result.size <= 500 and result.ndim <= 6:
            layout = result
    return layout


def every_layout(test):
    """A test of one layout, over the list above and over layouts that hypothesis makes."""
    test = settings(max_examples=EXAMPLES)(given(layouts())(test))
    for _, layout in LAYOUTS:
        test = example(layout)(test)
    return test
