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
Given = TypeVar("Given")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Said(Generic[Value]):
    """The value of one block, until it is left."""

    __slots__ = ("left", "value")

    def __init__(self, value: Value) -> None:
        self.value, self.left = value, False


class Scope(Generic[Value]):
    """The value of the innermost block, of this thread and of tasks begun in it.

    `blocks`: those of all threads that code is inside of now. Scopes may have one set of them in
    common. `lasting`: a task that was begun in a block hears it after the block has been left, too.
    """

    __slots__ = ("_said", "blocks", "lasting")

    def __init__(self, name: str, blocks: set[Any] | None = None, *, lasting: bool = False) -> None:
        # The innermost first.
        self._said: ContextVar[tuple[_Said[Value], ...]] = ContextVar(name, default=())
        self.blocks = set() if blocks is None else blocks
        self.lasting = lasting

    def get(self) -> Value | None:
        """Return the value of the innermost block; None outside of all blocks."""
        for said in self._said.get():
            if not said.left:
                return said.value
        return None

    def saying(self, value: Value) -> Block[Value, Value]:
        """A block that says `value`, and gives it to ``as``."""
        return self.giving(value, value)

    def giving(self, value: Value, given: Given) -> Block[Value, Given]:
        """A block that says `value`, and gives something else to ``as``."""
        return Block(self, value, given)


class Block(ContextDecorator, Generic[Value, Given]):
    """A context manager for one ``with`` statement, or a decorator of functions."""

    _said: _Said[Value] | None = None

    def __init__(self, scope: Scope[Value], value: Value, given: Given) -> None:
        self._scope, self._value, self._given = scope, value, given

    def _recreate_cm(self) -> Self:
        return type(self)(self._scope, self._value, self._given)

    def __call__(self, function: _Function) -> _Function:
        """The function, inside of a block of its own at each call; of a coroutine until it ends."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            name = function.__qualname__
            msg = f"{name} is a generator, whose code runs after the call; open the block inside"
            raise TypeError(msg)
        if not inspect.iscoroutinefunction(function):
            return super().__call__(function)

        @functools.wraps(function)
        async def call(*args: Any, **kwargs: Any) -> Any:
            with self._recreate_cm():
                return await function(*args, **kwargs)

        return cast(_Function, call)

    def __enter__(self) -> Given:
        if self._said is not None:
            raise RuntimeError("with: a block is entered once; make another one")
        scope = self._scope
        self._said = said = _Said(self._value)
        scope.blocks.add(said)
        scope._said.set((said, *[each for each in scope._said.get() if not each.left]))
        return self._given

    def __exit__(self, *_: object) -> None:
        said = self._said
        if said is None or said not in self._scope.blocks:
            return
        scope = self._scope
        around = scope._said.get()
        said.left = not scope.lasting or said not in around
        scope._said.set(tuple([each for each in around if each is not said]))
        scope.blocks.discard(said)

    def __del__(self) -> None:
        self.__exit__()
