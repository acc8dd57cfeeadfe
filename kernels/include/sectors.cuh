// Alignment of accesses to 32-byte sectors.
#pragma once

#include "platform.cuh"

constexpr int SECTOR = 32;

// Returns by how many elements the threads of a block are shifted, so that a warp's access begins
// at a sector boundary, if the block's run begins at `first`.
template <class T>
DEVICE uint32_t shift_at(const T* first) {
    constexpr uint32_t elements = sizeof(T) < SECTOR ? SECTOR / sizeof(T) : 1;
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(first) / sizeof(T)) & (elements - 1);
}
