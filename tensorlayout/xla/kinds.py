"""Errors of XLA's functions for arguments that are no shape, no layout, no type."""

from __future__ import annotations

import functools
import inspect
import sys
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
    for name in module.__all__:
        function = inspect.unwrap(getattr(module, name))
        if inspect.isfunction(function):
            setattr(module, name, _naming(function))
            # Where it is from, too: there pickle looks it up.
            setattr(sys.modules[function.__module__], function.__name__, _naming(function))


@functools.cache
def _naming(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    wanted = {p.name: p.annotation for p in parameters if p.annotation in _KINDS}
    if not wanted:
        return function

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
        msg = f"{function.__name__}: {wrong} must be of class {wanted[wrong]}"
        msg += f", got {shown(given[wrong])}"
        raise TypeError(msg)

    return call


def _bound(signature: inspect.Signature, args: Any, kwargs: Any) -> Mapping[str, Any]:
    """The arguments by name; none where they are too many or too few."""
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError:
        return {}
