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
