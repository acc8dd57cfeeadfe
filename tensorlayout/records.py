"""Dataclasses that share their methods.

The standard library's generate, and compile, methods for each class: a third of a millisecond for
every one that is imported. These differ in nothing else; `dataclasses.replace` and `fields` work.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from typing import Any, NoReturn, TypeVar, dataclass_transform

__all__ = ["frozen", "planned"]

_Class = TypeVar("_Class")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def planned(kind: type[_Class]) -> type[_Class]:
    """Make `kind` a dataclass of slots that is equal to itself alone.

    Type checkers see to it that nobody changes one; Python does not.
    """
    return _with({"__init__": _init, "__repr__": _repr}, kind)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[_Class]) -> type[_Class]:
    """Make `kind` a dataclass of slots that nobody changes; two of equal members are equal."""
    return _with(_FROZEN, kind)


def _with(methods: dict[str, Any], kind: type[_Class]) -> type[_Class]:
    for name in methods.keys() - vars(kind).keys():
        setattr(kind, name, methods[name])
    return dataclass(slots=True, eq=False, init=False, repr=False)(kind)


def _members(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__match_args__])


def _init(self: Any, *values: Any, **named: Any) -> None:
    names, fields = self.__match_args__, self.__dataclass_fields__
    rest = names[len(values) :]
    values += tuple([named.pop(n) if n in named else _default(fields[n]) for n in rest])
    if named or len(values) > len(names) or any(value is MISSING for value in values):
        msg = f"{type(self).__name__}: needs {', '.join(names)}; got {values} and {named}"
        raise TypeError(msg)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(self, name, value)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _default(member: Field[Any]) -> Any:
    return member.default if member.default_factory is MISSING else member.default_factory()


def _repr(self: Any) -> str:
    members = zip(self.__match_args__, _members(self), strict=True)
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in members)})"


def _eq(self: Any, other: object) -> Any:
    return _members(self) == _members(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_members(self))


def _unchanged(self: Any, name: str, value: object = None) -> NoReturn:
    msg = f"cannot change {name!r}"
    raise FrozenInstanceError(msg)


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), _members(self)


_FROZEN: dict[str, Any] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _unchanged,
    "__delattr__": _unchanged,
    "__reduce__": _reduce,
}
