"""``with`` blocks that say something to the code inside: a trace, a default device.

An interrupt such as KeyboardInterrupt may come between any two instructions, also while a block is
entered or left, where Python promises no ``__exit__``. So what a block says counts only as long as
the block exists, which the ``with`` statement sees to, and has not been left. What remains: until
the interrupt itself is forgotten, its traceback may keep a block that was cut off while it was
entered or left.

Blocks of generators may be left in any order, and in other threads: each ends by itself.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any, Generic, Self, TypeVar, cast
from weakref import ref

Value = TypeVar("Value")
Given = TypeVar("Given")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Said(Generic[Value]):
    """What one block says, and what is said around it; `kept`, when the block has been left."""

    __slots__ = ("block", "kept", "left", "outer", "value")

    def __init__(
        self, value: Value, outer: _Said[Value] | None, block: ref[Block[Value, Any]]
    ) -> None:
        self.value, self.outer, self.block = value, outer, block
        self.left = self.kept = False

    @property
    def counts(self) -> bool:
        return self.kept if self.left else self.block() is not None


def _counting(said: _Said[Value] | None) -> _Said[Value] | None:
    """The innermost that counts."""
    while said is not None and not said.counts:
        said = said.outer
    return said


class Scope(Generic[Value]):
    """What the innermost block says, of this thread and of tasks begun in it.

    `blocks`: those of all threads that code is inside of now. It is empty where there are none.
    Scopes may have one set of them in common. `lasting`: a task that was begun in a block hears it
    after the block has been left, too.

    >>> scope = Scope("greeting")
    >>> with scope.saying("hello"):
    ...     scope.get()
    'hello'
    >>> scope.get() is None and not scope.blocks
    True
    """

    __slots__ = ("_said", "blocks", "lasting")

    def __init__(
        self,
        name: str,
        blocks: set[ref[Block[Value, Any]]] | None = None,
        *,
        lasting: bool = False,
    ) -> None:
        self._said: ContextVar[_Said[Value] | None] = ContextVar(name, default=None)
        self.blocks = set() if blocks is None else blocks
        self.lasting = lasting

    def get(self) -> Value | None:
        """What is said; None outside of all blocks."""
        said = self._said.get()
        if said is not None:
            said = _counting(said)
        return None if said is None else said.value

    def values(self) -> list[Value]:
        """What all blocks say, those of other threads too."""
        blocks = [each() for each in tuple(self.blocks)]
        return [block.value for block in blocks if block is not None]

    def saying(self, value: Value) -> Block[Value, Value]:
        """A block that says `value`, and gives it to ``as``."""
        return Block(self, value, value)

    def giving(self, value: Value, given: Given) -> Block[Value, Given]:
        """A block that says `value`, and gives something else to ``as``."""
        return Block(self, value, given)


class _Ref(ref["Block[Any, Any]"]):
    """A weak reference that is one thing by itself; others ask what they point to for a hash."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__


class Block(ContextDecorator, Generic[Value, Given]):
    """What goes behind ``with``, once; or around functions, as a decorator."""

    def __init__(self, scope: Scope[Value], value: Value, given: Given) -> None:
        self.value = value
        self._scope, self._given = scope, given
        self._said: _Said[Value] | None = None

    def _recreate_cm(self) -> Self:
        """For each call of a decorated function one."""
        return type(self)(self._scope, self.value, self._given)

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
            msg = "with: a block is entered once; make another one"
            raise RuntimeError(msg)
        blocks, context = self._scope.blocks, self._scope._said
        block = _Ref(self, blocks.discard)
        self._said = said = _Said(self.value, _counting(context.get()), block)
        try:
            blocks.add(block)
            context.set(said)
            return self._given
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        said, context = self._said, self._scope._said
        if said is None:
            return
        if context.get() is said:  # the innermost; else those inside find that it was left
            context.set(said.outer)
            said.kept = self._scope.lasting
        said.left = True
        self._scope.blocks.discard(said.block)
