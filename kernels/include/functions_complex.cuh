// Functions of complex numbers. Each follows C99's Annex G and the standard for signed zeros,
// infinities and NaN. Conjugates give conjugates, and odd functions are odd, bit by bit.
//
// No intermediate magnitude overflows unless the result does, and little cancels: numbers are
// scaled by powers of two, squares are added with their rounding errors, and the inverse functions
// have terms of equal sign (W. Kahan, "Branch cuts for complex elementary functions", 1987).
#pragma once

#include "functions_real.cuh"

// ---- Arithmetic ---------------------------------------------------------------------------------

template <class T> DEVICE complex<T> operator+(complex<T> a, complex<T> b) {
    return {a.re + b.re, a.im + b.im};
}
template <class T> DEVICE complex<T> operator-(complex<T> a, complex<T> b) {
    return {a.re - b.re, a.im - b.im};
}
template <class T> DEVICE complex<T> operator-(complex<T> z) { return {-z.re, -z.im}; }
template <class T> DEVICE complex<T> operator*(complex<T> a, complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T> DEVICE complex<T> operator*(complex<T> z, T factor) {
    return {z.re * factor, z.im * factor};
}
template <class T> DEVICE bool operator==(complex<T> a, complex<T> b) {
    return a.re == b.re && a.im == b.im;
}
template <class T> DEVICE bool operator!=(complex<T> a, complex<T> b) { return !(a == b); }

namespace math {

template <class T> constexpr T ln2 = T(0.69314718055994530942);
template <class T> constexpr T ln10 = T(2.30258509299404568402);
template <class T> constexpr T half_pi = T(1.57079632679489661923);

// ---- Parts --------------------------------------------------------------------------------------

template <class T> DEVICE complex<T> conj(complex<T> z) { return {z.re, -z.im}; }
template <class T> DEVICE T abs(complex<T> z) { return hypot(z.re, z.im); }
template <class T> DEVICE bool isnan(complex<T> z) { return isnan(z.re) || isnan(z.im); }
template <class T> DEVICE bool isinf(complex<T> z) { return isinf(z.re) || isinf(z.im); }
template <class T> DEVICE bool isfinite(complex<T> z) { return isfinite(z.re) && isfinite(z.im); }
template <class T> DEVICE complex<T> round(complex<T> z) { return {round(z.re), round(z.im)}; }

// Returns the mirror image of z at re = im. It turns sinh into sin, because
// sin(z) = swapped(sinh(swapped(z))). Likewise it turns tanh, asinh and atanh into tan, asin and
// atan, and each of these back.
template <class T> DEVICE complex<T> swapped(complex<T> z) { return {z.im, z.re}; }

// Returns the magnitude of x with the sign of y, or x itself if y is NaN.
template <class T> DEVICE T with_sign_of(T x, T y) { return isnan(y) ? x : copysign(x, y); }

// ---- Steps that neither overflow nor cancel -----------------------------------------------------

// Returns a power of two, mostly 1. After multiplication by it, neither the magnitude nor its
// inverse overflows, and numbers near 0 have all their digits. root_of_scale returns its root.
template <class T> DEVICE T scale_of(complex<T> z) {
    constexpr T great = sizeof(T) == 4 ? T(0x1p124) : T(0x1p1020);
    constexpr T small = sizeof(T) == 4 ? T(0x1p-100) : T(0x1p-960);
    T large = maximum(abs(z.re), abs(z.im));
    return large > great ? T(0x1p-4) : large < small ? T(0x1p64) : T(1);
}
template <class T> DEVICE T root_of_scale(T scale) {
    return scale < 1 ? T(0x1p-2) : scale > 1 ? T(0x1p32) : T(1);
}

// Returns the rounding error of x + y (D. Knuth's two-sum).
template <class T> DEVICE T lost_by_sum(T x, T y) {
    T sum = x + y, of_y = sum - x;
    return (x - (sum - of_y)) + (y - of_y);
}

// Returns |1 + x + iy|**2 - 1, accurate to the last places although its terms may cancel.
template <class T> DEVICE T excess(T x, T y) {
    T xx = x * x, yy = y * y, sum = 2 * x + xx;
    T lost = fma(x, x, -xx) + fma(y, y, -yy) + lost_by_sum(2 * x, xx) + lost_by_sum(sum, yy);
    return sum + yy + lost;
}

// Returns log|z|. Near |z| = 1 the magnitude would lose digits that the logarithm needs, so it uses
// |z|**2 - 1 instead.
template <class T> DEVICE T log_abs(complex<T> z) {
    T large = maximum(abs(z.re), abs(z.im)), small = minimum(abs(z.re), abs(z.im));
    T square = large * large + small * small;
    if (square > T(0.5) && square < 3) return log1p(excess(large - 1, small)) / 2;
    T scale = scale_of(z);
    T rest = log(abs(z * scale));
    return scale == 1 ? rest : rest - log(scale);
}

template <class T> DEVICE complex<T> cis(T angle) {
    complex<T> z;
    sincos(angle, &z.im, &z.re);
    return z;
}

// Returns z * exp(x) * factor, also if exp(x) overflows but a small z makes the product finite.
template <class T> DEVICE complex<T> times_exp(complex<T> z, T x, T factor = 1) {
    if (x < limits<T>::exp_overflows) return z * (exp(x) * factor);
    T root = exp(x / 4);
    return z * (root * factor) * root * root * root;
}

// ---- Quotients and roots ------------------------------------------------------------------------

// Returns a / b by R. L. Smith's method, as NumPy does.
template <class T> DEVICE complex<T> smith_quotient(complex<T> a, complex<T> b) {
    if (abs(b.re) >= abs(b.im)) {
        T ratio = b.im / b.re, factor = 1 / (b.re + b.im * ratio);
        return {(a.re + a.im * ratio) * factor, (a.im - a.re * ratio) * factor};
    }
    T ratio = b.re / b.im, factor = 1 / (b.re * ratio + b.im);
    return {(a.re * ratio + a.im) * factor, (a.im * ratio - a.re) * factor};
}

// Returns a / b. If b is zero, each part is divided by 0.
template <class T> DEVICE complex<T> divide(complex<T> a, complex<T> b) {
    if (b.re == 0 && b.im == 0) return {a.re / abs(b.re), a.im / abs(b.re)};
    T above = scale_of(a), below = scale_of(b);
    return smith_quotient(a * above, b * below) * (below / above);
}

template <class T> DEVICE complex<T> reciprocal(complex<T> z) {
    if (!isfinite(z) || (z.re == 0 && z.im == 0)) return divide(complex<T>{1, 0}, z);
    T scale = scale_of(z);
    z = z * scale;
    if (abs(z.re) >= abs(z.im)) {
        T ratio = z.im / z.re, below = z.re + z.im * ratio;
        return complex<T>{1 / below, -ratio / below} * scale;
    }
    T ratio = z.re / z.im, below = z.re * ratio + z.im;
    return complex<T>{ratio / below, -1 / below} * scale;
}

// Divides each part by the magnitude.
template <class T> DEVICE complex<T> sign(complex<T> z) {
    if (z.re == 0 && z.im == 0) return {0, 0};
    z = z * scale_of(z);
    T magnitude = abs(z);
    return {z.re / magnitude, z.im / magnitude};
}

template <class T> DEVICE complex<T> sqrt(complex<T> z) {
    constexpr T infinity = limits<T>::infinity;
    if (z.re == 0 && z.im == 0) return {0, z.im};
    if (isinf(z.im)) return {infinity, z.im};
    if (isinf(z.re)) {
        T flat = isnan(z.im) ? z.im : T(0);
        return z.re > 0 ? complex<T>{infinity, with_sign_of(flat, z.im)}
                        : complex<T>{flat, with_sign_of(infinity, z.im)};
    }
    T scale = scale_of(z);
    T x = z.re * scale, y = z.im * scale;
    T root = sqrt((abs(x) + hypot(x, y)) / 2), other = y / (2 * root);
    T back = 1 / root_of_scale(scale);
    return (x >= 0 ? complex<T>{root, other} : complex<T>{abs(other), copysign(root, y)}) * back;
}

// ---- Exponentials and logarithms ----------------------------------------------------------------

template <class T> DEVICE complex<T> exp(complex<T> z) {
    if (z.im == 0) return {exp(z.re), z.im};
    if (isinf(z.re) && !isfinite(z.im)) {
        if (z.re > 0) return {z.re, limits<T>::nan};
        return {0, with_sign_of(T(0), z.im)};
    }
    return times_exp(cis(z.im), z.re);
}

// exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y / 2)**2. For -0 the real part of the result is 0.
template <class T> DEVICE complex<T> expm1(complex<T> z) {
    if (z.im == 0) return {expm1(z.re) + 0, z.im};
    complex<T> result = exp(z);
    if (!isfinite(z) || z.re > limits<T>::exp_overflows) return {result.re - 1, result.im};
    T sine = sin(z.im / 2);
    return {expm1(z.re) * cos(z.im) - 2 * sine * sine, result.im};
}

template <class T> DEVICE complex<T> log(complex<T> z) { return {log_abs(z), atan2(z.im, z.re)}; }
template <class T> DEVICE complex<T> log2(complex<T> z) { return log(z) * (1 / ln2<T>); }
template <class T> DEVICE complex<T> log10(complex<T> z) { return log(z) * (1 / ln10<T>); }

template <class T> DEVICE complex<T> log1p(complex<T> z) {
    complex<T> more = {1 + z.re, z.im};
    T about = z.re * (z.re + 2) + z.im * z.im;
    T re = about > T(-0.5) && about < 3 ? log1p(excess(z.re, z.im)) / 2 : log_abs(more);
    return {re, atan2(more.im, more.re)};
}

// Computes the power by repeated squaring.
template <class T> DEVICE complex<T> power(complex<T> z, int exponent) {
    complex<T> result = {1, 0};
    for (int left = exponent < 0 ? -exponent : exponent; left != 0; left >>= 1) {
        if (left & 1) result = result * z;
        z = z * z;
    }
    return exponent < 0 ? reciprocal(result) : result;
}

// Any number to the power 0 is 1. Small whole exponents give exact results where possible.
template <class T> DEVICE complex<T> pow(complex<T> z, complex<T> exponent) {
    T n = exponent.re;
    if (n == 0 && exponent.im == 0) return {1, 0};
    if (z.re == 0 && z.im == 0) {
        T value = n > 0 ? T(0) : limits<T>::nan;
        return {value, value};
    }
    if (exponent.im == 0 && abs(n) < 100 && trunc(n) == n) return power(z, int(n));
    return exp(exponent * log(z));
}

// ---- Hyperbolic and circular functions ----------------------------------------------------------

template <class T> DEVICE complex<T> sinh(complex<T> z) {
    T x = z.re, y = z.im;
    if (y == 0) return {sinh(x), y};
    if (!isfinite(y) && (x == 0 || isinf(x))) return {x == 0 ? x : abs(x), limits<T>::nan};
    complex<T> turn = cis(y);
    if (abs(x) < limits<T>::exp_overflows) return {sinh(x) * turn.re, cosh(x) * turn.im};
    complex<T> great = times_exp(turn, abs(x), T(0.5));
    return {x < 0 ? -great.re : great.re, great.im};
}

template <class T> DEVICE complex<T> cosh(complex<T> z) {
    T x = z.re, y = z.im;
    if (y == 0) return {cosh(x), y * with_sign_of(T(1), x)};
    if (!isfinite(y) && x == 0) return {limits<T>::nan, 0};
    if (!isfinite(y) && isinf(x)) return {limits<T>::infinity, limits<T>::nan};
    complex<T> turn = cis(y);
    if (abs(x) < limits<T>::exp_overflows) return {cosh(x) * turn.re, sinh(x) * turn.im};
    complex<T> great = times_exp(turn, abs(x), T(0.5));
    return {great.re, x < 0 ? -great.im : great.im};
}

template <class T> DEVICE complex<T> tanh(complex<T> z) {
    constexpr T almost_one = sizeof(T) == 4 ? 10 : 20;  // from here on tanh of a real number is 1
    T x = z.re, y = z.im;
    if (isinf(x)) return {copysign(T(1), x), with_sign_of(T(0), y)};
    if (y == 0) return {tanh(x), y};
    if (!isfinite(y)) return {x == 0 ? x : limits<T>::nan, limits<T>::nan};
    if (abs(x) > almost_one) {
        complex<T> turn = cis(y);
        T small = exp(-abs(x));
        return {copysign(T(1), x), 4 * turn.re * turn.im * small * small};
    }
    T tangent = tan(y), sine = sinh(x);
    T beta = 1 + tangent * tangent, below = 1 + beta * sine * sine;
    return {beta * sqrt(1 + sine * sine) * sine / below, tangent / below};
}

template <class T> DEVICE complex<T> sin(complex<T> z) { return swapped(sinh(swapped(z))); }
template <class T> DEVICE complex<T> cos(complex<T> z) { return cosh(complex<T>{-z.im, z.re}); }
template <class T> DEVICE complex<T> tan(complex<T> z) { return swapped(tanh(swapped(z))); }

// ---- Their inverses -----------------------------------------------------------------------------

// Returns true if 1 + z rounds to z, so that an asymptote is exact; true for infinities too.
template <class T> DEVICE bool is_great(complex<T> z) {
    return abs(z.re) > 1 / limits<T>::epsilon || abs(z.im) > 1 / limits<T>::epsilon;
}

// The roots sqrt(1 - z) and sqrt(1 + z). Their imaginary parts have opposite signs.
template <class T> struct Roots {
    complex<T> minus, plus;
};
template <class T> DEVICE Roots<T> roots_about(complex<T> z) {
    return {sqrt(complex<T>{1 - z.re, -z.im}), sqrt(complex<T>{1 + z.re, z.im})};
}

template <class T> DEVICE complex<T> asin(complex<T> z) {
    if (z.re == 0 && isnan(z.im)) return z;
    if (is_great(z)) {
        return {atan2(z.re, abs(z.im)), with_sign_of(log_abs(z) + ln2<T>, z.im)};
    }
    if (abs(z.re) < limits<T>::epsilon && abs(z.im) < limits<T>::epsilon) return z;
    auto [a, b] = roots_about(z);
    return {atan2(z.re, a.re * b.re - a.im * b.im), asinh(a.re * b.im - a.im * b.re)};
}

template <class T> DEVICE complex<T> acos(complex<T> z) {
    if (z.re == 0 && isnan(z.im)) return {half_pi<T>, z.im};
    if (is_great(z)) {
        return {atan2(abs(z.im), z.re), -with_sign_of(log_abs(z) + ln2<T>, z.im)};
    }
    auto [a, b] = roots_about(z);
    return {2 * atan2(a.re, b.re), asinh(b.re * a.im - b.im * a.re)};
}

template <class T> DEVICE complex<T> acosh(complex<T> z) {
    complex<T> angle = acos(z);
    return {abs(angle.im), with_sign_of(angle.re, z.im)};
}

template <class T> DEVICE complex<T> asinh(complex<T> z) { return swapped(asin(swapped(z))); }

// Returns atanh(x + iy) for x and y not below 0. On the axes it uses the real functions; far from
// 0, the real part is that of 1 / z, and the imaginary part is a right angle.
template <class T> DEVICE complex<T> atanh_of_quadrant(T x, T y) {
    if (y == 0 && x <= 1) return {atanh(x), y};
    if (x == 0) return {x, atan(y)};
    if (isinf(x) || isinf(y)) return {0, isnan(y) ? y : half_pi<T>};
    if (isnan(x) || isnan(y)) return {limits<T>::nan, limits<T>::nan};
    if (is_great(complex<T>{x, y})) {
        T half = hypot(x / 2, y / 2);  // so that it does not overflow
        return {x / 2 / half / half / 2, half_pi<T>};
    }
    T gap = 1 - x;
    bool at_pole = gap == 0 && y < limits<T>::epsilon;
    T re = at_pole ? (ln2<T> - log(y)) / 2 : log1p(4 * x / (gap * gap + y * y)) / 4;
    return {re, atan2(2 * y, gap * (1 + x) - y * y) / 2};
}

template <class T> DEVICE complex<T> atanh(complex<T> z) {
    complex<T> result = atanh_of_quadrant(abs(z.re), abs(z.im));
    return {with_sign_of(result.re, z.re), with_sign_of(result.im, z.im)};
}

template <class T> DEVICE complex<T> atan(complex<T> z) { return swapped(atanh(swapped(z))); }

}  // namespace math
