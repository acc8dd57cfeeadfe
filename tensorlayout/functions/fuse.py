"""`fuse`: compile a function of tensors to one pass over memory.

The function is called once for each combination of argument kinds, with *symbols* as arguments:
tensors with a real spec whose memory is a `Symbol`, and `TracedNumber`s. Operations on symbols are
planned and recorded, but not executed.
"""

from __future__ import annotations

import functools
import inspect
import operator
import struct
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from types import MethodType
from typing import Any, NoReturn, overload

import numpy as np

from tensorlayout.dtypes import SCALARS
from tensorlayout.errors import (
    REFUSALS,
    finalize_public_error,
    prefix_operation_name,
    short_repr,
    truncate,
)
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.arguments import UnknownScalar
from tensorlayout.functions.transfers import copy_operation, move_to_device
from tensorlayout.plan import (
    Assign,
    IntoDestination,
    Operation,
    Plan,
    Step,
    compile_call,
    make_items_getter,
    plan_call,
)
from tensorlayout.plan.fuse import Fusion, Part
from tensorlayout.support.context_blocks import Scope
from tensorlayout.tensor import Tensor

__all__ = ["fuse"]

_Function = Callable[..., Tensor]
_Fused = Callable[..., Tensor]  # also accepts out=
_Get = Callable[[tuple[Any, ...]], Any]  # maps the arguments of a call to a value or a tuple

# A trace for one combination of argument kinds: the operation (None if the function returns an
# argument or a view of one), its plan key, and the getter of its operands, or of its result.
_Trace = tuple[Any, tuple[Any, ...], _Get]

# Maximum number of traces kept per function: ever new shapes would fill the memory.
_MOST = 256

_FLOW = "is not known while the function is traced, so nothing it does may depend on it"


class Symbol:
    """A placeholder for the memory of a tensor without data.

    `get` maps the arguments of a call to an argument, or a view of one; otherwise `step` computes
    the tensor from symbols, numbers and constants.
    """

    __slots__ = ("get", "recording", "step")

    readonly = False  # the recording refuses writes

    def __init__(self, recording: _Recording, get: _Get | None, step: Any = None) -> None:
        self.recording, self.get, self.step = recording, get, step

    def raise_unknown_data(self, request: str) -> NoReturn:
        """Raise TypeError for a request for the elements of a traced tensor."""
        fix = "use where() to choose by elements, and call what needs them outside"
        text = f"the data of a tensor {_FLOW} ({request}); {fix}"
        raise prefix_operation_name(self.recording.name, TypeError(text))

    # Whatever a backend asks of memory, such as its flags or its address, ends here.
    def __getattr__(self, name: str) -> NoReturn:
        self.raise_unknown_data(name)

    # Without this method a ufunc of NumPy would treat the symbol as an array of one object.
    def __array_ufunc__(self, ufunc: Any, *_: Any, **__: Any) -> NoReturn:
        self.raise_unknown_data(ufunc.__name__)


class TracedNumber(UnknownScalar):
    """A Python scalar among the arguments, or the result of arithmetic on such scalars."""

    __slots__ = ("get", "name")

    # Makes NumPy scalars defer to our operators.
    __array_ufunc__ = None

    def __init__(self, name: str, kind: type, get: _Get) -> None:
        self.name, self.spec, self.get = name, kind, get

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The scalar's type, for `isinstance`."""
        return self.spec

    def _raise_unknown_value(self, *_: object) -> NoReturn:
        text = f"the value of a number {_FLOW}; name its argument in static=, or use where()"
        raise prefix_operation_name(self.name, TypeError(text))

    def _refuse_comparison(self, other: object) -> Any:
        return NotImplemented if type(other) is Tensor else self._raise_unknown_value()

    # Each of these would turn an unknown value into Python's control flow, or into a constant of
    # the trace. Comparisons with tensors are left to the tensor, which records them.
    __bool__ = __int__ = __float__ = __complex__ = __index__ = _raise_unknown_value
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse_comparison
    __hash__ = __str__ = __format__ = _raise_unknown_value
    __round__ = __trunc__ = __floor__ = __ceil__ = _raise_unknown_value


