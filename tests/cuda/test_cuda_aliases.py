"""Writes on CUDA whose operands lie in the storage that is written: no thread races with another.

Which values are written is drawn in tests/ops (`alias_cases`), for any views under any dtypes.
"""

import operator

import numpy as np
import pytest
from shared_memory import seen
from simulated import needs_compiler, simulator

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.cuda.engine.simulator import checking

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as found:
        yield found


WRITES = {
    "assign": lambda x, y: x.__setitem__(..., y),
    "add": operator.iadd,
    "choose": lambda x, y: x.__setitem__(y % 2 == 0, x[-1, -1]),
    "reach": lambda x, y: x.__setitem__(y[0] % 2, x[-1]),
    "put": lambda x, y: tl.put_along_axis(x, y % 2, x[::-1], axis=0),
}
# Three columns of int64; bytes of the same storage in the same slots, as rows of it, and backwards.
BYTES = ["(3,3):(1,3)", "(3,3):(1,24)", "(3,3):(-24,8)+48", "(3,3):(0,-1)+40"]


@pytest.mark.parametrize("write", WRITES)
def test_bytes_of_what_is_written(write):
    octets = np.random.default_rng(0).integers(0, 99, 80, np.uint8)
    for layout in BYTES:
        storage = tl.asarray(octets, device="cuda", copy=True)
        x, y = seen(storage, "(3,3):(1,3)", "int64"), seen(storage, layout, "uint8")
        expected, read = (tl.asarray(each, copy=True, device="cuda") for each in (x, y))
        WRITES[write](expected, read)
        with checking("bounds", "races"):
            WRITES[write](x, y)
        assert x.to_device("cpu").tolist() == expected.to_device("cpu").tolist(), layout


SQUARES = {
    "itself": lambda a: a,
    "transposed": lambda a: a.mT,
    "rows flipped": lambda a: a[::-1],
    "flipped and transposed": lambda a: a.mT[::-1, ::-1],
}
OPERATORS = {
    "scaled": lambda x, out: directml.element_wise_identity(x, (2, 0.5), out=out),
    "running": lambda x, out: directml.cumulative_summation(x, 0, out=out),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("source", SQUARES)
@pytest.mark.parametrize("target", SQUARES)
def test_operators_of_directml_into_their_own_input(name, source, target):
    a = np.random.default_rng(0).integers(0, 9, (40, 40)).astype(np.float32)
    x, y = (tl.asarray(a, device="cuda", copy=True) for _ in range(2))
    expected = tl.zeros_like(SQUARES[target](y))
    OPERATORS[name](SQUARES[source](y), expected)
    with checking("bounds", "races"):
        OPERATORS[name](SQUARES[source](x), SQUARES[target](x))
    found = SQUARES[target](x).to_device("cpu")
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected.to_device("cpu")))
