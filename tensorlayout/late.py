"""Imports at first use: ``with importing: from … import …``."""

import os
import threading

# A fork waits for them: in the child, one that another thread has begun would never end.
importing = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=importing.acquire,
        after_in_parent=importing.release,
        after_in_child=importing.release,
    )
