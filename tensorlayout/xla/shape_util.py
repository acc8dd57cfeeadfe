"""XLA's ShapeUtil: the functions of all its chapters under one name."""

from tensorlayout.xla import calling as _calling
from tensorlayout.xla import shape_comparison as _comparison
from tensorlayout.xla import shape_making as _making
from tensorlayout.xla import shape_queries as _queries
from tensorlayout.xla.shape_comparison import *  # noqa: F403 - each chapter says what it exports
from tensorlayout.xla.shape_making import *  # noqa: F403
from tensorlayout.xla.shape_queries import *  # noqa: F403

_calling.export(globals(), _comparison, _making, _queries)
