// Types of 8 bits and fewer. They occupy the low bits of a byte; the other bits are not read.
//
//   float8_…, float6_…, float4_…   decoded to float, which represents all their values exactly
//   int1_t … uint4_t               converted as int8_t and uint8_t
//   saturated<T>                   one of these as a target: values out of range become its limit
//
// Operations that compute convert them (`number`); operations that move elements as bits keep all
// 8. Every conversion to one of the floats rounds once, to nearest, ties to even, and uses
// operations on integers: the instructions that some GPUs have for some of these types always
// saturate, and drop the sign of NaN.
#pragma once

#include "dtypes.cuh"

// ---- Floats -------------------------------------------------------------------------------------

// Bit patterns with a special meaning. All `narrow_float` types except those of ZERO_IS_NAN have
// zeros of both signs.
enum Specials {
    NO_SPECIALS,   // none; larger numbers become the largest, NaN becomes -0
    INFINITY_NAN,  // the last exponent, as in IEEE 754
    LAST_IS_NAN,   // all ones are NaN; larger numbers become NaN
    ZERO_IS_NAN,   // -0 is NaN, decoded without its sign; larger numbers become NaN
};

// Exponent and Fraction are numbers of bits; Bias is added to an exponent.
template <int Exponent, int Fraction, int Bias, Specials specials>
struct narrow_float {
    uint8_t bits;

    static constexpr uint32_t SIGN = 1u << (Exponent + Fraction);
    static constexpr uint32_t MOST = specials == INFINITY_NAN  ? SIGN - (1u << Fraction) - 1
                                     : specials == LAST_IS_NAN ? SIGN - 2
                                                               : SIGN - 1;
    static constexpr uint32_t BEYOND = specials == NO_SPECIALS ? MOST : MOST + 1;
    static constexpr uint32_t NAN_BITS = specials == INFINITY_NAN  ? BEYOND | 1u << (Fraction - 1)
                                         : specials == LAST_IS_NAN ? BEYOND
                                                                   : SIGN;

    DEVICE operator float() const {
        const uint32_t rest = bits & (SIGN - 1), sign = uint32_t(bits & SIGN) * (0x80000000 / SIGN);
        if (specials == ZERO_IS_NAN && rest == 0) return sign ? limits<float>::nan : 0;
        // Exponents are those of floats with another bias; the product is right for denormals, too.
        constexpr float scale = bits_as<float>(uint32_t(254 - Bias) << 23);
        float magnitude = bits_as<float>(rest << (23 - Fraction)) * scale;
        if (specials == INFINITY_NAN && rest == BEYOND) magnitude = limits<float>::infinity;
        else if (rest > MOST) magnitude = limits<float>::nan;
        return bits_as<float>(sign | bits_as<uint32_t>(magnitude));
    }

    template <bool saturating>
    static DEVICE narrow_float rounded(float value) {
        constexpr int cut = 23 - Fraction, lower = 127 - Bias;
        constexpr float smallest_normal = bits_as<float>(uint32_t(lower + 1) << 23);
        // The last bit of this number is the smallest denormal, so that the sum rounds denormals.
        constexpr float units = bits_as<float>(uint32_t(lower + 1 + cut) << 23);
        uint32_t wide = bits_as<uint32_t>(value), sign = wide >> 31 ? SIGN : 0, rest;
        wide &= 0x7fffffff;
        if (wide > 0x7f800000) {
            rest = NAN_BITS;
        } else {
            if (wide < bits_as<uint32_t>(smallest_normal)) {
                rest = bits_as<uint32_t>(bits_as<float>(wide) + units) - bits_as<uint32_t>(units);
            } else {
                wide += (1u << (cut - 1)) - 1 + (wide >> cut & 1);  // carries into the exponent
                rest = (wide >> cut) - (uint32_t(lower) << Fraction);
            }
            if (rest > MOST) rest = saturating ? MOST : BEYOND;
            if (specials == ZERO_IS_NAN && rest == 0) sign = 0;
        }
        return {uint8_t(sign | rest)};
    }
};

using float8_e3m4 = narrow_float<3, 4, 3, INFINITY_NAN>;
using float8_e4m3 = narrow_float<4, 3, 7, INFINITY_NAN>;
using float8_e4m3b11fnuz = narrow_float<4, 3, 11, ZERO_IS_NAN>;
using float8_e4m3fn = narrow_float<4, 3, 7, LAST_IS_NAN>;
using float8_e4m3fnuz = narrow_float<4, 3, 8, ZERO_IS_NAN>;
using float8_e5m2 = narrow_float<5, 2, 15, INFINITY_NAN>;
using float8_e5m2fnuz = narrow_float<5, 2, 16, ZERO_IS_NAN>;
using float6_e2m3fn = narrow_float<2, 3, 1, NO_SPECIALS>;
using float6_e3m2fn = narrow_float<3, 2, 3, NO_SPECIALS>;
using float4_e2m1fn = narrow_float<2, 1, 1, NO_SPECIALS>;