def _make_arithmetic_method(name: str, count: int, reflected: bool = False) -> Any:
    """Return a `TracedNumber` method that defers a Python operator until the call."""
    function: Any = getattr(operator, f"__{name}__")

    def deferred_operator(self: TracedNumber, *others: Any) -> Any:
        operands = (*others, self) if reflected else (self, *others)
        if len(operands) != count or not all(type(x) in (*SCALARS, TracedNumber) for x in operands):
            return NotImplemented
        # The kind of the result, from ones of the same kinds: 1 is valid for every operator, even
        # as a divisor. The kind may depend on values, as 2 ** 1 is an int and 2 ** -1 a float, so
        # each call checks it again.
        kind = type(function(*[x.spec(1) if type(x) is TracedNumber else x for x in operands]))

        def apply_operator_to_call_numbers(args: tuple[Any, ...]) -> Any:
            result = function(*[x.get(args) if type(x) is TracedNumber else x for x in operands])
            if type(result) is not kind:
                change = f"gave {type(result).__name__} where it was traced as {kind.__name__}"
                text = f"{name} of numbers {change}; work it out before"
                raise prefix_operation_name(self.name, TypeError(text))
            return result

        return TracedNumber(self.name, kind, apply_operator_to_call_numbers)

    return deferred_operator


for _name in ("neg", "pos", "abs", "invert"):
    setattr(TracedNumber, f"__{_name}__", _make_arithmetic_method(_name, 1))
# Operators of integers only.
_WHOLE = ("and", "or", "xor", "lshift", "rshift")
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", *_WHOLE):
    setattr(TracedNumber, f"__{_name}__", _make_arithmetic_method(_name, 2))
    setattr(TracedNumber, f"__r{_name}__", _make_arithmetic_method(_name, 2, reflected=True))


def check_not_symbolic(x: Tensor, request: str) -> None:
    """Raise an error if `x` is a symbol, whose data is unknown while fusing."""
    if type(x.memory) is Symbol:
        x.memory.raise_unknown_data(request)


def _is_symbol(x: Any) -> bool:
    return type(x) is TracedNumber or (type(x) is Tensor and type(x.memory) is Symbol)


# --- recording ---------------------------------------------------------------------------------


