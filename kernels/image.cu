// Images and sequences: each element of the result is computed from its own coordinates. The plans
// have merged dimensions, made strides of the result positive, and (for reverse_lines, whose
// elements are bits) fused contiguous runs into elements as wide as possible.
//
// reverse_lines Reverses each line of a tensor up to the line's own length. Threads follow the
//               order of the result; each computes 4 elements, 256 elements apart (1 in more than
//               four dimensions). In addition to its strides in all memories, a dimension has a
//               stride in the coordinate along the lines, so that the same walk computes the
//               position of an element in its line. Coalesced if the fastest dimension of the
//               result is contiguous in the source. Best: lines of vectors, which move 16 bytes per
//               thread if all lines have the same length. Worst: a source with another fastest
//               dimension.
//
// stretch       Enlarges the last two dimensions by integer factors, with linear interpolation
//               between the centres of elements. Threads follow the order of the result; each
//               computes 4 elements, 256 elements apart (1 in more than four dimensions). An
//               element needs the four source elements around it, whose cache lines its neighbours
//               have loaded. Interpolates in float, along the columns first, and rounds once.
//               Writes are coalesced. Worst: factors of 1 or 2, which have the most reads.
//
// fold          Sums overlapping windows into an image. Each element of the result has a thread, in
//               the order of the result. The thread loops over the elements of a window in
//               row-major order. If a window covers the image element at that place, the thread
//               adds its value. So sums equal the CPU's bit for bit. Coalesced if the last
//               dimension of the image is the fastest of the result, consecutive windows are
//               adjacent in the source, and their step is 1. Worst: windows with large steps, most
//               of whose elements do not contribute to one element of the image.
//
// Bytes moved per element: its own, once from the source and once to the result;
// neighbours come from the cache.

// Minimum number of blocks per multiprocessor. Without it, NVRTC 12.9 spills registers of a few
// shapes to fit more blocks.
#define LEAST_BLOCKS 2

#include "bits.cuh"
#include "dtypes.cuh"
#include "indexing.cuh"
#include "memory.cuh"

// ---- Lines --------------------------------------------------------------------------------------

template <int Rank, class Index>
struct Lines {
    void* to;
    const void* from;
    const void* lengths;
    Walk<Rank, Index, 4> walk;  // strides of the result, source, lengths, position in a line
    Index count;
    Index first;  // position in its line of the first element
    Index size;   // of a line
    Index step;   // along a line of the source
    int32_t wide; // 1: lengths have 64 bits; 0: 32 bits
};

template <int Rank, class Index, int Width>
DEVICE void reverse(const Lines<Rank, Index>& p) {
    constexpr int COUNT = PER_WALK<Rank>;
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

// Offsets of two neighbours, and their weights.
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

    // An element of weight 0 may be infinite, and its product would be NaN.
    DEVICE float blend(float one, float other) const {
        return weight == 0 ? one : one * keep + other * weight;
    }
};

template <int Rank, class Index>
struct Stretch {
    void* to;
    const void* from;
    // Strides of the result, of the source without its last two dimensions, and of the coordinates
    // along these two.
    Walk<Rank, Index, 4> walk;
    Stretched<Index> dims[2];  // the last two dimensions of the source
    Index count;
};

template <class T, int Rank, class Index>
DEVICE void interpolate(const Stretch<Rank, Index>& p) {
    constexpr int COUNT = PER_WALK<Rank>;
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

// A dimension of the image. Along batches and channels a window has one element.
template <class Index>
struct Patched {
    Divisor<Index> step;               // from window to window
    // Strides in the result, in the source within a window, and between windows.
    Index stride, tap, block;
    Index before, dilation;            // padding; distance between elements of a window
    Index window, blocks;              // elements of a window; number of windows
    int32_t turn;                      // rank among the result's dimensions, fastest first
};

template <int Rank, class Index>
struct Folded {
    void* to;
    const void* from;
    Patched<Index> dims[Rank];
    Divisor<Index> turns[Rank];  // sizes in the order of the result, the fastest first
    Index count, taps;           // elements of the image; of a window
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
        for (int d = 0; d < Rank; ++d)  // registers cannot be indexed at run time
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

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(NUMBER)
SHAPES(RANK = 3 4 5 8, INDEX = int32_t int64_t,
       NUMBER = uint8_t uint16_t uint32_t uint64_t half float double)
KERNEL(fold, Folded<RANK, INDEX>) { fold_element<NUMBER>(p); }
#elif defined(FLOAT)
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t, FLOAT = half float)
KERNEL(stretch, Stretch<RANK, INDEX>) { interpolate<FLOAT>(p); }
#else
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(reverse_lines, Lines<RANK, INDEX>) { reverse<RANK, INDEX, WIDTH>(p); }
#endif
