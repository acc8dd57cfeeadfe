// Boxes that go through shared memory: where a block's box is, how threads walk it along one memory's
// order, and how it comes into a tile. tensorlayout/cuda/boxes.py chooses boxes,
// tensorlayout/cuda/tiles.py has the same structs.
//
// Boxes of up to three dimensions, which most copies need, have `Boxes` and `Side`: their index
// arithmetic is unrolled. Deep ones, of up to MOST_AXES, have `DeepBoxes` and `DeepSide`, with a loop
// for each access.
#pragma once

#include "bits.cuh"
#include "indexing.cuh"

// Accesses of a thread that are under way together.
constexpr int PER_THREAD = 4;

// Dimensions that a deep box may have: with 2 elements along each it still is smaller than its room.
constexpr int MOST_AXES = 12;

// ---- Boxes of up to three dimensions ------------------------------------------------------------

// Which box each block has, in N memories.
template <int N>
struct Boxes {
    using Box = uint32_t[3];  // how far a block's reaches

    int64_t size[3];             // of the box's dimensions in the tensor
    int64_t step[N][3];          // to the next index along them, in each memory
    int64_t outer[N][MAX_RANK];  // the same of all other dimensions, fastest first
    Divisor<int32_t> outer_size[MAX_RANK];
    Divisor<int32_t> boxes[3];
    int32_t extent[3];
    int32_t outer_rank;

    // box: how far this block's reaches; base: where it begins in each memory.
    DEVICE void find(uint32_t (&box)[3], int64_t (&base)[N]) const {
        for (int n = 0; n < N; ++n) base[n] = 0;
        uint32_t block = blockIdx.x;
#pragma unroll
        for (int d = 0; d < 3; ++d) {
            const uint32_t slower = boxes[d].divide(block);
            const int64_t start =
                static_cast<int64_t>(block - slower * boxes[d].divisor) * extent[d];
            const int64_t left = size[d] - start;
            box[d] = left < extent[d] ? static_cast<uint32_t>(left) : extent[d];
#pragma unroll
            for (int n = 0; n < N; ++n) base[n] += start * step[n][d];
            block = slower;
        }
        for (int d = 0; d < outer_rank; ++d) {
            const uint32_t slower = outer_size[d].divide(block);
            const int64_t index = block - slower * outer_size[d].divisor;
#pragma unroll
            for (int n = 0; n < N; ++n) base[n] += index * outer[n][d];
            block = slower;
        }
    }
};

// How one memory is walked inside a box. Three dimensions, this memory's fastest first. A *run* is
// the dimensions that are contiguous in this memory as far as the box reaches; the next one has the
// *rows*, and the one after that the *planes*.
//
// Threads are shifted so that an access of a warp begins where a sector begins. That is done once for a
// plane, if its rows have as many threads as leave the same remainder, in sectors, as the distance of
// two rows in memory does; few threads are idle then, but a warp may have parts of two rows, which
// fall into the same banks. Or each row is a plane of its own.
struct Side {
    int64_t stride[3];
    Divisor<int32_t> extent[2];   // of the box, along the two faster dimensions
    Divisor<int32_t> rows;        // of the box, in a plane
    Divisor<int32_t> row[2];      // threads of a row; of a box that ends early along the run
    Divisor<int32_t> plane[2];    // the same of a plane
    int32_t shared[3];            // strides in the tile
    int32_t dimension[3];         // which of the box's dimensions each is
    int32_t run;                  // how many dimensions the run has
    int32_t single;               // 1 if each row is a plane
    int32_t sector;               // accesses in a sector, or 1 if threads are not shifted
    int32_t slack;                // by how many threads they are shifted at most
};

// One side of the box that this block has: `Side` with the ends of the tensor taken into account.
// Steps are in memory, and in the tile.
struct Visit {
    int64_t base, along_step, row_step, plane_step;
    int32_t tile, tile_row_step, tile_plane_step, shared[3];
    Divisor<int32_t> row, plane;  // threads
    uint32_t run_length, rows, total;
};