class _Recording:
    """Operations that a function calls while it is traced."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arguments: dict[int, int] = {}  # position of each symbol, by id
        self.constants: list[Tensor] = []
        self.results: list[Symbol] = []

    def record_call(
        self, operation: Operation, key: tuple[Any, ...], operands: tuple[Any, ...]
    ) -> Any:
        """Record a call on symbols and return its result; None for any other call."""
        # A call on constants alone, such as NumPy scalars made tensors, runs now and gives a
        # constant. Any other call without symbols runs as usual; a step that reads its result is
        # refused below.
        if not any(map(_is_symbol, operands)):
            if not operands or not all(map(self._is_constant, operands)):
                return None
            self.constants.append(compile_call(operation, *key)(*operands))
            return self.constants[-1]
        for x in operands:
            if type(x) is Tensor and not (self._is_symbol_of_this_trace(x) or self._is_constant(x)):
                if not isinstance(operation, (Assign, IntoDestination)):
                    plan: Any = plan_call(operation, key)
                    # An argument instead of the tensor would not help a function that never fits.
                    if plan.kind != "transfer" and plan.result_kind != "view":
                        self._check_kind(plan)
                rule = f"cannot be fused: it reads a tensor that is no argument of {self.name}"
                fix = "pass the tensor as an argument; if the call creates it, compute it outside"
                raise TypeError(f"{rule}; {fix}")
        out = None  # intermediate result to write into; it gets a new symbol
        converts = isinstance(operation, Assign) and operation.name != "__setitem__"
        if converts or isinstance(operation, IntoDestination):
            out = operands[0]
            if not self._is_symbol_of_this_trace(out) or out.memory.step is None:
                msg = f"the fused function {self.name} writes into no argument; call it with out="
                raise TypeError(msg)
        if converts:  # ``out += value`` with a wider `value`
            out, value = operands
            key, operands = (value.spec, out.spec.layout, out.spec.dtype), (value,)
            operation = copy_operation(operation.name)
        plan = plan_call(operation, key)
        if isinstance(operation, IntoDestination):
            plan.check_destination_fits(key[0])
        elif plan.kind == "transfer":
            operands[0].memory.raise_unknown_data(operation.name)
        elif plan.result_kind == "view":
            return self._record_view(compile_call(operation, *key), plan, operands)
        result = Tensor._from_memory(self._record_step(plan, operation, key, operands), plan.result)
        if out is None:
            return result
        # In-place operators write no memory here. The tensor gets the symbol of the new step, and
        # earlier steps still read the old one: every symbol is assigned once.
        out.memory = result.memory
        return out

    def _is_symbol_of_this_trace(self, x: Tensor) -> bool:
        return type(x.memory) is Symbol and x.memory.recording is self

    def _is_constant(self, x: Any) -> bool:
        return any(x is constant for constant in self.constants)

    def _record_view(self, run: Any, plan: Plan, operands: tuple[Any, ...]) -> Tensor:
        source: Tensor
        source, *rest = operands
        get = source.memory.get
        if plan.result is source.spec and not source.spec.layout.is_overlapping:
            return source  # the view is the whole source
        if get is None or any(map(_is_symbol, rest)):
            rule = "it may take views of its arguments, not of what it works out"
            raise TypeError(f"cannot be part of the fused function {self.name}: {rule}")
        # Nothing is viewed while tracing: each call takes the view of its own argument.
        return Tensor._from_memory(Symbol(self, lambda args: run(get(args), *rest)), plan.result)

    def _record_step(
        self, plan: Any, operation: Operation, key: tuple[Any, ...], operands: tuple[Any, ...]
    ) -> Symbol:
        """Record a step and return its result; TypeError if it cannot be fused."""
        self._check_kind(plan)
        reads: Any = [
            x.memory if type(x) is Tensor and self._is_symbol_of_this_trace(x) else x
            for x in operands
        ]
        for x in reads:
            if type(x) is Symbol and x.step and x.step.plan.kind == "reduce":
                rule = f"a reduction must be the last step of the fused function {self.name}"
                raise TypeError(f"{rule}; here the result of {x.step.call[0].name} is used again")
        self.results.append(Symbol(self, None, Step(plan, reads, call=(operation, key))))
        return self.results[-1]

    def _check_kind(self, plan: Any) -> None:
        """Raise TypeError for a plan of a kind that no fused function has."""
        same_shape = plan.kind == "copy" and plan.source.layout.shape == plan.result.layout.shape
        if not same_shape and (plan.kind not in ("elementwise", "reduce") or plan.destinations):
            held = "elementwise functions, conversions, views of arguments and a last reduction"
            raise TypeError(f"cannot be part of the fused function {self.name}, which holds {held}")

    def make_trace(self, returned: Any, count: int) -> _Trace:
        """Return the trace of a function of `count` arguments that returned `returned`."""
        if type(returned) is not Tensor or not self._is_symbol_of_this_trace(returned):
            rule = "the function must return one tensor, made of its arguments"
            raise TypeError(f"{rule}, got {arguments.format_argument(returned)}")
        symbol: Symbol = returned.memory
        if symbol.get is not None:
            return None, (), symbol.get
        # Results that nothing needs are left out. A step reads only earlier results, so backwards
        # every reader is visited before what it reads.
        needed, results = {symbol}, list[Symbol]()
        for result in reversed(self.results):
            if result in needed:
                needed.update(x for x in result.step.reads if type(x) is Symbol)
                results.insert(0, result)
        # Operands from outside, each once. By id, because tensors compare elementwise and traced
        # numbers do not compare at all; the values keep the objects alive, so ids stay unique.
        read = {
            id(x): (x, spec)
            for result in results
            # The key begins with one spec for each operand, and may go on with options such as an
            # axis.
            for x, spec in zip(result.step.reads, result.step.call[1], strict=False)
            if not (type(x) is Symbol and x.step)
        }
        rows = sorted(read.values(), key=lambda row: self._operand_sort_key(row[0]))
        operands = self._make_operand_getter([x for x, _ in rows], count)
        if len(results) == 1 and symbol.step.plan.kind == "reduce":  # nothing to fuse
            operation, key = symbol.step.call
            return operation, key, operands
        # One numbering for operands and results, in which a part says what it reads: with two
        # operands, the first step's result is number 2.
        numbers = {id(x): number for number, x in enumerate((*[x for x, _ in rows], *results))}
        parts = []
        for _, step_reads, _, (operation, key) in [result.step for result in results]:
            reads = tuple([numbers[id(x)] for x in step_reads])
            parts.append(Part(operation, reads, key[len(reads) :]))
        return Fusion(self.name, tuple(parts)), tuple([spec for _, spec in rows]), operands

    def _operand_sort_key(self, x: Any) -> int:
        """Return the sort key of an operand: arguments, then derived values, then constants."""
        return 0 if id(x) in self.arguments else 1 if type(x) in (Symbol, TracedNumber) else 2

    def _make_operand_getter(self, reads: list[Any], count: int) -> _Get:
        """Return the function that maps `count` arguments to all operands.

        The operands are in the order of `_operand_sort_key`.
        """
        # Arguments sort first, then derived values, then constants, so that each kind is one slice
        # of `reads`. A static value is found here as well: equal keys mean equal values.
        numbers = [self.arguments[id(x)] for x in reads if id(x) in self.arguments]
        gets = [x.get for x in reads[len(numbers) :] if type(x) in (Symbol, TracedNumber)]
        get_arguments = make_items_getter(tuple(numbers))
        constants = tuple(reads[len(numbers) + len(gets) :])
        if gets:
            return lambda args: (*get_arguments(args), *[get(args) for get in gets], *constants)
        if constants:
            return lambda args: get_arguments(args) + constants
        return _return_unchanged if numbers == list(range(count)) else get_arguments


def _return_unchanged(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return args


_recordings: Scope[_Recording] = Scope("fuse", dispatch.watched)


def _record_if_tracing(
    operation: Operation, key: tuple[Any, ...], operands: tuple[Any, ...]
) -> Any:
    recording = _recordings.innermost_value()
    return None if recording is None else recording.record_call(operation, key, operands)


# Before the observers of traces, which would report calls that do not run.
dispatch.observers.insert(0, _record_if_tracing)


# --- calls -------------------------------------------------------------------------------------


@overload
def fuse(function: _Function, /, *, static: str | Iterable[str] = ()) -> _Fused: ...
@overload
def fuse(*, static: str | Iterable[str] = ()) -> Callable[[_Function], _Fused]: ...
def fuse(function: Any = None, /, *, static: Any = ()) -> Any:
    """Return `function` compiled to one pass over memory; also a decorator.

    - `function`: calls elementwise functions, `where`, `clip`, `astype`, operators and methods on
      its arguments, on views of them, and on intermediate results; the last step may be one
      reduction. It returns one tensor.
    - `static`: names of arguments that are passed by value, as everything except tensors and
      numbers is.

    Returns a function that is called like `function`, and with ``out=`` for a tensor that receives
    the result. The result has the same elements, dtype, layout and padding, but no intermediate
    array is materialised. Numbers among the arguments may differ from call to call.

    Raises `TypeError` if `function` does anything else, and `ValueError` for a `static` that is not
    an argument and a `function` that has its own ``out``.

    `function` is called once for each combination of argument kinds, with tensors that have shape,
    dtype and layout but no data.

    >>> import tensorlayout as tl
    >>> @tl.fuse
    ... def normalise(x, mean, std):
    ...     return (x.astype(tl.float32) / 255 - mean) / std
    >>> normalise(tl.asarray([0, 255], dtype=tl.uint8), 0.5, 0.25)
    Tensor([-2.,  2.], dtype=float32, device='cpu')
    """
    if function is None:
        return functools.partial(fuse, static=static)
    if not callable(function):
        raise TypeError(
            f"must be called with a function, got {arguments.format_argument(function)}"
        )
    code = getattr(function, "__code__", None)
    # `co_varnames` begins with the parameters; the local variables follow.
    if code is not None and "out" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        raise ValueError("the function must not take out= itself: its result is written there")
    return _make_fused_function(function, _static_arguments(function, static))


def _static_arguments(function: Any, static: Any) -> frozenset[int | str]:
    """Return the positions and names of the arguments that are passed by value."""
    if not isinstance(static, Iterable):
        raise TypeError(f"static must be a name or names of arguments, got {short_repr(static)}")
    names = (static,) if isinstance(static, str) else tuple(static)
    known = list(inspect.signature(function).parameters) if names else []
    for name in names:
        if name not in known:
            parameter_names = ", ".join(known)
            raise ValueError(
                f"static must name arguments of the function ({parameter_names}), got {name!r}"
            )
    # Both, because an argument may be passed by position or by name.
    return frozenset([*names, *map(known.index, names)])


def _make_fused_function(function: Any, static: frozenset[int | str]) -> Any:
    name = truncate(getattr(function, "__name__", "fused"), 60)
    traces: dict[Any, _Trace] = {}
    runs: dict[Any, Callable[..., Any]] = {}  # compiled functions by trace key

    @functools.wraps(function)
    def fused(*args: Any, out: Tensor | None = None, **keywords: Any) -> Any:
        if out is None and not dispatch.watched:
            call_operands = (*args, *keywords.values()) if keywords else args
            # The shortest path. A value that is passed by value has another key in `runs` than its
            # type, so such a call misses here and takes the long way.
            kinds = tuple([x.spec if type(x) is Tensor else type(x) for x in call_operands])
            run = runs.get((kinds, *keywords) if keywords else kinds)
            if run is not None:
                try:
                    return run(*call_operands)
                except REFUSALS as error:
                    raise dispatch.named_error(Fusion(name, ()), error) from None
        try:
            return trace_once_and_run_fused(args, out, keywords)
        except REFUSALS as error:
            raise finalize_public_error(error, name) from error.__cause__

    def trace_once_and_run_fused(args: tuple[Any, ...], out: Any, keywords: dict[str, Any]) -> Any:
        call_operands: tuple[Any, ...] = (*args, *keywords.values())
        # Called inside of another fused function while that is traced: its steps become steps of
        # the outer function.
        if any(map(_is_symbol, call_operands)) and _recordings.innermost_value() is not None:
            if out is not None:
                raise TypeError("takes no out= inside of a fused function")
            return function(*args, **keywords)
        if out is not None:
            out = arguments.check_writable(arguments.as_tensor(out, "out"))
        by_value = [place in static for place in (*range(len(args)), *keywords)]
        call_operands = _numpy_operands_as_tensors(call_operands, by_value)
        kinds = tuple(map(_trace_key, call_operands, by_value))
        key = (kinds, *keywords) if keywords else kinds
        if key not in traces:
            trace = _trace_function(function, name, call_operands, kinds, tuple(keywords))
            if len(traces) >= _MOST:
                traces.clear()
                runs.clear()
            traces[key] = trace
        operation, planned_for, get = traces[key]
        operands = get(call_operands)
        if operation is None:
            if out is None:
                return operands
            # The function returns an argument, or a view of one: there is nothing to compute, but
            # `out` still gets its elements.
            return dispatch.call_into(
                out, copy_operation(name), (operands.spec, None, None), (operands,)
            )
        if key not in runs:
            run = compile_call(operation, *planned_for)
            runs[key] = run if get is _return_unchanged else lambda *args: run(*get(args))
        return dispatch.call_into(out, operation, planned_for, operands)

    return fused


def _numpy_operands_as_tensors(operands: tuple[Any, ...], static: list[bool]) -> tuple[Any, ...]:
    """Replace NumPy arrays and scalars that are not `static` by tensors on the call's device."""
    device = arguments.device_of_first_tensor(operands)

    def numpy_operand_to_tensor(x: Any, by_value: bool) -> Any:
        if by_value or not isinstance(x, (np.generic, np.ndarray)):
            return x
        arguments.check_no_numpy_arrays((x,), device)
        return move_to_device(arguments.as_operand(x), device)

    return tuple(map(numpy_operand_to_tensor, operands, static))


