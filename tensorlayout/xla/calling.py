"""Definition of XLA's functions: one-line definitions, argument checks, rules.

Many of XLA's utilities are one expression on `Shape` or `XlaLayout`. They are declared by a
signature without a body under ``@define_by("expression")``, which also writes the docstring.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, SupportsIndex, TypeVar, get_type_hints

from tensorlayout.errors import (
    REFUSALS,
    finalize_public_error,
    guard_methods,
    short_repr,
    truncate,
)
from tensorlayout.support.spellings import make_module_dir

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])

# Annotations are texts here, because the modules import `annotations` from __future__. Only these
# classes are checked: other parameters accept several types or check themselves.
_CHECKED_ANNOTATIONS = {"PrimitiveType", "Shape", "Shape | XlaLayout", "XlaLayout", "int"}


def define_by(expression: str, remark: str = "") -> Callable[[_FunctionT], _FunctionT]:
    """Return a decorator that gives a declared function the result of an expression.

    `expression`: may use the parameters and the names of the function's module. The docstring shows
    it, followed by `remark`.
    """

    def make_function_from_expression(declared: _FunctionT) -> _FunctionT:
        # A lambda with the same parameters, compiled from the expression. Annotations are left out,
        # because a lambda cannot have them; update_wrapper copies them back.
        signature = inspect.signature(declared)
        bare_parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        parameters = str(inspect.Signature(bare_parameters))[1:-1]
        # The expression takes the place of a file name, so it shows in tracebacks.
        code = compile(f"lambda {parameters}: {expression}", f"<{expression}>", "eval")
        # With the module's own globals, so that an expression may use functions defined further
        # below.
        function: _FunctionT = eval(code, declared.__globals__)
        functools.update_wrapper(function, declared)
        function.__doc__ = f"Return ``{expression}``.{remark and ' '}{remark}"
        return function

    return make_function_from_expression


@functools.cache  # aliases of a function remain the same object
def _with_argument_check(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with a clear TypeError for an argument of the wrong class.

    Other errors keep their message and lose our frames. The check runs only after an error, so
    correct calls cost one more function call.
    """

    @functools.wraps(function)
    def call_explaining_wrong_argument(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        # A text instead of a Shape fails at its first attribute, deep inside, so AttributeErrors
        # are explained, too.
        except (AttributeError, TypeError) as error:
            misfit = _describe_wrong_argument(function, args, kwargs)
            if misfit:
                raise TypeError(f"{function.__name__}: {misfit}") from None
            if isinstance(error, AttributeError):  # a fault, whose frames help
                raise
            raise finalize_public_error(error) from error.__cause__
        except REFUSALS as error:
            raise finalize_public_error(error) from error.__cause__

    return call_explaining_wrong_argument


def _describe_wrong_argument(function: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """Return the text on the first argument of a wrong class; empty if there is none."""
    try:
        bound_arguments = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # too many or too few arguments
        return ""
    # Objects with __index__, such as NumPy's integers, are accepted as int.
    classes = get_type_hints(function) | {"int": SupportsIndex}
    for name, annotation in function.__annotations__.items():
        # get_type_hints() evaluates the annotation texts, here to the classes for isinstance().
        expected = classes["int" if annotation == "int" else name]
        if (
            annotation in _CHECKED_ANNOTATIONS
            and name in bound_arguments
            and not isinstance(bound_arguments[name], expected)
        ):
            return f"{name} must be of class {annotation}, got {short_repr(bound_arguments[name])}"
    return ""


def require(condition: object, rule: str, *received: Any, subject: Any = None) -> None:
    """Raise ValueError with `rule`, `subject` and the received values unless `condition` holds."""
    if not condition:
        subject_text = "" if subject is None else f" {_format_value(subject)}"
        raise ValueError(f"{rule}{subject_text}, got {' and '.join(map(_format_value, received))}")


def require_in_range(allowed: range, name: str, number: int, subject: Any) -> None:
    """Raise ValueError for a number outside the range that `subject`, a shape or layout, allows."""
    minimum, maximum = allowed.start, allowed.stop - 1
    require(
        minimum <= number <= maximum,
        f"{name}: must be from {minimum} to {maximum} for",
        number,
        subject=subject,
    )


def _format_value(x: Any) -> str:
    """Return the text of a shape, layout, tile or type; a short repr of other objects."""
    # str() of a shape or layout is XLA's text, which is shorter and more familiar than its repr.
    is_ours = type(x).__module__.startswith("tensorlayout.")
    return truncate(getattr(x, "text", x)) if is_ours else short_repr(x)


def export_with_argument_checks(namespace: dict[str, Any], *extra_modules: ModuleType) -> None:
    """Set ``__all__`` to the public names and wrap the functions in argument checks.

    From then on the module's own functions report wrong arguments. This is done here, because type
    checkers take an ``__all__`` that the module computes itself for empty.
    """
    module_names = {namespace["__name__"], *(chapter.__name__ for chapter in extra_modules)}
    # Imported names stay out: `__module__` says where an object was defined, also for the names
    # that a star import brought.
    own_names = {
        name: x for name, x in namespace.items() if getattr(x, "__module__", "") in module_names
    }
    namespace["__all__"] = sorted(name for name in own_names if not name.startswith("_"))
    namespace["__dir__"] = make_module_dir(namespace)
    # Functions of the extra modules have been wrapped by their own module.
    for name in namespace["__all__"]:
        value = own_names[name]
        if value.__module__ != namespace["__name__"]:
            continue
        if inspect.isfunction(value):
            namespace[name] = _with_argument_check(value)
        elif inspect.isclass(value):
            guard_methods(value)
