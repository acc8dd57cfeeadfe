"""XLA's functions: aliases of expressions, wrong arguments named, rules that must hold."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, SupportsIndex, TypeVar, get_type_hints

from tensorlayout.errors import cut, shown

_Function = TypeVar("_Function", bound=Callable[..., Any])

_KINDS = {"PrimitiveType", "Shape", "Shape | XlaLayout", "XlaLayout", "int"}


def alias(expression: str, remark: str = "") -> Callable[[_Function], _Function]:
    """Return a decorator that gives a function without a body its result: an expression.

    `expression`: of the parameters, and of the names in the module of the function. The docstring
    has it, and the `remark`.
    """

    def decorate(declared: _Function) -> _Function:
        signature = inspect.signature(declared)
        plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        parameters = str(inspect.Signature(plain))[1:-1]
        code = compile(f"lambda {parameters}: {expression}", f"<{expression}>", "eval")
        function: _Function = eval(code, declared.__globals__)
        functools.update_wrapper(function, declared)
        function.__doc__ = f"Return ``{expression}``.{remark and ' '}{remark}"
        return function

    return decorate


@functools.cache  # one for all the names of a function
def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with a TypeError for an argument that is no shape, layout, type or integer.

    Any other error is shown as it is.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError):
            misfit = _misfit(function, args, kwargs)
            if not misfit:
                raise
            raise TypeError(f"{function.__name__}: {misfit}") from None

    return call


def _misfit(function: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """Describe the first argument of a wrong class; return nothing without one."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # too many, or too few
        return ""
    classes = get_type_hints(function) | {"int": SupportsIndex}
    for name, kind in function.__annotations__.items():
        expected = classes["int" if kind == "int" else name]
        if kind in _KINDS and name in given and not isinstance(given[name], expected):
            return f"{name} must be of class {kind}, got {shown(given[name])}"
    return ""


def require(holds: object, rule: str, *got: Any, of: Any = None) -> None:
    """Raise ValueError unless a rule holds: the rule, which ends in what it is `of`; what came."""
    if not holds:
        place = "" if of is None else f" {_worded(of)}"
        raise ValueError(f"{rule}{place}, got {' and '.join(map(_worded, got))}")


def require_in(numbers: range, name: str, number: int, of: Any) -> None:
    """Raise ValueError for a number that is not in a range, that `of` a shape or a layout."""
    least, most = numbers.start, numbers.stop - 1
    require(least <= number <= most, f"{name}: must be from {least} to {most} for", number, of=of)


def _worded(x: Any) -> str:
    """Return a shape, layout, tile or type as its text, all else as errors repeat it."""
    is_ours = type(x).__module__.startswith("tensorlayout.")
    return cut(getattr(x, "text", x)) if is_ours else shown(x)


def export(space: dict[str, Any], *chapters: ModuleType) -> None:
    """Set ``__all__`` of a module: what it, or one of `chapters`, defines without an underscore.

    Its own functions name a wrong argument from then on. Type checkers would take an ``__all__``
    that the module itself computes for an empty one.
    """
    homes = {space["__name__"], *(chapter.__name__ for chapter in chapters)}
    own = {name: x for name, x in space.items() if getattr(x, "__module__", "") in homes}
    space["__all__"] = sorted(name for name in own if not name.startswith("_"))
    for name in space["__all__"]:
        if inspect.isfunction(own[name]) and own[name].__module__ == space["__name__"]:
            space[name] = _named(own[name])
