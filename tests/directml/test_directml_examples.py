"""The examples of the operator pages, number by number, called both ways, in many layouts."""

import numpy as np
import pytest
from directml_facts import (
    DESCS,
    OPERATORS,
    STORED,
    _column_major,
    _row_major,
    array,
    attributes,
    call,
    field,
    flipped,
    stored,
)

from tensorlayout import directml
from tensorlayout.directml import TensorDesc

EXAMPLES = [
    pytest.param(name, example, id=f"{name} {i}: {example['note']}")
    for name, fact in OPERATORS.items()
    for i, example in enumerate(fact["examples"])
]


def each(make, tensors):
    """`make` of a tensor, or of each of a list of them."""
    return [make(t) for t in tensors] if isinstance(tensors, list) else make(tensors)


def data_type(tensor):
    return tensor["dtype"] or "FLOAT32"


def check(results, example):
    """Numbers, dtypes and sizes; rows that are undefined are left out."""
    wanted = list(example["output"].values())
    wanted = wanted[0] if isinstance(wanted[0], list) else wanted
    results = results if isinstance(results, tuple) else (results,)
    for result, tensor in zip(results, wanted, strict=True):
        expected = array(tensor)
        defined = np.array(tensor["data"], dtype=object).reshape(expected.shape) != None  # noqa: E711
        assert result.shape == expected.shape
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(result)[defined], expected[defined])


def outs(example, make):
    """New tensors for the outputs, full of nonsense."""
    found = [
        each(lambda t: stored(np.full(t["sizes"], 99, data_type(t).lower()), make), tensor)
        for tensor in example["output"].values()
    ]
    return found[0] if len(found) == 1 else found


@pytest.mark.parametrize("make", [*STORED, flipped], ids=lambda m: m.__name__)
@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_function(name, example, make):
    inputs = {
        k: each(lambda t: make(array(t)) if make is flipped else stored(array(t), make), tensor)
        for k, tensor in example["inputs"].items()
    }
    sizes = {k: each(lambda t: t["sizes"], tensor) for k, tensor in example["output"].items()}
    dtypes = {k: each(data_type, tensor) for k, tensor in example["output"].items()}
    check(call(name, inputs, attributes(example), sizes, dtypes), example)
    into = outs(example, _column_major if make is flipped else make)
    results = call(name, inputs, attributes(example), sizes, dtypes, out=into)
    given = into if isinstance(into, list) else [into]
    several = results if isinstance(results, tuple) else (results,)
    assert all(result is out for result, out in zip(several, given, strict=True))
    check(tuple(given), example)


@pytest.mark.parametrize("make", STORED, ids=lambda m: m.__name__)
@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_descriptor(name, example, make):
    def described(tensor):
        strides = None if make is _row_major else make(tuple(tensor["sizes"])).strides
        return TensorDesc(data_type(tensor), tensor["sizes"], strides)

    members = {
        field(k): each(described, tensor)
        for k, tensor in [*example["inputs"].items(), *example["output"].items()]
    }
    desc = DESCS[name](**members, **attributes(example))
    operator = directml.compile(desc)
    inputs = [each(lambda t: stored(array(t), make), t) for t in example["inputs"].values()]
    flat = [x for item in inputs for x in (item if isinstance(item, list) else [item])]
    check(operator(*flat), example)
    into = outs(example, make)
    operator(*flat, out=into)
    check(tuple(into) if isinstance(into, list) else into, example)


def test_every_operator_has_a_descriptor_and_a_function():
    assert DESCS.keys() == OPERATORS.keys()
    assert len(OPERATORS) == 36
    for name in OPERATORS:
        assert callable(getattr(directml, name.lower()))
    assert directml.scatter_elements is directml.scatter
    assert directml.ScatterElementsOperatorDesc is directml.ScatterOperatorDesc
