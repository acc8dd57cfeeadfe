// Running sums and products along one dimension of any layout, into any layout. Which kernel, and in
// which pieces, is planned by tensorlayout/cuda/scan_plan.py.
//
// A result's *lines* run along the scanned dimension; `inner` counts those that are side by side in
// the order of the source. With `initial`, a line begins with a position that no element has: 0, or 1 of products.
//
// scan_rows     Lines that follow each other in memory, or a few (below 32) side by side. A block
//               reads a tile of consecutive elements of the result, in sectors, and has it in
//               shared memory line after line; each thread scans 9 neighbours, and what comes
//               before them is found in 8 steps over the threads. Short lines share a tile; long
//               ones go tile by tile, what came before carried along. Worst: a source, or a result,
//               that is not contiguous along the runs.
// scan_columns  32 lines side by side, one for each lane; 8 warps have 8 positions each, and hand on
//               what they have by way of shared memory. Coalesced as far as lines are neighbours.
//
// Few, long lines are cut into chunks, which blocks scan at once, in two launches: `totals` writes the
// total of each chunk, and `results` begins with those of the chunks before. No block waits for
// another. Bytes moved per element: its own twice, read once and written once; with chunks it is read
// twice. Floats are added up in double, and each result is rounded once; integers wrap.
#define LEAST_BLOCKS 2
#include "functions.cuh"
#include "indexing.cuh"
#include "memory.cuh"
#include "sectors.cuh"

// What all kernels share is compiled once for the simulator.
#ifdef TENSORLAYOUT_SIMULATOR
#define COMMON __attribute__((noinline))
#else
#define COMMON DEVICE
#endif

enum Task { totals, results };

using Total = choose<is_complex<RESULT>, complex<double>,
    choose<is_floating<RESULT>, double, choose<sizeof(RESULT) == 8, uint64_t, uint32_t>>>;

// ---- The operation ------------------------------------------------------------------------------

template <template <class> class Functor> constexpr int START = 0;
template <> constexpr int START<functions::multiply> = 1;

#ifndef TENSORLAYOUT_SIMULATOR
DEVICE Total combine(Total x, Total y) { return functions::OPERATION<Total>::apply(x, y); }
DEVICE Total start_value() { return convert<Total>(START<functions::OPERATION>); }
#else
SIMULATOR_OPERATIONS("add multiply")
static COMMON Total combine(Total x, Total y) {
    return simulator::operation ? functions::multiply<Total>::apply(x, y)
                                : functions::add<Total>::apply(x, y);
}
static COMMON Total start_value() {
    return convert<Total>(simulator::operation ? START<functions::multiply> : START<functions::add>);
}
#endif

// What came before, if anything did. Nothing is no number: neither 0 + -0 nor 1 * z is harmless.
struct Running {
    Total value;
    bool any;

    DEVICE Running then(Total more) const { return {any ? combine(value, more) : more, true}; }
};

// Those of consecutive chunks, `step` apart in memory.
template <class Index>
DEVICE Running running_over(const Total* each, int32_t first, int32_t last, Index step) {
    Running found{Total{}, false};
#pragma unroll 4
    for (int32_t k = first; k < last; ++k) found = found.then(load(each + k * step));
    return found;
}

// ---- Rows ---------------------------------------------------------------------------------------

constexpr int PER_THREAD = 9;  // odd, so that the threads' runs begin in different banks
constexpr int TILE = PER_THREAD * THREADS;
constexpr int MOST_INNER = 32;

// A tile has `outers` whole lines, or `tile` positions of one; times the lines side by side.
template <int Rank, class Index>
struct RowScan {
    void* to;
    const void* from;
    void* totals;       // [line][chunk]
    Index elements;     // of the result
    Index length;       // positions of a line
    Index group;        // elements from group to group; chunks are of one
    Index chunk;        // positions of a chunk
    Index back;         // elements of the source that the position of no element takes
    Walk<Rank, Index, 2> walk;  // of the result's positions, in the source and the result
    Divisor<int32_t> chunks, period, inner, pitch;
    int32_t tile, outers, initial;
};

struct Spot {
    int32_t element, place;  // of the tile in memory, and in shared memory
    int32_t position;        // in the line, from the tile's first one on
    bool inside;
};