DEVICE Visit visit(const Side& side, int64_t base, const uint32_t (&box)[3]) {
    uint32_t within[3];  // indices of the box that are inside the tensor, in this side's order
    int64_t stride[3];
    Visit v;
    v.base = base;
    v.tile = 0;
#pragma unroll
    for (int j = 0; j < 3; ++j) {
        const int d = side.dimension[j];
        within[j] = d == 0 ? box[0] : d == 1 ? box[1] : box[2];
        stride[j] = side.stride[j];
        v.shared[j] = side.shared[j];
        if (stride[j] < 0) {  // walk upwards in memory, so backwards in the tile
            v.base += static_cast<int64_t>(within[j] - 1) * stride[j];
            v.tile += static_cast<int32_t>(within[j] - 1) * v.shared[j];
            stride[j] = -stride[j];
            v.shared[j] = -v.shared[j];
        }
    }
    const uint32_t first = side.extent[0].divisor, second = side.extent[1].divisor;
    uint32_t planes = 1;
    bool ends_early = false;
    v.along_step = stride[0];
    v.row_step = stride[2];
    v.tile_row_step = v.shared[2];
    v.plane_step = v.tile_plane_step = 0;
    if (side.run == 1) {
        v.run_length = within[0];
        v.rows = within[1];
        v.row_step = stride[1];
        v.tile_row_step = v.shared[1];
        planes = within[2];
        v.plane_step = stride[2];
        v.tile_plane_step = v.shared[2];
        ends_early = within[0] < first;
    } else if (side.run == 2) {
        v.run_length = first * within[1];
        v.rows = within[2];
        ends_early = within[1] < second;
    } else {
        v.run_length = first * second * within[2];
        v.rows = 1;
    }
    v.row = ends_early ? side.row[1] : side.row[0];
    v.plane = ends_early ? side.plane[1] : side.plane[0];
    v.total = side.single
                  ? ((planes - 1) * side.rows.divisor + v.rows) * v.row.divisor
                  : (planes - 1) * v.plane.divisor + v.rows * v.row.divisor + side.slack;
    return v;
}

// What one thread moves at once: where it is in memory, where its row is in the tile, its first
// element's place in the run, and the run's among rows and planes.
struct Spot {
    int64_t memory;
    int32_t tile;
    uint32_t along, row, plane;
    bool inside;
};

// T: one access, of N elements.
template <class T, int N>
DEVICE Spot locate(const Side& side, const Visit& v, uint32_t thread, const void* memory) {
    uint32_t plane = v.plane.divide(thread), row = 0;
    uint32_t lane = thread - plane * v.plane.divisor;
    if (side.single) {
        row = plane;
        plane = side.rows.divide(row);
        row -= plane * side.rows.divisor;
    }
    Spot spot;
    spot.memory = v.base + plane * v.plane_step + row * v.row_step;
    const uint64_t address = reinterpret_cast<uint64_t>(memory) + spot.memory * (sizeof(T) / N);
    const uint32_t shift = static_cast<uint32_t>(address / sizeof(T)) & (side.sector - 1);
    spot.inside = thread < v.total && lane >= shift;
    lane = spot.inside ? lane - shift : 0;
    const uint32_t further = v.row.divide(lane);
    row += further;
    spot.row = row;
    spot.plane = plane;
    spot.along = (lane - further * v.row.divisor) * N;
    spot.memory += further * v.row_step + spot.along * v.along_step;
    spot.tile = v.tile + static_cast<int32_t>(plane) * v.tile_plane_step +
                static_cast<int32_t>(row) * v.tile_row_step;
    spot.inside = spot.inside && row < v.rows && spot.along < v.run_length;
    return spot;
}

