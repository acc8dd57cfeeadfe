// Writes values at positions that are data: the inverse of gather.cu, with the same positions,
// loops and wide elements. If several values have the same place, the last in index order is
// written, whatever the order of threads.
//
// mark_positions    Fills a table that has an entry for each place. One launch writes 0; another
//                   keeps the greatest number of a position for each place. A thread handles 4
//                   positions, 256 elements apart. Only entries of places that are written to are
//                   touched, so the table need not be cleared before.
// scatter_elements  Writes the values whose position is in the table, or all values if those of one
//                   place cannot differ. Threads follow the order of the destination, with 4 values
//                   each. Aligned rows move 16 bytes per thread. Nothing is written for a position
//                   out of bounds. Best: rows of a sector or more. Worst: positions along the
//                   fastest dimension, each of which writes to a sector of its own.
//
// Bytes moved per element: its own, once from the values and once to the destination, its position,
// and 4 (or 8) of the table. In addition, per position: itself twice and an entry 3 times.

// Minimum number of blocks per multiprocessor. Without it, NVRTC 12.9 spills registers of a few
// shapes to fit more blocks.
#define LEAST_BLOCKS 2

#include "reach.cuh"

template <int Rank, class Index>
struct Marking {
    void* winners;                // of type Index: the number of a position, plus 1
    Reach<Rank, Index, 1> reach;
    int32_t clears;               // 1: only write 0
};

template <int Rank, class Index>
DEVICE void mark(const Marking<Rank, Index>& p) {
    Found<Rank, Index, 1> found;
    const Unsigned<Index> first = find(p.reach, found);
    Index* const winners = static_cast<Index*>(p.winners);
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k) {
        Index* const entry = winners + found.at[k][0];
        const Index number = static_cast<Index>(first + k * THREADS + 1);
        if (p.clears) store_same_if(found.inside[k], entry, static_cast<Index>(0));
        else atomic_max_if(found.inside[k], entry, number);
    }
}

enum Values : int32_t { ONE_VALUE, MANY_VALUES };

template <int Rank, class Index>
struct Scatter {
    void* to;
    const void* values;
    const void* winners;
    Reach<Rank, Index, 3> reach;  // destination, values, winners
    uint64_t bits[2];             // the one value, repeated to 16 bytes
    Divisor<Index> inner;         // elements of dimensions faster than the positions
    Divisor<Index> span;          // positions: an element's is number element / inner % span
    Values values_are;
    int32_t ordered;              // 1: `winners` decides which values are written
};

template <int Rank, class Index, int Width>
DEVICE void scatter(const Scatter<Rank, Index>& p) {
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    Found<Rank, Index, 3> found;
    const Count first = find(p.reach, found);
    T elements[found.COUNT];
    bool writes[found.COUNT];
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k) {
        writes[k] = found.inside[k];
        elements[k] = low_bits<Width>(p.bits);
    }
    if (p.values_are == MANY_VALUES) {
#pragma unroll
        for (int k = 0; k < found.COUNT; ++k)
            elements[k] =
                load_if(found.active[k], static_cast<const T*>(p.values) + found.at[k][1]);
    }
    if (p.ordered) {
#pragma unroll
        for (int k = 0; k < found.COUNT; ++k) {
            const Count place = p.inner.divide(found.active[k] ? first + k * THREADS : 0);
            const Count number = place - p.span.divide(place) * p.span.divisor;
            const Index winner =
                load_if(found.inside[k], static_cast<const Index*>(p.winners) + found.at[k][2]);
            writes[k] = found.inside[k] && winner == static_cast<Index>(number + 1);
        }
    }
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k)
        store_same_if(writes[k], static_cast<T*>(p.to) + found.at[k][0], elements[k]);
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(WIDTH)
SHAPES(RANK = 1 2 3 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(scatter_elements, Scatter<RANK, INDEX>) { scatter<RANK, INDEX, WIDTH>(p); }
#else
SHAPES(RANK = 1 2 3 0, INDEX = int32_t int64_t)
KERNEL(mark_positions, Marking<RANK, INDEX>) { mark<RANK, INDEX>(p); }
#endif
