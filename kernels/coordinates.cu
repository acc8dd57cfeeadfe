// Results whose elements are found from their own coordinates. Elements are bits: a width in bytes, no
// number type. The plans have merged dimensions, made strides of the result positive,
// and fused contiguous runs into elements as wide as they allow.
//
// pad_elements  A tensor with a border: of a constant, or of the elements that the mode says. One thread
//               for each element of the result, in its order, 4 a thread, 256 threads apart (1 in more
//               than four dimensions). WIDTH above ELEMENT: elements of rows that begin alike in both
//               memories move WIDTH bytes a thread; the others of all rows, that is the borders and what
//               is left at both ends, follow them in the order of threads, one a thread. Coalesced where
//               the fastest dimension of the result is contiguous in the source. Best: rows that are
//               aligned, border or not. Worst: borders of odd widths, behind which rows of the source
//               begin inside sectors; a source whose fastest dimension is another.
//
// reverse_lines A tensor whose lines are reversed up to a length of their own. One thread for each element
//               of the result, in its order, 4 a thread, 256 threads apart (1 in more than four
//               dimensions). Beside the strides in all memories, a dimension has one in the coordinate
//               along the lines, so that the place of an element in its line comes out of the same
//               walk. Coalesced where the fastest dimension of the result is contiguous in the source,
//               lines or not. Best: lines of vectors, which move 16 bytes a thread where all of them
//               have one length. Worst: a source whose fastest dimension is another.
//
// stretch       The last two dimensions enlarged by whole factors, linear between the centres of elements.
//               One thread for each element of the result, in its order, 4 a thread, 256 threads apart
//               (1 in more than four dimensions); it reads the four elements around it, whose lines the
//               cache has from its neighbours. In float, along the columns first; rounded once. Writes
//               are coalesced. Worst: factors of 1 or 2, where reads are as many as can be.
//
// fold          An image as the sum of what windows say of each element. One thread for each element of
//               the result, in its order; it asks each element of a window whether a window has it at
//               that place, in row-major order: sums are those of the CPU to the bit. Coalesced where
//               the last dimension of the image is the fastest of the result, windows follow each other
//               in the source, and their step is 1. Worst: windows with large steps, most of whose
//               elements have no part in one of the image.
//
// one_hot       A value where an index names the place in a line, another elsewhere.
// diagonals     A value on some diagonals of matrices, elsewhere 0 or what another tensor has.
// count_up      A number that grows by the same from element to element, in row-major order.
//               One thread for each element of the result, in its order. Coalesced where the fastest
//               dimension of the result is contiguous; what is read besides is, where it lies alike.
//
// Bytes moved per element: its own, once from the source (none for a constant) and once to the result;
// what is mirrored comes from the cache.
// Of a multiprocessor. Not told, NVRTC 12.9 spills a few shapes to have more of them.
#define LEAST_BLOCKS 2

#include "bits.cuh"
#include "dtypes.cuh"
#include "indexing.cuh"
#include "memory.cuh"

// Elements of a thread.
template <int Rank> constexpr int PER_THREAD = Rank == 0 ? 1 : 4;

// ---- Borders ------------------------------------------------------------------------------------

enum BorderMode : int32_t { CONSTANT, EDGE, REPEATED };

// Of each dimension. Positions of the source are those of the result less `before`.
template <int Rank, class Index>
struct Border {
    static constexpr int CAPACITY = Rank ? Rank : MAX_RANK;
    Index before[CAPACITY], inside[CAPACITY];  // elements of the border, of the source
    // What is around comes again after so many elements: of what is mirrored, the second half of them
    // runs backwards. `lift`: a multiple of the period, no less than `before`.
    Divisor<Index> period[CAPACITY];
    Index lift[CAPACITY];
    int32_t twice;  // 1 where the outermost elements are mirrored, too
    BorderMode mode;

