// Copies between two layouts of one shape. Elements are bits: a width in bytes, no number type. The
// plan (tensorlayout/cuda/copy_plan.py) has merged dimensions, made destination strides positive, and
// fused contiguous runs into elements as wide as they allow; strides count those elements.
//
// copy_flat     One run on both sides. Threads follow each other, 4 packs of WIDTH bytes a thread,
//               256 threads apart; at most 15 bytes are left to the first block. Coalesced on both
//               sides. Worst: memories whose alignment differs, since WIDTH is what both allow.
// copy_strided  Any strides, in the destination's order, 4 elements of ELEMENT bytes a thread, 256
//               threads apart. Coalesced where the fastest dimension is contiguous: rows, with 16
//               bytes a thread if they are aligned. Where the source stands still along the
//               destination's run, an element is read once and stored WIDTH bytes wide. Worst: a
//               source whose fastest dimension is another; that is for copy_tiles.
// copy_tiles    Boxes of up to three dimensions by way of shared memory: read along the source's
//               memory, written along the destination's. Coalesced on both sides, however the
//               dimensions are permuted or flipped, and also where rows begin inside sectors:
//               threads are shifted so that no access of a warp begins in the midst of one. Worst:
//               permutations of more than three short dimensions, of which a box has no long runs,
//               and bytes in rows without alignment (one byte a thread).
//
// Bytes moved per element: its own, once from the source and once to the destination (a broadcast
// source: once for each row of the destination that reads it). The padding of the destination is
// written by further blocks of the same launch (padding.cuh).
#include "padding.cuh"

constexpr int PER_THREAD = 4;

// ---- Flat ---------------------------------------------------------------------------------------

struct FlatCopy {
    void* to;
    const void* from;
    Padding padding;
    int64_t packs;
    int64_t tail;  // bytes after the last pack
};

template <int Width>
DEVICE void flat(const FlatCopy& p) {
    if (write_padding(p.padding, p.to)) return;
    using Word = Bits<Width>;
    Word* const to = static_cast<Word*>(p.to);
    const Word* const from = static_cast<const Word*>(p.from);
    const int64_t first = static_cast<int64_t>(blockIdx.x) * (PER_THREAD * THREADS) + threadIdx.x;
    Word words[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        words[k] = load_if(first + k * THREADS < p.packs, from + (first + k * THREADS));
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        store_if(first + k * THREADS < p.packs, to + (first + k * THREADS), words[k]);
    if (blockIdx.x == 0 && threadIdx.x < p.tail) {
        const int64_t at = p.packs * Width + threadIdx.x;
        store(static_cast<uint8_t*>(p.to) + at, load(static_cast<const uint8_t*>(p.from) + at));
    }
}

// ---- Strided ------------------------------------------------------------------------------------

template <int Rank, class Index>
struct StridedCopy {
    void* to;
    const void* from;
    Padding padding;
    Index count;
    Walk<Rank, Index, 2> walk;  // strides: of the destination, in WIDTH; of the source, in ELEMENT
};

template <int Rank, class Index, int Element, int Width>
DEVICE void strided(const StridedCopy<Rank, Index>& p) {
    if (write_padding(p.padding, p.to)) return;
    using T = Bits<Element>;
    using Word = Pack<T, Width / Element>;
    using Count = Unsigned<Index>;
    const Count first = static_cast<Count>(blockIdx.x) * (PER_THREAD * THREADS) + threadIdx.x;
    Index at[PER_THREAD][2];
    T elements[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const bool inside = first + k * THREADS < static_cast<Count>(p.count);
        p.walk.offsets(inside ? first + k * THREADS : 0, at[k]);
        elements[k] = load_if(inside, static_cast<const T*>(p.from) + at[k][1]);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        Word word;
#pragma unroll
        for (T& each : word.at) each = elements[k];
        const bool inside = first + k * THREADS < static_cast<Count>(p.count);
        store_if(inside, static_cast<Word*>(p.to) + at[k][0], word);
    }
}

// ---- Tiles --------------------------------------------------------------------------------------

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

struct TiledCopy {
    void* to;
    const void* from;
    Padding padding;
    Side write, read;
    int64_t size[3];             // of the box's dimensions in the tensor
    int64_t step[2][3];          // to the next index along them, in the destination and the source
    int64_t outer[2][MAX_RANK];  // the same of all other dimensions, fastest first
    Divisor<int32_t> outer_size[MAX_RANK];
    Divisor<int32_t> boxes[3];
    int32_t extent[3];
    int32_t outer_rank;
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

// What one thread moves at once: where it is in memory, where its row is in the tile, and its first
// element's place in the run.
struct Spot {
    int64_t memory;
    int32_t tile;
    uint32_t along;
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

template <int Element, int Read, int Write, int Room>
DEVICE void tiles(const TiledCopy& p) {
    SHARED(Bits<Element>, tile, Room / Element);
    if (write_padding(p.padding, p.to)) return;  // all threads of the block
    using T = Bits<Element>;
    constexpr int PER_READ = Read / Element, PER_WRITE = Write / Element;
    using ReadWord = Pack<T, PER_READ>;
    using WriteWord = Pack<T, PER_WRITE>;

    int64_t to = 0, from = 0;
    uint32_t block = blockIdx.x, box[3];
#pragma unroll
    for (int d = 0; d < 3; ++d) {
        const uint32_t slower = p.boxes[d].divide(block);
        const int64_t start =
            static_cast<int64_t>(block - slower * p.boxes[d].divisor) * p.extent[d];
        const int64_t left = p.size[d] - start;
        box[d] = left < p.extent[d] ? static_cast<uint32_t>(left) : p.extent[d];
        to += start * p.step[0][d];
        from += start * p.step[1][d];
        block = slower;
    }
    for (int d = 0; d < p.outer_rank; ++d) {
        const uint32_t slower = p.outer_size[d].divide(block);
        const int64_t index = block - slower * p.outer_size[d].divisor;
        to += index * p.outer[0][d];
        from += index * p.outer[1][d];
        block = slower;
    }

    const Visit read = visit(p.read, from, box);
    const T* const source = static_cast<const T*>(p.from);
    for (uint32_t begin = 0; begin < read.total; begin += PER_THREAD * THREADS) {
        Spot spots[PER_THREAD];
        ReadWord words[PER_THREAD];
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            const uint32_t thread = begin + k * THREADS + threadIdx.x;
            spots[k] = locate<ReadWord, PER_READ>(p.read, read, thread, source);
            words[k] = load_if(spots[k].inside,
                               reinterpret_cast<const ReadWord*>(source + spots[k].memory));
        }
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k)
#pragma unroll
            for (int j = 0; j < PER_READ; ++j)
                store_shared_if(spots[k].inside, tile + tile_place(p.read, read, spots[k], j),
                                words[k].at[j]);
    }
    barrier();
    const Visit write = visit(p.write, to, box);
    T* const destination = static_cast<T*>(p.to);
    for (uint32_t begin = 0; begin < write.total; begin += PER_THREAD * THREADS) {
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            const uint32_t thread = begin + k * THREADS + threadIdx.x;
            const Spot spot = locate<WriteWord, PER_WRITE>(p.write, write, thread, destination);
            WriteWord word;
#pragma unroll
            for (int j = 0; j < PER_WRITE; ++j)
                word.at[j] = load_shared_if(spot.inside, tile + tile_place(p.write, write, spot, j));
            store_if(spot.inside, reinterpret_cast<WriteWord*>(destination + spot.memory), word);
        }
    }
}

