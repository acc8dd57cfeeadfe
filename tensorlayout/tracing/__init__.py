"""Memory effects of operations: `trace`, `no_copies` and `explain`.

Above `functions`; the package and `cli` import it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex

from tensorlayout.errors import short_repr
from tensorlayout.support.lazy_imports import import_lazily

if TYPE_CHECKING:
    from tensorlayout.support.context_blocks import ScopeContext
    from tensorlayout.tracing.explain import Explanation
    from tensorlayout.tracing.refusals import Refusal
    from tensorlayout.tracing.traces import Trace


def trace() -> ScopeContext[Trace, Trace]:
    """Record every operation of this thread, and of tasks started in it, inside the block.

    Returns a context manager that gives a `Trace`, whose records have **bytes** and calling lines.
    Blocks can be nested; only the innermost one records. Without an active block, tracing costs
    nothing.

    >>> import tensorlayout as tl
    >>> x = tl.zeros((3, 4), dtype=tl.float32)
    >>> with tl.trace() as seen:
    ...     y = tl.to_layout(x.T, (1, 0))
    >>> [(r.name, r.kind, r.bytes_written) for r in seen]
    [('T', 'view', 0), ('to_layout', 'relayout', 48)]
    """
    blocks = import_lazily("tensorlayout.tracing.blocks")
    return blocks.trace_scope.scope_with_value(blocks.Trace())


def no_copies(
    at_least: SupportsIndex = 1,
    *,
    warn: bool = False,
    allow: Iterable[str] = (),
    exports: bool = False,
) -> ScopeContext[Refusal, None]:
    """Raise a CopyError at the first copy or change of layout inside the block, before it is made.

    - `at_least`: smallest copy to refuse, in **bytes** written.
    - `warn`: issue a CopyWarning at the line of each copy instead, and continue.
    - `allow`: names of operations that may copy, as they appear in a trace, such as
      ``"to_layout"``.
    - `exports`: also refuse exports, the records of kind ``export`` in a trace. A copy that another
      library makes afterwards is not detected.

    Returns a context manager and decorator. It refuses what a trace calls ``copy`` or ``relayout``,
    including copies of whole operands inside other operations. The error names the calling line,
    the layouts before and after, and an alternative; destinations are unchanged.

    Raises `TypeError` if `at_least` is not an integer, or `allow` is not a collection of names.

    Without an active block this costs nothing. A block affects this thread and tasks started in it.
    Of nested blocks, the innermost one decides.

    >>> import tensorlayout as tl
    >>> x = tl.zeros((2, 3))
    >>> with tl.no_copies():
    ...     y = tl.reshape(x, (6,))
    >>> try:
    ...     with tl.no_copies():
    ...         y = tl.reshape(x.T, (6,))
    ... except tl.CopyError as error:
    ...     print(str(error).partition("instead, ")[2])
    create the operand in row-major order, whose reshape is a view
    """
    import_lazily("tensorlayout.tracing.blocks")
    refusals = import_lazily("tensorlayout.tracing.refusals")
    return refusals.refuse_copies(at_least, warn, allow, exports)


def explain(function: Callable[..., Any], /, *args: Any, **named: Any) -> Explanation:
    """Run ``function(*args, **named)`` and return the program of each operation in it.

    A program is the list of steps of an operation: the work itself, and copies of operands in
    layouts that it cannot read. **Bytes** are those of distinct elements; a result whose size
    depends on data counts with its planned size. Copies of operands that share memory with the
    destination are not listed; a `trace` shows them. Surrounding blocks of `trace` and `explain` do
    not record the call.

    Raises `TypeError` if `function` is not callable; other errors are those of the call.

    >>> import tensorlayout as tl
    >>> x = tl.to_layout(tl.zeros((4, 6), dtype=tl.int8), "{1,0:T(2,2)}")
    >>> tl.explain(tl.cumulative_sum, x, axis=0, dtype=tl.int8)
    cumulative_sum
      1. copy int8 (4,6):(2*12+2*2,3*4+2*1) -> (4,6):(6,1): 24 bytes read, 24 written
      2. scan int8 (4,6):(6,1) -> (4,6):(6,1): 24 bytes read, 24 written
    """
    if not callable(function):
        raise TypeError(f"explain: function must be callable, got {short_repr(function)}")
    return import_lazily("tensorlayout.tracing.explain").explain_call(function, args, named)
