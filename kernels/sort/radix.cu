// Stable radix sorts of long lines by digits of 8 bits, the lowest digit first. The result holds
// the elements, or the positions that sort them. As in sort/sort.cu, the elements of a line are
// consecutive in the result, the source of the first pass may have any strides, and the plan
// chooses the launches. Digits are taken of the keys in include/sorted.cuh.
//
// count_digits    Counts how often each digit of each pass occurs in a line, by atomic additions in
//                 shared memory, then in global memory, whose order does not affect the result.
//                 Coalesced.
// scatter_digits  One pass, by one digit. A block orders a tile by the digit: in shared memory by
//                 the lower 4 bits of it, then by the upper 4. Each thread counts its own
//                 consecutive items in its own counters, so that items with equal digits never
//                 change places. The block then writes the runs of equal digits behind those of
//                 the tiles before. Coalesced, except at the ends of the runs.
//
// Where the runs begin: a block publishes how often each digit occurs in its tile, adds up what the
// tiles before it have published, and publishes that sum, too. It goes back tile by tile until it
// meets a published sum ("decoupled look-back"; Adinets and Merrill, "Onesweep: A Faster Least
// Significant Digit Radix Sort for GPUs", 2022). Tiles are numbered in the order in which blocks
// start, so a block waits only for those that have started. Counts are integers: the result
// does not depend on who comes first.
//
// Bytes moved per element: one read, and one read and one write for each pass; for argsort, also one
// read (except in the first pass) and one write of a position. Best: digits that vary little in a
// tile, or are in order. Worst: random digits, with runs of 15 or 19 elements in a tile; lines that
// fill a small part of their last tile.
#if defined(RANK) && RANK == 0
#define LEAST_BLOCKS (sizeof(INDEX) == 8 ? 1 : 2)  // a walk of any rank takes more registers
#else
#define LEAST_BLOCKS 2
#endif
#include "atomics.cuh"
#include "indexing.cuh"
#include "sectors.cuh"
#include "sorted.cuh"

constexpr int DIGITS = 256;
constexpr int NIBBLES = 16;
constexpr int GROUP = 16;  // threads whose counts are added up together
static_assert(THREADS == DIGITS && THREADS == GROUP * GROUP, "a thread for each digit");

template <int Rank, class Index>
struct RadixPass {
    Memories memories;          // scratch: see below
    Index length;               // of a line
    Index chunk;                // elements of a line for each block
    Walk<Rank, Index, 1> walk;  // of the result's elements, in the memory read
    Divisor<int32_t> chunks;    // of a line
    Index lines;
    int32_t passes;             // of all digits
    int32_t number;             // of this pass
    int32_t descending;
};

// Scratch memory, all zeros before the first launch, in words of the size of an index: the next number
// of a tile in each pass; the counts of a line [line][pass][digit]; and what a tile has published
// [pass][tile][digit], where there are several in a line.
// The two highest bits of a published count say what it is; 0 is none.
template <class Index> constexpr Unsigned<Index> OF_TILE = Unsigned<Index>(1) << (8 * sizeof(Index) - 2);
template <class Index> constexpr Unsigned<Index> OF_ALL = OF_TILE<Index> * 2;

// Bytes of an item in shared memory (ROOM), and items of a thread (EACH). EACH is odd, so that the
// threads' runs begin in different banks. Both sizes fit in 48 KB together with a counter for each
// thread and nibble.
template <Gives Wanted, class Index>
constexpr int ROOM = Wanted == positions && sizeof(Index) > sizeof(Bits) ? sizeof(Index) : sizeof(Bits);
template <Gives Wanted, class Index>
constexpr int EACH = ROOM<Wanted, Index> == 8 ? 15 : 19;

template <Gives Wanted>
DEVICE uint32_t digit(Bits item, Bits flip, int32_t shift) {
    return static_cast<uint32_t>(key<Wanted>(item, flip) >> shift) & (DIGITS - 1);
}

