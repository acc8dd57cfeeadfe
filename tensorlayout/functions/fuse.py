"""`fuse`: a function of tensors, carried out as one pass.

The function is called once for each kind of its arguments, with *symbols* in their place: tensors
with a real spec whose memory is a `Symbol`, and `Number`s. Their calls are planned and written
down, and none is carried out.
"""

from __future__ import annotations

import functools
import inspect
import operator
import struct
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from types import MethodType
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np

from tensorlayout.dtypes import SCALARS
from tensorlayout.errors import REFUSALS, cut, leaving, named
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.arguments import Unknown
from tensorlayout.functions.transfers import moved
from tensorlayout.plan import Copy, Into, Operation, Plan, plan_of
from tensorlayout.plan.fuse import Fusion, Part
from tensorlayout.plan.run import prepared
from tensorlayout.support.context_blocks import Scope
from tensorlayout.tensor import Tensor

__all__ = ["fuse"]

_Function = Callable[..., Tensor]
_Fused = Callable[..., Tensor]  # which takes out=, too
_Get = Callable[[tuple[Any, ...]], Any]  # from the arguments of a call to an operand

# Traces of one function that are kept: a function of tensors of ever new shapes has no end of them.
_MOST = 256

_FLOW = "is not known while the function is traced, so nothing it does may depend on it"
_copying = functools.cache(Copy)  # in the name of a function


class Symbol:
    """Stands for the memory of a tensor that is not there: of an argument, a view or a result.

    `get`: how an argument or a view of one is got from the arguments; None for the result of a
    part.
    """

    __slots__ = ("get", "name")

    readonly = False  # writes are refused by what records them

    def __init__(self, name: str, get: _Get | None = None) -> None:
        self.name, self.get = name, get

    def refuse(self, asked: str) -> NoReturn:
        """The error for a question about elements."""
        fix = "use where() to choose by elements, and call what needs them outside"
        text = f"the data of a tensor {_FLOW} ({asked}); {fix}"
        raise named(self.name, TypeError(text))

    def __getattr__(self, name: str) -> NoReturn:
        self.refuse(name)

    def __array_ufunc__(self, ufunc: Any, *_: Any, **__: Any) -> NoReturn:
        self.refuse(ufunc.__name__)


class Number(Unknown):
    """A Python scalar among the arguments, or what Python's arithmetic makes of some."""

    __slots__ = ("get", "name")

    __array_ufunc__ = None  # NumPy's scalars leave it to us

    def __init__(self, name: str, kind: type, get: _Get) -> None:
        self.name, self.spec, self.get = name, kind, get

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The kind, which `isinstance` may ask for."""
        return self.spec

    def _refuse(self, *_: object) -> NoReturn:
        text = f"the value of a number {_FLOW}; name its argument in static=, or use where()"
        raise named(self.name, TypeError(text))

    def _compare(self, other: object) -> Any:
        return NotImplemented if type(other) is Tensor else self._refuse()

    __bool__ = __int__ = __float__ = __complex__ = __index__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _compare
    __hash__ = __str__ = __format__ = _refuse
    __round__ = __trunc__ = __floor__ = __ceil__ = _refuse


def _arithmetic(name: str, count: int, reflected: bool = False) -> Any:
    """The method of `Number` that does later what the function of Python's does."""
    function: Any = getattr(operator, f"__{name}__")

    def method(self: Number, *others: Any) -> Any:
        given = (*others, self) if reflected else (self, *others)
        if len(given) != count or not all(type(x) in (*SCALARS, Number) for x in given):
            return NotImplemented
        kind = type(function(*[x.spec(1) if type(x) is Number else x for x in given]))
        gets = [x.get if type(x) is Number else _Constant(x) for x in given]

        def get(args: tuple[Any, ...]) -> Any:
            found = function(*[g(args) for g in gets])
            if type(found) is not kind:
                came = f"gave {type(found).__name__} where it was traced as {kind.__name__}"
                text = f"{name} of numbers {came}; work it out before"
                raise named(self.name, TypeError(text))
            return found

        return Number(self.name, kind, get)

    return method


for _name in ("neg", "pos", "abs", "invert"):
    setattr(Number, f"__{_name}__", _arithmetic(_name, 1))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Number, f"__{_name}__", _arithmetic(_name, 2))
    setattr(Number, f"__r{_name}__", _arithmetic(_name, 2, reflected=True))
for _name in ("and", "or", "xor", "lshift", "rshift"):
    setattr(Number, f"__{_name}__", _arithmetic(_name, 2))
    setattr(Number, f"__r{_name}__", _arithmetic(_name, 2, reflected=True))