_NUMBERS = (int, float, complex)


def _trace_key(x: Any, static: bool) -> Any:
    """Return the part of an argument that a trace depends on: spec, kind of number, or value."""
    if type(x) is Tensor:
        return x.spec
    if type(x) in _NUMBERS and not static:
        return type(x)
    # Raises the error for an operand that is neither ours nor NumPy's.
    if arguments.is_foreign_array(x) and not isinstance(x, type) and not static:
        arguments.as_tensor(x)
    try:
        hash(x)
    except TypeError:
        rule = "arguments must be tensors, numbers or values that can be hashed"
        raise TypeError(f"{rule}, got {arguments.format_argument(x)}") from None
    return _value_key(x)


def _identity_key(x: object) -> MethodType:
    """Return a key that equals only keys of the same object, which it keeps alive."""
    # Since Python 3.8, bound methods compare and hash their object by identity.
    return MethodType(_identity_key, x)


def _value_key(x: Any, outer: tuple[int, ...] = ()) -> Any:
    """Return a key of `x` by type, bits and fields, so that 2 differs from 2.0 and 0.0 from -0.0.

    Objects with neither are compared by identity. `outer`: ids of the objects that contain `x`,
    which end recursion.
    """
    kind: Any = type(x)
    if kind in _EXACT:
        return kind, x
    if kind is float or kind is complex:
        # By bits, as NaN differs from itself and 0.0 equals -0.0.
        return kind, struct.pack("2d", x.real, x.imag)
    if isinstance(x, np.generic):
        return kind, repr(x.dtype), x.tobytes()
    if isinstance(x, np.dtype):
        return kind, x.num, repr(x)
    if kind is slice or kind is range:
        parts: Any = (x.start, x.stop, x.step)
    elif kind is MethodType:
        return kind, _identity_key(x.__self__), _identity_key(x.__func__)
    elif kind in (tuple, list) or (isinstance(x, tuple) and hasattr(x, "_fields")):
        # A list may change later, so its key holds keys of the items, not the list. Attributes of a
        # subclass count, too.
        parts = (*x, *_attributes_of(x))
    elif kind in (set, frozenset):
        parts = x
    elif kind is dict:
        parts = [part for item in x.items() for part in item]
    elif is_dataclass(x) and not isinstance(x, type):
        parts = [part for item in _attributes_of(x) for part in item]
    else:
        return _identity_key(x)
    # An object that contains itself: its position among the containers stands for it.
    if id(x) in outer:
        return kind, outer.index(id(x))
    keys = [_value_key(part, (*outer, id(x))) for part in parts]
    return kind, (frozenset if kind in (set, frozenset) else tuple)(keys)


