// Boxes that are copied through shared memory: where the box of a thread block is, how threads walk
// it in the order of one memory, and how it is read into a tile. The host chooses the boxes.
//
// One thread per row does all divisions by the box's dimensions, and stores the results in tables
// in shared memory. An access then takes one multiplication to find its row, and looks the rest up.
#pragma once

#include "bits.cuh"
#include "indexing.cuh"

// Accesses of a thread that are in flight together.
constexpr int PER_THREAD = 4;

// Maximum number of dimensions of a box: with 2 elements along each, it is still smaller than its
// room.
constexpr int MOST_AXES = 12;

// Divides the number of a thread of a box by a number greater than 1, with one multiplication. With
// magic = floor(2**32 / divisor) + 1 the result is exact while n * divisor < 2**32, or
// n < divisor < 2**16.
struct SmallDivisor {
    uint32_t minus, magic;  // minus: the negated divisor, so that one instruction adds a multiple

    DEVICE uint32_t divisor() const { return 0 - minus; }

    DEVICE uint32_t divide(uint32_t n) const {
#ifdef TENSORLAYOUT_SIMULATOR
        return static_cast<uint32_t>(static_cast<uint64_t>(n) * magic >> 32);
#else
        return __umulhi(n, magic);
#endif
    }

    DEVICE uint32_t rest(uint32_t n, uint32_t quotient) const { return n + quotient * minus; }
};

// Maps each thread block to its box, in N memories. All boxes have the same sizes, except where
// they end early along a dimension. A number describes these dimensions: bit d stands for d.
template <int N, int AXES, int MOST_OUTER>
struct Boxes {
    int64_t step[N][AXES];         // to the next box, in each memory
    int64_t outer[N][MOST_OUTER];  // to the next index of all other dimensions, fastest first
    int32_t stride[N][AXES];       // to the next index
    Divisor<int32_t> boxes[AXES];
    Divisor<int32_t> extent[2][AXES];  // of a box; of one that ends early
    Divisor<int32_t> outer_size[MOST_OUTER];
    uint32_t uneven;  // bit d: the last box along dimension d ends early
    int32_t rank, outer_rank;

    DEVICE const Divisor<int32_t>& within(uint32_t box, int d) const {
        return extent[box >> d & 1][d];
    }

    // Returns the number that describes this block's box; sets `base` to where it begins in each
    // memory.
    DEVICE uint32_t find(int64_t (&base)[N]) const {
#pragma unroll
        for (int n = 0; n < N; ++n) base[n] = 0;
        uint32_t block = blockIdx.x, box = 0;
#pragma unroll 1
        for (int d = 0; d < rank; ++d) {
            const uint32_t slower = boxes[d].divide(block);
            const uint32_t index = block - slower * boxes[d].divisor;
            if (index + 1 == boxes[d].divisor) box |= uneven & 1u << d;
#pragma unroll
            for (int n = 0; n < N; ++n) base[n] += static_cast<int64_t>(index) * step[n][d];
            block = slower;
        }
#pragma unroll 1
        for (int d = 0; d < outer_rank; ++d) {
            const uint32_t slower = outer_size[d].divide(block);
            const int64_t index = block - slower * outer_size[d].divisor;
#pragma unroll
            for (int n = 0; n < N; ++n) base[n] += index * outer[n][d];
            block = slower;
        }
        return box;
    }
};

// Describes how threads walk a box in the order of one memory. The *run* consists of the dimensions
// that are contiguous in this memory, as far as the box reaches. Each index of the other dimensions
// has one *row*.
//
// Threads are shifted so that an access of a warp begins at the start of a sector. Either each row
// has its own shift, or all rows of the box are shifted *together*, by the same amount. Shifting
// together requires that the threads of a row, and the distance of two rows in memory, leave the
// same remainder modulo a sector. Few threads are idle then, but a warp may have parts of two rows,
// which fall into the same banks.
template <int AXES>
struct Side {
    int32_t dimension[AXES];  // the box's dimensions, this memory's fastest first
    uint32_t turned;          // bit d: the stride of the box's dimension d is negative
    int32_t run;              // number of dimensions of the run
    int32_t linear;           // 1 if the run has one dimension in the tile
    int32_t together;         // 1 if all rows are shifted together; an empty row comes first
    int32_t sector;           // accesses in a sector, or 1 if threads are not shifted
    int32_t length[2];        // accesses of a row; [1]: if the box ends early along the run
    SmallDivisor row[2];      // threads of a row
    SmallDivisor period;      // elements of the run after which places in the tile repeat
    int32_t step;             // bytes between two accesses, in memory
    int32_t tile_step;        // distance of two elements in the tile, or of two periods
    int32_t rows, places;     // where tables begin, in bytes of shared memory
    int32_t spare;            // additional rows of the table, which are empty
};

// Entry of a table of rows, in 64 bits: the offset of the row's first element in memory, in bytes
// from the box's first element; its place in the tile, in 16 bits; and the number of threads by
// which the row is shifted. Empty entries follow the last row, so that threads need not check
// whether they have a row.
struct Row {
    int32_t memory;
    uint32_t tile, shift;

