"""The table of operations: for each, a function that draws a call with its operands and answer.

An entry is a function of a `Draw` and gives a `Case`. It may be drawn again and again: at random by
the fuzz, and by `test_ops` once for each dtype and each layout of `harness/layouts`.
"""

from __future__ import annotations

import alias_cases
import alias_outputs
import alias_views
import directml_cases
import elementwise_cases
import entering_cases
import fuse_cases
import indexing_cases
import library_cases
import moving_cases
import numpy_cases
import program_cases
import quantize_cases
import rank_cases
import reducing_cases
import two_ways_cases
import write_table

_FILES = (
    elementwise_cases,
    moving_cases,
    indexing_cases,
    reducing_cases,
    quantize_cases,
    library_cases,
    program_cases,
    directml_cases,
    alias_cases,
    alias_views,
    alias_outputs,
    write_table,
    entering_cases,
    numpy_cases,
    rank_cases,
    fuse_cases,
    two_ways_cases,
)

CASES = {name: draw for file in _FILES for name, draw in file.CASES.items()}

# How many times as often as the others an entry is drawn at random.
WEIGHTS = {name: weight for file in _FILES for name, weight in getattr(file, "WEIGHTS", {}).items()}
