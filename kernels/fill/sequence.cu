// Writes values that depend only on the number of the element, to one run of memory: arange,
// linspace, frequencies. The plan chooses the kernel and the constants.
//
// sequence_integers  Computes start + number * step modulo 2**64, which is exact for all values
//                    that fit the type. RESULT is the unsigned type of its size.
// sequence_real      Computes start + number * step in double. Numbers may become negative from
//                    some element on, and may be divided first. Results are rounded once; integers
//                    are rounded down.
// sequence_complex   The same in pairs of doubles, for linspace from or to a complex number.
//
// The arithmetic is NumPy's, operation by operation, so that CPU and GPU compute the same bits.
//
// The run begins at a multiple of 16 bytes. Consecutive threads write consecutive packs of 16 bytes
// (several per thread for wide types, 256 packs apart). The first block also writes the elements
// after the last pack. Writes are coalesced; nothing is read. Bytes moved per element: its own,
// once. Best: long runs. Worst: GPUs with few units for double, which the two or three operations
// on double for each element keep busy.
#include "functions_real.cuh"
#include "memory.cuh"

using complex64 = complex<float>;
using complex128 = complex<double>;

struct Integers {
    void* to;
    uint64_t start, step;
    int64_t count;

    template <class T> DEVICE T at(int64_t number) const {
        return static_cast<T>(static_cast<uint64_t>(number) * step + start);
    }
};

struct Real {
    void* to;
    double start, step;
    double divisor;  // of the number; 1: no division
    double back;     // subtracted from numbers from `turn` on
    double last;     // the value of element `end`; an `end` of -1: no such element
    int64_t turn, end, count;

    template <class T> DEVICE T at(int64_t number) const {
        double value = static_cast<double>(number) - (number >= turn ? back : 0.0);
        if (divisor != 1) value /= divisor;
        value = value * step + start;
        if (number == end) value = last;
        if constexpr (is_integer<T>) value = math::floor(value);
        return convert<T>(value);
    }
};

struct Complex {
    void* to;
    double start[2], step[2], last[2];  // real and imaginary parts
    double factor;                      // of the number
    int64_t end, count;

    template <class T> DEVICE T at(int64_t number) const {
        const double real = static_cast<double>(number) * factor;
        // NumPy multiplies by a complex number whose imaginary part is 0: infinities become NaN.
        complex128 value{real * step[0] - 0.0 * step[1], real * step[1] + 0.0 * step[0]};
        value = {value.re + start[0], value.im + start[1]};
        if (number == end) value = {last[0], last[1]};
        return convert<T>(value);
    }
};

template <class T, class Values>
DEVICE void write_sequence(const Values& p) {
    constexpr int LENGTH = 16 / sizeof(T);
    constexpr int PACKS = LENGTH < 4 ? 4 / LENGTH : 1;
    T* const to = static_cast<T*>(p.to);
    const int64_t packs = p.count / LENGTH;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * (PACKS * THREADS) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int64_t number = first + k * THREADS;
        Pack<T, LENGTH> pack;
#pragma unroll
        for (int j = 0; j < LENGTH; ++j) pack.at[j] = p.template at<T>(number * LENGTH + j);
        store_if(number < packs, reinterpret_cast<Pack<T, LENGTH>*>(to) + number, pack);
    }
    if (blockIdx.x != 0) return;
    const int64_t rest = packs * LENGTH + threadIdx.x;
    if (rest < p.count) store(to + rest, p.template at<T>(rest));
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(INTEGER)
SHAPES(INTEGER = uint8_t uint16_t uint32_t uint64_t)
KERNEL(sequence_integers, Integers) { write_sequence<INTEGER>(p); }
#elif defined(REAL)
SHAPES(REAL = int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
              half bfloat16 float double complex64 complex128)
KERNEL(sequence_real, Real) { write_sequence<REAL>(p); }
#else
SHAPES(COMPLEX = complex64 complex128)
KERNEL(sequence_complex, Complex) { write_sequence<COMPLEX>(p); }
#endif
