"""The examples of the operator pages, number by number, called both ways.

Random operands in many layouts: `ops/directml_cases.py`.
"""

import numpy as np
import pytest
from directml_facts import (
    DESCS,
    OPERATORS,
    STORED,
    _row_major,
    array,
    attributes,
    call,
    field,
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
    results = [
        each(lambda t: stored(np.full(t["sizes"], 99, data_type(t).lower()), make), tensor)
        for tensor in example["output"].values()
    ]
    return results[0] if len(results) == 1 else results


@pytest.mark.parametrize("make", STORED, ids=lambda m: m.__name__)
@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_example(name, example, make):
    """The function, and the operator of a descriptor with strides, into a given tensor too."""

    def described(tensor):
        strides = None if make is _row_major else make(tuple(tensor["sizes"])).strides
        return TensorDesc(data_type(tensor), tensor["sizes"], strides)

    tensors = [*example["inputs"].items(), *example["output"].items()]
    members = {field(k): each(described, tensor) for k, tensor in tensors}
    operator = directml.compile(DESCS[name](**members, **attributes(example)))
    inputs = {
        k: each(lambda t: stored(array(t), make), tensor) for k, tensor in example["inputs"].items()
    }
    flat = [x for item in inputs.values() for x in (item if isinstance(item, list) else [item])]
    results = operator(*flat)
    check(results, example)
    several = results if isinstance(results, tuple) else (results,)
    for x, described_output in zip(several, operator.desc.output_descs, strict=True):
        assert x.layout.same_placement(described_output.layout)
    into = outs(example, make)
    operator(*flat, out=into)
    check(tuple(into) if isinstance(into, list) else into, example)
    sizes = {k: each(lambda t: t["sizes"], tensor) for k, tensor in example["output"].items()}
    dtypes = {k: each(data_type, tensor) for k, tensor in example["output"].items()}
    check(call(name, inputs, attributes(example), sizes, dtypes), example)


def test_every_operator_has_a_descriptor_and_a_function():
    assert DESCS.keys() == OPERATORS.keys()
    assert len(OPERATORS) == 36
    for name in OPERATORS:
        assert callable(getattr(directml, name.lower()))
    assert directml.scatter_elements is directml.scatter
    assert directml.ScatterElementsOperatorDesc is directml.ScatterOperatorDesc
