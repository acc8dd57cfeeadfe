"""What stands around a call of XLA's functions: errors that name them, results that are kept.

Code that finds a rule broken calls `refuse` and knows no names. The innermost function around it
that is `named` puts its own in front.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Set
from typing import Any, NoReturn, SupportsIndex, TypeVar, cast, get_type_hints

from tensorlayout.words import shown

_Function = TypeVar("_Function", bound=Callable[..., Any])

_KEPT = 1024  # results of a function
_KINDS = frozenset({"PrimitiveType", "Shape", "Shape | XlaLayout", "XlaLayout", "int"})


class _NamelessError(ValueError):
    """A rule that was broken in a function whose name is still to be put in front."""

    def __init__(self, text: str, error: type[Exception]) -> None:
        self.error = error
        super().__init__(text)


def refuse(rule: str, *came: str, about: str = "", error: type[Exception] = ValueError) -> NoReturn:
    """Raise an error: ``about: rule, got came``.

    `about`: what the rule is for; by default the function around that is `named`.
    """
    text = f"{rule}, got {' and '.join(came)}" if came else rule
    if not about:
        raise _NamelessError(text, error)
    msg = f"{about}: {text}"
    raise error(msg)


@functools.cache
def _naming(
    function: Callable[..., Any], name: str, kinds: frozenset[str] = frozenset()
) -> Callable[..., Any]:
    """`function` under a name, which stands in front of what is refused in it.

    Where a call fails of itself, parameters annotated with one of the `kinds` are looked at: an
    argument of another kind is told, any other fault is shown as it is.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except _NamelessError as refused:
            error = refused.error(f"{name}: {refused}")
        except (AttributeError, TypeError):
            misfit = kinds and _misfit(function, kinds, args, kwargs)
            if not misfit:
                raise
            error = TypeError(f"{name}: {misfit}")
        raise error

    call.__name__ = call.__qualname__ = name
    return call


def named(function: _Function) -> _Function:
    """`function`, whose name stands in front of what is refused in it."""
    return cast(_Function, _naming(function, function.__name__))


def offer(module: str, *others: str) -> None:
    """Make ``__all__`` of a module: what it defines without an underscore, and `others` in it.

    From here on its functions name themselves, and the argument that made them fail by its kind.
    """
    space = vars(sys.modules[module])
    own = {name for name, x in space.items() if getattr(x, "__module__", "") == module}
    names = sorted({name for name in own if not name.startswith("_")} | set(others))
    for name in names:
        function = inspect.unwrap(space[name])
        if inspect.isfunction(function):
            space[name] = _naming(function, name, _KINDS)
            # Where it is from, too: there pickle looks it up.
            setattr(sys.modules[function.__module__], name, space[name])
    space["__all__"] = names


def _misfit(function: Callable[..., Any], kinds: Set[str], args: Any, kwargs: Any) -> str:
    """What to say of the first argument of a wrong kind; nothing without one."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # too many, or too few
        return ""
    meant = get_type_hints(function) | {"int": SupportsIndex}
    for name, kind in function.__annotations__.items():
        fits = meant["int" if kind == "int" else name]
        if kind in kinds and name in given and not isinstance(given[name], fits):
            return f"{name} must be of class {kind}, got {shown(given[name])}"
    return ""


def remembered(function: _Function) -> _Function:
    """`function` of immutable values, whose last results are kept.

    Arguments that cannot be keys go past what is kept.
    """
    kept = functools.lru_cache(_KEPT)(function)

    @functools.wraps(function)
    def call(*key: Any) -> Any:
        try:
            return kept(*key)
        except TypeError:
            pass
        return function(*key)

    return cast(_Function, call)


def checked_names(ignore: Collection[str], allowed: Set[str]) -> Set[str]:
    """What ``equal`` leaves out, as a set of the names `allowed`; a text is one name."""
    try:
        names = frozenset((ignore,) if isinstance(ignore, str) else ignore)
    except TypeError:
        msg = f"equal: ignore must be a collection of names, got {shown(ignore)}"
        raise TypeError(msg) from None
    if not names <= allowed:
        came = shown(sorted(names - allowed, key=shown))
        refuse(f"ignore must be of {sorted(allowed)}", came)
    return names
