// Kernels without a fault, on which every check of the simulator must be silent.
#include "memory.cuh"

struct Nothing {
    int64_t unused;
};
KERNEL(nothing, Nothing) {}
BLOCK_KERNEL(meet_once, Nothing) { barrier(); }

// to[i] = from[i] + 1
template <class T>
struct Increment {
    T* to;
    const T* from;
    int64_t count;
};
KERNEL(increment, Increment<float>) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (i < p.count) store(p.to + i, load(p.from + i) + 1);
}

// The same, 16 bytes at a time; count: of packs.
KERNEL(increment_packs, Increment<Pack<float, 4>>) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= p.count) return;
    Pack<float, 4> pack = load(p.from + i);
    for (float& each : pack.at) each += 1;
    store(p.to + i, pack);
}

// Where each thread is: to[z, y, x, thread], row-major, is the block's number and the thread's.
struct Where {
    uint32_t* to;
};
KERNEL(where_am_i, Where) {
    const uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    store(p.to + block * blockDim.x + threadIdx.x, block << 16 | threadIdx.x);
}

// A transpose of 32 x 32 tiles through shared memory; rows, columns: multiples of 32.
struct Transpose {
    float* to;
    const float* from;
    int64_t rows, columns;
};
template <int PITCH>
DEVICE void transpose(const Transpose& p) {
    SHARED(float, tile, 32 * PITCH);
    const int64_t row = int64_t(blockIdx.y) * 32, column = int64_t(blockIdx.x) * 32;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = warp; i < 32; i += THREADS / 32)
        store_shared(tile + i * PITCH + lane, load(p.from + (row + i) * p.columns + column + lane));
    barrier();
    for (int i = warp; i < 32; i += THREADS / 32)
        store(p.to + (column + i) * p.rows + row + lane, load_shared(tile + lane * PITCH + i));
}
BLOCK_KERNEL(transpose_tiles, Transpose) { transpose<33>(p); }

// Right, but each column of the tile lies in one bank.
BLOCK_KERNEL(transpose_in_one_bank, Transpose) { transpose<32>(p); }

// The sum of each block's elements, by halves; count: of blocks.
BLOCK_KERNEL(sum_blocks, Increment<int32_t>) {
    SHARED(int32_t, sums, THREADS);
    const int thread = threadIdx.x;
    store_shared(sums + thread, load(p.from + int64_t(blockIdx.x) * THREADS + thread));
    for (int half = THREADS / 2; half > 0; half /= 2) {
        barrier();
        if (thread >= half) continue;
        const int32_t upper = load_shared(sums + thread + half);
        store_shared(sums + thread, load_shared(sums + thread) + upper);
    }
    if (thread == 0) store(p.to + blockIdx.x, load_shared(sums));
}

// Four exchanges within each warp; the second half of the block makes one more, which changes
// nothing.
BLOCK_KERNEL(exchange_lanes, Increment<uint32_t>) {
    const uint32_t i = threadIdx.x, value = load(p.from + i);
    uint32_t* const to = p.to + 4 * i;
    store(to, shuffle(value, 31 - i % 32));
    store(to + 1, shuffle_down(value, 3));
    store(to + 2, static_cast<uint32_t>(shuffle_up(static_cast<uint64_t>(value) << 32, 1) >> 32));
    barrier();
    uint32_t votes = ballot(value % 3 == 0);
    if (i >= THREADS / 2) votes = shuffle(votes, i);
    barrier();
    store(to + 3, votes);
}

// All threads write one element, and say so.
KERNEL(agree, Increment<float>) { store_same(p.to, load(p.from)); }

// What one thread does alone, and what threads do on both sides of a barrier: no race.
BLOCK_KERNEL(take_turns, Increment<float>) {
    SHARED(float, tile, THREADS);
    float* const mine = p.to + blockIdx.x * THREADS + threadIdx.x;
    store(mine, load(p.from + threadIdx.x));
    store(mine, load(mine) + 1);
    for (int round = 0; round < 3; ++round) {
        store_shared(tile + (threadIdx.x + round) % THREADS, load(mine));
        barrier();
        store(mine, load_shared(tile + threadIdx.x));
        barrier();
    }
}

// Elements that are not aligned to their size: they move in parts.
struct Complex {
    float real, imaginary;
};
KERNEL(conjugate, Increment<Complex>) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= p.count) return;
    const Complex value = load(p.from + i);
    store(p.to + i, Complex{value.real, -value.imaginary});
}
