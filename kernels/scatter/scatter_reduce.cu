// Adds values to the elements at their positions, or computes the minimum or maximum of both. It
// works like scatter/scatter.cu, but every value counts.
//
// change_elements   Combines each value with its element by an atomic operation: one launch, for
//                   integers of 4 and 8 bytes, which have the same result in any order, and for
//                   floats of these sizes if the caller accepts sums in any order. Threads follow
//                   the order of the destination. Worst: many values for one place, which wait for
//                   each other.
//
// Otherwise values for one place are combined in index order. If a place has RUN values or more, each RUN of them are combined first, then each RUN of
// the results, and so on. So the result, also of floats, is the same in each execution and the same
// as the host's. A thread has at most a few times RUN steps for each power of RUN up to the number
// of values.
//
// A stable sort of the numbers of positions (sort/sort.cu, sort/radix.cu) groups the values of each
// place. The kernels of this file:
//
// list_places       Writes the keys of the sort: the place of each position, 4 per thread.
// find_segments     Finds where each place begins and ends in sorted order, with a thread for each
//                   position.
// fold_runs         Combines the runs of one place, with a thread for each run and each element of
//                   a position's values, and a launch for each power of RUN. Reads values by the
//                   numbers of their positions: coalesced along the dimensions that are not
//                   indexed.
// combine_elements  Combines values with the destination, with a thread for each element that
//                   positions can reach, in the order of the destination. Coalesced along the
//                   dimensions that are faster than the indexed ones.
// tally_positions   Counts the positions of each place, with an atomic addition for each position.
//                   If all values are the same integer, as in a histogram, these counts and one
//                   addition are enough.
//
// Bytes moved: of change_elements each value once and its element twice. Otherwise 8 to 16 per
// place, 8 per position and those of the sort, and each element once or twice.
#define LEAST_BLOCKS 2
#include "atomics.cuh"
#include "functions.cuh"
#include "reach.cuh"

template <int Rank, class Index>
struct Tally {
    void* counts;                 // int64, of each place
    Reach<Rank, Index, 1> reach;  // counts
};

template <int Rank, class Index>
DEVICE void tally(const Tally<Rank, Index>& p) {
    Found<Rank, Index, 1> found;
    find(p.reach, found);
    int64_t* const counts = static_cast<int64_t*>(p.counts);
    for (int k = 0; k < found.COUNT; ++k)
        if (found.inside[k]) atomic_add(counts + found.at[k][0], static_cast<int64_t>(1));
}

template <int Rank, class Index>
struct Listing {
    void* keys;
    Reach<Rank, Index, 1> reach;  // places
    Index first;                  // the place at offset 0
    Index places;                 // the key of positions out of bounds
};

template <int Rank, class Index>
DEVICE void list(const Listing<Rank, Index>& p) {
    using Key = Unsigned<Index>;
    Found<Rank, Index, 1> found;
    const Key first = find(p.reach, found);
    for (int k = 0; k < found.COUNT; ++k)
        store_if(found.active[k], static_cast<Key*>(p.keys) + (first + k * THREADS),
                 static_cast<Key>(found.inside[k] ? p.first + found.at[k][0] : p.places));
}

// Start and end of a place's positions in sorted order; both are 0 if there are none.
template <class Index> using Segment = Pack<Index, 2>;

template <class Index>
struct Finding {
    void* segments;
    const void* keys;  // sorted
    Index count, places;
};

template <class Index>
DEVICE void find_ends(const Finding<Index>& p) {
    using Key = Unsigned<Index>;
    const Key at = static_cast<Key>(blockIdx.x) * THREADS + threadIdx.x;
    const Key count = static_cast<Key>(p.count);
    const Key* const keys = static_cast<const Key*>(p.keys) + at;
    const Key key = load_if(at < count, keys);
    const Key before = load_if(at > 0 && at < count, keys - 1);
    const Key behind = load_if(at + 1 < count, keys + 1);
    const bool inside = at < count && key < static_cast<Key>(p.places);
    Index* const ends = static_cast<Index*>(p.segments) + (inside ? 2 * key : 0);
    store_if(inside && (at == 0 || before != key), ends, static_cast<Index>(at));
    store_if(inside && (at + 1 == count || behind != key), ends + 1, static_cast<Index>(at + 1));
}

