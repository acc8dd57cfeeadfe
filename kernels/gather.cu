// Reads at positions that are data: the positions reach into some dimensions of a tensor, the others
// stay whole. Elements are bits: a width in bytes, no number type. The plan
// has merged dimensions and fused contiguous runs behind the indexed
// dimensions into elements of up to 16 bytes.
//
// gather_elements  One thread for each element of the result, in its order, 4 a thread, 256 threads
//                  apart (1 in more than three dimensions): writes are coalesced. Reads are coalesced along the dimensions that are
//                  faster than the indexed ones; rows move 16 bytes a thread where they are aligned.
//                  A position outside gives 0, or what is at the nearest one. Best: rows of a sector or more. Worst: positions along
//                  the fastest dimension, of which each reads a sector of its own.
// place_positions  Several tensors of positions made one, of offsets; -1 where one of them is outside.
//                  For more of them than a launch takes, and for a check alone.
//
// Bytes moved per element: its own, once from the source and once to the result, and the positions,
// once for each element that they find (those of a row come from the cache).
// Of a multiprocessor. Not told, NVRTC 12.9 spills a few shapes to have more of them.
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
    Reach<Rank, Index, 2> reach;  // what is written, and the offset
    int64_t base;                 // of the offset: it makes the least one 0
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
