"""Plans: all that can be known of a call before its data is touched, made once and kept.

Above `tensor`, below both backends and `functions`, which import it.
"""

from tensorlayout.plan.base import (
    CaptureError,
    Disturbs,
    Exposed,
    Operation,
    Plan,
    Run,
    Write,
    Written,
    backend,
)
from tensorlayout.plan.copy import Assign, AssignPlan, Copy, CopyPlan, Transfer, TransferPlan
from tensorlayout.plan.elementwise import Elementwise, ElementwisePlan, Scaling
from tensorlayout.plan.events import (
    COPIES,
    KINDS,
    Event,
    Kind,
    distinct_bytes,
    for_eyes,
    note,
    note_export,
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
from tensorlayout.plan.from_strides import extent, packed_steps, spec_of_strides
from tensorlayout.plan.gather import Gather, GatherPlan, IndexMap, spread_of
from tensorlayout.plan.image import Col2ImPlan, ReverseSequencePlan, UpsamplePlan, Windows
from tensorlayout.plan.join import Join, JoinPlan, Split, SplitPlan, cuts_of, part_of
from tensorlayout.plan.library import Library, LibraryPlan, Results, Shape, complex_of, working
from tensorlayout.plan.mask import (
    Masked,
    MaskedPlan,
    Nonzero,
    NonzeroPlan,
    Select,
    SelectPlan,
    check_mask,
    selected_spec,
)
from tensorlayout.plan.matmul import Matmul, MatmulPlan
from tensorlayout.plan.pad import Pad, PadPlan, SliceGradPlan
from tensorlayout.plan.programs import (
    ANY_LAYOUT,
    Into,
    Program,
    Step,
    getter,
    into,
    plan_of,
    program,
    schedule,
    strided_spec,
)
from tensorlayout.plan.quantize import (
    FORMATS,
    SCALINGS,
    BlockFormat,
    DequantizePlan,
    QuantizePlan,
    format_of,
    scales_shape,
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
    addressed,
    broadcast_shape,
    check_category,
    checked_padding,
    in_dtype,
    layout_for,
    normalized_dims,
    of_another_category,
    one_device,
    padding_bytes,
    reduced_layout,
    refuse_complex,
)
from tensorlayout.plan.run import (
    allocating,
    cache_info,
    carried_out,
    compiled,
    noted,
    noted_copy,
    prepare,
    prepared,
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
    after_copy,
    check_fits,
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
    outside,
    rows,
    too_many,
    whole_bytes,
    whole_items,
)
