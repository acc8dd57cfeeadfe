"""Number types and functors of the kernels, built for the host and applied to arrays.

One small shared object (tests/kernels/functions_harness.cpp) holds every functor for each of its
dtypes and every conversion; no simulator, no plan. NVRTC compiles the same where CuPy is installed.
"""

import ctypes
import math
from fractions import Fraction

import numpy as np
import pytest
from casting import cast
from elementwise_oracle import ONE, TWO, oracle
from host_library import host_library
from special_cases import MAX, limit, same
from tensors import BFLOAT16, DTYPES, SIGNED, UNSIGNED, as_dtype
from test_special_cases import CONJUGATE, GROUPS, PLANE, Group

import tensorlayout as tl
from benchmarks.resources import compiled
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.functions import elementwise as ew
from tensorlayout.support.kernel_sources import header_directory

KERNELS = header_directory()
# By dtype, what the kernels call it.
TYPES = {
    "bool": "bool8",
    **{name: f"{name}_t" for name in SIGNED + UNSIGNED},
    "float16": "half",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}
DTYPE_OF = {kernel: name for name, kernel in TYPES.items()}
WIDER = {
    **dict.fromkeys(["float16", "bfloat16", "float32"], np.dtype("float64")),
    "float64": np.dtype("longdouble"),
    "complex64": np.dtype("complex128"),
    "complex128": np.dtype("clongdouble"),
}
needs_wider = pytest.mark.skipif(
    np.finfo(np.longdouble).eps == np.finfo(np.float64).eps,
    reason="optional: float64 is judged by a long double that is wider",
)


class Functions:
    """The harness: ``call(name, dtype, *operands)`` and ``convert(array, dtype)``."""

    def __init__(self, library):
        self.library = library
        library.row_text.restype = ctypes.c_char_p
        self.rows, self.conversions = {}, {}
        for row in range(library.row_count()):
            name, kernel_type, category = (library.row_text(row, i).decode() for i in range(3))
            dtype = DTYPE_OF[kernel_type]
            if category == "conversion":
                self.conversions[dtype, DTYPE_OF[name]] = row
            else:
                self.rows[name, dtype] = row

    def call(self, name, *operands):
        dtype = name_of(operands[-1].dtype)
        return self._run(self.rows[name, dtype], result_dtype(name, dtype), *operands)

    def convert(self, array, dtype):
        row = self.conversions[name_of(array.dtype), dtype]
        return self._run(row, as_dtype(dtype), array)

    def _run(self, row, dtype, *operands):
        operands = [np.require(o, requirements="CA") for o in operands]
        out = np.empty(operands[0].shape, dtype)
        places = [o.ctypes.data for o in operands] + [0] * (3 - len(operands))
        pointers = map(ctypes.c_void_p, [out.ctypes.data, *places])
        self.library.run_row(row, ctypes.c_int64(out.size), *pointers)
        return out


def name_of(dtype):
    return "bfloat16" if dtype == BFLOAT16 else dtype.name


def result_dtype(name, dtype):
    operation = getattr(getattr(ew, name, None), "operation", None)
    if operation is not None and operation.result == "bool":
        return np.dtype(bool)
    parts = {"complex64": "float32", "complex128": "float64"}
    return as_dtype(parts.get(dtype, dtype) if name in ("abs", "real", "imag") else dtype)


def build(folder, *options):
    return Functions(host_library("functions_harness", folder, *options))


@pytest.fixture(name="functions", scope="module")
def _functions(tmp_path_factory):
    return build(tmp_path_factory.mktemp("functions"), "-O0")


def category_of(name):
    if name == "where":
        return "any"
    operations = {"clip": ew._CLIP, "real": ew._IMAG, "imag": ew._IMAG}
    result = (operations.get(name) or getattr(ew, name).operation).dtypes
    return result.removesuffix(" or narrow")  # which are compared by what they are converted to


