"""Plans that write into a tensor given: of any layout, the same shape and dtype."""

import numpy as np
import pytest
from directml_facts import STORED, flipped, stored

import tensorlayout as tl
from tensorlayout.functions import dispatch
from tensorlayout.plan.elementwise import Elementwise
from tensorlayout.plan.gather import Gather
from tensorlayout.plan.join import Join
from tensorlayout.plan.scan import Scan

ALONG = Gather("take_along_axis")
VALUES = np.arange(12, dtype=np.int32).reshape(3, 4)
AT = np.array([[2, -1, 0, 2], [0, 0, 1, 1]])


def calls(x, at):
    """Operation, key, operands, what it gives."""
    taken = np.take_along_axis(VALUES, AT % 3, 0)
    yield ALONG, (x._spec, (0,), None, at._spec), (x, at), taken
    yield Gather(), (x._spec, (0,), False, at._spec), (x, at), VALUES[AT]
    yield Join(), (0, x._spec, x._spec), (x, x), np.concatenate([VALUES, VALUES])
    sums = Scan("sums", "numeric", "sum")
    yield sums, (x._spec, 1, False, False), (x,), np.cumsum(VALUES, 1, np.int32)
    added = Elementwise("add", "numeric")
    yield added, (x._spec, int), (x, 5), VALUES + 5


@pytest.mark.parametrize("make", [*STORED, flipped], ids=lambda m: m.__name__)
def test_results_in_every_layout(make):
    at = tl.asarray(AT)
    for x in (stored(VALUES, make) if make is not flipped else flipped(VALUES), stored(VALUES)):
        for operation, key, operands, expected in calls(x, at):
            nonsense = np.full(expected.shape, 77, np.int32)
            out = flipped(nonsense) if make is flipped else stored(nonsense, make)
            with tl.trace() as seen:
                assert dispatch.call_into(out, operation, key, operands) is out
            np.testing.assert_array_equal(np.asarray(out), expected)
            tensors = [o.layout for o in operands if isinstance(o, tl.Tensor)]
            assert [(r.name, list(r.inputs)) for r in seen] == [(operation.name, tensors)]


def test_what_does_not_fit():
    x, at = tl.asarray(VALUES), tl.asarray(AT)
    key = (x._spec, (0,), None, at._spec)
    with pytest.raises(ValueError, match=r"take_along_axis: .* shape \(2, 4\) .* \(3, 4\)"):
        dispatch.call_into(tl.zeros((3, 4), dtype=tl.int32), ALONG, key, (x, at))
    with pytest.raises(TypeError, match=r"take_along_axis: the result has dtype int32, .* float64"):
        dispatch.call_into(tl.zeros((2, 4)), ALONG, key, (x, at))
