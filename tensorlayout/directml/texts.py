"""Numbers in the text of errors: all that came, but short, however many and however large."""

from __future__ import annotations

from collections.abc import Sequence

from tensorlayout.functions import calling

_MOST = 8  # as many as a tensor has dimensions


def listed(values: Sequence[int]) -> str:
    """Numbers as a tuple is written; of many, how many there are."""
    if len(values) > _MOST:
        return f"{len(values)} numbers"
    texts = [calling.shown(value) for value in values]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
