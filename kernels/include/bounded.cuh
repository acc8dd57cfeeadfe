// Walks over tiled dimensions whose last tile has a tail. Each dimension is split into digits, as
// its tiles split its index, slowest first. The product of the digits' sizes is at least the size
// of the dimension. A walk visits all combinations of digits, and so also slots without an element.
// An index is the sum of its digits times their weights; it shows which slots have no element.
#pragma once

#include "indexing.cuh"

// Maximum number of dimensions with a tail (others need no index), and of digits of a walk.
constexpr int MOST_BOUNDS = 4, MOST_DIGITS = 16;

enum Standing { NOWHERE, IN_PADDING, AN_ELEMENT };

// Indices below `size` belong to elements; indices below `padded` belong to slots to be written.
struct Bounds {
    int32_t first[MOST_BOUNDS], size[MOST_BOUNDS], padded[MOST_BOUNDS];

    DEVICE Standing standing(const int32_t (&index)[MOST_BOUNDS]) const {
        bool element = true, written = true;
#pragma unroll
        for (int b = 0; b < MOST_BOUNDS; ++b) {
            element = element && index[b] < size[b];
            written = written && index[b] < padded[b];
        }
        return element ? AN_ELEMENT : written ? IN_PADDING : NOWHERE;
    }
};

// All digits, slowest in the written memory first, with a stride in each of N memories.
template <class Index, int N>
struct BoundedWalk {
    Divisor<Index> size[MOST_DIGITS];
    Index stride[N][MOST_DIGITS];
    int32_t weight[MOST_BOUNDS][MOST_DIGITS];
    Bounds bounds;
    int32_t rank;

    DEVICE Standing find(Unsigned<Index> number, Index (&at)[N]) const {
        int32_t index[MOST_BOUNDS];
        place(number, at, index, true);
        return bounds.standing(index);
    }

    // Computes the offsets and, if there are dimensions with tails, the indices along them.
    DEVICE void place(Unsigned<Index> number, Index (&at)[N], int32_t (&index)[MOST_BOUNDS],
                      bool tails) const {
        for (int n = 0; n < N; ++n) at[n] = 0;
#pragma unroll
        for (int b = 0; b < MOST_BOUNDS; ++b) index[b] = bounds.first[b];
        for (int d = rank - 1; d >= 0; --d) {
            const Unsigned<Index> slower = d ? size[d].divide(number) : 0;
            const Index digit = static_cast<Index>(number - slower * size[d].divisor);
#pragma unroll
            for (int n = 0; n < N; ++n) at[n] += digit * stride[n][d];
            if (tails) {
#pragma unroll
                for (int b = 0; b < MOST_BOUNDS; ++b)
                    index[b] += static_cast<int32_t>(digit) * weight[b][d];
            }
            number = slower;
        }
    }
};
