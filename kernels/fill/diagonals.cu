// Matrices with a band of diagonals: eye, tril, triu, filled diagonals. An element's distance is its column
// less its row; those whose distance is between two bounds (or all others) are kept, from a tensor or as
// one value, and the rest is another value. The distance is linear in the index, as a slot is, so it is walked like one
// more memory. Elements are bits, of WIDTH bytes; the plan has merged dimensions, in the result's order,
// and picks:
//
// band_flat     The result is one run, and the source runs with it. Threads follow each other, a pack
//               of 16 bytes each, also across the ends of rows. Coalesced. Worst: rows shorter than a
//               pack, for whose elements the distance is found one by one.
// band_strided  Any strides, a pack a thread: PACK elements along rows that are contiguous and
//               aligned, else one. Coalesced as far as the fastest dimension is contiguous. Worst: a
//               source whose fastest dimension is another: a sector of 32 bytes per element.
//
// Elements behind the last whole pack of a row, or of the run, have a thread each.
//
// Bytes moved per element: its own once, and of packs that reach into the band the source's once.
// Padding is written by further blocks (padding.cuh); what the source has for padding is not read.
#include "padding.cuh"

// Code shared by all kernels is compiled once for the simulator, which has all of them in one file.
#ifdef TENSORLAYOUT_SIMULATOR
#define COMMON __attribute__((noinline))
#else
#define COMMON DEVICE
#endif

struct Band {
    void* to;
    const void* from;   // null: the value
    int64_t low, high;  // relative to the distance of the first element
    uint64_t value[2];  // of one element
    uint64_t rest[2];   // of one that is not kept
    int64_t outside;    // 1: what is beyond the bounds is kept
    Padding padding;
};

template <class Index>
struct Bounds {
    Index low, high;

    DEVICE bool hold(Index distance) const { return low <= distance && distance <= high; }
};

// A number as one of few bits; one that is beyond them stays beyond all distances, as these are less
// than the number of elements.
template <class Index>
DEVICE Index within(int64_t number) {
    constexpr int64_t most = static_cast<int64_t>(static_cast<Unsigned<Index>>(-1) >> 1);
    return static_cast<Index>(number > most ? most : number < -most ? -most : number);
}

template <class Index>
COMMON Bounds<Index> bounds_of(const Band& p) {
    return {within<Index>(p.low), within<Index>(p.high)};
}

COMMON bool padding_written(const Band& p) { return write_padding(p.padding, p.to); }

// Packs of a thread.
template <int Length> constexpr int PACKS = Length < 4 ? 4 / Length : 1;

// Mask of the elements of a pack to keep: the lowest bit is the first element.
using Kept = uint32_t;

// Elements side by side: a pack of them, or the first alone, or none.
template <int Width, int Length>
struct Piece {
    using Element = Bits<Width>;
    using Elements = Pack<Element, Length>;

    Element* to;
    Elements elements;
    int count;

    // Only what is kept is read. `held`: which elements are within the bounds.
    COMMON void fetch(const Band& p, int64_t target, int64_t source, Kept held) {
        const Kept kept = p.outside ? held ^ ((1u << Length) - 1) : held;
        to = static_cast<Element*>(p.to) + target;
        if (p.from) {
            const Element* const from = static_cast<const Element*>(p.from) + source;
            elements = load_if(kept && count == Length, reinterpret_cast<const Elements*>(from));
            if constexpr (Length > 1) {
                const Element one = load_if((kept & 1) && count == 1, from);
                if (count == 1) elements.at[0] = one;
            }
        } else {
#pragma unroll
            for (Element& each : elements.at) each = low_bits<Width>(p.value);
        }
#pragma unroll
        for (int j = 0; j < Length; ++j)
            if (!(kept >> j & 1)) elements.at[j] = low_bits<Width>(p.rest);
    }

    COMMON void write() const {
        store_if(count == Length, reinterpret_cast<Elements*>(to), elements);
        if constexpr (Length > 1) store_if(count == 1, to, elements.at[0]);
    }
};

// The fastest dimension of a walk.
template <int Rank, class Index, int N>
DEVICE const Divisor<Index>& row_of(const Walk<Rank, Index, N>& walk) {
    if constexpr (Rank == 0) return walk.size[walk.rank - 1];
    else return walk.size[Rank - 1];
}

// ---- Flat ---------------------------------------------------------------------------------------

template <int Rank, class Index>
struct FlatBand {
    Band band;
    Index count;
    Index step;                  // of the distance, along a row
    Walk<Rank, Index, 1> walk;  // of the distance
};

