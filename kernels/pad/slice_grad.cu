// A tensor spread over a larger one, zero elsewhere: the reverse of a window with steps. Elements are
// bits: a width in bytes, no number type. The plan has made steps
// positive, merged dimensions that the window takes whole, and fused contiguous runs into elements of up
// to 16 bytes.
//
// spread_elements  One thread for each element of the result, in its order, 4 a thread, 256 threads apart
//                  (1 in more than three dimensions). Writes are coalesced, reads where the source's
//                  fastest dimension is the result's. Best: steps of 1 along that. Worst: steps along it,
//                  which leave lanes without a read.
//
// Bytes moved per element: its own once to the result, and once from the source for what that has.
// Of a multiprocessor. Not told, NVRTC 12.9 spills a few shapes to have more of them.
#define LEAST_BLOCKS 2

#include "bits.cuh"
#include "indexing.cuh"
#include "memory.cuh"

constexpr int ANY_RANK = 40;
template <int Rank> constexpr int PER_THREAD = Rank ? 4 : 1;

template <int Rank, class Index>
struct Spread {
    static constexpr int CAPACITY = Rank ? Rank : ANY_RANK;
    void* to;
    const void* from;
    Index count;             // elements of the result
    Index stride[2][CAPACITY];  // in the result and in the source
    Index first[CAPACITY];   // where the window begins
    Index taken[CAPACITY];   // elements of the source
    Divisor<Index> size[CAPACITY];
    Divisor<Index> step[CAPACITY];  // of the window
    int32_t rank;
};

template <int Rank, class Index, int Width>
DEVICE void spread(const Spread<Rank, Index>& p) {
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    constexpr int COUNT = PER_THREAD<Rank>;
    const Count first = static_cast<Count>(blockIdx.x) * (COUNT * THREADS) + threadIdx.x;
    const int rank = Rank ? Rank : p.rank;
    Index to[COUNT];
    T elements[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        bool inside = first + k * THREADS < static_cast<Count>(p.count);
        Count rest = inside ? first + k * THREADS : 0;
        Index from = 0;
        to[k] = 0;
#pragma unroll
        for (int d = rank - 1; d >= 0; --d) {
            const Count slower = d ? p.size[d].divide(rest) : 0;
            const Index at = static_cast<Index>(rest - slower * p.size[d].divisor);
            const Index away = at - p.first[d];
            const Index place = static_cast<Index>(p.step[d].divide(away < 0 ? 0 : away));
            inside &= place * static_cast<Index>(p.step[d].divisor) == away && place < p.taken[d];
            to[k] += at * p.stride[0][d];
            from += place * p.stride[1][d];
            rest = slower;
        }
        elements[k] = load_if(inside, static_cast<const T*>(p.from) + from);
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        store_if(first + k * THREADS < static_cast<Count>(p.count), static_cast<T*>(p.to) + to[k],
                 elements[k]);
}

// ---- Kernels ------------------------------------------------------------------------------------
// For a GPU the macros pick one; the simulator has all shapes.

#ifndef TENSORLAYOUT_SIMULATOR
SHAPES(RANK = 1 2 3 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(spread_elements, Spread<RANK, INDEX>) { spread<RANK, INDEX, WIDTH>(p); }
#endif
