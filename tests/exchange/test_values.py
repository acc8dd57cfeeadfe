"""Values of any library are assigned: by DLPack, by array interfaces, as buffers."""

import math

import numpy as np
import pytest
from foreign import Described, Exporting, Making

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


FOREIGN = {
    "DLPack": Exporting,
    "__array__": Making,
    "__array_interface__": Described,
    "buffer": memoryview,
    "the array": lambda a: a,
}
KEYS = {
    "all": (..., (2, 3)),
    "slices": ((slice(None), slice(1, None)), (2, 2)),
    "row": (1, (3,)),
    "mask": (np.asarray([[True, False, True], [False, True, False]]), (3,)),
    "positions": (([1, 0, 1], [2, 0, 0]), (3,)),
}


@pytest.mark.parametrize("wrap", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize(("key", "shape"), KEYS.values(), ids=KEYS)
def test_values_of_other_libraries_are_assigned(key, shape, wrap):
    array = np.zeros((2, 3))
    x = tl.zeros((2, 3))
    values = np.arange(10, 10 + math.prod(shape), dtype=np.float32).reshape(shape)
    x[key] = wrap(values)
    array[key] = values
    assert x.tolist() == array.tolist()


@pytest.mark.cpu
def test_values_that_are_the_tensors_own_memory_are_taken_as_if_copied_first():
    for wrap in FOREIGN.values():
        memory = np.arange(6)
        x = tl.asarray(memory, device="cpu")
        x[1:] = wrap(memory[:-1])
        assert memory.tolist() == [0, 0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"abc", "__setitem__: value must be a tensor, an array or numbers, got b'abc'"),
        ({1: 2}, "__setitem__: value must be a tensor, an array or numbers"),
        (Making("no array"), "__setitem__: .* gives no array by __array__"),
    ],
    ids=["bytes", "dict", "no array"],
)
def test_values_that_are_no_arrays_are_refused(value, words):
    x = tl.zeros(3)
    with pytest.raises(TypeError, match=f"^{words}"):
        x[:] = value
    assert x.tolist() == [0.0, 0.0, 0.0]
