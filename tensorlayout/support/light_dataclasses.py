"""Dataclasses that share their methods.

The standard library generates and compiles methods for each class, which takes up to half a
millisecond per class at import. Otherwise these are the same; `dataclasses.replace` and `fields`
work.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, field, make_dataclass
from inspect import signature
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def plan_dataclass(kind: type[_Class]) -> type[_Class]:
    """Make `kind` a dataclass with slots that is compared by identity.

    Type checkers treat it as frozen; at run time it is not.
    """
    return cast(
        type[_Class], _build_slots_class({"__init__": _init_fields, "__repr__": _repr_fields}, kind)
    )


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen_dataclass(kind: type[_Class]) -> type[_Class]:
    """Make `kind` a frozen dataclass with slots that is compared by its members."""
    return cast(type[_Class], _build_slots_class(_FROZEN_METHODS, kind))


def _build_slots_class(methods: dict[str, Any], cls: Any) -> Any:
    namespace, inherited = methods | vars(cls), getattr(cls, "__match_args__", ())
    class_annotations = ("ClassVar", "typing.ClassVar")
    own = [n for n, t in cls.__annotations__.items() if not str(t).startswith(class_annotations)]
    # A slot conflicts with a class attribute of the same name, so defaults move elsewhere.
    defaults = {name: namespace.pop(name) for name in own if name in namespace}
    names = (*inherited, *(name for name in own if name not in inherited))
    # These descriptors belong to the class that is replaced.
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    namespace["__slots__"] = names[len(inherited) :]
    namespace["__match_args__"] = names
    # Equality and hash compare this value in one call of C; without members it is the type.
    namespace["_key"] = attrgetter(*names) if names else type
    namespace["_defaults"] = getattr(cls, "_defaults", {}) | defaults
    namespace["__dataclass_fields__"], namespace["__signature__"] = _FIELDS, _SIGNATURE
    # Slots cannot be added to an existing class, so another one replaces it.
    new_class = type(cls)(cls.__name__, cls.__bases__, namespace)
    new_class.__qualname__ = cls.__qualname__
    return new_class


class _LazyFields:
    """Descriptor of the fields that functions of `dataclasses` read, computed on first access."""

    def __get__(self, instance: object, owner: Any) -> Any:
        owner.__dataclass_fields__ = _make_standard_dataclass(
            owner, init=False
        ).__dataclass_fields__
        return owner.__dataclass_fields__


class _LazySignature:
    """Descriptor of the signature that `help` reads, computed on first access."""

    def __get__(self, instance: object, owner: Any) -> Any:
        return signature(_make_standard_dataclass(owner, init=True))


def _make_standard_dataclass(owner: Any, init: bool) -> Any:
    """Return a standard dataclass with the same members."""
    # Bases first and without `object`, so that a subclass overrides annotations.
    types = {n: t for cls in owner.__mro__[-2::-1] for n, t in cls.__annotations__.items()}
    members = [(n, types[n], owner._defaults.get(n, MISSING)) for n in owner.__match_args__]
    namespace = {"__doc__": "standard"}  # without a docstring, dataclass computes a signature
    return make_dataclass("standard", members, namespace=namespace, init=init, repr=False, eq=False)


def _field_values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__match_args__])


def _init_fields(self: Any, *values: Any, **keyword_values: Any) -> None:
    names = self.__match_args__
    if len(values) != len(names) or keyword_values:
        values = _fill_in_field_values(self, values, keyword_values)
    for name, value in zip(names, values, strict=True):
        # The class's own `__setattr__` may refuse, if it is frozen.
        object.__setattr__(self, name, value)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _fill_in_field_values(
    self: Any, values: tuple[Any, ...], keyword_values: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the values of all members: positional, by keyword, and defaults."""
    names = self.__match_args__
    rest = names[len(values) :]
    for name in rest:
        default = (
            keyword_values.pop(name)
            if name in keyword_values
            else self._defaults.get(name, MISSING)
        )
        values += (_field_default(default) if isinstance(default, Field) else default,)
    missing = [n for n, value in zip(names, values, strict=False) if value is MISSING]
    problem = ""
    if len(values) > len(names):
        problem = f"got {len(values)} values"
    elif keyword_values:
        problem = f"got unexpected {', '.join(map(repr, keyword_values))}"
    elif missing:
        problem = f"missing {', '.join(missing)}"
    if problem:
        raise TypeError(f"{type(self).__name__}: needs {', '.join(names)}; {problem}")
    return values


def _field_default(dataclass_field: Field[Any]) -> Any:
    return (
        dataclass_field.default
        if dataclass_field.default_factory is MISSING
        else dataclass_field.default_factory()
    )


def _repr_fields(self: Any) -> str:
    members = zip(self.__match_args__, _field_values(self), strict=True)
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in members)})"


def _fields_are_equal(self: Any, other: Any) -> Any:
    return self._key(self) == self._key(other) if type(other) is type(self) else NotImplemented


def _hash_fields(self: Any) -> int:
    return hash(self._key(self))


def _raise_frozen_error(self: Any, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot change {name!r}")


def _reduce_to_fields(self: Any) -> tuple[Any, ...]:
    return type(self), _field_values(self)


_FIELDS, _SIGNATURE = _LazyFields(), _LazySignature()

_FROZEN_METHODS: dict[str, Any] = {
    "__init__": _init_fields,
    "__repr__": _repr_fields,
    "__eq__": _fields_are_equal,
    "__hash__": _hash_fields,
    "__setattr__": _raise_frozen_error,
    "__delattr__": _raise_frozen_error,
    "__reduce__": _reduce_to_fields,
}