// Mask of the elements to keep, from `first` on.
template <int Length, int Rank, class Index>
COMMON Kept kept_from(const FlatBand<Rank, Index>& p, const Bounds<Index>& bounds,
                      Unsigned<Index> first) {
    const Divisor<Index>& row = row_of(p.walk);
    const Unsigned<Index> along = first - row.divide(first) * row.divisor;
    Index distance[1];
    p.walk.offsets(first, distance);
    Kept kept = 0;
    if (along + Length <= static_cast<Unsigned<Index>>(row.divisor)) {
#pragma unroll
        for (int j = 0; j < Length; ++j)
            kept |= static_cast<Kept>(bounds.hold(distance[0] + j * p.step)) << j;
    } else {
#pragma unroll 1
        for (int j = 0; j < Length; ++j) {
            p.walk.offsets(first + j, distance);
            kept |= static_cast<Kept>(bounds.hold(distance[0])) << j;
        }
    }
    return kept;
}

template <int Rank, class Index, int Width>
DEVICE void flat(const FlatBand<Rank, Index>& p) {
    if (padding_written(p.band)) return;
    using Count = Unsigned<Index>;
    constexpr int LENGTH = 16 / Width;
    const Bounds<Index> bounds = bounds_of<Index>(p.band);
    const Count packs = static_cast<Count>(p.count) / LENGTH;
    const Count begin = static_cast<Count>(blockIdx.x) * (PACKS<LENGTH> * THREADS) + threadIdx.x;
    Piece<Width, LENGTH> pieces[PACKS<LENGTH>];
#pragma unroll
    for (int k = 0; k < PACKS<LENGTH>; ++k) {
        const Count thread = begin + k * THREADS;
        const bool whole = thread < packs;
        Count first = whole ? thread * LENGTH : packs * LENGTH + (thread - packs);
        const bool inside = first < static_cast<Count>(p.count);
        if (!inside) first = 0;
        pieces[k].count = !inside ? 0 : whole ? LENGTH : 1;
        pieces[k].fetch(p.band, first, first, kept_from<LENGTH>(p, bounds, first));
    }
#pragma unroll
    for (const auto& piece : pieces) piece.write();
}

// ---- Rows, and any strides ----------------------------------------------------------------------

// The fastest dimension of the walk counts threads of a row, which are packs at first and then
// single elements; its strides are those of packs.
template <int Rank, class Index>
struct StridedBand {
    Band band;
    Index threads;
    Index packs;                // of a row
    Index step;                 // of the distance, from one element of a pack to the next
    Walk<Rank, Index, 3> walk;  // of the result, the source and the distance
};

// Number and place of a thread's elements, and which of them are kept.
template <int Rank, class Index, int Length>
COMMON int find(const StridedBand<Rank, Index>& p, const Bounds<Index>& bounds,
                Unsigned<Index> thread, Index (&at)[3], Kept& kept) {
    const bool inside = thread < static_cast<Unsigned<Index>>(p.threads);
    if (!inside) thread = 0;
    int count = inside ? Length : 0;
    p.walk.offsets(thread, at);
    if constexpr (Length > 1) {
        const Divisor<Index>& row = row_of(p.walk);
        const Index beyond =
            static_cast<Index>(thread - row.divide(thread) * row.divisor) - p.packs;
        if (beyond >= 0) {  // single elements, for which the walk has taken steps of packs
            at[0] -= beyond * (Length - 1);
            at[1] -= beyond * (Length - 1);
            at[2] -= beyond * (Length - 1) * p.step;
            count = inside;
        }
    }
    kept = 0;
#pragma unroll
    for (int j = 0; j < Length; ++j)
        kept |= static_cast<Kept>(bounds.hold(at[2] + j * p.step)) << j;
    return count;
}

template <int Rank, class Index, int Width, int Length>
DEVICE void strided(const StridedBand<Rank, Index>& p) {
    if (padding_written(p.band)) return;
    using Count = Unsigned<Index>;
    const Bounds<Index> bounds = bounds_of<Index>(p.band);
    const Count begin = static_cast<Count>(blockIdx.x) * (PACKS<Length> * THREADS) + threadIdx.x;
    Piece<Width, Length> pieces[PACKS<Length>];
#pragma unroll
    for (int k = 0; k < PACKS<Length>; ++k) {
        Index at[3];
        Kept kept;
        pieces[k].count = find<Rank, Index, Length>(p, bounds, begin + k * THREADS, at, kept);
        pieces[k].fetch(p.band, at[0], at[1], kept);
    }
#pragma unroll
    for (const auto& piece : pieces) piece.write();
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(PACK)
// A row that is contiguous in one dimension alone is a run.
SHAPES(RANK = 1, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16, PACK = 1)
SHAPES(RANK = 2 3 4 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16, PACK = 1 16/WIDTH)
KERNEL(band_strided, StridedBand<RANK, INDEX>) { strided<RANK, INDEX, WIDTH, PACK>(p); }
#else
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(band_flat, FlatBand<RANK, INDEX>) { flat<RANK, INDEX, WIDTH>(p); }
#endif
