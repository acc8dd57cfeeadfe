"""Kernels of each family over layouts that differ in kind, every access checked.

`ops/test_ops.py` takes few layouts of each operation to the simulator, at random; what a kernel has
to know of its operands, where they begin and which way they run, is tried here in each run.
"""

import pytest
from case import judge
from design import chance
from layouts import STRIDED
from on_devices import entered
from simulated import needs_compiler
from steered import SteeredDraw
from table import CASES

from tensorlayout.cuda.engine.simulator import checking

pytestmark = needs_compiler

# One function or two for each file of kernels.
NAMES = [
    *("add", "where", "clip", "astype", "add in place", "like", "filled", "eye", "triangle"),
    *("concat", "stack", "pad", "directml padded", "directml scatter out", "directml sliced"),
    *("read", "write", "take", "take_along_axis", "put_along_axis", "scatter_add", "nonzero"),
    *("sum", "var", "argmax", "quantile", "cumulative_sum", "cumulative_prod", "diff"),
    *("sort", "searchsorted", "isin", "matmul"),
]

# Of each kind some, and all that run backwards.
KINDS = [
    layout
    for number, layout in enumerate(STRIDED)
    if number % 3 == 0 or min(layout.strides, default=0) < 0
]


@pytest.fixture(scope="module", autouse=True)
def on_the_simulator():
    with entered("simulator") as result:
        yield result


@pytest.mark.parametrize("name", NAMES)
def test_layouts(name):
    for number, layout in enumerate(KINDS):
        draw = SteeredDraw(chance("test_cuda_layouts", name, number), True, number, layout)
        case = CASES[name](draw)
        with checking("bounds", "initialized", "races"):
            judge(case)
