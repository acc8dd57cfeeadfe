"""Errors: short texts of arguments, names of operations, and tracebacks that end in user code.

Code inside the package raises errors without names. `wrap_public_function` wraps each public
function once: it puts the function's name in front of messages, explains calls that do not match
the signature, and removes our frames from tracebacks. A wrapper costs one Python call; functions
inside the package call each other without it.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NoReturn, TypeVar

VARIABLE = "TENSORLAYOUT_TRACEBACKS"

# The value "full" keeps the frames inside the package.
_keep_all_frames = os.environ.get(VARIABLE) == "full"
# Files whose frames are not user code. The package's code goes through these modules of the
# standard library: `cached_property`, `replace`, conversions to an enum.
_OURS = (
    os.path.join(os.path.dirname(__file__), ""),
    *(functools.__file__, dataclasses.__file__, enum.__file__),
)


class CopyError(RuntimeError):
    """A copy, a change of layout, or an export refused by `no_copies`; nothing has been moved.

    `record`: the record that a trace would contain; its `stack` has the calling lines.

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


class CaptureError(RuntimeError):
    """A call that cannot be captured in a CUDA graph."""


# Errors that calls raise on purpose, and that get the name of the operation.
REFUSALS = (
    *(IndexError, NotImplementedError, OverflowError, TypeError, ValueError),
    *(BufferError, MemoryError, CopyError, CaptureError),
)

_Result = TypeVar("_Result")
_Error = TypeVar("_Error", bound=Exception)
_Function = TypeVar("_Function", bound=Callable[..., Any])

# --- short texts of arguments of any size --------------------------------------------------------

_LETTERS = 60  # longest text of a value that is repeated whole
_ROOM = 200  # letters for the items of a sequence, and for a text that an error is about
_BITS = 128  # of integers that are written out; Python refuses to convert more than 4300 digits
_LEVELS = 3  # depth of nested sequences


def short_repr(x: Any, max_letters: int = _LETTERS) -> str:
    """Return a short text of `x` for an error: its repr, the beginning of it, or its type.

    Text is cut after `max_letters` letters. A sequence has its first items and its length.

    >>> short_repr(10**5000), short_repr((0,) * 32000)[:13], short_repr("word")
    ('an integer of 16610 bits', '(0, 0, 0, 0, ', "'word'")
    """
    return _short_repr_at_level(x, max_letters, 0)


def truncate(text: Any, max_letters: int = _ROOM) -> str:
    """Return the text of an object, such as a layout, cut after `max_letters` letters."""
    whole = str(text)
    return whole if len(whole) <= max_letters else f"{whole[:max_letters]}…"


def qualified_type_name(x: Any) -> str:
    """Return the name of an object's type, with the name of its library."""
    value_type = type(x)
    module_prefix = (
        "" if value_type.__module__ == "builtins" else f"{value_type.__module__.split('.')[0]}."
    )
    return truncate(f"{module_prefix}{value_type.__name__}", _LETTERS)


def _short_repr_at_level(x: Any, max_letters: int, level: int) -> str:
    # A foreign object may define `__class__` or `bit_length`: ask its type, and use int's method.
    if issubclass(type(x), int) and (bits := int.bit_length(x)) > _BITS:
        return f"an integer of {bits} bits"
    if type(x) is str:
        # Escapes of unprintable characters take more letters.
        return truncate(repr(truncate(x, max_letters)), 2 * max_letters)
    if type(x) in (tuple, list):
        return (
            _short_sequence_repr(x, max_letters, level)
            if level < _LEVELS
            else qualified_type_name(x)
        )
    try:
        text = repr(x)
    except Exception:  # the repr of a foreign object may raise anything
        return qualified_type_name(x)
    # A default repr holds an address, which tells nothing and differs between runs.
    return qualified_type_name(x) if len(text) > max_letters or " at 0x" in text else text


def _short_sequence_repr(x: Any, max_letters: int, level: int) -> str:
    """Return the text of a tuple or a list, with as many items as fit."""
    texts: list[str] = []
    letters_left = _ROOM
    for item in islice(x, _ROOM):
        text = _short_repr_at_level(item, max_letters, level + 1)
        letters_left -= len(text) + 2
        if letters_left < 0:
            break
        texts.append(text)
    if len(texts) < len(x):
        texts.append(f"… {len(x)} in all")
    listed = ", ".join(texts)
    if type(x) is list:
        return f"[{listed}]"
    return f"({listed},)" if len(x) == 1 else f"({listed})"


# --- names ---------------------------------------------------------------------------------------


def prefix_operation_name(name: str, error: _Error) -> _Error:
    """Return `error` with the name of an operation in front of its message, unless it has one.

    The raiser does not know the operation; the caller adds its name and raises the error again.
    """
    if not hasattr(error, "said"):
        # The message without a name: `finalize_public_error` puts another name before it.
        vars(error)["said"] = str(error)
        error.args = (f"{name}: {error}",)
    return error


