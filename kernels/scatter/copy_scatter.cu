// Copies a tensor and replaces a few of its elements, at positions that are data: a copy and a
// scatter (scatter/scatter.cu) in one launch, without a table. Elements are bits: a width in bytes,
// not a number type.
//
// replace_elements  Each element of the result has a thread, in the order of the result. Writes are
//                   coalesced; reads are if the source has the same order. A thread loops over all
//                   positions of its line (of the whole tensor, if all lines have the same
//                   positions). It writes the value of the last position that equals its own place,
//                   or else the source's element. Neighbouring threads read the same or
//                   neighbouring positions, which come from a cache. Best: few positions. Worst: 32
//                   positions, the most that a plan allows.
//
// Bytes moved per element: its own, once from the source or the values and once to the result.
#define LEAST_BLOCKS 2

#include "reach.cuh"

template <int Rank, class Index>
struct Replace {
    void* to;
    const void* from;
    const void* values;
    Reach<Rank, Index, 4> reach;  // result, source, values, and the number of the place
    Index pace[MAX_POSITIONS];    // stride between positions, in each tensor of positions
    Index count;                  // of positions
};

template <int Rank, class Index, int Width>
DEVICE void replace(const Replace<Rank, Index>& p) {
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    const Reach<Rank, Index, 4>& r = p.reach;
    const Count number = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const bool active[1] = {number < static_cast<Count>(r.count)};
    Indices<Rank, Index> indices;
    indices.set(r, active[0] ? number : 0);
    const Index place = indices.offset(r, r.stride[3]);
    const bool reports = active[0] && place == 0;  // one thread of those with the same positions
    Index begin[MAX_POSITIONS];
#pragma unroll
    for (int t = 0; t < MAX_POSITIONS; ++t)
        begin[t] = t < r.positions ? indices.offset(r, r.across[t]) : 0;
    Index winner = -1;
    for (Index j = 0; j < p.count; ++j) {
        Index found = 0;
        bool inside = true;
#pragma unroll
        for (int t = 0; t < MAX_POSITIONS; ++t) {
            if (t >= r.positions) break;
            const Index at[1] = {begin[t] + j * p.pace[t]};
            int64_t given[1];
            load_positions(r.kind[t], r.from[t], at, active, given);
            if (r.kind[t] == UINT64 && given[0] < 0) given[0] = MOST;
            const int64_t extent = r.extent[t];
            const int64_t position = given[0] < 0 ? given[0] + extent : given[0];
            const bool fits = static_cast<uint64_t>(position) < static_cast<uint64_t>(extent);
            if (!fits && reports) report_positions(r.faults, r.owner, t, given[0], given[0], extent);
            inside = inside && fits;
            found += fits ? static_cast<Index>(position) * r.step[t][3] : 0;
        }
        if (inside && found == place) winner = j;
    }
    const T* const kept = static_cast<const T*>(p.from) + indices.offset(r, r.stride[1]);
    const T* const value =
        static_cast<const T*>(p.values) + indices.offset(r, r.stride[2]) + winner * r.step[0][2];
    const T element = load_if(active[0], winner < 0 ? kept : value);
    store_if(active[0], static_cast<T*>(p.to) + indices.offset(r, r.stride[0]), element);
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifndef TENSORLAYOUT_SIMULATOR
SHAPES(RANK = 1 2 3 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(replace_elements, Replace<RANK, INDEX>) { replace<RANK, INDEX, WIDTH>(p); }
#endif
