// The functors of functions.cuh and the conversions of dtypes.cuh over arrays on the host, so that
// tests reach every one of them by name. Types have the names of kernels/dtypes.cuh.
#ifndef TENSORLAYOUT_SIMULATOR
#define TENSORLAYOUT_SIMULATOR
#endif
#include "functions.cuh"

#include <limits.h>
#include <string.h>

namespace {

template <class... T> struct Types {};
template <class... T, class... U> Types<T..., U...> operator+(Types<T...>, Types<U...>);
template <class A, class B> using both = decltype(A() + B());

// The categories of the standard, as tensorlayout/dtypes.py has them.
using boolean = Types<bool8>;
using integral =
    Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using real_floating = Types<half, bfloat16, float, double>;
using floating_point = both<real_floating, Types<complex<float>, complex<double>>>;
using real_numeric = both<integral, real_floating>;
using numeric = both<integral, floating_point>;
using integer_or_boolean = both<boolean, integral>;
using any = both<boolean, numeric>;

template <class T> const char* name_of();
#define NAME(T) \
    template <> const char* name_of<T>() { return #T; }
NAME(bool8)
NAME(int8_t)
NAME(int16_t)
NAME(int32_t)
NAME(int64_t)
NAME(uint8_t)
NAME(uint16_t)
NAME(uint32_t)
NAME(uint64_t)
NAME(half)
NAME(bfloat16)
NAME(float)
NAME(double)
NAME(complex<float>)
NAME(complex<double>)

using Loop = void (*)(int64_t count, void* out, const void* x, const void* y, const void* z);

struct Row {
    const char *function, *type, *category;
    Loop loop;
};
Row table[1200];
int rows = 0;

// What a kernel stores of a result: bool as a byte.
template <class R> using stored = choose<is_same<R, bool>, bool8, R>;

template <template <class> class F, class T> struct One {
    static void loop(int64_t count, void* out, const void* x, const void*, const void*) {
        auto to = static_cast<stored<decltype(F<T>::apply(T()))>*>(out);
        auto a = static_cast<const T*>(x);
        for (int64_t i = 0; i < count; ++i) to[i] = F<T>::apply(a[i]);
    }
};
template <template <class> class F, class T> struct Two {
    static void loop(int64_t count, void* out, const void* x, const void* y, const void*) {
        auto to = static_cast<stored<decltype(F<T>::apply(T(), T()))>*>(out);
        auto a = static_cast<const T*>(x), b = static_cast<const T*>(y);
        for (int64_t i = 0; i < count; ++i) to[i] = F<T>::apply(a[i], b[i]);
    }
};
template <template <class> class F, class T, class First = T> struct Three {
    static void loop(int64_t count, void* out, const void* x, const void* y, const void* z) {
        auto to = static_cast<T*>(out);
        auto a = static_cast<const First*>(x);
        auto b = static_cast<const T*>(y), c = static_cast<const T*>(z);
        for (int64_t i = 0; i < count; ++i) to[i] = F<T>::apply(a[i], b[i], c[i]);
    }
};
template <template <class> class F, class T> struct Choose : Three<F, T, bool8> {};

template <template <template <class> class, class> class Shape, template <class> class F,
    class... T>
void add_rows(const char* function, const char* category, Types<T...>) {
    ((table[rows++] = {function, name_of<T>(), category, Shape<F, T>::loop}), ...);
}

template <class To, class From>
void convert_loop(int64_t count, void* out, const void* in, const void*, const void*) {
    auto to = static_cast<To*>(out);
    auto from = static_cast<const From*>(in);
    for (int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
}
template <class To, class... From> void add_conversions_to(Types<From...>) {
    ((table[rows++] = {name_of<To>(), name_of<From>(), "conversion", convert_loop<To, From>}), ...);
}
template <class... To> void add_conversions(Types<To...>) { (add_conversions_to<To>(any()), ...); }

#define ADD(shape, function, category) \
    add_rows<shape, functions::function>(#function, #category, category())

[[maybe_unused]] const bool filled = [] {
    ADD(One, abs, numeric);
    ADD(One, acos, floating_point);
    ADD(One, acosh, floating_point);
    ADD(Two, add, numeric);
    ADD(One, asin, floating_point);
    ADD(One, asinh, floating_point);
    ADD(One, atan, floating_point);
    ADD(Two, atan2, real_floating);
    ADD(One, atanh, floating_point);
    ADD(Two, bitwise_and, integer_or_boolean);
    ADD(One, bitwise_invert, integer_or_boolean);
    ADD(Two, bitwise_left_shift, integral);
    ADD(Two, bitwise_or, integer_or_boolean);
    ADD(Two, bitwise_right_shift, integral);
    ADD(Two, bitwise_xor, integer_or_boolean);
    ADD(One, ceil, real_numeric);
    ADD(Three, clip, real_numeric);
    ADD(One, conj, numeric);
    ADD(Two, copysign, real_floating);
    ADD(One, cos, floating_point);
    ADD(One, cosh, floating_point);
    ADD(Two, divide, floating_point);
    ADD(Two, equal, any);
    ADD(One, exp, floating_point);
    ADD(One, expm1, floating_point);
    ADD(One, floor, real_numeric);
    ADD(Two, floor_divide, real_numeric);
    ADD(Two, greater, real_numeric);
    ADD(Two, greater_equal, real_numeric);
    ADD(Two, hypot, real_floating);
    ADD(One, imag, numeric);
    ADD(One, isfinite, numeric);
    ADD(One, isinf, numeric);
    ADD(One, isnan, numeric);
    ADD(Two, less, real_numeric);
    ADD(Two, less_equal, real_numeric);
    ADD(One, log, floating_point);
    ADD(One, log10, floating_point);
    ADD(One, log1p, floating_point);
    ADD(One, log2, floating_point);
    ADD(Two, logaddexp, real_floating);
    ADD(Two, logical_and, boolean);
    ADD(One, logical_not, boolean);
    ADD(Two, logical_or, boolean);
    ADD(Two, logical_xor, boolean);
    ADD(Two, maximum, real_numeric);
    ADD(Two, minimum, real_numeric);
    ADD(Two, multiply, numeric);
    ADD(One, negative, numeric);
    ADD(Two, nextafter, real_floating);
    ADD(Two, not_equal, any);
    ADD(One, positive, numeric);
    ADD(Two, pow, numeric);
    ADD(One, real, numeric);
    ADD(One, reciprocal, floating_point);
    ADD(Two, remainder, real_numeric);
    ADD(One, round, numeric);
    ADD(One, sign, numeric);
    ADD(One, signbit, real_floating);
    ADD(One, sin, floating_point);
    ADD(One, sinh, floating_point);
    ADD(One, sqrt, floating_point);
    ADD(One, square, numeric);
    ADD(Two, subtract, numeric);
    ADD(One, tan, floating_point);
    ADD(One, tanh, floating_point);
    ADD(One, trunc, real_numeric);
    ADD(Choose, where, any);
    add_conversions(any());
    return true;
}();

}  // namespace

// The rows of the table: function, or type converted to; type of the operands; category.
extern "C" int row_count() { return rows; }
extern "C" const char* row_text(int row, int column) {
    const char* texts[] = {table[row].function, table[row].type, table[row].category};
    return texts[column];
}
extern "C" void run_row(
    int row, int64_t count, void* out, const void* x, const void* y, const void* z) {
    table[row].loop(count, out, x, y, z);
}

// Undefined on purpose, to see that a build that looks for such behaviour does.
extern "C" int overflow(int x) { return x + 1; }
