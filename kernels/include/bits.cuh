// Elements as bits: for copies and fills, an element has a width in bytes but no number type.
#pragma once

#include "memory.cuh"

template <int BYTES> struct BitsOf;
template <> struct BitsOf<1> { using Type = uint8_t; };
template <> struct BitsOf<2> { using Type = uint16_t; };
template <> struct BitsOf<4> { using Type = uint32_t; };
template <> struct BitsOf<8> { using Type = uint64_t; };
template <> struct BitsOf<16> { using Type = Pack<uint64_t, 2>; };

template <int BYTES> using Bits = typename BitsOf<BYTES>::Type;

// Returns the first Width bytes of a pattern that is repeated to 16 bytes.
template <int Width> DEVICE Bits<Width> low_bits(const uint64_t (&bits)[2]) {
    return static_cast<Bits<Width>>(bits[0]);
}
template <> DEVICE Bits<16> low_bits<16>(const uint64_t (&bits)[2]) { return {{bits[0], bits[1]}}; }

// Returns the number of bits that are set.
DEVICE uint32_t count_ones(uint32_t bits) {
#ifdef TENSORLAYOUT_SIMULATOR
    return static_cast<uint32_t>(__builtin_popcount(bits));
#else
    return static_cast<uint32_t>(__popc(static_cast<int>(bits)));
#endif
}

// Returns the number of bytes that are not 0.
DEVICE uint32_t count_nonzero_bytes(uint64_t bytes) {
    constexpr uint64_t LOW = 0x7f7f7f7f7f7f7f7full;
    const uint64_t highest = (((bytes & LOW) + LOW) | bytes) & ~LOW;
    return count_ones(static_cast<uint32_t>(highest)) +
           count_ones(static_cast<uint32_t>(highest >> 32));
}