// Parameters of fold_runs. A run is RUN**level positions of one place, which are consecutive in
// sorted order. The index of exactly one of them in this order is a multiple of RUN**level; the
// quotient is the index of the run's result.
template <class Index>
struct Folding {
    void* to;          // results of runs
    const void* from;  // results of the level below; at level 1, values
    const void* segments;
    const void* keys;
    const void* numbers;
    Reach<0, Index, 3> reach;  // results, values, quotients; no positions
    int64_t step;              // from the values of a position to those of the next
    Index places;
    Index kept;  // elements per position
    int32_t level;
};

template <int Rank, class Index>
struct Combining {
    void* to;
    const void* values;
    const void* segments;  // or counts
    const void* numbers;
    const void* runs;             // results of runs, of all levels
    Reach<Rank, Index, 4> reach;  // destination, values, places, results of runs; no positions
    int64_t step;                 // from the values of a position to those of the next; 0: the same
    Index count;                  // positions
    Index kept;
    int32_t levels;
};

template <int Rank, class Index>
struct Changing {
    void* to;
    const void* values;
    Reach<Rank, Index, 2> reach;  // destination, values
};

#ifdef ELEMENT

// Combines `value` with an element, atomically: of complex numbers each part.
template <template <class> class Functor, class T>
DEVICE void change_element(T* at, T value) {
    if constexpr (is_complex<T>) {
        atomic_add(&at->re, value.re);
        atomic_add(&at->im, value.im);
    } else if constexpr (sizeof(T) < 4) {  // no launch asks for these
    } else if constexpr (is_same<Functor<T>, functions::add<T>>) {
        atomic_add(at, value);
    } else if constexpr (!is_integer<T>) {
        atomic_change(at, [=](T old) { return Functor<T>::apply(old, value); });
    } else if constexpr (is_same<Functor<T>, functions::minimum<T>>) {
        atomic_min(at, value);
    } else {
        atomic_max(at, value);
    }
}

template <template <class> class Functor, int Rank, class Index>
DEVICE void change(const Changing<Rank, Index>& p) {
    using T = ELEMENT;
    Found<Rank, Index, 2> found;
    find(p.reach, found);
    T values[found.COUNT];
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k)
        values[k] = load_if(found.active[k], static_cast<const T*>(p.values) + found.at[k][1]);
#pragma unroll
    for (int k = 0; k < found.COUNT; ++k)
        if (found.inside[k])
            change_element<Functor>(static_cast<T*>(p.to) + found.at[k][0], values[k]);
}

constexpr int RUN_BITS = 8, RUN = 1 << RUN_BITS;  // as in tensorlayout/plan/scatter.py

// Returns the result of combining `x` with the same integer `count` times.
template <template <class> class Functor, class T>
DEVICE T combined(T x, T value, int64_t count) {
    if constexpr (is_same<Functor<T>, functions::add<T>>)
        value = functions::multiply<T>::apply(value, convert<T>(count));
    return Functor<T>::apply(x, value);
}

template <template <class> class Functor, class Index>
DEVICE void fold(const Folding<Index>& p) {
    using T = ELEMENT;
    Found<0, Index, 3> found;
    find(p.reach, found);
    if (!found.active[0]) return;
    const Index quotient = found.at[0][2], run = Index(1) << (RUN_BITS * p.level);
    const Index middle = quotient << (RUN_BITS * p.level);
    const Unsigned<Index> place = load(static_cast<const Unsigned<Index>*>(p.keys) + middle);
    if (place >= static_cast<Unsigned<Index>>(p.places)) return;
    const Segment<Index> segment = load(static_cast<const Segment<Index>*>(p.segments) + place);
    const Index begin = middle - ((middle - segment.at[0]) & (run - 1));
    if (segment.at[1] - begin < run) return;
    const T* from = static_cast<const T*>(p.from);
    T result;
    if (p.level == 1) {
        from += found.at[0][1];
        const Index* const numbers = static_cast<const Index*>(p.numbers) + begin;
        result = load(from + load(numbers) * p.step);
#pragma unroll 8
        for (int i = 1; i < RUN; ++i)
            result = Functor<T>::apply(result, load(from + load(numbers + i) * p.step));
    } else {
        const Index part = run >> RUN_BITS, first = (begin + (part - 1)) / part;
        from += found.at[0][0] + (first - quotient) * p.kept;
        result = load(from);
#pragma unroll 8
        for (int i = 1; i < RUN; ++i)
            result = Functor<T>::apply(result, load(from + i * p.kept));
    }
    store(static_cast<T*>(p.to) + found.at[0][0], result);
}

