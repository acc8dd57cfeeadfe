// Copies between two layouts of one shape. Elements are bits: a width in bytes, no number type. The
// plan has merged dimensions, made destination strides positive, and fused contiguous runs into the
// widest elements that both layouts allow; strides count these elements.
//
// copy_flat     One run on both sides. Each thread moves 4 packs of WIDTH bytes, 256 packs apart;
//               the first block also moves the remainder of at most 15 bytes. Coalesced on both
//               sides. Worst: two memories with different alignment, since WIDTH is what both
//               allow.
// copy_strided  Any strides, in the destination's order, 4 elements of ELEMENT bytes a thread, 256
//               packs apart. Coalesced where the fastest dimension is contiguous: rows, with 16
//               bytes a thread if they are aligned. Where the source's stride along the
//               destination's run is 0, a thread reads an element once and stores it WIDTH bytes
//               wide. Worst: a source whose fastest dimension is another; copy_tiles handles those.
// copy_tiles    Boxes of up to twelve dimensions through shared memory: read along the source's
//               memory, written along the destination's. Coalesced on both sides, however the
//               dimensions are permuted. Also coalesced where rows begin inside sectors:
//               threads are shifted so that each access of a warp begins at the start of a sector.
//               Divisions are needed once per row of the box; each access only looks a table up
//               (tiles.cuh). Elements of 1 and 2 bytes move 4 bytes at a time. Where the source's
//               rows are whole sectors apart, squares of them are transposed in registers. Worst:
//               bytes in rows without alignment (one byte a thread); small tensors, whose boxes
//               have few elements for each row.
//
// Bytes moved per element: its own, once from the source and once to the destination (a broadcast
// source: once for each row of the destination that reads it). Additional blocks of the same launch
// write the padding of the destination (padding.cuh).
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

struct TiledCopy {
    void* to;
    const void* from;
    Padding padding;
    Side<MOST_AXES> write, read;
    Boxes<2, MOST_AXES, MAX_RANK> boxes;
    int32_t pitch[MOST_AXES];  // strides in the tile
    int64_t across;            // words of the source between two rows of a square
    int32_t turns[4];          // the first column that each quarter of a warp stores
};

// Returns the bytes of two words that the hexadecimal digits of `which` select, the lowest first.
DEVICE uint32_t permute(uint32_t one, uint32_t two, uint32_t which) {
#ifdef TENSORLAYOUT_SIMULATOR
    const uint64_t both = static_cast<uint64_t>(two) << 32 | one;
    uint32_t found = 0;
    for (int i = 0; i < 4; ++i)
        found |= static_cast<uint32_t>(both >> (which >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return found;
#else
    return __byte_perm(one, two, which);
#endif
}

// Returns a column of a square of elements; each word is a row of the square.
template <int Element>
DEVICE uint32_t column_of(const uint32_t (&rows)[4 / Element], uint32_t column) {
    if constexpr (Element == 2) {
        return permute(rows[0], rows[1], 0x5410 + column * 0x2222);
    } else {
        const uint32_t which = 0x40 + column * 0x11;
        return permute(permute(rows[0], rows[1], which), permute(rows[2], rows[3], which), 0x5410);
    }
}

// Reads elements of less than 4 bytes into a tile of words that are consecutive in the destination.
// A thread reads a word of each row of a square, and transposes the square in registers. Each
// quarter of a warp begins storing with another column, so that the stores fall into different
// banks.
template <bool Linear, int Element>
DEVICE void read_squares(const TiledCopy& p, const Visit& v, const void* source, uint32_t* tile) {
    constexpr int ROWS = 4 / Element, SQUARES = 2;
    const uint32_t first = p.turns[threadIdx.x / 8 % 4];
    for (uint32_t begin = v.lead + threadIdx.x; begin < v.total; begin += SQUARES * THREADS) {
        Spot spots[SQUARES];
        uint32_t rows[SQUARES][ROWS];
#pragma unroll
        for (int k = 0; k < SQUARES; ++k) {
            spots[k] = locate(p.read, v, begin + k * THREADS);
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
                rows[k][i] = load_if(spots[k].inside,
                                     at_bytes<uint32_t>(source, spots[k].memory) + i * p.across);
        }
#pragma unroll
        for (int k = 0; k < SQUARES; ++k) {
            uint32_t at[ROWS];
            find_places<Linear>(p.read, v, spots[k], first, at);
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
                store_shared_if(spots[k].inside, tile + at[i],
                                column_of<Element>(rows[k], (first + i) % ROWS));
        }
    }
}

// Writes a tile to the box of the destination.
template <bool Linear, int Element, int Write>
DEVICE void write_rows(const Side<MOST_AXES>& side, const Visit& v, void* destination,
                       const Bits<Element>* tile) {
    constexpr int PER_WRITE = Write / Element;
    using Word = Pack<Bits<Element>, PER_WRITE>;
    for (uint32_t begin = v.lead + threadIdx.x; begin < v.total; begin += PER_THREAD * THREADS) {
        Spot spots[PER_THREAD];
        Word words[PER_THREAD];
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            spots[k] = locate(side, v, begin + k * THREADS);
            uint32_t at[PER_WRITE];
            find_places<Linear>(side, v, spots[k], 0, at);
#pragma unroll
            for (int j = 0; j < PER_WRITE; ++j)
                words[k].at[j] = load_shared_if(spots[k].inside, tile + at[j]);
        }
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k)
            store_if(spots[k].inside, at_bytes<Word>(destination, spots[k].memory), words[k]);
    }
}

