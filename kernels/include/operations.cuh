// From elements as they are stored to one element of the result: operands become COMPUTE, a functor
// of functions.cuh is applied, and what it gives is stored as RESULT. For a GPU the functor is the
// macro OPERATION; the simulator has all that there are for COMPUTE and picks one at run time, in
// one function that is compiled once.
//
// FIRST, SECOND, THIRD: the types of the operands; a function of fewer has `Nothing` for the rest.
#pragma once

#include "functions.cuh"

struct Nothing {};

#ifdef SECOND
#ifdef THIRD
constexpr int OPERANDS = 3;
using First = FIRST;
using Second = SECOND;
using Third = THIRD;
#else
constexpr int OPERANDS = 2;
using First = FIRST;
using Second = SECOND;
using Third = Nothing;
#endif
#else
constexpr int OPERANDS = 1;
using First = FIRST;
using Second = Nothing;
using Third = Nothing;
#endif

// An integer of either sign, to compare int64 with uint64, which have no common type.
struct AnyInteger {
    bool negative;
    uint64_t bits;  // modulo 2**64: among numbers of one sign, the order is that of the bits
};
DEVICE bool operator==(AnyInteger x, AnyInteger y) {
    return x.negative == y.negative && x.bits == y.bits;
}
DEVICE bool operator!=(AnyInteger x, AnyInteger y) { return !(x == y); }
DEVICE bool operator<(AnyInteger x, AnyInteger y) {
    return x.negative == y.negative ? x.bits < y.bits : x.negative;
}
DEVICE bool operator>(AnyInteger x, AnyInteger y) { return y < x; }
DEVICE bool operator<=(AnyInteger x, AnyInteger y) { return !(y < x); }
DEVICE bool operator>=(AnyInteger x, AnyInteger y) { return !(x < y); }

template <class T, class Stored>
DEVICE T operand(Stored value) {
    if constexpr (is_same<T, AnyInteger>) {
        bool negative = false;
        if constexpr (is_signed<Stored>) negative = value < 0;
        return {negative, static_cast<uint64_t>(value)};
    } else {
        return convert<T>(value);
    }
}

// What a functor takes first: its type, but for the condition of `where`.
template <template <class> class Functor, class T> struct Leading { using type = T; };
template <class T> struct Leading<functions::where, T> { using type = bool8; };

// And what comes after it: its type, but for what scales narrow floats.
template <template <class> class Functor, class T> struct Following { using type = T; };
template <class T> struct Following<functions::scale_bias, T> { using type = decltype(number(T{})); };

template <template <class> class Functor, class T>
DEVICE auto call(First x, [[maybe_unused]] Second y, [[maybe_unused]] Third z) {
    using L = typename Leading<Functor, T>::type;
    using F = typename Following<Functor, T>::type;
    if constexpr (OPERANDS == 1) return Functor<T>::apply(operand<L>(x));
    else if constexpr (OPERANDS == 2) return Functor<T>::apply(operand<L>(x), operand<F>(y));
    else return Functor<T>::apply(operand<L>(x), operand<F>(y), operand<F>(z));
}

#ifndef TENSORLAYOUT_SIMULATOR

DEVICE RESULT apply(First x, Second y, Third z) {
    return RESULT(call<functions::OPERATION, COMPUTE>(x, y, z));
}

#else

// ---- Which functors there are, by what they are defined for -------------------------------------

enum Kinds { BOOLEAN = 1, INTEGER = 2, REAL = 4, COMPLEX = 8, MIXED = 16 };

constexpr Kinds KIND = is_same<COMPUTE, AnyInteger>  ? MIXED
                       : is_same<COMPUTE, bool8>     ? BOOLEAN
                       : is_complex<COMPUTE>         ? COMPLEX
                       : is_floating<COMPUTE>        ? REAL
                                                     : INTEGER;

