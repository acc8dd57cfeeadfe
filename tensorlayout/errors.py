"""Errors: what they repeat of an argument, the name that they carry, where their traceback ends.

Code inside the package raises errors without names. `guarded` is put around each public function
once, where the package gathers them; it puts the function's name in front of the message, tells how
a call that does not fit is written, and lets the traceback end at the user's line. It costs one
call of Python's; functions inside the package call one another without it.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NoReturn, TypeVar

VARIABLE = "TENSORLAYOUT_TRACEBACKS"

# Set by the variable: "full" keeps the frames inside the package.
_full = os.environ.get(VARIABLE) == "full"
# Files whose frames are no user's; the cached_property of `functools` calls the package's code.
_OURS = os.path.join(os.path.dirname(__file__), ""), functools.__file__


class CopyError(RuntimeError):
    """A copy, a change of layout, or an export that `no_copies` refuses; nothing has been moved.

    `record`: what a trace would have of it; its `stack` says which lines called.

    >>> import tensorlayout as tl
    >>> x = tl.zeros((2, 3))
    >>> try:
    ...     with tl.no_copies():
    ...         y = x.copy()
    ... except tl.CopyError as error:
    ...     print(error.record.name, error.record.bytes_written)
    copy 48
    """

    __module__ = "tensorlayout"

    record: Any = None


# What a call may be refused with.
REFUSALS = (
    *(IndexError, NotImplementedError, OverflowError, TypeError, ValueError),
    *(BufferError, MemoryError, CopyError),
)

_Found = TypeVar("_Found")
_Error = TypeVar("_Error", bound=Exception)
_Function = TypeVar("_Function", bound=Callable[..., Any])

# --- what errors repeat of an argument: short, whatever its size --------------------------------

_LETTERS = 60  # of a value or a text that is repeated whole
_ROOM = 200  # letters for the items of a sequence, and of a text that errors are about
_BITS = 128  # of an integer that is written out: Python itself refuses 4300 digits
_LEVELS = 3  # of sequences in sequences


def shown(x: Any, most: int = _LETTERS) -> str:
    """`x` as an error repeats it: as it is where that is short, else its begin, or its kind.

    Of a text `most` letters are repeated, of a sequence the first items and how many there are.

    >>> shown(10**5000), shown((0,) * 32000)[:13], shown("word")
    ('an integer of 16610 bits', '(0, 0, 0, 0, ', "'word'")
    """
    return _shown(x, most, 0)


def cut(text: Any, most: int = _ROOM) -> str:
    """The text of `text`, such as a layout's, without quotes: the first `most` letters of it."""
    found = str(text)
    return found if len(found) <= most else f"{found[:most]}…"


def kind_of(x: Any) -> str:
    """The name of a type, with the library that it is from."""
    kind = type(x)
    where = "" if kind.__module__ == "builtins" else f"{kind.__module__.split('.')[0]}."
    return cut(f"{where}{kind.__name__}", _LETTERS)


def _shown(x: Any, most: int, level: int) -> str:
    if issubclass(type(x), int) and (bits := int.bit_length(x)) > _BITS:
        return f"an integer of {bits} bits"
    if type(x) is str:
        return cut(repr(cut(x, most)), 2 * most)  # what cannot be printed takes more letters
    if type(x) in (tuple, list):
        return _sequence(x, most, level) if level < _LEVELS else kind_of(x)
    try:
        text = repr(x)
    except Exception:  # whatever the repr of a stranger raises
        return kind_of(x)
    return kind_of(x) if len(text) > most or " at 0x" in text else text


def _sequence(x: Any, most: int, level: int) -> str:
    """The items of a tuple or a list, as many as there is room for."""
    texts: list[str] = []
    room = _ROOM
    for item in islice(x, _ROOM):
        text = _shown(item, most, level + 1)
        room -= len(text) + 2
        if room < 0:
            break
        texts.append(text)
    if len(texts) < len(x):
        texts.append(f"… {len(x)} in all")
    listed = ", ".join(texts)
    if type(x) is list:
        return f"[{listed}]"
    return f"({listed},)" if len(x) == 1 else f"({listed})"


# --- names ---------------------------------------------------------------------------------------


def named(name: str, error: _Error) -> _Error:
    """`error`, with the name of an operation before what it says, if it has none.

    Whoever finds a fault knows no names; who puts one there raises the same error again.
    """
    if not hasattr(error, "said"):
        vars(error)["said"] = str(error)
        error.args = (f"{name}: {error}",)
    return error


def refuse(name: str, text: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise an error in the name of an operation."""
    raise named(name, error(text))


def under(name: str, function: Callable[..., _Found], *args: Any, **options: Any) -> _Found:
    """Call `function`; its errors have this name, in place of one that they have."""
    try:
        return function(*args, **options)
    except REFUSALS as error:
        raise leaving(error, name) from error.__cause__


def leaving(error: _Error, name: str = "") -> _Error:
    """Return `error` as it leaves the package: under the name of the call, without our frames.

    `name`: of the function that the user called, which takes the place of a name that a function
    inside has put there. Errors that passed through a user's own code, or come from another
    library's, stay as they are.
    """
    if not _ours(error):
        return error
    if name:
        said = vars(error).setdefault("said", str(error))
        called, ends, _ = said.partition("() ")  # Python's errors of calls name what was called
        is_named = bool(ends) and called.endswith(name) and " " not in called
        error.args = (said if is_named or said.startswith(f"{name}: ") else f"{name}: {said}",)
    return bare(error)


def bare(error: _Error) -> _Error:
    """Return `error` without the frames of the package."""
    return error if _full else error.with_traceback(None)


def _ours(error: Exception) -> bool:
    """Return whether all frames between the call and the fault are the package's."""
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_OURS):
            return False
        trace = trace.tb_next
    return True


