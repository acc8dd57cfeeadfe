// What a launch leaves behind when data asked for something outside: kernels do not trap, and a launch
// does not wait. The host looks at the next synchronisation.
#pragma once

#include "atomics.cuh"

constexpr int MAX_POSITIONS = 4;  // tensors of positions that a launch takes

// One for each stream, and one for graphs. The first launch that finds a fault owns it until the host
// has read it; the extremes of its positions do not depend on the order of threads.
struct Faults {
    uint64_t owner;                 // 0: nobody
    int64_t lowest[MAX_POSITIONS];  // among the positions outside, for each tensor of them
    int64_t highest[MAX_POSITIONS];
    int64_t size[MAX_POSITIONS];    // of the dimension that they index
};

// Positions that a thread found out of bounds, from the least to the greatest.
DEVICE void report_positions(Faults* faults, uint64_t owner, int number, int64_t lowest,
                             int64_t highest, int64_t size) {
    const uint64_t before = atomic_cas(&faults->owner, static_cast<uint64_t>(0), owner);
    if (before != 0 && before != owner) return;
    store_same(&faults->size[number], size);
    atomic_min(&faults->lowest[number], lowest);
    atomic_max(&faults->highest[number], highest);
}
