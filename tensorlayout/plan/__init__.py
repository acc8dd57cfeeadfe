"""Plans: everything about a call that does not depend on its data, made once and cached.

Above `tensor`, below both backends and `functions`, which import it.
"""

from tensorlayout.plan.base import (
    DestinationOperation,
    ExportInfo,
    Operation,
    OverlapTest,
    Plan,
    Run,
    Write,
    backend_of,
)
from tensorlayout.plan.copy import Assign, AssignPlan, Copy, CopyPlan, Transfer, TransferPlan
from tensorlayout.plan.elementwise import Elementwise, ElementwisePlan, Scaling
from tensorlayout.plan.events import (
    COPIES,
    KINDS,
    Event,
    Kind,
    display_only,
    distinct_bytes,
    notify_export,
    notify_listeners,
    watched,
)
from tensorlayout.plan.fill import (
    Create,
    CreatePlan,
    DiagonalsPlan,
    OneHotPlan,
    Triangle,
    TrianglePlan,
)
from tensorlayout.plan.from_strides import (
    byte_address_range,
    row_major_byte_strides,
    spec_of_strides,
)
from tensorlayout.plan.gather import Gather, GatherPlan, IndexMap, positions_broadcast_shape
from tensorlayout.plan.image import Col2ImPlan, ReverseSequencePlan, UpsamplePlan, Windows
from tensorlayout.plan.join import Join, JoinPlan, Split, SplitPlan, part_slices, slice_layout
from tensorlayout.plan.library import (
    Library,
    LibraryPlan,
    Results,
    Shape,
    complex_dtype_for,
    compute_dtype,
)
from tensorlayout.plan.mask import (
    Masked,
    MaskedPlan,
    Nonzero,
    NonzeroPlan,
    Select,
    SelectPlan,
    check_mask_shape,
    selected_spec,
)
from tensorlayout.plan.matmul import Matmul, MatmulPlan
from tensorlayout.plan.pad import Pad, PadPlan, SliceGradPlan
from tensorlayout.plan.programs import (
    ANY_LAYOUT,
    IntoDestination,
    Program,
    Step,
    assign_value_places,
    into_destination,
    make_items_getter,
    make_program,
    plan_call,
    strided_or_packed_spec,
)
from tensorlayout.plan.quantize import (
    FORMATS,
    SCALINGS,
    BlockFormat,
    DequantizePlan,
    QuantizePlan,
    ScaledMatmul,
    ScaledMatmulPlan,
    block_scales_shape,
    check_blocks,
    compile_dequantized_matmul,
    find_block_format,
)
from tensorlayout.plan.reduce import (
    CONTINUOUS,
    DISCRETE,
    QUANTILE_METHODS,
    QuantileMethod,
    Reduce,
    ReducePlan,
)
from tensorlayout.plan.rules import (
    adapt_layout_to_dtype,
    broadcast_shape,
    check_byte_range,
    check_category,
    check_no_complex_to_real,
    check_padding_for_dtype,
    check_same_device,
    dtype_category_error,
    normalize_dims,
    packed_reduced_layout,
    padding_bytes,
    resolve_layout,
)
from tensorlayout.plan.run import (
    allocate_then_write,
    cache_info,
    compile_call,
    compile_call_uncached,
    compile_plan,
    compile_program,
    compile_traced_copy,
    compile_traced_tensor_copy,
)
from tensorlayout.plan.scan import Scan, ScanPlan
from tensorlayout.plan.scatter import (
    RUN,
    CopyScatter,
    CopyScatterPlan,
    Scatter,
    ScatterPlan,
    ScatterReduce,
    ScatterReducePlan,
    check_value_broadcasts,
    compile_copy_then_write,
)
from tensorlayout.plan.sort import Sort, SortPlan, TopKPlan
from tensorlayout.plan.view import (
    Index,
    Part,
    PartPlan,
    Reinterpret,
    ReinterpretPlan,
    Relayout,
    Reshape,
    Row,
    RowPlan,
    SamePlan,
    View,
    ViewPlan,
    compile_row_view,
    index_out_of_bounds_error,
    too_many_indices_error,
    whole_bytes_before_slot,
    whole_items_before_byte,
)
