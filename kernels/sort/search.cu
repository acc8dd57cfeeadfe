// Searches in a sorted line: returns where values would be inserted, or whether the line contains
// them. Each thread searches for one value by bisection.
//
// Values are read, and results written, in the order of the result: coalesced where values are
// contiguous. A thread reads one element of the line at a time, log2(length) elements in all. The
// first steps read the same elements for all values, so these come from a cache. Best: nearly
// sorted values, because the threads of a warp then read the same sectors until the last step.
// Bytes moved per value: the value, its result, and those sectors of the line that no cache holds.
#include "indexing.cuh"
#include "memory.cuh"
#include "order.cuh"

enum Gives { positions, members };

template <int Rank, class Index>
struct Search {
    void* to;  // int64, or bool
    const void* line;
    const void* values;
    Index count;
    Index length;  // of the line
    Index step;    // stride of its elements
    Walk<Rank, Index, 1> walk;  // of values
    int32_t right;   // insert behind equal elements
    int32_t invert;  // negate membership
};

template <class T> DEVICE bool is_number(T value) { return number(value) == number(value); }

template <int Rank, class Index, Gives Wanted>
DEVICE void search(const Search<Rank, Index>& p) {
    using Count = Unsigned<Index>;
    const Count thread = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const bool inside = thread < static_cast<Count>(p.count);
    Index at[1];
    p.walk.offsets(inside ? thread : 0, at);
    const COMPARE value =
        convert<COMPARE>(load_if(inside, static_cast<const VALUES*>(p.values) + at[0]));
    const auto wanted = order_of(value);
    const LINE* const line = static_cast<const LINE*>(p.line);
    Index low = 0, high = p.length;
    bool member = false;
    while (low < high) {
        const Index middle = low + (high - low) / 2;
        const auto here = order_of(convert<COMPARE>(load(line + middle * p.step)));
        member = member || here == wanted;
        if (here < wanted || (p.right && here == wanted)) low = middle + 1;
        else high = middle;
    }
    if constexpr (Wanted == positions) {
        store_if(inside, static_cast<int64_t*>(p.to) + thread, static_cast<int64_t>(low));
    } else {
        const bool found = member && is_number(value);
        store_if(inside, static_cast<bool8*>(p.to) + thread, bool8(found != (p.invert != 0)));
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifndef TENSORLAYOUT_SIMULATOR
SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t, GIVES = positions members)
KERNEL(search_line, Search<RANK, INDEX>) { search<RANK, INDEX, GIVES>(p); }
#endif
