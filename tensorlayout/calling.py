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

    def public(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is None:  # raised here: the call does not fit
                raise misfit(function, args, options) from None
            raise leaving(error, function.__name__) from error.__cause__
        except REFUSALS as error:
            raise leaving(error, function.__name__) from error.__cause__

    within = function.__module__
    public.__module__ = "tensorlayout" if within.startswith(_CHAPTERS) else within
    public.__name__, public.__qualname__ = function.__name__, function.__qualname__
    public.__doc__, public.__annotations__ = function.__doc__, function.__annotations__
    vars(public)["__wrapped__"] = function  # for signatures
    return public  # type: ignore[return-value]


_CHAPTERS = "tensorlayout.functions."


def guard(space: dict[str, Any], names: Iterable[str]) -> None:
    """Put the guard around a namespace's functions; elementwise ones look after themselves."""
    for name in names:
        function = space.get(name)
        if inspect.isfunction(function) and function.__module__.startswith(_GUARDED):
            space[name] = guarded(function)


_SPACES = ("fft", "formats", "linalg", "tracing")
_GUARDED = (_CHAPTERS, *(f"tensorlayout.{space}" for space in _SPACES))


def leaving(error: _Error, name: str = "") -> _Error:
    """`error` as it leaves the package: without our frames, if it is one that we named.

    Other errors are faults of ours, or come from what a user gave, and keep all.
    """
    ours = hasattr(error, "said") or (name and str(error).startswith(f"{name}: "))
    return error.with_traceback(None) if ours and not _full else error


def misfit(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> TypeError:
    """The error of a call whose arguments do not fit the parameters of `function`."""
    from tensorlayout.misfits import said  # only for errors

    return named(function.__name__, TypeError(said(function, args, options)))
