// Running sums and products along one dimension of any layout, into any layout. The plan chooses
// the kernel and the pieces.
//
// A *line* is the elements along the scanned dimension; `inner` counts the lines that lie side by
// side in the order of the source. With `initial`, a line begins with an extra element: 0, or 1 for
// products.
//
// Each thread scans a few neighbouring elements in registers. The totals of the threads are then
// scanned in shared memory, and each thread adds the total of all threads before it. For example, a
// cumulative sum of 1 2 3 4 | 5 6 7 8 by two threads: the threads scan 1 3 6 10 and 5 11 18 26,
// their totals are 10 and 26, and the second thread adds 10 to each of its results.
//
// scan_lines    Lines that are contiguous in both memories. A block moves a tile 16 bytes at a time
//               through shared memory; each thread scans 64 bytes of neighbours (at most 16
//               elements). The totals are combined in 4 steps of four threads each. Short lines
//               share a tile; long lines take one tile after the other and carry the total along.
//               Worst: lines slightly longer than half a tile, or than a whole number of tiles.
// scan_rows     Other lines that follow each other in memory, or fewer than 32 side by side. A
//               block reads a tile of consecutive result elements in whole sectors and stores it
//               line by line in shared memory; each thread scans 9 neighbours (5 for complex
//               products), as above. Worst: a source or a result that is not contiguous along the
//               runs.
// scan_columns  32 lines side by side, one for each lane. Each of 8 warps scans 8 positions and
//               passes its totals on through shared memory. Coalesced as far as the lines are
//               neighbours. `whole_columns`: each thread scans a line alone, if lines are short.
//
// Few long lines are cut into chunks that blocks scan at once. In scan_rows and scan_columns there are
// two launches: `totals` writes the total of each chunk, and `results` begins with the totals of the
// chunks before, so that no block waits for another one, but elements are read twice. In scan_lines a
// chunk is a tile, and one launch is enough: a block publishes the total of its tile, then waits for
// the totals of the tiles before it in its group of 256 and for the total of all groups before. Tiles
// are numbered in the order in which blocks start, so a block waits only for those that have started.
// The order of additions is the same each time.
//
// Bytes moved per element: one read and one write; with `totals`, two reads. Floats are added in
// double and each result is rounded once; integers wrap. Products of floats: see scaled.cuh.
#if defined(LINES) && !defined(SCALED)
// Totals of 16 floats of 2 bytes take more registers than those of wider elements.
#define HAS_MANY_TOTALS (sizeof(RESULT) == 2 && (RANK != 1 || sizeof(INDEX) == 8))
#define LEAST_BLOCKS \
    ((sizeof(INDEX) == 4 && RANK > 0 && sizeof(RESULT) < 16 ? 4 : 3) - HAS_MANY_TOTALS)
#else
#define LEAST_BLOCKS 2
#endif
#include "atomics.cuh"
#include "functions.cuh"
#include "indexing.cuh"
#include "memory.cuh"
#include "scaled.cuh"
#include "sectors.cuh"

// Code shared by all kernels is compiled once for the simulator.
#ifdef TENSORLAYOUT_SIMULATOR
#define COMMON __attribute__((noinline))
#else
#define COMMON DEVICE
#endif

enum Task { totals, results, whole_columns };

using Number = choose<is_complex<RESULT>, complex<double>,
    choose<is_floating<RESULT>, double, choose<sizeof(RESULT) == 8, uint64_t, uint32_t>>>;

// A thread multiplies its own elements before it knows the total before them. Products of floats
// are SCALED, so that such a part does not overflow where the whole does not. Scaled totals take
// more registers, so a thread does not hold one for each element.
#ifdef SCALED
constexpr bool HOLDS_TOTALS = false;
using Total = decltype(scaled(Number{}));
#else
constexpr bool HOLDS_TOTALS = true;
using Total = Number;
#endif

template <class T> DEVICE Total total_of(T element) {
#ifdef SCALED
    return scaled(convert<Number>(element));
#else
    return convert<Total>(element);
#endif
}
DEVICE RESULT result_of(const Total& total) {
#ifdef SCALED
    return convert<RESULT>(unscaled(total));
#else
    return convert<RESULT>(total);
#endif
}

// ---- The operation ------------------------------------------------------------------------------

template <template <class> class Functor> constexpr int START = 0;
template <> constexpr int START<functions::multiply> = 1;

