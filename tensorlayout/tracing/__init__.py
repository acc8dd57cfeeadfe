"""What operations do with memory: `trace` records them, `no_copies` refuses those that copy."""

from tensorlayout.tracing.blocks import no_copies, trace
from tensorlayout.tracing.record import Record
from tensorlayout.tracing.refusal import CopyWarning
from tensorlayout.tracing.trace import Trace

__all__ = ["CopyWarning", "Record", "Trace", "no_copies", "trace"]
