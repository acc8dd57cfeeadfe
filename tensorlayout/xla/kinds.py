"""Errors of XLA's functions for arguments that are no shape, no layout, no type."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, SupportsIndex

from tensorlayout.words import shown
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import Shape

_KINDS: dict[Any, Any] = {  # by annotation
    "PrimitiveType": PrimitiveType,
    "Shape": Shape,
    "Shape | XlaLayout": (Shape, XlaLayout),
    "XlaLayout": XlaLayout,
    "int": SupportsIndex,
}


def name_misfits(module: ModuleType) -> None:
    """Have the public functions of a module name the argument that made them fail by its kind.

    Parameters that are annotated as a shape, a layout or an element type are looked at, and only
    when a call has failed: a fault inside a function is shown as it is.
    """
    documented = {}
    for name in module.__all__:
        function = getattr(module, name)
        if inspect.isfunction(function) and (wanted := _kinds_of(function)):
            named = _naming(name, function, wanted)
            named.__module__ = module.__name__  # where pickle looks it up
            setattr(module, name, named)
            if function.__module__ == module.__name__:
                documented[name] = function
    vars(module)["__test__"] = documented  # doctest looks into no function of another module


def _kinds_of(function: Callable[..., Any]) -> dict[str, str]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.annotation for p in parameters if p.annotation in _KINDS}


def _naming(
    name: str, function: Callable[..., Any], wanted: Mapping[str, str]
) -> Callable[..., Any]:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError):
            given = _bound(signature, args, kwargs)
            kinds = ((a, _KINDS[wanted[a]]) for a in wanted if a in given)
            wrong = next((a for a, kind in kinds if not isinstance(given[a], kind)), None)
            if wrong is None:
                raise
        msg = f"{name}: {wrong} must be of class {wanted[wrong]}, got {shown(given[wrong])}"
        raise TypeError(msg)

    return call


def _bound(signature: inspect.Signature, args: Any, kwargs: Any) -> Mapping[str, Any]:
    """The arguments by name; none where they are too many or too few."""
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError:
        return {}
