"""What every kernel of the CUDA backend is built on: driver, memory, launches."""

from tensorlayout.cuda.engine.kernel_shapes import (
    arguments,
    c_type,
    c_type_of_bits,
    kernel,
    parameters,
)
from tensorlayout.cuda.engine.launch import (
    BLOCK,
    FAULTS,
    NOTHING,
    PER_THREAD,
    THREADS,
    WIDEST,
    Launch,
    Launches,
    blocks_for,
    blocks_of_walk,
    mixed_writer,
    writer,
)
from tensorlayout.cuda.engine.memory import (
    SECTOR,
    copy_bytes,
    current_stream,
    device_at,
    export_info,
    exported_stream,
    keeping,
    make_stream_wait,
    moved_slots,
    overlap_test,
    padding_of,
    read_bytes,
    tensor_allocator,
    wait_for,
    wrap_external,
    wrap_external_slots,
    write,
)
from tensorlayout.cuda.engine.scalars import octets, octets_of_numbers, pattern
from tensorlayout.cuda.engine.sectors import in_order_cost, narrowness
from tensorlayout.cuda.engine.shared_tiles import READ, SMALL_BYTES, WRITE, TileProblem
from tensorlayout.cuda.engine.shared_tiles.choice import choose_tile, tile_of_copy
from tensorlayout.cuda.engine.shared_tiles.tile import SharedTile
from tensorlayout.cuda.engine.structs import (
    MOST_DIGITS,
    RANKS,
    bounds_struct,
    constant,
    divisor,
    divisor32,
    fits_a_walk,
    pack_axes,
    struct,
    walk_struct,
)
