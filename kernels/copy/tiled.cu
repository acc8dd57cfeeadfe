// Copies and fills of tiled layouts whose tiles have tails. The kernels walk over padded sizes, and
// compare indices with the sizes to find out what is an element (bounded.cuh). Tiled layouts
// without tails are strided layouts with more dimensions, and are handled by copy/copy.cu and
// fill/fill.cu. Elements are bits: a width in bytes, no number type.
//
// copy_bounded       Any strides, in the destination's order, 4 elements a thread, 256 elements
//                    apart; elements are up to 16 bytes wide where both sides and the tails allow
//                    it. Coalesced where the fastest digit is contiguous in both. Worst: a source
//                    whose fastest dimension is another; copy_bounded_boxes handles those.
// copy_bounded_boxes Boxes of up to twelve digits through shared memory, as copy_tiles. A row of a
//                    strided side ends where its dimension ends; along tiles, threads in the tail
//                    have no element. Blocks whose box has no tail compute no index. Worst: as
//                    copy_tiles; also dimensions with few elements in their last tile, where lanes
//                    idle.
// fill_bounded       One value for elements and another for padding, or only one of the two.
//
// Bytes moved per element: its own, once on each side. Threads that walk over the tails of a
// destination also write them; additional blocks write the padding of a strided destination
// (padding.cuh).
#define LEAST_BLOCKS 3  // without it, NVRTC 13.5 spills on sm_80 to fit four
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
    int32_t elements;  // 1 if elements are written; 0: only padding
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
    Side<MOST_AXES> write, read;
    Boxes<2 + MOST_BOUNDS, MOST_AXES, MOST_AXES> boxes;  // indices act as additional memories
    Bounds bounds;
    int32_t pitch[MOST_AXES];  // strides in the tile
};

// Indices of a block's box.
struct Corner {
    int32_t index[MOST_BOUNDS];  // of the box's first element
    bool whole;                  // the box has elements only, no tail
};

DEVICE Corner corner_of(const BoundedBoxes& p, const int64_t (&base)[2 + MOST_BOUNDS],
                        uint32_t box) {
    Corner corner;
    corner.whole = true;
#pragma unroll
    for (int b = 0; b < MOST_BOUNDS; ++b) {
        corner.index[b] = p.bounds.first[b] + static_cast<int32_t>(base[2 + b]);
        int32_t last = corner.index[b];
#pragma unroll 1
        for (int d = 0; d < p.boxes.rank; ++d) {
            const int32_t weight = p.boxes.stride[2 + b][d];
            if (weight > 0)
                last += static_cast<int32_t>(p.boxes.within(box, d).divisor - 1) * weight;
        }
        corner.whole = corner.whole && last < p.bounds.size[b];
    }
    return corner;
}

// Returns the standing of an access of N elements, which is the same for all of them.
template <int N>
DEVICE Standing standing_of(const BoundedBoxes& p, const Corner& corner, const Side<MOST_AXES>& side,
                            uint32_t box, const Spot& spot) {
    if (!spot.inside) return NOWHERE;
    if (corner.whole) return AN_ELEMENT;
    int32_t index[MOST_BOUNDS];
#pragma unroll
    for (int b = 0; b < MOST_BOUNDS; ++b) index[b] = corner.index[b];
    uint32_t rest = spot.along * N;
#pragma unroll 1
    for (int j = 0; j < p.boxes.rank; ++j) {
        if (j == side.run) rest = spot.row;
        const int d = side.dimension[j];
        const Divisor<int32_t>& extent = p.boxes.within(box, d);
        const uint32_t slower = extent.divide(rest);
        uint32_t digit = rest - slower * extent.divisor;
        if (side.turned >> d & 1) digit = extent.divisor - 1 - digit;
#pragma unroll
        for (int b = 0; b < MOST_BOUNDS; ++b)
            index[b] += static_cast<int32_t>(digit) * p.boxes.stride[2 + b][d];
        rest = slower;
    }
    return p.bounds.standing(index);
}

template <int Element, int Write>
DEVICE void write_rows(const BoundedBoxes& p, const Corner& corner, uint32_t box, const Visit& v,
                       void* destination, const Bits<Element>* tile) {
    constexpr int PER_WRITE = Write / Element;
    using Word = Pack<Bits<Element>, PER_WRITE>;
    for (uint32_t begin = v.lead + threadIdx.x; begin < v.total; begin += PER_THREAD * THREADS) {
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            Spot spot = locate(p.write, v, begin + k * THREADS);
            const Standing standing = standing_of<PER_WRITE>(p, corner, p.write, box, spot);
            spot.inside = standing == AN_ELEMENT;
            uint32_t at[PER_WRITE];
            find_places<false>(p.write, v, spot, 0, at);
            Word word;
#pragma unroll
            for (int j = 0; j < PER_WRITE; ++j) {
                word.at[j] = load_shared_if(spot.inside, tile + at[j]);
                if (standing == IN_PADDING) word.at[j] = low_bits<Element>(p.bits);
            }
            store_if(standing != NOWHERE, at_bytes<Word>(destination, spot.memory), word);
        }
    }
}

template <int Element, int Read, int Write, int Room>
DEVICE void boxes(const BoundedBoxes& p) {
    SHARED(Bits<16>, room, Room / 16);
    if (write_padding(p.padding, p.to)) return;  // all threads of the block
    using T = Bits<Element>;
    int64_t base[2 + MOST_BOUNDS];
    const uint32_t box = p.boxes.find(base);
    const Corner corner = corner_of(p, base, box);
    const T* const source = static_cast<const T*>(p.from) + base[1];
    T* const destination = static_cast<T*>(p.to) + base[0];
    T* const tile = reinterpret_cast<T*>(&room);
    const Visit read = visit<Element, Read>(p.boxes, p.read, 1, box, source, &room);
    const Visit write = visit<Element, Write>(p.boxes, p.write, 0, box, destination, &room);
    make_rows<Element, Read>(p.boxes, p.read, 1, p.pitch, box, source, read);
    make_rows<Element, Write>(p.boxes, p.write, 0, p.pitch, box, destination, write);
    make_places(p.boxes, p.read, p.pitch, &room);
    make_places(p.boxes, p.write, p.pitch, &room);
    barrier();
    read_box<Element, Read>(p.read, read, source, tile, [&](const Spot& spot) {
        return standing_of<Read / Element>(p, corner, p.read, box, spot) == AN_ELEMENT;
    });
    barrier();
    write_rows<Element, Write>(p, corner, box, write, destination, tile);
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(ROOM)
SHAPES(ELEMENT = 1 2, READ = ELEMENT 4, WRITE = ELEMENT 4, ROOM = 24576 49152)
SHAPES(ELEMENT = 4 8 16, READ = ELEMENT, WRITE = ELEMENT, ROOM = 24576 49152)
BLOCK_KERNEL(copy_bounded_boxes, BoundedBoxes) { boxes<ELEMENT, READ, WRITE, ROOM>(p); }
#elif defined(FILL)
SHAPES(INDEX = int32_t int64_t, FILL = 1 2 4 8 16)
KERNEL(fill_bounded, BoundedFill<INDEX>) { fill<INDEX, FILL>(p); }
#else
SHAPES(INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(copy_bounded, BoundedCopy<INDEX>) { copy<INDEX, WIDTH>(p); }
#endif
