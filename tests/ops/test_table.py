"""Completeness of the table: every public function, method and operator, every kind of write."""

import functools
import inspect
import re
from functools import cache
from types import FunctionType

import numpy_cases
import pytest
import running
import write_table
from table import CASES

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.interchange.numpy_functions import LIKE, TABLE

# What gives no tensor, has no operands that could be drawn, or has no one right order.
NOT_DRAWN = {
    *("__array_namespace_info__", "allow_negative_strides", "argpartition", "broadcast_shapes"),
    *("can_cast", "coalesce", "default_device", "finfo", "get_num_threads"),
    *("explain", "iinfo", "isdtype", "load", "no_copies", "partition", "save", "savez"),
    *("set_default_device", "set_num_threads", "trace", "using_device"),
}
# Methods that give no tensor, or that functions and operators of the table call.
METHODS_NOT_DRAWN = {
    *("cumulative_prod", "cumulative_sum", "fill", "item", "permute", "sort", "tobytes", "tolist"),
    "view",
}

OPERATORS_NOT_DRAWN = {"calc_buffer_tensor_size", "compile", "support"}


@cache
def texts():
    """The calls that are drawn: of each entry, twenty."""
    return "\n".join(
        running.case_of(1, number, few=False, only=(name,))[0].text
        for name in CASES
        for number in range(20)
    )


def functions(namespace, prefix=""):
    """Public functions, each by its own name: NumPy's other names are the same objects."""
    results = {n: getattr(namespace, n) for n in namespace.__all__}
    return {prefix + n for n, f in results.items() if type(f) is FunctionType and f.__name__ == n}


def test_every_function_is_drawn():
    public = functions(tl) | functions(tl.linalg, "linalg.") | functions(tl.fft, "fft.")
    drawn = set(re.findall(r"\btl\.((?:linalg\.|fft\.)?\w+)\(", texts()))
    through_numpy = set(re.findall(r"\bnp\.((?:linalg\.|fft\.)?\w+)\(", texts()))
    ours = {inspect.unwrap(value) for value in (*TABLE.values(), *LIKE.values())}
    drawn |= {n for n in through_numpy & public if inspect.unwrap(value_of(n)) in ours}
    assert public - drawn == NOT_DRAWN


def value_of(name):
    return functools.reduce(getattr, name.split("."), tl)


def test_every_method_is_drawn():
    x = tl.zeros((1, 1))
    public = {n for n in dir(x) if not n.startswith("_") and callable(getattr(x, n))}
    assert public - set(re.findall(r"[\w)\]](?<!tl)(?<!np)\.(\w+)\(", texts())) == METHODS_NOT_DRAWN


def test_every_operator_of_directml_is_drawn():
    drawn = set(re.findall(r"\bdml\.(\w+)\(", texts()))
    assert functions(directml) - drawn == OPERATORS_NOT_DRAWN


def test_every_function_of_numpy_is_drawn():
    drawn = set(re.findall(r"\bnp\.(?:linalg\.|fft\.|lib\.stride_tricks\.)?(\w+)\(", texts()))
    assert {function.__name__ for function in TABLE} - drawn == numpy_cases.LEFT_OUT


def test_writes_of_every_dtype_by_every_kind_of_key_and_value():
    """So few cases leave no pair of them out."""
    findings = running.search(2030, cases=250, only=tuple(write_table.CASES))
    assert not findings.differences, running.format_findings(findings)
    assert not write_table.undrawn(findings.drawn)


@pytest.mark.long
def test_every_combination_of_dtype_key_and_value():
    count = len(write_table.COMBINATIONS)
    findings = running.search(2032, cases=count, only=tuple(write_table.CASES))
    assert not findings.differences, running.format_findings(findings)
    assert set(findings.drawn) == set(write_table.COMBINATIONS)


def test_what_was_not_drawn_is_told():
    findings = running.search(2030, cases=3, only=tuple(write_table.CASES))
    pairs = 15 * len(write_table.KEYS) + 15 * len(write_table.VALUES)
    pairs += len(write_table.KEYS) * len(write_table.VALUES)
    assert len(write_table.undrawn(findings.drawn)) == pairs - 9  # three cases, three pairs each
    lines = write_table.table(findings.drawn).splitlines()
    assert lines[-1].endswith(f" {len(write_table.COMBINATIONS) - 3} of them not drawn")
