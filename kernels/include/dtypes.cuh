// The element types, their limits, and the conversions between them.
//
//   bool8              one byte
//   int8_t … uint64_t  defined in platform.cuh
//   half, bfloat16     stored in 16 bits; computed in float, with one rounding of the result
//   float, double
//   complex<T>         of float or double
//
// Types of 8 bits and fewer, which are only converted, are in narrow.cuh.
//
// The same source must compile with NVRTC, which has no headers, and with a host compiler, which
// has no CUDA types. So this file defines its own types. Their bits are those of NumPy's and
// DLPack's types of the same names.
#pragma once

#include "platform.cuh"

// Reinterprets the bits of a value as another type.
template <class To, class From>
DEVICE constexpr To bits_as(From from) {
    return __builtin_bit_cast(To, from);
}

// ---- Types --------------------------------------------------------------------------------------

// Any byte except 0 is true. Operations that compute store 0 and 1; operations that move elements
// as bits keep the bytes.
struct bool8 {
    uint8_t byte;
    bool8() = default;
    DEVICE bool8(bool value) : byte(value) {}
    DEVICE operator bool() const { return byte != 0; }
};

// IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction.
struct half {
    uint16_t bits;
    half() = default;
    DEVICE explicit half(float value);
    DEVICE explicit half(double value);
    DEVICE operator float() const;
};

// The upper half of a float: 1 bit of sign, 8 of exponent, 7 of fraction.
struct bfloat16 {
    uint16_t bits;
    bfloat16() = default;
    DEVICE explicit bfloat16(float value);
    DEVICE explicit bfloat16(double value);
    DEVICE operator float() const { return bits_as<float>(uint32_t(bits) << 16); }
};

template <class T>
struct alignas(2 * sizeof(T)) complex {
    T re, im;
};

// ---- What a type is -----------------------------------------------------------------------------

template <class T, class U> constexpr bool is_same = false;
template <class T> constexpr bool is_same<T, T> = true;

template <class T> constexpr bool is_complex = false;
template <class T> constexpr bool is_complex<complex<T>> = true;

template <class T>
constexpr bool is_floating =
    is_same<T, half> || is_same<T, bfloat16> || is_same<T, float> || is_same<T, double>;

template <class T> constexpr bool is_narrow = false;  // specialised in narrow.cuh

template <class T>
constexpr bool is_integer =
    !is_complex<T> && !is_floating<T> && !is_same<T, bool8> && !is_narrow<T>;

template <class T> constexpr bool is_signed = T(-1) < T(0);  // only for integers

template <bool condition, class T, class U> struct Choice { using type = T; };
template <class T, class U> struct Choice<false, T, U> { using type = U; };
template <bool condition, class T, class U>
using choose = typename Choice<condition, T, U>::type;

template <class T> struct Part { using type = T; };
template <class T> struct Part<complex<T>> { using type = T; };
template <class T> using part_of = typename Part<T>::type;  // of a complex type; otherwise T itself

// The unsigned integer type of the size of T.
template <class T>
using bits_of = choose<sizeof(T) == 1, uint8_t,
    choose<sizeof(T) == 2, uint16_t, choose<sizeof(T) == 4, uint32_t, uint64_t>>>;

// ---- What arithmetic is done in -----------------------------------------------------------------

// Returns the value as a built-in type of the language: 16-bit floats as float, bool8 as bool.
template <class T> DEVICE T number(T value) { return value; }
DEVICE float number(half value) { return value; }
DEVICE float number(bfloat16 value) { return value; }
DEVICE bool number(bool8 value) { return value; }

// Returns the same, but integers as unsigned integers of at least 32 bits, which wrap. Overflow of
// signed integers is undefined, also that of the `int` that narrower ones are promoted to.
template <class T> DEVICE auto wrapping(T value) {
    if constexpr (is_integer<T>) {
        return choose<sizeof(T) == 8, uint64_t, uint32_t>(value);
    } else {
        return number(value);
    }
}

// ---- Limits -------------------------------------------------------------------------------------

// The limits of float and double.
template <class T> struct limits;
template <> struct limits<float> {
    static constexpr float infinity = bits_as<float>(0x7f800000u);
    static constexpr float nan = bits_as<float>(0x7fc00000u);
    static constexpr float epsilon = 0x1p-23f;          // distance from 1 to the next number
    static constexpr float smallest_normal = 0x1p-126f;
    static constexpr float exp_overflows = 88.0f;       // exp(x) overflows here or soon after
};
template <> struct limits<double> {
    static constexpr double infinity = bits_as<double>(uint64_t(0x7ff) << 52);
    static constexpr double nan = bits_as<double>(uint64_t(0xfff) << 51);
    static constexpr double epsilon = 0x1p-52;
    static constexpr double smallest_normal = 0x1p-1022;
    static constexpr double exp_overflows = 709.0;
};

// Return the greatest and the least value of a real type, infinities included.
template <class T> DEVICE constexpr T highest() {
    if constexpr (is_integer<T>) {
        return is_signed<T> ? T(bits_of<T>(-1) >> 1) : T(-1);
    } else if constexpr (is_floating<T>) {
        return T(limits<decltype(number(T()))>::infinity);
    } else {
        return T(true);
    }
}
template <class T> DEVICE constexpr T lowest() {
    if constexpr (is_integer<T>) {
        return T(~bits_of<T>(highest<T>()));
    } else if constexpr (is_floating<T>) {
        return T(-limits<decltype(number(T()))>::infinity);
    } else {
        return T(false);
    }
}