    DEVICE explicit Row(uint64_t packed)
        : memory(static_cast<int32_t>(packed)),
          tile(static_cast<uint32_t>(packed >> 32) & 0xffff),
          shift(static_cast<uint32_t>(packed >> 48)) {}
};

DEVICE uint64_t pack_row(uint32_t memory, uint32_t tile, uint32_t shift) {
    return static_cast<uint64_t>(shift << 16 | (tile & 0xffff)) << 32 | memory;
}

constexpr uint32_t NOBODY = 0xffff;  // the shift of an empty row

// One side of this block's box.
struct Visit {
    const uint64_t* rows;
    const uint16_t* places;
    SmallDivisor row;      // threads
    uint32_t length;       // accesses of a row
    uint32_t count;        // rows
    uint32_t lead, total;  // threads: number of the first, and end of the numbers
};

// Computes where a row begins in N memories, by strides along the box's dimensions.
template <int N, class AnyBoxes, int AXES>
DEVICE void begin_of_row(const AnyBoxes& boxes, const Side<AXES>& side, uint32_t box, uint32_t row,
                         const int32_t (*const (&strides)[N])[AXES], uint32_t (&begin)[N]) {
#pragma unroll
    for (int n = 0; n < N; ++n) begin[n] = 0;
    // A run begins at the last index of each dimension with a negative stride.
    if (side.turned) {
#pragma unroll 1
        for (int j = 0; j < boxes.rank; ++j) {
            const int d = side.dimension[j];
            const uint32_t last = boxes.within(box, d).divisor - 1;
            if (side.turned >> d & 1)
                for (int n = 0; n < N; ++n) begin[n] += last * (*strides[n])[d];
        }
    }
#pragma unroll 1
    for (int j = side.run; j < boxes.rank; ++j) {
        const int d = side.dimension[j];
        const Divisor<int32_t>& extent = boxes.within(box, d);
        const uint32_t slower = extent.divide(row);
        uint32_t index = row - slower * extent.divisor;
        if (side.turned >> d & 1) index = 0 - index;
#pragma unroll
        for (int n = 0; n < N; ++n) begin[n] += index * (*strides[n])[d];
        row = slower;
    }
}

// Returns the distance of an element of a run from the first of its row.
template <class AnyBoxes, int AXES>
DEVICE uint32_t further_along(const AnyBoxes& boxes, const Side<AXES>& side, uint32_t element,
                              const int32_t (&stride)[AXES]) {
    uint32_t further = 0;
#pragma unroll 1
    for (int j = 0; j < side.run; ++j) {
        const int d = side.dimension[j];
        const Divisor<int32_t>& extent = boxes.extent[0][d];  // only the run's last ends early
        const uint32_t slower = j + 1 < side.run ? extent.divide(element) : 0;
        const uint32_t step = (element - slower * extent.divisor) * stride[d];
        further += side.turned >> d & 1 ? -step : step;
        element = slower;
    }
    return further;
}

DEVICE uint32_t low_word(const void* address) {
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(address));
}

// Returns a side of this block's box. `address` is that of the box's first element in this memory;
// an access moves Unit bytes, of elements of Element bytes.
template <int Element, int Unit, class AnyBoxes, int AXES>
DEVICE Visit visit(const AnyBoxes& boxes, const Side<AXES>& side, int memory, uint32_t box,
                   const void* address, const void* room) {
    Visit v;
    v.lead = 0;
    v.rows = reinterpret_cast<const uint64_t*>(static_cast<const char*>(room) + side.rows);
    v.places = reinterpret_cast<const uint16_t*>(static_cast<const char*>(room) + side.places);
    const uint32_t shorter = box >> side.dimension[side.run - 1] & 1;
    v.count = 1;
#pragma unroll 1
    for (int j = side.run; j < boxes.rank; ++j)
        v.count *= boxes.within(box, side.dimension[j]).divisor;
    v.row = side.row[shorter];
    v.length = static_cast<uint32_t>(side.length[shorter]);
    v.total = v.count * v.row.divisor();
    if (Unit < 4 && side.together) {
        const int32_t(*const strides[1])[AXES] = {&boxes.stride[memory]};
        uint32_t first[1];
        begin_of_row(boxes, side, box, 0, strides, first);
        const uint32_t begin = low_word(address) + first[0] * Element;
        v.lead = v.row.divisor() - (begin / Unit & (side.sector - 1));
        v.total += v.row.divisor();
    }
    return v;
}

// Fills the table of the rows of one side, with all threads of the block. `pitch`: strides in the
// tile.
template <int Element, int Unit, class AnyBoxes, int AXES>
DEVICE void make_rows(const AnyBoxes& boxes, const Side<AXES>& side, int memory,
                      const int32_t (&pitch)[AXES], uint32_t box, const void* address, const Visit& v) {
    const int32_t(*const strides[2])[AXES] = {&boxes.stride[memory], &pitch};
    uint32_t begin[2];
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < v.count + side.spare; i += THREADS) {
        const uint32_t r = i - side.together;
        begin_of_row(boxes, side, box, r, strides, begin);
        begin[0] *= Element;
        uint32_t shift = (low_word(address) + begin[0]) / Unit & (side.sector - 1);
        if (Unit < 4 && side.together) shift = 0;
        if (r >= v.count) shift = NOBODY;
        store_shared(const_cast<uint64_t*>(v.rows) + i, pack_row(begin[0], begin[1], shift));
    }
}

