// Keys that sorts and searches compare: unsigned integers in the order of real numbers,
// -inf < … < -0 = +0 < … < inf < NaN. All NaN are equal.
#pragma once

#include "dtypes.cuh"

template <class T>
DEVICE bits_of<T> order_of(T value) {
    using Bits = bits_of<T>;
    constexpr Bits top = Bits(Bits(1) << (8 * sizeof(T) - 1));
    const Bits bits = bits_as<Bits>(value);
    if constexpr (is_floating<T>) {
        constexpr Bits infinity = is_same<T, half>       ? Bits(0x7c00)
                                  : is_same<T, bfloat16> ? Bits(0x7f80)
                                  : is_same<T, float>    ? Bits(0x7f800000u)
                                                         : Bits(uint64_t(0x7ff) << 52);
        const Bits magnitude = Bits(bits & Bits(~top));
        // Selects instead of branches, because each element would take three branches.
        Bits order = bits & top ? Bits(~bits) : Bits(bits | top);
        order = magnitude == 0 ? top : order;
        return magnitude > infinity ? Bits(~Bits(0)) : order;
    } else if constexpr (is_signed<T>) {
        return Bits(bits ^ top);
    } else {
        return bits;
    }
}