#if defined(SCALED)
#ifdef TENSORLAYOUT_SIMULATOR
SIMULATOR_OPERATIONS("multiply")
#endif
static COMMON Total combine(const Total& x, const Total& y) { return multiplied(x, y); }
static COMMON Total start_value() { return total_of(1); }
#elif !defined(TENSORLAYOUT_SIMULATOR)
DEVICE Total combine(Total x, Total y) { return functions::OPERATION<Total>::apply(x, y); }
DEVICE Total start_value() { return total_of(START<functions::OPERATION>); }
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

// Running total, if there is one. No number can replace an absent total, because 0 + -0 is not -0
// and 1 * z may differ from z.
struct Running {
    Total value;
    bool any;

    DEVICE Running then(Total more) const { return {any ? combine(value, more) : more, true}; }
};

// Returns the total over consecutive chunks, whose totals are `step` apart in memory.
template <class Index>
DEVICE Running running_over(const Total* each, int32_t first, int32_t last, Index step) {
    Running found{Total{}, false};
#pragma unroll 4
    for (int32_t k = first; k < last; ++k) found = found.then(load(each + k * step));
    return found;
}

// Combines each thread's value with those of the threads before, from `least` on, into sums[0].
DEVICE void scan_threads(Total own, int32_t least, Total (&sums)[2][THREADS]) {
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    int buffer = 0;
#pragma unroll
    for (int32_t step = 1; step < THREADS; step *= 4, buffer ^= 1) {
        store_shared(&sums[buffer][thread], own);
        barrier();
#pragma unroll
        for (int k = 1; k < 4; ++k) {
            const int32_t other = thread - k * step;
            const bool joins = other >= least;
            const Total value = load_shared_if(joins, &sums[buffer][joins ? other : 0]);
            if (joins) own = combine(value, own);
        }
    }
    static_assert(THREADS == 256, "four steps, so that the first buffer is free");
    store_shared(&sums[0][thread], own);
    barrier();
}

// ---- Rows ---------------------------------------------------------------------------------------

// Odd, so that the threads' runs begin in different banks; fewer totals of 24 bytes, to fit in
// shared memory.
constexpr int PER_THREAD = sizeof(Total) > 16 ? 5 : 9;
constexpr int TILE = PER_THREAD * THREADS;
constexpr int MOST_INNER = 32;

// A tile holds `outers` whole lines, or `tile` positions of one, of each of the `inner` lines side
// by side.
template <int Rank, class Index>
struct RowScan {
    void* to;
    const void* from;
    void* totals;       // [line][chunk]
    Index elements;     // of the result
    Index length;       // positions of a line
    Index group;        // elements of a group of lines; a chunk is of one group
    Index chunk;        // positions of a chunk
    Index back;         // offset in the source that the extra element adds
    Walk<Rank, Index, 2> walk;  // of the result's positions, in the source and the result
    Divisor<int32_t> chunks, period, inner, pitch;
    int32_t tile, outers, initial;
};

// Computes the place of a tile's element in shared memory, and its position in the tile's part of
// its line.
template <int Rank, class Index>
DEVICE void place_of(const RowScan<Rank, Index>& p, int32_t element, int32_t& place,
                     int32_t& position) {
    place = element;
    position = 1;  // behind the extra element; not needed more exactly
    const uint32_t inner = p.inner.divisor;
    if (inner > 1 || p.initial) {
        const uint32_t outer = p.period.divide(element);
        const uint32_t rest = element - outer * p.period.divisor;
        position = static_cast<int32_t>(p.inner.divide(rest));
        if (inner > 1)
            place = static_cast<int32_t>(
                (outer * inner + rest - position * inner) * p.pitch.divisor + position);
    }
}

// Reads a tile into shared memory. `places` receives the places in shared memory of the elements
// that the thread moves, and -1 for each that is outside the tile.
template <int Rank, class Index>
DEVICE void read_tile(const RowScan<Rank, Index>& p, Total (&tile)[TILE], Index start, int32_t count,
                      Index before, int32_t first, int32_t (&places)[PER_THREAD]) {
    const SOURCE* const from = static_cast<const SOURCE*>(p.from);
    SOURCE elements[PER_THREAD];
    uint32_t real = 0;
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int32_t element = first + k * THREADS;
        const bool inside = element >= 0 && element < count;
        int32_t position;
        place_of(p, inside ? element : 0, places[k], position);
        Index at[2];
        p.walk.offsets(static_cast<Unsigned<Index>>(start + (inside ? element : 0)), at);
        const bool there = before + position >= p.initial;
        if (there) real |= 1u << k;
        if (!inside) places[k] = -1;
        elements[k] = load_if(inside && there, from + (at[0] - p.back));
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        store_shared_if(places[k] >= 0, tile + (places[k] < 0 ? 0 : places[k]),
                        real >> k & 1 ? total_of(elements[k]) : start_value());
}

