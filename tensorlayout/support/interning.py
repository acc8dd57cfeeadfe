"""Interned values: equal ones are one object, in all threads.

There are no locks: a child of a fork or a finalizer could wait for one forever. A value enters its
table by one call of C, ``dict.setdefault``. If several threads create it at once, all get the first
one that entered.
"""

from __future__ import annotations

import functools
import sys
import weakref
from _weakref import _remove_dead_weakref  # type: ignore[attr-defined]
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

Value = TypeVar("Value")


class Interned(Generic[Value]):
    """Weak table of values by key; a value lives as long as it is used elsewhere."""

    __slots__ = ("_references", "find_reference")

    def __init__(self) -> None:
        self._references: dict[Hashable, weakref.ref[Value]] = {}
        # Returns the weak reference of a key, or None.
        self.find_reference = self._references.get

    def intern(self, key: Hashable, candidate: Value) -> Value:
        """Return the only value of `key`: `candidate` if there was none."""
        # Locals, because Python clears globals first at exit, and callbacks may run after that.
        references, remove = self._references, _remove_dead_weakref

        def remove_entry(_: object) -> None:
            remove(references, key)

        reference = weakref.ref(candidate, remove_entry)
        while True:
            value = references.setdefault(key, reference)()
            if value is not None:
                return value
            # The dead entry's own callback may never finish: it may be suspended below us on the
            # stack, or in a thread that a fork left behind.
            remove_entry(reference)


def memoize(function: Callable[..., Value]) -> functools._lru_cache_wrapper[Value]:
    """Cache like `functools.cache`, but simultaneous callers get one object."""
    results: dict[tuple[Any, ...], Value] = {}

    @functools.wraps(function)
    def compute_and_keep_first(*key: Any) -> Value:
        # Two threads may both compute a value; both get the one that is stored first.
        return results.setdefault(key, function(*key))

    memoized = functools.cache(compute_and_keep_first)
    clear_cache = memoized.cache_clear

    def cache_clear() -> None:
        results.clear()
        clear_cache()

    memoized.cache_clear = cache_clear  # type: ignore[method-assign]
    return memoized


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - the name in functools
        """`functools.cached_property` without its lock before Python 3.12."""

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            """Return the cached value; compute it on first access."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