// A power of two, at least 2**-127, or NaN: no sign, no zero. Its one digit is odd, so ties round
// up.
struct float8_e8m0fnu {
    uint8_t bits;

    DEVICE operator float() const {
        if (bits == 0) return 0x1p-127f;
        return bits == 0xff ? limits<float>::nan : bits_as<float>(uint32_t(bits) << 23);
    }

    // Values below the smallest, and 0, become the smallest; negative values become NaN.
    template <bool saturating>
    static DEVICE float8_e8m0fnu rounded(float value) {
        const uint32_t wide = bits_as<uint32_t>(value);
        if (value == 0) return {0};
        if (wide > 0x7f800000) return {0xff};
        if (wide < bits_as<uint32_t>(0x1.8p-127f)) return {0};
        const uint32_t exponent = (wide + 0x400000) >> 23;
        return {uint8_t(saturating && exponent == 0xff ? 0xfe : exponent)};
    }
};

// ---- Integers -----------------------------------------------------------------------------------

template <int Bits, bool Signed>
struct narrow_integer {
    uint8_t bits;

    using byte = choose<Signed, int8_t, uint8_t>;
    static constexpr int MASK = (1 << Bits) - 1, MOST = MASK >> Signed, LEAST = MOST - MASK;

    DEVICE operator byte() const { return byte(byte(bits << (8 - Bits)) >> (8 - Bits)); }

    // Converts an integer or bool: wraps it, or returns the nearest limit.
    template <bool saturating, class From>
    static DEVICE narrow_integer cut(From value) {
        if constexpr (saturating) {
            if (value > From(MOST)) return {uint8_t(MOST)};
            if constexpr (is_signed<From>)
                if (value < From(LEAST)) return {uint8_t(LEAST & MASK)};
        }
        return {uint8_t(uint8_t(value) & MASK)};
    }
};

using int1_t = narrow_integer<1, true>;
using int2_t = narrow_integer<2, true>;
using int4_t = narrow_integer<4, true>;
using uint1_t = narrow_integer<1, false>;
using uint2_t = narrow_integer<2, false>;
using uint4_t = narrow_integer<4, false>;

template <class T> struct saturated : T {};

// ---- Conversions --------------------------------------------------------------------------------

template <int E, int F, int B, Specials s> constexpr bool is_narrow<narrow_float<E, F, B, s>> = true;
template <> constexpr bool is_narrow<float8_e8m0fnu> = true;
template <int Bits, bool Signed> constexpr bool is_narrow<narrow_integer<Bits, Signed>> = true;
template <class T> constexpr bool is_narrow<saturated<T>> = true;

template <int E, int F, int B, Specials s>
DEVICE float number(narrow_float<E, F, B, s> value) { return value; }
DEVICE float number(float8_e8m0fnu value) { return value; }
template <int Bits, bool Signed>
DEVICE auto number(narrow_integer<Bits, Signed> value) {
    return typename narrow_integer<Bits, Signed>::byte(value);
}

// Returns a float that rounds to a narrow float as `value` itself would.
template <class From>
DEVICE float as_float(From value) {
    if constexpr (is_integer<From> && sizeof(From) == 8) return rounded_to_odd(rounded_to_double(value));
    else if constexpr (sizeof(From) >= 4 && !is_same<From, float>) return rounded_to_odd(double(value));
    else return number(value);
}

template <class To, bool saturating> struct NarrowedTo {
    template <class From>
    static DEVICE To from(From value) { return To::template rounded<saturating>(as_float(value)); }
};
template <int Bits, bool Signed, bool saturating>
struct NarrowedTo<narrow_integer<Bits, Signed>, saturating> {
    using To = narrow_integer<Bits, Signed>;
    template <class From>
    static DEVICE To from(From value) {
        if constexpr (is_floating<From>) {
            return To::template cut<true>(truncated<typename To::byte>(number(value)));
        } else if constexpr (is_same<From, bool8>) {
            return To::template cut<saturating>(int32_t(value));
        } else {
            return To::template cut<saturating>(value);
        }
    }
};
template <class T> struct NarrowedTo<saturated<T>, false> {
    template <class From>
    static DEVICE saturated<T> from(From value) { return {NarrowedTo<T, true>::from(value)}; }
};
