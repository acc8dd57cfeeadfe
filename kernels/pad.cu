// Copies tensors with a border around their elements, or with zeros between them. Elements are
// bits: a width in bytes, not a number type. The plans have merged dimensions, made strides of the
// result (for spread_elements also steps of the window) positive, and fused contiguous runs into
// elements as wide as possible.
//
// pad_elements  Adds a border of a constant, or of elements from the inside (by mode). Threads
//               follow the order of the result; each computes 4 elements, 256 elements apart (1 in
//               more than four dimensions). If WIDTH is above ELEMENT, the elements of rows with
//               equal alignment in both memories move WIDTH bytes per thread. The other elements of
//               all rows, which are the borders and both ends, follow, one per thread. Coalesced if
//               the fastest dimension of the result is contiguous in the source. Best: aligned
//               rows, with or without a border. Worst: borders of odd widths, after which rows of
//               the source begin inside sectors; a source with another fastest dimension.
//
// spread_elements  Places a tensor in a window of a larger one, with a step in each dimension, and
//               writes zero elsewhere. Threads follow the order of the result; each computes 4
//               elements, 256 elements apart (1 in more than three dimensions). Writes are
//               coalesced; reads are coalesced if source and result have the same fastest
//               dimension. Best: steps of 1 along this dimension. Worst: larger steps along it,
//               which leave lanes without a read.
//
// Bytes moved per element: its own, once from the source (none for a constant) and once to the
// result; mirrored elements come from the cache.

// Minimum number of blocks per multiprocessor. Without it, NVRTC 12.9 spills registers of a few
// shapes to fit more blocks.
#define LEAST_BLOCKS 2

#include "bits.cuh"
#include "indexing.cuh"
#include "memory.cuh"

// ---- Borders ------------------------------------------------------------------------------------

enum BorderMode : int32_t { CONSTANT, EDGE, REPEATED };

// Maximum number of dimensions with a border. Dimensions of size 1 can have one too, so any rank
// (0) needs MAX_RANK.
template <int Rank> constexpr int SIDES = Rank ? Rank : MAX_RANK;

template <int Rank, class Index>
struct Border {
    // One entry for each dimension. A position in the source is one in the result minus `before`.
    Index before[SIDES<Rank>], inside[SIDES<Rank>];  // elements before the source, of the source
    // The source repeats outside itself with this period, in elements. If it is mirrored, the
    // second half of a period runs backwards. `lift` is a multiple of the period that is at least
    // `before`.
    Divisor<Index> period[SIDES<Rank>];
    Index lift[SIDES<Rank>];
    int32_t twice;  // 1: mirroring repeats the outermost elements
    BorderMode mode;

    // Computes the position in the source. Returns false for an element of a constant border.
    DEVICE bool find(int d, Index coordinate, Index& position) const {
        position = coordinate - before[d];
        if (static_cast<Unsigned<Index>>(position) < static_cast<Unsigned<Index>>(inside[d])) return true;
        if (mode == CONSTANT) {
            position = 0;
            return false;
        }
        if (mode == EDGE) {
            position = position < 0 ? 0 : inside[d] - 1;
        } else {
            const Unsigned<Index> lifted = position + lift[d];
            position = static_cast<Index>(lifted - period[d].divide(lifted) * period[d].divisor);
            if (position >= inside[d]) position = period[d].divisor - twice - position;
        }
        return true;
    }
};

template <int Rank, class Index>
struct Padded {
    void* to;
    const void* from;
    uint64_t bits[2];       // of the constant, repeated to 16 bytes
    Walk<Rank, Index, 2> walk;  // sizes of the result; the last excludes the elements in packs
    Border<Rank, Index> border;
    Index count;            // packs and single elements
    Index packed;           // packs
    Index head, packs_end;  // coordinates in a row where its packs begin and end
    Divisor<Index> packs;   // per row
};

// An element of the result.
template <class Index> struct Spot {
    Index at[2];
    bool active, inside, pack;
};

