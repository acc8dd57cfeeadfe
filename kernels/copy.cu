// Copies between two layouts of one shape. Elements are bits: a width in bytes, no number type. The
// plan (tensorlayout/cuda/copy_plan.py) has merged dimensions, made destination strides positive, and
// fused contiguous runs into elements as wide as they allow; strides count those elements.
//
// copy_flat     One run on both sides. Threads follow each other, 4 packs of WIDTH bytes a thread,
//               256 threads apart; at most 15 bytes are left to the first block. Coalesced on both
//               sides. Worst: memories whose alignment differs, since WIDTH is what both allow.
// copy_strided  Any strides, in the destination's order, 4 elements of ELEMENT bytes a thread, 256
//               threads apart. Coalesced where the fastest dimension is contiguous: rows, with 16
//               bytes a thread if they are aligned. Where the source stands still along the
//               destination's run, an element is read once and stored WIDTH bytes wide. Worst: a
//               source whose fastest dimension is another; that is for copy_tiles.
// copy_tiles    Boxes of up to three dimensions by way of shared memory: read along the source's
//               memory, written along the destination's. Coalesced on both sides, however the
//               dimensions are permuted or flipped, and also where rows begin inside sectors:
//               threads are shifted so that no access of a warp begins in the midst of one. Worst:
//               bytes in rows without alignment (one byte a thread).
// copy_deep     The same with boxes of up to twelve dimensions, for permutations of several short
//               ones, of which three make no long run on both sides. Worst: many dimensions of two
//               elements: a division for each of the run's, and each element.
//
// Bytes moved per element: its own, once from the source and once to the destination (a broadcast
// source: once for each row of the destination that reads it). The padding of the destination is
// written by further blocks of the same launch (padding.cuh).
#include "padding.cuh"
#include "tiles.cuh"

// ---- Flat ---------------------------------------------------------------------------------------

struct FlatCopy {
    void* to;
    const void* from;
    Padding padding;
    int64_t packs;
    int64_t tail;  // bytes after the last pack
};

template <int Width>
DEVICE void flat(const FlatCopy& p) {
    if (write_padding(p.padding, p.to)) return;
    using Word = Bits<Width>;
    Word* const to = static_cast<Word*>(p.to);
    const Word* const from = static_cast<const Word*>(p.from);
    const int64_t first = static_cast<int64_t>(blockIdx.x) * (PER_THREAD * THREADS) + threadIdx.x;
    Word words[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        words[k] = load_if(first + k * THREADS < p.packs, from + (first + k * THREADS));
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        store_if(first + k * THREADS < p.packs, to + (first + k * THREADS), words[k]);
    if (blockIdx.x == 0 && threadIdx.x < p.tail) {
        const int64_t at = p.packs * Width + threadIdx.x;
        store(static_cast<uint8_t*>(p.to) + at, load(static_cast<const uint8_t*>(p.from) + at));
    }
}

// ---- Strided ------------------------------------------------------------------------------------

template <int Rank, class Index>
struct StridedCopy {
    void* to;
    const void* from;
    Padding padding;
    Index count;
    Walk<Rank, Index, 2> walk;  // strides: of the destination, in WIDTH; of the source, in ELEMENT
};

template <int Rank, class Index, int Element, int Width>
DEVICE void strided(const StridedCopy<Rank, Index>& p) {
    if (write_padding(p.padding, p.to)) return;
    using T = Bits<Element>;
    using Word = Pack<T, Width / Element>;
    using Count = Unsigned<Index>;
    const Count first = static_cast<Count>(blockIdx.x) * (PER_THREAD * THREADS) + threadIdx.x;
    Index at[PER_THREAD][2];
    T elements[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const bool inside = first + k * THREADS < static_cast<Count>(p.count);
        p.walk.offsets(inside ? first + k * THREADS : 0, at[k]);
        elements[k] = load_if(inside, static_cast<const T*>(p.from) + at[k][1]);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        Word word;
#pragma unroll
        for (T& each : word.at) each = elements[k];
        const bool inside = first + k * THREADS < static_cast<Count>(p.count);
        store_if(inside, static_cast<Word*>(p.to) + at[k][0], word);
    }
}

// ---- Tiles --------------------------------------------------------------------------------------

template <class AnySide, class AnyBoxes>
struct CopyOfBoxes {
    void* to;
    const void* from;
    Padding padding;
    AnySide write, read;
    AnyBoxes boxes;
};

using TiledCopy = CopyOfBoxes<Side, Boxes<2>>;
using DeepCopy = CopyOfBoxes<DeepSide, DeepBoxes<2>>;

template <int Element, int Read, int Write, int Room, class AnySide, class AnyBoxes>
DEVICE void tiles(const CopyOfBoxes<AnySide, AnyBoxes>& p) {
    SHARED(Bits<Element>, tile, Room / Element);
    if (write_padding(p.padding, p.to)) return;  // all threads of the block
    using T = Bits<Element>;
    constexpr int PER_WRITE = Write / Element;
    using WriteWord = Pack<T, PER_WRITE>;

    typename AnyBoxes::Box box;
    int64_t base[2];
    p.boxes.find(box, base);
    read_box<Element, Read>(p.read, base[1], box, p.from, tile);
    barrier();
    const auto write = visit(p.write, base[0], box);
    T* const destination = static_cast<T*>(p.to);
    for (uint32_t begin = 0; begin < write.total; begin += PER_THREAD * THREADS) {
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            const uint32_t thread = begin + k * THREADS + threadIdx.x;
            const Spot spot = locate<WriteWord, PER_WRITE>(p.write, write, thread, destination);
            WriteWord word;
#pragma unroll
            for (int j = 0; j < PER_WRITE; ++j)
                word.at[j] = load_shared_if(spot.inside, tile + tile_place(p.write, write, spot, j));
            store_if(spot.inside, reinterpret_cast<WriteWord*>(destination + spot.memory), word);
        }
    }
}

