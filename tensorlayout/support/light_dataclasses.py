"""Dataclasses that share their methods.

The standard library's generate, and compile, methods for each class: up to half a millisecond for
every one that is imported. These differ in nothing else; `dataclasses.replace` and `fields` work.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, field, make_dataclass
from inspect import signature
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def planned(kind: type[_Class]) -> type[_Class]:
    """Make `kind` a dataclass of slots that is equal to itself alone.

    Type checkers see to it that nobody changes one; Python does not.
    """
    return cast(type[_Class], _with({"__init__": _init, "__repr__": _repr}, kind))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[_Class]) -> type[_Class]:
    """Make `kind` a dataclass of slots that nobody changes; two of equal members are equal."""
    return cast(type[_Class], _with(_FROZEN, kind))


def _with(methods: dict[str, Any], kind: Any) -> Any:
    space, before = methods | vars(kind), getattr(kind, "__match_args__", ())
    of_class = ("ClassVar", "typing.ClassVar")
    own = [n for n, t in kind.__annotations__.items() if not str(t).startswith(of_class)]
    defaults = {name: space.pop(name) for name in own if name in space}
    names = (*before, *(name for name in own if name not in before))
    for name in ("__dict__", "__weakref__"):
        space.pop(name, None)
    space["__slots__"] = names[len(before) :]
    space["__match_args__"] = names
    space["_key"] = attrgetter(*names) if names else type
    space["_defaults"] = getattr(kind, "_defaults", {}) | defaults
    space["__dataclass_fields__"], space["__signature__"] = _FIELDS, _SIGNATURE
    made = type(kind)(kind.__name__, kind.__bases__, space)
    made.__qualname__ = kind.__qualname__
    return made


class _Fields:
    """The members that the functions of `dataclasses` look for, worked out when they do."""

    def __get__(self, instance: object, owner: Any) -> Any:
        owner.__dataclass_fields__ = _standard(owner, init=False).__dataclass_fields__
        return owner.__dataclass_fields__


class _Signature:
    """The signature that `help` looks for, worked out when it does."""

    def __get__(self, instance: object, owner: Any) -> Any:
        return signature(_standard(owner, init=True))


def _standard(owner: Any, init: bool) -> Any:
    """A dataclass of the standard library with the same members."""
    types = {n: t for kind in owner.__mro__[-2::-1] for n, t in kind.__annotations__.items()}
    members = [(n, types[n], owner._defaults.get(n, MISSING)) for n in owner.__match_args__]
    space = {"__doc__": "standard"}  # without one, a signature is worked out
    return make_dataclass("standard", members, namespace=space, init=init, repr=False, eq=False)


def _members(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__match_args__])


def _init(self: Any, *values: Any, **named: Any) -> None:
    names = self.__match_args__
    if len(values) != len(names) or named:
        values = _completed(self, values, named)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(self, name, value)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _completed(self: Any, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return the values of all members: those given by place, by name, and defaults."""
    names = self.__match_args__
    rest = names[len(values) :]
    for name in rest:
        found = named.pop(name) if name in named else self._defaults.get(name, MISSING)
        values += (_default(found) if isinstance(found, Field) else found,)
    missing = [value for value in values if value is MISSING]
    if named or len(values) > len(names) or missing:
        msg = f"{type(self).__name__}: needs {', '.join(names)}; got {values} and {named}"
        raise TypeError(msg)
    return values


def _default(found: Field[Any]) -> Any:
    return found.default if found.default_factory is MISSING else found.default_factory()


def _repr(self: Any) -> str:
    members = zip(self.__match_args__, _members(self), strict=True)
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in members)})"


def _eq(self: Any, other: Any) -> Any:
    return self._key(self) == self._key(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self._key(self))


def _unchanged(self: Any, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot change {name!r}")


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), _members(self)


_FIELDS, _SIGNATURE = _Fields(), _Signature()

_FROZEN: dict[str, Any] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _unchanged,
    "__delattr__": _unchanged,
    "__reduce__": _reduce,
}