template <int Length, int Rank, class Index>
DEVICE Spot<Index> spot(const Padded<Rank, Index>& p, Unsigned<Index> number) {
    using Count = Unsigned<Index>;
    int rank = Rank;
    if constexpr (Rank == 0) rank = static_cast<int>(p.walk.rank);
    Spot<Index> found{{0, 0}, number < static_cast<Count>(p.count), true, false};
    Count index = found.active ? number : 0;
    auto step = [&](int d, Index coordinate) {
        Index position;
        found.inside &= p.border.find(d, coordinate, position);
        found.at[0] += coordinate * p.walk.stride[0][d];
        found.at[1] += position * p.walk.stride[1][d];
    };
    // The fastest dimension.
    if constexpr (Length > 1) {
        found.pack = index < static_cast<Count>(p.packed);
        if (!found.pack) index -= static_cast<Count>(p.packed);
        const Divisor<Index> divisor = found.pack ? p.packs : p.walk.size[rank - 1];
        const Count row = divisor.divide(index);
        Index coordinate = static_cast<Index>(index - row * divisor.divisor);
        if (found.pack)
            coordinate = p.head + coordinate * Length;
        else if (coordinate >= p.head)
            coordinate += p.packs_end - p.head;
        step(rank - 1, coordinate);
        index = row;
    } else if (rank > 1) {
        const Count row = p.walk.size[rank - 1].divide(index);
        step(rank - 1, static_cast<Index>(index - row * p.walk.size[rank - 1].divisor));
        index = row;
    }
    if (Length == 1 && rank == 1) step(0, static_cast<Index>(index));
#pragma unroll
    for (int d = rank - 2; d > 0; --d) {
        const Count slower = p.walk.size[d].divide(index);
        step(d, static_cast<Index>(index - slower * p.walk.size[d].divisor));
        index = slower;
    }
    if (rank > 1) step(0, static_cast<Index>(index));
    return found;
}

template <int Rank, class Index, int Element, int Width>
DEVICE void pad(const Padded<Rank, Index>& p) {
    constexpr int COUNT = PER_WALK<Rank>;
    using T = Bits<Element>;
    using Word = Bits<Width>;
    const Unsigned<Index> first =
        static_cast<Unsigned<Index>>(blockIdx.x) * (COUNT * THREADS) + threadIdx.x;
    Spot<Index> spots[COUNT];
    T elements[COUNT];
    Word words[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        Spot<Index>& each = spots[k] = spot<Width / Element>(p, first + k * THREADS);
        const T* const from = static_cast<const T*>(p.from) + each.at[1];
        const bool read = each.active && each.inside;
        elements[k] = load_if(read && !each.pack, from);
        if (!each.inside) elements[k] = low_bits<Element>(p.bits);
        if constexpr (Width > Element) {
            words[k] = load_if(read && each.pack, reinterpret_cast<const Word*>(from));
            if (!each.inside) words[k] = low_bits<Width>(p.bits);
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const Spot<Index>& each = spots[k];
        T* const to = static_cast<T*>(p.to) + each.at[0];
        store_if(each.active && !each.pack, to, elements[k]);
        if constexpr (Width > Element)
            store_if(each.active && each.pack, reinterpret_cast<Word*>(to), words[k]);
    }
}

// ---- Windows with steps --------------------------------------------------------------------------

template <int Rank, class Index>
struct Spread {
    void* to;
    const void* from;
    Index count;             // elements of the result
    Index stride[2][CAPACITY<Rank>];  // of the result and of the source
    Index first[CAPACITY<Rank>];   // start of the window
    Index taken[CAPACITY<Rank>];   // elements of the source
    Divisor<Index> size[CAPACITY<Rank>];
    Divisor<Index> step[CAPACITY<Rank>];  // of the window
    int32_t rank;
};

template <int Rank, class Index, int Width>
DEVICE void spread(const Spread<Rank, Index>& p) {
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    constexpr int COUNT = PER_WALK<Rank>;
    const Count first = static_cast<Count>(blockIdx.x) * (COUNT * THREADS) + threadIdx.x;
    const int rank = Rank ? Rank : p.rank;
    Index to[COUNT];
    T elements[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        bool inside = first + k * THREADS < static_cast<Count>(p.count);
        Count rest = inside ? first + k * THREADS : 0;
        Index from = 0;
        to[k] = 0;
#pragma unroll
        for (int d = rank - 1; d >= 0; --d) {
            const Count slower = d ? p.size[d].divide(rest) : 0;
            const Index at = static_cast<Index>(rest - slower * p.size[d].divisor);
            const Index away = at - p.first[d];
            const Index place = static_cast<Index>(p.step[d].divide(away < 0 ? 0 : away));
            inside &= place * static_cast<Index>(p.step[d].divisor) == away && place < p.taken[d];
            to[k] += at * p.stride[0][d];
            from += place * p.stride[1][d];
            rest = slower;
        }
        elements[k] = load_if(inside, static_cast<const T*>(p.from) + from);
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        store_if(first + k * THREADS < static_cast<Count>(p.count), static_cast<T*>(p.to) + to[k],
                 elements[k]);
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(ELEMENT)
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t, ELEMENT = 1 2 4 8 16, WIDTH = ELEMENT 16)
KERNEL(pad_elements, Padded<RANK, INDEX>) { pad<RANK, INDEX, ELEMENT, WIDTH>(p); }
#else
SHAPES(RANK = 1 2 3 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(spread_elements, Spread<RANK, INDEX>) { spread<RANK, INDEX, WIDTH>(p); }
#endif
