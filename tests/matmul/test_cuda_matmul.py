"""Matrix products on CUDA: what is copied, what BLAS is told, the kernel for integers.

Values in every layout: `ops/library_cases.py`.
"""

import contextlib
import ctypes
import math
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest
from cuda_memory import ARCHITECTURES, resources
from enqueued import enqueued
from simulated import GPUS, hybrid, needs_compiler, opened, simulator, stand_in
from tensors import as_dtype, close, kind, slots

import tensorlayout as tl
from tensorlayout.cuda import matmul
from tensorlayout.cuda.engine import cublas
from tensorlayout.cuda.engine.kernel_shapes import kernels_in_file, parameter_struct_type
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.matmul import _TYPES, BlasMatrix, blas_matrix, compile_gemm, plan_gemm
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis

ROWS = Layout.row_major
CHECKS = ("bounds", "initialized", "races")


@pytest.fixture(scope="module", autouse=True)
def driver():
    with simulator() as result:
        yield result


def numbers(dtype, shape, seed=0):
    """Small numbers, whose sums 16-bit floats hold; of integers some that wrap."""
    dtype = as_dtype(dtype)
    if kind(dtype) in "iu":
        return slots(dtype, 8192, seed)[: math.prod(shape)].reshape(shape)
    values = np.random.default_rng(seed).integers(-8, 9, (2, *shape)) / 4
    return (values[0] + 1j * values[1] if dtype.kind == "c" else values[0]).astype(dtype)


def product(a, b):
    """NumPy's, of 16-bit floats in float64, rounded."""
    if a.dtype == b.dtype and a.dtype.itemsize == 2 and kind(a.dtype) == "f":
        return np.asarray(np.matmul(a.astype(np.float64), b.astype(np.float64))).astype(a.dtype)
    return np.asarray(np.matmul(a, b))


def check(x, y, expected, message=""):
    """Of two tensors on one device."""
    result = x @ y
    assert (result.device, result.layout) == (x.device, ROWS(result.shape)), message
    close(result.to_device("cpu"), expected, message)


def on_cuda(a):
    return tl.asarray(a, device="cuda")


def copied(call):
    """Return the copies of a trace: names, kinds and bytes written."""
    with tl.trace() as seen:
        call()
    return [(r.name, r.kind, r.bytes_written) for r in seen if r.kind in ("copy", "relayout")]


def count_second_call(driver, call):
    """Count what the driver does for the second of two calls."""
    call()
    before = asdict(driver.counters)
    call()
    return Counter(asdict(driver.counters)) - Counter(before)


