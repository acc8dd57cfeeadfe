// CUB's device algorithms under plain names, and the functions through which CuPy calls CUB.

#include <cub/cub.cuh>

#include <cstdint>

#define FOR_TYPES(M) M(float, float32) M(double, float64) M(uint8_t, uint8) M(int64_t, int64)

#define SUM(T, name)                                                                      \
    extern "C" size_t sum_##name(void* space, size_t bytes, const T* x, T* y, int n) {    \
        cub::DeviceReduce::Sum(space, bytes, x, y, n);                                    \
        return bytes;                                                                     \
    }
#define SCAN(T, name)                                                                     \
    extern "C" size_t cumsum_##name(void* space, size_t bytes, const T* x, T* y, int n) { \
        cub::DeviceScan::InclusiveSum(space, bytes, x, y, n);                             \
        return bytes;                                                                     \
    }
#define SORT(T, name)                                                                     \
    extern "C" size_t sort_##name(void* space, size_t bytes, const T* x, T* y, int n) {   \
        cub::DeviceRadixSort::SortKeys(space, bytes, x, y, n);                            \
        return bytes;                                                                     \
    }
FOR_TYPES(SUM)
FOR_TYPES(SCAN)
FOR_TYPES(SORT)

extern "C" size_t select_float32(void* space, size_t bytes, const float* x, const bool* flags,
                                 float* y, int* count, int n) {
    cub::DeviceSelect::Flagged(space, bytes, x, flags, y, count, n);
    return bytes;
}
extern "C" size_t rows_sum_float32(void* space, size_t bytes, const float* x, float* y, int rows,
                                   int columns) {
    cub::DeviceSegmentedReduce::Sum(space, bytes, x, y, rows, columns);
    return bytes;
}