class _Argument:
    """An argument by its number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, args: tuple[Any, ...]) -> Any:
        return args[self.number]


class _Constant:
    """What is written in the function."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, args: tuple[Any, ...]) -> Any:
        return self.value


def check_known(x: Tensor, asked: str) -> None:
    """Refuse to ask for the data of a symbol."""
    if type(x.memory) is Symbol:
        x.memory.refuse(asked)


def _is_symbol(x: Any) -> bool:
    return type(x) is Number or (type(x) is Tensor and type(x.memory) is Symbol)


# --- recording ---------------------------------------------------------------------------------


class _Call:
    """A part as it was called: its operands are symbols, numbers and constants."""

    __slots__ = ("into", "key", "operands", "operation", "reduces", "result")

    def __init__(
        self,
        operation: Operation,
        key: tuple[Any, ...],
        operands: tuple[Any, ...],
        into: Symbol | None,
        reduces: bool,
    ) -> None:
        self.operation, self.key, self.into, self.reduces = operation, key, into, reduces
        self.operands = [x.memory if type(x) is Tensor and _is_symbol(x) else x for x in operands]
        self.result: Symbol


class _Recording:
    """What a function does while it is traced."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: dict[Symbol, _Call] = {}
        self.constants: list[Tensor] = []
        self.symbols: set[Symbol] = set()

    def symbol(self, get: _Get | None = None) -> Symbol:
        """A new one of this function."""
        made = Symbol(self.name, get)
        self.symbols.add(made)
        return made

    def observe(self, operation: Operation, key: tuple[Any, ...], operands: tuple[Any, ...]) -> Any:
        """Write a call of symbols down; None for any other."""
        if not any(map(_is_symbol, operands)):
            if not operands or not all(map(self._is_constant, operands)):
                return None
            found = prepared(operation, *key)(*operands)
            self.constants.append(found)
            return found
        for x in operands:
            if type(x) is Tensor and not self._is_own(x):
                rule = f"a tensor that is no argument of {self.name}"
                raise TypeError(f"cannot be fused with {rule}; give it to the function as one")
        if isinstance(operation, Into):
            return self._write(operation.operation, key[1:], operands[0], operands[1:])
        plan = plan_of(operation, key)
        if plan.kind == "transfer":
            operands[0].memory.refuse(operation.name)
        if plan.makes == "view":
            return self._view(prepared(operation, *key), plan, operands)
        if plan.kind == "assign" and operation.name != "__setitem__":
            return self._convert(operation.name, *operands)
        self._check(plan)
        return self._step(plan, operation, key, operands)

    def _is_own(self, x: Tensor) -> bool:
        """Return whether a tensor is of this function: a symbol of it, or a constant."""
        return x.memory in self.symbols if _is_symbol(x) else self._is_constant(x)

    def _is_constant(self, x: Any) -> bool:
        return any(x is each for each in self.constants)

    def _check(self, plan: Plan) -> None:
        same: Any = plan
        if plan.kind == "copy" and same.source.layout.shape == same.result.layout.shape:
            return
        if plan.kind not in ("elementwise", "reduce") or plan.destinations:
            msg = f"cannot be part of the fused function {self.name}, which holds elementwise"
            msg += " functions, conversions, views of arguments and a last reduction"
            raise TypeError(msg)

    def _step(
        self,
        plan: Any,
        operation: Operation,
        key: tuple[Any, ...],
        operands: tuple[Any, ...],
        into: Symbol | None = None,
    ) -> Tensor:
        call = _Call(operation, key, operands, into, plan.kind == "reduce")
        for x in call.operands:
            if type(x) is Symbol and x in self.calls and self.calls[x].reduces:
                came = f"and uses what {self.calls[x].operation.name} gives"
                msg = f"a reduction must be the last part of the fused function {self.name}, {came}"
                raise TypeError(msg)
        call.result = self.symbol()
        self.calls[call.result] = call
        return Tensor._new(call.result, plan.result)

    def _view(self, run: Any, plan: Plan, operands: tuple[Any, ...]) -> Tensor:
        source: Tensor
        source, *rest = operands
        get = source.memory.get
        if plan.result is source.spec and not source.spec.layout.is_overlapping:
            return source  # all of it, where it was
        if get is None or any(map(_is_symbol, rest)):
            msg = f"cannot be part of the fused function {self.name}: it may take views of its"
            msg += " arguments, not of what it works out"
            raise TypeError(msg)
        viewed = self.symbol(lambda args: run(get(args), *rest))
        return Tensor._new(viewed, plan.result)

    def _write(
        self, operation: Operation, key: tuple[Any, ...], out: Tensor, operands: tuple[Any, ...]
    ) -> Tensor:
        """A write into an intermediate result: that tensor is another value from then on."""
        if not _is_symbol(out) or out.memory not in self.calls:
            msg = f"the fused function {self.name} writes into no argument; call it with out="
            raise TypeError(msg)
        plan = plan_of(operation, key)
        plan.check_into(out.spec)
        self._check(plan)
        plan = plan.into(out.spec)
        out.memory = self._step(plan, operation, key, operands, out.memory).memory
        return out

    def _convert(self, name: str, out: Tensor, value: Tensor) -> Tensor:
        """``out += value`` of a wider dtype: converted, that is what `out` is from then on."""
        key = (value.spec, out.spec.layout, out.spec.dtype)
        operation = _copying(name)
        step = self._step(operation.plan(*key), operation, key, (value,))
        out.memory = step.memory
        return out

    def traced(self, found: Any, count: int) -> _Trace:
        """What was written down, for the result `found` of the function of `count` arguments."""
        symbol = found.memory if type(found) is Tensor else None
        if type(symbol) is not Symbol or (symbol.get is None and symbol not in self.calls):
            came = arguments.shown(found)
            rule = "must return one tensor, made of its arguments"
            raise TypeError(f"the function {rule}, got {came}")
        if symbol.get is not None:
            return _Trace(None, (), symbol.get)
        needed = {symbol}
        for result, call in reversed(self.calls.items()):
            if result in needed:
                needed.update(x for x in (*call.operands, call.into) if type(x) is Symbol)
        calls = [call for result, call in self.calls.items() if result in needed]
        return _arranged(self.name, calls, count)


class _Trace(NamedTuple):
    """A function for one kind of arguments.

    Attributes:
        operation: what is fused; None of a function that gives an argument, or a view of one.
        key: what it is planned for.
        operands: from the arguments to its operands, or to what is given.

    """

    operation: Any
    key: tuple[Any, ...]
    operands: Callable[[tuple[Any, ...]], Any]


def _arranged(name: str, calls: list[_Call], count: int) -> _Trace:
    """Values numbered: what comes from the arguments, constants, results."""
    values: dict[Any, int] = {}
    gets: list[_Get] = []
    kinds: list[Any] = []
    found = [
        (x, spec)
        for call in calls
        for x, spec in zip(call.operands, call.key, strict=False)
        if not (type(x) is Symbol and x.get is None)
    ]
    rows = [(x.get if type(x) in (Symbol, Number) else _Constant(x), x, spec) for x, spec in found]
    for get, x, spec in sorted(rows, key=lambda row: _RANKS.get(type(row[0]), 1)):
        if id(x) not in values:
            values[id(x)] = len(gets)
            gets.append(get)
            kinds.append(spec)
    for call in calls:
        values[id(call.result)] = len(values)
    parts = [
        Part(
            call.operation,
            tuple([values[id(x)] for x in call.operands]),
            call.key[len(call.operands) :],
            None if call.into is None else values[id(call.into)],
        )
        for call in calls
    ]
    reduction = parts.pop() if calls[-1].reduces else None
    if not parts:  # nothing to fuse
        return _Trace(calls[-1].operation, calls[-1].key, _operands(gets, count))
    return _Trace(Fusion(name, tuple(parts), reduction), tuple(kinds), _operands(gets, count))


_RANKS = {_Argument: 0, _Constant: 2}


def _same(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return args


def _operands(gets: list[_Get], count: int) -> Callable[[tuple[Any, ...]], Any]:
    """All operands from `count` arguments; by one call where they are arguments, or constants."""
    numbers = [get.number for get in gets if type(get) is _Argument]
    if numbers == list(range(count)) and count == len(gets):
        return _same
    if len(numbers) < 2 or any(type(get) not in _RANKS for get in gets):
        return lambda args: tuple([get(args) for get in gets])
    taken: Any = operator.itemgetter(*numbers)
    constants = tuple([get.value for get in gets if type(get) is _Constant])
    return (lambda args: taken(args) + constants) if constants else taken


_recordings: Scope[_Recording] = Scope("fuse", dispatch.watched)


def _observe(operation: Operation, key: tuple[Any, ...], operands: tuple[Any, ...]) -> Any:
    recording = _recordings.get()
    return None if recording is None else recording.observe(operation, key, operands)


dispatch.observers.insert(0, _observe)


# --- calls -------------------------------------------------------------------------------------


@overload
def fuse(function: _Function, /, *, static: str | Iterable[str] = ()) -> _Fused: ...
@overload
def fuse(*, static: str | Iterable[str] = ()) -> Callable[[_Function], _Fused]: ...
def fuse(function: Any = None, /, *, static: Any = ()) -> Any:
    """`function`, carried out as one pass over memory; also a decorator.

    The result is called as `function` is, and with ``out=``, a tensor that the result is written
    into. It gives the same elements, dtype, layout and padding, but what `function` works out on
    the way is never there as a whole.

    `function` may call elementwise functions, `where`, `clip`, `astype`, operators and methods, on
    its arguments, views of these, and what it works out; last, one reduction. It gives one tensor.
    It is called once for each kind of arguments, to see what it does, with tensors that have
    shape, dtype and layout but no data. Numbers among the arguments may have other values in each
    call; `static` names arguments that are taken by their values, as all but tensors and numbers
    are. TypeError for anything that `function` does beyond that, ValueError for a `static` that is
    none of its arguments, and for a `function` that takes ``out`` itself.

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
        raise TypeError(f"must be called with a function, got {arguments.shown(function)}")
    code = getattr(function, "__code__", None)
    if code is not None and "out" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        raise ValueError("the function must not take out= itself: its result is written there")
    return _fused(function, _static(function, static))


