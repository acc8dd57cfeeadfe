"""Uses that run, all of which type checkers accept: not a test by itself, see `test_typing`."""

from collections.abc import Iterator
from typing import assert_type

import numpy as np

import tensorlayout as tl
from tensorlayout.layout import Layout
from tensorlayout.linalg import QRResult, SVDResult
from tensorlayout.typing import DeviceLike, DTypeLike, Integers, LayoutLike

x = tl.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
i = tl.asarray([1, 0])
one = np.int64(1)


def make_tensor(
    shape: Integers,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    layout: LayoutLike | None = None,
) -> tl.Tensor:
    """Pass arguments on, with the names for annotations."""
    return tl.zeros(shape, dtype=dtype, device=device, layout=layout)


# Shapes, dtypes, devices, layouts.
tl.zeros([2, 3])
tl.zeros((one, i[0]))
tl.ones(range(1, 3), dtype=tl.bfloat16)
tl.empty((2, 3), dtype="float32", device="cpu", layout="{0,1}")
tl.full((2, 3), np.float32(1), dtype=float, device=tl.default_device(), layout=[0, 1])
tl.zeros((2, 3), layout=tl.Layout.column_major((2, 3)))
tl.linspace(0, 1j, one)
tl.eye(one, k=one)
make_tensor([2, 3], dtype=tl.float16)
assert_type(tl.meshgrid(i, i, indexing="ij"), tuple[tl.Tensor, ...])
assert_type(tl.linspace(0, 1, 3), tl.Tensor)
assert_type(tl.linspace(0, 1, 3, retstep=True), tuple[tl.Tensor, tl.Tensor])
tl.asarray([[True, 2], [3.0, 4j]], copy=None)
tl.astype(x, tl.float32, copy=False, device="cpu")

# Operators, with Python's and NumPy's numbers on either side.
assert_type(x + 1, tl.Tensor)
assert_type(1 + x, tl.Tensor)
assert_type(2**i, tl.Tensor)
assert_type(x < 1, tl.Tensor)
assert_type(1 >= x, tl.Tensor)
assert_type(x != x, tl.Tensor)
assert_type(i & 1, tl.Tensor)
assert_type(1 << i, tl.Tensor)
assert_type(~(x > 2) | True, tl.Tensor)
assert_type(x @ x.mT, tl.Tensor)
assert_type(abs(x) * np.float32(2), tl.Tensor)
assert_type(divmod(x, 2), tuple[tl.Tensor, tl.Tensor])
x += 1
i <<= 1
i >>= np.int64(1)
assert_type(float(x[0, 0]), float)
assert_type(bool(x[0, 0]), bool)
range(10)[i[0]]
assert_type(iter(x), Iterator[tl.Tensor])
assert_type(1.0 in x, bool)

# Keys and values.
assert_type(x[0], tl.Tensor)
x[..., None, 1:, one]
x[[0, 1]]
x[np.asarray([0, 1])]
x[x > 2] = 0
x[0] = [1, 2, 3]

# Elementwise functions.
assert_type(tl.add(x, 1j), tl.Tensor)
assert_type(tl.multiply(2.0, x), tl.Tensor)
assert_type(tl.sqrt(x), tl.Tensor)
tl.atan2(x, 1)
tl.logical_and(x > 1, False)
tl.clip(x, 1, max=x)
assert_type(tl.where(x > 1, x, 0), tl.Tensor)
assert_type(tl.where(x > 1), tuple[tl.Tensor, ...])
assert_type(tl.isclose(x, [1, 2, 3]), tl.Tensor)
assert_type(tl.add.__name__, str)

# Axes, flags, numbers.
tl.sum(x, axis=[0, 1], dtype="float64", keepdims=True)
tl.var(x, axis=(0,), correction=np.float32(1))
tl.reshape(x, [3, -1], copy=False)
tl.roll(x, [1, 1], axis=(0, 1))
tl.concat([x, x], axis=one)
tl.broadcast_to(x, [4, 2, 3])
tl.sliding_window(x, 2, axis=1)
tl.repeat(x, i, axis=0)
tl.take(x, 0, axis=one)
tl.take(x, [0, 1], 1, None, "clip")
tl.tensordot(x, x, axes=([0, 1], (0, 1)))
tl.searchsorted(i, 1.5, side="right")
tl.diff(x, n=one, prepend=x)
tl.pad(x, [(1, 1), (0, 2)], "reflect")
tl.pad(x, {0: (1, 2)}, constant_values=1.5)
tl.quantile(x, [0.25, 0.5], axis=0, method="nearest")
tl.put_along_axis(x, tl.asarray([[0], [1]]), 1.5)
tl.scatter_add(x, i, 1.5)
tl.isdtype(tl.float32, ("real floating", tl.float32))
tl.result_type(x, 1.5, "float32", np.float32)