// ---- Kernels ------------------------------------------------------------------------------------
// For a GPU the macros pick one; the simulator has all.

#if !defined(TENSORLAYOUT_SIMULATOR)

#if defined(ROOM)
BLOCK_KERNEL(copy_tiles, TiledCopy) { tiles<ELEMENT, READ, WRITE, ROOM>(p); }
#elif defined(RANK)
KERNEL(copy_strided, StridedCopy<RANK, INDEX>) { strided<RANK, INDEX, ELEMENT, WIDTH>(p); }
#else
KERNEL(copy_flat, FlatCopy) { flat<WIDTH>(p); }
#endif

#else

#define FLAT(WIDTH) \
    KERNEL(copy_flat_##WIDTH, FlatCopy) { flat<WIDTH>(p); }
FLAT(1) FLAT(2) FLAT(4) FLAT(8) FLAT(16)

#define STRIDED(RANK, INDEX, ELEMENT, WIDTH)                                              \
    KERNEL(copy_strided_##RANK##_##INDEX##_##ELEMENT##_##WIDTH, StridedCopy<RANK, INDEX>) { \
        strided<RANK, INDEX, ELEMENT, WIDTH>(p);                                          \
    }
#define STRIDED_WIDTHS(RANK, INDEX)                                                       \
    STRIDED(RANK, INDEX, 1, 1) STRIDED(RANK, INDEX, 2, 2) STRIDED(RANK, INDEX, 4, 4)      \
    STRIDED(RANK, INDEX, 8, 8) STRIDED(RANK, INDEX, 16, 16) STRIDED(RANK, INDEX, 1, 16)   \
    STRIDED(RANK, INDEX, 2, 16) STRIDED(RANK, INDEX, 4, 16) STRIDED(RANK, INDEX, 8, 16)
#define STRIDED_RANKS(INDEX)                                                              \
    STRIDED_WIDTHS(1, INDEX) STRIDED_WIDTHS(2, INDEX) STRIDED_WIDTHS(3, INDEX)            \
    STRIDED_WIDTHS(4, INDEX) STRIDED_WIDTHS(0, INDEX)
STRIDED_RANKS(int32_t) STRIDED_RANKS(int64_t)

#define TILES(ELEMENT, READ, WRITE, ROOM)                                                 \
    BLOCK_KERNEL(copy_tiles_##ELEMENT##_##READ##_##WRITE##_##ROOM, TiledCopy) {           \
        tiles<ELEMENT, READ, WRITE, ROOM>(p);                                             \
    }
#define TILES_WIDTHS(ROOM)                                                                \
    TILES(1, 1, 1, ROOM) TILES(1, 1, 4, ROOM) TILES(1, 4, 1, ROOM) TILES(1, 4, 4, ROOM)   \
    TILES(2, 2, 2, ROOM) TILES(2, 2, 4, ROOM) TILES(2, 4, 2, ROOM) TILES(2, 4, 4, ROOM)   \
    TILES(4, 4, 4, ROOM) TILES(8, 8, 8, ROOM) TILES(16, 16, 16, ROOM)
TILES_WIDTHS(24576) TILES_WIDTHS(49152)

#endif
