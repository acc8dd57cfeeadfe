// Copies and fills of tiled layouts whose tiles have tails: walks over padded sizes, in which an index
// says what is an element (bounded.cuh). Tiled layouts without tails are strided ones of more dimensions,
// and go through copy.cu and fill.cu. Elements are bits: a width in bytes, no number type.
//
// copy_bounded       Any strides, in the destination's order, 4 elements a thread, 256 threads apart,
//                    elements up to 16 bytes wide where both sides and the tails allow it. Coalesced
//                    where the fastest digit is contiguous in both. Worst: a source whose fastest
//                    dimension is another; that is for the next.
// copy_bounded_boxes Boxes of up to twelve digits by way of shared memory, as copy_deep. A row of a
//                    strided side ends where its dimension does; along tiles, threads of the tail
//                    have no element. Blocks whose box has no tail work out no index. Worst: as
//                    copy_deep; and dimensions that have little in their last tile, whose lanes idle.
// fill_bounded       One value for elements and another for padding, or one of both.
//
// Bytes moved per element: its own, once on each side. The tails of a destination are written by the
// threads that come by; the padding of a strided one by further blocks (padding.cuh).
#include "bounded.cuh"
#include "padding.cuh"
#include "tiles.cuh"

// ---- Walks --------------------------------------------------------------------------------------

template <class Index>
struct BoundedCopy {
    void* to;
    const void* from;
    uint64_t bits[2];  // of the padding
    Padding padding;   // of a strided destination
    BoundedWalk<Index, 2> walk;
    Index count;
};

template <class Index, int Width>
DEVICE void copy(const BoundedCopy<Index>& p) {
    if (write_padding(p.padding, p.to)) return;
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    const Count first = static_cast<Count>(blockIdx.x) * (PER_THREAD * THREADS) + threadIdx.x;
    Index at[PER_THREAD][2];
    Standing standing[PER_THREAD];
    T elements[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const bool inside = first + k * THREADS < static_cast<Count>(p.count);
        standing[k] = p.walk.find(inside ? first + k * THREADS : 0, at[k]);
        if (!inside) standing[k] = NOWHERE;
        elements[k] = load_if(standing[k] == AN_ELEMENT, static_cast<const T*>(p.from) + at[k][1]);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (standing[k] == IN_PADDING) elements[k] = low_bits<Width>(p.bits);
        store_if(standing[k] != NOWHERE, static_cast<T*>(p.to) + at[k][0], elements[k]);
    }
}

template <class Index>
struct BoundedFill {
    void* to;
    uint64_t bits[2];
    uint64_t padding[2];
    BoundedWalk<Index, 1> walk;
    Index count;
    int32_t elements;  // 1 if they are written; 0: padding alone
};

template <class Index, int Width>
DEVICE void fill(const BoundedFill<Index>& p) {
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    const T value = low_bits<Width>(p.bits), padding = low_bits<Width>(p.padding);
    const Count first = static_cast<Count>(blockIdx.x) * (PER_THREAD * THREADS) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const bool inside = first + k * THREADS < static_cast<Count>(p.count);
        Index at[1];
        Standing standing = p.walk.find(inside ? first + k * THREADS : 0, at);
        if (!inside || (standing == AN_ELEMENT && !p.elements)) standing = NOWHERE;
        T written = padding;
        if (standing == AN_ELEMENT) written = value;
        store_if(standing != NOWHERE, static_cast<T*>(p.to) + at[0], written);
    }
}

// ---- Boxes --------------------------------------------------------------------------------------

struct BoundedBoxes {
    void* to;
    const void* from;
    uint64_t bits[2];
    Padding padding;
    DeepSide write, read;
    DeepBoxes<2 + MOST_BOUNDS, MOST_AXES> boxes;  // the indices are as further memories
    Bounds bounds;
    int32_t weight[MOST_BOUNDS][MOST_AXES];  // of the box's dimensions
};

// What a block knows of indices.
struct Corner {
    int32_t index[MOST_BOUNDS];  // of the box's first element
    bool whole;                  // all of the box are elements
};

DEVICE Corner corner_of(const BoundedBoxes& p, const int64_t (&base)[2 + MOST_BOUNDS],
                        const DeepVisit& v) {
    Corner corner;
    corner.whole = true;
#pragma unroll
    for (int b = 0; b < MOST_BOUNDS; ++b) {
        corner.index[b] = p.bounds.first[b] + static_cast<int32_t>(base[2 + b]);
        int32_t last = corner.index[b];
        for (int j = 0; j < p.write.rank; ++j) {
            const int32_t weight = p.weight[b][p.write.dimension[j]];
            if (weight > 0)
                last += static_cast<int32_t>(v.extent(p.write, j).divisor - 1) * weight;
        }
        corner.whole = corner.whole && last < p.bounds.size[b];
    }
    return corner;
}