// ---- Roundings to 16 bits: to nearest, ties to even ---------------------------------------------

DEVICE half::half(float value) {
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    uint32_t wide = bits_as<uint32_t>(value), sign = wide >> 16 & 0x8000;
    wide &= 0x7fffffff;
    if (wide > 0x7f800000) {
        bits = uint16_t(sign | 0x7e00 | (wide >> 13 & 0x3ff));  // NaN, quiet
    } else if (wide >= bits_as<uint32_t>(0x1p16f)) {
        bits = uint16_t(sign | 0x7c00);
    } else if (wide < bits_as<uint32_t>(0x1p-14f)) {
        // A denormal counts in units of 2**-24, the spacing of floats from 0.5 on, so the sum
        // rounds it.
        float shifted = bits_as<float>(wide) + 0.5f;
        bits = uint16_t(sign | (bits_as<uint32_t>(shifted) - bits_as<uint32_t>(0.5f)));
    } else {
        wide += 0xfff + (wide >> 13 & 1);  // carries into the exponent, up to infinity
        bits = uint16_t(sign | ((wide >> 13) - (112 << 10)));
    }
#endif
}

DEVICE half::operator float() const {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = uint32_t(bits & 0x7fff) << 13;
    if (rest >= 0x1fu << 23) return bits_as<float>(sign | 0x7f800000 | rest);
    float magnitude = bits_as<float>(rest) * 0x1p112f;  // the bias 15 becomes 127; denormals too
    return bits_as<float>(sign | bits_as<uint32_t>(magnitude));
#endif
}

DEVICE bfloat16::bfloat16(float value) {
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    uint32_t wide = bits_as<uint32_t>(value);
    if ((wide & 0x7fffffff) > 0x7f800000) {
        bits = uint16_t(wide >> 16 | 0x40);  // NaN, quiet
    } else {
        bits = uint16_t((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
    }
#endif
}

// Returns a float that rounds to 16 bits as `value` itself would: `value` truncated towards 0, with
// the last bit set if anything was lost. This bit decides every tie of the next rounding. Rounding
// to nearest instead would round twice.
DEVICE float rounded_to_odd(double value) {
    float nearest = float(value);
    uint32_t bits = bits_as<uint32_t>(nearest);
    bits -= value < 0 ? nearest < value : nearest > value;
    bits |= nearest != value;
    return bits_as<float>(bits);
}

// Does the same for 64-bit integers, of which a double holds 53 bits. If bits are lost, a bit far
// below those that a 16-bit float keeps is set.
template <class T>
DEVICE double rounded_to_double(T value) {
    constexpr T limit = T(1) << 53;
    bool fits = value < limit;
    if constexpr (is_signed<T>) fits = fits && value > -limit;
    if (fits) return double(value);
    return double(T(value >> 16 | T((value & 0xffff) != 0))) * 0x1p16;
}

DEVICE half::half(double value) : half(rounded_to_odd(value)) {}
DEVICE bfloat16::bfloat16(double value) : bfloat16(rounded_to_odd(value)) {}

// ---- Conversions --------------------------------------------------------------------------------

// Converts a float to an integer: truncates it, clamps values beyond the range to the nearest
// limit, and converts NaN to 0.
template <class To, class From>
DEVICE To truncated(From value) {
    constexpr To least = lowest<To>(), most = highest<To>();
    if (value >= From(most)) return most;
    if (value <= From(least)) return least;
    return value == value ? To(value) : To(0);
}

template <class To, bool saturating = false> struct NarrowedTo;  // defined in narrow.cuh

// Converts a number to another type. Conversion to a float rounds to nearest, ties to even.
// Integers wrap. A complex number becomes its real part in a real type. In bool, any number
// except 0 becomes true; this also normalises bool. Narrow types convert by value.
template <class To, class From>
DEVICE To convert(From value) {
    if constexpr (is_same<To, From> && !is_same<To, bool8>) {
        return value;
    } else if constexpr (is_narrow<From>) {
        return convert<To>(number(value));
    } else if constexpr (is_same<To, bool8> && is_complex<From>) {
        return value.re != 0 || value.im != 0;
    } else if constexpr (is_same<To, bool8>) {
        return number(value) != 0;
    } else if constexpr (is_complex<To> && is_complex<From>) {
        return {part_of<To>(value.re), part_of<To>(value.im)};
    } else if constexpr (is_complex<To>) {
        return {convert<part_of<To>>(value), 0};
    } else if constexpr (is_complex<From>) {
        return convert<To>(value.re);
    } else if constexpr (is_narrow<To>) {
        return NarrowedTo<To>::from(value);
    } else if constexpr (is_integer<To> && is_floating<From>) {
        return truncated<To>(number(value));
    } else if constexpr (is_same<To, bfloat16> && is_integer<From> && sizeof(From) == 8) {
        return bfloat16(rounded_to_double(value));
    } else if constexpr (is_same<To, half> || is_same<To, bfloat16>) {
        return To(double(number(value)));
    } else {
        return To(number(value));
    }
}