// Chunk of a block.
template <class Index>
struct Chunk {
    Index line, start;  // number of the line; its first element among all
    int32_t number;     // of the chunk in the line
    Index begin, size;  // offset of the chunk in the line; number of its elements
};

template <int Rank, class Index>
DEVICE Chunk<Index> chunk_of(const RadixPass<Rank, Index>& p, uint32_t block) {
    const uint32_t line = p.chunks.divide(block);
    Chunk<Index> found;
    found.line = static_cast<Index>(line);
    found.start = found.line * p.length;
    found.number = static_cast<int32_t>(block - line * p.chunks.divisor);
    found.begin = static_cast<Index>(found.number) * p.chunk;
    const Index left = p.length - found.begin;
    found.size = left < p.chunk ? left : p.chunk;
    return found;
}

// Returns true if elements are read as stored; later passes read packed items.
template <int Rank, class Index>
DEVICE bool is_first(const RadixPass<Rank, Index>& p) {
    return Rank != 1 || p.number == 0;
}

template <int Rank, class Index>
DEVICE Bits load_bits(const RadixPass<Rank, Index>& p, bool inside, Index number) {
    Index at[1];
    p.walk.offsets(static_cast<Unsigned<Index>>(number), at);
    return load_if(inside, static_cast<const Bits*>(p.memories.from) + at[0]);
}

// Returns the item of an element that was read, or the item itself after the first pass.
template <Gives Wanted, int Rank, class Index>
DEVICE Bits item_of(const RadixPass<Rank, Index>& p, Bits given, Bits flip) {
    return is_first(p) ? item_of<Wanted>(bits_as<ELEMENT>(given), flip) : given;
}

template <class Index>
DEVICE bool is_below(Index place, Index count) {  // and not negative
    return static_cast<Unsigned<Index>>(place) < static_cast<Unsigned<Index>>(count);
}

// Returns the filler of a tile. No item has a greater digit, so fillers stay behind all items.
template <Gives Wanted, class T = ELEMENT>
DEVICE Bits filler_of(Bits flip, int32_t shift) {
    if (Wanted == positions || (is_floating<T> && !flip)) return Bits(~Bits(0));  // NaN
    if (!flip) return bits_as<Bits>(highest<T>());
    const bool top = shift + 8 == static_cast<int32_t>(8 * sizeof(Bits));
    return bits_as<Bits>(is_floating<T> && !top ? convert<T>(2) : lowest<T>());
}

// Returns by how many elements threads are shifted, so that a warp's accesses begin at a sector.
template <Gives Wanted, int Rank, class Index>
DEVICE int32_t lead_of(const RadixPass<Rank, Index>& p, const Chunk<Index>& chunk) {
    Index at[1];
    p.walk.offsets(static_cast<Unsigned<Index>>(chunk.start + chunk.begin), at);
    return static_cast<int32_t>(shift_at(static_cast<const Bits*>(p.memories.from) + at[0]));
}

// ---- Counts -------------------------------------------------------------------------------------

// Counts of a line, for the digits of a pass.
template <int Rank, class Index>
DEVICE Unsigned<Index>* counts_of(const RadixPass<Rank, Index>& p, Index line, int32_t pass) {
    return static_cast<Unsigned<Index>*>(p.memories.scratch) + DIGITS +
           (line * p.passes + pass) * DIGITS;
}

constexpr int MOST_PASSES = sizeof(Bits);

