// Reads at integer positions: positions index some dimensions of a tensor; the other dimensions
// stay whole. Elements are bits: a width in bytes, not a number type. The plan has merged
// dimensions, and has fused contiguous runs along dimensions faster than the indexed ones into
// elements of up to 16 bytes.
//
// gather_elements  Threads follow the result's order, 4 elements per thread, 256 elements apart (1
//                  in more than three dimensions), so writes are coalesced. Reads are coalesced
//                  along the dimensions that are faster than the indexed ones; aligned rows move 16
//                  bytes per thread. A position out of bounds reads 0, or with `clamps` the nearest
//                  element. Best: rows of a sector or more. Worst: positions along the fastest
//                  dimension, each of which reads a sector of its own.
// place_positions  Combines several tensors of positions into one tensor of offsets; an offset is
//                  -1 if one of its positions is out of bounds. Used if there are more tensors than
//                  a launch takes, and to check positions only.
//
// Bytes moved per element: its own, once from the source and once to the result, and its positions
// (those of a row come from the cache).

// Minimum number of blocks per multiprocessor. Without it, NVRTC 12.9 spills registers of a few
// shapes to fit more.
#define LEAST_BLOCKS 2

#include "reach.cuh"

template <int Rank, class Index>
struct Gather {
    void* to;
    const void* source;
    Reach<Rank, Index, 2> reach;  // result, source
};

template <int Rank, class Index, int Width>
DEVICE void gather(const Gather<Rank, Index>& p) {
    using T = Bits<Width>;
    Found<Rank, Index, 2> found;
    find(p.reach, found);
    T elements[found.COUNT];
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k)
        elements[k] = load_if(found.inside[k], static_cast<const T*>(p.source) + found.at[k][1]);
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k)
        store_if(found.active[k], static_cast<T*>(p.to) + found.at[k][0], elements[k]);
}

template <int Rank, class Index>
struct Placing {
    void* to;                     // int64
    Reach<Rank, Index, 2> reach;  // result, offset
    int64_t base;                 // added to offsets, so that the least one is 0
};

template <int Rank, class Index>
DEVICE void place(const Placing<Rank, Index>& p) {
    Found<Rank, Index, 2> found;
    find(p.reach, found);
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k) {
        const int64_t placed = found.inside[k] ? p.base + found.at[k][1] : -1;
        store_if(found.active[k], static_cast<int64_t*>(p.to) + found.at[k][0], placed);
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(WIDTH)
SHAPES(RANK = 1 2 3 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(gather_elements, Gather<RANK, INDEX>) { gather<RANK, INDEX, WIDTH>(p); }
#else
SHAPES(RANK = 1 2 3 0, INDEX = int32_t int64_t)
KERNEL(place_positions, Placing<RANK, INDEX>) { place<RANK, INDEX>(p); }
#endif
