// One kernel as NVRTC is given it: the branches of a GPU, with CUDA's words said in C++. Blocks are
// run by the simulator. KERNEL_FILE, KERNEL_NAME: which; other macros pick its shape and types.
#include <math.h>

#include "simulator/blocks.hpp"

#undef TENSORLAYOUT_SIMULATOR
#undef DEVICE
#define __device__
#define __forceinline__ inline
#define __global__ __attribute__((visibility("hidden")))
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static
#define __syncthreads() simulator::barrier()

inline uint32_t __umulhi(uint32_t a, uint32_t b) { return static_cast<uint64_t>(a) * b >> 32; }
inline uint32_t __byte_perm(uint32_t low, uint32_t high, uint32_t digits) {
    uint8_t from[8], found[4];
    memcpy(from, &low, 4);
    memcpy(from + 4, &high, 4);
    for (int i = 0; i < 4; ++i) found[i] = from[digits >> 4 * i & 7];
    memcpy(&low, found, 4);
    return low;
}

inline int __popc(int bits) { return __builtin_popcount(static_cast<unsigned>(bits)); }
template <class T> T __shfl_sync(uint32_t, T value, uint32_t lane) {
    return simulator::shuffle(value, lane);
}
template <class T> T __shfl_down_sync(uint32_t, T value, uint32_t lanes) {
    return simulator::shuffle_down(value, lanes);
}
template <class T> T __shfl_up_sync(uint32_t, T value, uint32_t lanes) {
    return simulator::shuffle_up(value, lanes);
}
inline uint32_t __ballot_sync(uint32_t, bool vote) { return simulator::ballot(vote); }

// platform.cuh has int64_t as `long long`, here it is `long`.
#define int64_t int64_of_cuda
#define uint64_t uint64_of_cuda
#define THREADS THREADS_OF_CUDA

inline void __threadfence() {}
template <class T> inline T atomicAdd(T* at, T value) {
    const T before = *at;
    *at = before + value;
    return before;
}
template <class T> inline T atomicCAS(T* at, T expected, T value) {
    const T before = *at;
    if (before == expected) *at = value;
    return before;
}
template <class T> inline T atomicMin(T* at, T value) {
    const T before = *at;
    if (value < before) *at = value;
    return before;
}
template <class T> inline T atomicMax(T* at, T value) {
    const T before = *at;
    if (value > before) *at = value;
    return before;
}

#include KERNEL_FILE

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

template <auto kernel> struct Given;
template <class P, void (*kernel)(P)>
struct Given<kernel> {
    using Params = P;
    static void call(const P& p) { kernel(p); }
};

extern "C" __attribute__((visibility("default"))) void* simulator_stacks() {
    return simulator::make_stacks(THREADS);
}
extern "C" __attribute__((visibility("default"))) void on_gpu(const simulator::Launch* given,
                                                              const void* parameters) {
    using Kernel = Given<KERNEL_NAME>;
    simulator::run_block_kernel<Kernel::Params, Kernel::call>(*given, TEXT(KERNEL_NAME),
                                                              parameters);
}