def _static(function: Any, given: Any) -> Callable[[Any], bool]:
    """Return whether an argument, by its place or its name, is taken by value."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names:
        return lambda place: False
    known = list(inspect.signature(function).parameters)
    for name in names:
        if name not in known:
            came = ", ".join(known)
            raise ValueError(f"static must name arguments of the function ({came}), got {name!r}")
    places = {*names, *[known.index(name) for name in names]}
    return lambda place: place in places


_spec_of = operator.attrgetter("spec")


def _fused(function: Any, is_static: Callable[[Any], bool]) -> Any:
    name = cut(getattr(function, "__name__", "fused"), 60)
    ready: dict[Any, Any] = {}  # for positional tensors and numbers: the shortest way
    traces: dict[Any, _Trace] = {}
    numbers = False  # whether there have been any among the arguments

    @functools.wraps(function)
    def fused(*args: Any, out: Tensor | None = None, **keywords: Any) -> Any:
        if out is None and not dispatch.watched:
            kinds: Any
            try:
                if numbers:
                    kinds = tuple([x.spec if type(x) is Tensor else type(x) for x in args])
                else:
                    kinds = tuple(map(_spec_of, args))
            except AttributeError:  # the first number among the arguments
                kinds = None
            if keywords:
                kinds = (kinds, *map(_named_kind, keywords.items()))
            found = ready.get(kinds)
            if found is not None:
                try:
                    return found(*args, **keywords)
                except REFUSALS as error:
                    raise dispatch.refused(_named, error) from None
        try:
            return call(args, out, keywords)
        except REFUSALS as error:
            raise leaving(error, name) from error.__cause__

    def call(args: tuple[Any, ...], out: Any, keywords: dict[str, Any]) -> Any:
        nonlocal numbers
        numbers = numbers or not all(type(x) is Tensor for x in args)
        places = (*range(len(args)), *sorted(keywords))
        given: tuple[Any, ...] = (*args, *[keywords[each] for each in places[len(args) :]])
        if any(map(_is_symbol, given)) and _recordings.get() is not None:
            if out is not None:
                raise TypeError("takes no out= inside of a fused function")
            return function(*args, **keywords)
        if out is not None:
            out = arguments.writable(arguments.tensor(out, "out"))
        static = [is_static(at) for at in places]
        given = _arrays_replaced(given, static)
        kinds = tuple([_kind(x, by_value) for x, by_value in zip(given, static, strict=True)])
        key = (len(args), places[len(args) :], kinds)
        trace = traces.get(key)
        if trace is None:
            trace = _traced(function, name, places, given, kinds)
            if len(traces) >= _MOST:
                traces.clear()
                ready.clear()
            traces[key] = trace
        operands = trace.operands(given)
        if trace.operation is None:
            if out is None:
                return operands
            return dispatch.call_into(out, _copying(name), (operands.spec, None, None), (operands,))
        simple = all(type(x) is Tensor or type(x) in _NUMBERS for x in (*args, *keywords.values()))
        if simple and not any(static):
            of_named = map(_named_kind, keywords.items())
            short = (kinds[: len(args)], *of_named) if keywords else kinds
            ready[short] = _run(trace, sorted(keywords))
        return dispatch.call_into(out, trace.operation, trace.key, operands)

    _named = Fusion(name, (), None)
    return fused


_NUMBERS = (int, float, complex)


def _named_kind(item: tuple[str, Any]) -> Any:
    name, x = item
    return name, x.spec if type(x) is Tensor else type(x)


def _run(trace: _Trace, names: list[str]) -> Callable[..., Any]:
    """The function of positional arguments, and of named ones."""
    run, operands = prepared(trace.operation, *trace.key), trace.operands
    if names:
        return lambda *args, **named: run(*operands((*args, *[named[each] for each in names])))
    return run if operands is _same else lambda *args: run(*operands(args))


def _arrays_replaced(given: tuple[Any, ...], static: list[bool]) -> tuple[Any, ...]:
    """Replace NumPy arrays and scalars, except `static` ones, by tensors; scalars are moved."""
    if not any(isinstance(x, (np.generic, np.ndarray)) for x in given):
        return given
    device = arguments.device_of(given)
    found = list(given)
    for i, (x, by_value) in enumerate(zip(given, static, strict=True)):
        if isinstance(x, (np.generic, np.ndarray)) and not by_value:
            arguments.refuse_arrays((x,), device)
            found[i] = moved(arguments.operand(x), device)
    return tuple(found)


def _kind(x: Any, static: bool) -> Any:
    """What a trace depends on: the spec of a tensor, the kind of a number, or a value."""
    if type(x) is Tensor:
        return x.spec
    if type(x) in _NUMBERS and not static:
        return type(x)
    if arguments.is_array(x) and not isinstance(x, type) and not static:
        arguments.tensor(x)
    try:
        hash(x)
    except TypeError:
        came = arguments.shown(x)
        rule = "arguments must be tensors, numbers or values that can be hashed"
        raise TypeError(f"{rule}, got {came}") from None
    return _by_value(x)


class _Same:
    """A key that equals only keys of the same object, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _by_value(x: Any, outer: tuple[int, ...] = ()) -> Any:
    """Return a key of `x` by type, bits and fields, so that 2 differs from 2.0 and 0.0 from -0.0.

    What has neither bits nor fields is compared by identity. `outer`: ids of what `x` is part of.
    """
    kind: Any = type(x)
    if kind in _EXACT:
        return kind, x
    if kind is float or kind is complex:
        return kind, struct.pack("2d", x.real, x.imag)  # tells NaNs apart, too
    if isinstance(x, np.generic):
        return kind, repr(x.dtype), x.tobytes()
    if isinstance(x, np.dtype):
        return kind, x.num, repr(x)
    if kind is slice or kind is range:
        parts: Any = (x.start, x.stop, x.step)
    elif kind is MethodType:
        return kind, _Same(x.__self__), _Same(x.__func__)
    elif kind in (tuple, list) or (isinstance(x, tuple) and hasattr(x, "_fields")):
        parts = (*x, *_fields(x))
    elif kind in (set, frozenset):
        parts = x
    elif kind is dict:
        parts = [part for item in x.items() for part in item]
    elif is_dataclass(x) and not isinstance(x, type):
        parts = [part for item in _fields(x) for part in item]
    else:
        return _Same(x)
    if id(x) in outer:
        return kind, outer.index(id(x))
    keys = [_by_value(part, (*outer, id(x))) for part in parts]
    return kind, (frozenset if kind in (set, frozenset) else tuple)(keys)


