"""DirectML's data-rearranging operators, with its rules, on any device.

Each operator can be called as a function on tensors, or described by a descriptor as in the C API,
which `compile` turns into a reusable operator. The function builds the descriptor: its members are
the function's arguments, with a `TensorDesc` for each tensor, and the outputs. `feature_level`
determines the allowed data types (else TypeError), ranks and sizes (else ValueError); `support`
lists them.

>>> import tensorlayout as tl
>>> from tensorlayout import directml
>>> directml.join([tl.asarray([1, 2]), tl.asarray([3])], axis=0)
Tensor([1, 2, 3], dtype=int64, device='cpu')

Above `functions`; `formats` and `cli` import it, the package at first use.
"""

from __future__ import annotations

from tensorlayout import errors
from tensorlayout.directml import computing, constants, filling, images, indexing, moving, selecting
from tensorlayout.directml.computing import *
from tensorlayout.directml.constants import *
from tensorlayout.directml.filling import *
from tensorlayout.directml.images import *
from tensorlayout.directml.indexing import *
from tensorlayout.directml.moving import *
from tensorlayout.directml.operator_desc import OperatorDesc
from tensorlayout.directml.operators import Operator, compile
from tensorlayout.directml.selecting import *
from tensorlayout.directml.tables import LEVELS, OPERATORS, TensorSupport, support
from tensorlayout.directml.tensor_desc import TensorDesc, calc_buffer_tensor_size
from tensorlayout.support import spellings

# Each chapter lists its own names.
__all__ = [
    "LEVELS",
    "OPERATORS",
    "Operator",
    "OperatorDesc",
    "TensorDesc",
    "TensorSupport",
    "calc_buffer_tensor_size",
    "compile",
    "support",
]
__all__ += computing.__all__
__all__ += constants.__all__
__all__ += filling.__all__
__all__ += images.__all__
__all__ += indexing.__all__
__all__ += moving.__all__
__all__ += selecting.__all__

errors.guard_public_names(globals(), __all__)
__dir__ = spellings.make_module_dir(globals())
