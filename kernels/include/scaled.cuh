// Products of floats that are computed in parts. Numbers have double's precision and any exponent,
// so that no part overflows or underflows where the whole product does not. 0, infinities and NaN
// are as in double.
#pragma once

#include "dtypes.cuh"
#include "memory.cuh"

// A complex number without the alignment of complex<double>, with which a Scaled would have 32
// bytes instead of 24.
struct Parts {
    double re, im;
};

// Represents value * 2**exponent. A value that is not 0, infinite or NaN is kept near 2**500; of a
// complex number, its greater part is. So a product of two is finite, and the other part is exact
// down to 2**-1522 of the greater one.
template <class Value>
struct alignas(sizeof(Value) == 8 ? 16 : 8) Scaled {
    Value value;
    int64_t exponent;
};

// 2**n, for n from -1022 to 1023.
DEVICE double power_of_2(int32_t n) { return bits_as<double>(static_cast<uint64_t>(n + 1023) << 52); }

DEVICE int32_t exponent_field(double x) {
    return static_cast<int32_t>(bits_as<uint64_t>(x) >> 52 & 0x7ff);
}
DEVICE int32_t exponent_field(Parts x) {
    const int32_t re = exponent_field(x.re), im = exponent_field(x.im);
    return re > im ? re : im;
}

DEVICE double times(double x, double y) { return x * y; }
DEVICE Parts times(Parts x, double y) { return {x.re * y, x.im * y}; }
DEVICE Parts times(Parts x, Parts y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

// Returns the scaled form of a value whose greatest part is 0 or at least 2**-500.
template <class Value>
DEVICE Scaled<Value> rescaled(Value value, int64_t exponent) {
    const int32_t field = exponent_field(value), by = field ? field - (1023 + 500) : 0;
    return {times(value, power_of_2(-by)), exponent + by};
}

template <class Value>
DEVICE Scaled<Value> scaled_value(Value value) {
    const bool small = exponent_field(value) < 1023 - 500;
    return rescaled(times(value, small ? 0x1p1000 : 1.0), small ? -1000 : 0);
}
DEVICE Scaled<double> scaled(double x) { return scaled_value(x); }
DEVICE Scaled<Parts> scaled(complex<double> x) { return scaled_value(Parts{x.re, x.im}); }

template <class Value>
DEVICE Scaled<Value> multiplied(const Scaled<Value>& x, const Scaled<Value>& y) {
    return rescaled(times(x.value, y.value), x.exponent + y.exponent);
}

// Multiplies by 2**exponent in two steps, because the power may be out of double's range. The first
// step is exact.
template <class Value>
DEVICE Value unscaled_value(const Scaled<Value>& x) {
    const int32_t by = static_cast<int32_t>(x.exponent < -2000  ? -2000
                                            : x.exponent > 2000 ? 2000
                                                                : x.exponent);
    return times(times(x.value, power_of_2(by / 2)), power_of_2(by - by / 2));
}
DEVICE double unscaled(const Scaled<double>& x) { return unscaled_value(x); }
DEVICE complex<double> unscaled(const Scaled<Parts>& x) {
    const Parts found = unscaled_value(x);
    return {found.re, found.im};
}

// An access moves at most 16 bytes, so these move each part by itself.
DEVICE Scaled<Parts> load(const Scaled<Parts>* from) {
    return {{load(&from->value.re), load(&from->value.im)}, load(&from->exponent)};
}
DEVICE void store(Scaled<Parts>* to, const Scaled<Parts>& x) {
    store(&to->value.re, x.value.re);
    store(&to->value.im, x.value.im);
    store(&to->exponent, x.exponent);
}
DEVICE Scaled<Parts> load_shared_if(bool active, const Scaled<Parts>* from) {
    return {{load_shared_if(active, &from->value.re), load_shared_if(active, &from->value.im)},
            load_shared_if(active, &from->exponent)};
}
DEVICE Scaled<Parts> load_shared(const Scaled<Parts>* from) { return load_shared_if(true, from); }
DEVICE void store_shared_if(bool active, Scaled<Parts>* to, const Scaled<Parts>& x) {
    store_shared_if(active, &to->value.re, x.value.re);
    store_shared_if(active, &to->value.im, x.value.im);
    store_shared_if(active, &to->exponent, x.exponent);
}
DEVICE void store_shared(Scaled<Parts>* to, const Scaled<Parts>& x) { store_shared_if(true, to, x); }
