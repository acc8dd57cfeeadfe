// Stable sorts of lines. Each line is sorted on its own. The result holds the elements, or the
// positions that sort them. In the result, the elements of a line are consecutive; the source may
// have any strides. The plan chooses the launches and their memories.
//
// sort_tiles   A block sorts a tile of 2304 consecutive elements in shared memory. Each thread
//              sorts 9 elements; then runs are merged in 8 rounds, in which each thread finds by
//              bisection where its outputs begin. Several short lines share a tile; elements of
//              different lines are never merged. Coalesced as far as the source's lines are
//              contiguous. Best: lines of up to 2304 elements, which are read and written once.
// split_runs   Longer lines: pairs of sorted runs are merged into runs twice as long, in two
//              launches each time. In this launch, each thread finds by bisection the parts of two
//              runs that are merged into one tile of 2304 outputs. If the merging block did this,
//              one thread would search and all others would wait.
// merge_tiles  A block merges the parts of two runs in shared memory. Coalesced, except at the ends
//              of the parts, which have any alignment.
// leading_tiles
//              The first elements of sorted lines of up to 2304 elements, and their positions. A
//              block sorts a tile as in sort_tiles and writes only these elements. Source and
//              results may have any strides. Coalesced as far as consecutive elements of a line, or
//              equal positions of lines side by side, are contiguous. Best: few elements of each
//              line. Worst: long lines side by side, because a tile then holds one or few of them.
//
// Long lines are sorted by digits if that costs less: sort/radix.cu.
//
// Bytes moved per element: one read and one write, and both again for each doubling beyond 2304;
// between the launches of an argsort, also the position. Nothing depends on the order of blocks or
// threads, and equal elements never change places.
#define LEAST_BLOCKS 2
#include "indexing.cuh"
#include "memory.cuh"
#include "sectors.cuh"
#include "sorted.cuh"

#ifdef TENSORLAYOUT_SIMULATOR
#define COMMON __attribute__((noinline))
#else
#define COMMON DEVICE
#endif

constexpr int PER_THREAD = 9;  // odd, so that the threads' runs begin in different banks
constexpr int TILE = PER_THREAD * THREADS;

