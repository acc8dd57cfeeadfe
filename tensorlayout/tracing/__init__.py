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
    """Record every operation of this thread (and of tasks begun in it) inside the block.

    Costs nothing while no block is active. Blocks nest; the innermost records. What ``as`` gives is
    a `Trace`, whose records count **bytes** and say which line called.

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
    - `warn`: give a CopyWarning at the line of each copy instead, and continue.
    - `allow`: names of operations that may copy, as they appear in a trace, such as
      ``"to_layout"``.
    - `exports`: also refuse exports, the records of kind ``export`` in a trace. A copy that another
      library then makes is not seen.

    Returns a context manager and decorator. It refuses what a trace calls ``copy`` or ``relayout``,
    also of whole operands on the way to a result. The error names the calling line, the layouts
    before and after, and what to do instead; destinations are unchanged.

    Raises TypeError for an `at_least` that is not an integer and an `allow` that is not a
    collection of names.

    Without an active block this costs nothing. A block affects this thread and tasks begun in it.
    In nested blocks, the innermost one decides.

    >>> import tensorlayout as tl
    >>> x = tl.zeros((2, 3))
    >>> with tl.no_copies():
    ...     y = tl.reshape(x, (6,))
    >>> try:
    ...     with tl.no_copies():
    ...         y = tl.reshape(x.T, (6,))
    ... except tl.CopyError as error:
    ...     print(str(error).partition("instead, ")[2])
    have the operand in layout (3,2):(2,1), which has such a view
    """
    import_lazily("tensorlayout.tracing.blocks")
    refusals = import_lazily("tensorlayout.tracing.refusals")
    return refusals.refuse_copies(at_least, warn, allow, exports)


def explain(function: Callable[..., Any], /, *args: Any, **named: Any) -> Explanation:
    """Run ``function(*args, **named)`` and return the program of each operation in it.

    A program is the list of steps that carries out an operation: the work itself, and the copies of
    operands in layouts that it cannot read. The **bytes** are those of distinct elements; a result
    whose size depends on data counts as it is planned. Copies of operands that turn out to share
    memory with the tensor that is written are not listed; a `trace` shows them. Blocks of `trace`
    and `explain` around it do not see the call. TypeError for a `function` that cannot be called;
    other errors are those of the call.

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