// Stores in `carries` the total over the chunks before this block's, for each line of its group.
template <int Rank, class Index>
DEVICE void read_carries(const RowScan<Rank, Index>& p, Index group, int32_t chunk,
                         Total (&shares)[THREADS], Total (&carries)[MOST_INNER]) {
    if (chunk == 0) return;  // uniform, so the barriers below are safe
    const int32_t inner = static_cast<int32_t>(p.inner.divisor);
    const int32_t threads = inner < 8 ? 32 : THREADS / inner;  // for each line
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

// Scans the tile in shared memory. `first`: the position at which lines begin in the tile;
// `before`: whether a part of the lines came before, whose totals are in `carries`; `here`, `rows`:
// positions and lines in the tile.
template <int Rank, class Index>
DEVICE void scan_tile(const RowScan<Rank, Index>& p, Total (&tile)[TILE], Total (&sums)[2][THREADS],
                      const Total (&carries)[MOST_INNER], int32_t first, bool before, int32_t here,
                      int32_t rows) {
    const int32_t pitch = static_cast<int32_t>(p.pitch.divisor);
    const int32_t begin = static_cast<int32_t>(threadIdx.x) * PER_THREAD;
    int32_t row = static_cast<int32_t>(p.pitch.divide(begin));
    int32_t position = begin - row * pitch;
    int32_t head = row * pitch + (position >= first ? first : 0);  // where the current line begins
    const bool continues = head < begin;
    // One bit for each item: it is an element; it begins a line; it is the first item of a line
    // that began before the tile.
    uint32_t inside = 0, fresh = 0, carried = 0;
    int32_t carrying = 0;  // line of the carried item; such lines are long: at most one
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (position == pitch) {
            position = 0;
            ++row;
        }
        const bool begins = position == 0 || position == first;
        if (begins) head = begin + k;
        if (position < here && row < rows) {
            inside |= 1u << k;
            if (position == 0 && before) {
                carried |= 1u << k;
                carrying = row;
            } else if (begins) {
                fresh |= 1u << k;
            }
        }
        ++position;
    }
    const Total carry = load_shared_if(carried != 0, carries + carrying);
    // Pass 0 computes the total of the thread's last line. Pass 1 begins with the total of the
    // threads before, and stores all running totals.
    Total running{};
#pragma unroll
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 0 || !continues) fresh |= 1u & ~carried;
#pragma unroll (HOLDS_TOTALS ? PER_THREAD : 1)
        for (int k = 0; k < PER_THREAD; ++k) {
            const Total value = load_shared_if(inside >> k & 1, tile + begin + k);
            if (carried >> k & 1) running = carry;
            running = fresh >> k & 1 ? value : combine(running, value);
            if (pass) store_shared(tile + begin + k, running);
        }
        if (pass) break;
        scan_threads(running, head / PER_THREAD, sums);
        if (continues) fresh &= ~1u;
        running = load_shared_if(continues,
                                 &sums[0][continues ? static_cast<int32_t>(threadIdx.x) - 1 : 0]);
    }
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
        Index place[2];
        p.walk.offsets(static_cast<Unsigned<Index>>(first), place);
        const uint32_t shift =
            sizeof(SOURCE) <= sizeof(RESULT)
                ? shift_at(static_cast<const SOURCE*>(p.from) + (place[0] - p.back))
                : shift_at(static_cast<RESULT*>(p.to) + place[1]);
        const int32_t mine = static_cast<int32_t>(threadIdx.x - shift);
        int32_t places[PER_THREAD];
        read_tile(p, tile, first, count, at, mine, places);
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
#pragma unroll
            for (int k = 0; k < PER_THREAD; ++k) {
                const bool inside = places[k] >= 0;
                const Total value = load_shared_if(inside, tile + (inside ? places[k] : 0));
                const int32_t element = inside ? mine + k * THREADS : 0;
                p.walk.offsets(static_cast<Unsigned<Index>>(first + element), place);
                store_if(inside, to + place[1], result_of(value));
            }
        }
        barrier();
    }
}

