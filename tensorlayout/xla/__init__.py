"""XLA's shapes and layouts: values, text, index arithmetic, and raw buffers as tensors.

`XlaLayout` is the layout as XLA writes it; `layout_of` makes a `tensorlayout.Layout` of a shape.
`index_util`, `layout_util` and `shape_util` hold XLA's functions of those names.

>>> from tensorlayout import xla
>>> shape = xla.parse_shape("f32[3,5]{1,0:T(2,2)}")
>>> xla.shape_util.physical_byte_size(shape)
96

Above `functions`; `formats` and `cli` import it, the package at first use.
"""

from __future__ import annotations

from tensorlayout import errors
from tensorlayout.layout import COMBINE
from tensorlayout.support import spellings
from tensorlayout.xla import index_util, layout_util, permutations, shape_util
from tensorlayout.xla.buffers import from_buffer, to_buffer
from tensorlayout.xla.conversion import PaddedLayout2017, PaddingValue2017, layout_of, shape_of
from tensorlayout.xla.hlo import (
    HloBuffer,
    HloComputation,
    HloInstruction,
    HloLayoutChange,
    HloModule,
)
from tensorlayout.xla.hlo_text import HloSyntaxError, parse_hlo
from tensorlayout.xla.layouts import SplitConfig, XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import UNBOUNDED, Shape
from tensorlayout.xla.text import ShapeSyntaxError, parse_layout, parse_shape, parse_shapes
from tensorlayout.xla.tiles import Tile

__all__ = [
    "COMBINE",
    "UNBOUNDED",
    "HloBuffer",
    "HloComputation",
    "HloInstruction",
    "HloLayoutChange",
    "HloModule",
    "HloSyntaxError",
    "PaddedLayout2017",
    "PaddingValue2017",
    "PrimitiveType",
    "Shape",
    "ShapeSyntaxError",
    "SplitConfig",
    "Tile",
    "XlaLayout",
    "from_buffer",
    "index_util",
    "layout_of",
    "layout_util",
    "parse_hlo",
    "parse_layout",
    "parse_shape",
    "parse_shapes",
    "permutations",
    "shape_of",
    "shape_util",
    "to_buffer",
]

errors.guard_public_names(globals(), __all__)
errors.guard_public_names(vars(permutations), permutations.__all__)
__dir__ = spellings.make_module_dir(globals())
