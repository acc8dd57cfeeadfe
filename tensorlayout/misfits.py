"""What is wrong with a call whose arguments do not fit, in words; imported for errors only."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tensorlayout.words import shown

# Keywords of other libraries: ours, or what to do.
_KEYWORDS = {
    "dim": "axis",
    "dims": "axis",
    "axes": "axis",
    "keepdim": "keepdims",
    "ddof": "correction",
    "unbiased": "correction",
    "order": "layout",
    "memory_format": "layout",
    "newshape": "shape",
    "size": "shape",
    "shifts": "shift",
    "reps": "repetitions",
    "a_min": "min",
    "a_max": "max",
    "reverse": "descending",
}
_INSTEAD = {
    "out": "out[...] = {call} writes into memory that is there",
    "where": "where(mask, x, 0) first, or x[mask]",
    "initial": "use maximum() or minimum() on the result, or add to it",
    "dtype": "use astype() first",
    "device": "use x.to_device() first",
    "requires_grad": "there is no automatic differentiation",
    "kind": "sorts are stable; stable=False allows others",
    "casting": "use astype() first",
    "decimals": "x.round(decimals)",
}
_SHAPES = {"shape", "axes", "repetitions"}  # one argument, which others take as several
_MISSING = {"where": "nonzero(condition) gives positions"}
_OTHER = {"trace": "with trace() as seen: records operations; a matrix has linalg.trace(x)"}


def said(function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> str:
    """The first thing that is wrong, and how the call is written."""
    if function.__name__ in _OTHER:
        return _OTHER[function.__name__]
    parameters = list(inspect.signature(function).parameters.values())
    call = _written(function.__name__, parameters)
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    takes = {p.name for p in by_place if p.kind is p.POSITIONAL_OR_KEYWORD}.union(by_name)
    if len(args) > len(by_place) and all(p.kind is not p.VAR_POSITIONAL for p in parameters):
        return _too_many(function.__name__, args, [p.name for p in by_place], by_name, call)
    if function.__name__ == "round" and type(decimals := options.get("out")) is int:
        return f"decimals are of the method: x.round({decimals})"
    for name in options:
        if name not in takes:
            return _unknown(name, takes, {p.name for p in by_place}, call)
    for parameter in by_place[: len(args)]:
        if parameter.name in options:
            return f"{parameter.name} is given twice: {call}"
    needed = [p for p in by_place[len(args) :] if p.default is p.empty]
    missing = [p.name for p in needed if p.name not in options]
    missing += [n for n in by_name if _required(parameters, n) and n not in options]
    verb = "is" if len(missing) == 1 else "are"
    more = _MISSING.get(function.__name__)
    return f"{', '.join(missing)} {verb} missing: {call}" + (f"; {more}" if more else "")


def _required(parameters: Sequence[inspect.Parameter], name: str) -> bool:
    return any(p.name == name and p.default is p.empty for p in parameters)


def _too_many(
    name: str, args: Sequence[Any], places: Sequence[str], names: Sequence[str], call: str
) -> str:
    more = args[len(places) :]
    last = places[-1] if places else ""
    if last == "arrays":
        return f"arrays are one argument, a tuple or list: {name}([x, y])"
    if (
        last in _SHAPES
        and places[0] != "a"
        and all(type(n) is int for n in args[len(places) - 1 :])
    ):
        whole = ", ".join([*places[:-1], shown(tuple(args[len(places) - 1 :]))])
        return f"{last} is one argument: {name}({whole})"
    if names and len(more) <= len(names) and not any(hasattr(x, "__dlpack__") for x in more):
        given = [f"{n}={_short(v)}" for n, v in zip(names, more, strict=False)]
        listed = " and ".join(names[: len(more)])
        verb = "is" if len(more) == 1 else "are"
        return f"{listed} {verb} given by name: {name}({', '.join([*places, *given])})"
    own = places[:1] == ["a"]  # a method's, which nobody counts
    return f"takes {len(places) - own} by position, got {len(args) - own}: {call}"


def _short(value: Any) -> str:
    return shown(value) if isinstance(value, (int, float, str, tuple, type(None))) else "…"


def _unknown(name: str, takes: set[str], places: set[str], call: str) -> str:
    if name in places:
        return f"{name} is given by position: {call}"
    here = _KEYWORDS.get(name)
    if here in takes:
        return f"{name} is called {here} here: {call}"
    if here in places:
        return f"{name} is called {here} here, and given by position: {call}"
    close = [n for n in sorted(takes) if n.startswith(name) or name.startswith(n)]
    if name in _INSTEAD:
        return f"there is no {name}=; {_INSTEAD[name].format(call=call)}"
    return f"there is no {name}={f'; did you mean {close[0]}=?' if close else ''}: {call}"


def _written(name: str, parameters: Sequence[inspect.Parameter]) -> str:
    """A call of a function, as it is written: operands, then options with what they are else."""
    parts = []
    if parameters and parameters[0].name == "a":  # a method, and what NumPy calls its first
        name, parameters = f"x.{name}", parameters[1:]
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}")
        elif p.default is p.empty:
            parts.append(p.name if p.kind is not p.KEYWORD_ONLY else f"{p.name}=…")
        elif p.kind is not p.VAR_KEYWORD:
            parts.append(f"{p.name}={shown(p.default)}")
    return f"{name}({', '.join(parts)})"