// ---- Lines in one piece -------------------------------------------------------------------------

// Elements of a thread: 64 bytes of the wider type, at most 16 elements, in packs of at most 16
// bytes.
constexpr int WIDER = sizeof(SOURCE) > sizeof(RESULT) ? sizeof(SOURCE) : sizeof(RESULT);
constexpr int PER_LINE_THREAD = WIDER <= 4 ? 16 : 64 / WIDER;
constexpr int SLOTS = PER_LINE_THREAD * THREADS;

// Tile of slots in shared memory. Packs are swizzled, so that neither a thread's own packs nor
// consecutive packs have bank conflicts.
template <class T>
struct Slots {
    static constexpr int LENGTH =
        PER_LINE_THREAD * sizeof(T) < 16 ? PER_LINE_THREAD : 16 / sizeof(T);
    static constexpr int PACKS = PER_LINE_THREAD / LENGTH;  // packs of a thread
    using Word = Pack<T, LENGTH>;

    DEVICE static Word* pack(Word* words, int32_t number) {
        return words + (number ^ (number >> 3 & (PACKS - 1)));
    }
    DEVICE static T* slot(Word* words, int32_t number) {
        return pack(words, number / LENGTH)->at + number % LENGTH;
    }
    // Offset of `first` in its pack, and whether a pack begins at `first`.
    DEVICE static int32_t shift(const T* first) {
        return static_cast<int32_t>(reinterpret_cast<uint64_t>(first) / sizeof(T) % LENGTH);
    }
    DEVICE static bool aligned(const T* first) {
        return reinterpret_cast<uint64_t>(first) % sizeof(Word) == 0;
    }
};

// Returns the slot that this thread moves on its own, or -1. The slots from `low` to `high` hold
// elements. If a pack at either end is only partly filled, threads move its slots one by one.
template <int Length>
DEVICE int32_t slot_at_edge(int32_t low, int32_t high) {
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    const int32_t first = low / Length, last = high / Length;
    if (thread < Length) return low % Length ? first * Length + thread : -1;
    if (thread >= 2 * Length || high % Length == 0 || (low % Length && first == last)) return -1;
    return last * Length + thread - Length;
}

template <int Rank, class Index>
struct LineScan {
    void* to;
    const void* from;
    void* totals;  // [line][tile, then group of tiles]; of a group: over all groups up to it
    void* flags;   // the next number of a tile, then whether each total is there
    Index lines;
    Index length;               // positions of a line
    Walk<Rank, Index, 2> walk;  // of lines, in the source and the result
    Divisor<int32_t> tiles, period;  // tiles: of a line, if each is a block's; else 1
    int32_t outers;  // lines of a tile; if several, they are consecutive in memory
};

// Reads a tile into shared memory. Slot 0 is at `from`; slots without an element become 0.
DEVICE void read_slots(const SOURCE* from, int32_t low, int32_t high, bool wide,
                       Slots<SOURCE>::Word* words) {
    using S = Slots<SOURCE>;
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    if (!wide) {
#pragma unroll 4
        for (int k = 0; k < PER_LINE_THREAD; ++k) {
            const int32_t slot = k * THREADS + thread;
            store_shared(S::slot(words, slot), load_if(slot >= low && slot < high, from + slot));
        }
        return;
    }
    typename S::Word found[S::PACKS];
#pragma unroll
    for (int k = 0; k < S::PACKS; ++k) {
        const int32_t slot = (k * THREADS + thread) * S::LENGTH;
        found[k] = load_if(slot >= low && slot + S::LENGTH <= high,
                           reinterpret_cast<const typename S::Word*>(from + slot));
    }
    const int32_t edge = slot_at_edge<S::LENGTH>(low, high);
    const SOURCE element = load_if(edge >= low && edge < high, from + edge);
#pragma unroll
    for (int k = 0; k < S::PACKS; ++k) {
        const int32_t number = k * THREADS + thread, slot = number * S::LENGTH;
        const bool cut = (slot < low && slot + S::LENGTH > low) ||
                         (slot < high && slot + S::LENGTH > high);
        store_shared_if(!cut, S::pack(words, number), found[k]);
    }
    store_shared_if(edge >= 0, S::slot(words, edge < 0 ? 0 : edge), element);
}

