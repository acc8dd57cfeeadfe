// CUB's device algorithms under plain names: each returns the bytes of temporary memory that it
// needs, and does nothing else without any. And the functions through which CuPy calls CUB, for the
// types that the rows need; they stand in for those of CuPy's modules.

#include <cuda_fp16.h>

#include <cub/cub.cuh>
#include <cub/device/device_transform.cuh>

#include <cstdint>
#include <stdexcept>

#define EXPORT(name, T, call)                                                                 \
    extern "C" size_t name(void* space, size_t bytes, const T* x, T* y, int n, int columns) { \
        call;                                                                                 \
        return bytes;                                                                         \
    }

#define ALGORITHMS(T, name)                                                                 \
    EXPORT(sum_##name, T, cub::DeviceReduce::Sum(space, bytes, x, y, n))                    \
    EXPORT(cumsum_##name, T, cub::DeviceScan::InclusiveSum(space, bytes, x, y, n))          \
    EXPORT(sort_##name, T, cub::DeviceRadixSort::SortKeys(space, bytes, x, y, n))           \
    EXPORT(rows_sum_##name, T, cub::DeviceSegmentedReduce::Sum(space, bytes, x, y, n, columns))

// Functions of elements need no temporary memory.
#define ELEMENTWISE(name, T, inputs, ...)                                                      \
    extern "C" size_t name(void* space, size_t, __VA_ARGS__, T* z, int n) {                    \
        if (space) cub::DeviceTransform::Transform(cuda::std::make_tuple inputs, z, n, Of<T>{}); \
        return 1;                                                                              \
    }

template <class T> struct Of {
    __device__ T operator()(T x, T y) const { return x + y; }
    template <class S> __device__ T operator()(S x) const { return static_cast<T>(x); }
    __device__ T operator()(bool which, T x, T y) const { return which ? x : y; }
};

#define ADDITION(T, name) ELEMENTWISE(add_##name, T, (x, y), const T* x, const T* y)

ADDITION(float, float32)
ADDITION(double, float64)
ADDITION(__half, float16)
ADDITION(uint8_t, uint8)
ADDITION(int64_t, int64)
ELEMENTWISE(float16_of_float32, __half, (x), const float* x)
ELEMENTWISE(float32_of_uint8, float, (x), const uint8_t* x)
ELEMENTWISE(int32_of_float32, int32_t, (x), const float* x)
ELEMENTWISE(where_float32, float, (m, x, y), const bool* m, const float* x, const float* y)

ALGORITHMS(float, float32)
ALGORITHMS(double, float64)
ALGORITHMS(__half, float16)
ALGORITHMS(uint8_t, uint8)
ALGORITHMS(int64_t, int64)

EXPORT(max_float32, float, cub::DeviceReduce::Max(space, bytes, x, y, n))
EXPORT(rows_max_float32, float, cub::DeviceSegmentedReduce::Max(space, bytes, x, y, n, columns))

// ---- Algorithms with other operands

using Position = cub::KeyValuePair<int, float>;

extern "C" size_t argmax_float32(void* space, size_t bytes, const float* x, Position* y, int n) {
    cub::DeviceReduce::ArgMax(space, bytes, x, y, n);
    return bytes;
}

extern "C" size_t rows_argmax_float32(void* space, size_t bytes, const float* x,
                                      cuda::std::pair<int, float>* y, int rows, int columns) {
    cub::DeviceSegmentedReduce::ArgMax(space, bytes, x, y, rows, columns);
    return bytes;
}

extern "C" size_t select_float32(void* space, size_t bytes, const float* x, const bool* flags,
                                 float* y, int* count, int n) {
    cub::DeviceSelect::Flagged(space, bytes, x, flags, y, count, n);
    return bytes;
}

extern "C" size_t argsort_float32(void* space, size_t bytes, const float* x, float* sorted,
                                  const int* positions, int* y, int n) {
    cub::DeviceRadixSort::SortPairs(space, bytes, x, sorted, positions, y, n);
    return bytes;
}

extern "C" size_t rows_sort_float32(void* space, size_t bytes, const float* x, float* y,
                                    const int* begins, int rows, int columns) {
    cub::DeviceSegmentedSort::SortKeys(space, bytes, x, y, rows * columns, rows, begins, begins + 1);
    return bytes;
}

// ---- As CuPy calls CUB

namespace {
enum { SUM, MIN, MAX, ARGMIN, ARGMAX, CUMSUM };  // CuPy's numbers of operations

// Calls a function with a null pointer of the type that CuPy gives this number.
template <class F>
void with_type(int type, F function) {
    switch (type) {
        case 6: return function(static_cast<int64_t*>(nullptr));
        case 8: return function(static_cast<__half*>(nullptr));
        case 9: return function(static_cast<float*>(nullptr));
        case 10: return function(static_cast<double*>(nullptr));
        default: throw std::runtime_error("a type that algorithms.cu does not have");
    }
}
}  // namespace

void cub_device_reduce(void* space, size_t& bytes, void* x, void* y, int n, cudaStream_t, int what,
                       int type) {
    if (what == ARGMAX && type == 9) {
        cub::DeviceReduce::ArgMax(space, bytes, static_cast<float*>(x), static_cast<Position*>(y), n);
        return;
    }
    with_type(type, [&](auto* kind) {
        auto from = static_cast<decltype(kind)>(x), to = static_cast<decltype(kind)>(y);
        if (what == SUM) cub::DeviceReduce::Sum(space, bytes, from, to, n);
        else if (what == MAX) cub::DeviceReduce::Max(space, bytes, from, to, n);
        else throw std::runtime_error("a reduction that algorithms.cu does not have");
    });
}
size_t cub_device_reduce_get_workspace_size(void* x, void* y, int n, cudaStream_t stream, int what,
                                            int type) {
    size_t bytes = 0;
    cub_device_reduce(nullptr, bytes, x, y, n, stream, what, type);
    return bytes;
}

void cub_device_segmented_reduce(void* space, size_t& bytes, void* x, void* y, int rows, int columns,
                                 cudaStream_t, int what, int type) {
    with_type(type, [&](auto* kind) {
        using T = decltype(kind);
        auto from = static_cast<T>(x), to = static_cast<T>(y);
        if (what == SUM) cub::DeviceSegmentedReduce::Sum(space, bytes, from, to, rows, columns);
        else if (what == MAX) cub::DeviceSegmentedReduce::Max(space, bytes, from, to, rows, columns);
        else throw std::runtime_error("a reduction that algorithms.cu does not have");
    });
}
size_t cub_device_segmented_reduce_get_workspace_size(void* x, void* y, int rows, int columns,
                                                      cudaStream_t stream, int what, int type) {
    size_t bytes = 0;
    cub_device_segmented_reduce(nullptr, bytes, x, y, rows, columns, stream, what, type);
    return bytes;
}

void cub_device_scan(void* space, size_t& bytes, void* x, void* y, int n, cudaStream_t, int what,
                     int type) {
    if (what != CUMSUM) throw std::runtime_error("a scan that algorithms.cu does not have");
    with_type(type, [&](auto* kind) {
        using T = decltype(kind);
        cub::DeviceScan::InclusiveSum(space, bytes, static_cast<T>(x), static_cast<T>(y), n);
    });
}
size_t cub_device_scan_get_workspace_size(void* x, void* y, int n, cudaStream_t stream, int what,
                                          int type) {
    size_t bytes = 0;
    cub_device_scan(nullptr, bytes, x, y, n, stream, what, type);
    return bytes;
}