template <int Rank, class Index>
DEVICE Spot spot_of(const RowScan<Rank, Index>& p, int k, uint32_t shift, int32_t count) {
    Spot spot;
    spot.element = static_cast<int32_t>(k * THREADS + threadIdx.x - shift);
    spot.inside = spot.element >= 0 && spot.element < count;
    if (!spot.inside) spot.element = 0;
    spot.place = spot.element;
    spot.position = 1;  // behind that of no element, if nobody asks
    const uint32_t inner = p.inner.divisor;
    if (inner > 1 || p.initial) {
        const uint32_t outer = p.period.divide(spot.element);
        const uint32_t rest = spot.element - outer * p.period.divisor;
        const uint32_t position = p.inner.divide(rest);
        spot.position = static_cast<int32_t>(position);
        if (inner > 1)
            spot.place = static_cast<int32_t>(
                (outer * inner + rest - position * inner) * p.pitch.divisor + position);
    }
    return spot;
}

template <int Rank, class Index>
DEVICE void read_tile(const RowScan<Rank, Index>& p, Total (&tile)[TILE], Index start, int32_t count,
                      Index before) {
    const SOURCE* const from = static_cast<const SOURCE*>(p.from);
    Index at[2];
    p.walk.offsets(static_cast<Unsigned<Index>>(start), at);
    const uint32_t shift = shift_at(from + (at[0] - p.back));
    SOURCE elements[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const Spot spot = spot_of(p, k, shift, count);
        p.walk.offsets(static_cast<Unsigned<Index>>(start + spot.element), at);
        const bool there = spot.inside && before + spot.position >= p.initial;
        elements[k] = load_if(there, from + (at[0] - p.back));
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const Spot spot = spot_of(p, k, shift, count);
        const bool there = before + spot.position >= p.initial;
        store_shared_if(spot.inside, tile + spot.place,
                        there ? convert<Total>(elements[k]) : start_value());
    }
}

// What the chunks before this block's leave to each line of its group.
template <int Rank, class Index>
DEVICE void read_carries(const RowScan<Rank, Index>& p, Index group, int32_t chunk,
                         Total (&shares)[THREADS], Total (&carries)[MOST_INNER]) {
    if (chunk == 0) return;  // all threads of the block
    const int32_t inner = static_cast<int32_t>(p.inner.divisor);
    const int32_t threads = inner < 8 ? 32 : THREADS / inner;  // of a line
    const int32_t each = (chunk + threads - 1) / threads;
    const int32_t line = static_cast<int32_t>(threadIdx.x) / threads;
    const int32_t first = (static_cast<int32_t>(threadIdx.x) - line * threads) * each;
    const Total* const before = static_cast<const Total*>(p.totals) +
                                (group * inner + line) * static_cast<Index>(p.chunks.divisor);
    if (line < inner && first < chunk) {
        const int32_t last = first + each < chunk ? first + each : chunk;
        store_shared(shares + threadIdx.x,
                     running_over<Index>(before, first, last, 1).value);
    }
    barrier();
    if (static_cast<int32_t>(threadIdx.x) < inner) {
        Running found{Total{}, false};
        for (int32_t k = 0; k * each < chunk; ++k)
            found = found.then(load_shared(shares + threadIdx.x * threads + k));
        store_shared(carries + threadIdx.x, found.value);
    }
    barrier();
}

// Scans the tile in shared memory. `first`: the position at which lines begin in it; `before`: whether
// something came before, which `carries` has of each line; `here`, `rows`: positions and lines in it.
template <int Rank, class Index>
DEVICE void scan_tile(const RowScan<Rank, Index>& p, Total (&tile)[TILE], Total (&sums)[2][THREADS],
                      const Total (&carries)[MOST_INNER], int32_t first, bool before, int32_t here,
                      int32_t rows) {
    const int32_t pitch = static_cast<int32_t>(p.pitch.divisor);
    const int32_t begin = static_cast<int32_t>(threadIdx.x) * PER_THREAD;
    int32_t row = static_cast<int32_t>(p.pitch.divide(begin));
    int32_t position = begin - row * pitch;
    int32_t head = row * pitch + (position >= first ? first : 0);  // where the last line began
    const bool continues = head < begin;
    Total values[PER_THREAD];
    int32_t joined = continues ? PER_THREAD : 0;  // how many go on with what threads before have
    Running running{Total{}, false};
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (position == pitch) {
            position = 0;
            ++row;
        }
        const bool inside = position < here && row < rows;
        if (position == 0 || position == first) {
            running.any = false;
            head = begin + k;
            joined = joined < k ? joined : k;
        }
        if (position == 0 && before) running = {inside ? load_shared(carries + row) : Total{}, true};
        running = running.then(load_shared_if(inside, tile + begin + k));
        values[k] = running.value;
        ++position;
    }
    // Each thread's value reaches back to where its last line began, or as far as the steps so far.
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    int buffer = 0;
    for (int32_t step = 1; step < THREADS; step *= 2, buffer ^= 1) {
        store_shared(&sums[buffer][thread], running.value);
        barrier();
        if (thread >= step && head < (thread - step + 1) * PER_THREAD)
            running.value = combine(load_shared(&sums[buffer][thread - step]), running.value);
    }
    store_shared(&sums[buffer][thread], running.value);
    barrier();
    const Total earlier = load_shared_if(continues, &sums[buffer][continues ? thread - 1 : 0]);
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        store_shared(tile + begin + k, k < joined ? combine(earlier, values[k]) : values[k]);
    barrier();
}