_EXACT = frozenset([int, bool, str, bytes, type(None), type(Ellipsis)])


def _fields(x: Any) -> list[tuple[str, Any]]:
    """Return the fields of a dataclass, and all other attributes of an object, by name."""
    names = [field.name for field in fields(x)] if is_dataclass(x) else []
    names += [name for name in getattr(x, "__dict__", ()) if name not in names]
    return [(name, getattr(x, name)) for name in names if hasattr(x, name)]


def _traced(
    function: Any,
    name: str,
    places: tuple[Any, ...],
    given: tuple[Any, ...],
    kinds: tuple[Any, ...],
) -> _Trace:
    """What the function does with arguments of these kinds."""
    recording = _Recording(name)
    symbols: list[Any] = []
    for i, (x, kind) in enumerate(zip(given, kinds, strict=True)):
        get = _Argument(i)
        if type(x) is Tensor:
            x = Tensor._new(recording.symbol(get), kind)
        elif type(kind) is type:
            x = Number(name, kind, get)
        symbols.append(x)
    args = [x for at, x in zip(places, symbols, strict=True) if type(at) is int]
    named = {at: x for at, x in zip(places, symbols, strict=True) if type(at) is str}
    with _recordings.saying(recording), arguments.constants.saying(recording.constants):
        found = function(*args, **named)
    return recording.traced(found, len(symbols))