# Results that are several.
assert_type(tl.unstack(x), tuple[tl.Tensor, ...])
assert_type(tl.broadcast_shapes([1, 3], (2, 1)), tuple[int, ...])
assert_type(tl.unique_counts(x).counts, tl.Tensor)
assert_type(tl.gradient(x, 2.0, axis=0), tl.Tensor)
assert_type(tl.gradient(x, axis=(0, 1)), tl.Tensor | tuple[tl.Tensor, ...])
assert_type(tl.linalg.svd(x, full_matrices=False), SVDResult)
assert_type(tl.linalg.svd(x, compute_uv=False), tl.Tensor)
assert_type(tl.linalg.qr(x, mode="complete"), QRResult)
assert_type(tl.linalg.qr(x, "r"), tl.Tensor)
assert_type(tl.linalg.slogdet(x @ x.T)[1], tl.Tensor)
assert_type(tl.linalg.vector_norm(x, axis=[0], ord=np.float32(2)), tl.Tensor)
tl.linalg.matrix_norm(x, ord="nuc")
assert_type(tl.fft.fftn(x, s=[2, 2], axes=(0, 1), norm="ortho"), tl.Tensor)
tl.fft.fftfreq(one, d=np.float32(2), dtype=tl.float32, device="cpu")

# Attributes, layouts, the trace.
assert_type(x.shape, tuple[int, ...])
assert_type(x.layout, Layout)
assert_type(x.T, tl.Tensor)
assert_type(str(x.device), str)
assert_type(x.readonly, bool)
assert_type(x.to_device("cpu"), tl.Tensor)
assert_type(x.sum(axis=0, dtype=float), tl.Tensor)
assert_type(x.clip(1, [2.0, 3.0, 4.0]), tl.Tensor)
np.asarray(x).shape
tl.to_layout(x, [0, 1])
tl.from_storage(bytearray(16), "(2,2):(2,1)", dtype="float32", fill_padding=False)
tl.from_storage(np.zeros(4), tl.Layout.row_major((2, 2)), dtype=np.float64)
tl.from_dlpack(np.zeros(3), device="cpu", copy=True)
tl.coalesce(x.layout)
with tl.trace() as seen:
    pass
assert_type(seen, tl.Trace)
assert_type([record.bytes_read for record in seen], list[int])
assert_type([record.where for record in seen[1:].filter("copy", name="astype")], list[str])
with tl.no_copies(100, warn=True, allow=("copy", "astype"), exports=True):
    pass
with tl.using_device("cpu"):
    pass


@tl.fuse(static=["axis"])
def spread(y: tl.Tensor, axis: int) -> tl.Tensor:
    return (y * 2 + 1).max(axis=axis)


assert_type(spread(x, 0), tl.Tensor)
assert_type(tl.fuse(tl.matrix_transpose)(x), tl.Tensor)

# What is imported at its first use.
assert_type(tl.xla.layout_of("f32[2,3]{0,1}"), Layout)
assert_type(tl.xla.to_buffer(x, "f64[2,3]{1,0}"), bytes)
assert_type(tl.directml.cast(x, tl.float32), tl.Tensor)
assert_type(tl.directml.TensorDesc("FLOAT32", [2, 3]).layout, Layout)


def on_a_gpu(a: tl.Tensor, stream: object) -> Iterator[tl.Tensor]:
    """Never run: type checkers alone read it."""
    copy = tl.cuda.copy_async(a, "cuda")
    assert_type(copy, tl.cuda.AsyncCopy)
    with tl.cuda.Stream.from_external(stream) as ours, tl.cuda.capture(ours) as graph:
        assert_type(ours.record(), tl.cuda.Event)
        tl.cuda.record_stream(copy.result(), ours)
        yield tl.cuda.pin_memory(a)
    assert_type(graph, tl.cuda.Graph)
    assert_type(tl.cuda.memory_stats().limit, int | None)
    with tl.cuda.launch_log() as log:
        yield a + a
    for kernel in log:
        tl.cuda.raw_kernel(kernel)(*log.last_launch(kernel))
