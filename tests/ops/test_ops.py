"""Every operation in every layout and dtype, on every device: the table of operations, carried out.

`Case` says what is compared. Which dtype meets which layout, and what else is drawn, differs from
seed to seed; ``TENSORLAYOUT_TEST_SEED``, which a run prints, draws the same again. `long` tests
try all layouts on all devices.
"""

import dataclasses
from contextlib import nullcontext

import elementwise_cases
import entering_cases
import pytest
from case import DifferenceError, judge, judge_arrays
from small_steps import steps
from steered import draws
from table import CASES

from tensorlayout.cuda.engine import launch_log

pytestmark = pytest.mark.usefixtures("device")

# Of this many layouts, an operation meets one on a device that compiles kernels.
SHARE = {"simulator": 15, "hybrid": 60, "gpu": 5}


def check(name, device, share):
    for number, draw in enumerate(draws(name, device != "cpu", share)):
        case = CASES[name](draw)
        try:
            with checked(device == "simulator" and number == 0):
                judge(case, traced=number % 4 == 0)
        except DifferenceError as error:
            error.add_note(case.source())
            raise


def checked(active):
    """All that the simulator can check, which takes as long again, or what it checks by default."""
    every = ("bounds", "barriers", "initialized", "races")
    return launch_log.checking(*every) if active else nullcontext()


IN_PLACE = {"overlap", *(name for name in CASES if name.endswith("in place"))}


@pytest.fixture
def device_name(request):
    return request.node.callspec.params["device"]


@pytest.mark.parametrize("name", CASES)
def test_layouts_and_dtypes(name, device_name):
    check(name, device_name, SHARE.get(device_name, 1))


@pytest.mark.cpu
@pytest.mark.parametrize("name", [name for name in CASES if name != "too large"])
def test_in_small_steps(name, device_name):
    """Large tensors are worked on in blocks, runs and groups; so are small ones here."""
    with steps(small=True):
        check(name, device_name, 3)


@pytest.mark.cpu
@pytest.mark.parametrize("name", sorted(elementwise_cases.CASES.keys() - IN_PLACE))
def test_fused(name):
    for draw in draws(f"fused {name}", False, 10):
        case = CASES[name](draw)
        names = ", ".join(case.operands)
        text = f"tl.fuse(lambda {names}: {case.text})({names})"
        judge(dataclasses.replace(case, text=text, view=None, layout=None))


@pytest.mark.cpu
def test_operands_that_are_arrays():
    """In one test, for few entries have such operands: methods and NumPy's functions have none."""
    tried = set()
    for name in sorted(CASES.keys() - entering_cases.CASES.keys()):
        for draw in draws(f"arrays {name}", False, 20):
            case = CASES[name](draw)
            try:
                if judge_arrays(case):
                    tried.add(name)
            except Exception as error:
                error.add_note(case.source())
                raise
    assert len(tried) > 150


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_every_layout(name, device_name):
    with steps(small=device_name == "cpu"):
        check(name, device_name, 1)
