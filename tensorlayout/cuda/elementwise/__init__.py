"""Elementwise operations on CUDA."""

from tensorlayout.cuda.elementwise.planning import plan_conversion, plan_elementwise, takes_tiles

__all__ = ["plan_conversion", "plan_elementwise", "takes_tiles"]
