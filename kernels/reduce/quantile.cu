// Quantiles of sorted, consecutive lines, one thread per line. A thread finds by bisection where
// the NaN begin (sorts put them last). For each fraction it reads the two elements around it.
//
// Computes in double, in the host's order of operations, so that results have the same bits. Writes
// are coalesced. A line costs the one or two sectors that each fraction needs, one more sector if
// elements are floats, and about log2(length) more reads if it has NaN that are skipped. Best: many
// lines. Worst: one line, because one thread reads all fractions. The slow part is the preceding
// sort.
#include "functions_real.cuh"
#include "indexing.cuh"
#include "memory.cuh"

constexpr int MOST = 16;  // fractions per launch

enum Method { lower, higher, nearest, midpoint, linear, continuous };

template <class Index>
struct Quantiles {
    void* to;  // all lines for the first fraction, then for the next
    const void* from;
    double fractions[MOST];
    double alpha;  // of a continuous method
    double beta;
    Index lines;
    Index length;
    int32_t count;  // of fractions
    int32_t method;
    int32_t skip;  // ignore NaN; if 0, the quantiles of a line with NaN are NaN
};

// Returns the position of a fraction in a line of `count` elements.
template <class Index>
DEVICE double place_of(const Quantiles<Index>& p, double fraction, double count) {
    const double between = fraction * (count - 1);
    if (p.method == lower) return math::floor(between);
    if (p.method == higher) return math::ceil(between);
    if (p.method == nearest) return math::round(between);
    if (p.method == midpoint) return (math::floor(between) + math::ceil(between)) / 2;
    if (p.method == linear) return between;
    return count * fraction + (p.alpha + fraction * (1 - p.alpha - p.beta)) - 1;
}

// Interpolates between a and b. Exact at whole places and halfway, where the sum cannot overflow.
DEVICE double between(double a, double b, double t) {
    if (t == 0 || a == b) return a;
    if (t == 0.5) return a / 2 + b / 2;
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

template <class T> DEVICE bool is_nan(T value) { return number(value) != number(value); }

template <class Index>
DEVICE void quantiles(const Quantiles<Index>& p) {
    const Unsigned<Index> thread = static_cast<Unsigned<Index>>(blockIdx.x) * THREADS + threadIdx.x;
    const bool inside = thread < static_cast<Unsigned<Index>>(p.lines);
    const Index line = static_cast<Index>(inside ? thread : 0);
    const ELEMENT* const from = static_cast<const ELEMENT*>(p.from) + line * p.length;
    Index known = p.length;
    if constexpr (is_floating<ELEMENT>) {
        if (is_nan(load(from + (p.length - 1)))) {
            Index low = 0, high = p.skip ? p.length - 1 : 0;
            while (low < high) {
                const Index middle = low + (high - low) / 2;
                if (is_nan(load(from + middle))) high = middle;
                else low = middle + 1;
            }
            known = low;
        }
    }
    const Index last = known > 0 ? known - 1 : 0;
    for (int32_t k = 0; k < p.count; ++k) {
        double place = place_of(p, p.fractions[k], static_cast<double>(known));
        place = place > 0 ? place : 0;
        if (place > static_cast<double>(last)) place = static_cast<double>(last);
        const double begin = math::floor(place);
        const Index low = static_cast<Index>(begin), next = low < last ? low + 1 : last;
        const ELEMENT below = load(from + low);
        const double a = convert<double>(below), b = convert<double>(load(from + next));
        RESULT value = convert<RESULT>(known ? between(a, b, place - begin) : limits<double>::nan);
        if constexpr (is_same<ELEMENT, RESULT>)
            if (known && place == begin) value = below;  // a double may not hold it exactly
        store_if(inside, static_cast<RESULT*>(p.to) + (k * p.lines + line), value);
    }
}

// ---- Kernels ------------------------------------------------------------------------------------
// For a GPU, macros choose one kernel. The simulator compiles both.

#ifndef TENSORLAYOUT_SIMULATOR
SHAPES(INDEX = int32_t int64_t)
KERNEL(read_quantiles, Quantiles<INDEX>) { quantiles<INDEX>(p); }
#endif
