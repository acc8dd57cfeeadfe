"""``with`` blocks that say something to the code inside: a trace, a default device.

A context variable holds what is said. Tasks and other threads may have copies of it, so each block
notes for itself that it has been left: those of generators may be left in any order and thread.

A block that an interrupt such as KeyboardInterrupt cuts off, while it is entered or left, is left
when its object goes: with the ``with`` statement, or with the traceback of the interrupt.
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
    """The value of one block, until it is left."""

    __slots__ = ("has_exited", "value")

    def __init__(self, value: Value) -> None:
        self.value, self.has_exited = value, False


class Scope(Generic[Value]):
    """The value of the innermost block, of this thread and of tasks begun in it.

    `blocks`: those of all threads that code is inside of now. Scopes may have one set of them in
    common. `outlives_block`: a task that was begun in a block hears it after the block has been
    left, too.
    """

    __slots__ = ("_entries", "open_entries", "outlives_block")

    def __init__(
        self, name: str, open_entries: set[Any] | None = None, *, outlives_block: bool = False
    ) -> None:
        # The innermost first.
        self._entries: ContextVar[tuple[_ScopeEntry[Value], ...]] = ContextVar(name, default=())
        self.open_entries = set() if open_entries is None else open_entries
        self.outlives_block = outlives_block

    def innermost_value(self) -> Value | None:
        """Return the value of the innermost block; None outside of all blocks."""
        for entry in self._entries.get():
            if not entry.has_exited:
                return entry.value
        return None

    def scope_with_value(self, value: Value) -> ScopeContext[Value, Value]:
        """Return a ``with`` block that sets `value` and binds it to ``as``."""
        return self.scope_with_target(value, value)

    def scope_with_target(self, value: Value, target: Target) -> ScopeContext[Value, Target]:
        """Return a ``with`` block that sets `value` and binds `target` to ``as``."""
        return ScopeContext(self, value, target)


class ScopeContext(ContextDecorator, Generic[Value, Target]):
    """A context manager for one ``with`` statement, or a decorator of functions."""

    _entry: _ScopeEntry[Value] | None = None

    def __init__(self, scope: Scope[Value], value: Value, target: Target) -> None:
        self._scope, self._value, self._target = scope, value, target

    def _recreate_cm(self) -> Self:
        return type(self)(self._scope, self._value, self._target)

    def __call__(self, function: _Function) -> _Function:
        """Return the function with its own block around each call, or coroutine."""
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
        own_entry.has_exited = not scope.outlives_block or own_entry not in active_entries
        scope._entries.set(tuple([entry for entry in active_entries if entry is not own_entry]))
        scope.open_entries.discard(own_entry)

    def __del__(self) -> None:
        self.__exit__()