// ---- Kernels ------------------------------------------------------------------------------------
// For a GPU the macros pick one; the simulator has all.

#if !defined(TENSORLAYOUT_SIMULATOR)

#if defined(DEEP_ROOM)
BLOCK_KERNEL(copy_deep, DeepCopy) { tiles<ELEMENT, READ, WRITE, DEEP_ROOM>(p); }
#elif defined(ROOM)
BLOCK_KERNEL(copy_tiles, TiledCopy) { tiles<ELEMENT, READ, WRITE, ROOM>(p); }
#elif defined(RANK)
KERNEL(copy_strided, StridedCopy<RANK, INDEX>) { strided<RANK, INDEX, ELEMENT, WIDTH>(p); }
#else
KERNEL(copy_flat, FlatCopy) { flat<WIDTH>(p); }
#endif

#else

#define FLAT(WIDTH) \
    KERNEL(copy_flat_##WIDTH, FlatCopy) { flat<WIDTH>(p); }
FLAT(1) FLAT(2) FLAT(4) FLAT(8) FLAT(16)

#define STRIDED(RANK, INDEX, ELEMENT, WIDTH)                                              \
    KERNEL(copy_strided_##RANK##_##INDEX##_##ELEMENT##_##WIDTH, StridedCopy<RANK, INDEX>) { \
        strided<RANK, INDEX, ELEMENT, WIDTH>(p);                                          \
    }
#define STRIDED_WIDTHS(RANK, INDEX)                                                       \
    STRIDED(RANK, INDEX, 1, 1) STRIDED(RANK, INDEX, 2, 2) STRIDED(RANK, INDEX, 4, 4)      \
    STRIDED(RANK, INDEX, 8, 8) STRIDED(RANK, INDEX, 16, 16) STRIDED(RANK, INDEX, 1, 16)   \
    STRIDED(RANK, INDEX, 2, 16) STRIDED(RANK, INDEX, 4, 16) STRIDED(RANK, INDEX, 8, 16)
#define STRIDED_RANKS(INDEX)                                                              \
    STRIDED_WIDTHS(1, INDEX) STRIDED_WIDTHS(2, INDEX) STRIDED_WIDTHS(3, INDEX)            \
    STRIDED_WIDTHS(4, INDEX) STRIDED_WIDTHS(0, INDEX)
STRIDED_RANKS(int32_t) STRIDED_RANKS(int64_t)

#define TILES(ELEMENT, READ, WRITE, ROOM)                                                 \
    BLOCK_KERNEL(copy_tiles_##ELEMENT##_##READ##_##WRITE##_##ROOM, TiledCopy) {           \
        tiles<ELEMENT, READ, WRITE, ROOM>(p);                                             \
    }                                                                                     \
    BLOCK_KERNEL(copy_deep_##ELEMENT##_##READ##_##WRITE##_##ROOM, DeepCopy) {             \
        tiles<ELEMENT, READ, WRITE, ROOM>(p);                                             \
    }
#define TILES_WIDTHS(ROOM)                                                                \
    TILES(1, 1, 1, ROOM) TILES(1, 1, 4, ROOM) TILES(1, 4, 1, ROOM) TILES(1, 4, 4, ROOM)   \
    TILES(2, 2, 2, ROOM) TILES(2, 2, 4, ROOM) TILES(2, 4, 2, ROOM) TILES(2, 4, 4, ROOM)   \
    TILES(4, 4, 4, ROOM) TILES(8, 8, 8, ROOM) TILES(16, 16, 16, ROOM)
TILES_WIDTHS(24576) TILES_WIDTHS(49152)

#endif
