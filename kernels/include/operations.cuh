// A functor of functions.cuh on elements as they are stored: these become the type that it computes in.
#pragma once

#include "functions.cuh"
#include "narrow.cuh"

// Types that the operands of a kernel are stored as, with their numbers: 0, 1, ….
template <class...> struct Types {};
template <int... N> struct Numbers {};
template <int Count, int... N> struct Below : Below<Count - 1, Count - 1, N...> {};
template <int... N> struct Below<0, N...> { using type = Numbers<N...>; };

// Something of one operand: a base, for each, of what holds all of them.
template <int N, class T> struct Numbered { T pack; };

// What all kernels of a file share is compiled once for the simulator, which has all of them in one file:
// 1.9 s instead of 4.0 (2026-11, 2-core AMD EPYC (Zen 4), g++ 12.2).
#ifdef TENSORLAYOUT_SIMULATOR
#define COMMON __attribute__((noinline))
#else
#define COMMON DEVICE
#endif

// An element that no memory holds.
struct Scalar {
    uint64_t bits[2];
};

template <class T>
DEVICE T scalar_as(const Scalar& scalar) {
    if constexpr (sizeof(T) == 16) return bits_as<T>(scalar);
    else return bits_as<T>(static_cast<bits_of<T>>(scalar.bits[0]));
}

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

// Type of a functor's first argument, except for the condition of `where`.
template <template <class> class Functor, class T> struct Leading { using type = T; };
template <class T> struct Leading<functions::where, T> { using type = bool8; };

// And what comes after it: its type, but for what scales narrow floats.
template <template <class> class Functor, class T> struct Following { using type = T; };
template <class T> struct Following<functions::scale_bias, T> { using type = decltype(number(T{})); };

template <template <class> class Functor, class T, class First, class... Rest>
DEVICE auto call(First x, Rest... others) {
    using L = typename Leading<Functor, T>::type;
    using F [[maybe_unused]] = typename Following<Functor, T>::type;
    return Functor<T>::apply(operand<L>(x), operand<F>(others)...);
}
