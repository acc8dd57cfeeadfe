"""Error messages: formatting of arguments, prefix with the function's name, short tracebacks.

Code inside the package raises errors without a function name. `wrap_public_function` wraps each
public function once: it prefixes the message with the function's name, explains calls whose
arguments do not match the signature, and ends the traceback at the user's line. It costs one Python
call; functions inside the package call each other without it.
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
_keep_all_frames = os.environ.get(VARIABLE) == "full"
# Files whose frames are no user's; the cached_property of `functools` calls the package's code.
_OURS = os.path.join(os.path.dirname(__file__), ""), functools.__file__


class CopyError(RuntimeError):
    """A copy, change of layout, or export refused by `no_copies`; no data has been moved.

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


# What a call may be refused with.
REFUSALS = (
    *(IndexError, NotImplementedError, OverflowError, TypeError, ValueError),
    *(BufferError, MemoryError, CopyError),
)

_Result = TypeVar("_Result")
_Error = TypeVar("_Error", bound=Exception)
_Function = TypeVar("_Function", bound=Callable[..., Any])

# --- what errors repeat of an argument: short, whatever its size --------------------------------

_LETTERS = 60  # of a value or a text that is repeated whole
_ROOM = 200  # letters for the items of a sequence, and of a text that errors are about
_BITS = 128  # of an integer that is written out: Python itself refuses 4300 digits
_LEVELS = 3  # of sequences in sequences


def short_repr(x: Any, max_letters: int = _LETTERS) -> str:
    """Return a short repr of `x` for an error message: truncated, or only its type, if it is long.

    Text is cut to `max_letters` letters; of a sequence, the first items and the length are shown.

    >>> short_repr(10**5000), short_repr((0,) * 32000)[:13], short_repr("word")
    ('an integer of 16610 bits', '(0, 0, 0, 0, ', "'word'")
    """
    return _short_repr_at_level(x, max_letters, 0)


def truncate(text: Any, max_letters: int = _ROOM) -> str:
    """Truncate a text, such as that of a layout, to `max_letters` letters, without quotes."""
    whole = str(text)
    return whole if len(whole) <= max_letters else f"{whole[:max_letters]}…"


def qualified_type_name(x: Any) -> str:
    """Return the name of the type of `x`, after the name of its library."""
    value_type = type(x)
    module_prefix = (
        "" if value_type.__module__ == "builtins" else f"{value_type.__module__.split('.')[0]}."
    )
    return truncate(f"{module_prefix}{value_type.__name__}", _LETTERS)


def _short_repr_at_level(x: Any, max_letters: int, level: int) -> str:
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
    except Exception:  # whatever the repr of a stranger raises
        return qualified_type_name(x)
    return qualified_type_name(x) if len(text) > max_letters or " at 0x" in text else text


def _short_sequence_repr(x: Any, max_letters: int, level: int) -> str:
    """Return the repr of a tuple or list with as many items as fit."""
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
    """Return `error` with the operation's name before its message, unless it has one already.

    The code that raises does not know the operation; its caller adds the name and re-raises.
    """
    if not hasattr(error, "said"):
        vars(error)["said"] = str(error)
        error.args = (f"{name}: {error}",)
    return error


