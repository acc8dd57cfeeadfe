"""What threadpoolctl is told of our threads: it knows pools by the shared libraries they are in."""

from __future__ import annotations

import sys
from collections.abc import Callable

_told: list[str] = []


def register(get: Callable[[], int], limit: Callable[[int], None]) -> None:
    """Tell threadpoolctl, once, where somebody has imported it: how many, and how to limit them."""
    library = sys.modules.get("threadpoolctl")
    if _told or not hasattr(library, "register"):
        return
    _told.append("threadpoolctl")

    class Controller(library.LibController):  # type: ignore[name-defined, misc]
        """Our threads, under the name of the package."""

        user_api = internal_api = "tensorlayout"
        filename_prefixes = ("_multiarray_umath",)  # NumPy's, which is always loaded beside us

        def get_num_threads(self) -> int:
            return get()

        def set_num_threads(self, num_threads: int) -> None:
            limit(num_threads)

        def get_version(self) -> None:
            """Of NumPy's library, which is not asked."""

    library.register(Controller)  # type: ignore[union-attr]