template <int Rank, class Index, Task Doing>
DEVICE void rows(const RowScan<Rank, Index>& p) {
    SHARED(Total, tile, TILE);
    SHARED(Total, sums, 2 * THREADS);
    SHARED(Total, carries, MOST_INNER);
    const uint32_t number = p.chunks.divide(blockIdx.x);
    const int32_t chunk = static_cast<int32_t>(blockIdx.x - number * p.chunks.divisor);
    if (Doing == totals && chunk + 1 == static_cast<int32_t>(p.chunks.divisor)) return;
    const Index group = static_cast<Index>(number);
    const Index begin = chunk * p.chunk;
    const Index end = begin + p.chunk < p.length ? begin + p.chunk : p.length;
    const Index inner = static_cast<Index>(p.inner.divisor);
    auto& both = reinterpret_cast<Total(&)[2][THREADS]>(sums);
    if constexpr (Doing == results)
        read_carries(p, group, chunk, both[0], carries);
    for (Index at = begin; at < end; at += p.tile) {
        const int32_t here = static_cast<int32_t>(end - at < p.tile ? end - at : p.tile);
        const Index first = group * p.group + at * inner;
        const Index left = p.elements - first;
        const Index most = static_cast<Index>(p.outers) * here * inner;
        const int32_t count = static_cast<int32_t>(left < most ? left : most);
        read_tile(p, tile, first, count, at);
        barrier();
        const bool before = at > begin || (Doing == results && chunk > 0);
        const int32_t outers = count < most ? static_cast<int32_t>(p.period.divide(count)) : p.outers;
        const int32_t rows = outers * static_cast<int32_t>(inner);
        scan_tile(p, tile, both, carries, at ? 0 : p.initial, before, here, rows);
        if (at + here < p.length && threadIdx.x < p.inner.divisor) {
            const Total last = load_shared(tile + threadIdx.x * p.pitch.divisor + here - 1);
            store_shared(carries + threadIdx.x, last);
            if (Doing == totals && at + here == end)
                store(static_cast<Total*>(p.totals) +
                          (group * inner + static_cast<Index>(threadIdx.x)) *
                              static_cast<Index>(p.chunks.divisor) + chunk,
                      last);
        }
        if constexpr (Doing == results) {
            RESULT* const to = static_cast<RESULT*>(p.to);
            Index place[2];
            p.walk.offsets(static_cast<Unsigned<Index>>(first), place);
            const uint32_t shift = shift_at(to + place[1]);
#pragma unroll
            for (int k = 0; k < PER_THREAD; ++k) {
                const Spot spot = spot_of(p, k, shift, count);
                const Total value = load_shared_if(spot.inside, tile + spot.place);
                p.walk.offsets(static_cast<Unsigned<Index>>(first + spot.element), place);
                store_if(spot.inside, to + place[1], convert<RESULT>(value));
            }
        }
        barrier();
    }
}

// ---- Columns ------------------------------------------------------------------------------------

enum { LANES = 32, WARPS = THREADS / LANES, PER_WARP = 8, STEP = WARPS * PER_WARP };

template <int Rank, class Index>
struct ColumnScan {
    void* to;
    const void* from;
    void* totals;  // [chunk][line]
    Index lines;
    Index length;  // positions of a line
    Index chunk;   // positions of a chunk
    Index along;   // elements of the source from position to position
    Index back;    // those that the position of no element takes
    Index pace;    // elements of the result from position to position
    Walk<Rank, Index, 2> walk;  // of lines, in the source and the result
    Divisor<int32_t> chunks;
    int32_t initial;
};

// From warp to warp of the same lines: what is before this one's `own`. `having`: the warps that have
// something; `all`: what came before all of them, and then with theirs.
DEVICE Running hand_on(const Running& own, uint32_t having, Total (&sums)[2 * THREADS], int& buffer,
                       Running& all) {
    Total* const shared = sums + buffer * THREADS;
    const int lane = static_cast<int>(threadIdx.x) % LANES;
    const int warp = static_cast<int>(threadIdx.x) / LANES;
    if (own.any) store_shared(shared + threadIdx.x, own.value);
    barrier();
    Running before = all;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        if (w == warp) before = all;
        if (having >> w & 1) all = all.then(load_shared(shared + w * LANES + lane));
    }
    buffer ^= 1;  // whose readers are done once all are at the next barrier
    return before;
}

