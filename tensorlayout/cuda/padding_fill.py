"""The padding of a layout written alone, in one launch; its elements are left as they are."""

from __future__ import annotations

from tensorlayout.cuda.driver import Kernel
from tensorlayout.cuda.fill_plan import FILE, FillLaunch, FillPlan, plan_padding, strided_type
from tensorlayout.cuda.launches import Launch
from tensorlayout.cuda.padding_plan import padding_regions, padding_struct
from tensorlayout.cuda.parameters import rank_macro, walk
from tensorlayout.layout import Layout

_INDEX = "int32_t"


def plan_padding_alone(layout: Layout, itemsize: int, alignment: int, padding: bytes) -> FillPlan:
    """How to write `padding` to the padding that a layout owns: a fill of no elements.

    As in `fill_plan.plan_fill`; several launches for more regions than a launch can take.
    """
    regions = padding_regions(layout)
    if not regions.regions:
        return FillPlan("empty", ())
    if not regions.fit_a_launch or alignment < itemsize:
        return plan_padding(layout, itemsize, alignment, padding)
    padded, blocks = padding_struct(regions, padding, 0)
    made = strided_type(1, _INDEX)(padding=padded, walk=walk(_INDEX, [1], [[1]]))
    shape = (rank_macro(1), ("INDEX", _INDEX), ("WIDTH", str(itemsize)))
    launch = Launch(Kernel(FILE, "fill_strided", shape=shape), blocks, bytes(made), (0,))
    return FillPlan("padding", (FillLaunch(launch),))