template <int Rank, class Index, Gives Wanted>
DEVICE void count(const RadixPass<Rank, Index>& p) {
    constexpr int MANY = EACH<Wanted, Index>;  // a whole tile in each iteration
    SHARED(uint32_t, counts, MOST_PASSES * DIGITS + 1);  // the last one: places without an element
    const Bits flip = p.descending ? Bits(~Bits(0)) : Bits(0);
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    const Chunk<Index> chunk = chunk_of(p, blockIdx.x);
    const Index first = chunk.start + chunk.begin, lead = lead_of<Wanted>(p, chunk);
    for (int32_t pass = 0; pass < p.passes; ++pass) store_shared(counts + pass * DIGITS + thread, 0u);
    store_shared_if(thread == 0, counts + MOST_PASSES * DIGITS, 0u);
    barrier();
    for (Index begin = 0; begin < chunk.size + lead; begin += MANY * THREADS) {
        Bits items[MANY];
#pragma unroll
        for (int k = 0; k < MANY; ++k) {
            const Index place = begin + (k * THREADS + thread) - lead;
            const bool inside = is_below(place, chunk.size);
            items[k] = load_bits(p, inside, first + (inside ? place : 0));
        }
#pragma unroll
        for (int k = 0; k < MANY; ++k) {
            const Index place = begin + (k * THREADS + thread) - lead;
            const bool inside = is_below(place, chunk.size);
            const Bits item = item_of<Wanted>(p, items[k], flip);
#pragma unroll
            for (int pass = 0; pass < MOST_PASSES; ++pass) {
                if (pass >= p.passes) break;
                const int at = pass * DIGITS + digit<Wanted>(item, flip, 8 * pass);
                atomic_add_shared(counts + (inside ? at : MOST_PASSES * DIGITS), 1u);
            }
        }
    }
    barrier();
    for (int32_t pass = 0; pass < p.passes; ++pass)
        atomic_add(counts_of(p, chunk.line, pass) + thread,
                   static_cast<Unsigned<Index>>(load_shared(counts + pass * DIGITS + thread)));
}

// What a tile has published of this thread's digit, [tile][digit].
template <int Rank, class Index>
DEVICE Unsigned<Index>* published_by(const RadixPass<Rank, Index>& p, const Chunk<Index>& chunk) {
    const Index line = p.number * p.lines + chunk.line;
    const Index tile = line * p.chunks.divisor + chunk.number;
    return counts_of(p, p.lines, 0) + (tile * DIGITS + static_cast<Index>(threadIdx.x));
}

// Returns how often this thread's digit occurs in the tiles of the line before, and publishes the sum
// with `own`.
template <class Index>
DEVICE Index count_before(Unsigned<Index>* place, int32_t tile, Index own) {
    using Count = Unsigned<Index>;
    Count before = 0;
    for (int32_t k = 1; k <= tile; ++k) {
        const Count found = wait_for_word(place - static_cast<Index>(k) * DIGITS);
        before += found & (OF_TILE<Index> - 1);
        if (found >= OF_ALL<Index>) break;
    }
    publish_word(place, OF_ALL<Index> | (before + static_cast<Count>(own)));
    return static_cast<Index>(before);
}

// ---- Order in a tile ------------------------------------------------------------------------------

// WORDS: words of counters. Each thread has a 16-bit counter for each nibble; a word holds those of
// nibbles n and n + 8. SUMS: elements that sum_before needs. An enum, because NVRTC would warn of
// unused constants where count_digits is compiled alone.
enum { WORDS = NIBBLES / 2 * THREADS, SUMS = THREADS + 2 * GROUP + 4 };

// Returns the sum of `value` over the threads before this one, and in `total` the sum over all
// threads. One warp adds them up. `sums` has room for SUMS elements.
template <class T>
DEVICE T sum_before(T* sums, T value, T& total) {
    constexpr int WIDE = 16 / sizeof(T);
    using Wide = Pack<T, WIDE>;
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    T* const groups = sums + THREADS;
    store_shared(sums + thread, value);
    barrier();
    if (thread < GROUP) {
        T sum = 0;
#pragma unroll
        for (int k = 0; k < GROUP; k += WIDE) {
            Wide* const at = reinterpret_cast<Wide*>(sums + thread * GROUP + k);
            Wide each = load_shared(at);
#pragma unroll
            for (int j = 0; j < WIDE; ++j) {
                const T here = each.at[j];
                each.at[j] = sum;
                sum += here;
            }
            store_shared(at, each);
        }
        store_shared(groups + thread, sum);
    }
    barrier();
    if (thread < GROUP) {
        T before = 0, sum = 0;
#pragma unroll
        for (int k = 0; k < GROUP; ++k) {
            before = k == thread ? sum : before;
            sum += load_shared(groups + k);
        }
        store_shared(groups + GROUP + thread, before);
        store_shared_if(thread == 0, groups + 2 * GROUP, sum);
    }
    barrier();
    total = load_shared(groups + 2 * GROUP);
    return load_shared(groups + GROUP + thread / GROUP) + load_shared(sums + thread);
}

