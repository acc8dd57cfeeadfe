"""The message of a call whose arguments do not fit the function; imported for errors only."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorlayout.words import shown

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
}


def said(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> str:
    """Return what does not fit, and how the function is called."""
    signature = inspect.signature(function)
    name, parameters = function.__name__, list(signature.parameters.values())
    call = _written(name, parameters) + _MORE.get(name, "")
    takes = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for given in options:
        if given not in takes:
            return _unknown(given, takes, set(places), call)
    if len(args) > len(places):
        if places and places[-1] == "arrays":
            return f"arrays are one argument, a tuple or list: {name}([x, y])"
        if places[-1:] in (["shape"], ["axes"], ["repetitions"]):
            sizes = shown(tuple(args[len(places) - 1 :]))
            return f"{places[-1]} is one argument: {name}({', '.join([*places[:-1], sizes])})"
        return f"takes {len(places)} by position, got {len(args)}: {call}"
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
