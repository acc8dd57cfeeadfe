"""Tests on several devices: a missing device fails, and nothing is skipped silently."""

import ast
from pathlib import Path

import numpy as np
import pytest
from on_devices import entered
from simulated import needs_compiler
from tensors import same, shared

import tensorlayout as tl
from tensorlayout import cuda


@needs_compiler
def test_a_plan_that_is_lost_fails(monkeypatch):
    monkeypatch.delitem(cuda.PLAN_COMPILERS, "elementwise")
    with entered("simulator"), pytest.raises(KeyError):
        tl.ones(2) + 1


@needs_compiler
def test_new_tensors_are_on_the_device_and_read_from_there():
    with entered("simulator") as device:
        assert tl.zeros(2).device == tl.default_device() == device == "cuda:0"
        with pytest.raises(AssertionError):
            same(tl.zeros(2, device="cpu"), np.zeros(2))
    assert tl.default_device() == "cpu"


def test_sharing_is_of_bytes_of_elements():
    x = tl.zeros((4, 4))
    assert shared(x, x[1:, ::2])
    assert shared(x[0], x.T[:1, :1])
    assert not shared(x[:, 0], x[:, 1])
    assert not shared(x[:0], x)
    z = tl.ones(2, dtype="complex128")
    assert shared(tl.imag(z), z)
    assert not shared(tl.imag(z), tl.real(z))


def test_who_skips_without_a_package_says_that_it_is_optional():
    """`.ci/run` refuses a skip of any other reason, but only where the package is missing."""
    unsaid = [
        f"{path.name}:{call.lineno}"
        for path in Path(__file__).parents[1].rglob("*.py")
        if "importorskip" in (text := path.read_text("utf-8"))
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.importorskip"
        if not any(k.arg == "reason" and "optional" in ast.unparse(k.value) for k in call.keywords)
    ]
    assert unsaid == []