# --- the guard of public functions ---------------------------------------------------------------


@functools.cache  # one for all the namespaces that have the function
def guarded(function: _Function, name: str = "") -> _Function:
    """`function` for users: a wrong call is told in our words, errors show few frames of ours."""
    within, name = function.__module__, name or function.__name__
    if within.startswith(_FORMATS):
        name = f"{within.removeprefix(_FORMATS)}.{name}"

    def public(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is None:  # raised here: the call does not fit
                raise misfit(function, args, options) from None
            raise leaving(error, name) from error.__cause__
        except REFUSALS as error:
            raise leaving(error, name) from error.__cause__

    public.__module__ = "tensorlayout" if within.startswith(_CHAPTERS) else within
    public.__name__, public.__qualname__ = function.__name__, function.__qualname__
    public.__doc__, public.__annotations__ = function.__doc__, function.__annotations__
    vars(public)["__wrapped__"] = function  # for signatures
    return public  # type: ignore[return-value]


_CHAPTERS = ("tensorlayout.files", "tensorlayout.functions.")
_FORMATS = "tensorlayout.formats."


def guard(space: dict[str, Any], names: Iterable[str]) -> None:
    """Put the guard around a namespace's functions; elementwise ones look after themselves."""
    for name in names:
        function = space.get(name)
        if name == "explain":  # errors of the call that it runs keep their name
            continue
        if inspect.isfunction(function) and function.__module__.startswith(_GUARDED):
            space[name] = guarded(function)


_SPACES = ("fft", "formats", "linalg", "tracing")
_GUARDED = (*_CHAPTERS, *(f"tensorlayout.{space}" for space in _SPACES))


def misfit(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> TypeError:
    """The error of a call whose arguments do not fit the parameters of `function`."""
    return named(function.__name__, TypeError(_misfit(function, args, options)))


# Keywords of other libraries, by what they are called here.
_KEYWORDS = {
    "dim": "axis",
    "dims": "axis",
    "axes": "axis",
    "keepdim": "keepdims",
    "unbiased": "correction",
    "memory_format": "layout",
    "newshape": "shape",
    "shifts": "shift",
    "reps": "repetitions",
    "reverse": "descending",
    "input": "x",
}
_FIXES = {
    "out": "out[...] = {call} writes into existing memory",
    "dtype": "use astype() first",
    "device": "use x.to_device() first",
    "requires_grad": "there is no automatic differentiation",
}
_MORE = {
    "trace": "; a matrix has linalg.trace(x)",
    "view": "; reshape() changes the shape",
}


def _misfit(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> str:
    """Return what does not fit, and how the function is called."""
    signature = inspect.signature(function)
    name, parameters = function.__name__, list(signature.parameters.values())
    call = _written(name, parameters) + _MORE.get(name, "")
    takes = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for given in options:
        if given not in takes:
            return _unknown(given, takes, set(places), call)
    if len(args) > len(places) and all(p.kind is not p.VAR_POSITIONAL for p in parameters):
        if places and places[-1] == "arrays":
            return f"arrays are one argument, a tuple or list: {name}([x, y])"
        if places[-1:] in (["shape"], ["axes"], ["repetitions"]):
            sizes = shown(tuple(args[len(places) - 1 :]))
            return f"{places[-1]} is one argument: {name}({', '.join([*places[:-1], sizes])})"
        return f"takes {len(places)} positional arguments, got {len(args)}: {call}"
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        return f"{error}: {call}"
    return call


def _unknown(given: str, takes: set[str], places: set[str], call: str) -> str:
    if given in places:
        return f"{given} is given by position: {call}"
    here = _KEYWORDS.get(given)
    if here in takes | places:
        by_place = "" if here in takes else ", and given by position"
        return f"{given} is called {here} here{by_place}: {call}"
    if given in _FIXES:
        return f"there is no {given}=; {_FIXES[given].format(call=call)}"
    import difflib  # only for errors

    close = difflib.get_close_matches(given, sorted(takes), 1)
    return f"there is no {given}={f'; did you mean {close[0]}=?' if close else ''}: {call}"


def _written(name: str, parameters: Sequence[inspect.Parameter]) -> str:
    """Return a call of a function as text: operands, then options with their defaults."""
    parts = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}")
        elif p.default is p.empty:
            parts.append(p.name if p.kind is not p.KEYWORD_ONLY else f"{p.name}=…")
        elif p.kind is not p.VAR_KEYWORD:
            parts.append(f"{p.name}={shown(p.default)}")
    return f"{name}({', '.join(parts)})"
