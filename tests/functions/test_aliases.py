"""Writes whose operands lie in the memory that is written: which plans copy them, and when.

What is written then is tried by `alias_*.py` of `tests/ops`.
"""

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import cpu, directml, plan
from tensorlayout.plan.base import Plan
from tensorlayout.plan.copy import Assign, Copy
from tensorlayout.plan.mask import Masked
from tensorlayout.plan.scatter import Scatter

pytestmark = pytest.mark.usefixtures("device")


# Plans that read operands while they write another: `disturbs` must look at them.
WATCHED = {"assign", "elementwise", "fuse", "masked", "scatter"}


@pytest.mark.cpu
def test_every_plan_that_writes_where_operands_may_be_is_watched():
    plans = {subclass.kind: subclass for subclass in subclasses(Plan) if hasattr(subclass, "kind")}
    assert plans.keys() == cpu.PLAN_COMPILERS.keys() | cpu.ALLOCATING_COMPILERS.keys()
    assert {
        kind for kind, subclass in plans.items() if subclass.partial or subclass.in_place
    } == WATCHED


def subclasses(of):
    return [item for one in of.__subclasses__() for item in (one, *subclasses(one))]


@pytest.mark.cpu
def test_watched_plans():
    x = tl.zeros(4).spec
    mask, at = tl.ones(4, dtype=bool).spec, tl.arange(4).spec
    for item in (
        Assign().plan(x, x),
        Masked().plan(x, x, 0, False, mask),
        Scatter().plan(x, x, (0,), False, at),
        Scatter().plan(x, x, (0,), None, at),
        tl.floor_divide.operation.plan(x, x).with_destination(x),
    ):
        assert cpu.overlap_test(item) is not None
    add = tl.add.operation
    assert cpu.overlap_test(add.plan(x, x).with_destination(x)) is None  # NumPy's own


@pytest.mark.cpu
def test_exactly_the_same_place_needs_no_copy(monkeypatch):
    x = tl.asarray(np.arange(1.0, 6.0))
    x[1:3] += 1
    x //= x
    with monkeypatch.context() as patch:
        patch.setattr(Copy, "plan", None)
        x[1:3] += 1
        x //= x
        x[...] = x
        with pytest.raises(TypeError):
            x[1:] = x[:-1]
    np.testing.assert_array_equal(np.asarray(x), np.ones(5))


@pytest.mark.cpu
def test_copies_are_planned_once():
    x = tl.arange(8)
    x[1:] = x[:-1]
    before = plan.run.cache_info().misses
    for _ in range(5):
        x[1:] = x[:-1]
    assert plan.run.cache_info().misses == before


@pytest.mark.cpu
@pytest.mark.parametrize("view", [lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x.T])
def test_directml_functions_that_read_after_they_write_refuse(view):
    x = tl.ones((4, 4), dtype=tl.float32)
    out, first = view(x), tl.zeros((1, 4), dtype=tl.int32)
    for call in (
        lambda: directml.cast(x, "FLOAT32", out=out),
        lambda: directml.join([x[:2], x[2:]], axis=0, out=out),
        lambda: directml.scatter(x, first, x[:1], 0, out=out),
        lambda: directml.scatter(tl.zeros_like(x), first, x[:1], 0, out=out),
        lambda: directml.element_wise_if(tl.ones((4, 4), dtype=tl.uint8), x, x, out=out),
    ):
        with pytest.raises(ValueError, match="share"):
            call()