// The place in the tile of an element of the run.
DEVICE int32_t tile_place(const Side& side, const Visit& v, const Spot& spot, int j) {
    const uint32_t along = spot.along + j;
    if (side.run == 1) return spot.tile + static_cast<int32_t>(along) * v.shared[0];
    uint32_t second = side.extent[0].divide(along);
    const uint32_t first = along - second * side.extent[0].divisor;
    int32_t place = spot.tile + static_cast<int32_t>(first) * v.shared[0];
    if (side.run == 3) {
        const uint32_t third = side.extent[1].divide(second);
        second -= third * side.extent[1].divisor;
        place += static_cast<int32_t>(third) * v.shared[2];
    }
    return place + static_cast<int32_t>(second) * v.shared[1];
}

// ---- Deep boxes ---------------------------------------------------------------------------------

// Which box each block has, in N memories. Of a block's own box, all that differs from others is along
// which dimensions it ends early.
template <int N, int MOST_OUTER = MAX_RANK>
struct DeepBoxes {
    using Box = uint32_t;  // bit d: it ends early along dimension d

    int64_t step[N][MOST_AXES];    // to the next box, in each memory
    int64_t outer[N][MOST_OUTER];  // to the next index of all other dimensions, fastest first
    Divisor<int32_t> boxes[MOST_AXES];
    Divisor<int32_t> outer_size[MOST_OUTER];
    uint32_t uneven;             // bit d: the last box along dimension d ends early
    int32_t rank, outer_rank;

    DEVICE void find(uint32_t& box, int64_t (&base)[N]) const {
        for (int n = 0; n < N; ++n) base[n] = 0;
        uint32_t block = blockIdx.x;
        box = 0;
        for (int d = 0; d < rank; ++d) {
            const uint32_t slower = boxes[d].divide(block);
            const uint32_t index = block - slower * boxes[d].divisor;
            if (index + 1 == boxes[d].divisor) box |= uneven & 1u << d;
#pragma unroll
            for (int n = 0; n < N; ++n) base[n] += static_cast<int64_t>(index) * step[n][d];
            block = slower;
        }
        for (int d = 0; d < outer_rank; ++d) {
            const uint32_t slower = outer_size[d].divide(block);
            const int64_t index = block - slower * outer_size[d].divisor;
#pragma unroll
            for (int n = 0; n < N; ++n) base[n] += index * outer[n][d];
            block = slower;
        }
    }
};

// How one memory is walked inside a deep box, as by `Side`. Threads are shifted once for a *group*: a
// row, or all rows along one dimension. Groups are counted along all dimensions behind.
struct DeepSide {
    int64_t stride[MOST_AXES];              // upwards, this memory's fastest dimension first
    Divisor<int32_t> extent[2][MOST_AXES];  // of the box; of one that ends early along it
    Divisor<int32_t> row[2];                // threads of a row; of a box that ends early along the run
    Divisor<int32_t> group[2][2];           // the same of a group; and of one with fewer rows
    int32_t shared[MOST_AXES];              // strides in the tile, downwards for `turned`
    int32_t dimension[MOST_AXES];           // which of the box's dimensions each is
    int32_t length[2];                      // elements of a run; of one that ends early
    uint32_t turned;                        // bit j: the stride, as given, was negative
    int32_t rank;
    int32_t run;                            // how many dimensions the run has
    int32_t grouped;                        // and how many a group has
    int32_t sector, slack;                  // as of `Side`
};

struct DeepVisit {
    int64_t base, row_step;
    int32_t tile, tile_row_step;
    Divisor<int32_t> row, group;  // threads
    uint32_t early;               // bit j: the box ends early along this side's dimension j
    uint32_t run_length, rows, total;

    DEVICE const Divisor<int32_t>& extent(const DeepSide& side, int j) const {
        return side.extent[early >> j & 1][j];
    }
};

