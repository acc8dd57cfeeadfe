// Computes offsets from the number of an element: divides by sizes that the host knows, and
// unravels the number over dimensions.
#pragma once

#include "platform.cuh"

// Maximum rank of a layout.
constexpr int MAX_RANK = 64;

// Maximum number of dimensions of size 2 or more in a loop over fewer than 2**41 elements.
constexpr int ANY_RANK = 40;
template <int Rank> constexpr int CAPACITY = Rank ? Rank : ANY_RANK;

// Elements per thread in a walk over `Rank` dimensions. For any rank (0) it is one: more would
// spill registers.
template <int Rank> constexpr int PER_WALK = Rank ? 4 : 1;

// Division by a number fixed before the launch.
template <class Index> struct Divisor;

// Computes n / divisor for 0 <= n < 2**31 and 1 <= divisor < 2**31, by multiplication. With s the
// least number for which 2**s >= divisor, and
//     magic = floor(2**32 * (2**s - divisor) / divisor) + 1,
// the quotient is (high word of n * magic + n) >> s (Granlund and Montgomery, 1994). The sum stays
// below 2**32.
template <> struct Divisor<int32_t> {
    uint32_t divisor, magic, shift;

    DEVICE uint32_t divide(uint32_t n) const {
        return (static_cast<uint32_t>(static_cast<uint64_t>(n) * magic >> 32) + n) >> shift;
    }
};

// Uses ordinary division, because only few, huge tensors have 64-bit indices.
template <> struct Divisor<int64_t> {
    int64_t divisor;

    DEVICE uint64_t divide(uint64_t n) const { return n / static_cast<uint64_t>(divisor); }
};

template <class Index> struct UnsignedOf;
template <> struct UnsignedOf<int32_t> { using Type = uint32_t; };
template <> struct UnsignedOf<int64_t> { using Type = uint64_t; };
template <class Index> using Unsigned = typename UnsignedOf<Index>::Type;

// `Rank` dimensions, slowest first, with a stride in each of N memories. The coordinate of the
// slowest dimension is the remaining index, without a division.
template <int Rank, class Index, int N>
struct Walk {
    Divisor<Index> size[Rank];
    Index stride[N][Rank];

    DEVICE void offsets(Unsigned<Index> index, Index (&at)[N]) const {
        for (int n = 0; n < N; ++n) at[n] = 0;
#pragma unroll
        for (int d = Rank - 1; d > 0; --d) {
            const Unsigned<Index> slower = size[d].divide(index);
            step(d, static_cast<Index>(index - slower * size[d].divisor), at);
            index = slower;
        }
        step(0, static_cast<Index>(index), at);
    }

    DEVICE void step(int d, Index count, Index (&at)[N]) const {
#pragma unroll
        for (int n = 0; n < N; ++n) at[n] += count * stride[n][d];
    }
};

// Walk of any rank that a layout can have.
template <class Index, int N>
struct Walk<0, Index, N> {
    Divisor<Index> size[MAX_RANK];
    Index stride[N][MAX_RANK];
    Index rank;

    DEVICE void offsets(Unsigned<Index> index, Index (&at)[N]) const {
        for (int n = 0; n < N; ++n) at[n] = 0;
        for (int d = static_cast<int>(rank) - 1; d >= 0; --d) {
            const Unsigned<Index> slower = d ? size[d].divide(index) : 0;
            const Index count = static_cast<Index>(index - slower * size[d].divisor);
#pragma unroll
            for (int n = 0; n < N; ++n) at[n] += count * stride[n][d];
            index = slower;
        }
    }
};
