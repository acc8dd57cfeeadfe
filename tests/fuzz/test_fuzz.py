"""Random cases, and that the search itself can find something."""

import alias_cases
import alias_outputs
import alias_views
import numpy as np
import pytest
import running
from case import Case, DifferenceError, judge
from draws import Operand
from simulated import needs_compiler, simulator

import tensorlayout as tl
from tensorlayout.layout import Layout

pytestmark = pytest.mark.usefixtures("device")

ALIASES = (*alias_cases.CASES, *alias_views.CASES, *alias_outputs.CASES)


@pytest.mark.long
@pytest.mark.parametrize("only", [(), ALIASES], ids=["all", "writes that read"])
def test_more_random_cases(only):
    few = tl.default_device() != "cpu"
    findings = running.search(2027, few, cases=2_000 if few else 20_000, only=only)
    assert not findings.differences, running.format_findings(findings)


@pytest.mark.cpu
def test_cases_in_threads():
    findings = running.search_in_threads(4, 2028, few=False, seconds=0.3)
    assert sum(findings.counts.values()) >= 4
    assert not findings.differences, running.format_findings(findings)


@pytest.mark.cpu
def test_a_number_stands_for_a_case():
    sources = [running.case_of(1, n, few=False)[0].source() for n in range(50)]
    assert sources == [running.case_of(1, n, few=False)[0].source() for n in range(50)]
    assert len(set(sources)) > 45
    assert sources[7] != running.case_of(2, 7, few=False)[0].source()


LAYOUT = Layout.parse("(2,):(1,) padded=(3,) padding=ONE")


def wrong(text, **options):
    """Return the differences of a case over a padded [3, 5] that expects [4, 6], packed."""
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