// Fills the table of the places along the run of one side.
template <class AnyBoxes, int AXES>
DEVICE void make_places(const AnyBoxes& boxes, const Side<AXES>& side, const int32_t (&pitch)[AXES],
                        void* room) {
    if (side.linear) return;
    uint16_t* const places = reinterpret_cast<uint16_t*>(static_cast<char*>(room) + side.places);
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < side.period.divisor(); i += THREADS)
        store_shared(places + i, static_cast<uint16_t>(further_along(boxes, side, i, pitch)));
}

// One access of a thread: its offset in memory, in bytes from the box's first element; the place of
// its row in the tile; its index in its row; and its row.
struct Spot {
    int32_t memory;
    uint32_t tile, along, row;
    bool inside;
};

template <int AXES>
DEVICE Spot locate(const Side<AXES>& side, const Visit& v, uint32_t thread) {
    Spot spot;
    spot.row = v.row.divide(thread);
    const Row row(load_shared(v.rows + spot.row));
    const uint32_t lane = v.row.rest(thread, spot.row) - row.shift;
    spot.row -= side.together;
    spot.tile = row.tile;
    spot.inside = lane < v.length;
    // Unsigned, because for threads without an access it may overflow.
    spot.memory = static_cast<int32_t>(static_cast<uint32_t>(row.memory) + lane * side.step);
    spot.along = lane;
    return spot;
}

// Returns a pointer to a word that is `bytes` after `from`.
template <class Word>
DEVICE const Word* at_bytes(const void* from, int32_t bytes) {
    return reinterpret_cast<const Word*>(static_cast<const char*>(from) + bytes);
}
template <class Word>
DEVICE Word* at_bytes(void* from, int32_t bytes) {
    return reinterpret_cast<Word*>(static_cast<char*>(from) + bytes);
}

// Finds the places in the tile of the N elements of an access, all of which are in one period. The
// element `first` comes first; those before it come last.
template <bool Linear, int N, int AXES>
DEVICE void find_places(const Side<AXES>& side, const Visit& v, const Spot& spot, uint32_t first,
                        uint32_t (&at)[N]) {
    const uint32_t along = spot.along * N;
    if (Linear || side.linear) {
#pragma unroll
        for (uint32_t j = 0; j < N; ++j)
            at[j] = spot.tile + (along + (first + j) % N) * side.tile_step;
        return;
    }
    const uint32_t last = side.period.divide(along), rest = side.period.rest(along, last);
    const uint32_t tile = spot.tile + last * side.tile_step;
    using Places = Bits<2 * N>;
    constexpr uint32_t BITS = 16 * N;
    Places places = load_shared_if(spot.inside, reinterpret_cast<const Places*>(v.places + rest));
    const uint32_t turn = 16 * first % BITS;
    places = static_cast<Places>(places >> turn | places << (BITS - turn) % BITS);
#pragma unroll
    for (uint32_t j = 0; j < N; ++j)
        at[j] = (tile + static_cast<uint32_t>(places >> 16 * j)) & 0xffff;
}

// Reads the box of one memory into a tile: elements of Element bytes, Read bytes at a time, at the
// spots for which `chosen` returns true.
template <bool Linear, int Element, int Read, int AXES, class Chosen>
DEVICE void read_rows(const Side<AXES>& side, const Visit& v, const void* source,
                      Bits<Element>* tile, const Chosen& chosen) {
    constexpr int PER_READ = Read / Element;
    using Word = Pack<Bits<Element>, PER_READ>;
    for (uint32_t begin = v.lead + threadIdx.x; begin < v.total; begin += PER_THREAD * THREADS) {
        Spot spots[PER_THREAD];
        Word words[PER_THREAD];
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            spots[k] = locate(side, v, begin + k * THREADS);
            spots[k].inside = chosen(spots[k]);
            words[k] = load_if(spots[k].inside, at_bytes<Word>(source, spots[k].memory));
        }
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            uint32_t at[PER_READ];
            find_places<Linear>(side, v, spots[k], 0, at);
#pragma unroll
            for (int j = 0; j < PER_READ; ++j)
                store_shared_if(spots[k].inside, tile + at[j], words[k].at[j]);
        }
    }
}

template <int Element, int Read, int AXES, class Chosen>
DEVICE void read_box(const Side<AXES>& side, const Visit& v, const void* source,
                     Bits<Element>* tile, const Chosen& chosen) {
    if (side.linear) read_rows<true, Element, Read>(side, v, source, tile, chosen);
    else read_rows<false, Element, Read>(side, v, source, tile, chosen);
}

// Selects the spots that have an access.
struct Inside {
    DEVICE bool operator()(const Spot& spot) const { return spot.inside; }
};
