// Writes matrices with a band of diagonals: eye, tril, triu, filled diagonals. The distance of an
// element is its column minus its row. Elements whose distance is between two bounds (or all
// others) are kept: they come from a tensor, or are one value. The other elements become another
// value. The distance is linear in the index, as a slot is, so a walk treats it like one more
// memory. Elements are bits, of WIDTH bytes. The plan has merged dimensions, in the result's order,
// and picks a kernel:
//
// band_flat     For a result that is one run, with a source in the same order. Consecutive threads
//               write consecutive packs of 16 bytes, also across the ends of rows. Coalesced.
//               Worst: rows shorter than a pack, where the distance is computed for each element.
// band_strided  For any strides. A thread writes one pack: PACK elements along rows that are
//               contiguous and aligned, otherwise one element. Coalesced as far as the fastest
//               dimension is contiguous. Worst: a source with another fastest dimension, where each
//               element costs a sector of 32 bytes.
//
// Each element after the last whole pack of a row, or of the run, has a thread of its own.
//
// Bytes moved per element: its own once, and in packs with kept elements the source's once.
// Additional blocks write padding (padding.cuh); the source's padding is not read.
#define LEAST_BLOCKS 4  // without it, NVRTC 12.9 spills on sm_100 to fit five
#include "padding.cuh"

// The simulator has all kernels in one file, so it compiles their shared functions only once.
#ifdef TENSORLAYOUT_SIMULATOR
#define COMMON __attribute__((noinline))
#else
#define COMMON DEVICE
#endif

struct Band {
    void* to;
    const void* from;   // null: kept elements become `value`
    int64_t low, high;  // relative to the distance of the first element
    uint64_t value[2];  // of one element
    uint64_t rest[2];   // of an element that is not kept
    int64_t outside;    // 1: elements outside the bounds are kept
    Padding padding;
};

template <class Index>
struct Bounds {
    Index low, high;

    DEVICE bool hold(Index distance) const { return low <= distance && distance <= high; }
};

// Returns a number clamped to the range of Index. A clamped bound stays beyond all distances, as
// these are less than the number of elements.
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

// Packs per thread.
template <int Length> constexpr int PACKS = Length < 4 ? 4 / Length : 1;

// Mask of the elements of a pack, of those within the bounds or of those to keep; the lowest bit is
// the first element.
using Kept = uint32_t;

// Consecutive elements: a whole pack, or only its first element, or none.
template <int Width, int Length>
struct Piece {
    using Element = Bits<Width>;
    using Elements = Pack<Element, Length>;

    Element* to;
    Elements elements;
    int count;

    // Sets kept elements to those of the source, or to `value`, and the others to `rest`. Reads a
    // whole pack, or nothing if no element is kept.
    // `held` is a mask of the elements within the bounds.
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

// Returns the size of a walk's fastest dimension.
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

// Returns a mask of the elements from `first` on that are within the bounds.
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

// The walk's fastest dimension counts the threads of a row: first those of packs, then those of
// single elements. Its strides are those of packs.
template <int Rank, class Index>
struct StridedBand {
    Band band;
    Index threads;
    Index packs;                // of a row
    Index step;                 // of the distance, from one element of a pack to the next
    Walk<Rank, Index, 3> walk;  // of the result, the source and the distance
};

// Returns the number of a thread's elements; computes their offsets and the mask of those within
// the bounds.
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
        if (beyond >= 0) {  // single elements: the walk took a pack's stride for each
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
// With one dimension, a contiguous row is a run, so there are no packs of several elements.
SHAPES(RANK = 1, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16, PACK = 1)
SHAPES(RANK = 2 3 4 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16, PACK = 1 16/WIDTH)
KERNEL(band_strided, StridedBand<RANK, INDEX>) { strided<RANK, INDEX, WIDTH, PACK>(p); }
#else
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(band_flat, FlatBand<RANK, INDEX>) { flat<RANK, INDEX, WIDTH>(p); }
#endif