    // The position in the source; false for one in a border of the constant.
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
    Walk<Rank, Index, 2> walk;  // sizes of the result, the last without what is in packs
    Border<Rank, Index> border;
    Index count;            // of packs and elements
    Index packed;           // of packs
    Index head, packs_end;  // of a row: where its packs begin and end
    Divisor<Index> packs;   // of a row
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
    constexpr int COUNT = PER_THREAD<Rank>;
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

// ---- Lines --------------------------------------------------------------------------------------

template <int Rank, class Index>
struct Lines {
    void* to;
    const void* from;
    const void* lengths;
    Walk<Rank, Index, 4> walk;  // strides of the result, the source, the lengths, the place in a line
    Index count;
    Index first;  // the place of the first element
    Index size;   // of a line
    Index step;   // along a line of the source
    int32_t wide; // lengths have 64 bits, not 32
};

template <int Rank, class Index, int Width>
DEVICE void reverse(const Lines<Rank, Index>& p) {
    constexpr int COUNT = PER_THREAD<Rank>;
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    const Count first = static_cast<Count>(blockIdx.x) * (COUNT * THREADS) + threadIdx.x;
    Index at[COUNT][4];
    bool active[COUNT];
    T elements[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        active[k] = first + k * THREADS < static_cast<Count>(p.count);
        p.walk.offsets(active[k] ? first + k * THREADS : 0, at[k]);
        const uint64_t given =
            p.wide ? load_if(active[k], static_cast<const uint64_t*>(p.lengths) + at[k][2])
                   : load_if(active[k], static_cast<const uint32_t*>(p.lengths) + at[k][2]);
        const Index length = given < static_cast<uint64_t>(p.size) ? static_cast<Index>(given) : p.size;
        const Index place = p.first + at[k][3];
        if (place < length) at[k][1] += (length - 1 - 2 * place) * p.step;
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        elements[k] = load_if(active[k], static_cast<const T*>(p.from) + at[k][1]);
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        store_if(active[k], static_cast<T*>(p.to) + at[k][0], elements[k]);
}

// ---- Interpolation ------------------------------------------------------------------------------

// A dimension of the source.
template <class Index>
struct Stretched {
    Index first;  // the coordinate of the result's first element
    Index size, step;
    Divisor<Index> scale;
};

// Two neighbours, as offsets, and what they weigh.
template <class Index>
struct Neighbours {
    Index here, there;
    float keep, weight;

    DEVICE Neighbours(const Stretched<Index>& d, Index coordinate) {
        const Index scale = static_cast<Index>(d.scale.divisor);
        const Index place = static_cast<Index>(d.scale.divide(coordinate));
        // From the centre of the element, in halves of an element of the result.
        const Index shift = 2 * (coordinate - place * scale) + 1 - scale;
        const Index other = place + (shift < 0 ? -1 : 1), distance = shift < 0 ? -shift : shift;
        const bool alone = shift == 0 || other < 0 || other >= d.size;
        here = place * d.step;
        there = alone ? here : other * d.step;
        weight = alone ? 0.0f : static_cast<float>(distance) / static_cast<float>(2 * scale);
        keep = static_cast<float>(2 * scale - distance) / static_cast<float>(2 * scale);
    }

    // What weighs nothing may be infinite.
    DEVICE float blend(float one, float other) const {
        return weight == 0 ? one : one * keep + other * weight;
    }
};

template <int Rank, class Index>
struct Stretch {
    void* to;
    const void* from;
    Walk<Rank, Index, 4> walk;  // strides of the result, of all but the last two dimensions of the source,
    Stretched<Index> dims[2];   // and of the coordinates along these
    Index count;
};

template <class T, int Rank, class Index>
DEVICE void interpolate(const Stretch<Rank, Index>& p) {
    constexpr int COUNT = PER_THREAD<Rank>;
    using Count = Unsigned<Index>;
    const Count first = static_cast<Count>(blockIdx.x) * (COUNT * THREADS) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const bool active = first + k * THREADS < static_cast<Count>(p.count);
        Index at[4];
        p.walk.offsets(active ? first + k * THREADS : 0, at);
        const Neighbours<Index> rows(p.dims[0], p.dims[0].first + at[2]);
        const Neighbours<Index> columns(p.dims[1], p.dims[1].first + at[3]);
        const T* const from = static_cast<const T*>(p.from) + at[1];
        auto column = [&](Index offset) {
            const float one = convert<float>(load_if(active, from + (rows.here + offset)));
            const float other = convert<float>(load_if(active, from + (rows.there + offset)));
            return rows.blend(one, other);
        };
        const float value = columns.blend(column(columns.here), column(columns.there));
        store_if(active, static_cast<T*>(p.to) + at[0], convert<T>(value));
    }
}

// ---- Patches ------------------------------------------------------------------------------------

// A dimension of the image; of batches and channels the window has one element.
template <class Index>
struct Patched {
    Divisor<Index> step;               // from window to window
    Index stride, tap, block;          // in the result; in the source, of the window and of windows
    Index before, dilation;            // padding; from element to element of a window
    Index window, blocks;              // elements of one, and how many there are
    int32_t turn;                      // where it stands in the order of the result, the fastest first
};

template <int Rank, class Index>
struct Folded {
    void* to;
    const void* from;
    Patched<Index> dims[Rank];
    Divisor<Index> turns[Rank];  // sizes in the order of the result, the fastest first
    Index count, taps;           // elements of the image, and of a window
};

template <class T, int Rank, class Index>
DEVICE void fold_element(const Folded<Rank, Index>& p) {
    using Count = Unsigned<Index>;
    using Wide = choose<is_same<T, half>, float, T>;
    const Count number = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const bool active = number < static_cast<Count>(p.count);
    Count index = active ? number : 0;
    Index at[Rank] = {}, tap[Rank] = {}, to = 0;
#pragma unroll
    for (int turn = 0; turn < Rank; ++turn) {
        const Count slower = p.turns[turn].divide(index);
        const Index coordinate = static_cast<Index>(index - slower * p.turns[turn].divisor);
        index = slower;
#pragma unroll
        for (int d = 0; d < Rank; ++d)  // registers have no index
            if (p.dims[d].turn == turn) at[d] = coordinate;
    }
#pragma unroll
    for (int d = 0; d < Rank; ++d) {
        to += at[d] * p.dims[d].stride;
        at[d] += p.dims[d].before;
    }
    Wide sum = Wide(0);
    for (Index k = 0; k < p.taps; ++k) {
        Index from = 0;
        bool hit = active;
#pragma unroll
        for (int d = 0; d < Rank; ++d) {
            const Patched<Index>& dim = p.dims[d];
            const Index left = at[d] - tap[d] * dim.dilation;
            const Index block = static_cast<Index>(dim.step.divide(left < 0 ? 0 : left));
            hit = hit && left == block * static_cast<Index>(dim.step.divisor) && block < dim.blocks;
            from += hit ? tap[d] * dim.tap + block * dim.block : 0;
        }
        const T value = load_if(hit, static_cast<const T*>(p.from) + from);
        if (hit) sum = static_cast<Wide>(sum + convert<Wide>(value));
        bool carry = true;
#pragma unroll
        for (int d = Rank - 1; d >= 0; --d) {
            tap[d] += carry;
            carry = carry && tap[d] == p.dims[d].window;
            if (carry) tap[d] = 0;
        }
    }
    store_if(active, static_cast<T*>(p.to) + to, convert<T>(sum));
}

// ---- Patterns -----------------------------------------------------------------------------------

enum IndexKind : int32_t { INT32, INT64, UINT32, UINT64 };

template <int Rank, class Index>
struct Hot {
    void* to;
    const void* indices;
    const void* off;
    const void* on;
    Walk<Rank, Index, 3> walk;  // strides of the result, the indices, the place in a line
    Index count, first, size;   // elements; the place of the first one; of a line
    IndexKind kind;
};

// Where an index points to; negative ones count from the end.
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
struct Diagonals {
    void* to;
    const void* from;           // the others; nullptr for zeros
    uint64_t bits[2];           // of the value
    Walk<Rank, Index, 3> walk;  // strides of the result, the others, the number of the diagonal
    Index count, first;         // elements; the diagonal of the first one, from the lowest on
    Index begin, end;
    int32_t inside;             // whether these diagonals have the value, or all others
};

template <int Rank, class Index, int Width>
DEVICE void write_diagonals(const Diagonals<Rank, Index>& p) {
    using T = Bits<Width>;
    using Count = Unsigned<Index>;
    const Count number = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const bool active = number < static_cast<Count>(p.count);
    Index at[3];
    p.walk.offsets(active ? number : 0, at);
    const Index diagonal = p.first + at[2];
    const bool within = p.begin <= diagonal && diagonal < p.end, filled = within == (p.inside != 0);
    T value{};
    if (p.from) value = load_if(active && !filled, static_cast<const T*>(p.from) + at[1]);
    if (filled) value = low_bits<Width>(p.bits);
    store_if(active, static_cast<T*>(p.to) + at[0], value);
}

template <int Rank, class Index>
struct Sequence {
    void* to;
    uint64_t start, delta;      // of floats the bits of doubles
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
// For a GPU the macros pick one; the simulator has all shapes.

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(ELEMENT)
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t, ELEMENT = 1 2 4 8 16, WIDTH = ELEMENT 16)
KERNEL(pad_elements, Padded<RANK, INDEX>) { pad<RANK, INDEX, ELEMENT, WIDTH>(p); }
#elif defined(NUMBER)
SHAPES(RANK = 3 4 5 8, INDEX = int32_t int64_t,
       NUMBER = uint8_t uint16_t uint32_t uint64_t half float double)
KERNEL(fold, Folded<RANK, INDEX>) { fold_element<NUMBER>(p); }
#elif defined(COUNTED)
SHAPES(RANK = 2 3 0, INDEX = int32_t int64_t,
       COUNTED = uint8_t uint16_t uint32_t uint64_t half float double)
KERNEL(count_up, Sequence<RANK, INDEX>) { write_sequence<COUNTED>(p); }
#elif defined(HOT)
SHAPES(RANK = 2 3 0, INDEX = int32_t int64_t, HOT = 1 2 4 8)
KERNEL(one_hot, Hot<RANK, INDEX>) { write_hot<RANK, INDEX, HOT>(p); }
#elif defined(BAND)
SHAPES(RANK = 2 3 0, INDEX = int32_t int64_t, BAND = 1 2 4 8)
KERNEL(diagonals, Diagonals<RANK, INDEX>) { write_diagonals<RANK, INDEX, BAND>(p); }
#elif defined(FLOAT)
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t, FLOAT = half float)
KERNEL(stretch, Stretch<RANK, INDEX>) { interpolate<FLOAT>(p); }
#else
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(reverse_lines, Lines<RANK, INDEX>) { reverse<RANK, INDEX, WIDTH>(p); }
#endif
