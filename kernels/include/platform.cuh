// What every kernel file includes first: integer types, how a kernel and its shared memory are
// declared, barriers. The same file is compiled by NVRTC for a GPU and by a host compiler for the
// simulator; all that differs between the two is here, in simulator.hpp and in memory.cuh.
#pragma once

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

// Threads of a block, the same for all kernels: eight warps hide latency, and leave registers.
constexpr int THREADS = 256;

#define DEVICE __device__ __forceinline__

// A file whose kernels need many registers says how many blocks a multiprocessor should have at least:
// 2 leave a thread 128. Not told, NVRTC 12.9 spills a few of them to have more blocks.
#ifdef LEAST_BLOCKS
#define LAUNCH_BOUNDS __launch_bounds__(THREADS, LEAST_BLOCKS)
#else
#define LAUNCH_BOUNDS __launch_bounds__(THREADS)
#endif

// SHAPES(…): in which shapes the next kernels are; for the host (tensorlayout/cuda/engine/kernel_shapes.py).
#define SHAPES(...)

// KERNEL(name, Params) { … p … }: a kernel of independent threads, its one parameter `p`. Params
// may have commas in it, as in Params<2, int32_t>.
#define KERNEL(name, ...) \
    extern "C" __global__ void LAUNCH_BOUNDS name(const __grid_constant__ __VA_ARGS__ p)

// The same for a kernel whose threads meet at barriers.
#define BLOCK_KERNEL(name, ...) KERNEL(name, __VA_ARGS__)

// SHARED(T, name, count): an array that the threads of a block share.
#define SHARED(T, name, count) __shared__ T name[count]

DEVICE void barrier() { __syncthreads(); }

#endif
