// Functions of float and double: the functions of the C library, which CUDA has built in, under one
// name for both types, and functions that the library lacks. (16-bit floats are computed in float.)
#pragma once

#include "dtypes.cuh"

#ifdef TENSORLAYOUT_SIMULATOR
#include <math.h>
#endif

namespace math {

// ---- The library's ------------------------------------------------------------------------------

#define LIBRARY_FUNCTION(ours, library)                            \
    DEVICE float ours(float x) { return ::library##f(x); }         \
    DEVICE double ours(double x) { return ::library(x); }
#define LIBRARY_FUNCTION_OF_TWO(ours, library)                                  \
    DEVICE float ours(float x, float y) { return ::library##f(x, y); }          \
    DEVICE double ours(double x, double y) { return ::library(x, y); }

LIBRARY_FUNCTION(abs, fabs)
LIBRARY_FUNCTION(acos, acos)
LIBRARY_FUNCTION(acosh, acosh)
LIBRARY_FUNCTION(asin, asin)
LIBRARY_FUNCTION(asinh, asinh)
LIBRARY_FUNCTION(atan, atan)
LIBRARY_FUNCTION(atanh, atanh)
LIBRARY_FUNCTION(ceil, ceil)
LIBRARY_FUNCTION(cos, cos)
LIBRARY_FUNCTION(cosh, cosh)
LIBRARY_FUNCTION(exp, exp)
LIBRARY_FUNCTION(expm1, expm1)
LIBRARY_FUNCTION(floor, floor)
LIBRARY_FUNCTION(log, log)
LIBRARY_FUNCTION(log10, log10)
LIBRARY_FUNCTION(log1p, log1p)
LIBRARY_FUNCTION(log2, log2)
LIBRARY_FUNCTION(round, rint)
LIBRARY_FUNCTION(sin, sin)
LIBRARY_FUNCTION(sinh, sinh)
LIBRARY_FUNCTION(sqrt, sqrt)
LIBRARY_FUNCTION(tan, tan)
LIBRARY_FUNCTION(tanh, tanh)
LIBRARY_FUNCTION(trunc, trunc)
LIBRARY_FUNCTION_OF_TWO(atan2, atan2)
LIBRARY_FUNCTION_OF_TWO(fmod, fmod)
LIBRARY_FUNCTION_OF_TWO(hypot, hypot)
LIBRARY_FUNCTION_OF_TWO(pow, pow)

#undef LIBRARY_FUNCTION
#undef LIBRARY_FUNCTION_OF_TWO

// Returns x * y + z, rounded once.
DEVICE float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
DEVICE double fma(double x, double y, double z) { return ::fma(x, y, z); }

#ifdef TENSORLAYOUT_SIMULATOR
template <class T> DEVICE void sincos(T x, T* sine, T* cosine) {
    *sine = sin(x);
    *cosine = cos(x);
}
#else
DEVICE void sincos(float x, float* sine, float* cosine) { ::sincosf(x, sine, cosine); }
DEVICE void sincos(double x, double* sine, double* cosine) { ::sincos(x, sine, cosine); }
#endif

// ---- Kinds of numbers ---------------------------------------------------------------------------

template <class T> DEVICE bool isnan(T x) { return x != x; }
template <class T> DEVICE bool isinf(T x) { return abs(x) == limits<T>::infinity; }
template <class T> DEVICE bool isfinite(T x) { return abs(x) < limits<T>::infinity; }

// ---- By bits: of all four floating-point types, NaN included ------------------------------------

template <class T> constexpr bits_of<T> sign_bit = bits_of<T>(bits_of<T>(1) << (8 * sizeof(T) - 1));

template <class T> DEVICE bool signbit(T x) { return (bits_as<bits_of<T>>(x) & sign_bit<T>) != 0; }

template <class T> DEVICE T copysign(T magnitude, T sign) {
    bits_of<T> rest = bits_as<bits_of<T>>(magnitude) & bits_of<T>(~sign_bit<T>);
    return bits_as<T>(bits_of<T>(rest | (bits_as<bits_of<T>>(sign) & sign_bit<T>)));
}

// For numbers of one sign, the bits as an integer count up with the magnitude.
template <class T> DEVICE T nextafter(T x, T towards) {
    auto from = number(x), to = number(towards);
    if (isnan(from)) return x;
    if (isnan(to) || from == to) return towards;
    bits_of<T> bits = bits_as<bits_of<T>>(x);
    if (from == 0) return bits_as<T>(bits_of<T>((bits_as<bits_of<T>>(towards) & sign_bit<T>) | 1));
    bool away_from_zero = (from < to) == (from > 0);
    return bits_as<T>(bits_of<T>(away_from_zero ? bits + 1 : bits - 1));
}

// ---- What the library lacks ---------------------------------------------------------------------

// Both return NaN if either argument is NaN, and the second of two zeros of opposite signs.
template <class T> DEVICE T maximum(T x, T y) { return x > y || isnan(x) ? x : y; }
template <class T> DEVICE T minimum(T x, T y) { return x < y || isnan(x) ? x : y; }

template <class T> DEVICE T sign(T x) { return isnan(x) ? x : T((x > 0) - (x < 0)); }

template <class T> DEVICE T logaddexp(T x, T y) {
    if (x == y) return x + T(0.6931471805599453);  // also for infinities, whose difference is NaN
    return (x > y ? x : y) + log1p(exp(-abs(x - y)));
}

// Returns `rest`, a remainder of division by y with the sign of y. If rounding has made it equal to
// y, returns the next number towards 0, because the magnitude of a remainder must be smaller than
// that of y.
template <class T> DEVICE T below(T rest, T y) {
    if (number(rest) != number(y) || !isfinite(number(y)) || number(y) == 0) return rest;
    return bits_as<T>(bits_of<T>(bits_as<bits_of<T>>(y) - 1));
}

// Returns the remainder of the floored quotient, with the sign of y, also if it is zero.
template <class T> DEVICE T remainder(T x, T y) {
    T rest = fmod(x, y);
    if (rest == 0) return copysign(T(0), y);
    return (rest < 0) != (y < 0) ? rest + y : rest;  // NaN stays NaN
}

// Returns the quotient rounded towards minus infinity. In double, a quotient of floats below 2**29
// cannot round up to the next integer; greater quotients are rounded to 24 bits anyway.
DEVICE float floor_divide(float x, float y) { return float(floor(double(x) / double(y))); }

// In double, fmod recovers the quotient as it was before rounding. Any fraction left in it is the
// error of the last division.
DEVICE double floor_divide(double x, double y) {
    double quotient = x / y;
    if (y == 0 || isinf(x) || isinf(y)) return floor(quotient);
    double rest = fmod(x, y);
    double exact = (x - rest) / y;
    if (rest != 0 && (rest < 0) != (y < 0)) exact -= 1;
    return exact == 0 ? copysign(0.0, quotient) : round(exact);
}

}  // namespace math
