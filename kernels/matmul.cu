// Matrix products of integers, modulo 2**n for n-bit integers. Signed integers give the same bits
// as unsigned ones. cuda/matmul.py gives large products of bytes to cuBLAS instead.
//
// matmul   A block computes ROWS x COLUMNS elements of one product of a stack, DEPTH terms at a
//          time. Both operands go through tiles in shared memory. Each is read along the faster of
//          its dimensions, so that reads of any two contiguous layouts are coalesced. The lanes of
//          a warp compute neighbouring elements of a row, so sectors of the result are written
//          whole. Terms are added in order: the result does not depend on the order of threads.
//          All strides are allowed: negative, 0, and other than 1 in both dimensions.
//
// Shared memory has one word of 4 bytes for each element (8 for 8-byte ones), in rows of odd
// length, so that no two lanes access the same bank, along whichever dimension a tile is filled.
//
// Bytes moved: the first operand once for each COLUMNS columns of the result, the second once for
// each ROWS rows. Best: large matrices whose rows are multiples of 32 bytes. Worst: one row or one
// column (a product with a vector), for which most lanes or most rows of a tile are idle; and
// operands that are contiguous in neither dimension, which cost a sector of 32 bytes per element.
#include "dtypes.cuh"
#include "indexing.cuh"
#include "memory.cuh"

constexpr int ROWS = 64, COLUMNS = 128;
constexpr int LANES = 32, WARPS = THREADS / LANES;
constexpr int DOWN = ROWS / WARPS, ACROSS = COLUMNS / LANES;  // elements per thread

struct Matmul {
    void* result;
    const void* first;
    const void* second;
    int64_t rows, columns, depth;
    int64_t first_down, first_right, second_down, second_right;  // strides
    int64_t tiles_down, tiles_right, tiles;                      // of one product; of all
    Walk<0, int64_t, 3> stack;                                   // in both operands and the result
    int32_t first_runs_right, second_runs_right;  // whether consecutive threads read along rows
};

// Copies Depth x Size elements into a tile with rows of Size + 1 words. Elements outside the
// operand are 0.
template <int Depth, int Size, class T, class Word>
DEVICE void fill_tile(Word* tile, const T* from, int64_t deep, int64_t wide, bool runs_deep,
                      int64_t depth, int64_t size) {
    // Loads that a thread has in flight at once. With more, the cost in registers exceeds the
    // gain.
    constexpr int AT_ONCE = 4, COUNT = Depth * Size / THREADS;
    const int32_t thread = threadIdx.x;
    int32_t d = runs_deep ? thread % Depth : thread / Size;
    int32_t s = runs_deep ? thread / Depth : thread % Size;
    const int32_t d_step = runs_deep ? 0 : THREADS / Size, s_step = runs_deep ? THREADS / Depth : 0;
    from += d * deep + s * wide;
    const int64_t step = d_step * deep + s_step * wide;
#pragma unroll 1
    for (int begin = 0; begin < COUNT; begin += AT_ONCE) {
        Word words[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            words[i] = load_if(d + i * d_step < depth && s + i * s_step < size, from + i * step);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i)
            store_shared(tile + (d + i * d_step) * (Size + 1) + s + i * s_step, words[i]);
        d += AT_ONCE * d_step;
        s += AT_ONCE * s_step;
        from += AT_ONCE * step;
    }
}

template <class T>
DEVICE void matmul_tiles(const Matmul& p) {
    using Word = choose<sizeof(T) == 8, uint64_t, uint32_t>;
    constexpr int DEPTH = 128 / sizeof(Word);
    SHARED(Word, left, DEPTH * (ROWS + 1));
    SHARED(Word, right, DEPTH * (COLUMNS + 1));
    const int32_t lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        int64_t number = tile / p.tiles_right, at[3];
        const int64_t column = (tile - number * p.tiles_right) * COLUMNS;
        const int64_t product = number / p.tiles_down;
        const int64_t row = (number - product * p.tiles_down) * ROWS;
        p.stack.offsets(product, at);
        const T* const first = static_cast<const T*>(p.first) + at[0] + row * p.first_down;
        const T* const second = static_cast<const T*>(p.second) + at[1] + column * p.second_right;
        const int64_t rows = p.rows - row, columns = p.columns - column;
        Word sums[DOWN][ACROSS] = {};
        for (int64_t done = 0; done < p.depth; done += DEPTH) {
            fill_tile<DEPTH, ROWS>(left, first + done * p.first_right, p.first_right, p.first_down,
                                   p.first_runs_right != 0, p.depth - done, rows);
            fill_tile<DEPTH, COLUMNS>(right, second + done * p.second_down, p.second_down,
                                      p.second_right, p.second_runs_right == 0, p.depth - done,
                                      columns);
            barrier();
#pragma unroll 2  // with 4 or 8 some GPUs' registers spill (NVRTC 12.9)
            for (int d = 0; d < DEPTH; ++d) {
                Word factors[ACROSS];
#pragma unroll
                for (int j = 0; j < ACROSS; ++j)
                    factors[j] = load_shared(right + d * (COLUMNS + 1) + lane + j * LANES);
#pragma unroll
                for (int i = 0; i < DOWN; ++i) {
                    const Word factor = load_shared(left + d * (ROWS + 1) + warp + i * WARPS);
#pragma unroll
                    for (int j = 0; j < ACROSS; ++j) sums[i][j] += factor * factors[j];
                }
            }
            barrier();
        }
        T* const result = static_cast<T*>(p.result) + at[2] + row * p.columns + column;
#pragma unroll
        for (int i = 0; i < DOWN; ++i)
#pragma unroll
            for (int j = 0; j < ACROSS; ++j) {
                const int32_t down = warp + i * WARPS, across = lane + j * LANES;
                store_if(down < rows && across < columns, result + down * p.columns + across,
                         static_cast<T>(sums[i][j]));
            }
    }
}

#ifndef TENSORLAYOUT_SIMULATOR
SHAPES(ELEMENT = uint8_t uint16_t uint32_t uint64_t)
BLOCK_KERNEL(matmul, Matmul) { matmul_tiles<ELEMENT>(p); }
#endif
