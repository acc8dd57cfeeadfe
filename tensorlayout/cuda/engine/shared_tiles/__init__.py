"""Boxes of a loop that go through shared memory: their extents, and how each memory walks them.

A box has up to three axes, or is *deep*. In each memory its *run* is the axes that are contiguous
as far as the box reaches, the next axis has its *rows*, and those after that its *planes*. Memory
moves in sectors of 32 bytes, so threads are shifted such that accesses of a warp begin where one
begins:

- each row on its own, which leaves threads idle at its ends; or
- the rows of a plane together: a row gets as many threads as leave, in sectors, the remainder that
  the distance of two rows in memory leaves. No thread need be idle then, but a warp may have parts
  of two rows, which fall into the same banks of shared memory.

The first is for accesses of 4 bytes and more, the second for less, where it is threads that are
short. Rows that begin inside a sector cost part of one more either way, so runs are best long.
"""
