"""Functions that other modules build on, called as portable code does: `xp.where`."""

from __future__ import annotations

from tensorlayout.functions.diagonals import *
from tensorlayout.functions.grids import *
from tensorlayout.functions.linear_algebra import *
from tensorlayout.functions.primitives import *
from tensorlayout.functions.rearranging import *
from tensorlayout.functions.statistical import *
from tensorlayout.functions.utility import *
