"""The operators on a CUDA device, simulated: the examples, moved there and back.

An operator is there as soon as the functions are that it stands on; until then it says so.
"""

import pytest
from directml_facts import OPERATORS, array, attributes, call, stored
from simulated import needs_compiler, simulator
from test_directml_examples import check, data_type, each

import tensorlayout as tl
from tensorlayout import directml

pytestmark = needs_compiler

# What waits for kernels: reads and writes at positions, sorts, running values.
WAITING = {
    *("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1", "SCATTER", "SCATTER_ND"),
    *("REVERSE_SUBSEQUENCES", "NONZERO_COORDINATES", "TOP_K", "TOP_K1"),
    *("CUMULATIVE_SUMMATION", "CUMULATIVE_PRODUCT"),
}


@pytest.fixture(scope="module", autouse=True)
def _device():
    with simulator():
        yield


def moved(tensor):
    return stored(array(tensor)).to_device("cuda:0")


@pytest.mark.parametrize("name", [name for name, fact in OPERATORS.items() if fact["examples"]])
def test_example(name):
    example = OPERATORS[name]["examples"][-1]
    inputs = {k: each(moved, tensor) for k, tensor in example["inputs"].items()}
    sizes = {k: each(lambda t: t["sizes"], tensor) for k, tensor in example["output"].items()}
    dtypes = {k: each(data_type, tensor) for k, tensor in example["output"].items()}
    options = {} if inputs else {"device": "cuda:0"}
    missing = NotImplementedError if name in WAITING else ()
    try:
        results = call(name, inputs, attributes(example), sizes, dtypes, **options)
    except missing as error:
        pytest.skip(f"optional: {error}")
    results = results if isinstance(results, tuple) else (results,)
    assert {str(x.device) for x in results} == {"cuda:0"}
    check(tuple(x.to_device("cpu") for x in results), example)


def test_memory_is_watched_there_too():
    storage = tl.zeros((8,), dtype=tl.int64, device="cuda:0")
    with pytest.raises(ValueError, match=r"TILE: OutputTensor must share with InputTensor no mem"):
        directml.tile(storage[:4], (1,), out=storage[2:6])
    directml.tile(storage[:4], (1,), out=storage[4:])
    with pytest.raises(ValueError, match="live on cpu and cuda:0"):
        directml.join([tl.zeros((4,), dtype=tl.int64), storage], 0)