_EXACT = frozenset([int, bool, str, bytes, type(None), type(Ellipsis)])


def _attributes_of(x: Any) -> list[tuple[str, Any]]:
    """Return the dataclass fields and the other attributes of an object, with names."""
    names = [field.name for field in fields(x)] if is_dataclass(x) else []
    names += [name for name in getattr(x, "__dict__", ()) if name not in names]
    return [(name, getattr(x, name)) for name in names if hasattr(x, name)]


def _trace_function(
    function: Any,
    name: str,
    call_arguments: tuple[Any, ...],
    kinds: tuple[Any, ...],
    names: tuple[str, ...],
) -> _Trace:
    """Trace the function for arguments of these kinds; the last of them are called `names`."""
    recording, symbols = _Recording(name), list[Any]()
    for i, (x, kind) in enumerate(zip(call_arguments, kinds, strict=True)):
        if type(x) is Tensor:
            symbol: Any = Symbol(recording, operator.itemgetter(i))
            x = Tensor._from_memory(symbol, kind)
        elif type(kind) is type:
            # A kind that is a type is the type of a number. Values have tuples or methods as keys.
            x = symbol = TracedNumber(name, kind, operator.itemgetter(i))
        else:
            symbol = x
        recording.arguments[id(symbol)] = i
        symbols.append(x)
    first = len(call_arguments) - len(names)
    named = dict(zip(names, symbols[first:], strict=True))
    with (
        _recordings.scope_with_value(recording),
        arguments.constants.scope_with_value(recording.constants),
    ):
        returned = function(*symbols[:first], **named)
    return recording.make_trace(returned, len(call_arguments))
