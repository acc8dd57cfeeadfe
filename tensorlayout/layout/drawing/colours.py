"""The colours of pictures, which tell rows apart for colour-blind eyes as well.

Rows have Paul Tol's *light* scheme, made for dark letters; the contrast of every letter to what is
under it is at least 4.5.
"""

from __future__ import annotations

from typing import NamedTuple

ROWS = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00")
ON_ROWS = "#111111"  # letters and marks on those


class Scheme(NamedTuple):
    """The colours that light and dark change."""

    paper: str
    ink: str
    faint: str  # letters that say less
    gap: str  # the ground of what is no element
    hatch: str
    edge: str  # round boxes


LIGHT = Scheme("#ffffff", "#1b1b1f", "#575861", "#e6e7eb", "#b4b7c0", "#5b5d66")
DARK = Scheme("#1b1c20", "#ececf0", "#aeb0ba", "#34363d", "#565963", "#7b7e89")
