"""Random shapes and layouts of XLA for hypothesis."""

from hypothesis import strategies as st

from tensorlayout.xla import COMBINE, UNBOUNDED, PrimitiveType, Shape, SplitConfig, XlaLayout

ARRAYS = [kind for kind in PrimitiveType if kind.is_array]


@st.composite
def tiles(draw, stars=True):
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    if stars and draw(st.booleans()):
        sizes.insert(draw(st.integers(0, len(sizes) - 1)), COMBINE)
    return tuple(sizes)


@st.composite
def xla_layouts(draw, sizes):
    splits = []
    order = draw(st.permutations(range(len(sizes))))
    for physical, dim in enumerate(reversed(order)):
        if sizes[dim] > 1 and draw(st.integers(0, 5)) == 0:
            points = draw(st.sets(st.integers(1, sizes[dim] - 1), max_size=3))
            splits.append(SplitConfig(physical, tuple(sorted(points))))
    return XlaLayout(
        minor_to_major=order,
        tiles=draw(st.lists(tiles(), max_size=3)),
        tail_padding_alignment=draw(st.sampled_from([1, 1, 8, 1024])),
        element_size_in_bits=draw(st.sampled_from([0, 0, 1, 4, 16])),
        memory_space=draw(st.sampled_from([0, 0, 1, 5, -128, 127])),
        split_configs=splits,
        metadata_prefix_bytes=draw(st.sampled_from([0, 0, 8])),
    )


@st.composite
def arrays(draw, with_layouts):
    bounded = st.tuples(st.integers(0, 300), st.booleans())
    dims = draw(st.lists(st.one_of(bounded, st.just((UNBOUNDED, True))), max_size=5))
    sizes, dynamic = [n for n, _ in dims], [d for _, d in dims]
    # A scalar always has a layout in text.
    layout = draw(xla_layouts(sizes)) if draw(with_layouts) or not sizes else None
    return Shape.array(draw(st.sampled_from(ARRAYS)), sizes, layout, dynamic)


def shapes(with_layouts=None):
    """Any shape; `with_layouts` says for each array whether it has a layout (all by default)."""
    leaves = arrays(st.just(True) if with_layouts is None else with_layouts)
    others = st.sampled_from([Shape.token(), Shape.opaque()])
    base = st.one_of(leaves, others, st.builds(Shape.buffer, leaves))
    return st.recursive(base, lambda s: st.lists(s, max_size=7).map(Shape.tuple_of), max_leaves=9)