def test_a_functor_for_every_function_and_dtype(functions):
    expected = {
        (name, dtype) for name in [*ew.__all__, "where"] for dtype in DTYPES[category_of(name)]
    }
    assert set(functions.rows) == expected
    assert set(functions.conversions) == {(a, b) for a in TYPES for b in TYPES}


# --- special cases ------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", GROUPS)
def test_special_cases(functions, arguments):
    group = Group(*arguments)
    result = functions.call(group.function, *group.operands)
    assert result.dtype == group.result
    group.report(result[:, None], "functor")
    if group.function not in ("maximum", "minimum"):  # whose zeros NumPy picks by dtype
        # Where several results are allowed, the CPU's.
        assert same(result, np.asarray(group.call(*map(tl.asarray, group.operands)))).all()


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_the_second_of_two_zeros(functions, dtype):
    one, other = np.array([[0.0, -0.0], [-0.0, 0.0]]).astype(as_dtype(dtype))
    for name in ("maximum", "minimum"):
        assert functions.call(name, one, other).tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", CONJUGATE)
def test_conjugates_give_conjugates(functions, name, dtype):
    z = np.concatenate([PLANE, -PLANE]).astype(dtype)
    mirrored = functions.call(name, np.conj(z))
    assert mirrored.tobytes() == np.conj(functions.call(name, z)).tobytes()
    if name in ("asin", "asinh", "atan", "atanh", "sin", "sinh", "tan", "tanh"):
        assert functions.call(name, -z).tobytes() == (-functions.call(name, z)).tobytes()


# --- integers -----------------------------------------------------------------------------------


INTEGRAL = {n for n in ONE | TWO if "int8" in DTYPES[category_of(n)]}


def _power(x, y, bits):
    if y >= 0:
        return pow(x, y, 1 << bits)
    return 0 if x == 0 else int(Fraction(x) ** (y % 2 - 2) if abs(x) == 1 else 0)


def integers_of(dtype):
    """All of 8 bits; of wider ones those at the edges and at shift counts."""
    info = np.iinfo(dtype)
    if info.bits == 8:
        return np.arange(info.min, info.max + 1).astype(dtype)
    near = [0, 1, 2, 3, 5, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 1 << info.bits // 2]
    near += [-v for v in near] + [info.min, info.min + 1, info.max, info.max - 1, info.max // 3]
    return np.array([v for v in near if info.min <= v <= info.max], dtype)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_integers_as_numpy_computes_them(functions, dtype):
    """Powers as Python does: those of NumPy end where exponents are below 0."""
    values = integers_of(dtype)
    x, y = (np.ravel(a) for a in np.meshgrid(values, values))
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    for name in sorted(INTEGRAL - {"pow"}):
        operands = [values] if name in ONE else [x, y]
        expected = oracle(name, *operands)
        np.testing.assert_array_equal(functions.call(name, *operands), expected, name)
    powers = [_power(a, b, 8 * x.itemsize) % 2**64 for a, b in pairs]
    expected = np.array(powers, np.uint64).astype(dtype)
    np.testing.assert_array_equal(functions.call("pow", x, y), expected)
    least, most = np.full_like(x, 3), np.full_like(x, 100)
    assert functions.call("clip", x, least, most).tolist() == np.clip(x, 3, 100).tolist()


def test_any_byte_but_zero_is_true(functions):
    x = np.arange(256, dtype=np.uint8).view(bool)
    truth, other = np.arange(256) != 0, np.arange(256) % 3 == 0
    for name, expected in [
        ("logical_and", truth & other),
        ("bitwise_and", truth & other),
        ("logical_or", truth | other),
        ("bitwise_or", truth | other),
        ("logical_xor", truth ^ other),
        ("bitwise_xor", truth ^ other),
        ("not_equal", truth ^ other),
        ("equal", truth == other),
    ]:
        assert functions.call(name, x, other).view(np.uint8).tolist() == expected.tolist(), name
    for name in ("logical_not", "bitwise_invert"):
        assert functions.call(name, x).view(np.uint8).tolist() == (~truth).tolist()
    for dtype in TYPES.keys() - {"bool"}:
        expected = truth.astype(np.uint8).astype(as_dtype(dtype))
        assert functions.convert(x, dtype).tobytes() == expected.tobytes()


# --- ordinary values of real floating-point dtypes ----------------------------------------------

REAL_ONE = [name for name in ONE if "float32" in DTYPES[category_of(name)]]
BY_FRACTIONS = ("floor_divide", "remainder")
REAL_TWO = [
    name
    for name in TWO
    if "float32" in DTYPES[category_of(name)]
    and name not in ("nextafter", "equal", "not_equal", *BY_FRACTIONS)
]


def every_number(dtype):
    """All bit patterns of a 16-bit dtype; of others many over all magnitudes, and near 1."""
    dtype = as_dtype(dtype)
    if dtype.itemsize == 2:
        return np.arange(2**16, dtype=np.uint16).view(dtype)
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), 4000, dtype=f"u{dtype.itemsize}")
    near = rng.uniform(-3.0, 3.0, 4000), rng.normal(0.0, 40.0, 4000)
    return np.concatenate([bits.view(dtype), *(a.astype(dtype) for a in near)])


