"""Tiled tensors: what stands where, which operations keep tiles, views, and what a trace says."""

import numpy as np
import pytest
from tensors import as_dtype, padding_of, same, shared, slots_of, tensor_in

import tensorlayout as tl
from tensorlayout import Layout, PaddingValue

LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
T22 = "{1,0:T(2,2)}"


def numbers(*shape, dtype="float32"):
    return np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(as_dtype(dtype))


def tiled(shape=(3, 5), text=T22, dtype="float32"):
    array = numbers(*shape, dtype=dtype)
    return tl.to_layout(tl.asarray(array), text), array


def written(x):
    """The slots of a tensor of bytes, as text; padding that holds 0 is a dot."""
    return "".join(chr(slot) if slot else "." for slot in slots_of(x).tolist())


def test_the_figure_of_two_by_two_tiles():
    layout = Layout.tiled((3, 5), [(2, 2)], padding_value=PaddingValue.ZERO)
    x = tl.asarray(LETTERS[:15].reshape(3, 5), layout=layout)
    assert written(x) == "abfgcdhie.j.kl..mn..o..."
    assert (x + 1).spec.layout is layout
    assert written(x + 1) == "bcghdeijf.k.lm..no..p..."
    assert x.nbytes == 15
    assert x.layout.nbytes(x.dtype) == 24


def test_a_longer_tile_than_the_rank():
    x, array = tiled((8,), "{0:T(2,2)}")
    assert (x.layout.required_size, slots_of(x)[9]) == (16, array[5])


def test_padding_of_backwards_dimensions():
    layout = Layout.tiled((2, 4, 3), [(2, 2)], padding_value=PaddingValue.ONE).flip((0, 1))
    x, array = tensor_in(layout, np.arange(2, 40, dtype=np.float32))
    x += x
    same(x, array + array)
    assert set(padding_of(x).tolist()) == {1}


def test_a_roll_keeps_the_order_of_all_tiles():
    """Also where what comes first was the end of a tile, in which rows are the fastest."""
    layout, array = Layout.parse("(2,16):(2,8*8+2*1)"), numbers(2, 16)
    x = tl.to_layout(tl.asarray(array), layout)
    for shift, axis in ((2, 1), ((2, 4), (1, 0))):
        result = tl.roll(x, shift, axis=axis)
        same(result, np.roll(array, shift, axis))
        assert result.layout == Layout.packed((2, 16), (0, 1))


def test_parts_of_numbers_in_one_tile_alone_have_strides():
    x = tl.to_layout(tl.asarray([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]]), "{1,0:T(4,4)}")
    for result, text, expected in [
        (tl.real(x), "(2,2):(8,2)", [[1, 3], [5, 7]]),
        (tl.imag(x), "(2,2):(8,2)+1", [[2, 4], [6, 8]]),
    ]:
        assert (str(result.layout), np.asarray(result).tolist()) == (text, expected)
        assert shared(result, x)


def test_what_only_a_copy_can_hold_is_refused_without_one():
    x, _ = tiled()
    with pytest.raises(ValueError, match=r"unable to avoid a copy, .* has no view of shape"):
        tl.reshape(x, (5, 3), copy=False)
    with pytest.raises(ValueError, match="cannot be seen without a copy"):
        np.asarray(x, copy=False)
    with pytest.raises(BufferError, match=r"is tiled, it has no strides; use copy=True"):
        np.from_dlpack(x)
    assert not hasattr(x, "__cuda_array_interface__")


def test_rows_lie_in_several_tiles():
    x, array = tiled()
    for n in range(3):
        same(x[n], array[n])


def test_one_element_in_a_tile_and_in_a_padded_row():
    tile = Layout((2, 1), parts=[((1, 4), (2, 1)), ((1, 2),)], padded_shape=(4, 2))
    row = Layout.padded((2, 1), (4, 2), (0, 1))
    for a, b in ((tile, row), (row, tile)):
        x = tl.asarray([[1], [2]], layout=a) + tl.asarray([[10], [20]], layout=b)
        same(x, np.array([[11], [22]]))


def test_text():
    x, _ = tiled((2, 3), dtype="int64")
    assert repr(x) == (
        "Tensor([[1, 2, 3],\n        [4, 5, 6]], dtype=int64, device='cpu',"
        " layout='(2,3):(2,2*4+2*1) order=(1,0)')"
    )
    wide = tl.zeros((2000, 3000), dtype=tl.int8, layout="{1,0:T(8,128)}")
    with tl.trace() as seen:
        text = str(wide)
    assert text.count("...") == 7
    assert seen.bytes_copied < 1000


def steps(function):
    with tl.trace() as seen:
        function()
    return [(r.name, r.kind, r.bytes_written) for r in seen]


def test_traces_show_each_conversion():
    x, array = tiled()
    other = tl.asarray(array)
    row = tl.asarray(array[0])
    assert steps(lambda: x + x) == [("add", "compute", 60)]
    assert steps(lambda: x.__iadd__(x)) == [("add", "compute", 60)]
    assert steps(lambda: tl.to_layout(x, (1, 0))) == [("to_layout", "relayout", 60)]
    assert steps(lambda: tl.sum(x)) == [("sum", "relayout", 60), ("sum", "compute", 4)]
    assert steps(lambda: x + row) == [("add", "relayout", 60)] * 2 + [("add", "compute", 60)]
    assert steps(lambda: tl.flip(x)) == [("flip", "relayout", 60), ("flip", "view", 0)]
    assert steps(lambda: x.T) == [("T", "view", 0)]
    # tiles of 2 and of 3 have no common part
    threes = tl.to_layout(other, "{1,0:T(3,3)}")
    assert steps(lambda: tl.to_layout(threes, T22)) == [("to_layout", "relayout", 60)] * 2
    assert steps(lambda: tl.reshape(x, (15,))) == [("reshape", "relayout", 60)]


def test_a_tiled_value_whose_broadcast_has_strides():
    tiles = Layout.parse("(1,2,1):(1*8+2*2,1*4+2*1,1) order=(1,0,2) padded=(4,4,1)")
    value = tl.to_layout(tl.asarray([[[5], [6]]]), tiles)
    assert value.layout.is_tiled
    x = tl.zeros((3, 2, 4), dtype=tl.int64)
    x[...] = value
    np.testing.assert_array_equal(np.asarray(x), np.broadcast_to([[5], [6]], (3, 2, 4)))
