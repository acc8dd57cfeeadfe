"""What a user's wrong call says, and how much of our inside it shows.

`guarded` is put around the public functions, once, where the package gathers them. It costs a call
of Python's; functions inside the package call one another bare.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tensorlayout.words import REFUSALS, named

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Error = TypeVar("_Error", bound=Exception)

VARIABLE = "TENSORLAYOUT_TRACEBACKS"

# Set by the variable: "full" keeps the frames inside the package.
_full = os.environ.get(VARIABLE) == "full"


@functools.cache  # one for all the namespaces that have the function
def guarded(function: _Function) -> _Function:
    """`function` for users: a wrong call is told in our words, errors show few frames of ours."""
    within, name = function.__module__, function.__name__
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


_CHAPTERS = "tensorlayout.functions."
_FORMATS = "tensorlayout.formats."


def guard(space: dict[str, Any], names: Iterable[str]) -> None:
    """Put the guard around a namespace's functions; elementwise ones look after themselves."""
    for name in names:
        function = space.get(name)
        if inspect.isfunction(function) and function.__module__.startswith(_GUARDED):
            space[name] = guarded(function)


_SPACES = ("fft", "formats", "linalg", "tracing")
_GUARDED = (_CHAPTERS, *(f"tensorlayout.{space}" for space in _SPACES))


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
        error.args = (said if said.startswith(f"{name}: ") else f"{name}: {said}",)
    return bare(error)


def bare(error: _Error) -> _Error:
    """Return `error` without the frames of the package."""
    return error if _full else error.with_traceback(None)


_HERE = os.path.dirname(__file__)


def _ours(error: Exception) -> bool:
    """Return whether all frames between the call and the fault are the package's."""
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_HERE):
            return False
        trace = trace.tb_next
    return True


def misfit(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> TypeError:
    """The error of a call whose arguments do not fit the parameters of `function`."""
    from tensorlayout.misfits import said  # only for errors

    return named(function.__name__, TypeError(said(function, args, options)))
