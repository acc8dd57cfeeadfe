"""Plans: pure, found again, and blind to where a tensor begins and to the values of scalars."""

import pytest

import tensorlayout as tl
from tensorlayout.plan.run import CACHE_SIZE, cache_clear, cache_info
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
