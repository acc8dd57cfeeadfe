"""Elementwise operations on CUDA."""

from tensorlayout.cuda.elementwise.planning import (
    ElementwiseLaunch,
    plan_conversion,
    plan_elementwise,
    takes_tiles,
)

__all__ = [
    "ElementwiseLaunch",
    "plan_conversion",
    "plan_elementwise",
    "takes_tiles",
]
