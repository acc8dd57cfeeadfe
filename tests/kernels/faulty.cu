// Kernels with one planted fault each, which a check of the simulator must find. Tests ask for the
// numbers of lines that end in "// here"; of two accesses that race, the one before is "// there".
#include "atomics.cuh"

struct Copy {
    float* to;
    const float* from;
    int64_t count;
};

DEVICE int64_t global_thread() { return int64_t(blockIdx.x) * THREADS + threadIdx.x; }

KERNEL(store_one_too_many, Copy) {
    const int64_t i = global_thread();
    if (i <= p.count) store(p.to + i, 1.0f);  // here
}

KERNEL(load_before_the_first, Copy) {
    const int64_t i = global_thread();
    if (i < p.count) store(p.to + i, load(p.from + i - 1));
}

KERNEL(load_across_the_end, Copy) {
    const int64_t i = global_thread();
    const auto* pairs = reinterpret_cast<const Pack<float, 2>*>(p.from);
    if (2 * i < p.count) store(p.to + i, load(pairs + i).at[0]);
}

KERNEL(load_misaligned, Copy) {
    const auto* pairs = reinterpret_cast<const Pack<float, 2>*>(p.from + 1);
    if (global_thread() == 0) store(p.to, load(pairs).at[0]);
}

KERNEL(load_nowhere, Copy) {
    if (global_thread() == 3) store(p.to, load(static_cast<const float*>(nullptr)));
}

KERNEL(dereference_nowhere, Copy) {
    if (global_thread() == 3) store(p.to, *reinterpret_cast<const float*>(p.count));
}

struct Divide {
    int32_t* to;
    int32_t numerator, denominator;
};
KERNEL(divide, Divide) {
    if (global_thread() == 3) store(p.to, p.numerator / p.denominator);
}

BLOCK_KERNEL(store_past_the_tile, Copy) {
    SHARED(float, tile, THREADS);
    store_shared(tile + threadIdx.x + 1, 1.0f);
    barrier();
}

BLOCK_KERNEL(load_past_the_tile, Copy) {
    SHARED(float, tile, THREADS);
    store_shared(tile + threadIdx.x, 1.0f);
    barrier();
    store(p.to + threadIdx.x, load_shared(tile + 2 * threadIdx.x));
}

BLOCK_KERNEL(load_unset_tile, Copy) {
    SHARED(float, tile, THREADS);
    if (threadIdx.x != 7) store_shared(tile + threadIdx.x, 1.0f);
    barrier();
    store(p.to + threadIdx.x, load_shared(tile + threadIdx.x));
}

// The threads after the last element never come to the barrier.
BLOCK_KERNEL(return_early, Copy) {
    SHARED(float, tile, THREADS);
    if (threadIdx.x >= p.count) return;
    store_shared(tile + threadIdx.x, load(p.from + threadIdx.x));
    barrier();  // here
    store(p.to + threadIdx.x, load_shared(tile + threadIdx.x));
}

BLOCK_KERNEL(meet_elsewhere, Copy) {
    if (threadIdx.x < 128)
        barrier();
    else
        barrier();  // here
    store(p.to + threadIdx.x, 1.0f);
}

KERNEL(exchange_in_a_plain_kernel, Copy) { store(p.to + threadIdx.x % 128, shuffle(1.0f, 0)); }

// Lane 9 of the second warp does not come.
BLOCK_KERNEL(exchange_without_a_lane, Copy) {
    if (threadIdx.x == 41) return;
    store(p.to + threadIdx.x % 128, shuffle(1.0f, 0));  // here
}

BLOCK_KERNEL(exchange_elsewhere, Copy) {
    if (threadIdx.x % 32 < 16)
        store(p.to + threadIdx.x % 128, shuffle(1.0f, 0));
    else
        store(p.to + threadIdx.x % 128, shuffle(2.0f, 0));  // here
}

KERNEL(meet_in_a_plain_kernel, Copy) {
    barrier();
    store(p.to + threadIdx.x, 1.0f);
}

