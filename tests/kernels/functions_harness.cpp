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

// Lists of functions, each for one category of types; `_` is told what each takes.
#define FLOATING(_)                                                                            \
    _(One, acos) _(One, acosh) _(One, asin) _(One, asinh) _(One, atan) _(One, atanh)           \
    _(One, cos) _(One, cosh) _(One, exp) _(One, expm1) _(One, log) _(One, log10) _(One, log1p) \
    _(One, log2) _(One, reciprocal) _(One, sin) _(One, sinh) _(One, sqrt) _(One, tan)          \
    _(One, tanh) _(Two, divide)
#define REAL_FLOATING(_)                                                                       \
    _(One, signbit) _(Two, atan2) _(Two, copysign) _(Two, hypot) _(Two, logaddexp)             \
    _(Two, nextafter)
#define NUMERIC(_)                                                                             \
    _(One, abs) _(One, conj) _(One, imag) _(One, isfinite) _(One, isinf) _(One, isnan)         \
    _(One, negative) _(One, positive) _(One, real) _(One, round) _(One, sign) _(One, square)   \
    _(Two, add) _(Two, multiply) _(Two, pow) _(Two, subtract)
#define REAL_NUMERIC(_)                                                                        \
    _(One, ceil) _(One, floor) _(One, trunc) _(Two, floor_divide) _(Two, remainder)            \
    _(Two, greater) _(Two, greater_equal) _(Two, less) _(Two, less_equal) _(Two, maximum)      \
    _(Two, minimum) _(Three, clip)
#define INTEGRAL(_) _(Two, bitwise_left_shift) _(Two, bitwise_right_shift)
#define INTEGER_OR_BOOLEAN(_)                                                                  \
    _(One, bitwise_invert) _(Two, bitwise_and) _(Two, bitwise_or) _(Two, bitwise_xor)
#define BOOLEAN(_)                                                                             \
    _(One, logical_not) _(Two, logical_and) _(Two, logical_or) _(Two, logical_xor)
#define ANY(_) _(Two, equal) _(Two, not_equal) _(Choose, where)

[[maybe_unused]] const bool filled = [] {
#define ADD(shape, function) add_rows<shape, functions::function>(#function, category, Category());
#define ADD_ALL(list, name)                  \
    {                                        \
        using Category = name;               \
        const char* const category = #name;  \
        list(ADD)                            \
    }
    ADD_ALL(FLOATING, floating_point)
    ADD_ALL(REAL_FLOATING, real_floating)
    ADD_ALL(NUMERIC, numeric)
    ADD_ALL(REAL_NUMERIC, real_numeric)
    ADD_ALL(INTEGRAL, integral)
    ADD_ALL(INTEGER_OR_BOOLEAN, integer_or_boolean)
    ADD_ALL(BOOLEAN, boolean)
    ADD_ALL(ANY, any)
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