DEVICE DeepVisit visit(const DeepSide& side, int64_t base, uint32_t box) {
    DeepVisit v;
    v.base = base;
    v.tile = 0;
    v.early = 0;
    v.rows = 1;
    uint32_t groups = 1;
    for (int j = 0; j < side.rank; ++j) {
        v.early |= (box >> side.dimension[j] & 1) << j;
        const uint32_t within = v.extent(side, j).divisor;
        if (side.turned >> j & 1) {
            v.base -= static_cast<int64_t>(within - 1) * side.stride[j];
            v.tile -= static_cast<int32_t>(within - 1) * side.shared[j];
        }
        if (j >= side.grouped) groups *= within;
        else if (j >= side.run) v.rows *= within;
    }
    const bool grouped = side.grouped > side.run;
    v.row_step = grouped ? side.stride[side.run] : 0;
    v.tile_row_step = grouped ? side.shared[side.run] : 0;
    const uint32_t shorter = v.early >> (side.run - 1) & 1;
    v.run_length = static_cast<uint32_t>(side.length[shorter]);
    v.row = side.row[shorter];
    v.group = side.group[shorter][grouped ? v.early >> side.run & 1 : 0];
    v.total = groups * v.group.divisor;
    return v;
}

template <class T, int N>
DEVICE Spot locate(const DeepSide& side, const DeepVisit& v, uint32_t thread, const void* memory) {
    uint32_t rest = v.group.divide(thread);
    uint32_t lane = thread - rest * v.group.divisor;
    Spot spot;
    spot.plane = rest;
    spot.memory = v.base;
    spot.tile = v.tile;
    for (int j = side.grouped; j < side.rank; ++j) {
        const Divisor<int32_t>& extent = v.extent(side, j);
        const uint32_t slower = extent.divide(rest);
        const uint32_t index = rest - slower * extent.divisor;
        spot.memory += index * side.stride[j];
        spot.tile += static_cast<int32_t>(index) * side.shared[j];
        rest = slower;
    }
    const uint64_t address = reinterpret_cast<uint64_t>(memory) + spot.memory * (sizeof(T) / N);
    const uint32_t shift = static_cast<uint32_t>(address / sizeof(T)) & (side.sector - 1);
    spot.inside = thread < v.total && lane >= shift;
    lane = spot.inside ? lane - shift : 0;
    spot.row = v.row.divide(lane);
    spot.along = (lane - spot.row * v.row.divisor) * N;
    spot.memory += spot.row * v.row_step + spot.along * side.stride[0];
    spot.tile += static_cast<int32_t>(spot.row) * v.tile_row_step;
    spot.inside = spot.inside && spot.row < v.rows && spot.along < v.run_length;
    return spot;
}

DEVICE int32_t tile_place(const DeepSide& side, const DeepVisit& v, const Spot& spot, int j) {
    uint32_t rest = spot.along + j;
    int32_t place = spot.tile;
    int k = 0;
    for (; k < side.run - 1; ++k) {
        const Divisor<int32_t>& extent = side.extent[0][k];  // only a run's last dimension ends early
        const uint32_t slower = extent.divide(rest);
        place += static_cast<int32_t>(rest - slower * extent.divisor) * side.shared[k];
        rest = slower;
    }
    return place + static_cast<int32_t>(rest) * side.shared[k];
}

// ---- Both ---------------------------------------------------------------------------------------

// The box of one memory into a tile: elements of Element bytes, read Read bytes at a time.
template <int Element, int Read, class AnySide, class Box>
DEVICE void read_box(const AnySide& side, int64_t base, const Box& box, const void* from,
                     Bits<Element>* tile) {
    using T = Bits<Element>;
    constexpr int PER_READ = Read / Element;
    using Word = Pack<T, PER_READ>;
    const auto v = visit(side, base, box);
    const T* const source = static_cast<const T*>(from);
    for (uint32_t begin = 0; begin < v.total; begin += PER_THREAD * THREADS) {
        Spot spots[PER_THREAD];
        Word words[PER_THREAD];
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            const uint32_t thread = begin + k * THREADS + threadIdx.x;
            spots[k] = locate<Word, PER_READ>(side, v, thread, source);
            words[k] =
                load_if(spots[k].inside, reinterpret_cast<const Word*>(source + spots[k].memory));
        }
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k)
#pragma unroll
            for (int j = 0; j < PER_READ; ++j)
                store_shared_if(spots[k].inside, tile + tile_place(side, v, spots[k], j),
                                words[k].at[j]);
    }
}