using Quad = Pack<uint32_t, 4>;

// Orders the items of a tile by 4 bits. If positions are wanted, `origins` has the original place
// of each item in the tile. With `First`, items are still in their original places, and their
// digits are counted in `tally`.
template <Gives Wanted, int Count, bool First>
DEVICE void order_by(Bits* items, uint16_t* origins, uint32_t* counters, uint32_t* tally,
                     Bits flip, int32_t shift) {
    const int32_t begin = static_cast<int32_t>(threadIdx.x) * Count;
    uint16_t* const halves = reinterpret_cast<uint16_t*>(counters);
    Quad* const quads = reinterpret_cast<Quad*>(counters) + 2 * threadIdx.x;
    store_shared(quads, Quad{});
    store_shared(quads + 1, Quad{});
    Bits own[Count];
    uint16_t origin[Count];
#pragma unroll
    for (int k = 0; k < Count; ++k) {
        own[k] = load_shared(items + begin + k);
        if constexpr (Wanted == positions)
            origin[k] = First ? static_cast<uint16_t>(begin + k) : load_shared(origins + begin + k);
    }
    barrier();
    uint32_t places[Count];  // low half: the counter; high half: its count before this item
#pragma unroll
    for (int k = 0; k < Count; ++k) {
        const uint32_t found = static_cast<uint32_t>(key<Wanted>(own[k], flip) >> shift);
        if constexpr (First) atomic_add_shared(tally + (found & (DIGITS - 1)), 1u);
        const uint32_t counter = (found << 9 & 7 << 9) | (found >> 3 & 1) | threadIdx.x << 1;
        const uint32_t before = load_shared(halves + counter);
        store_shared(halves + counter, static_cast<uint16_t>(before + 1));
        places[k] = counter | before << 16;
    }
    barrier();
    Quad low = load_shared(quads), high = load_shared(quads + 1);
    uint32_t sum = 0, total;
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += low.at[k] + high.at[k];
    uint32_t before = sum_before(counters + WORDS, sum, total);
    before += total << 16;  // nibbles 8 to 15 come behind nibbles 0 to 7
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        uint32_t& each = k < 4 ? low.at[k & 3] : high.at[k & 3];
        const uint32_t here = each;
        each = before;
        before += here;
    }
    store_shared(quads, low);
    store_shared(quads + 1, high);
    barrier();
#pragma unroll
    for (int k = 0; k < Count; ++k) {
        const uint32_t place = load_shared(halves + (places[k] & 0xffff)) + (places[k] >> 16);
        store_shared(items + place, own[k]);
        if constexpr (Wanted == positions) store_shared(origins + place, origin[k]);
    }
    barrier();
}

