"""A few hundred random cases on each device; and that the search itself can find something."""

import re
import warnings

import numpy as np
import numpy_cases
import pytest
import running
from case import Case, DifferenceError, judge
from draws import Draw, Operand
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import needs_compiler, simulator

import tensorlayout as tl
from tensorlayout.layout import Layout
from tensorlayout.numpy_style.array_functions import TABLE

pytestmark = pytest.mark.usefixtures("device")


def told(findings):
    return "\n".join(f"{d.source}: {d.said}" for d in findings.differences.values())


def test_random_cases():
    """Those of a number are the same each time: what fails here fails again."""
    few = tl.default_device() != "cpu"
    only = ON_CUDA if few else ()
    for first in (0, running.TURN):  # with blocks as they are, and with small ones
        findings = running.search(2026, few, cases=75 if few else 300, first=first, only=only)
        assert not findings.differences, told(findings)


@pytest.mark.cpu
@pytest.mark.parametrize("small", [False, True], ids=["as they are", "small blocks"])
def test_cases_that_hypothesis_draws(small):
    """What is found is made small by hypothesis, and tried first the next time."""

    @settings(max_examples=100, deadline=None)
    @given(st.sampled_from(running.NAMES), st.randoms(use_true_random=False))
    def tried(name, chance):
        draw = Draw(chance, few=False)
        judge(running.CASES[name](draw), traced=draw.chance(0.15))

    with running.steps(small), warnings.catch_warnings():
        warnings.simplefilter("error")
        tried()


# Few kernels: each set of dtypes is compiled, which takes a second or two.
ON_CUDA = ("permute_dims", "to_layout", "copied", "expand_dims", "flip", "filled", "like")


@pytest.mark.long
def test_more_random_cases():
    few = tl.default_device() != "cpu"
    findings = running.search(2027, few, cases=20_000)
    assert not findings.differences, told(findings)


@pytest.mark.cpu
def test_calls_of_numpys_functions():
    """Draw the same cases each time, about seven of each function."""
    findings = running.search(2029, cases=2000, only=tuple(numpy_cases.CASES))
    assert not findings.differences, told(findings)


@pytest.mark.cpu
def test_every_function_of_numpy_is_called():
    tried = {name.removeprefix("numpy.").rpartition(".")[2] for name in numpy_cases.CASES}
    assert {function.__name__ for function in TABLE} - tried == numpy_cases.LEFT_OUT


@pytest.mark.cpu
def test_cases_in_threads():
    findings = running.search_in_threads(4, 2028, few=False, seconds=0.3)
    assert sum(findings.counts.values()) >= 4
    assert not findings.differences, told(findings)


@pytest.mark.cpu
def test_a_number_stands_for_a_case():
    sources = [running.case_of(1, n, few=False)[0].source() for n in range(50)]
    assert sources == [running.case_of(1, n, few=False)[0].source() for n in range(50)]
    assert len(set(sources)) > 45
    assert sources[7] != running.case_of(2, 7, few=False)[0].source()


# What gives no tensor, and what has no operands that could be drawn.
NOT_TRIED = [
    "__array_namespace_info__",
    "allclose",
    "allow_negative_strides",
    "broadcast_shapes",
    "can_cast",
    "coalesce",
    "default_device",
    "dequantize_blocks",
    "finfo",
    "get_num_threads",
    "iinfo",
    "isdtype",
    "load",
    "no_copies",
    "quantize_blocks",
    "save",
    "savez",
    "set_default_device",
    "set_num_threads",
    "trace",
    "using_device",
]


@pytest.mark.cpu
def test_every_function_is_tried():
    tried = set()
    for name in running.CASES:
        for number in range(20):
            text = running.case_of(1, number, few=False, only=(name,))[0].text
            tried |= set(re.findall(r"tl\.((?:linalg\.|fft\.)?[a-z_0-9]+)\(", text))
    functions = {n for n in tl.__all__ if type(getattr(tl, n)).__name__ == "function"}
    functions |= {f"linalg.{n}" for n in tl.linalg.__all__} | {f"fft.{n}" for n in tl.fft.__all__}
    assert sorted(functions - tried) == sorted(NOT_TRIED)


LAYOUT = Layout.parse("(2,):(1,) padded=(3,) padding=ONE")


def wrong(text, **options):
    """What is said of a case over a padded [3, 5] that expects [4, 6], packed."""
    x = Operand(LAYOUT, np.array([3, 5, 1]), np.array([3, 5]))
    options = {"layout": Layout.row_major((2,)), **options}
    with pytest.raises(DifferenceError) as caught:
        judge(Case("x", text, {"x": x}, lambda _: np.array([4, 6]), **options), traced=True)
    return str(caught.value)


@pytest.mark.cpu
@needs_compiler
def test_devices_that_differ_are_told():
    names = {"on_cpu": lambda: tl.default_device() == "cpu"}
    with simulator(1), tl.using_device("cuda"):
        text = "tl.to_layout(x + 1, tl.Layout.row_major((2,))) if on_cpu() else x + 1"
        said = wrong(text, names=names, layout=None)
        assert said == "layout (2,):(1,) padded=(3,) padding=ONE, on the CPU (2,):(1,)"
        said = wrong("x[3] if on_cpu() else x + 1", names=names, layout=None)
        assert said.startswith("raised IndexError(")
        assert said.endswith(" on the CPU")


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("x + 2", {}, "values: "),
        ("tl.astype(x + 1, tl.int32)", {}, "values: "),
        ("x + 1", {}, r"layout (2,):(1,) padded=(3,) padding=ONE, expected (2,):(1,)"),
        ("x.__iadd__(1)", {"layout": None}, "the result shares memory with its operand"),
        ("x + 1", {"layout": None, "view": True}, "the result is no view"),
        ("(x.__isub__(1), x + 2)[1]", {"layout": None}, "operand x changed: [2, 4, 1], was"),
        ("tl.zeros(3)[5]", {}, "raised IndexError: "),
        ("x += 2", {"writes": "x"}, "values: "),
    ],
)
def test_what_differs_is_told(text, options, said):
    assert wrong(text, **options).startswith(said)
