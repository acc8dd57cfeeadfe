// Values added to what is at their positions, or the least or greatest of both: like scatter.cu, but
// every value counts. Values for one place are taken one after the other, in index order, so that the
// result, floats too, is the same each time, and that of a loop on a host.
//
// The positions of each place are brought together by counting: tally_positions, scan_counts (select.cu),
// tally_positions again, which puts the numbers of the positions into the segments of their places in any
// order, and sort_segments, which makes that index order. Then the elements:
//
// tally_positions   One thread for each position, 4 a thread: an atomic addition for each.
// sort_segments     One thread for each place. Worst: one place with all the positions, which a single
//                   thread sorts (by a heap: n log n steps).
// combine_elements  One thread for each element of the destination that positions can reach, in its order:
//                   coalesced along the dimensions that are faster than the indexed ones.
//
// Integers come in any order to the same result: they are not sorted. Where all get one and the same
// value, as in a histogram, counting and one addition are all there is to do.
//
// Bytes moved: 8 to 24 per place, 24 per position, and each element once or twice.
#define LEAST_BLOCKS 2
#include "functions.cuh"
#include "reach.cuh"

template <int Rank, class Index>
struct Tally {
    void* counts;                 // int64, of each place; then where its segment ends
    void* numbers;                // int64: numbers of positions
    Reach<Rank, Index, 1> reach;  // counts
    int32_t places;               // 1: put numbers into segments
};

template <int Rank, class Index>
DEVICE void tally(const Tally<Rank, Index>& p) {
    Found<Rank, Index, 1> found;
    const Unsigned<Index> first = find(p.reach, found);
    int64_t* const counts = static_cast<int64_t*>(p.counts);
    for (int k = 0; k < found.COUNT; ++k) {
        if (!found.inside[k]) continue;
        const int64_t at = atomic_add(counts + found.at[k][0], static_cast<int64_t>(1));
        if (p.places)
            store(static_cast<int64_t*>(p.numbers) + at,
                  static_cast<int64_t>(first + k * THREADS));
    }
}

struct Segments {
    const void* ends;  // int64, of each place
    void* numbers;
    int64_t places;
};

// Lets the number at `root` of a heap sink to where it belongs.
DEVICE void sink(int64_t* heap, int64_t root, int64_t size) {
    const int64_t number = load(heap + root);
    for (int64_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
        int64_t greater = load(heap + child);
        if (child + 1 < size) {
            const int64_t other = load(heap + child + 1);
            if (other > greater) greater = other, ++child;
        }
        if (greater <= number) break;
        store(heap + root, greater);
        root = child;
    }
    store(heap + root, number);
}

DEVICE void sort_segment(const Segments& p) {
    const int64_t place = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (place >= p.places) return;
    const int64_t* const ends = static_cast<const int64_t*>(p.ends);
    const int64_t begin = place ? load(ends + place - 1) : 0;
    const int64_t size = load(ends + place) - begin;
    int64_t* const heap = static_cast<int64_t*>(p.numbers) + begin;
    for (int64_t root = size / 2 - 1; root >= 0; --root) sink(heap, root, size);
    for (int64_t last = size - 1; last > 0; --last) {
        const int64_t greatest = load(heap), other = load(heap + last);
        store(heap + last, greatest);
        store(heap, other);
        sink(heap, 0, last);
    }
}

template <int Rank, class Index>
struct Combining {
    void* to;
    const void* values;
    const void* ends;
    const void* numbers;
    Reach<Rank, Index, 3> reach;  // destination, values, places; no positions
    int64_t step;                 // from the values of a position to those of the next; 0: the same
};

#ifdef ELEMENT

// What `count` times the same integer makes of `x`.
template <template <class> class Functor, class T>
DEVICE T combined(T x, T value, int64_t count) {
    if constexpr (is_same<Functor<T>, functions::add<T>>)
        value = functions::multiply<T>::apply(value, convert<T>(count));
    return Functor<T>::apply(x, value);
}

template <template <class> class Functor, int Rank, class Index>
DEVICE void combine(const Combining<Rank, Index>& p) {
    using T = ELEMENT;
    Found<Rank, Index, 3> found;
    find(p.reach, found);
    const int64_t* const ends = static_cast<const int64_t*>(p.ends);
    const int64_t* const numbers = static_cast<const int64_t*>(p.numbers);
    for (int k = 0; k < found.COUNT; ++k) {
        if (!found.active[k]) continue;
        const Index place = found.at[k][2];
        if constexpr (is_integer<ELEMENT>) {
            if (p.step == 0) {  // `ends` are counts
                const int64_t count = load(ends + place);
                T* const to = static_cast<T*>(p.to) + found.at[k][0];
                const T value = load(static_cast<const T*>(p.values) + found.at[k][1]);
                if (count) store(to, combined<Functor>(load(to), value, count));
                continue;
            }
        }
        int64_t at = place ? load(ends + place - 1) : 0;
        const int64_t end = load(ends + place);
        if (at == end) continue;  // it may be a gap between elements
        T* const to = static_cast<T*>(p.to) + found.at[k][0];
        const T* const values = static_cast<const T*>(p.values) + found.at[k][1];
        T result = load(to);
        for (; at < end; ++at)
            result = Functor<T>::apply(result, load(values + load(numbers + at) * p.step));
        store(to, result);
    }
}

#endif

// ---- Kernels ------------------------------------------------------------------------------------
// For a GPU the macros pick one; the simulator has all: those of elements for each ELEMENT.

#if !defined(TENSORLAYOUT_SIMULATOR)

#if defined(ELEMENT)
KERNEL(combine_elements, Combining<RANK, INDEX>) { combine<functions::OPERATION>(p); }
#elif defined(RANK)
KERNEL(tally_positions, Tally<RANK, INDEX>) { tally(p); }
#else
KERNEL(sort_segments, Segments) { sort_segment(p); }
#endif

#else

#define OF_RANKS(DEFINE, INDEX) \
    DEFINE(1, INDEX) DEFINE(2, INDEX) DEFINE(3, INDEX) DEFINE(0, INDEX)

#ifdef ELEMENT

SIMULATOR_OPERATIONS("add minimum maximum")

#define COMBINE(RANK, INDEX)                                                       \
    KERNEL(combine_elements_##RANK##_##INDEX, Combining<RANK, INDEX>) {            \
        if (simulator::operation == 0) combine<functions::add>(p);                 \
        if constexpr (!is_complex<ELEMENT>) {                                      \
            if (simulator::operation == 1) combine<functions::minimum>(p);         \
            if (simulator::operation == 2) combine<functions::maximum>(p);         \
        }                                                                          \
    }
OF_RANKS(COMBINE, int32_t) OF_RANKS(COMBINE, int64_t)

#else

#define TALLY(RANK, INDEX) \
    KERNEL(tally_positions_##RANK##_##INDEX, Tally<RANK, INDEX>) { tally(p); }
OF_RANKS(TALLY, int32_t) OF_RANKS(TALLY, int64_t)
KERNEL(sort_segments, Segments) { sort_segment(p); }

#endif
#endif
