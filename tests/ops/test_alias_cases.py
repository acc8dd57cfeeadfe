"""Random writes that read the memory they write to, and every dtype by every key and value."""

import alias_cases
import alias_outputs
import alias_views
import pytest
import running
import write_table
from test_fuzz import told

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

ALIASES = (*alias_cases.CASES, *alias_views.CASES, *alias_outputs.CASES)
ON_CUDA = ("views masked",)  # few kernels: each set of dtypes is compiled


def test_writes_that_read_what_they_write_to():
    few = tl.default_device() != "cpu"
    only = ON_CUDA if few else ALIASES
    for first in (0, running.TURN):  # with blocks as they are, and with small ones
        cases = 30 if few else 250
        findings = running.search(2029, few, cases=cases, first=first, only=only)
        assert not findings.differences, told(findings)


@pytest.mark.cpu
def test_every_dtype_by_every_kind_of_key_and_value():
    """So few cases leave no pair of them out."""
    findings = running.search(2030, cases=250, only=tuple(write_table.CASES))
    assert not findings.differences, told(findings)
    assert not write_table.undrawn(findings.drawn)


@pytest.mark.long
def test_more_writes_that_read_what_they_write_to():
    few = tl.default_device() != "cpu"
    findings = running.search(2031, few, cases=2_000 if few else 30_000, only=ALIASES)
    assert not findings.differences, told(findings)


@pytest.mark.long
@pytest.mark.cpu
def test_every_combination_of_dtype_key_and_value():
    count = len(write_table.COMBINATIONS)
    findings = running.search(2032, cases=count, only=tuple(write_table.CASES))
    assert not findings.differences, told(findings)
    assert set(findings.drawn) == set(write_table.COMBINATIONS)


@pytest.mark.cpu
def test_the_table_says_what_was_not_drawn():
    findings = running.search(2030, cases=3, only=tuple(write_table.CASES))
    pairs = 15 * len(write_table.KEYS) + 15 * len(write_table.VALUES)
    pairs += len(write_table.KEYS) * len(write_table.VALUES)
    assert len(write_table.undrawn(findings.drawn)) == pairs - 9  # three cases, three pairs each
    lines = write_table.table(findings.drawn).splitlines()
    assert lines[-1].endswith(f" {len(write_table.COMBINATIONS) - 3} of them not drawn")