// Returns how many of the first `diagonal` elements of two merged runs come from the first run. Of
// equal elements, those of the first run come first. `first(k)` and `second(k)` return items.
template <Gives Wanted, class Index, class First, class Second>
DEVICE Index split(First first, Index firsts, Second second, Index seconds, Index diagonal, Bits flip) {
    Index low = diagonal > seconds ? diagonal - seconds : 0;
    Index high = diagonal < firsts ? diagonal : firsts;
    while (low < high) {
        const Index middle = low + (high - low) / 2;
        if (key<Wanted>(second(diagonal - 1 - middle), flip) < key<Wanted>(first(middle), flip))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct Shared {
    const Bits* from;
    DEVICE Bits operator()(int32_t k) const { return load_shared(from + k); }
};

template <class Index>
struct Global {
    const Bits* from;
    DEVICE Bits operator()(Index k) const { return load(from + k); }
};

// Merges two runs in shared memory, [first, middle) and [middle, last). Returns the thread's
// PER_THREAD outputs from `begin` on in `taken`, and their places before the merge in `places`.
// Entries of outputs outside the runs stay unchanged.
template <Gives Wanted>
COMMON void merge(const Bits* items, int32_t first, int32_t middle, int32_t last, int32_t begin,
                  Bits flip, Bits (&taken)[PER_THREAD], int32_t (&places)[PER_THREAD]) {
    const int32_t from = begin < first ? first : begin < last ? begin : last;
    int32_t a = first + split<Wanted, int32_t>(Shared{items + first}, middle - first,
                                               Shared{items + middle}, last - middle,
                                               from - first, flip);
    int32_t b = middle + (from - a);
    Bits one = a < middle ? load_shared(items + a) : Bits(0);
    Bits other = b < last ? load_shared(items + b) : Bits(0);
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (begin + k < first || begin + k >= last) continue;
        const bool second =
            a >= middle || (b < last && key<Wanted>(other, flip) < key<Wanted>(one, flip));
        taken[k] = second ? other : one;
        places[k] = second ? b : a;
        if (second) other = ++b < last ? load_shared(items + b) : Bits(0);
        else one = ++a < middle ? load_shared(items + a) : Bits(0);
    }
}

// ---- Tiles --------------------------------------------------------------------------------------

// A tile holds several whole lines, or a part of one.
template <int Rank, class Index>
struct SortTiles {
    Memories memories;
    Index elements;
    Index group;  // elements of the lines that share a tile, or of one longer line
    Walk<Rank, Index, 1> walk;  // of the result's elements, in the source
    Divisor<int32_t> tiles;     // of a group
    Divisor<int32_t> line;      // elements of a line, at most those of a tile
    int32_t descending;
};

// Sorts the thread's own items by odd-even transposition. Bit k of `together`: items k and k + 1
// are in the same line.
template <Gives Wanted>
DEVICE void sort_own(Bits (&items)[PER_THREAD], int32_t (&places)[PER_THREAD], uint32_t together,
                     Bits flip) {
#pragma unroll
    for (int round = 0; round < PER_THREAD; ++round)
#pragma unroll
        for (int k = round & 1; k + 1 < PER_THREAD; k += 2) {
            const bool swap = (together >> k & 1) && key<Wanted>(items[k + 1], flip) <
                                                         key<Wanted>(items[k], flip);
            const Bits item = items[k];
            const int32_t place = places[k];
            items[k] = swap ? items[k + 1] : item;
            items[k + 1] = swap ? item : items[k + 1];
            places[k] = swap ? places[k + 1] : place;
            places[k + 1] = swap ? place : places[k + 1];
        }
}

// Sorts each line of a tile in shared memory. If positions are wanted, `origins` receives the place
// of each item in the tile before the sort.
template <Gives Wanted>
DEVICE void sort_tile(Bits* items, uint16_t* origins, int32_t count, const Divisor<int32_t>& lines,
                      Bits flip) {
    const int32_t line = static_cast<int32_t>(lines.divisor);
    const int32_t begin = static_cast<int32_t>(threadIdx.x) * PER_THREAD;
    Bits own[PER_THREAD];
    int32_t places[PER_THREAD];
    uint32_t together = 0;
    int32_t position = begin - static_cast<int32_t>(lines.divide(begin)) * line;
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        own[k] = load_shared_if(begin + k < count, items + begin + k);
        places[k] = begin + k;
        position = position + 1 == line ? 0 : position + 1;
        if (position && begin + k + 1 < count) together |= 1u << k;
    }
    sort_own<Wanted>(own, places, together, flip);
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        store_shared_if(begin + k < count, items + begin + k, own[k]);
        if constexpr (Wanted != values)
            store_shared_if(begin + k < count, origins + begin + k,
                            static_cast<uint16_t>(places[k]));
    }
    barrier();

    for (int32_t run = PER_THREAD; run < count; run *= 2) {
        // Of the two runs, only the line that has a part in both is merged.
        const int32_t pair = begin - begin % (2 * run), middle = pair + run;
        int32_t low = static_cast<int32_t>(lines.divide(middle)) * line, high = low + line;
        if (low < pair) low = pair;
        if (high > pair + 2 * run) high = pair + 2 * run;
        if (high > count) high = count;
        const bool taking = low < middle && middle < high && begin < high && begin + PER_THREAD > low;
        if (taking) {
#pragma unroll
            for (int k = 0; k < PER_THREAD; ++k) places[k] = -1;
            merge<Wanted>(items, low, middle, high, begin, flip, own, places);
            if constexpr (Wanted != values) {
#pragma unroll
                for (int k = 0; k < PER_THREAD; ++k)
                    if (places[k] >= 0) places[k] = load_shared(origins + places[k]);
            }
        }
        barrier();
        if (taking) {
#pragma unroll
            for (int k = 0; k < PER_THREAD; ++k) {
                store_shared_if(places[k] >= 0, items + begin + k, own[k]);
                if constexpr (Wanted != values)
                    store_shared_if(places[k] >= 0, origins + begin + k,
                                    static_cast<uint16_t>(places[k]));
            }
        }
        barrier();
    }
}

