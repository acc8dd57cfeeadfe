"""Elementwise operations on the CPU."""

from tensorlayout.cpu.elementwise.writing import direct, is_one_ufunc, write

__all__ = ["direct", "is_one_ufunc", "write"]