DEVICE Standing standing_of(const BoundedBoxes& p, const Corner& corner, const DeepSide& side,
                            const DeepVisit& v, const Spot& spot) {
    if (!spot.inside) return NOWHERE;
    if (corner.whole) return AN_ELEMENT;
    int32_t index[MOST_BOUNDS];
#pragma unroll
    for (int b = 0; b < MOST_BOUNDS; ++b) index[b] = corner.index[b];
    uint32_t rest = spot.along;
    for (int j = 0; j < side.rank; ++j) {
        if (j == side.run) rest = spot.row;
        if (j == side.grouped) rest = spot.plane;
        const Divisor<int32_t>& extent = v.extent(side, j);
        const uint32_t slower = extent.divide(rest);
        uint32_t digit = rest - slower * extent.divisor;
        if (side.turned >> j & 1) digit = extent.divisor - 1 - digit;
#pragma unroll
        for (int b = 0; b < MOST_BOUNDS; ++b)
            index[b] += static_cast<int32_t>(digit) * p.weight[b][side.dimension[j]];
        rest = slower;
    }
    return p.bounds.standing(index);
}

template <int Element, int Read, int Write, int Room>
DEVICE void boxes(const BoundedBoxes& p) {
    SHARED(Bits<Element>, tile, Room / Element);
    if (write_padding(p.padding, p.to)) return;  // all threads of the block
    using T = Bits<Element>;
    constexpr int PER_READ = Read / Element, PER_WRITE = Write / Element;
    using ReadWord = Pack<T, PER_READ>;
    using WriteWord = Pack<T, PER_WRITE>;

    uint32_t box;
    int64_t base[2 + MOST_BOUNDS];
    p.boxes.find(box, base);
    const DeepVisit read = visit(p.read, base[1], box), write = visit(p.write, base[0], box);
    const Corner corner = corner_of(p, base, write);
    const T* const source = static_cast<const T*>(p.from);
    for (uint32_t begin = 0; begin < read.total; begin += PER_THREAD * THREADS) {
        Spot spots[PER_THREAD];
        ReadWord words[PER_THREAD];
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            Spot& spot = spots[k];
            const uint32_t thread = begin + k * THREADS + threadIdx.x;
            spot = locate<ReadWord, PER_READ>(p.read, read, thread, source);
            spot.inside = standing_of(p, corner, p.read, read, spot) == AN_ELEMENT;
            words[k] =
                load_if(spot.inside, reinterpret_cast<const ReadWord*>(source + spot.memory));
        }
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k)
#pragma unroll
            for (int j = 0; j < PER_READ; ++j)
                store_shared_if(spots[k].inside, tile + tile_place(p.read, read, spots[k], j),
                                words[k].at[j]);
    }
    barrier();
    T* const destination = static_cast<T*>(p.to);
    for (uint32_t begin = 0; begin < write.total; begin += PER_THREAD * THREADS) {
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            const uint32_t thread = begin + k * THREADS + threadIdx.x;
            const Spot spot = locate<WriteWord, PER_WRITE>(p.write, write, thread, destination);
            const Standing standing = standing_of(p, corner, p.write, write, spot);
            WriteWord word;
#pragma unroll
            for (int j = 0; j < PER_WRITE; ++j) {
                word.at[j] = load_shared_if(standing == AN_ELEMENT,
                                            tile + tile_place(p.write, write, spot, j));
                if (standing == IN_PADDING) word.at[j] = low_bits<Element>(p.bits);
            }
            store_if(standing != NOWHERE, reinterpret_cast<WriteWord*>(destination + spot.memory),
                     word);
        }
    }
}

// ---- Kernels ------------------------------------------------------------------------------------
// For a GPU the macros pick one; the simulator has all.

#if !defined(TENSORLAYOUT_SIMULATOR)

#if defined(ROOM)
BLOCK_KERNEL(copy_bounded_boxes, BoundedBoxes) { boxes<ELEMENT, READ, WRITE, ROOM>(p); }
#elif defined(FILL)
KERNEL(fill_bounded, BoundedFill<INDEX>) { fill<INDEX, FILL>(p); }
#else
KERNEL(copy_bounded, BoundedCopy<INDEX>) { copy<INDEX, WIDTH>(p); }
#endif

#else

#define WALKS(INDEX, WIDTH)                                                                  \
    KERNEL(copy_bounded_##INDEX##_##WIDTH, BoundedCopy<INDEX>) { copy<INDEX, WIDTH>(p); }    \
    KERNEL(fill_bounded_##INDEX##_##WIDTH, BoundedFill<INDEX>) { fill<INDEX, WIDTH>(p); }
#define WALKS_OF(INDEX) \
    WALKS(INDEX, 1) WALKS(INDEX, 2) WALKS(INDEX, 4) WALKS(INDEX, 8) WALKS(INDEX, 16)
WALKS_OF(int32_t) WALKS_OF(int64_t)

#define BOXES(ELEMENT, READ, WRITE, ROOM)                                                    \
    BLOCK_KERNEL(copy_bounded_boxes_##ELEMENT##_##READ##_##WRITE##_##ROOM, BoundedBoxes) {   \
        boxes<ELEMENT, READ, WRITE, ROOM>(p);                                                \
    }
#define BOXES_IN(ROOM)                                                                       \
    BOXES(1, 1, 1, ROOM) BOXES(1, 1, 4, ROOM) BOXES(1, 4, 1, ROOM) BOXES(1, 4, 4, ROOM)      \
    BOXES(2, 2, 2, ROOM) BOXES(2, 2, 4, ROOM) BOXES(2, 4, 2, ROOM) BOXES(2, 4, 4, ROOM)      \
    BOXES(4, 4, 4, ROOM) BOXES(8, 8, 8, ROOM) BOXES(16, 16, 16, ROOM)
BOXES_IN(24576) BOXES_IN(49152)

#endif