template <int Rank, class Index, Gives Wanted>
DEVICE void tiles(const SortTiles<Rank, Index>& p) {
    SHARED(Bits, items, TILE);
    SHARED(uint16_t, origins, Wanted == positions ? TILE : 1);
    const Bits flip = p.descending ? Bits(~Bits(0)) : Bits(0);
    const uint32_t number = p.tiles.divide(blockIdx.x);
    const Index ahead = static_cast<Index>(blockIdx.x - number * p.tiles.divisor) * TILE;
    const Index first = static_cast<Index>(number) * p.group + ahead;
    const Index left = p.group - ahead < p.elements - first ? p.group - ahead : p.elements - first;
    const int32_t count = static_cast<int32_t>(left < TILE ? left : TILE);
    const int32_t line = static_cast<int32_t>(p.line.divisor);

    const ELEMENT* const from = static_cast<const ELEMENT*>(p.memories.from);
    Index at[1];
    p.walk.offsets(static_cast<Unsigned<Index>>(first), at);
    const bool has_room = count <= TILE - SECTOR;  // to shift the threads
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    int32_t shift = has_room ? static_cast<int32_t>(shift_at(from + at[0])) : 0;
    ELEMENT elements[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int32_t place = k * THREADS + thread - shift;
        const bool inside = place >= 0 && place < count;
        p.walk.offsets(static_cast<Unsigned<Index>>(first + (inside ? place : 0)), at);
        elements[k] = load_if(inside, from + at[0]);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int32_t place = k * THREADS + thread - shift;
        const bool inside = place >= 0 && place < count;
        store_shared_if(inside, items + (inside ? place : 0),
                        item_of<Wanted>(elements[k], flip));
    }
    barrier();
    sort_tile<Wanted>(items, origins, count, p.line, flip);
    if (has_room)
        shift = static_cast<int32_t>(p.memories.result
                                         ? shift_at(static_cast<int64_t*>(p.memories.result) + first)
                                         : shift_at(static_cast<Bits*>(p.memories.values) + first));
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int32_t place = k * THREADS + thread - shift;
        const bool inside = place >= 0 && place < count;
        const Bits item = load_shared_if(inside, items + (inside ? place : 0));
        Index position = 0;
        if constexpr (Wanted == positions)
            position = ahead + load_shared_if(inside, origins + (inside ? place : 0)) -
                       static_cast<Index>(p.line.divide(inside ? place : 0)) * line;
        store_sorted<Wanted, Index>(p.memories, inside, first + place, item, position);
    }
}

// ---- Leading elements ----------------------------------------------------------------------------

// Numbering of a tile's elements, which threads access in this order. A tile holds several whole
// lines. Elements are numbered along the lines; or across them: the first element of each line,
// then the second of each, and so on. The plan chooses by the strides in memory.
struct Numbering {
    Divisor<int32_t> size;  // elements of a line that are accessed; if `across`, lines of a tile
    int32_t across;
};

template <int Rank, class Index>
struct LeadingTiles {
    void* values;
    void* positions;
    const void* from;
    Index lines;
    Index step[3];  // strides along a line: of the source, values and positions
    Walk<Rank, Index, 3> walk;  // of the lines' first elements
    Divisor<int32_t> line;      // elements of a line
    Numbering read, written;
    int32_t together;  // lines of a tile
    int32_t leading;   // elements of a line that are written
    int32_t wide;      // positions have 8 bytes, else 4
    int32_t descending;
};

struct Spot {
    int32_t line, place;
    bool inside;
};

// Returns the line and the place in it of the item with a number; 0 and 0 if it is outside.
DEVICE Spot spot_of(int32_t number, const Numbering& by, int32_t lines, int32_t length) {
    const int32_t known = number < 0 ? 0 : number;
    const int32_t whole = static_cast<int32_t>(by.size.divide(known));
    const int32_t rest = known - whole * static_cast<int32_t>(by.size.divisor);
    const int32_t line = by.across ? rest : whole, place = by.across ? whole : rest;
    const bool inside = number >= 0 && line < lines && place < length;
    return {inside ? line : 0, inside ? place : 0, inside};
}

