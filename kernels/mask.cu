// Reads and writes elements where a mask is true. The number of true elements is data, so there are
// two passes over the mask, with prefix sums between them; no block waits for another.
//
// count_true        Counts the true elements of each chunk of 4096 elements of the mask; one block
//                   per chunk.
// scan_counts       Computes the sum of the counts before each chunk, and the sum of all, in one
//                   block.
// select_elements   Copies the true elements to the result. Each warp looks at 32 elements of its
//                   chunk at a time, and writes the true ones side by side. Reads are coalesced as
//                   far as true elements are neighbours. Elements are bits.
// select_positions  The same, but writes positions, for kernels that move whole slices (gather.cu,
//                   scatter/scatter.cu). No position is -1.
// store_masked      Writes values that need no count (one number, or one slice for all) where the
//                   mask is true, in the destination's order. It needs a single launch.
//
// The mask is read in row-major index order. Reads are coalesced if its memory has that order; the
// count reads 16 bytes per thread if it is packed. Worst: a mask in another order, where each element costs a
// sector.
//
// Bytes moved per element of the mask: 2. Bytes moved per selected element: its own twice.

// Minimum number of blocks per multiprocessor. Without it, NVRTC 12.9 spills registers of a shape
// to fit more blocks.
#define LEAST_BLOCKS 2

#include "reach.cuh"

constexpr int CHUNK = 4096, EACH = CHUNK / THREADS;

template <int Rank, class Index>
struct Selection {
    void* to;           // elements, or int64 positions
    const void* mask;   // bytes
    void* counts;       // int64: of each chunk; after scan_counts, of all chunks before it
    const void* source; // elements
    int64_t base;       // added to positions, so that the least is 0
    int64_t packed;     // 1: the mask is one run that begins at a multiple of 16 bytes
    Index count;        // elements of the mask
    Walk<Rank, Index, 2> walk;  // the mask; the source, or the positions
};

constexpr int LANES = 32, WARPS = THREADS / LANES;

DEVICE uint32_t lane() { return threadIdx.x % LANES; }

// A bit for each element of a warp's part of a chunk; all its threads have the same. Thread t of the
// warp looks at the elements t, t + 32, and so on. Elements after the end are false.
struct Votes {
    uint32_t of[EACH];

    DEVICE uint32_t total() const {
        uint32_t found = 0;
#pragma unroll
        for (int k = 0; k < EACH; ++k) found += count_ones(of[k]);
        return found;
    }
};

// Number of the first element that this thread looks at.
template <class Index>
DEVICE Unsigned<Index> first_element() {
    return static_cast<Unsigned<Index>>(blockIdx.x) * CHUNK +
           threadIdx.x / LANES * (EACH * LANES) + lane();
}

template <int Rank, class Index>
DEVICE Votes look(const Selection<Rank, Index>& p) {
    using Count = Unsigned<Index>;
    const Count begin = first_element<Index>(), count = static_cast<Count>(p.count);
    Votes votes;
    bool is_true[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const bool inside = begin + k * LANES < count;
        Index places[2];
        p.walk.offsets(inside ? begin + k * LANES : 0, places);
        is_true[k] = load_if(inside, static_cast<const uint8_t*>(p.mask) + places[0]) != 0;
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) votes.of[k] = ballot(is_true[k]);
    return votes;
}

// Returns the sum over the threads up to and including this one; `total` is the block's sum.
template <class T>
DEVICE T scan(T (&sums)[WARPS], T value, T& total) {
#pragma unroll
    for (uint32_t step = 1; step < LANES; step *= 2) {
        const T before = shuffle_up(value, step);
        if (lane() >= step) value += before;
    }
    if (lane() == LANES - 1) store_shared(sums + threadIdx.x / LANES, value);
    barrier();
    total = 0;
#pragma unroll
    for (int warp = 0; warp < WARPS; ++warp) {
        if (warp == static_cast<int>(threadIdx.x / LANES)) value += total;
        total += load_shared(sums + warp);
    }
    barrier();
    return value;
}

template <int Rank, class Index>
DEVICE void count_chunk(const Selection<Rank, Index>& p) {
    SHARED(uint32_t, sums, WARPS);
    uint32_t total, here = 0;
    if (p.packed && (static_cast<int64_t>(blockIdx.x) + 1) * CHUNK <= p.count) {
        const Bits<EACH> word =
            load(static_cast<const Bits<EACH>*>(p.mask) + blockIdx.x * THREADS + threadIdx.x);
        here = count_nonzero_bytes(word.at[0]) + count_nonzero_bytes(word.at[1]);
    } else {
        const uint32_t found = look(p).total();
        if (lane() == 0) here = found;
    }
    scan(sums, here, total);
    if (threadIdx.x == 0)
        store(static_cast<int64_t*>(p.counts) + blockIdx.x, static_cast<int64_t>(total));
}

