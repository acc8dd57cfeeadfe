"""Parts that all CUDA families share: driver, memory, kernels, launches."""

from tensorlayout.cuda.engine.access_cost import access_cost, narrow_access_cost
from tensorlayout.cuda.engine.kernel_shapes import (
    c_type,
    c_type_with_unsigned_integers,
    kernel_with_macros,
    make_parameter_struct,
    parameter_struct_type,
)
from tensorlayout.cuda.engine.launch import (
    BLOCK,
    FAULTS,
    FULL_PACKS,
    NOTHING,
    PER_THREAD,
    THREADS,
    WIDEST,
    Launch,
    Launches,
    LaunchWriter,
    blocks_for_elements,
    blocks_for_walk,
    make_bytes_writer,
    make_writer,
    make_writer_with_numbers,
)
from tensorlayout.cuda.engine.memory import (
    SECTOR,
    copy_bytes,
    current_stream,
    device_of_address,
    export_info,
    keep_capture_memory,
    make_current_stream_wait,
    make_external_stream_wait,
    overlap_test,
    padding_element_bytes,
    read_bytes,
    stream_for_consumer,
    tensor_allocator,
    view_shifted_by_slots,
    wrap_external,
    wrap_external_slots,
    write_bytes,
)
from tensorlayout.cuda.engine.scalars import (
    NumberPacker,
    make_numbers_packer,
    repeat_to_16_bytes,
    scalar_bytes,
)
from tensorlayout.cuda.engine.shared_tiles import READ, SMALL_BYTES, WRITE, TileProblem
from tensorlayout.cuda.engine.shared_tiles.choice import choose_tile, choose_tile_of_copy
from tensorlayout.cuda.engine.shared_tiles.tile import SharedTile
from tensorlayout.cuda.engine.structs import (
    MOST_DIGITS,
    RANKS,
    bounded_walk_struct,
    bounds_struct,
    constant_value,
    divisor32_struct,
    divisor_struct,
    fill_walk,
    fits_bounded_walk,
    struct_type,
)