template <int Element, int Write>
DEVICE void write_box(const Side<MOST_AXES>& side, const Visit& v, void* destination,
                      const Bits<Element>* tile) {
    if (side.linear) write_rows<true, Element, Write>(side, v, destination, tile);
    else write_rows<false, Element, Write>(side, v, destination, tile);
}

template <int Element, int Read, int Write, int Tile, int Room>
DEVICE void tiles(const TiledCopy& p) {
    SHARED(Bits<16>, room, Room / 16);
    if (write_padding(p.padding, p.to)) return;  // all threads of the block
    int64_t base[2];
    const uint32_t box = p.boxes.find(base);
    const Bits<Element>* const source = static_cast<const Bits<Element>*>(p.from) + base[1];
    Bits<Tile>* const destination = static_cast<Bits<Tile>*>(p.to) + base[0];
    Bits<Tile>* const tile = reinterpret_cast<Bits<Tile>*>(&room);
    const Visit read = visit<Element, Read>(p.boxes, p.read, 1, box, source, &room);
    const Visit write = visit<Tile, Write>(p.boxes, p.write, 0, box, destination, &room);
    make_rows<Element, Read>(p.boxes, p.read, 1, p.pitch, box, source, read);
    make_rows<Tile, Write>(p.boxes, p.write, 0, p.pitch, box, destination, write);
    make_places(p.boxes, p.read, p.pitch, &room);
    make_places(p.boxes, p.write, p.pitch, &room);
    barrier();
    if constexpr (Tile == Element)
        read_box<Element, Read>(p.read, read, source, tile, Inside{});
    else if (p.read.linear) read_squares<true, Element>(p, read, source, tile);
    else read_squares<false, Element>(p, read, source, tile);
    barrier();
    write_box<Tile, Write>(p.write, write, destination, tile);
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(ROOM)
SHAPES(ELEMENT = 1 2, READ = ELEMENT 4, WRITE = ELEMENT 4, TILE = ELEMENT, ROOM = 24576 49152)
SHAPES(ELEMENT = 1 2 4, READ = 4, WRITE = 4, TILE = 4, ROOM = 24576 49152)
SHAPES(ELEMENT = 8 16, READ = ELEMENT, WRITE = ELEMENT, TILE = ELEMENT, ROOM = 24576 49152)
BLOCK_KERNEL(copy_tiles, TiledCopy) { tiles<ELEMENT, READ, WRITE, TILE, ROOM>(p); }
#elif defined(RANK)
SHAPES(RANK = 1 2 3 4 5 6 0, INDEX = int32_t int64_t, ELEMENT = 1 2 4 8 16, WIDTH = ELEMENT 16)
KERNEL(copy_strided, StridedCopy<RANK, INDEX>) { strided<RANK, INDEX, ELEMENT, WIDTH>(p); }
#else
SHAPES(WIDTH = 1 2 4 8 16)
KERNEL(copy_flat, FlatCopy) { flat<WIDTH>(p); }
#endif
