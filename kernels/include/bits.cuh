// Elements as bits: what is copied and filled has a width in bytes and no number type.
#pragma once

#include "memory.cuh"

template <int BYTES> struct BitsOf;
template <> struct BitsOf<1> { using Type = uint8_t; };
template <> struct BitsOf<2> { using Type = uint16_t; };
template <> struct BitsOf<4> { using Type = uint32_t; };
template <> struct BitsOf<8> { using Type = uint64_t; };
template <> struct BitsOf<16> { using Type = Pack<uint64_t, 2>; };

template <int BYTES> using Bits = typename BitsOf<BYTES>::Type;

// The first bytes of a pattern that is repeated to 16.
template <int Width> DEVICE Bits<Width> low_bits(const uint64_t (&bits)[2]) {
    return static_cast<Bits<Width>>(bits[0]);
}
template <> DEVICE Bits<16> low_bits<16>(const uint64_t (&bits)[2]) { return {{bits[0], bits[1]}}; }