template <template <class> class Functor, int Rank, class Index>
DEVICE void combine(const Combining<Rank, Index>& p) {
    using T = ELEMENT;
    Found<Rank, Index, 4> found;
    find(p.reach, found);
    const Index* const numbers = static_cast<const Index*>(p.numbers);
    for (int k = 0; k < found.COUNT; ++k) {
        if (!found.active[k]) continue;
        const Index place = found.at[k][2];
        if constexpr (is_integer<ELEMENT>) {
            if (p.step == 0) {
                const int64_t count = load(static_cast<const int64_t*>(p.segments) + place);
                T* const to = static_cast<T*>(p.to) + found.at[k][0];
                const T value = load(static_cast<const T*>(p.values) + found.at[k][1]);
                if (count) store(to, combined<Functor>(load(to), value, count));
                continue;
            }
        }
        const Segment<Index> segment = load(static_cast<const Segment<Index>*>(p.segments) + place);
        Index at = segment.at[0];
        const Index end = segment.at[1];
        if (at == end) continue;  // the slot may be a gap between elements
        T* const to = static_cast<T*>(p.to) + found.at[k][0];
        const T* const values = static_cast<const T*>(p.values) + found.at[k][1];
        T result = load(to);
        if (end - at >= RUN) {
            for (int level = p.levels; level > 0; --level) {
                const T* runs = static_cast<const T*>(p.runs) + found.at[k][3];
                for (int lower = 1; lower < level; ++lower)
                    runs += (((p.count - 1) >> (RUN_BITS * lower)) + 1) * p.kept;
                const Index run = Index(1) << (RUN_BITS * level);
                for (; end - at >= run; at += run)
                    result = Functor<T>::apply(
                        result, load(runs + ((at + (run - 1)) >> (RUN_BITS * level)) * p.kept));
            }
        }
        for (; at < end; ++at)
            result = Functor<T>::apply(result, load(values + load(numbers + at) * p.step));
        store(to, result);
    }
}

#endif

// ---- Kernels ------------------------------------------------------------------------------------
// For a GPU the macros select one kernel. The simulator has all of them, and those with an
// ELEMENT once per type.

#ifdef TENSORLAYOUT_SIMULATOR

#ifdef ELEMENT
SIMULATOR_OPERATIONS("add minimum maximum")
#define CHOSEN(run)                                                \
    if (simulator::operation == 0) run<functions::add>(p);         \
    if constexpr (!is_complex<ELEMENT>) {                          \
        if (simulator::operation == 1) run<functions::minimum>(p); \
        if (simulator::operation == 2) run<functions::maximum>(p); \
    }
#endif

#else

#define CHOSEN(run) run<functions::OPERATION>(p);

#if defined(ELEMENT) && !defined(RANK)
SHAPES(WITH ELEMENT, INDEX = int32_t int64_t)
KERNEL(fold_runs, Folding<INDEX>) { CHOSEN(fold) }
#elif defined(ELEMENT)
SHAPES(WITH ELEMENT, RANK = 1 2 3 0, INDEX = int32_t int64_t)
KERNEL(combine_elements, Combining<RANK, INDEX>) { CHOSEN(combine) }
KERNEL(change_elements, Changing<RANK, INDEX>) { CHOSEN(change) }
#elif defined(RANK)
SHAPES(WITHOUT ELEMENT, RANK = 1 2 3 0, INDEX = int32_t int64_t)
KERNEL(tally_positions, Tally<RANK, INDEX>) { tally(p); }
KERNEL(list_places, Listing<RANK, INDEX>) { list(p); }
#else
SHAPES(WITHOUT ELEMENT, INDEX = int32_t int64_t)
KERNEL(find_segments, Finding<INDEX>) { find_ends(p); }
#endif

#endif