template <int Rank, class Index>
DEVICE void leading(const LeadingTiles<Rank, Index>& p) {
    SHARED(Bits, items, TILE);
    SHARED(uint16_t, origins, TILE);
    const Bits flip = p.descending ? Bits(~Bits(0)) : Bits(0);
    const int32_t line = static_cast<int32_t>(p.line.divisor);
    const Index first = static_cast<Index>(blockIdx.x) * p.together;
    const int32_t lines =
        static_cast<int32_t>(p.lines - first < p.together ? p.lines - first : p.together);
    const int32_t thread = static_cast<int32_t>(threadIdx.x);

    const ELEMENT* const from = static_cast<const ELEMENT*>(p.from);
    Index at[3];
    p.walk.offsets(static_cast<Unsigned<Index>>(first), at);
    int32_t shift = p.together * line <= TILE - SECTOR  // room to shift the threads
                        ? static_cast<int32_t>(shift_at(from + at[0]))
                        : 0;
    ELEMENT elements[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const Spot spot = spot_of(k * THREADS + thread - shift, p.read, lines, line);
        p.walk.offsets(static_cast<Unsigned<Index>>(first + spot.line), at);
        elements[k] = load_if(spot.inside, from + (at[0] + spot.place * p.step[0]));
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const Spot spot = spot_of(k * THREADS + thread - shift, p.read, lines, line);
        store_shared_if(spot.inside, items + (spot.line * line + spot.place),
                        bits_as<Bits>(elements[k]));
    }
    barrier();
    sort_tile<both>(items, origins, lines * line, p.line, flip);

    Bits* const found = static_cast<Bits*>(p.values);
    p.walk.offsets(static_cast<Unsigned<Index>>(first), at);
    shift = p.together * p.leading <= TILE - SECTOR
                ? static_cast<int32_t>(shift_at(found + at[1]))
                : 0;
#pragma unroll 1
    for (int32_t k = 0; k * THREADS < p.together * p.leading + shift; ++k) {
        const Spot spot = spot_of(k * THREADS + thread - shift, p.written, lines, p.leading);
        const int32_t place = spot.line * line + spot.place;
        p.walk.offsets(static_cast<Unsigned<Index>>(first + spot.line), at);
        store_if(spot.inside, found + (at[1] + spot.place * p.step[1]),
                 load_shared_if(spot.inside, items + place));
        const int32_t position = load_shared_if(spot.inside, origins + place) - spot.line * line;
        const Index to = at[2] + spot.place * p.step[2];
        if (p.wide)
            store_if(spot.inside, static_cast<uint64_t*>(p.positions) + to,
                     static_cast<uint64_t>(position));
        else
            store_if(spot.inside, static_cast<uint32_t*>(p.positions) + to,
                     static_cast<uint32_t>(position));
    }
}

// ---- Merges -------------------------------------------------------------------------------------

// `run`: elements of a sorted run, a multiple of a tile; `tiles`: tiles of a line.
template <class Index>
struct SplitRuns {
    Memories memories;  // scratch, per tile: items of the pair's first run that precede it
    Index count;   // of tiles
    Index length;  // of a line
    Index run;
    Divisor<int32_t> tiles;
    int32_t descending;
};

template <class Index>
struct MergeTiles {
    Memories memories;
    Index length;
    Index run;
    Divisor<int32_t> tiles;
    int32_t descending;
};

// Pair of runs to which a tile belongs; the second run may be shorter, or empty.
template <class Index>
struct Pair {
    Index start, ahead;     // first element of the line; offset of the tile in it
    Index begin;            // offset of the first run in the line
    Index firsts, seconds;  // elements of the two runs
};

template <class Params, class Index = decltype(Params::length)>
DEVICE Pair<Index> pair_of(const Params& p, uint32_t tile) {
    Pair<Index> pair;
    const uint32_t number = p.tiles.divide(tile);
    pair.start = static_cast<Index>(number) * p.length;
    pair.ahead = static_cast<Index>(tile - number * p.tiles.divisor) * TILE;
    pair.begin = pair.ahead - pair.ahead % (2 * p.run);
    const Index left = p.length - pair.begin;
    pair.firsts = left < p.run ? left : p.run;
    pair.seconds = left - pair.firsts < p.run ? left - pair.firsts : p.run;
    return pair;
}

