// The first header of every kernel file: integer types, declarations of kernels and shared memory,
// barriers. NVRTC compiles a kernel file for a GPU, and a host compiler compiles the same file for
// the simulator. Most differences between the two are in this header, in simulator.hpp and in
// memory.cuh; the others are at `#ifdef TENSORLAYOUT_SIMULATOR`.
#pragma once

// Shared arrays begin at a multiple of this many bytes, so that packs of up to 16 bytes may lie in an
// array of any type. Without it, ptxas aligns an array for one element, wherever it finds room.
constexpr int SHARED_ALIGNMENT = 16;

#ifdef TENSORLAYOUT_SIMULATOR
#include "../simulator/simulator.hpp"
#else

// NVRTC has no <cstdint>.
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

// Threads per block, the same for all kernels: eight warps hide latency and leave enough registers.
constexpr int THREADS = 256;

#define DEVICE __device__ __forceinline__

// A file whose kernels need many registers sets the minimum number of blocks per multiprocessor: 2
// leave 128 registers per thread. Without it, NVRTC 12.9 spills a few registers to fit more blocks.
#ifdef LEAST_BLOCKS
#define LAUNCH_BOUNDS __launch_bounds__(THREADS, LEAST_BLOCKS)
#else
#define LAUNCH_BOUNDS __launch_bounds__(THREADS)
#endif

// SHAPES(…): the shapes in which the next kernels are compiled. The host reads them
// (tensorlayout/cuda/engine/kernel_shapes.py).
#define SHAPES(...)

// NVRTC's programs define LABEL: operation, dtypes and shape, which follow the kernel's name in
// profilers. All kernels of a program have the same one.
#ifdef LABEL
#define JOINED(name, label) name##_##label
#define LABELLED(name, label) JOINED(name, label)
#else
#define LABELLED(name, label) name
#endif

// KERNEL(name, Params) { … p … }: a kernel of independent threads with one parameter, `p`.
// Params may contain commas, as in Params<2, int32_t>.
#define KERNEL(name, ...)                   \
    extern "C" __global__ void LAUNCH_BOUNDS \
    LABELLED(name, LABEL)(const __grid_constant__ __VA_ARGS__ p)

// The same for a kernel whose threads synchronise at barriers.
#define BLOCK_KERNEL(name, ...) KERNEL(name, __VA_ARGS__)

// SHARED(T, name, count): an array in the shared memory of a block.
#define SHARED(T, name, count) alignas(SHARED_ALIGNMENT) __shared__ T name[count]

DEVICE void barrier() { __syncthreads(); }

// Exchanges between the 32 threads of a warp, which all call them together: the value of another
// lane, of the lane `lanes` further or before (a thread's own where there is none), and the bits of
// all lanes' votes.
template <class T> DEVICE T shuffle(T value, uint32_t lane) {
    return __shfl_sync(0xffffffff, value, lane);
}
template <class T> DEVICE T shuffle_down(T value, uint32_t lanes) {
    return __shfl_down_sync(0xffffffff, value, lanes);
}
template <class T> DEVICE T shuffle_up(T value, uint32_t lanes) {
    return __shfl_up_sync(0xffffffff, value, lanes);
}
DEVICE uint32_t ballot(bool vote) { return __ballot_sync(0xffffffff, vote); }

#endif
