// Quotients by the divisors of indexing.cuh: quotients[i * numbers + j] = number j / divisor i.
#include "indexing.cuh"
#include "memory.cuh"

struct Division {
    uint32_t* quotients;
    const Divisor<int32_t>* divisors;
    const uint32_t* dividends;
    int64_t numbers, count;
};

KERNEL(divide, Division) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= p.count) return;
    const Divisor<int32_t> divisor = p.divisors[i / p.numbers];
    store(p.quotients + i, divisor.divide(load(p.dividends + i % p.numbers)));
}
