"""``with`` blocks that set a value for the code inside: a trace, a default device.

A context variable holds the value. Tasks and other threads may have copies of the variable, so each
block also records that it has been left: blocks of generators may be left in any order and thread.

If an interrupt such as KeyboardInterrupt arrives while a block is entered or left, the block is
left when its object is destroyed: after the ``with`` statement, or with the interrupt's traceback.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any, Generic, Self, TypeVar, cast

Value = TypeVar("Value")
Target = TypeVar("Target")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _ScopeEntry(Generic[Value]):
    """Value of one block until it is left."""

    __slots__ = ("has_exited", "value")

    def __init__(self, value: Value) -> None:
        self.value, self.has_exited = value, False


class Scope(Generic[Value]):
    """Value of the innermost block of this thread, and of tasks started in it.

    - `open_entries`: entries of open blocks in all threads; several scopes may share one set.
    - `outlives_block`: a task started in a block keeps the value after the block has been left.
    """

    __slots__ = ("_entries", "open_entries", "outlives_block")

    def __init__(
        self, name: str, open_entries: set[Any] | None = None, *, outlives_block: bool = False
    ) -> None:
        # Innermost block first.
        self._entries: ContextVar[tuple[_ScopeEntry[Value], ...]] = ContextVar(name, default=())
        self.open_entries = set() if open_entries is None else open_entries
        self.outlives_block = outlives_block

    def innermost_value(self) -> Value | None:
        """Return the value of the innermost block, or None outside of all blocks."""
        # A task's copy of the variable still has blocks that have been left since.
        for entry in self._entries.get():
            if not entry.has_exited:
                return entry.value
        return None

    def scope_with_value(self, value: Value) -> ScopeContext[Value, Value]:
        """Return a block that sets `value`, which is also the target of ``as``."""
        return self.scope_with_target(value, value)

    def scope_with_target(self, value: Value, as_target: Target) -> ScopeContext[Value, Target]:
        """Return a block that sets `value` and has another target of ``as``."""
        return ScopeContext(self, value, as_target)


class ScopeContext(ContextDecorator, Generic[Value, Target]):
    """Context manager for one ``with`` statement, or decorator of functions."""

    _entry: _ScopeEntry[Value] | None = None

    def __init__(self, scope: Scope[Value], value: Value, target: Target) -> None:
        self._scope, self._value, self._target = scope, value, target

    def _recreate_cm(self) -> Self:
        return type(self)(self._scope, self._value, self._target)

    def __call__(self, function: _Function) -> _Function:
        """Return the function or coroutine function with a block of its own around each call."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            name = function.__qualname__
            msg = f"{name} is a generator, whose code runs after the call; open the block inside"
            raise TypeError(msg)
        if not inspect.iscoroutinefunction(function):
            return super().__call__(function)

        @functools.wraps(function)
        async def call_in_scope(*args: Any, **kwargs: Any) -> Any:
            with self._recreate_cm():
                return await function(*args, **kwargs)

        return cast(_Function, call_in_scope)

    def __enter__(self) -> Target:
        if self._entry is not None:
            raise RuntimeError("with: a block is entered once; make another one")
        scope = self._scope
        # The entry is known to `__exit__` before it takes effect, so that an interrupt at any later
        # point leaves nothing behind.
        self._entry = new_entry = _ScopeEntry(self._value)
        scope.open_entries.add(new_entry)
        scope._entries.set(
            (new_entry, *[entry for entry in scope._entries.get() if not entry.has_exited])
        )
        return self._target

    def __exit__(self, *_: object) -> None:
        own_entry = self._entry
        if own_entry is None or own_entry not in self._scope.open_entries:
            return
        scope = self._scope
        active_entries = scope._entries.get()
        # In another context than that of `__enter__`, the entry cannot be removed, only marked. The
        # set of open entries loses it last: until then, `__del__` repeats an interrupted exit.
        own_entry.has_exited = not scope.outlives_block or own_entry not in active_entries
        scope._entries.set(tuple([entry for entry in active_entries if entry is not own_entry]))
        scope.open_entries.discard(own_entry)

    def __del__(self) -> None:
        self.__exit__()