DEVICE void write_slots(RESULT* to, int32_t low, int32_t high, bool wide,
                        Slots<RESULT>::Word* words) {
    using S = Slots<RESULT>;
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    if (!wide) {
#pragma unroll 4
        for (int k = 0; k < PER_LINE_THREAD; ++k) {
            const int32_t slot = k * THREADS + thread;
            store_if(slot >= low && slot < high, to + slot, load_shared(S::slot(words, slot)));
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < S::PACKS; ++k) {
        const int32_t number = k * THREADS + thread, slot = number * S::LENGTH;
        // NVRTC 12.9 would take the store apart if its address were counted in elements.
        store_if(slot >= low && slot + S::LENGTH <= high,
                 reinterpret_cast<typename S::Word*>(to) + number,
                 load_shared(S::pack(words, number)));
    }
    const int32_t edge = slot_at_edge<S::LENGTH>(low, high);
    const bool inside = edge >= low && edge < high;
    store_if(inside, to + edge, load_shared_if(inside, S::slot(words, inside ? edge : 0)));
}

// Total of all tiles before a tile of a line, which waits until it is known.
DEVICE Total total_before_tile(int32_t tile, Total* totals, uint32_t* flags, int32_t tiles,
                               Total (&sums)[2][THREADS]) {
    const int32_t group = tile / THREADS, first = group * THREADS, other = first + threadIdx.x;
    Total found{};
    if (other < tile) found = published(totals + other, flags + other);
    if (first < tile) {  // uniform
        scan_threads(found, 0, sums);
        found = load_shared(&sums[0][tile - first - 1]);
    }
    if (group > 0) {
        const int32_t before = tiles + group - 1;
        const Total all = published(totals + before, flags + before);
        found = first < tile ? combine(all, found) : all;
    }
    return found;
}

enum Sharing { whole_lines, linked_tiles };

template <int Rank, class Index, Sharing Blocks>
DEVICE void lines(const LineScan<Rank, Index>& p) {
    using S = Slots<SOURCE>;
    using R = Slots<RESULT>;
    constexpr bool LINKED = Blocks == linked_tiles;
    SHARED(Total, both, 2 * THREADS);
    SHARED(typename S::Word, sources, SLOTS / S::LENGTH);
    SHARED(typename R::Word, made, SLOTS / R::LENGTH);
    auto& sums = reinterpret_cast<Total(&)[2][THREADS]>(both);
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    uint32_t* flags = static_cast<uint32_t*>(p.flags);
    uint32_t block = blockIdx.x;
    if constexpr (LINKED) {
        SHARED(uint32_t, taken, 1);
        if (thread == 0) store_shared(taken, atomic_add(flags, 1u));
        barrier();
        block = load_shared(taken);
    }
    const uint32_t number = LINKED ? p.tiles.divide(block) : block;
    const int32_t tiles = static_cast<int32_t>(p.tiles.divisor);
    const int32_t own_tile = LINKED ? static_cast<int32_t>(block - number * tiles) : 0;
    const Index line = static_cast<Index>(number) * p.outers;
    const Index here = p.lines - line < p.outers ? p.lines - line : p.outers;
    Index at[2];
    p.walk.offsets(static_cast<Unsigned<Index>>(line), at);
    const SOURCE* from = static_cast<const SOURCE*>(p.from) + at[0];
    RESULT* to = static_cast<RESULT*>(p.to) + at[1];
    const int32_t shift = S::LENGTH >= R::LENGTH ? S::shift(from) : R::shift(to);
    from -= shift;
    to -= shift;
    const bool wide = S::aligned(from);
    const Index every = here * p.length + shift, begin = static_cast<Index>(own_tile) * SLOTS;
    const Index end = LINKED && begin + SLOTS < every ? begin + SLOTS : every;
    Total carry{};
    for (Index tile = begin; tile < end; tile += SLOTS) {
        const int32_t low = tile > 0 ? 0 : shift;
        const int32_t high = static_cast<int32_t>(end - tile < SLOTS ? end - tile : SLOTS);
        read_slots(from + tile, low, high, wide, sources);
        barrier();
        // First slot in the thread at which a line begins, and the thread in which the line of
        // this thread's last slot begins.
        int32_t head = low, least = 0;
        if (thread > 0) {
            head = PER_LINE_THREAD;
            if (!LINKED && p.outers > 1) {
                const int32_t slot = thread * PER_LINE_THREAD;
                const int32_t position = static_cast<int32_t>(
                    slot - shift - p.period.divide(slot - shift) * p.period.divisor);
                head = position ? static_cast<int32_t>(p.period.divisor) - position : 0;
                least = head < PER_LINE_THREAD ? thread
                                               : (slot - position) / PER_LINE_THREAD;
            }
        } else if (tile > 0) {
            head = PER_LINE_THREAD;
        }
        typename S::Word own;  // read twice, to keep no registers in between
        Total running = carry;
#pragma unroll
        for (int k = 0; k < PER_LINE_THREAD; ++k) {
            if (k % S::LENGTH == 0)
                own = load_shared(S::pack(sources, thread * S::PACKS + k / S::LENGTH));
            const Total value = total_of(own.at[k % S::LENGTH]);
            const bool starts = k == head || (k == 0 && (LINKED || thread > 0));
            running = starts ? value : combine(running, value);
        }
        scan_threads(running, least, sums);
        running = load_shared_if(thread > 0, &sums[0][thread > 0 ? thread - 1 : 0]);
        if constexpr (LINKED) {
            const Total all = load_shared(&sums[0][THREADS - 1]);
            const int32_t groups = (tiles + THREADS - 1) / THREADS;
            const int64_t first = static_cast<int64_t>(number) * (tiles + groups);
            Total* const totals = static_cast<Total*>(p.totals) + first;
            flags += 1 + first;
            if (thread == 0) publish(totals + own_tile, all, flags + own_tile);
            if (own_tile > 0) {
                barrier();  // `sums` is used again
                carry = total_before_tile(own_tile, totals, flags, tiles, sums);
                running = thread > 0 ? combine(carry, running) : carry;
            }
            if (thread == 0 && own_tile % THREADS == THREADS - 1) {
                const int32_t group = tiles + own_tile / THREADS;
                publish(totals + group, combine(carry, all), flags + group);
            }
        } else {
            if (thread == 0) running = carry;
            carry = load_shared(&sums[0][THREADS - 1]);
        }
#pragma unroll
        for (int k = 0; k < R::PACKS; ++k) {
            typename R::Word word;
#pragma unroll
            for (int j = 0; j < R::LENGTH; ++j) {
                const int n = k * R::LENGTH + j;
                if (n % S::LENGTH == 0)
                    own = load_shared(S::pack(sources, thread * S::PACKS + n / S::LENGTH));
                const Total value = total_of(own.at[n % S::LENGTH]);
                running = n == head ? value : combine(running, value);
                word.at[j] = result_of(running);
            }
            store_shared(R::pack(made, thread * R::PACKS + k), word);
        }
        barrier();
        write_slots(to + tile, low, high, R::aligned(to), made);
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
    Index along;   // stride of positions in the source
    Index back;    // offset in the source that the extra element adds
    Index pace;    // stride of positions in the result
    Walk<Rank, Index, 2> walk;  // of lines, in the source and the result
    Divisor<int32_t> chunks;
    int32_t initial;
};

// Type of the values that a thread holds: running totals, or the elements.
using Held = choose<HOLDS_TOTALS, Total, SOURCE>;
DEVICE void keep(Total& held, const Total& total) { held = total; }
template <class T> DEVICE void keep(T&, const Total&) {}

// Returns the running total before this warp's `own`; all warps have the same lines. `having`: a
// bit for each warp whose `own` has a value. `all`: the total before all warps, to which their
// totals are added.
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
    buffer ^= 1;  // the next barrier follows all reads of the old buffer
    return before;
}

// Scans lines that each have a thread.
template <int Rank, class Index>
DEVICE void scan_whole_columns(const ColumnScan<Rank, Index>& p) {
    const Index line = static_cast<Index>(blockIdx.x) * THREADS + threadIdx.x;
    const bool inside = line < p.lines;
    Index at[2];
    p.walk.offsets(static_cast<Unsigned<Index>>(inside ? line : 0), at);
    const SOURCE* const from = static_cast<const SOURCE*>(p.from) + (at[0] - p.back);
    RESULT* const to = static_cast<RESULT*>(p.to) + at[1];
    Running own{Total{}, false};
    for (Index top = 0; top < p.length; top += PER_WARP) {
        SOURCE found[PER_WARP];
#pragma unroll
        for (int k = 0; k < PER_WARP; ++k) {
            const bool there = inside && top + k >= p.initial && top + k < p.length;
            found[k] = load_if(there, from + (there ? top + k : p.initial) * p.along);
        }
#pragma unroll
        for (int k = 0; k < PER_WARP; ++k) {
            const Index position = top + k;
            if (position >= p.initial) own = own.then(total_of(found[k]));
            const Total value = position < p.initial ? start_value() : own.value;
            store_if(inside && position < p.length, to + position * p.pace, result_of(value));
        }
    }
}

template <int Rank, class Index, Task Doing>
DEVICE void columns(const ColumnScan<Rank, Index>& p) {
    if constexpr (Doing == Task::whole_columns) return scan_whole_columns(p);
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
    if constexpr (Doing == Task::totals) {  // each warp takes a part of the chunk
        const Index each = p.chunk / WARPS, part = begin + warp * each;
        const Index first = part < p.initial ? p.initial : part;
        Total own = total_of(load_if(inside, from + first * p.along));
        for (Index top = part; top < part + each; top += PER_WARP) {
            SOURCE found[PER_WARP];
#pragma unroll
            for (int k = 0; k < PER_WARP; ++k)
                found[k] = load_if(inside && top + k > first, from + (top + k) * p.along);
#pragma unroll
            for (int k = 0; k < PER_WARP; ++k)
                if (top + k > first) own = combine(own, total_of(found[k]));
        }
        hand_on({own, true}, (1u << WARPS) - 1, sums, buffer, carry);
        if (inside && warp == 0)
            store(static_cast<Total*>(p.totals) + (chunk * p.lines + line), carry.value);
        return;
    }
    if (chunk > 0) {
        const int32_t each = (chunk + WARPS - 1) / WARPS;
        const int32_t first = warp * each, last = first + each < chunk ? first + each : chunk;
        const Total* const before = static_cast<const Total*>(p.totals) + (inside ? line : 0);
        const Running own = running_over<Index>(before, first, last, p.lines);
        hand_on(own, (1u << (chunk + each - 1) / each) - 1, sums, buffer, carry);
    }
    for (Index top = begin; top < end; top += STEP) {
        const Index first = top + warp * PER_WARP;
        Held values[PER_WARP];
#pragma unroll
        for (int k = 0; k < PER_WARP; ++k) {
            const Index position = first + k;
            const bool there = inside && position >= p.initial && position < end;
            values[k] = convert<Held>(
                load_if(there, from + (there ? position : p.initial) * p.along));
        }
        Running own{Total{}, false};
#pragma unroll
        for (int k = 0; k < PER_WARP; ++k) {
            const Index position = first + k;
            if (position >= p.initial && position < end) own = own.then(total_of(values[k]));
            keep(values[k], own.value);
        }
        uint32_t having = 0;  // bits of the warps that have elements
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            const Index from_here = top + w * PER_WARP;
            const Index least = from_here < p.initial ? p.initial : from_here;
            if (least < end && least < from_here + PER_WARP) having |= 1u << w;
        }
        Running before = hand_on(own, having, sums, buffer, carry);
#pragma unroll
        for (int k = 0; k < PER_WARP; ++k) {
            const Index position = first + k;
            const Running with = before.then(total_of(values[k]));
            if (!HOLDS_TOTALS && position >= p.initial) before = with;
            const Total value = position < p.initial ? start_value() : with.value;
            store_if(inside && position < end, to + position * p.pace, result_of(value));
        }
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(ROWS)
SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t, ROWS = totals results)
BLOCK_KERNEL(scan_rows, RowScan<RANK, INDEX>) { rows<RANK, INDEX, ROWS>(p); }
#elif defined(LINES)
SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t, LINES = whole_lines linked_tiles)
BLOCK_KERNEL(scan_lines, LineScan<RANK, INDEX>) { lines<RANK, INDEX, LINES>(p); }
#else
SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t, COLUMNS = totals results whole_columns)
BLOCK_KERNEL(scan_columns, ColumnScan<RANK, INDEX>) { columns<RANK, INDEX, COLUMNS>(p); }
#endif