SHAPES = [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((1, 1), (1, 1)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (2, 3, 4)),
    ((3, 2, 1, 5, 1, 2, 2, 3), (2, 1, 2, 1, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((5, 1, 3), (3, 2)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((0,), (0,)),
    ((5, 2, 0), (0,)),
    ((0, 2, 3), (1, 3, 4)),
    ((65, 33), (33, 129)),
]


@needs_compiler
@pytest.mark.parametrize("dtype", ["int8", "complex64"])
def test_shapes(dtype):
    with checking(*CHECKS):
        for first, second in SHAPES:
            a, b = numbers(dtype, first), numbers(dtype, second, 1)
            check(on_cuda(a), on_cuda(b), product(a, b), f"{first} by {second}")


# ---- What is copied

FAR = Layout.padded((6, 5), (6, 8))
TALL = Layout.padded((6, 5), (8, 5), (0, 1))

# Operands in layouts that BLAS takes as they are, as views of (6, 5) or (5, 6) matrices.
AS_THEY_LIE = {
    "row-major": lambda x: x,
    "column-major": lambda x: tl.to_layout(x, (0, 1)),
    "transposed": lambda x: x.mT,
    "padded rows": lambda x: tl.to_layout(x, FAR),
    "padded columns": lambda x: tl.to_layout(x, TALL),
    "padded rows, transposed": lambda x: tl.to_layout(x, FAR).mT,
    "cut from rows": lambda x: x[1:4, 1:3],
    "cut from columns": lambda x: x.mT[1:4, 1:3],
    "every second row": lambda x: x[::2, :],
    "every second column of the transposed": lambda x: x.mT[:, ::2],
    "a row": lambda x: x[2:3, :],
    "a column": lambda x: x[:, 2:3],
    "every second element of a row": lambda x: x[2:3, ::2],
}
COPIED = {
    "apart in both dimensions": lambda x: x[::2, ::2],
    "rows flipped": lambda x: x[::-1, :],
    "columns flipped": lambda x: x[:, ::-1],
    "one row repeated": lambda x: tl.broadcast_to(x[:1, :], (6, x.shape[1])),
    "rows that overlap": lambda x: tl.sliding_window(x[0, :], 2),
}


@needs_compiler
@pytest.mark.parametrize("view", AS_THEY_LIE.values(), ids=AS_THEY_LIE)
def test_operands_that_blas_takes_as_they_lie(driver, view):
    x = view(on_cuda(numbers("float32", (6, 5))))
    for a, b in ((x, on_cuda(numbers("float32", (x.shape[1], 7)))), (x.mT.copy(), x)):
        host = [np.asarray(operand.to_device("cpu")) for operand in (a, b)]
        check(a, b, product(*host))
        assert copied(lambda a=a, b=b: a @ b) == []
        done = count_second_call(driver, lambda a=a, b=b: a @ b)
        assert done == Counter(allocations=1, library_calls=1)


@needs_compiler
@pytest.mark.parametrize("view", COPIED.values(), ids=COPIED)
def test_operands_that_are_copied_first(driver, view):
    x = view(on_cuda(numbers("float32", (6, 5))))
    y = on_cuda(numbers("float32", (x.shape[1], 7), 1))
    check(x, y, product(*(np.asarray(operand.to_device("cpu")) for operand in (x, y))))
    assert copied(lambda: x @ y) == [("matmul", "relayout", x.size * 4)]
    done = count_second_call(driver, lambda: x @ y)
    assert done == Counter(allocations=2, launches=1, library_calls=1)
    with enqueued() as log:
        x @ y
    assert [operand.what.partition("_")[0] for operand in log] == ["copy", "gemm"]


STACKS = {
    "a stack": (lambda x: x, (4, 5, 2), 1),
    "one by a stack": (lambda x: x[0], (4, 5, 2), 1),
    "a stack by one": (lambda x: x, (5, 2), 1),
    "every second of a stack": (lambda x: x[::2], (2, 5, 2), 1),
    "a stack, transposed": (lambda x: tl.matrix_transpose(x), (4, 3, 2), 1),
    "a stack of rows between": (lambda x: tl.permute_dims(x, (1, 0, 2)), (3, 5, 2), 1),
    "two stacks": (lambda x: x[:, None], (3, 5, 2), 3),
}


@needs_compiler
@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_stacks_that_blas_takes_as_they_lie(driver, name, dtype):
    view, shape, times = STACKS[name]
    x, y = view(on_cuda(numbers(dtype, (4, 3, 5)))), on_cuda(numbers(dtype, shape, 1))
    check(x, y, product(*(np.asarray(operand.to_device("cpu")) for operand in (x, y))))
    assert copied(lambda: x @ y) == []
    done = count_second_call(driver, lambda: x @ y)
    assert done == Counter(allocations=1, library_calls=times)


@needs_compiler
def test_a_stack_of_too_many_calls_is_copied(driver):
    x = on_cuda(numbers("float32", (18, 19, 2, 3)))
    y = on_cuda(numbers("float32", (19, 18, 3, 2), 1))
    cases = ((x, tl.permute_dims(y, (1, 0, 2, 3)), y.size), (x[:2], y[:, :1][:, 0], 0))
    for left, other, count in cases:
        arrays = [np.asarray(item.to_device("cpu")) for item in (left, other)]
        check(left, other, product(*arrays))
        expected = [("matmul", "relayout", 4 * count)] if count else []
        assert copied(lambda a=left, b=other: a @ b) == expected
        assert count_second_call(driver, lambda a=left, b=other: a @ b)["library_calls"] <= 2


@needs_compiler
def test_integers_are_one_launch_whatever_the_layout(driver):
    for view in (*list(AS_THEY_LIE.values())[::3], *COPIED.values()):
        x = view(on_cuda(numbers("int16", (6, 5))))
        y = on_cuda(numbers("int16", (x.shape[1], 7), 1))
        check(x, y, product(*(np.asarray(operand.to_device("cpu")) for operand in (x, y))))
        assert copied(lambda x=x, y=y: x @ y) == []
        done = count_second_call(driver, lambda x=x, y=y: x @ y)
        assert done == Counter(allocations=1, launches=1)


@needs_compiler
def test_memory_that_was_never_written_is_not_multiplied():
    with checking("bounds", "initialized"):
        x = tl.empty((3, 3), dtype="float32", device="cuda")
        with pytest.raises(RuntimeError, match=r"a library call reads memory .* never written"):
            x @ x
        y = on_cuda(np.ones((3, 3), np.float32))
        assert (np.asarray((y @ y + 1).to_device("cpu")) == 4).all()


# ---- Bytes by cuBLAS


def bytes_of(dtype, *shape, seed=0):
    """Random bytes, whose products wrap."""
    values = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    return values.view(dtype)


# Layouts of both operands, and the copies that cuBLAS needs.
BYTE_OPERANDS = {
    "as cuBLAS takes them": (lambda x: x, lambda y: tl.to_layout(y, (0, 1)), 0),
    "rows of both": (lambda x: x, lambda y: y, 1),
    "columns of both": (lambda x: tl.to_layout(x, (0, 1)), lambda y: tl.to_layout(y, (0, 1)), 1),
    "flipped": (lambda x: x[::-1], lambda y: y[:, ::-1], 2),
    "rows not in fours": (
        lambda x: tl.to_layout(x, Layout.padded(x.shape, (x.shape[0], x.shape[1] + 1))),
        lambda y: tl.to_layout(y, (0, 1)),
        1,
    ),
}


@needs_compiler
@pytest.mark.parametrize("case", BYTE_OPERANDS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_large_products_of_bytes_are_products_of_cublas(driver, case, dtype):
    left, right, copies = BYTE_OPERANDS[case]
    a, b = bytes_of(dtype, 256, 260), bytes_of(dtype, 260, 256, seed=1)
    x, y = left(on_cuda(a)), right(on_cuda(b))
    check(x, y, product(*(np.asarray(operand.to_device("cpu")) for operand in (x, y))))
    assert [name for name, *_ in copied(lambda: x @ y)] == ["matmul"] * copies
    done = count_second_call(driver, lambda: x @ y)
    # One launch and one temporary more than copies need: the result narrowed from int32.
    expected = Counter(allocations=2 + copies, launches=1 + copies, library_calls=1)
    assert done == expected


@needs_compiler
def test_which_products_of_bytes_are_cublas(driver):
    """From 2**24 products on, and if sizes are multiples of 4 and sums fit int32."""
    for shapes, dtype, libraries in (
        (((256, 256), (256, 256)), "int8", 1),
        (((252, 256), (256, 256)), "int8", 0),
        (((256, 258), (258, 256)), "int8", 0),
        (((256, 256), (256, 258)), "int8", 0),
        (((256, 256), (256, 256)), "int16", 0),
        (((4, 64, 256), (4, 256, 256)), "int8", 1),
        (((2, 3, 64, 256), (3, 256, 256)), "uint8", 2),
        (((1, 2**17 - 4), (2**17 - 4, 128)), "int8", 0),
        (((2, 2**17 - 4), (2**17 - 4, 64)), "int8", 0),
        (((2, 2**17 - 4), (2**17 - 4, 72)), "int8", 1),
        (((2, 2**17), (2**17, 72)), "int8", 0),
    ):
        plan = [ROWS(shapes[0]), ROWS(shapes[1])]
        suits = matmul.suits_byte_gemm(*plan, as_dtype(dtype))
        assert suits == bool(libraries), shapes
        if suits:
            copies = [matmul.byte_gemm_layout(x, second=x is plan[1]) for x in plan]
            assert len(plan_gemm(*copies).start_elements) == libraries


@needs_compiler
def test_the_extremes_of_bytes_do_not_overflow(driver):
    x = on_cuda(np.full((2, 2**17 - 4), -128, np.int8))
    y = on_cuda(np.full((72, 2**17 - 4), -128, np.int8)).mT
    assert matmul.suits_byte_gemm(x.spec.layout, y.spec.layout, x.dtype)
    assert not np.asarray((x @ y).to_device("cpu")).any()
    x[:, 0] = -127
    assert (np.asarray((x @ y).to_device("cpu")) == -128).all()  # 127 * 128 modulo 2**8


@needs_compiler
def test_addresses_that_are_not_in_fours_go_to_the_kernel(driver):
    memory = on_cuda(bytes_of("int8", 256 * 256 + 1))
    a = np.asarray(memory[1:].to_device("cpu")).reshape(256, 256)
    x = tl.reshape(memory[1:], (256, 256), copy=False)
    check(x, x.mT, product(a, a.T))
    done = count_second_call(driver, lambda: x @ x.mT)
    assert done == Counter(allocations=1, launches=1)


# ---- What BLAS is told


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((3, 4), (4, 1), BlasMatrix(False, 4)),
        ((3, 4), (9, 1), BlasMatrix(False, 9)),
        ((3, 4), (1, 3), BlasMatrix(True, 3)),
        ((3, 4), (1, 9), BlasMatrix(True, 9)),
        ((1, 4), (100, 1), BlasMatrix(False, 4)),
        ((1, 4), (100, 3), BlasMatrix(True, 3)),
        ((4, 1), (3, 100), BlasMatrix(False, 3)),
        ((4, 1), (1, 100), BlasMatrix(False, 1)),
        ((1, 1), (7, 7), BlasMatrix(False, 1)),
        ((3, 4), (8, 2), None),
        ((3, 4), (3, 1), None),
        ((3, 4), (0, 1), None),
        ((3, 4), (-4, 1), None),
        ((3, 4), (4, -1), None),
        ((1, 4), (4, -1), None),
        ((1, 4), (4, 0), None),
    ],
)
def test_which_matrices_blas_takes(shape, strides, expected):
    lowest = sum((n - 1) * -s for n, s in zip(shape, strides, strict=True) if s < 0)
    assert blas_matrix(Layout(shape, strides, offset=lowest)) == expected


def test_sizes_beyond_what_cublas_counts():
    with pytest.raises(OverflowError, match="cuBLAS takes sizes up to 2147483647, got 1 times"):
        plan_gemm(ROWS((1, 2**31)), ROWS((2**31, 1)))
    # Rows of several matrices are not put together beyond that.
    assert plan_gemm(ROWS((2**20, 2**12, 4)), ROWS((4, 4))).batch_axis.size == 2**20


class Cublas:
    """Stands for the module; writes down calls under its names and signatures."""

    CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C = 0, 1, 2
    CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32I = 68, 70, 72
    CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT = 77, -1

    def __init__(self):
        self.calls = []

    def gemmEx(
        self, handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,
        ldc, computeType, algo,
    ):  # fmt: skip
        self.calls.append(("gemmEx", m, n, k, transa, transb, lda, ldb, ldc, computeType))

    def gemmStridedBatchedEx(
        self, handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb,
        strideB, beta, C, Ctype, ldc, strideC, batchCount, computeType, algo,
    ):  # fmt: skip
        self.operations, self.pointers, self.leading = (transa, transb), (A, B, C), (lda, ldb, ldc)
        one, zero = (ctypes.c_float.from_address(item).value for item in (alpha, beta))
        strides = (strideA, strideB, strideC, batchCount)
        self.calls.append(("batched", m, n, k, Atype, Btype, Ctype, *strides, one, zero))

    def getMathMode(self, handle):
        return 0

    def setMathMode(self, handle, mode):
        self.calls.append(("mode", mode))


@contextlib.contextmanager
def cublas_written_down():
    with stand_in() as recorder:
        import cupy

        cupy.cuda.cublas, cupy.cuda.get_cublas_handle = Cublas(), lambda: 77
        for number, (name, _, _) in enumerate(_TYPES.values()):
            setattr(cupy.cuda.runtime, name, number)
        yield recorder, cupy.cuda.cublas


def test_the_arguments_of_a_call():
    """Of a padded stack by one column-major matrix."""
    gemm = plan_gemm(Layout((2, 3, 4), (30, 8, 1)), Layout((4, 5), (1, 6)))
    assert gemm.batch_axis == Axis(2, (30, 0, 15))
    with cublas_written_down() as (_, library):
        x, y, out = (tl.zeros(n, dtype="float32", device="cuda") for n in (60, 30, 30))
        compile_gemm(gemm, (2, 0), x.dtype, out.spec)(out, x, y)
        assert library.calls == [("batched", 5, 3, 4, 2, 2, 2, 0, 30, 15, 2, 1.0, 0.0)]
        assert (library.operations, library.leading) == ((1, 0), (6, 8, 5))
        addresses = (y.memory.address, x.memory.address + 8, out.memory.address)
        assert library.pointers == addresses


def test_the_calls_of_cublas():
    with cublas_written_down() as (recorder, library):
        calls = library.calls
        x = tl.zeros((4, 3, 5), dtype="float32", device="cuda")
        recorder.calls.clear()
        x[0] @ x[1].mT
        assert [call[0] for call in recorder.calls] == ["alloc"]
        assert calls == [("gemmEx", 3, 3, 5, 1, 0, 5, 5, 3, 68)]
        del calls[:]
        x @ tl.matrix_transpose(x)
        assert calls == [("batched", 3, 3, 5, 2, 2, 2, 15, 15, 9, 4, 1.0, 0.0)]
        del calls[:]
        half = tl.zeros((2, 2), dtype="bfloat16", device="cuda")
        half @ half
        assert calls == [("mode", 16), ("gemmEx", 2, 2, 2, 0, 0, 2, 2, 2, 68), ("mode", 0)]


def test_what_cublas_is_told_of_bytes():
    with cublas_written_down() as (_, library):
        x = tl.zeros((256, 256), dtype="uint8", device="cuda")
        x @ x.mT
        assert library.calls == [("gemmEx", 256, 256, 256, 1, 0, 256, 256, 256, 72)]


def test_cupy_has_what_is_called():
    cupy = pytest.importorskip("cupy", reason="optional: cupy")
    library = pytest.importorskip(  # an ImportError of another kind where libcublasLt is missing
        "cupy_backends.cuda.libs.cublas", reason="optional: cuBLAS", exc_type=ImportError
    )
    for name in ("gemmEx", "gemmStridedBatchedEx", "getMathMode", "setMathMode"):
        ours, theirs = getattr(Cublas, name), getattr(library, name).__doc__
        words = [part.split()[-1] for part in theirs.partition("(")[2].partition(")")[0].split(",")]
        assert list(ours.__code__.co_varnames[1 : ours.__code__.co_argcount]) == words
    for name in dir(Cublas):
        if name.startswith("CUBLAS"):
            assert getattr(Cublas, name) == getattr(library, name)
    for name, precision, _ in _TYPES.values():
        assert hasattr(cupy.cuda.runtime, name)
        assert hasattr(library, precision)
    assert callable(cupy.cuda.get_cublas_handle)
    c_library = cublas.load_cublas(cupy.cuda.runtime.runtimeGetVersion() // 1000)
    for name in cublas._ARGUMENTS:
        assert hasattr(c_library, name)


# ---- The kernel for integers

EFFICIENCY = {
    "row-major": lambda x, y: (x, y),
    "first transposed": lambda x, y: (tl.to_layout(x, (0, 1)), y),
    "second transposed": lambda x, y: (x, tl.to_layout(y, (0, 1))),
    "padded rows": lambda x, y: tuple(tl.to_layout(matrix, Layout.padded(
        matrix.shape, (matrix.shape[0], matrix.shape[1] + 32))) for matrix in (x, y)),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("case", EFFICIENCY)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_accesses(case, dtype):
    x, y = EFFICIENCY[case](on_cuda(numbers(dtype, (64, 64))), on_cuda(numbers(dtype, (64, 128))))
    with checking("count") as record:
        x @ y
    counts = record.total_of_kernel("matmul")
    assert counts.sector_efficiency_read >= 0.9
    assert counts.sector_efficiency_write >= 0.9
    assert counts.lane_activity >= 0.9
    assert counts.bank_conflict_ratio <= 1.1


def launch_parameters(first, second):
    launch = matmul.plan_integer_matmul(first, second, 4)
    return parameter_struct_type(launch.kernel).from_buffer_copy(launch.parameters)


def test_no_address_is_beyond_the_reach_of_an_index():
    """Strides and sizes have 64 bits, the grid as many blocks as a GPU takes."""
    result = launch_parameters(ROWS((2**33, 2**20)), ROWS((2**20, 4)))
    assert (result.rows, result.depth, result.first_down) == (2**33, 2**20, 2**20)
    assert result.tiles == 2**33 // 64
    stack = launch_parameters(ROWS((2**34, 1, 1)), ROWS((1, 1)))
    assert (stack.tiles, stack.stack.rank) == (2**34, 1)


@needs_compiler
def test_more_tiles_than_blocks(monkeypatch):
    monkeypatch.setattr(matmul, "_MOST_BLOCKS", 3)
    a, b = numbers("int16", (5, 70, 3)), numbers("int16", (5, 3, 130), 1)
    with checking(*CHECKS):
        check(on_cuda(a), on_cuda(b), product(a, b))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_compiled_for_a_gpu_without_spills(architecture):
    for kernel in kernels_in_file("matmul.cu"):
        result = resources(kernel, architecture)
        most = 160 if kernel.symbol.endswith("uint64_t") else 128
        assert (kernel.symbol, result.spilled, result.registers <= most) == (kernel.symbol, 0, True)


# ---- On a GPU, and on what stands for one


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_gpu_large_products_of_bytes(dtype, gpu):
    a, b = bytes_of(dtype, 2, 128, 260), bytes_of(dtype, 260, 256, seed=1)
    with opened(gpu):
        for left, right, _ in BYTE_OPERANDS.values():
            x, y = left(on_cuda(a[0])), right(on_cuda(b))
            check(x, y, product(*(np.asarray(operand.to_device("cpu")) for operand in (x, y))))
        check(on_cuda(a), on_cuda(b), product(a, b))


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_gpu_tf32_is_a_choice(dtype, gpu):
    """1 + 2**-12 has 12 bits of fraction, of which TF32 keeps 10."""
    with opened(gpu):
        x = tl.full((64, 64), 1 + 2.0**-12, dtype=dtype, device="cuda")
        one = tl.eye(64, dtype=dtype, device="cuda")
        exact = np.asarray(x.to_device("cpu"))
        with tl.cuda.allow_tf32():
            rounded = np.asarray((x @ one).to_device("cpu"))
            with tl.cuda.allow_tf32(False):
                same_again = np.asarray((x @ one).to_device("cpu"))
            wide = tl.astype(x, "float64") if dtype == "float32" else tl.astype(x, "complex128")
            double = np.asarray((wide @ tl.astype(one, wide.dtype)).to_device("cpu"))
        assert (np.asarray((x @ one).to_device("cpu")) == exact).all()
        assert (same_again == exact).all()
        assert (double == exact).all()
        # cuBLAS may choose a kernel that does not round.
        assert np.isin(rounded, [1, 1 + 2.0**-12] if gpu == "gpu" else 1).all()


@needs_compiler
@pytest.mark.parametrize(
    ("name", "types", "message"),
    [
        ("float16", ("CUDA_R_16F", "CUBLAS_COMPUTE_32F", "float16"), "alpha and beta are"),
        ("float64", ("CUDA_R_64F", "CUBLAS_COMPUTE_32F", "float64"), "NOT_SUPPORTED"),
    ],
)
def test_the_strict_machine_reads_scalars_in_their_type(name, types, message, monkeypatch):
    """The types that `_TYPES` has for cuBLAS are the ones that it supports."""
    a = numbers(name, (5, 6))
    with hybrid():
        x = on_cuda(a)
        check(x, x.mT, product(a, a.T))
    monkeypatch.setitem(_TYPES, name, types)
    with hybrid(), pytest.raises((AssertionError, RuntimeError), match=message):
        check(on_cuda(a), on_cuda(a).mT, product(a, a.T))


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("dtype", ["int8", "uint64", "bfloat16", "float32", "complex128"])
def test_gpu_products(dtype, gpu):
    with opened(gpu):
        for first, second in SHAPES:
            a, b = numbers(dtype, first), numbers(dtype, second, 1)
            check(on_cuda(a), on_cuda(b), product(a, b), f"{first} by {second}")
        for view in (*AS_THEY_LIE.values(), *COPIED.values()):
            x = view(on_cuda(numbers(dtype, (6, 5))))
            y = on_cuda(numbers(dtype, (x.shape[1], 7), 1))
            check(x, y, product(*(np.asarray(operand.to_device("cpu")) for operand in (x, y))))
