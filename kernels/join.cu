// Concatenates several tensors along one dimension of a result, in one launch; or splits a tensor
// into several. Elements are bits: a width in bytes, not a number type. The plan has merged
// dimensions, in the same way for all inputs, and has fused contiguous runs into elements of up to
// 16 bytes. The parameters describe each input, so a launch takes 91 to 112 inputs (64-bit offsets:
// 62 to 84); in more than three dimensions 17 (9).
//
// join_parts  Each block has elements of one input, which it finds by bisection. Threads follow the
//             result's order, 4 elements per thread (1 in more than three dimensions), 256 elements
//             apart. Writes are coalesced except at the ends of an input's rows; reads are
//             coalesced if the input's fastest dimension is the result's. Best: rows of a sector or
//             more. Worst: inputs in another order (the tiles of copy/copy.cu handle large ones),
//             and inputs one element wide along the fastest dimension, of which each element writes
//             a sector. A split also follows the order of the whole tensor, with reads and writes
//             exchanged.
//
// join_rows   For rows that begin anywhere in a sector. A block reads a run of an input from the
//             start of a sector, and writes each row from shared memory, from the start of a
//             sector.
//
// Bytes moved per element: its own, once from an input and once to the result.
#include "bits.cuh"
#include "indexing.cuh"
#include "sectors.cuh"

template <int Rank, class Index>
struct Part {
    Index count;
    Index start;             // offset of the first element in the result
    Index stride[CAPACITY<Rank>];  // strides in the input
    Divisor<Index> size;     // along the joined dimension; for join_rows, threads of a row
    uint32_t end_block;      // end of the blocks of this input
};

template <int Rank, class Index>
struct Shared {
    Divisor<Index> size[CAPACITY<Rank>];  // the joined dimension's size is not used
    Index stride[CAPACITY<Rank>];         // strides in the result
    int32_t axis, parts, rank;
    int32_t splits;                 // 1: a split, which copies from the result to the inputs
};

// Maximum number of inputs of a launch, limited by the size of its parameters.
template <int Rank, class Index> constexpr int MOST = 0;
template <> constexpr int MOST<1, int32_t> = 112;
template <> constexpr int MOST<1, int64_t> = 84;
template <> constexpr int MOST<2, int32_t> = 100;
template <> constexpr int MOST<2, int64_t> = 71;
template <> constexpr int MOST<3, int32_t> = 91;
template <> constexpr int MOST<3, int64_t> = 62;
template <> constexpr int MOST<0, int32_t> = 17;
template <> constexpr int MOST<0, int64_t> = 9;

template <int Rank, class Index>
struct Join {
    void* to;
    void* from[MOST<Rank, Index>];
    Part<Rank, Index> parts[MOST<Rank, Index>];
    Shared<Rank, Index> shared;
};

// Returns the number of the input whose elements the block copies.
template <int Rank, class Index>
DEVICE int part_of(const Join<Rank, Index>& p) {
    int number = 0;
    for (int high = p.shared.parts - 1; number < high;) {
        const int middle = (number + high) / 2;
        if (blockIdx.x < p.parts[middle].end_block) high = middle;
        else number = middle + 1;
    }
    return number;
}

