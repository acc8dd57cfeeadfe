"""One case: a call as text, its operands, and what NumPy says of it; and whether it holds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensors
from draws import Operand, padding_bits, padding_mask, places
from tensors import as_dtype

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.layout import Layout, PaddingValue


class Refused:
    """Expected instead of a result: an exception of one of these types."""

    def __init__(self, *errors):
        self.errors = errors


@dataclass(slots=True)
class Case:
    """A call of `name`, written as `text` over the operands by their names.

    `expect`: what NumPy gives for the plain arrays, in the same order: an array, a tuple of them,
    or `Refused`. `check`: raises AssertionError where a result differs. `layout`: what the (first)
    result must have: a Layout, ``"packed"``, ``"row-major"`` or None. `view`: whether results share
    the memory of the first operand; None: either. `writes`: the operand that is written to, and
    whose elements `expect` gives. `may_refuse`: what may be raised instead, nothing written.
    `drawn`: what was combined, for a table.
    """

    name: str
    text: str
    operands: dict[str, Operand]
    expect: Callable[..., Any]
    check: Callable[[Any, Any], None] = tensors.same
    layout: Any = None
    view: bool | None = False
    writes: str = ""
    traced: bool = True
    may_refuse: tuple[type[Exception], ...] = ()
    drawn: tuple[str, ...] = ()
    names: dict[str, Any] = field(default_factory=dict)

    def source(self) -> str:
        """Python that runs it, but for imports."""
        lines = [f"{name} = {o.source()}" for name, o in self.operands.items()]
        return "; ".join([*lines, self.text])

    @property
    def size(self) -> int:
        """Size of a case: smaller cases are better examples."""
        slots = sum(4 + o.layout.required_size + o.layout.ndim for o in self.operands.values())
        return slots * 8 + len(self.text)


def same(got, expected):
    """Equal, bit for bit at first sight, else by value."""
    if isinstance(expected, np.ndarray) and expected.dtype == getattr(got, "dtype", None):
        array = tensors.host(got)
        if array.shape == expected.shape and array.tobytes() == expected.tobytes():
            return
    tensors.same(got, expected)


def close(ulps):
    """A check that allows some units in the last place."""

    def check(got, expected):
        array = tensors.host(got)
        alike = (array.dtype, array.shape) == (expected.dtype, expected.shape)
        if alike and array.tobytes() == expected.tobytes():
            return
        tensors.close(got, expected, ulps=ulps)

    return check


def near(relative, absolute=0.0):
    """A check of dtype and shape, and of values within tolerances; what is not finite is equal."""

    def check(got, expected):
        array, expected = tensors.host(got), np.asarray(expected)
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape), (
            f"got {array.dtype} {array.shape}, expected {expected.dtype} {expected.shape}"
        )
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                array.astype(wide), expected.astype(wide), relative, absolute
            )

    return check


def but_signs_of_zeros(got, expected):
    """Equal, where +0 and -0 are one value."""
    array = tensors.host(got)
    assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
    wide = np.float64 if tensors.kind(array.dtype) == "f" else array.dtype
    np.testing.assert_array_equal(array.astype(wide), expected.astype(wide))


def packed(shape, order):
    return Layout.packed(tuple(shape), tuple(order))


def voted(shape, operands, dtype):
    """The layout of an elementwise result: the form of the operands of its shape, if they agree."""
    forms = [o.layout.form for o in operands if o.layout.shape == shape]
    if not forms:
        return Layout.row_major(shape)
    first = forms[0]
    kept = (first.parts, first.minor_to_major, first.padded_shape)
    if any((f.parts, f.minor_to_major, f.padded_shape) != kept for f in forms[1:]):
        return packed(shape, first.minor_to_major)
    return in_dtype(first, dtype)


def in_dtype(layout, dtype):
    """A padding value that `dtype` does not have promises nothing."""
    value, dtype = layout.padding_value, as_dtype(dtype)
    if isinstance(value, tl.BitPattern):
        lost = value.dtype != dtype.name
    else:
        lost = dtype.kind == "c" and value in (PaddingValue.LOWEST, PaddingValue.HIGHEST)
    if not lost:
        return layout
    return layout.with_padding_value(PaddingValue.UNSPECIFIED)


# --- judging -------------------------------------------------------------------------------------


# Words of Python's own: an error that has them is a mistake in the package, and no refusal.
MISTAKES = re.compile(
    r"unsupported operand|bad operand|not supported between|object is not|has no attribute"
    r"|not (subscriptable|iterable|callable)|unexpected keyword|missing \d|can only concatenate"
)


class DifferenceError(AssertionError):
    """A case does not hold."""


def judge(case: Case, traced: bool = False) -> Any:
    """Run a case; `DifferenceError` says what differs. Gives the results, for another look."""
    expected = _expected(case)
    argument, space = _operands(case)
    seen = None
    try:
        if traced and case.traced:
            with tl.trace() as seen:
                results = _run(case, space)
        else:
            results = _run(case, space)
    except Exception as error:
        if isinstance(expected, Refused) and isinstance(error, expected.errors):
            # Other devices leave out what is outside, and write the rest.
            _untouched(case, argument, but=case.writes if _on_the_cpu_too(case) else "")
            _refused_on_the_cpu(case, error)
            return None
        if isinstance(error, case.may_refuse) and not MISTAKES.search(str(error)):
            _untouched(case, argument)
            return None
        msg = f"raised {type(error).__name__}: {error}"
        raise DifferenceError(msg) from error
    if isinstance(expected, Refused):
        raise DifferenceError(f"expected {expected.errors}, got {results!r}")
    if case.writes:
        _written(case, space, argument, expected)
        return None
    expected = expected if isinstance(expected, tuple) else (expected,)
    if len(results) != len(expected):
        raise DifferenceError(f"{len(results)} results, expected {len(expected)}")
    for result, wanted in zip(results, expected, strict=True):
        _holds(case, result, wanted, argument)
    _laid_out(case, results)
    if case.view is not None and argument:
        _shares(case, results, next(iter(argument.values())))
    if seen is not None:
        _check_trace(case, results, seen)
    _untouched(case, argument)
    _as_on_the_cpu(case, results, argument)
    return results


def judge_arrays(case: Case) -> bool:
    """The same values where one operand is the NumPy array over its memory; False if none can be.

    On the CPU. Methods need a tensor, and NumPy's functions one operand that is.
    """
    expected = _expected(case)
    argument, space = _operands(case)
    names = [name for name in argument if not re.search(rf"\b{name}[.\[]", case.text)]
    if isinstance(expected, Refused) or case.writes or "tl." not in case.text:
        return False
    for name in names:
        results = _run(case, {**space, name: np.asarray(argument[name])})
        wanted = expected if isinstance(expected, tuple) else (expected,)
        for result, value in zip(results, wanted, strict=True):
            _holds(case, result, value, argument)
    return bool(names)


def _operands(case):
    """The operands on the default device, and the names that the text may use."""
    arguments = {name: o.tensor() for name, o in case.operands.items()}
    space = {"tl": tl, "np": np, "inf": math.inf, "nan": math.nan, **case.names, **arguments}
    return arguments, space


def _on_the_cpu_too(case):
    """Return True if the default device is not the CPU and the text names no device."""
    device = tl.default_device()
    return device != "cpu" and device.kind not in case.text


def _as_on_the_cpu(case, results, arguments):
    """Check that a result has the layout of the CPU's result, and is a view if that is one."""
    if not _on_the_cpu_too(case):
        return
    with tl.using_device("cpu"):
        there, space = _operands(case)
        try:
            others = _run(case, space)
        except Exception as error:
            raise DifferenceError(f"raised {error!r} on the CPU") from error
    x, y = (next(iter(g.values()), None) for g in (arguments, there))
    for result, other in zip(results, others, strict=True):
        if not isinstance(result, tl.Tensor):
            continue
        if result.layout.at_origin != other.layout.at_origin:
            msg = f"layout {result.layout}, on the CPU {other.layout}"
            raise DifferenceError(msg)
        if result.size and x is not None and x.size:
            shared, alike = _meets(result, x), _meets(other, y)
            if shared != alike:
                msg = f"the result shares memory: {shared}, on the CPU: {alike}"
                raise DifferenceError(msg)


