// Integer arithmetic that the language leaves undefined, with the values that the package
// documents: overflow wraps, division by 0 gives 0, and shifts by the width or more leave no bit.
#pragma once

#include "dtypes.cuh"

namespace integers {

template <class T> DEVICE T negative(T x) { return T(-wrapping(x)); }

template <class T> DEVICE T abs(T x) {
    if constexpr (is_signed<T>) return x < 0 ? negative(x) : x;
    return x;
}

template <class T> DEVICE T sign(T x) {
    if constexpr (is_signed<T>) return T((x > 0) - (x < 0));
    return T(x != 0);
}

// Rounds the quotient towards minus infinity.
template <class T> DEVICE T floor_divide(T x, T y) {
    if (y == 0) return 0;
    if constexpr (is_signed<T>) {
        if (y == -1) return negative(x);  // the least integer wraps to itself
        bool inexact = x % y != 0;
        return T(x / y - (inexact && (x < 0) != (y < 0)));
    }
    return T(x / y);
}

// Returns the remainder of floor_divide, with the sign of y.
template <class T> DEVICE T remainder(T x, T y) {
    if (y == 0) return 0;
    if constexpr (is_signed<T>) {
        if (y == -1) return 0;
        T rest = T(x % y);
        return rest != 0 && (rest < 0) != (y < 0) ? T(rest + y) : rest;
    }
    return T(x % y);
}

// Negative counts wrap to great ones, and so shift everything out.
template <class T> DEVICE bool shifts_everything(T count) {
    return wrapping(count) >= 8 * sizeof(T);
}

template <class T> DEVICE T shift_left(T x, T count) {
    return shifts_everything(count) ? T(0) : T(wrapping(x) << count);
}

// Keeps the sign: a negative number becomes -1 if all its bits are shifted out.
template <class T> DEVICE T shift_right(T x, T count) {
    bool everything = shifts_everything(count);
    if constexpr (is_signed<T>) return T(x >> (everything ? 8 * sizeof(T) - 1 : count));
    return everything ? T(0) : T(x >> count);
}

// Computes the power by repeated squaring. Negative exponents give the exact result truncated, and
// 0 if x is 0.
template <class T> DEVICE T pow(T x, T exponent) {
    if constexpr (is_signed<T>) {
        if (exponent < 0 && x != 1 && x != -1) return 0;  // 1, -1: only parity matters
    }
    auto result = wrapping(T(1)), square = wrapping(x);
    for (auto left = wrapping(exponent); left != 0; left >>= 1) {
        if (left & 1) result *= square;
        square *= square;
    }
    return T(result);
}

}  // namespace integers
