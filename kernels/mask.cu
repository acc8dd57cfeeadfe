// Reads and writes elements where a mask is true. The number of true elements is data, so there are
// two passes over the mask, with prefix sums between them; no block waits for another.
//
// count_true        Counts the true elements of each chunk of 4096 elements of the mask; one block
//                   per chunk.
// scan_counts       Computes the sum of the counts before each chunk, and the sum of all, in one
//                   block.
// select_elements   Copies the true elements to the result. Each block finds the true elements of
//                   its chunk again and packs their indices in shared memory, so writes are
//                   coalesced. Reads are coalesced as far as true elements are neighbours. Elements
//                   are bits.
// select_positions  The same, but writes positions, for kernels that move whole slices (gather.cu,
//                   scatter/scatter.cu). No position is -1.
// store_masked      Writes values that need no count (one number, or one slice for all) where the
//                   mask is true, in the destination's order. It needs a single launch.
//
// The mask is read in row-major index order. Reads are coalesced if its memory has that order, with
// 16 bytes per thread if it is packed. Worst: a mask in another order, where each element costs a
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

// Loads this block's chunk of the mask into shared memory; elements after the end are false.
template <int Rank, class Index>
DEVICE void load_chunk(const Selection<Rank, Index>& p, uint8_t (&chunk)[CHUNK]) {
    using Count = Unsigned<Index>;
    const Count begin = static_cast<Count>(blockIdx.x) * CHUNK, count = static_cast<Count>(p.count);
    const uint8_t* const mask = static_cast<const uint8_t*>(p.mask);
    if (p.packed && begin + CHUNK <= count) {
        const uint32_t at = threadIdx.x * EACH;
        using Word = Bits<EACH>;
        store_shared(reinterpret_cast<Word*>(chunk + at),
                     load(reinterpret_cast<const Word*>(mask + begin + at)));
    } else {
#pragma unroll 4  // more loads in flight would spill registers
        for (int k = 0; k < EACH; ++k) {
            const uint32_t at = k * THREADS + threadIdx.x;
            const bool inside = begin + at < count;
            Index places[2];
            p.walk.offsets(inside ? begin + at : 0, places);
            store_shared(chunk + at, load_if(inside, mask + places[0]));
        }
    }
    barrier();
}

// Returns the sum over the threads up to and including this one; `total` is the block's sum.
template <class T>
DEVICE T scan(T (&sums)[2 * THREADS], T value, T& total) {
    const uint32_t t = threadIdx.x;
    int from = 0;
    store_shared(sums + t, value);
    barrier();
    for (uint32_t step = 1; step < THREADS; step *= 2) {
        const T before = load_shared_if(t >= step, sums + (from + (t >= step ? t - step : 0)));
        const T sum = load_shared(sums + from + t) + before;
        from = THREADS - from;
        store_shared(sums + from + t, sum);
        barrier();
    }
    const T found = load_shared(sums + from + t);
    total = load_shared(sums + from + THREADS - 1);
    barrier();
    return found;
}

struct Chunk {
    uint32_t before, total;  // true elements of the threads before, and of the block
    uint32_t bits;           // one for each element of this thread: 1 if it is true
};

// Counts the true elements of a chunk. Thread t has EACH elements, from element EACH * t on.
DEVICE Chunk look(uint8_t (&chunk)[CHUNK], uint32_t (&sums)[2 * THREADS]) {
    using Word = Pack<uint8_t, EACH>;
    const Word word = load_shared(reinterpret_cast<const Word*>(chunk + threadIdx.x * EACH));
    Chunk found;
    found.bits = 0;
    uint32_t here = 0;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const uint32_t is_true = word.at[k] != 0;
        found.bits |= is_true << k;
        here += is_true;
    }
    found.before = scan(sums, here, found.total) - here;
    return found;
}

template <int Rank, class Index>
DEVICE void count_chunk(const Selection<Rank, Index>& p) {
    SHARED(uint8_t, chunk, CHUNK);
    SHARED(uint32_t, sums, 2 * THREADS);
    load_chunk(p, chunk);
    const Chunk found = look(chunk, sums);
    if (threadIdx.x == 0)
        store(static_cast<int64_t*>(p.counts) + blockIdx.x, static_cast<int64_t>(found.total));
}

struct Counts {
    void* counts;  // int64, `blocks` + 1 of them
    int64_t blocks;
};

DEVICE void scan_all(const Counts& p) {
    constexpr int MANY = 8;
    SHARED(int64_t, sums, 2 * THREADS);
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

// Returns the number of set bits among the lowest 16.
DEVICE uint32_t ones(uint32_t bits) {
    bits -= bits >> 1 & 0x5555;
    bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
    bits = (bits + (bits >> 4)) & 0x0f0f;
    return (bits + (bits >> 8)) & 0x1f;
}

// Writes the true elements of a chunk, or for a Width of 0 their positions.
template <int Rank, class Index, int Width>
DEVICE void select_true(const Selection<Rank, Index>& p) {
    SHARED(uint8_t, chunk, CHUNK);
    SHARED(uint32_t, sums, 2 * THREADS);
    SHARED(uint16_t, places, CHUNK);
    using Count = Unsigned<Index>;
    load_chunk(p, chunk);
    const Chunk found = look(chunk, sums);
    // Threads begin at different bits; otherwise the threads of a warp would store to few banks.
    for (int k = 0; k < EACH; ++k) {
        const uint32_t bit = (k + threadIdx.x) % EACH;
        const uint32_t at = found.before + ones(found.bits & ((1u << bit) - 1));
        store_shared_if(found.bits >> bit & 1, places + at,
                        static_cast<uint16_t>(threadIdx.x * EACH + bit));
    }
    barrier();
    const int64_t first = load(static_cast<const int64_t*>(p.counts) + blockIdx.x);
    const Count begin = static_cast<Count>(blockIdx.x) * CHUNK;
    for (uint32_t i = threadIdx.x; i < found.total; i += THREADS) {
        Index offsets[2];
        p.walk.offsets(begin + load_shared(places + i), offsets);
        if constexpr (Width == 0) {
            store(static_cast<int64_t*>(p.to) + first + i, p.base + offsets[1]);
        } else {
            using T = Bits<Width>;
            store(static_cast<T*>(p.to) + first + i,
                  load(static_cast<const T*>(p.source) + offsets[1]));
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