template <class Index, Gives Wanted>
DEVICE void splits(const SplitRuns<Index>& p) {
    const uint32_t tile = blockIdx.x * THREADS + threadIdx.x;
    if (tile >= static_cast<Unsigned<Index>>(p.count)) return;
    const Pair<Index> pair = pair_of(p, tile);
    const Bits* const first = static_cast<const Bits*>(p.memories.from) + (pair.start + pair.begin);
    const Bits flip = p.descending ? Bits(~Bits(0)) : Bits(0);
    const Index found = split<Wanted, Index>(Global<Index>{first}, pair.firsts,
                                             Global<Index>{first + pair.firsts}, pair.seconds,
                                             pair.ahead - pair.begin, flip);
    store(static_cast<Index*>(p.memories.scratch) + tile, found);
}

template <class Index, Gives Wanted>
DEVICE void merges(const MergeTiles<Index>& p) {
    SHARED(Bits, items, TILE);
    SHARED(Index, origins, Wanted == positions ? TILE : 1);
    const Bits flip = p.descending ? Bits(~Bits(0)) : Bits(0);
    const Pair<Index> pair = pair_of(p, blockIdx.x);
    const Index from_pair = pair.ahead - pair.begin, left = pair.firsts + pair.seconds - from_pair;
    const int32_t count = static_cast<int32_t>(left < TILE ? left : TILE);
    const Bits* const first =
        static_cast<const Bits*>(p.memories.from) + (pair.start + pair.begin);
    const Bits* const second = first + pair.firsts;
    const Index* const ends = static_cast<const Index*>(p.memories.scratch) + blockIdx.x;
    const Index a = load(ends), b = from_pair - a;
    const Index next = left > TILE ? load(ends + 1) : pair.firsts;
    const int32_t middle = static_cast<int32_t>(next - a);

    Bits loaded[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int32_t place = k * THREADS + static_cast<int32_t>(threadIdx.x);
        const Bits* const from = place < middle ? first + (a + place) : second + (b + place - middle);
        loaded[k] = load_if(place < count, from);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int32_t place = k * THREADS + static_cast<int32_t>(threadIdx.x);
        store_shared_if(place < count, items + place, loaded[k]);
    }
    if constexpr (Wanted == positions) {
        const Index* const one =
            static_cast<const Index*>(p.memories.origins) + (pair.start + pair.begin);
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            const int32_t place = k * THREADS + static_cast<int32_t>(threadIdx.x);
            const Index* const from =
                place < middle ? one + (a + place) : one + (pair.firsts + b + place - middle);
            store_shared_if(place < count, origins + place, load_if(place < count, from));
        }
    }
    barrier();

    const int32_t begin = static_cast<int32_t>(threadIdx.x) * PER_THREAD;
    Bits own[PER_THREAD];
    int32_t places[PER_THREAD];
    Index from[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        own[k] = 0;
        places[k] = 0;
    }
    merge<Wanted>(items, 0, middle, count, begin, flip, own, places);
    if constexpr (Wanted == positions) {
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k)
            from[k] = load_shared_if(begin + k < count, origins + places[k]);
    }
    barrier();
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        store_shared_if(begin + k < count, items + begin + k, own[k]);
        if constexpr (Wanted == positions)
            store_shared_if(begin + k < count, origins + begin + k, from[k]);
    }
    barrier();
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int32_t place = k * THREADS + static_cast<int32_t>(threadIdx.x);
        const bool inside = place < count;
        const Bits item = load_shared_if(inside, items + place);
        Index position = 0;
        if constexpr (Wanted == positions) position = load_shared_if(inside, origins + place);
        store_sorted<Wanted, Index>(p.memories, inside, pair.start + pair.ahead + place, item, position);
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(RANK) && defined(GIVES)
SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t, GIVES = values positions)
BLOCK_KERNEL(sort_tiles, SortTiles<RANK, INDEX>) { tiles<RANK, INDEX, GIVES>(p); }
#elif defined(RANK)
SHAPES(RANK = 1 2 0, INDEX = int32_t int64_t)
BLOCK_KERNEL(leading_tiles, LeadingTiles<RANK, INDEX>) { leading<RANK, INDEX>(p); }
#else
SHAPES(INDEX = int32_t int64_t, GIVES = values positions)
KERNEL(split_runs, SplitRuns<INDEX>) { splits<INDEX, GIVES>(p); }
BLOCK_KERNEL(merge_tiles, MergeTiles<INDEX>) { merges<INDEX, GIVES>(p); }
#endif
