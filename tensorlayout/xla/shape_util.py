"""XLA's ShapeUtil: the functions of all its chapters under one name."""

from tensorlayout.xla import calling as _calling
from tensorlayout.xla.checks import *  # noqa: F403 - each chapter says what it exports
from tensorlayout.xla.shape_comparison import *  # noqa: F403
from tensorlayout.xla.shape_making import *  # noqa: F403
from tensorlayout.xla.shape_queries import *  # noqa: F403
from tensorlayout.xla.shapes import is_valid_dimension_size as is_valid_dimension_size

_calling.offer(__name__, *(name for name in dir() if not name.startswith("_")))