def raise_named_error(name: str, text: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise an error that begins with an operation's name."""
    raise prefix_operation_name(name, error(text))


def call_with_error_name(
    name: str, function: Callable[..., _Result], *args: Any, **options: Any
) -> _Result:
    """Call `function`; replace or add the name at the beginning of its errors."""
    try:
        return function(*args, **options)
    except REFUSALS as error:
        raise finalize_public_error(error, name) from error.__cause__


def finalize_public_error(error: _Error, name: str = "") -> _Error:
    """Prefix `error` with the name of the call, and strip the package's frames from it.

    `name`: the function that the user called; it replaces a name added by an inner function. Errors
    that passed through the user's own code or come from another library are not changed.
    """
    if not _is_raised_in_package(error):
        return error
    if name:
        message = vars(error).setdefault("said", str(error))
        # Python's own errors of calls name the function already.
        called, separator, _ = message.partition("() ")
        is_named = bool(separator) and called.endswith(name) and " " not in called
        error.args = (
            message if is_named or message.startswith(f"{name}: ") else f"{name}: {message}",
        )
    return strip_package_frames(error)


def strip_package_frames(error: _Error) -> _Error:
    """Return `error` without the frames of the package."""
    return error if _keep_all_frames else error.with_traceback(None)


def _is_raised_in_package(error: Exception) -> bool:
    """Return whether all frames from the call to the error belong to the package."""
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_OURS):
            return False
        trace = trace.tb_next
    return True


# --- the guard of public functions ---------------------------------------------------------------


@functools.cache  # one for all the namespaces that have the function
def wrap_public_function(function: _Function, name: str = "") -> _Function:
    """Wrap `function` for users: explain mismatched arguments and shorten tracebacks."""
    module_name, name = function.__module__, name or function.__name__
    if module_name.startswith(_FORMATS):
        name = f"{module_name.removeprefix(_FORMATS)}.{name}"

    def checked_call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is None:  # raised here: the call does not fit
                raise call_mismatch_error(function, args, options) from None
            raise finalize_public_error(error, name) from error.__cause__
        except REFUSALS as error:
            raise finalize_public_error(error, name) from error.__cause__

    checked_call.__module__ = "tensorlayout" if module_name.startswith(_CHAPTERS) else module_name
    checked_call.__name__, checked_call.__qualname__ = function.__name__, function.__qualname__
    checked_call.__doc__, checked_call.__annotations__ = function.__doc__, function.__annotations__
    vars(checked_call)["__wrapped__"] = function  # for signatures
    return checked_call  # type: ignore[return-value]


# Modules whose functions users see under the name `tensorlayout`.
_CHAPTERS = ("tensorlayout.files", "tensorlayout.functions.")
_FORMATS = "tensorlayout.formats."


def wrap_public_functions(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Wrap a namespace's functions, except elementwise ones, which handle errors themselves."""
    for name in names:
        function = namespace.get(name)
        if name == "explain":  # errors of the call that it runs keep their name
            continue
        if inspect.isfunction(function) and function.__module__.startswith(_GUARDED):
            namespace[name] = wrap_public_function(function)


# Classes, and functions that other libraries define, stay without the guard.
_SPACES = ("fft", "formats", "linalg", "tracing")
_GUARDED = (*_CHAPTERS, *(f"tensorlayout.{space}" for space in _SPACES))


def call_mismatch_error(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> TypeError:
    """Return the error of a call whose arguments do not fit the parameters of `function`."""
    return prefix_operation_name(
        function.__name__, TypeError(_describe_call_mismatch(function, args, options))
    )


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


def _describe_call_mismatch(
    function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> str:
    """Describe which argument does not match, and how the function is called."""
    signature = inspect.signature(function)
    name, parameters = function.__name__, list(signature.parameters.values())
    call = _format_signature(name, parameters) + _MORE.get(name, "")
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
    import difflib  # only for errors

    close = difflib.get_close_matches(keyword, sorted(accepted), 1)
    return (
        f"{unexpected}; did you mean {close[0]!r}? {usage}" if close else f"{unexpected}: {usage}"
    )


def _format_signature(name: str, parameters: Sequence[inspect.Parameter]) -> str:
    """Return a signature as text: operands, then options with their defaults."""
    arguments = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            arguments.append(f"*{p.name}")
        elif p.default is p.empty:
            arguments.append(p.name if p.kind is not p.KEYWORD_ONLY else f"{p.name}=…")
        elif p.kind is not p.VAR_KEYWORD:
            arguments.append(f"{p.name}={short_repr(p.default)}")
    return f"{name}({', '.join(arguments)})"