constexpr int floating_point = REAL | COMPLEX;
constexpr int real_numeric = INTEGER | REAL;
constexpr int numeric = INTEGER | REAL | COMPLEX;
constexpr int integer_or_boolean = BOOLEAN | INTEGER;
constexpr int any = BOOLEAN | INTEGER | REAL | COMPLEX | MIXED;
constexpr int ordered = INTEGER | REAL | MIXED;

// `positive` of any type is a conversion.
#define FUNCTORS_OF_1(_)                                                                        \
    _(abs, numeric) _(acos, floating_point) _(acosh, floating_point) _(asin, floating_point)    \
    _(asinh, floating_point) _(atan, floating_point) _(atanh, floating_point)                   \
    _(bitwise_invert, integer_or_boolean) _(ceil, real_numeric) _(conj, numeric)                \
    _(cos, floating_point) _(cosh, floating_point) _(exp, floating_point)                       \
    _(expm1, floating_point) _(floor, real_numeric) _(imag, numeric) _(isfinite, numeric)       \
    _(isinf, numeric) _(isnan, numeric) _(log, floating_point) _(log10, floating_point)         \
    _(log1p, floating_point) _(log2, floating_point) _(logical_not, BOOLEAN)                    \
    _(negative, numeric) _(positive, any) _(real, numeric) _(reciprocal, floating_point)        \
    _(round, numeric) _(sign, numeric) _(signbit, REAL) _(sin, floating_point)                  \
    _(sinh, floating_point) _(sqrt, floating_point) _(square, numeric) _(tan, floating_point)   \
    _(tanh, floating_point) _(trunc, real_numeric)

#define FUNCTORS_OF_2(_)                                                                        \
    _(add, numeric) _(atan2, REAL) _(bitwise_and, integer_or_boolean)                           \
    _(bitwise_left_shift, INTEGER) _(bitwise_or, integer_or_boolean)                            \
    _(bitwise_right_shift, INTEGER) _(bitwise_xor, integer_or_boolean) _(copysign, REAL)        \
    _(divide, floating_point) _(equal, any) _(floor_divide, real_numeric) _(greater, ordered)   \
    _(greater_equal, ordered) _(hypot, REAL) _(less, ordered) _(less_equal, ordered)            \
    _(logaddexp, REAL) _(logical_and, BOOLEAN) _(logical_or, BOOLEAN) _(logical_xor, BOOLEAN)   \
    _(maximum, real_numeric) _(minimum, real_numeric) _(multiply, numeric) _(nextafter, REAL)   \
    _(not_equal, any) _(pow, numeric) _(remainder, real_numeric) _(subtract, numeric)

#define FUNCTORS_OF_3(_)                                                                        \
    _(clip, real_numeric) _(scale_bias, REAL) _(where, BOOLEAN | INTEGER | REAL | COMPLEX)

#if defined(THIRD)
#define FUNCTORS FUNCTORS_OF_3
#elif defined(SECOND)
#define FUNCTORS FUNCTORS_OF_2
#else
#define FUNCTORS FUNCTORS_OF_1
#endif

#define NAME_OF(name, kinds) #name " "
SIMULATOR_OPERATIONS(FUNCTORS(NAME_OF))

#define NUMBER_OF(name, kinds) number_of_##name,
enum { FUNCTORS(NUMBER_OF) };

// Functors that this result type does not suit are another shared object's.
template <template <class> class Functor, bool defined, class T = COMPUTE>
DEVICE RESULT apply_if_defined(First x, Second y, Third z) {
    if constexpr (defined) {
        using Given = decltype(call<Functor, T>(x, y, z));
        using Stored = choose<is_same<Given, bool>, bool8, Given>;
        if constexpr (is_same<Stored, RESULT>) return RESULT(call<Functor, T>(x, y, z));
    }
    simulator::report("has no functor for these types");
    simulator::leave();
}

#define CASE_OF(name, kinds)  \
    case number_of_##name:    \
        return apply_if_defined<functions::name, ((kinds) & KIND) != 0>(x, y, z);

static __attribute__((noinline)) RESULT apply(First x, Second y, Third z) {
    switch (simulator::operation) { FUNCTORS(CASE_OF) }
    __builtin_unreachable();
}

#endif