def _meets(x, y):
    """Return True if the address ranges of two tensors overlap."""
    first, last = _span(y)
    low, high = _span(x)
    return low < last and first < high


def _refused_on_the_cpu(case, error):
    if not _on_the_cpu_too(case):
        return
    try:
        with tl.using_device("cpu"):
            _run(case, _operands(case)[1])
    except Exception as other:
        if (type(other), str(other)) == (type(error), str(error)):
            return
        msg = f"raised {error!r}, on the CPU {other!r}"
        raise DifferenceError(msg) from None
    raise DifferenceError(f"raised {error!r}, not so on the CPU")


def _expected(case):
    try:
        with np.errstate(all="ignore"):
            return case.expect(*(o.array.copy() for o in case.operands.values()))
    except Exception as error:
        msg = f"NumPy raised {type(error).__name__}: {error}"
        raise DifferenceError(msg) from error


def _run(case, space):
    if case.writes:
        exec(compile(case.text, case.name, "exec"), space)
        return ()
    results = eval(compile(case.text, case.name, "eval"), space)
    return results if isinstance(results, tuple) else (results,)


def _holds(case, result, wanted, arguments):
    if not isinstance(result, tl.Tensor):
        if type(result) is not type(wanted) or result != wanted:
            raise DifferenceError(f"got {result!r}, expected {wanted!r}")
        return
    if result.device != tl.default_device():
        raise DifferenceError(f"the result is on {result.device}")
    if wanted is not None:  # None: anything may stand there
        try:
            case.check(result, wanted)
        except AssertionError as error:
            raise DifferenceError(f"values: {_brief(error)}") from None
    _padded(result, "the result")