// Each thread reads what its neighbour may have written.
BLOCK_KERNEL(forget_the_barrier, Copy) {
    SHARED(float, tile, THREADS);
    store_shared(tile + threadIdx.x, load(p.from + threadIdx.x));              // here
    store(p.to + threadIdx.x, load_shared(tile + (threadIdx.x + 1) % THREADS));  // there
}

// The second barrier is missing: the tile is written anew while others still read it.
BLOCK_KERNEL(forget_the_second_barrier, Copy) {
    SHARED(float, tile, THREADS);
    float sum = 0;
    for (int round = 0; round < 3; ++round) {
        store_shared(tile + threadIdx.x, load(p.from + threadIdx.x) + float(round));  // there
        barrier();
        sum = sum * 2 + load_shared(tile + (threadIdx.x + 128) % THREADS);  // here
    }
    store(p.to + threadIdx.x, sum);
}

// Four threads store a word in parts, and each reads all of it.
BLOCK_KERNEL(read_half_of_a_neighbour, Copy) {
    SHARED(uint64_t, words, THREADS / 4);
    store_shared(reinterpret_cast<uint16_t*>(words) + threadIdx.x, uint16_t(0));  // here
    load_shared(words + threadIdx.x / 4);                                         // there
}

// No order of threads shows it.
KERNEL(all_blocks_store_the_same, Copy) { store(p.to + threadIdx.x, 1.0f); }  // here
KERNEL(all_threads_store_the_same, Copy) { store(p.to, 1.0f); }               // here

KERNEL(blocks_say_they_store_the_same, Copy) {
    store_same(p.to + threadIdx.x, float(blockIdx.x / 2));  // here
}

// Block 1 reads what block 0 writes, and does not use it.
KERNEL(read_what_another_block_stores, Copy) {
    if (blockIdx.x == 0) store(p.to + threadIdx.x, 1.0f);  // there
    else load(p.to + threadIdx.x);                         // here
}

// Many read what one of them stores later, in another round.
BLOCK_KERNEL(store_what_another_block_read, Copy) {
    load(p.from + threadIdx.x / 2);  // there
    barrier();
    if (blockIdx.x == 2 && threadIdx.x == 5)
        store(const_cast<float*>(p.from), load(p.from));  // here
}

// A barrier orders a thread's read before another's store, and not the reads after it.
BLOCK_KERNEL(read_after_the_barrier, Copy) {
    const float mine = load(p.to + threadIdx.x);
    barrier();
    store(p.to + (threadIdx.x + 1) % THREADS, mine);  // there
    load(p.to + threadIdx.x);                         // here
}

KERNEL(count_what_is_cleared, Copy) {
    auto* const counts = reinterpret_cast<uint32_t*>(p.to);
    if (threadIdx.x == 200) store(counts, uint32_t(0));  // here
    else atomic_add(counts, uint32_t(1));                // there
}

KERNEL(read_what_is_counted, Copy) {
    auto* const counts = reinterpret_cast<uint32_t*>(p.to);
    if (load(counts + blockIdx.x) < uint32_t(-1))         // here
        atomic_add(counts + blockIdx.x, uint32_t(1));     // there
}

BLOCK_KERNEL(too_much_shared_memory, Copy) {
    SHARED(double, first, 4096);
    SHARED(double, second, 4096);
    store_shared(first, 1.0);
    store_shared(second, load_shared(first));
}

// What only the sanitizers of the compiler can see: neither `load` nor `store` is asked.
KERNEL(read_past_the_end_unasked, Copy) {
    if (global_thread() == 0) store(p.to, p.from[p.count]);
}

KERNEL(read_misaligned_unasked, Copy) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(p.from);
    if (global_thread() == 0) store(p.to, *reinterpret_cast<const float*>(bytes + p.count));
}

KERNEL(overflow, Copy) {
    if (global_thread() == 0) store(p.to, float(int32_t(p.count) + 1));
}
