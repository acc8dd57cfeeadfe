// Writes the padding of a block of memory, in additional thread blocks of the launch that writes
// the elements. A separate launch would cost more than the few bytes of padding.
//
// In a block of padded sizes, in the order of memory, the padding after dimension d is one run of
// slots for each index of the dimensions before d. A region is therefore described by its leading
// dimensions and one contiguous run; all regions share one table of leading dimensions. Consecutive
// threads write consecutive slots of the runs.
#pragma once

#include "bits.cuh"
#include "indexing.cuh"

constexpr int PADDING_REGIONS = 4;
constexpr int PADDING_PER_THREAD = 4;

// Runs, and rows of one region, are fewer than 2**31 - 2**12.
struct Padding {
    uint64_t bits[2];                 // of one element
    int64_t start[PADDING_REGIONS];   // start of the first run, in elements
    int64_t count[PADDING_REGIONS];   // elements of the region
    int64_t stride[PADDING_REGIONS];  // of the dimensions before a run, slowest first
    Divisor<int32_t> size[PADDING_REGIONS];
    Divisor<int32_t> run[PADDING_REGIONS];
    int32_t depth[PADDING_REGIONS];      // number of dimensions before the region's runs
    uint32_t end_block[PADDING_REGIONS]; // end of the region's thread blocks
    uint32_t first_block;                // thread blocks before this one have other work
    int32_t itemsize;
};

DEVICE void store_bits(void* to, int64_t at, int itemsize, const uint64_t (&bits)[2]) {
    switch (itemsize) {
        case 1: return store(static_cast<uint8_t*>(to) + at, static_cast<uint8_t>(bits[0]));
        case 2: return store(static_cast<uint16_t*>(to) + at, static_cast<uint16_t>(bits[0]));
        case 4: return store(static_cast<uint32_t*>(to) + at, static_cast<uint32_t>(bits[0]));
        case 8: return store(static_cast<uint64_t*>(to) + at, bits[0]);
        default: return store(static_cast<Bits<16>*>(to) + at, Bits<16>{{bits[0], bits[1]}});
    }
}

// Writes the padding that this thread block has, if any, and returns true then. `to` is the first
// slot of the padded block.
DEVICE bool write_padding(const Padding& p, void* to) {
    if (blockIdx.x < p.first_block) return false;
    int region = 0;
    uint32_t begin = p.first_block;
#pragma unroll 1
    while (blockIdx.x >= p.end_block[region]) begin = p.end_block[region++];
    const Divisor<int32_t> run = p.run[region];
    const int64_t first = static_cast<int64_t>(blockIdx.x - begin) * (PADDING_PER_THREAD * THREADS);
    const int64_t first_row = first / run.divisor;
    const uint32_t along = static_cast<uint32_t>(first - first_row * run.divisor);
#pragma unroll 1
    for (int k = 0; k < PADDING_PER_THREAD; ++k) {
        const uint32_t ahead = k * THREADS + threadIdx.x;
        if (first + ahead >= p.count[region]) break;
        const uint32_t rows = run.divide(along + ahead);
        int64_t at = p.start[region] + (along + ahead - rows * run.divisor);
        uint32_t row = static_cast<uint32_t>(first_row) + rows;
#pragma unroll 1
        for (int d = p.depth[region] - 1; d >= 0; --d) {
            const uint32_t slower = d ? p.size[d].divide(row) : 0;
            at += static_cast<int64_t>(row - slower * p.size[d].divisor) * p.stride[d];
            row = slower;
        }
        store_bits(to, at, p.itemsize, p.bits);
    }
    return true;
}