def precision(dtype):
    """The step from 1 to the next number, the least number above 0, the greatest."""
    dtype = as_dtype(dtype)
    if dtype == BFLOAT16:
        return 2.0**-7, 2.0**-133, float(limit(MAX, dtype))
    info = np.finfo(dtype)
    return info.eps, info.smallest_subnormal, info.max


def assert_near(result, exact, dtype, ulps, message, size=0):
    """Within `ulps` steps of the numbers near `exact`, which has more digits; NaN where it is.

    Steps of numbers of `size` where that is greater.
    """
    step, least, most = precision(dtype)
    wide = widened(result, exact.dtype)
    with np.errstate(all="ignore"):
        magnitude = np.maximum(np.abs(exact), size)
        tolerance = ulps * np.maximum(step * magnitude, exact.dtype.type(least))
        near = (np.abs(wide - exact) <= tolerance) | (wide == exact)
    near |= (np.abs(exact) > most) & (np.abs(wide) >= most) & (np.sign(wide) == np.sign(exact))
    near |= np.isnan(exact) & np.isnan(wide)
    assert near.all(), f"{message}: {result[~near][:5]} for {exact[~near][:5]}"


def same_numbers(result, expected, message):
    """Equal, signs of zeros too; NaN of any sign."""
    if result.dtype.kind in "biu":
        np.testing.assert_array_equal(result, expected, message)
        return
    wide, exact = (widened(a, np.float64) for a in (result, expected))
    np.testing.assert_array_equal(wide, exact, message)
    number = ~np.isnan(exact)
    assert (np.signbit(wide) == np.signbit(exact))[number].all(), message


def widened(array, dtype):
    """In a dtype that holds more; NumPy warns of signalling NaN."""
    with np.errstate(invalid="ignore"):
        return array.astype(dtype)


def units(dtype):
    return 0.51 if as_dtype(dtype).itemsize == 2 else 4


