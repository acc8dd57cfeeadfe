"""Plans: found again, blind to where a tensor begins and to values of scalars; which copy operands.

What is written where operands lie in the memory that is written is tried by `tests/ops/alias_*.py`.
"""

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import cpu, directml, plan
from tensorlayout.plan.base import Plan
from tensorlayout.plan.copy import Assign, Copy
from tensorlayout.plan.mask import Masked
from tensorlayout.plan.run import CACHE_SIZE, cache_clear, cache_info
from tensorlayout.plan.scatter import Scatter
from tensorlayout.tensor import TensorSpec

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture(autouse=True)
def _empty_cache():
    cache_clear()


def test_a_thousand_slices_make_one_plan_of_the_slice_and_one_of_the_sum():
    x = tl.zeros((1000, 8), dtype=tl.float32)
    cache_clear()
    for i in range(1000):
        x[i] + 1
    assert (cache_info().misses, cache_info().hits) == (2, 1998)


def test_a_thousand_scalars_make_one_plan():
    x = tl.zeros((3, 4), dtype=tl.float32)
    cache_clear()
    for i in range(1000):
        x + (i / 7)
    assert cache_info().misses == 1


def test_kinds_of_scalars_have_plans_of_their_own():
    x = tl.zeros((3,), dtype=tl.float64)
    cache_clear()
    dtypes = [(x + s).dtype for s in (True, 1, 1.0, 1j)]
    assert dtypes == [tl.float64, tl.float64, tl.float64, tl.complex128]
    assert cache_info().misses == 4


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (tl.zeros((2, 3)), tl.zeros((2, 3), dtype=tl.float32)),
        (tl.zeros((2, 3)), tl.zeros((2, 3), layout="WH")),
        (tl.zeros((2, 3)), tl.zeros((3, 2))),
        (tl.zeros((1, 3)), tl.zeros((1, 3), layout="WH")),
    ],
    ids=["dtype", "order", "shape", "order of a dimension of size 1"],
)
def test_what_differs_is_planned_anew(first, second):
    cache_clear()
    tl.exp(first)
    tl.exp(second)
    assert cache_info().misses == 2


def test_specs_are_interned_and_leave_no_trace():
    layout = tl.Layout.packed((5, 7), (0, 1))
    cpu = tl.zeros(()).device
    assert TensorSpec(tl.float32, layout, cpu) is TensorSpec(tl.float32, layout, cpu)
    assert TensorSpec(tl.float32, layout.moved(3), cpu) is TensorSpec(tl.float32, layout, cpu)


@pytest.mark.cpu  # it is one cache for all devices
def test_the_cache_is_bounded():
    for n in range(CACHE_SIZE + 10):
        tl.zeros((n,), dtype=tl.int8)
    assert cache_info().currsize == CACHE_SIZE == cache_info().maxsize


def test_an_error_is_not_kept():
    x = tl.asarray([1j])
    before = cache_info().currsize
    for _ in range(3):
        with pytest.raises(TypeError, match="signbit: only real floating dtypes are allowed"):
            tl.signbit(x)
    assert cache_info().currsize == before


# Plans that read operands while they write another: `disturbs` must look at them.
WATCHED = {"assign", "elementwise", "fuse", "masked", "scatter"}


@pytest.mark.cpu
def test_every_plan_that_writes_where_operands_may_be_is_watched():
    plans = {each.kind: each for each in subclasses(Plan) if hasattr(each, "kind")}
    assert plans.keys() == cpu.CARRY_OUT.keys() | cpu.DIRECT.keys()
    assert {kind for kind, each in plans.items() if each.overlap is not None} == WATCHED


def subclasses(of):
    return [each for one in of.__subclasses__() for each in (one, *subclasses(one))]


@pytest.mark.cpu
def test_watched_plans():
    x = tl.zeros(4)._spec
    mask, at = tl.ones(4, dtype=bool)._spec, tl.arange(4)._spec
    for found in (
        Assign().plan(x, x),
        Masked().plan(x, x, 0, False, mask),
        Scatter().plan(x, x, (0,), False, at),
        Scatter().plan(x, x, (0,), None, at),
        tl.floor_divide.operation.plan(x, x).into(x),
    ):
        assert cpu.disturbs(found) is not None
    add = tl.add.operation
    assert cpu.disturbs(add.plan(x, x).into(x)) is None  # NumPy's own


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