def raise_named_error(name: str, text: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise an error with the name of an operation in front of its message."""
    raise prefix_operation_name(name, error(text))


def check_flag(name: str, argument: str, value: Any) -> bool:
    """Return `value`, which must be True or False. Raises TypeError with the operation's name."""
    if value is True or value is False:
        return value
    raise_named_error(name, f"{argument} must be True or False, got {short_repr(value)}", TypeError)


def keep_operation_name(error: _Error) -> _Error:
    """Return `error` with a mark: it keeps its name, whichever public function raises it."""
    vars(error)["keeps_name"] = True
    return error


def unavoidable_copy_error(reason: str) -> ValueError:
    """Return the error for a copy that ``copy=False`` forbids."""
    return ValueError(f"unable to avoid a copy, as copy=False demands: {reason}")


def call_with_error_name(
    name: str, function: Callable[..., _Result], *args: Any, **options: Any
) -> _Result:
    """Call `function`; its errors get this name, in place of any other one."""
    try:
        return function(*args, **options)
    except REFUSALS as error:
        raise finalize_public_error(error, name) from error.__cause__


def finalize_public_error(error: _Error, name: str = "") -> _Error:
    """Return `error` as users see it: with the name of their call, without our frames.

    `name`: the function that the user called; it replaces a name that an inner function has added,
    except in an error with the attribute `keeps_name`, which another call has caused.
    Errors that were raised in, or passed through, code of users or other libraries stay unchanged.
    """
    if not _is_raised_in_package(error):
        return error
    if name and not hasattr(error, "keeps_name"):
        # Kept without a name: the name of an outer call replaces the one of an inner call.
        message = vars(error).setdefault("said", str(error))
        # Python's own errors about calls already name the function.
        called, separator, _ = message.partition("() ")
        is_named = bool(separator) and called.endswith(name) and " " not in called
        error.args = (
            message if is_named or message.startswith(f"{name}: ") else f"{name}: {message}",
        )
    return strip_package_frames(error)


def strip_package_frames(error: _Error) -> _Error:
    """Return `error` without the frames inside the package."""
    return error if _keep_all_frames else error.with_traceback(None)


def _is_raised_in_package(error: Exception) -> bool:
    """Return whether all frames from the call to the raise statement are the package's."""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        file = frame.f_code.co_filename
        # Generated code, such as a dataclass's `__init__`, has no file, but its module's globals.
        module = str(frame.f_globals.get("__name__")) if file.startswith("<") else ""
        if not file.startswith(_OURS) and not module.startswith("tensorlayout."):
            return False
        trace = trace.tb_next
    return True


# --- the guard of public functions ---------------------------------------------------------------


@functools.cache  # so that all namespaces have the same wrapper
def wrap_public_function(function: _Function, name: str = "") -> _Function:
    """Wrap `function` for users: explain calls that do not match, and shorten tracebacks."""
    module_name, name = function.__module__, name or function.__name__
    if module_name.startswith(_FORMATS):
        name = f"{module_name.removeprefix(_FORMATS)}.{name}"

    def guarded_call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError as error:
            trace = error.__traceback__
            # No frame below ours: the call itself failed, because its arguments do not match.
            if trace is None or trace.tb_next is None:
                raise call_mismatch_error(function, args, options, name) from None
            raise finalize_public_error(error, name) from error.__cause__
        except REFUSALS as error:
            raise finalize_public_error(error, name) from error.__cause__

    guarded_call.__module__ = "tensorlayout" if module_name.startswith(_CHAPTERS) else module_name
    guarded_call.__name__, guarded_call.__qualname__ = function.__name__, function.__qualname__
    guarded_call.__doc__, guarded_call.__annotations__ = function.__doc__, function.__annotations__
    vars(guarded_call)["__wrapped__"] = function  # for signatures
    return guarded_call  # type: ignore[return-value]


# Modules whose functions users see under the name `tensorlayout`.
_CHAPTERS = ("tensorlayout.files", "tensorlayout.functions.")
_FORMATS = "tensorlayout.formats."


def wrap_public_functions(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Wrap a namespace's public functions; elementwise ones handle their errors themselves."""
    for name in names:
        function = namespace.get(name)
        if name == "explain":  # it calls a user's function, whose errors keep their name
            continue
        if inspect.isfunction(function) and function.__module__.startswith(_GUARDED):
            namespace[name] = wrap_public_function(function)


# Modules whose functions are wrapped; functions from other libraries are not.
_SPACES = ("fft", "formats", "linalg", "tracing")
_GUARDED = (*_CHAPTERS, *(f"tensorlayout.{space}" for space in _SPACES))


def guard_public_names(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Shorten the tracebacks of a namespace's functions, and of the methods of its classes.

    Their errors name themselves. Functions move to the namespace, where `pickle` finds the guarded
    ones; calls inside the package use the others.
    """
    for name in names:
        value = namespace.get(name)
        if inspect.isfunction(value):
            namespace[name] = _shorten_tracebacks(value)
            namespace[name].__module__ = namespace["__name__"]
        elif inspect.isclass(value):
            guard_methods(value)


def guard_methods(cls: type) -> None:
    """Shorten the tracebacks of the methods and properties of a class and its bases."""
    if cls in _GUARDED_CLASSES:  # a base of several classes
        return
    _GUARDED_CLASSES.add(cls)
    for base in cls.__bases__:
        if base.__module__.startswith("tensorlayout."):
            guard_methods(base)
    for name, member in list(vars(cls).items()):
        if name.startswith("_") and name not in _GUARDED_SPECIAL_METHODS:
            continue
        # Methods that a decorator of dataclasses generates are of another module or of no file.
        if inspect.isfunction(member) and member.__module__ == cls.__module__:
            if member.__code__.co_filename.startswith(_OURS):
                setattr(cls, name, _shorten_tracebacks(member))
        elif isinstance(member, (classmethod, staticmethod)) and name != "__new__":
            setattr(cls, name, type(member)(_shorten_tracebacks(member.__func__)))
        elif isinstance(member, property) and member.fget is not None:
            setattr(cls, name, member.getter(_shorten_tracebacks(member.fget)))
        elif isinstance(member, functools.cached_property):
            shortened = functools.cached_property(_shorten_tracebacks(member.func))
            shortened.__set_name__(cls, name)
            setattr(cls, name, shortened)


_GUARDED_CLASSES: set[type] = set()
_GUARDED_SPECIAL_METHODS = ("__init__", "__post_init__", "__call__", "__enter__")


@functools.cache  # aliases of a function remain the same object
def _shorten_tracebacks(function: _Function) -> _Function:
    """Return a function whose errors show the caller's line and one line of this package."""

    @functools.wraps(function)
    def shortened_call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except RecursionError:  # a fault, whose frames help
            raise
        except (*REFUSALS, RuntimeError) as error:
            raise finalize_public_error(error) from error.__cause__

    return shortened_call  # type: ignore[return-value]


def call_mismatch_error(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], name: str = ""
) -> TypeError:
    """Return the error for a call whose arguments do not match the parameters of `function`."""
    more = _MORE.get(f"{function.__module__}.{function.__name__}", "")
    message = _describe_call_mismatch(function, args, options) + more
    return prefix_operation_name(name or function.__name__, TypeError(message))


# Keywords of other libraries, and their names here.
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
# Other libraries have functions of these names that do something else.
_MORE = {
    "tensorlayout.tracing.trace": "; a matrix has linalg.trace(x)",
    "tensorlayout.functions.methods_of_arrays.view": "; reshape() changes the shape",
}


def _describe_call_mismatch(
    function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> str:
    """Return a message that says which argument is wrong, and how to call the function."""
    signature = inspect.signature(function)
    name, parameters = function.__name__, list(signature.parameters.values())
    call = _format_signature(name, parameters)
    accepted = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    for keyword in options:
        if keyword not in accepted:
            return _describe_unknown_keyword(keyword, accepted, set(positional), call)
    if len(args) > len(positional) and all(p.kind is not p.VAR_POSITIONAL for p in parameters):
        if positional and positional[-1] == "arrays":
            return f"the tensors must be one sequence: {name}([x, y])"
        if positional[-1:] in (["shape"], ["axes"], ["repetitions"]):
            sizes = short_repr(tuple(args[len(positional) - 1 :]))
            usage = f"{name}({', '.join([*positional[:-1], sizes])})"
            more = "; swapaxes() exchanges two axes" if name == "permute_dims" else ""
            return f"{positional[-1]} must be one tuple: {usage}{more}"
        plural = "" if len(positional) == 1 else "s"
        return f"takes {len(positional)} positional argument{plural}, got {len(args)}: {call}"
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        return f"{error}: {call}"
    return call


def _describe_unknown_keyword(
    keyword: str, accepted: set[str], positional: set[str], usage: str
) -> str:
    if keyword in positional:
        return f"{keyword} is given by position: {usage}"
    own_name, unexpected = _KEYWORDS.get(keyword), f"got an unexpected keyword argument {keyword!r}"
    if own_name in accepted | positional:
        positional_hint = "" if own_name in accepted else ", and given by position"
        return f"{unexpected}; it is called {own_name} here{positional_hint}: {usage}"
    if keyword in _FIXES:
        return f"{unexpected}; {_FIXES[keyword].format(call=usage)}"
    import difflib  # only needed for errors

    close = difflib.get_close_matches(keyword, sorted(accepted), 1)
    return (
        f"{unexpected}; did you mean {close[0]!r}? {usage}" if close else f"{unexpected}: {usage}"
    )


def _format_signature(name: str, parameters: Sequence[inspect.Parameter]) -> str:
    """Return the text of a call: operands, then options with their defaults."""
    arguments = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            arguments.append(f"*{p.name}")
        elif p.default is p.empty:
            arguments.append(p.name if p.kind is not p.KEYWORD_ONLY else f"{p.name}=…")
        elif p.kind is not p.VAR_KEYWORD:
            arguments.append(f"{p.name}={short_repr(p.default)}")
    return f"{name}({', '.join(arguments)})"