template <int Rank, class Index, int Width>
DEVICE void join(const Join<Rank, Index>& p) {
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    constexpr int COUNT = PER_WALK<Rank>;
    const int number = part_of(p);
    const Part<Rank, Index>& part = p.parts[number];
    const uint32_t begin = number ? p.parts[number - 1].end_block : 0;
    const Count first = static_cast<Count>(blockIdx.x - begin) * (COUNT * THREADS) + threadIdx.x;
    const bool splits = p.shared.splits;
    const T* const source = static_cast<const T*>(splits ? p.to : p.from[number]);
    T* const destination = static_cast<T*>(splits ? p.from[number] : p.to);
    const int rank = Rank ? Rank : p.shared.rank;
    Index written[COUNT];
    T elements[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const bool inside = first + k * THREADS < static_cast<Count>(part.count);
        Count rest = inside ? first + k * THREADS : 0;
        Index from = 0, to = part.start;
#pragma unroll
        for (int d = rank - 1; d >= 0; --d) {
            const Divisor<Index> size = d == p.shared.axis ? part.size : p.shared.size[d];
            const Count slower = d ? size.divide(rest) : 0;
            const Index at = static_cast<Index>(rest - slower * size.divisor);
            to += at * p.shared.stride[d];
            from += at * part.stride[d];
            rest = slower;
        }
        elements[k] = load_if(inside, source + (splits ? to : from));
        written[k] = splits ? from : to;
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        store_if(first + k * THREADS < static_cast<Count>(part.count),
                 destination + written[k], elements[k]);
}

// ---- Rows that begin anywhere -------------------------------------------------------------------

// An element of a row of an input, or the row's end.
template <class Index> struct Place {
    Index row, element;
};

// Returns the place of a thread. Rows have enough threads for a shift to the start of a sector of
// the result.
template <class Index, class T>
DEVICE Place<Index> place_of(const Part<2, Index>& part, Index pitch, const T* to, Index thread) {
    const Index row = static_cast<Index>(part.size.divide(static_cast<Unsigned<Index>>(thread)));
    const Index shift = static_cast<Index>(shift_at(to + part.start + row * pitch));
    return {row, thread - row * static_cast<Index>(part.size.divisor) - shift};
}

// Returns the number of an element of an input. A place before or after a row counts as the row's
// start or end.
template <class Index>
DEVICE Index number_of(const Place<Index>& place, Index length) {
    const Index element = place.element < 0 ? 0 : place.element < length ? place.element : length;
    return place.row * length + element;
}

template <class Index, int Width>
DEVICE void join_rows_of(const Join<2, Index>& p) {
    using T = Bits<Width>;
    constexpr int COUNT = PER_WALK<2>, TILE = COUNT * THREADS;
    SHARED(T, tile, TILE);
    const int number = part_of(p);
    const Part<2, Index>& part = p.parts[number];
    const Index begin = number ? p.parts[number - 1].end_block : 0;
    const Index length = part.stride[0], pitch = p.shared.stride[0];
    const T* const source = static_cast<const T*>(p.from[number]);
    T* const to = static_cast<T*>(p.to);

    const Index start = (static_cast<Index>(blockIdx.x) - begin) * TILE;
    const Index stop = part.count - start < TILE ? part.count : start + TILE;
    const Index first = number_of(place_of(part, pitch, to, start), length);
    const int count =
        static_cast<int>(number_of(place_of(part, pitch, to, stop), length) - first);
    const int shift = shift_at(source + first);
    T read[COUNT + 1];
#pragma unroll
    for (int k = 0; k <= COUNT; ++k) {
        const int n = k * THREADS + static_cast<int>(threadIdx.x) - shift;
        const bool inside = n >= 0 && n < count;
        read[k] = load_if(inside, source + first + (inside ? n : 0));
    }
#pragma unroll
    for (int k = 0; k <= COUNT; ++k) {
        const int n = k * THREADS + static_cast<int>(threadIdx.x) - shift;
        const bool inside = n >= 0 && n < count;
        store_shared_if(inside, tile + (inside ? n : 0), read[k]);
    }
    barrier();
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const Index thread = start + k * THREADS + static_cast<Index>(threadIdx.x);
        const Place<Index> at = place_of(part, pitch, to, thread < stop ? thread : start);
        const bool inside = thread < stop && static_cast<Unsigned<Index>>(at.element) <
                                                 static_cast<Unsigned<Index>>(length);
        const Index n = inside ? at.row * length + at.element - first : 0;
        const T element = load_shared_if(inside, tile + n);
        store_if(inside, to + part.start + at.row * pitch + at.element, element);
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(RANK)
SHAPES(RANK = 1 2 3 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(join_parts, Join<RANK, INDEX>) { join<RANK, INDEX, WIDTH>(p); }
#else
SHAPES(INDEX = int32_t int64_t, WIDTH = 1 2 4 8)
BLOCK_KERNEL(join_rows, Join<2, INDEX>) { join_rows_of<INDEX, WIDTH>(p); }
#endif
