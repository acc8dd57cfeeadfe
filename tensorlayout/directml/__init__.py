"""DirectML's data-rearranging operators, with its rules, on any device.

Two ways to call each: a function on tensors, and a descriptor as in the C API, which `compile`
makes a reusable operator. The first builds the second.

>>> import tensorlayout as tl
>>> from tensorlayout import directml
>>> directml.join([tl.asarray([1, 2]), tl.asarray([3])], axis=0)
Tensor([1, 2, 3], dtype=int64, device='cpu')
"""

from __future__ import annotations

from tensorlayout.directml.borders import (
    Padding1OperatorDesc,
    PaddingOperatorDesc,
    padding,
    padding1,
)
from tensorlayout.directml.constants import (
    AxisDirection,
    DataType,
    DepthSpaceOrder,
    InterpolationMode,
    PaddingMode,
    ScaleBias,
    Size2D,
    TensorFlags,
)
from tensorlayout.directml.converting import (
    CastOperatorDesc,
    ElementWiseIdentityOperatorDesc,
    ElementWiseIfOperatorDesc,
    cast,
    element_wise_identity,
    element_wise_if,
)
from tensorlayout.directml.cumulative import (
    CumulativeProductOperatorDesc,
    CumulativeSummationOperatorDesc,
    cumulative_product,
    cumulative_summation,
)
from tensorlayout.directml.diagonals import (
    DiagonalMatrix1OperatorDesc,
    DiagonalMatrixOperatorDesc,
    diagonal_matrix,
    diagonal_matrix1,
)
from tensorlayout.directml.filling import (
    FillValueConstantOperatorDesc,
    FillValueSequenceOperatorDesc,
    OneHotOperatorDesc,
    fill_value_constant,
    fill_value_sequence,
    one_hot,
)
from tensorlayout.directml.gathering import (
    GatherElementsOperatorDesc,
    GatherND1OperatorDesc,
    GatherNDOperatorDesc,
    GatherOperatorDesc,
    gather,
    gather_elements,
    gather_nd,
    gather_nd1,
)
from tensorlayout.directml.joining import JoinOperatorDesc, SplitOperatorDesc, join, split
from tensorlayout.directml.operator_desc import OperatorDesc
from tensorlayout.directml.operators import Operator, compile
from tensorlayout.directml.patches import FoldOperatorDesc, UnfoldOperatorDesc, fold, unfold
from tensorlayout.directml.rearranging import (
    DepthToSpace1OperatorDesc,
    DepthToSpaceOperatorDesc,
    ReverseSubsequencesOperatorDesc,
    SpaceToDepth1OperatorDesc,
    SpaceToDepthOperatorDesc,
    TileOperatorDesc,
    depth_to_space,
    depth_to_space1,
    reverse_subsequences,
    space_to_depth,
    space_to_depth1,
    tile,
)
from tensorlayout.directml.sampling import Upsample2DOperatorDesc, upsample_2d
from tensorlayout.directml.scattering import (
    MaxUnpoolingOperatorDesc,
    ScatterElementsOperatorDesc,
    ScatterNDOperatorDesc,
    ScatterOperatorDesc,
    max_unpooling,
    scatter,
    scatter_elements,
    scatter_nd,
)
from tensorlayout.directml.selecting import (
    NonzeroCoordinatesOperatorDesc,
    TopK1OperatorDesc,
    TopKOperatorDesc,
    nonzero_coordinates,
    top_k,
    top_k1,
)
from tensorlayout.directml.slicing import (
    Slice1OperatorDesc,
    SliceGradOperatorDesc,
    SliceOperatorDesc,
    slice,
    slice1,
    slice_grad,
)
from tensorlayout.directml.tables import LEVELS, OPERATORS, TensorSupport, support
from tensorlayout.directml.tensor_desc import TensorDesc, calc_buffer_tensor_size

__all__ = [
    "AxisDirection",
    "CastOperatorDesc",
    "CumulativeProductOperatorDesc",
    "CumulativeSummationOperatorDesc",
    "DataType",
    "DepthSpaceOrder",
    "DepthToSpace1OperatorDesc",
    "DepthToSpaceOperatorDesc",
    "DiagonalMatrix1OperatorDesc",
    "DiagonalMatrixOperatorDesc",
    "ElementWiseIdentityOperatorDesc",
    "ElementWiseIfOperatorDesc",
    "FillValueConstantOperatorDesc",
    "FillValueSequenceOperatorDesc",
    "FoldOperatorDesc",
    "GatherElementsOperatorDesc",
    "GatherND1OperatorDesc",
    "GatherNDOperatorDesc",
    "GatherOperatorDesc",
    "InterpolationMode",
    "JoinOperatorDesc",
    "LEVELS",
    "MaxUnpoolingOperatorDesc",
    "NonzeroCoordinatesOperatorDesc",
    "OPERATORS",
    "OneHotOperatorDesc",
    "Operator",
    "OperatorDesc",
    "Padding1OperatorDesc",
    "PaddingMode",
    "PaddingOperatorDesc",
    "ReverseSubsequencesOperatorDesc",
    "ScaleBias",
    "ScatterElementsOperatorDesc",
    "ScatterNDOperatorDesc",
    "ScatterOperatorDesc",
    "Size2D",
    "Slice1OperatorDesc",
    "SliceGradOperatorDesc",
    "SliceOperatorDesc",
    "SpaceToDepth1OperatorDesc",
    "SpaceToDepthOperatorDesc",
    "SplitOperatorDesc",
    "TensorDesc",
    "TensorFlags",
    "TensorSupport",
    "TileOperatorDesc",
    "TopK1OperatorDesc",
    "TopKOperatorDesc",
    "UnfoldOperatorDesc",
    "Upsample2DOperatorDesc",
    "calc_buffer_tensor_size",
    "cast",
    "compile",
    "cumulative_product",
    "cumulative_summation",
    "depth_to_space",
    "depth_to_space1",
    "diagonal_matrix",
    "diagonal_matrix1",
    "element_wise_identity",
    "element_wise_if",
    "fill_value_constant",
    "fill_value_sequence",
    "fold",
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_nd1",
    "join",
    "max_unpooling",
    "nonzero_coordinates",
    "one_hot",
    "padding",
    "padding1",
    "reverse_subsequences",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "slice",
    "slice1",
    "slice_grad",
    "space_to_depth",
    "space_to_depth1",
    "split",
    "support",
    "tile",
    "top_k",
    "top_k1",
    "unfold",
    "upsample_2d",
]
