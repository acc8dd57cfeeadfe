// One functor per elementwise function: functions::add<T>::apply(x, y). The functors define what
// the package computes. Their names are those of tensorlayout/functions/elementwise.py, whose table
// lists the dtypes that each accepts.
//
// All operands have one type T, except the condition of `where`, and the scale and the bias of
// `scale_bias`, which may be wider. The result has the type T as well, except for comparisons,
// tests and logical functions (bool) and for `abs`, `real` and `imag` of complex numbers (the type
// of their parts).
//
// number(x) and T(…) convert half and bfloat16 to float and back, and bool8 to bool and back; other
// types stay as they are. wrapping(x) makes integers wrap. The called functions handle every
// special case: functions_integer.cuh, functions_real.cuh, functions_complex.cuh.
#pragma once

#include "functions_complex.cuh"
#include "functions_integer.cuh"

namespace functions {

// ---- Arithmetic ---------------------------------------------------------------------------------

template <class T> struct add {
    static DEVICE T apply(T x, T y) { return T(wrapping(x) + wrapping(y)); }
};
template <class T> struct subtract {
    static DEVICE T apply(T x, T y) { return T(wrapping(x) - wrapping(y)); }
};
template <class T> struct multiply {
    static DEVICE T apply(T x, T y) { return T(wrapping(x) * wrapping(y)); }
};
template <class T> struct square {
    static DEVICE T apply(T x) { return multiply<T>::apply(x, x); }
};
template <class T> struct negative {
    static DEVICE T apply(T x) { return T(-wrapping(x)); }
};
template <class T> struct positive {
    static DEVICE T apply(T x) { return x; }
};
template <class T> struct divide {
    static DEVICE T apply(T x, T y) {
        if constexpr (is_complex<T>) return math::divide(x, y);
        else return T(number(x) / number(y));
    }
};
template <class T> struct reciprocal {
    static DEVICE T apply(T x) {
        if constexpr (is_complex<T>) return math::reciprocal(x);
        else return T(1 / number(x));
    }
};
template <class T> struct floor_divide {
    static DEVICE T apply(T x, T y) {
        if constexpr (is_integer<T>) return integers::floor_divide(x, y);
        else return T(math::floor_divide(number(x), number(y)));
    }
};
template <class T> struct remainder {
    static DEVICE T apply(T x, T y) {
        if constexpr (is_integer<T>) return integers::remainder(x, y);
        else return math::below(T(math::remainder(number(x), number(y))), y);
    }
};
template <class T> struct pow {
    static DEVICE T apply(T x, T y) {
        if constexpr (is_integer<T>) return integers::pow(x, y);
        else return T(math::pow(number(x), number(y)));
    }
};

// ---- Magnitude, sign, parts ---------------------------------------------------------------------

template <class T> struct abs {
    static DEVICE part_of<T> apply(T x) {
        if constexpr (is_integer<T>) return integers::abs(x);
        else return part_of<T>(math::abs(number(x)));
    }
};
template <class T> struct sign {
    static DEVICE T apply(T x) {
        if constexpr (is_integer<T>) return integers::sign(x);
        else return T(math::sign(number(x)));
    }
};
template <class T> struct signbit {
    static DEVICE bool apply(T x) { return math::signbit(x); }
};
template <class T> struct copysign {
    static DEVICE T apply(T x, T y) { return math::copysign(x, y); }
};
template <class T> struct conj {
    static DEVICE T apply(T x) {
        if constexpr (is_complex<T>) return math::conj(x);
        else return x;
    }
};
template <class T> struct real {
    static DEVICE part_of<T> apply(T x) {
        if constexpr (is_complex<T>) return x.re;
        else return x;
    }
};
template <class T> struct imag {
    static DEVICE part_of<T> apply(T x) {
        if constexpr (is_complex<T>) return x.im;
        else return convert<T>(int32_t(0));
    }
};
template <class T> struct hypot {
    static DEVICE T apply(T x, T y) { return T(math::hypot(number(x), number(y))); }
};

// ---- To whole numbers ---------------------------------------------------------------------------

template <class T> struct ceil {
    static DEVICE T apply(T x) {
        if constexpr (is_integer<T>) return x;
        else return T(math::ceil(number(x)));
    }
};
template <class T> struct floor {
    static DEVICE T apply(T x) {
        if constexpr (is_integer<T>) return x;
        else return T(math::floor(number(x)));
    }
};
template <class T> struct round {
    static DEVICE T apply(T x) {
        if constexpr (is_integer<T>) return x;
        else return T(math::round(number(x)));
    }
};
template <class T> struct trunc {
    static DEVICE T apply(T x) {
        if constexpr (is_integer<T>) return x;
        else return T(math::trunc(number(x)));
    }
};
template <class T> struct nextafter {
    static DEVICE T apply(T x, T y) { return math::nextafter(x, y); }
};

// ---- Powers and logarithms ----------------------------------------------------------------------

template <class T> struct exp {
    static DEVICE T apply(T x) { return T(math::exp(number(x))); }
};
template <class T> struct expm1 {
    static DEVICE T apply(T x) { return T(math::expm1(number(x))); }
};
template <class T> struct log {
    static DEVICE T apply(T x) { return T(math::log(number(x))); }
};
template <class T> struct log1p {
    static DEVICE T apply(T x) { return T(math::log1p(number(x))); }
};
template <class T> struct log2 {
    static DEVICE T apply(T x) { return T(math::log2(number(x))); }
};
template <class T> struct log10 {
    static DEVICE T apply(T x) { return T(math::log10(number(x))); }
};
template <class T> struct logaddexp {
    static DEVICE T apply(T x, T y) { return T(math::logaddexp(number(x), number(y))); }
};
template <class T> struct sqrt {
    static DEVICE T apply(T x) { return T(math::sqrt(number(x))); }
};

// ---- Circular and hyperbolic functions ----------------------------------------------------------

template <class T> struct sin {
    static DEVICE T apply(T x) { return T(math::sin(number(x))); }
};
template <class T> struct cos {
    static DEVICE T apply(T x) { return T(math::cos(number(x))); }
};
template <class T> struct tan {
    static DEVICE T apply(T x) { return T(math::tan(number(x))); }
};
template <class T> struct asin {
    static DEVICE T apply(T x) { return T(math::asin(number(x))); }
};
template <class T> struct acos {
    static DEVICE T apply(T x) { return T(math::acos(number(x))); }
};
template <class T> struct atan {
    static DEVICE T apply(T x) { return T(math::atan(number(x))); }
};
template <class T> struct atan2 {
    static DEVICE T apply(T x, T y) { return T(math::atan2(number(x), number(y))); }
};
template <class T> struct sinh {
    static DEVICE T apply(T x) { return T(math::sinh(number(x))); }
};
template <class T> struct cosh {
    static DEVICE T apply(T x) { return T(math::cosh(number(x))); }
};
template <class T> struct tanh {
    static DEVICE T apply(T x) { return T(math::tanh(number(x))); }
};
template <class T> struct asinh {
    static DEVICE T apply(T x) { return T(math::asinh(number(x))); }
};
template <class T> struct acosh {
    static DEVICE T apply(T x) { return T(math::acosh(number(x))); }
};
template <class T> struct atanh {
    static DEVICE T apply(T x) { return T(math::atanh(number(x))); }
};

// ---- Comparisons --------------------------------------------------------------------------------

template <class T> struct equal {
    static DEVICE bool apply(T x, T y) { return number(x) == number(y); }
};
template <class T> struct not_equal {
    static DEVICE bool apply(T x, T y) { return number(x) != number(y); }
};
template <class T> struct less {
    static DEVICE bool apply(T x, T y) { return number(x) < number(y); }
};
template <class T> struct less_equal {
    static DEVICE bool apply(T x, T y) { return number(x) <= number(y); }
};
template <class T> struct greater {
    static DEVICE bool apply(T x, T y) { return number(x) > number(y); }
};
template <class T> struct greater_equal {
    static DEVICE bool apply(T x, T y) { return number(x) >= number(y); }
};
template <class T> struct isfinite {
    static DEVICE bool apply(T x) {
        if constexpr (is_integer<T>) return true;
        else return math::isfinite(number(x));
    }
};
template <class T> struct isinf {
    static DEVICE bool apply(T x) {
        if constexpr (is_integer<T>) return false;
        else return math::isinf(number(x));
    }
};
template <class T> struct isnan {
    static DEVICE bool apply(T x) {
        if constexpr (is_integer<T>) return false;
        else return math::isnan(number(x));
    }
};

// ---- Choices ------------------------------------------------------------------------------------

template <class T> struct maximum {
    static DEVICE T apply(T x, T y) { return T(math::maximum(number(x), number(y))); }
};
template <class T> struct minimum {
    static DEVICE T apply(T x, T y) { return T(math::minimum(number(x), number(y))); }
};
// If the bounds cross, the result is the upper bound.
template <class T> struct clip {
    static DEVICE T apply(T x, T least, T most) {
        return minimum<T>::apply(maximum<T>::apply(x, least), most);
    }
};
// Narrow floats are computed in float, the type of the scale and the bias, and rounded once.
template <class T> struct scale_bias {
    template <class Wide> static DEVICE T apply(T x, Wide scale, Wide bias) {
        return T(convert<Wide>(x) * scale + bias);
    }
};
template <class T> struct where {
    static DEVICE T apply(bool8 condition, T x, T y) { return condition ? x : y; }
};

// ---- Bits and truth -----------------------------------------------------------------------------

// Operands of type bool8 are converted to bool first, and the result is converted back.
template <class T> struct bitwise_and {
    static DEVICE T apply(T x, T y) { return T(number(x) & number(y)); }
};
template <class T> struct bitwise_or {
    static DEVICE T apply(T x, T y) { return T(number(x) | number(y)); }
};
template <class T> struct bitwise_xor {
    static DEVICE T apply(T x, T y) { return T(number(x) ^ number(y)); }
};
template <class T> struct bitwise_invert {
    static DEVICE T apply(T x) {
        if constexpr (is_same<T, bool8>) return !x;
        else return T(~x);
    }
};
template <class T> struct bitwise_left_shift {
    static DEVICE T apply(T x, T count) { return integers::shift_left(x, count); }
};
template <class T> struct bitwise_right_shift {
    static DEVICE T apply(T x, T count) { return integers::shift_right(x, count); }
};
template <class T> struct logical_and {
    static DEVICE bool apply(T x, T y) { return x && y; }
};
template <class T> struct logical_or {
    static DEVICE bool apply(T x, T y) { return x || y; }
};
template <class T> struct logical_xor {
    static DEVICE bool apply(T x, T y) { return bool(x) != bool(y); }
};
template <class T> struct logical_not {
    static DEVICE bool apply(T x) { return !x; }
};

}  // namespace functions
