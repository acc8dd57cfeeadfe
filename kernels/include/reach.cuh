// Computes offsets of elements from positions that are data. A loop goes over the elements of a
// result (or over the values to write). Each dimension has a stride in every memory and in every
// tensor of positions. Each position, times a step, is added to the offset in a memory.
//
// Positions have any integer dtype; negative ones count from the end, once. A position out of
// bounds is reported (faults.cuh), and its element is not `inside`: it must not be read or written.
// If the loop clamps, the nearest position in bounds is used instead.
#pragma once

#include "bits.cuh"
#include "faults.cuh"
#include "indexing.cuh"

constexpr int64_t MOST = 0x7fffffffffffffff;

// The dtype of positions. PLACED: int64 from an earlier launch, which has reported positions out of
// bounds and replaced them by -1.
enum PositionKind : int32_t { INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, PLACED };

// Parameters of a loop over `N` memories, in addition to the positions.
template <int Rank, class Index, int N>
struct Reach {
    const void* from[MAX_POSITIONS];
    Faults* faults;
    uint64_t owner;
    int64_t extent[MAX_POSITIONS];           // sizes of the dimensions that positions index
    Index count;                             // elements of the loop
    Index stride[N][CAPACITY<Rank>];
    Index across[MAX_POSITIONS][CAPACITY<Rank>];   // strides of the positions
    Index step[MAX_POSITIONS][N];
    Divisor<Index> size[CAPACITY<Rank>];
    PositionKind kind[MAX_POSITIONS];
    int32_t positions;
    int32_t rank;
    int32_t clamps;                          // 1: positions out of bounds are clamped
};

// The indices of an element, from which the offset in any memory is computed.
template <int Rank, class Index>
struct Indices {
    Index at[Rank];

    template <int N>
    DEVICE void set(const Reach<Rank, Index, N>& r, Unsigned<Index> index) {
#pragma unroll
        for (int d = Rank - 1; d > 0; --d) {
            const Unsigned<Index> slower = r.size[d].divide(index);
            at[d] = static_cast<Index>(index - slower * r.size[d].divisor);
            index = slower;
        }
        at[0] = static_cast<Index>(index);
    }
    template <int N>
    DEVICE Index offset(const Reach<Rank, Index, N>&, const Index (&stride)[Rank]) const {
        Index sum = 0;
#pragma unroll
        for (int d = 0; d < Rank; ++d) sum += at[d] * stride[d];
        return sum;
    }
};

// Any rank. An array of indices would not fit into registers, so each offset computes them again.
template <class Index>
struct Indices<0, Index> {
    Unsigned<Index> index;

    template <int N>
    DEVICE void set(const Reach<0, Index, N>&, Unsigned<Index> given) { index = given; }
    template <int N>
    DEVICE Index offset(const Reach<0, Index, N>& r, const Index (&stride)[ANY_RANK]) const {
        Index sum = 0;
        Unsigned<Index> rest = index;
        for (int d = r.rank - 1; d >= 0; --d) {
            const Unsigned<Index> slower = d ? r.size[d].divide(rest) : 0;
            sum += static_cast<Index>(rest - slower * r.size[d].divisor) * stride[d];
            rest = slower;
        }
        return sum;
    }
};

// The elements of a thread, 256 apart.
template <int Rank, class Index, int N>
struct Found {
    static constexpr int COUNT = PER_WALK<Rank>;
    Index at[COUNT][N];  // offsets in each memory
    bool active[COUNT];  // is an element of the loop
    bool inside[COUNT];  // and all its positions are in bounds
};

template <class T, class Index, int C>
DEVICE void load_positions(const void* from, const Index (&at)[C], const bool (&active)[C],
                           int64_t (&found)[C]) {
#pragma unroll
    for (int k = 0; k < C; ++k)
        found[k] = static_cast<int64_t>(load_if(active[k], static_cast<const T*>(from) + at[k]));
}

template <class Index, int C>
DEVICE void load_positions(PositionKind kind, const void* from, const Index (&at)[C],
                           const bool (&active)[C], int64_t (&found)[C]) {
    switch (kind) {
        case INT8: return load_positions<int8_t>(from, at, active, found);
        case INT16: return load_positions<int16_t>(from, at, active, found);
        case INT32: return load_positions<int32_t>(from, at, active, found);
        case UINT8: return load_positions<uint8_t>(from, at, active, found);
        case UINT16: return load_positions<uint16_t>(from, at, active, found);
        case UINT32: return load_positions<uint32_t>(from, at, active, found);
        default: return load_positions<int64_t>(from, at, active, found);
    }
}

// Computes the offsets of the thread's elements and reports positions out of bounds. Returns the
// number of the thread's first element in the loop.
template <int Rank, class Index, int N>
DEVICE Unsigned<Index> find(const Reach<Rank, Index, N>& r, Found<Rank, Index, N>& found) {
    constexpr int COUNT = PER_WALK<Rank>;
    using Count = Unsigned<Index>;
    const Count first = static_cast<Count>(blockIdx.x) * (COUNT * THREADS) + threadIdx.x;
    Indices<Rank, Index> indices[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        found.active[k] = found.inside[k] = first + k * THREADS < static_cast<Count>(r.count);
        indices[k].set(r, found.active[k] ? first + k * THREADS : 0);
#pragma unroll
        for (int n = 0; n < N; ++n) found.at[k][n] = indices[k].offset(r, r.stride[n]);
    }
    for (int j = 0; j < r.positions; ++j) {
        Index at[COUNT];
        int64_t given[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; ++k) at[k] = indices[k].offset(r, r.across[j]);
        const PositionKind kind = r.kind[j];
        load_positions(kind, r.from[j], at, found.active, given);
        const int64_t extent = r.extent[j];
        uint32_t outside = 0;  // a bit for each element
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            // As a signed number, a uint64 of 2**63 or more would count from the end.
            if (kind == UINT64 && given[k] < 0) given[k] = MOST;
            const bool wraps = given[k] < 0 && kind != PLACED;
            int64_t position = wraps ? given[k] + extent : given[k];
            if (r.clamps) position = position < 0 ? 0 : position < extent ? position : extent - 1;
            const bool fits = static_cast<uint64_t>(position) < static_cast<uint64_t>(extent);
            outside |= static_cast<uint32_t>(found.active[k] && !fits) << k;
            found.inside[k] = found.inside[k] && fits;
            const Index place = fits ? static_cast<Index>(position) : 0;
#pragma unroll
            for (int n = 0; n < N; ++n) found.at[k][n] += place * r.step[j][n];
        }
        if (outside && kind != PLACED) {
            int64_t lowest = MOST, highest = -MOST - 1;
#pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                if (!(outside >> k & 1)) continue;
                lowest = given[k] < lowest ? given[k] : lowest;
                highest = given[k] > highest ? given[k] : highest;
            }
            report_positions(r.faults, r.owner, j, lowest, highest, extent);
        }
    }
    return first;
}