def _brief(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " | ".join(lines)[:600]


def _padded(x, what):
    layout = x.layout
    if not layout.is_padded:
        return
    bits = padding_bits(layout, x.dtype)
    if bits is None:
        return
    mask = padding_mask(layout)
    result = tensors.slots_of(x)[: mask.size][mask]
    if result.tobytes() != np.full(result.shape, bits, x.dtype).tobytes():
        raise DifferenceError(f"padding of {what}, {layout}, holds {result.tolist()}")


def _laid_out(case, results):
    if case.layout is None:
        return
    result = results[0].layout
    if isinstance(case.layout, Layout):
        right = result == case.layout
    elif case.layout == "packed":
        right = result.is_packed and not result.is_padded and result.offset == 0
    else:
        right = result == Layout.row_major(result.shape)
    if not right:
        raise DifferenceError(f"layout {result}, expected {case.layout}")


def _span(x):
    """The addresses between which the elements of `x` lie."""
    low = plan.base.backend_of(x.device).export_info(x).address
    slots = places(x.layout) - x.layout.offset
    return low + int(slots.min()) * x.itemsize, low + (int(slots.max()) + 1) * x.itemsize


def _shares(case, results, x):
    if not x.size:
        return
    first, last = _span(x)
    for result in results:
        if isinstance(result, tl.Tensor) and result.size:
            low, high = _span(result)
            if case.view and not (first <= low and high <= last):
                raise DifferenceError("the result is no view")
            if not case.view and not (high <= first or last <= low):
                raise DifferenceError("the result shares memory with its operand")


def _check_trace(case, results, seen):
    """A view moves nothing; whatever is new was written by something that the trace shows."""
    moved = sum(r.bytes_written for r in seen if r.kind != "view")
    if case.view and moved and len(case.operands) == 1:  # positions of rank 0 are read
        raise DifferenceError(f"a view, but the trace has {moved} bytes written")
    result = sum(r.nbytes for r in results if isinstance(r, tl.Tensor))
    if case.view is False and moved < result and not case.name.startswith("empty"):
        raise DifferenceError(f"{result} bytes are new, and the trace has {moved}")


def _untouched(case, arguments, but=""):
    for name, x in arguments.items():
        operand = case.operands[name]
        if name != but:
            _holds_storage(x, operand.layout, operand.storage, f"operand {name}")


def _holds_storage(x, layout, storage, what):
    if x.layout is not layout and x.layout != layout:
        raise DifferenceError(f"{what} has layout {x.layout}")
    home = storage[layout.lowest :] if layout.required_size else storage[:0]
    result = tensors.slots_of(x)
    wanted = home[: result.size]
    if result.tobytes() != wanted.tobytes():
        if layout.is_padded and padding_bits(layout, x.dtype) is None:
            mask = ~padding_mask(layout)  # what it holds is nobody's business
            if result[: mask.size][mask].tobytes() == wanted[: mask.size][mask].tobytes():
                return
        raise DifferenceError(f"{what} changed: {result.tolist()}, was {wanted.tolist()}")


def _written(case, space, arguments, expected):
    operand, x = case.operands[case.writes], arguments[case.writes]
    if space[case.writes] is not x:
        raise DifferenceError("the destination is another tensor")
    try:
        case.check(x, expected)
    except AssertionError as error:
        raise DifferenceError(f"values: {_brief(error)}") from None
    _padded(x, "the destination")
    storage = operand.storage.copy()
    storage[places(operand.layout)] = tensors.host(x)
    _holds_storage(x, operand.layout, storage, "the destination")
    _untouched(case, arguments, but=case.writes)
