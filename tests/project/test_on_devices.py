"""How tests run on several devices: what is lost fails, and nothing skips."""

import numpy as np
import pytest
from on_devices import entered, is_long
from simulated import needs_compiler
from tensors import same, shared

import tensorlayout as tl
from tensorlayout import cuda


@needs_compiler
def test_a_plan_that_is_lost_fails(monkeypatch):
    monkeypatch.delitem(cuda.CARRY_OUT, "elementwise")
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


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"device": "simulator", "name": "add", "dtype": "float32"}, False),
        ({"device": "simulator", "name": "add", "dtype": "float16"}, True),
        ({"device": "simulator", "group": ("add", "real", "float16")}, True),
        ({"device": "simulator", "first": "bool", "second": "int64"}, False),
        ({"device": "simulator", "first": "bool", "second": "uint8"}, True),
        ({"device": "cpu", "dtype": "float16"}, False),
        ({"device": "gpu", "dtype": "float16"}, True),
        ({"dtype": "float16"}, False),
    ],
)
def test_what_is_long(parameters, expected):
    assert is_long(parameters) is expected