template <int Rank, class Index, Task Doing>
DEVICE void columns(const ColumnScan<Rank, Index>& p) {
    SHARED(Total, sums, 2 * THREADS);
    const uint32_t number = p.chunks.divide(blockIdx.x);
    const int32_t chunk = static_cast<int32_t>(blockIdx.x - number * p.chunks.divisor);
    if (Doing == totals && chunk + 1 == static_cast<int32_t>(p.chunks.divisor)) return;
    const int32_t lane = static_cast<int32_t>(threadIdx.x) % LANES;
    const int32_t warp = static_cast<int32_t>(threadIdx.x) / LANES;
    const Index line = static_cast<Index>(number) * LANES + lane;
    const bool inside = line < p.lines;
    Index at[2];
    p.walk.offsets(static_cast<Unsigned<Index>>(inside ? line : 0), at);
    const SOURCE* const from = static_cast<const SOURCE*>(p.from) + (at[0] - p.back);
    RESULT* const to = static_cast<RESULT*>(p.to) + at[1];
    const Index begin = chunk * p.chunk;
    const Index end = begin + p.chunk < p.length ? begin + p.chunk : p.length;

    Running carry{Total{}, false};
    int buffer = 0;
    if (Doing == results && chunk > 0) {
        const int32_t each = (chunk + WARPS - 1) / WARPS;
        const int32_t first = warp * each, last = first + each < chunk ? first + each : chunk;
        const Total* const before = static_cast<const Total*>(p.totals) + (inside ? line : 0);
        const Running own = running_over<Index>(before, first, last, p.lines);
        hand_on(own, (1u << (chunk + each - 1) / each) - 1, sums, buffer, carry);
    }
    for (Index top = begin; top < end; top += STEP) {
        const Index first = top + warp * PER_WARP;
        Total values[PER_WARP];
#pragma unroll
        for (int k = 0; k < PER_WARP; ++k) {
            const Index position = first + k;
            const bool there = inside && position >= p.initial && position < end;
            values[k] = convert<Total>(
                load_if(there, from + (there ? position : p.initial) * p.along));
        }
        Running own{Total{}, false};
#pragma unroll
        for (int k = 0; k < PER_WARP; ++k) {
            const Index position = first + k;
            if (position >= p.initial && position < end) own = own.then(values[k]);
            values[k] = own.value;
        }
        uint32_t having = 0;  // warps
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            const Index from_here = top + w * PER_WARP;
            const Index least = from_here < p.initial ? p.initial : from_here;
            if (least < end && least < from_here + PER_WARP) having |= 1u << w;
        }
        const Running before = hand_on(own, having, sums, buffer, carry);
        if constexpr (Doing == results) {
#pragma unroll
            for (int k = 0; k < PER_WARP; ++k) {
                const Index position = first + k;
                const Total value = position < p.initial ? start_value()
                                    : before.any         ? combine(before.value, values[k])
                                                         : values[k];
                store_if(inside && position < end, to + position * p.pace,
                         convert<RESULT>(value));
            }
        }
    }
    if (Doing == totals && inside && warp == 0)
        store(static_cast<Total*>(p.totals) + (chunk * p.lines + line), carry.value);
}

// ---- Kernels ------------------------------------------------------------------------------------
// For a GPU the macros pick one; the simulator has all.

#if !defined(TENSORLAYOUT_SIMULATOR)

#if defined(ROWS)
BLOCK_KERNEL(scan_rows, RowScan<RANK, INDEX>) { rows<RANK, INDEX, ROWS>(p); }
#else
BLOCK_KERNEL(scan_columns, ColumnScan<RANK, INDEX>) { columns<RANK, INDEX, COLUMNS>(p); }
#endif

#else

#define BOTH(RANK, INDEX, TASK)                                                     \
    BLOCK_KERNEL(scan_rows_##RANK##_##INDEX##_##TASK, RowScan<RANK, INDEX>) {       \
        rows<RANK, INDEX, TASK>(p);                                                 \
    }                                                                               \
    BLOCK_KERNEL(scan_columns_##RANK##_##INDEX##_##TASK, ColumnScan<RANK, INDEX>) { \
        columns<RANK, INDEX, TASK>(p);                                              \
    }
#define TASKS(RANK, INDEX) BOTH(RANK, INDEX, totals) BOTH(RANK, INDEX, results)
#define RANKS(INDEX) TASKS(1, INDEX) TASKS(2, INDEX) TASKS(0, INDEX)
RANKS(int32_t) RANKS(int64_t)

#endif
