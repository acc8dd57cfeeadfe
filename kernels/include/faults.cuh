// Records positions that are out of bounds. Kernels do not trap and a launch does not wait, so the
// host reads the record at the next synchronisation.
#pragma once

#include "atomics.cuh"

constexpr int MAX_POSITIONS = 4;  // maximum number of tensors of positions per launch

// A record of faults. There is one for each stream, and one for graphs. The first launch with a
// fault owns the record until the host has read it. The lowest and highest positions do not depend
// on the order of threads.
struct Faults {
    uint64_t owner;                 // 0: no launch
    int64_t lowest[MAX_POSITIONS];  // among positions out of bounds, for each tensor of positions
    int64_t highest[MAX_POSITIONS];
    int64_t size[MAX_POSITIONS];    // of the dimension that the positions index
};

// Reports the range of the positions of a thread that are out of bounds.
DEVICE void report_positions(Faults* faults, uint64_t owner, int number, int64_t lowest,
                             int64_t highest, int64_t size) {
    const uint64_t before = atomic_cas(&faults->owner, static_cast<uint64_t>(0), owner);
    if (before != 0 && before != owner) return;
    store_same(&faults->size[number], size);
    atomic_min(&faults->lowest[number], lowest);
    atomic_max(&faults->highest[number], highest);
}