@needs_wider
@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_real_functions(functions, dtype):
    every = every_number(dtype)
    some = every[::7]
    other = np.random.default_rng(8).permutation(some)
    for name in REAL_ONE + REAL_TWO:
        operands = [every] if name in ONE else [some, other]
        wide = [widened(a, WIDER[dtype]) for a in operands]
        with np.errstate(all="ignore"):
            exact = np.asarray((ONE | TWO)[name][0](*wide))
        result = functions.call(name, *operands)
        if exact.dtype == bool:
            np.testing.assert_array_equal(result, exact, name)
        else:  # logaddexp is a sum, whose terms may cancel
            size = np.minimum(*map(np.abs, wide)) if name == "logaddexp" else 0
            assert_near(result, exact, dtype, units(dtype), name, size)


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_floored_quotients(functions, dtype):
    """Exactly, by fractions; what is nearer to the next number than the dtype tells is rounded."""
    x = widened(every_number(dtype), np.float64)[::5]
    y = np.random.default_rng(9).permutation(x)
    with np.errstate(all="ignore"):
        usual = np.isfinite(x) & np.isfinite(y) & (np.abs(x / y) < 2.0**45)
    x, y = x[usual], y[usual]
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    operands = [a.astype(as_dtype(dtype)) for a in (x, y)]
    quotients = np.array([float(a // b) for a, b in pairs])
    rests = np.array([float(a % b) for a, b in pairs])
    result = functions.call("floor_divide", *operands)
    assert_near(result, quotients, dtype, 0.51, "floor_divide")
    result = functions.call("remainder", *operands)
    assert_near(result, rests, dtype, 1.0, "remainder")  # what rounds to the divisor is cut off
    assert (np.abs(result) < np.abs(operands[1])).all()


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_nextafter(functions, dtype):
    x = every_number(dtype)
    for y in (np.random.default_rng(10).permutation(x), np.roll(x, 1), x):
        results, expected = functions.call("nextafter", x, y), oracle("nextafter", x, y)
        np.testing.assert_array_equal(*(widened(a, np.float64) for a in (results, expected)))


# --- ordinary complex values --------------------------------------------------------------------


def complex_values(dtype):
    """In the middle of the plane, over many magnitudes, near the unit circle."""
    rng = np.random.default_rng(11)
    size = 2000
    angle = rng.uniform(-np.pi, np.pi, size)
    middle = rng.uniform(-3, 3, (2, size))
    far = 10.0 ** rng.uniform(-5, 5, (2, size)) * rng.choice([-1, 1], (2, size))
    circle = np.exp(1j * angle) * (1 + 10.0 ** rng.uniform(-12, -1, size))
    return np.concatenate([middle[0] + 1j * middle[1], far[0] + 1j * far[1], circle]).astype(dtype)


def _log1p(z):
    x, y = z.real, z.imag
    far = np.log(1 + z)
    with np.errstate(all="ignore"):
        near = np.log1p(x * (2 + x) + y * y) / 2 + 1j * far.imag
    return np.where(np.abs(z) < 0.5, near, far)


def _expm1(z):
    turn = np.cos(z.imag), np.sin(z.imag)
    real = np.expm1(z.real) * turn[0] - 2 * np.sin(z.imag / 2) ** 2
    return real + 1j * np.exp(z.real) * turn[1]


# The oracle, and within how many units of each part; None: of the magnitude.
OF_COMPLEX = {
    "acos": (np.arccos, 8),
    "acosh": (np.arccosh, 8),
    "asin": (np.arcsin, 8),
    "asinh": (np.arcsinh, 8),
    "atan": (np.arctan, 8),
    "atanh": (np.arctanh, 8),
    "conj": (np.conj, 0),
    "cos": (np.cos, 8),
    "cosh": (np.cosh, 8),
    "exp": (np.exp, 8),
    "expm1": (_expm1, None),
    "imag": (np.imag, 0),
    "log": (np.log, 8),
    "log10": (lambda z: np.log(z) / np.log(z.real.dtype.type(10)), 8),
    "log1p": (_log1p, None),
    "log2": (lambda z: np.log(z) / np.log(z.real.dtype.type(2)), 8),
    "negative": (np.negative, 0),
    "positive": (np.positive, 0),
    "real": (np.real, 0),
    "reciprocal": (np.reciprocal, 8),
    "round": (np.rint, 0),
    "sign": (lambda z: z / np.abs(z), 8),
    "sin": (np.sin, 8),
    "sinh": (np.sinh, 8),
    "sqrt": (np.sqrt, 8),
    "square": (np.square, None),
    "tan": (np.tan, 8),
    "tanh": (np.tanh, 8),
    "abs": (np.abs, 8),
}


def assert_near_complex(result, exact, dtype, ulps, message):
    part = "float32" if dtype == "complex64" else "float64"
    if result.dtype.kind != "c":
        assert_near(result, exact, part, ulps, message)
        return
    if ulps is None:
        distance = np.abs(result.astype(exact.dtype) - exact)
        finite = np.isfinite(result) & np.isfinite(exact)
        tolerance = np.abs(exact) * 16 * precision(part)[0] + 4 * precision(part)[1]
        near = (distance <= tolerance) | ~finite
        assert near.all(), f"{message}: {result[~near][:5]} for {exact[~near][:5]}"
        return
    assert_near(result.real, exact.real, part, ulps, message)
    assert_near(result.imag, exact.imag, part, ulps, message)


@needs_wider
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex_functions(functions, name, dtype):
    z = complex_values(dtype)
    function, ulps = OF_COMPLEX[name]
    with np.errstate(all="ignore"):
        exact = function(z.astype(WIDER[dtype]))
    assert_near_complex(functions.call(name, z), exact, dtype, ulps, name)


def test_every_complex_function_is_tried():
    have = {n for n in ONE if "complex64" in DTYPES[category_of(n)]}
    assert have - {"isfinite", "isinf", "isnan"} == set(OF_COMPLEX)


@needs_wider
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions_of_two_operands(functions, dtype):
    z = complex_values(dtype)
    w = np.random.default_rng(12).permutation(z)
    for name in ("add", "subtract"):
        exact = TWO[name][0](z.astype(WIDER[dtype]), w.astype(WIDER[dtype]))
        assert_near_complex(functions.call(name, z, w), exact, dtype, 0.51, name)
    for name in ("multiply", "divide"):
        exact = TWO[name][0](z.astype(WIDER[dtype]), w.astype(WIDER[dtype]))
        assert_near_complex(functions.call(name, z, w), exact, dtype, None, name)
    # Bit by bit the formulas with every step rounded: nothing is fused.
    product = functions.call("multiply", z, w)
    assert product.real.tobytes() == (z.real * w.real - z.imag * w.imag).tobytes()
    assert product.imag.tobytes() == (z.real * w.imag + z.imag * w.real).tobytes()
    z, w = z[:2000], z[1999::-1]  # of the middle of the plane
    exact = np.power(z.astype(WIDER[dtype]), w.astype(WIDER[dtype]))
    assert_near_complex(functions.call("pow", z, w), exact, dtype, None, "pow")
    for exponent in (-7, -2, -1, 1, 2, 3, 10):
        exact = np.power(z.astype(WIDER[dtype]), exponent)
        result = functions.call("pow", z, np.full_like(z, exponent))
        assert_near_complex(result, exact, dtype, None, f"pow {exponent}")


@needs_wider
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_great_and_small_complex_numbers(functions, dtype):
    """Nothing overflows or vanishes on the way to a result that does not."""
    part = np.dtype("float32" if dtype == "complex64" else "float64")
    info = np.finfo(part)
    edges = [info.max, info.max / 2, 1 / info.eps, 1.0, info.eps, info.tiny]
    edges += [3 * info.smallest_subnormal, info.smallest_subnormal, 0.0]
    parts = np.array([*edges, *(-v for v in edges)], part)
    z = (parts[:, None] + 1j * parts).ravel().astype(dtype)
    z = z[z != 0]
    wide = z.astype(np.clongdouble)
    for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "log", "sqrt", "sign", "abs"):
        with np.errstate(all="ignore"):
            exact = OF_COMPLEX[name][0](wide)
        assert_near_complex(functions.call(name, z), exact, dtype, 8, name)
    with np.errstate(all="ignore"):
        exact = 1 / wide
    assert_near_complex(functions.call("reciprocal", z), exact, dtype, None, "reciprocal")
    result = functions.call("divide", z, z)
    assert_near_complex(result, np.ones_like(wide), dtype, None, "divide")


# --- conversions --------------------------------------------------------------------------------


def finite_numbers(dtype):
    """The finite numbers of a 16-bit dtype in order, -0 left out, and the bits of each."""
    numbers = every_number(dtype)
    wide = widened(numbers, np.float64)
    kept = np.isfinite(wide) & ~((wide == 0) & np.signbit(wide))
    order = np.argsort(wide[kept])
    return wide[kept][order].tolist(), numbers.view(np.uint16)[kept][order].tolist()


NUMBERS = {dtype: finite_numbers(dtype) for dtype in ("float16", "bfloat16")}


def numbers_to_convert(dtype):
    """Edges of every dtype, ties, and what no other dtype holds."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in SIGNED + UNSIGNED:
        info = np.iinfo(dtype)
        ties = [257 << k for k in range(56)] + [2049 << k for k in range(5)] + [65519, 65520]
        ties += [(2**24 + 1) << k for k in range(39)]
        values = [v + d for v in [0, 2**53, *ties] for d in (-1, 0, 1)] + [info.min, info.max]
        values += [-v for v in values]
        return np.array([v for v in values if info.min <= v <= info.max], dtype)
    edges = [2.0**k for k in (-150, -134, -133, -126, -25, -24, -14, 0, 7, 8, 15, 16, 31, 63, 64)]
    values = [v * f for v in [*edges, 2.0**32] for f in (0.5, 0.75, 1 - 2.0**-12, 1.0, 1.25, 1.5)]
    values += [0.0, 3.0, 254.5, 65504.0, 65519.0, 65520.0, 3.3895e38, 3.4e38, math.inf, math.nan]
    part = as_dtype({"complex64": "float32", "complex128": "float64"}.get(dtype, dtype))
    with np.errstate(all="ignore"):
        result = np.array([*values, *(-v for v in values)]).astype(part)
    if part == dtype:
        return result
    zeros = np.zeros_like(result)
    pairs = [(result, result[::-1]), (result, zeros), (zeros, result)]
    return np.concatenate([np.stack(pair, -1).view(dtype)[:, 0] for pair in pairs])


@pytest.mark.parametrize("source", list(TYPES))
def test_conversions(functions, source):
    """Of 16 bits every number; of complex numbers the real part, but for truths."""
    values = numbers_to_convert(source) if source not in NUMBERS else every_number(source)
    for dtype in TYPES:
        result = functions.convert(values, dtype)
        whole = dtype.startswith(("complex", "bool")) or not source.startswith("complex")
        with np.errstate(all="ignore"):
            expected = cast(values if whole else values.real, dtype)
        assert result.dtype == expected.dtype
        for part, wanted in ((result.real, expected.real), (result.imag, expected.imag)):
            same_numbers(part, wanted, f"{source} to {dtype}")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_every_rounding_to_16_bits(functions, source, dtype):
    """Between each two neighbours: at the tie, and as little as possible before and after it."""
    numbers, bits = NUMBERS[dtype]
    low, high = np.array(numbers[:-1]), np.array(numbers[1:])
    tie = low / 2 + high / 2
    ties = tie.astype(source)
    exact = ties == tie  # the ties between denormal bfloat16 are float32 all the same
    even = np.where(np.array(bits[:-1]) % 2 == 0, low, high)
    assert exact.all()
    infinity = np.full_like(ties, np.inf)
    for values, expected in [
        (ties, even),
        (np.nextafter(ties, -infinity), low),
        (np.nextafter(ties, infinity), high),
    ]:
        result = widened(functions.convert(values, dtype), np.float64)
        np.testing.assert_array_equal(result, expected)
    greatest = high[-1] + (high[-1] - low[-1]) / 2
    edge = np.array([greatest, -greatest, np.nextafter(greatest, 0)]).astype(source)
    edge[2] = np.nextafter(edge[0], edge[2] * 0)
    result = functions.convert(edge, dtype).astype(np.float64)
    assert result.tolist() == [math.inf, -math.inf, high[-1]]


# --- the language, and NVRTC --------------------------------------------------------------------


@pytest.mark.long
def test_nothing_is_undefined(tmp_path, capfd):
    """With GCC's and Clang's sanitizer; conversions of floats out of range too."""
    sanitized = build(tmp_path, "-O1", "-Werror", "-fsanitize=undefined,float-cast-overflow")
    sanitized.library.overflow(2**31 - 1)
    assert "runtime error: signed integer overflow" in capfd.readouterr().err
    for arguments in GROUPS:
        group = Group(*arguments.values[0])
        sanitized.call(group.function, *group.operands)
    for dtype in SIGNED + UNSIGNED:
        x, y = (np.ravel(a) for a in np.meshgrid(*[integers_of(dtype)] * 2))
        for name in INTEGRAL:
            sanitized.call(name, *[x, y][: 1 + (name in TWO)])
    for name, dtype in sanitized.rows:
        if name in ONE:
            sanitized.call(name, numbers_to_convert(dtype))
    for source, dtype in sanitized.conversions:
        sanitized.convert(numbers_to_convert(source), dtype)
    assert capfd.readouterr().err == ""


# sm_75 has no bfloat16 instructions; the others are one of each generation since.
ARCHITECTURES = (75, 80, 90, 100, 120)
TURNING = {"sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "pow"}
KERNEL = """
extern "C" __global__ void __launch_bounds__(256) {name}({stored}* out, const {first}* x,
                                                      const {type}* y, const {type}* z) {{
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = {call};
}}
"""


def kernel(name, dtype):
    """One kernel that applies a functor."""
    operands = "x[i]" if name in ONE else "x[i], y[i]" if name in TWO else "x[i], y[i], z[i]"
    return KERNEL.format(
        name=f"{name}__{dtype}",
        stored=TYPES[name_of(result_dtype(name, dtype))],
        first=TYPES["bool" if name == "where" else dtype],
        type=TYPES[dtype],
        call=f"functions::{name}<{TYPES[dtype]}>::apply({operands})",
    )


def conversion_kernel(source, dtype):
    """One kernel that converts."""
    first, stored = TYPES[source], TYPES[dtype]
    name, call = f"convert__{source}__{dtype}", f"convert<{stored}>(x[i])"
    return KERNEL.format(name=name, stored=stored, first=first, type=first, call=call)


@pytest.mark.parametrize(
    ("dtypes", "architecture"),
    [
        (["float16", "float64", "complex64", "int32"], 90),
        *[pytest.param(list(TYPES), item, marks=pytest.mark.long) for item in ARCHITECTURES],
    ],
)
def test_nvrtc_compiles_the_functors(dtypes, architecture, tmp_path):
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: NVRTC comes with cupy")
    names = [(n, d) for n in [*ew.__all__, "where"] for d in DTYPES[category_of(n)] if d in dtypes]
    kernels = [kernel(*key) for key in names]
    kernels += [conversion_kernel(a, b) for a in dtypes for b in dtypes]
    file = tmp_path / "all.cu"
    file.write_text('#include "functions.cuh"\n' + "".join(kernels))
    result = compiled(Kernel(str(file), "all"), architecture)
    assert (result.warnings, len(result.resources)) == ("", len(kernels))
    for name, resources in result.resources.items():
        assert (resources.registers <= 48, resources.spilled) == (True, 0), (name, resources)
        # Of CUDA's own reduction of great angles, which keeps an array.
        assert not resources.stack or name.partition("__")[0] in TURNING, name