struct Counts {
    void* counts;  // int64, `blocks` + 1 of them
    int64_t blocks;
};

DEVICE void scan_all(const Counts& p) {
    constexpr int MANY = 8;
    SHARED(int64_t, sums, WARPS);
    int64_t* const counts = static_cast<int64_t*>(p.counts);
    int64_t before = 0, total;
    for (int64_t begin = 0; begin < p.blocks; begin += MANY * THREADS) {
        const int64_t first = begin + threadIdx.x * MANY;
        int64_t given[MANY], sum = 0;
#pragma unroll
        for (int k = 0; k < MANY; ++k) {
            given[k] = load_if(first + k < p.blocks, counts + first + k);
            sum += given[k];
        }
        int64_t running = before + scan(sums, sum, total) - sum;
#pragma unroll
        for (int k = 0; k < MANY; ++k) {
            store_if(first + k < p.blocks, counts + first + k, running);
            running += given[k];
        }
        before += total;
    }
    if (threadIdx.x == 0) store(counts + p.blocks, before);
}

// Writes the true elements of a chunk, or for a Width of 0 their positions.
template <int Rank, class Index, int Width>
DEVICE void select_true(const Selection<Rank, Index>& p) {
    SHARED(uint32_t, sums, WARPS);
    const Votes votes = look(p);
    const uint32_t here = votes.total();
    uint32_t total;
    const uint32_t before = scan(sums, lane() == 0 ? here : 0, total) - here;
    int64_t next = load(static_cast<const int64_t*>(p.counts) + blockIdx.x) + before;
    const Unsigned<Index> begin = first_element<Index>();
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const bool writes = votes.of[k] >> lane() & 1;
        const int64_t to = next + count_ones(votes.of[k] & ((1u << lane()) - 1));
        next += count_ones(votes.of[k]);
        Index places[2];
        p.walk.offsets(writes ? begin + k * LANES : 0, places);
        if constexpr (Width == 0) {
            store_if(writes, static_cast<int64_t*>(p.to) + to, p.base + places[1]);
        } else {
            using T = Bits<Width>;
            store_if(writes, static_cast<T*>(p.to) + to,
                     load_if(writes, static_cast<const T*>(p.source) + places[1]));
        }
    }
}

template <int Rank, class Index>
struct Storing {
    void* to;
    const void* values;
    const void* mask;
    Reach<Rank, Index, 3> reach;  // destination, values, mask; no positions
    uint64_t bits[2];             // the one value, repeated to 16 bytes
    int32_t many;                 // 1: values are in memory
};

template <int Rank, class Index, int Width>
DEVICE void store_masked(const Storing<Rank, Index>& p) {
    using T = Bits<Width>;
    Found<Rank, Index, 3> found;
    find(p.reach, found);
    bool writes[found.COUNT];
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k)
        writes[k] =
            load_if(found.active[k], static_cast<const uint8_t*>(p.mask) + found.at[k][2]) != 0;
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k) {
        T element = low_bits<Width>(p.bits);
        if (p.many)
            element = load_if(writes[k], static_cast<const T*>(p.values) + found.at[k][1]);
        store_if(writes[k], static_cast<T*>(p.to) + found.at[k][0], element);
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(STORE)
SHAPES(RANK = 1 2 3 0, INDEX = int32_t int64_t, STORE = 1 2 4 8 16)
KERNEL(store_masked, Storing<RANK, INDEX>) { store_masked<RANK, INDEX, STORE>(p); }
#elif defined(WIDTH)
SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
BLOCK_KERNEL(select_elements, Selection<RANK, INDEX>) { select_true<RANK, INDEX, WIDTH>(p); }
#elif defined(RANK)
SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t)
BLOCK_KERNEL(count_true, Selection<RANK, INDEX>) { count_chunk<RANK, INDEX>(p); }
BLOCK_KERNEL(select_positions, Selection<RANK, INDEX>) { select_true<RANK, INDEX, 0>(p); }
#else
SHAPES()
BLOCK_KERNEL(scan_counts, Counts) { scan_all(p); }
#endif
