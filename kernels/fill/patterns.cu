// Writes values that depend on the coordinates of an element. The plans have merged dimensions, and
// made strides of the result positive.
//
// one_hot       Writes one value where an index equals the position in a line, and another
//               elsewhere.
// count_up      Writes a number that grows by a constant from element to element, in row-major
//               order.
//
// Each element of the result has a thread, in the order of the result. Writes are coalesced if the
// fastest dimension of the result is contiguous; reads are if the indices have the same order.
//
// Bytes moved per element: its own once to the result, and those of the indices that it reads.

// Minimum number of blocks per multiprocessor. Without it, NVRTC 12.9 spills registers of a few
// shapes to fit more blocks.
#define LEAST_BLOCKS 2

#include "bits.cuh"
#include "dtypes.cuh"
#include "indexing.cuh"
#include "memory.cuh"

enum IndexKind : int32_t { INT32, INT64, UINT32, UINT64 };

template <int Rank, class Index>
struct Hot {
    void* to;
    const void* indices;
    const void* off;
    const void* on;
    Walk<Rank, Index, 3> walk;  // strides of the result, the indices, the position in a line
    Index count, first, size;   // elements; position of the first one; elements of a line
    IndexKind kind;
};

// Returns the position that an index denotes; negative indices count from the end.
DEVICE int64_t place_of(const void* indices, int64_t at, IndexKind kind, int64_t size, bool active) {
    if (kind == UINT32) return load_if(active, static_cast<const uint32_t*>(indices) + at);
    if (kind == UINT64) return load_if(active, static_cast<const int64_t*>(indices) + at);
    const int64_t given = kind == INT32 ? load_if(active, static_cast<const int32_t*>(indices) + at)
                                        : load_if(active, static_cast<const int64_t*>(indices) + at);
    return given < 0 ? given + size : given;
}

template <int Rank, class Index, int Width>
DEVICE void write_hot(const Hot<Rank, Index>& p) {
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    const Count number = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const bool active = number < static_cast<Count>(p.count);
    Index at[3];
    p.walk.offsets(active ? number : 0, at);
    const bool hot = place_of(p.indices, at[1], p.kind, p.size, active) == p.first + at[2];
    const T value = load_if(active, static_cast<const T*>(hot ? p.on : p.off));
    store_if(active, static_cast<T*>(p.to) + at[0], value);
}

template <int Rank, class Index>
struct Sequence {
    void* to;
    uint64_t start, delta;      // for floats, the bits of doubles
    Walk<Rank, Index, 2> walk;  // strides of the result, the number of the element
    Index count, first;         // elements; the number of the first one
};

template <class T, int Rank, class Index>
DEVICE void write_sequence(const Sequence<Rank, Index>& p) {
    using Count = Unsigned<Index>;
    const Count given = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const bool active = given < static_cast<Count>(p.count);
    Index at[2];
    p.walk.offsets(active ? given : 0, at);
    const Index number = p.first + at[1];
    T value;
    if constexpr (is_integer<T>)
        value = static_cast<T>(static_cast<uint64_t>(number) * p.delta + p.start);
    else
        value = convert<T>(static_cast<double>(number) * bits_as<double>(p.delta) + bits_as<double>(p.start));
    store_if(active, static_cast<T*>(p.to) + at[0], value);
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(COUNTED)
SHAPES(RANK = 2 3 0, INDEX = int32_t int64_t,
       COUNTED = uint8_t uint16_t uint32_t uint64_t half float double)
KERNEL(count_up, Sequence<RANK, INDEX>) { write_sequence<COUNTED>(p); }
#else
SHAPES(RANK = 2 3 0, INDEX = int32_t int64_t, HOT = 1 2 4 8)
KERNEL(one_hot, Hot<RANK, INDEX>) { write_hot<RANK, INDEX, HOT>(p); }
#endif
