"""Layouts read from other libraries' notation have the positions that the library itself has."""

import ctypes
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from layouts import every_layout, slot_array

from tensorlayout import Layout, formats


def layouts_of(seed, count, least=0, rank=4):
    """Shapes, with sizes of 0 and 1 among them, and orders of their dimensions."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        shape = tuple(int(n) for n in rng.choice([0, 1, 2, 3, 5], rank))
        if min(shape, default=1) >= least:
            yield shape, tuple(int(d) for d in rng.permutation(rank))


@every_layout
def test_numpy_finds_the_elements(layout):
    if layout.is_tiled or layout.required_size > 10_000:
        return
    memory = formats.numpy.write(layout, 8)
    storage = np.arange(max(layout.required_size, layout.offset) + 1)  # NumPy wants it of none, too
    array = np.ndarray(layout.shape, np.int64, storage, memory.offset, memory.strides)
    assert array.tolist() == slot_array(layout).tolist()
    assert memory.c_contiguous == array.flags.c_contiguous
    assert memory.f_contiguous == array.flags.f_contiguous


def test_einops_puts_the_elements_there():
    einops = pytest.importorskip("einops", reason="optional: einops")
    rng = np.random.default_rng(3)
    tiled = 0
    for _ in range(200):
        left, right, lengths, shape = [], [], {}, []
        for dim in range(int(rng.integers(1, 5))):
            count = int(rng.choice([1, 1, 2, 3]))
            axes = [f"{'abcd'[dim]}{number}" for number in range(count)]
            sizes = [int(n) for n in rng.integers(1, 4, count)]
            left.append(axes[0] if count == 1 else f"({' '.join(axes)})")
            right += axes
            argument = list(zip(axes, sizes, strict=True))
            lengths |= dict(argument if rng.random() < 0.5 else argument[1:])
            shape.append(math.prod(sizes))
        order = [right[k] for k in rng.permutation(len(right))]
        cut = int(rng.integers(0, len(order)))
        order[cut:] = [f"({' '.join(order[cut:])})"] if rng.random() < 0.5 else order[cut:]
        pattern = f"{' '.join(left)} -> {' '.join(order)}"
        layout = formats.einops.read(shape, pattern, **lengths)
        array = np.arange(math.prod(shape)).reshape(shape)
        memory = einops.rearrange(array, pattern, **lengths).ravel()
        assert memory[slot_array(layout)].tolist() == array.tolist(), pattern
        back = formats.einops.write(layout)
        again = einops.rearrange(array, back.pattern, **back.lengths).ravel()
        assert again.tolist() == memory.tolist(), back
        tiled += layout.is_tiled
    assert tiled > 40


PATTERNS = """
a ... -> ... a|a b c 1 -> c a b|a () ... -> ... a|(...) a -> ... a|a ... -> a|a... -> a...
a\tb -> b a|a é->(é a)|a 01 -> a|a_1 b c -> b c a_1|_ b -> b _|(... 1) a -> a ...|a ... -> (a ...)
"""


@pytest.mark.parametrize("pattern", PATTERNS.strip().replace("\n", "|").split("|"))
@pytest.mark.parametrize("shape", [(2, 3, 4, 1), (2, 1, 3), (5, 1)])
def test_einops_agrees_on_what_fits(pattern, shape):
    einops = pytest.importorskip("einops", reason="optional: einops")
    array = np.arange(math.prod(shape)).reshape(shape)
    try:
        memory = einops.rearrange(array, pattern).ravel()
    except einops.EinopsError:
        with pytest.raises(ValueError, match=r"^einops.read: "):
            formats.einops.read(shape, pattern)
    else:
        layout = formats.einops.read(shape, pattern)
        assert memory[slot_array(layout)].tolist() == array.tolist()


def as_pytorch(x):
    return Layout(x.shape, x.stride(), offset=x.storage_offset())


@pytest.mark.parametrize(
    ("name", "rank"), [("contiguous_format", 4), ("channels_last", 4), ("channels_last_3d", 5)]
)
def test_memory_formats_of_pytorch(name, rank):
    torch = pytest.importorskip("torch", reason="optional: PyTorch")
    memory_format = getattr(torch, name)
    for shape, order in layouts_of(4, 60, rank=rank):
        result = torch.empty(shape, memory_format=memory_format)
        pytorch_layout = formats.pytorch.read(shape, memory_format)
        assert pytorch_layout.same_placement(as_pytorch(result))
        assert pytorch_layout.strides == result.stride() or result.numel()
        assert name == said_by_pytorch(pytorch_layout)
        layout = Layout.packed(shape, order)
        x = torch.empty(math.prod(shape)).as_strided(shape, layout.strides)
        if not x.is_contiguous(memory_format=memory_format):
            assert name != said_by_pytorch(layout)
        elif layout.minor_to_major == formats.pytorch.read(shape, name).minor_to_major:
            assert name == said_by_pytorch(layout)


def said_by_pytorch(layout):
    try:
        return formats.pytorch.write(layout)
    except ValueError:
        return None


def test_what_pytorch_preserves():
    torch = pytest.importorskip("torch", reason="optional: PyTorch")
    views = [
        torch.empty(6, 10)[:, ::2].t(),
        torch.empty(3, 1).expand(3, 4),
        torch.empty(3, 4, 5).permute(2, 0, 1)[::2],
        torch.empty(6).unfold(0, 3, 1),
        torch.empty(2, 3, 4, 5, memory_format=torch.channels_last),
        torch.empty(2, 3, 4).permute(1, 2, 0),
        torch.empty(()),
    ]
    for x in views:
        like = as_pytorch(x)
        result = formats.pytorch.read(x.shape, torch.preserve_format, like)
        assert result.same_placement(as_pytorch(torch.empty_like(x))), x.stride()
        assert result.same_placement(as_pytorch(x.clone())), x.stride()


def test_orders_of_jax():
    jax = pytest.importorskip("jax", reason="optional: JAX")
    from jax.experimental.layout import Format
    from jax.experimental.layout import Layout as JaxLayout

    sharding = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
    for shape, order in layouts_of(5, 40, least=1, rank=3):
        there = Format(JaxLayout(order), sharding)
        array = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
        x = jax.jit(lambda x: x + 0, out_shardings=there)(array)
        layout = formats.jax.read(shape, x.format)
        assert layout is formats.jax.read(shape, JaxLayout(order))
        memory = (ctypes.c_float * array.size).from_address(x.unsafe_buffer_pointer())
        assert np.asarray(memory)[slot_array(layout)].tolist() == array.tolist()
        assert JaxLayout(*formats.jax.write(layout)) == JaxLayout(order)


def test_bits_and_automatic_layouts_of_jax():
    pytest.importorskip("jax", reason="optional: JAX")
    from jax.experimental.layout import Layout as JaxLayout

    with pytest.raises(TypeError, match=r"^jax.read: layout must be"):
        formats.jax.read((2, 3), JaxLayout.AUTO)
    bits = JaxLayout((1, 0), ((8, 128),), 4)
    result = formats.jax.read((200, 300), bits)
    assert result is Layout.tiled((200, 300), [(8, 128)], (0, 1), slot_bits=4)
    assert JaxLayout(*formats.jax.write(result)) == bits


@pytest.fixture(scope="module")
def onednn():
    result = sorted(Path(sys.prefix, "lib").glob("libdnnl.so*"))
    if not result:
        pytest.skip("optional: oneDNN, as the package onednn-cpu-gomp has it")
    try:
        return OneDnn(result[0])
    except OSError as error:
        pytest.skip(f"optional: a oneDNN that runs here: {error}")


class OneDnn:
    """As much of oneDNN as it takes to write an array by a tag."""

    F32, CPU, SRC, DST = 3, 1, 1, 17

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.dnnl_fmt_tag2str.restype = ctypes.c_char_p
        self.library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        self.engine = self.create_handle("dnnl_engine_create", self.CPU, ctypes.c_size_t(0))
        self.stream = self.create_handle("dnnl_stream_create", self.engine, 1)

    def tags(self):
        names = {}
        for number in range(2, 2000):
            name = self.library.dnnl_fmt_tag2str(number).decode()
            if name.isalnum() and name not in ("undef", "any"):
                names.setdefault(name, number)
        return names

    def create_handle(self, function, *args):
        handle = ctypes.c_void_p()
        if getattr(self.library, function)(ctypes.byref(handle), *args):
            raise ValueError(function)
        return handle

    def written(self, array, tag):
        """The memory of `array` by a tag, over memory that held sevens."""
        dims = (ctypes.c_int64 * array.ndim)(*array.shape)
        steps = (ctypes.c_int64 * array.ndim)(*(s // 4 for s in array.strides))
        described = ("dnnl_memory_desc_create_with_strides", array.ndim, dims, self.F32, steps)
        plain = self.create_handle(*described)
        there = self.create_handle(
            "dnnl_memory_desc_create_with_tag", array.ndim, dims, self.F32, ctypes.c_int(tag)
        )
        nbytes = self.library.dnnl_memory_desc_get_size(there)
        memory = np.full(nbytes // 4, 7, np.float32)
        handles = [ctypes.c_void_p(item.ctypes.data) for item in (array, memory)]
        ends = [
            self.create_handle("dnnl_memory_create", desc, self.engine, handle)
            for desc, handle in zip((plain, there), handles, strict=True)
        ]
        wanted = self.create_handle(
            "dnnl_reorder_primitive_desc_create", *(plain, self.engine, there, self.engine, None)
        )
        reorder = self.create_handle("dnnl_primitive_create", wanted)
        arguments = (Argument * 2)(Argument(self.SRC, ends[0]), Argument(self.DST, ends[1]))
        assert not self.library.dnnl_primitive_execute(reorder, self.stream, 2, arguments)
        assert not self.library.dnnl_stream_wait(self.stream)
        return memory


class Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


def test_every_tag_of_onednn(onednn):
    """Each tag that the library has a name for: its size, its elements, and its zeros."""
    tried = padded = 0
    for tag, number in onednn.tags().items():
        letters = {letter.lower() for letter in tag if letter.isalpha()}
        shape = (3, 5, 2, 3, 2, 2, 1, 2, 1, 1, 2, 1)[: len(letters)]
        array = np.arange(1, 1 + math.prod(shape), dtype=np.float32).reshape(shape)
        memory = onednn.written(array, number)
        layout = formats.onednn.read(shape, tag)
        expected = np.zeros(layout.required_size, np.float32)
        expected[slot_array(layout)] = array
        assert memory.tolist() == expected.tolist(), tag
        back = formats.onednn.read(shape, formats.onednn.write(layout))
        assert back.same_placement(layout), tag
        assert back.padded_shape == layout.padded_shape, tag
        tried, padded = tried + 1, padded + layout.is_padded
    assert tried > 700
    assert padded > 500
