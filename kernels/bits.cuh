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