template <int Rank, class Index, Gives Wanted>
DEVICE void scatter(const RadixPass<Rank, Index>& p) {
    constexpr int COUNT = EACH<Wanted, Index>, TILE = COUNT * THREADS;
    constexpr int BYTES = TILE * ROOM<Wanted, Index>;
    SHARED(uint64_t, room, BYTES / 8);
    SHARED(uint16_t, origins, Wanted == positions ? TILE : 1);
    SHARED(Quad, quads, (WORDS + SUMS + DIGITS) / 4);
    Bits* const items = reinterpret_cast<Bits*>(room);
    uint32_t* const counters = quads[0].at;
    uint32_t* const tally = counters + WORDS + SUMS;  // counts of a tile's digits
    // For each digit, the destination minus the place in the tile. Reuses the memory of the
    // counters, which are no longer needed then.
    Index* const bases = reinterpret_cast<Index*>(counters);

    SHARED(uint32_t, taken, 1);
    const Bits flip = p.descending ? Bits(~Bits(0)) : Bits(0);
    const int32_t thread = static_cast<int32_t>(threadIdx.x), shift = 8 * p.number;
    if (thread == 0)
        store_shared(taken, static_cast<uint32_t>(atomic_add(
                                static_cast<Unsigned<Index>*>(p.memories.scratch) + p.number,
                                Unsigned<Index>(1))));
    barrier();
    const Bits filler = filler_of<Wanted>(flip, shift);
    const int32_t last = static_cast<int32_t>(digit<Wanted>(filler, flip, shift));
    const Chunk<Index> chunk = chunk_of(p, load_shared(taken));
    const Index first = chunk.start + chunk.begin;
    const int32_t lead = lead_of<Wanted>(p, chunk), count = static_cast<int32_t>(chunk.size);
    Index total;
    Index next = chunk.start +
                 sum_before(reinterpret_cast<Index*>(counters),
                            static_cast<Index>(load(counts_of(p, chunk.line, p.number) + thread)),
                            total);
    Bits own[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const int32_t place = k * THREADS + thread - lead;
        const bool inside = is_below(place, count);
        own[k] = load_bits(p, inside, first + (inside ? place : 0));
    }
    store_shared(tally + thread, 0u);
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const int32_t place = k * THREADS + thread - lead;
        store_shared(items + (k == 0 && place < 0 ? place + TILE : place),
                     is_below(place, count) ? item_of<Wanted>(p, own[k], flip) : filler);
    }
    barrier();
    order_by<Wanted, COUNT, true>(items, origins, counters, tally, flip, shift);
    const uint32_t fillers = thread == last ? TILE - count : 0;
    const uint32_t found = load_shared(tally + thread) - fillers;
    Unsigned<Index>* const published = published_by(p, chunk);
    const bool linked = p.chunks.divisor > 1;
    if (linked) publish_word(published, OF_TILE<Index> | static_cast<Unsigned<Index>>(found));
    order_by<Wanted, COUNT, false>(items, origins, counters, tally, flip, shift + 4);
    if (linked) next += count_before(published, chunk.number, static_cast<Index>(found));
    uint32_t all;
    const uint32_t start = sum_before(counters + WORDS, found, all);
    store_shared(bases + thread, next - static_cast<Index>(start));
#pragma unroll
    for (int k = 0; k < COUNT; ++k) own[k] = load_shared(items + k * THREADS + thread);
    [[maybe_unused]] Index* const moved = reinterpret_cast<Index*>(room);
    if constexpr (Wanted == positions) {
        const Index* const from = static_cast<const Index*>(p.memories.origins);
        Index origin[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            const int32_t place = k * THREADS + thread;
            origin[k] = load_if(!is_first(p) && place < count, from + (first + place));
        }
        barrier();  // `moved` overwrites the items, which all threads have read
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            const int32_t place = k * THREADS + thread;
            store_shared(moved + place,
                         is_first(p) ? chunk.begin + place : origin[k]);
        }
    }
    barrier();
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const int32_t place = k * THREADS + thread;
        const bool inside = place < count;
        Index position = 0;
        if constexpr (Wanted == positions)
            position = load_shared(moved + load_shared(origins + place));
        const Index at = load_shared(bases + digit<Wanted>(own[k], flip, shift)) + place;
        store_sorted<Wanted, Index>(p.memories, inside, at, own[k], position);
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(RANK)
SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t, GIVES = values positions)
BLOCK_KERNEL(count_digits, RadixPass<RANK, INDEX>) { count<RANK, INDEX, GIVES>(p); }
BLOCK_KERNEL(scatter_digits, RadixPass<RANK, INDEX>) { scatter<RANK, INDEX, GIVES>(p); }
#endif
