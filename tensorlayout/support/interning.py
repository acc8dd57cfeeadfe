"""Values made once: equal ones are one object, whichever thread asks first.

There are no locks, for which a child of a fork or a finalizer might wait. What is made enters its
table by one call of C, ``dict.setdefault``: of several that were made at once, all get the one that
entered first.
"""

from __future__ import annotations

import functools
import sys
import weakref
from _weakref import _remove_dead_weakref  # type: ignore[attr-defined]
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

Made = TypeVar("Made")


class Interned(Generic[Made]):
    """Values by their keys, each kept as long as somebody uses it."""

    __slots__ = ("_found", "find")

    def __init__(self) -> None:
        self._found: dict[Hashable, weakref.ref[Made]] = {}
        # Of a key: a reference to its value, or None.
        self.find = self._found.get

    def entered(self, key: Hashable, made: Made) -> Made:
        """The one value of `key`: `made`, if there was none."""
        found, remove = self._found, _remove_dead_weakref  # when Python ends, globals go first

        def forget(_: object) -> None:
            remove(found, key)

        new = weakref.ref(made, forget)
        while True:
            value = found.setdefault(key, new)()
            if value is not None:
                return value
            forget(new)  # whoever was about to, below us or in a thread that a fork left behind


def once(make: Callable[..., Made]) -> functools._lru_cache_wrapper[Made]:
    """`functools.cache`, but all who ask get one object, also those who ask at once."""
    made: dict[tuple[Any, ...], Made] = {}

    @functools.wraps(make)
    def enter(*key: Any) -> Made:
        return made.setdefault(key, make(*key))

    found = functools.cache(enter)
    forget = found.cache_clear

    def cache_clear() -> None:
        made.clear()
        forget()

    found.cache_clear = cache_clear  # type: ignore[method-assign]
    return found


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - as that of functools
        """`functools.cached_property` without the lock that it has before Python 3.12."""

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            """The value, worked out when it is first asked for."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
