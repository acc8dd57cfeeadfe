// Functors for reductions, which accept elements in any order. Each functor has
//
//   Element     type of the elements
//   State       state of a set of elements: a number, or one of the structs below
//   none()      state of no elements
//   of(x, rows, positions, step)
//               state of the first `rows` rows of `x`; element j of row k has the position
//               positions[k] + j * step. The other rows may hold anything.
//   join(a, b)  state of the elements of both
//   finish(state, how)
//               result, of a type that store_result accepts
//
// `of` adds 16- and 32-bit floats in float: at most 64 of them, and in pairs. All later additions
// are in double, so the error does not grow with the length. If the sum overflows in float, `of`
// adds the elements again in double. Integers wrap modulo 2**64; a result is the low bits.
#pragma once

#include "functions.cuh"
#include "scaled.cuh"

// The simulator has all kernels in one file. Without inlining, code that they share is compiled
// once for all of them.
#ifdef TENSORLAYOUT_SIMULATOR
#define COMMON __attribute__((noinline))
#else
#define COMMON DEVICE
#endif

// ---- Results ------------------------------------------------------------------------------------

enum Stored { AS_HALF, AS_BFLOAT16, AS_FLOAT, AS_DOUBLE, AS_1_BYTE, AS_2_BYTES, AS_4_BYTES, AS_8_BYTES };
enum Answer { VALUE, ROOT, WHETHER_ANY, WHETHER_ALL };

struct Finish {
    double divisor;  // of a sum, or of squared distances from the mean
    int64_t count;   // elements per result
    int32_t stored;
    int32_t answer;
};

DEVICE void store_result(void* to, int64_t at, uint64_t value, int stored) {
    switch (stored) {
        case AS_1_BYTE: return store(static_cast<uint8_t*>(to) + at, static_cast<uint8_t>(value));
        case AS_2_BYTES: return store(static_cast<uint16_t*>(to) + at, static_cast<uint16_t>(value));
        case AS_4_BYTES: return store(static_cast<uint32_t*>(to) + at, static_cast<uint32_t>(value));
        default: return store(static_cast<uint64_t*>(to) + at, value);
    }
}

DEVICE void store_result(void* to, int64_t at, double value, int stored) {
    switch (stored) {
        case AS_HALF: return store(static_cast<half*>(to) + at, half(value));
        case AS_BFLOAT16: return store(static_cast<bfloat16*>(to) + at, bfloat16(value));
        case AS_FLOAT: return store(static_cast<float*>(to) + at, static_cast<float>(value));
        default: return store(static_cast<double*>(to) + at, value);
    }
}

DEVICE void store_result(void* to, int64_t at, complex<double> value, int stored) {
    if (stored == AS_DOUBLE) return store(static_cast<complex<double>*>(to) + at, value);
    store(static_cast<complex<float>*>(to) + at, convert<complex<float>>(value));
}

// A result that is an unchanged element of the operand.
template <class T> struct Same { T value; };

template <class T>
DEVICE void store_result(void* to, int64_t at, Same<T> found, int) {
    store(static_cast<T*>(to) + at, found.value);
}

// ---- States, and the words of 8 bytes in which they travel --------------------------------------

// Number of elements, their mean, and the sum of squared distances from the mean.
struct Spread {
    double count, mean, squares;
};

// An element and its position; the position is -1 if there is no element.
template <class T>
struct Best {
    T value;
    int64_t position;
};

template <class T> DEVICE uint64_t word_of(T value) {
    return static_cast<uint64_t>(bits_as<bits_of<T>>(value));
}
template <class T> DEVICE T from_word(uint64_t word) {
    return bits_as<T>(static_cast<bits_of<T>>(word));
}

template <class State>
struct Words {
    static constexpr int COUNT = 1;
    static constexpr int REGISTERS = 1;  // of 8 bytes per state, in a thread with many states
    static DEVICE void save(State state, uint64_t (&words)[1]) { words[0] = word_of(state); }
    static DEVICE State restore(const uint64_t (&words)[1]) { return from_word<State>(words[0]); }
};

template <>
struct Words<complex<double>> {
    static constexpr int COUNT = 2;
    static constexpr int REGISTERS = 2;
    static DEVICE void save(complex<double> state, uint64_t (&words)[2]) {
        words[0] = word_of(state.re);
        words[1] = word_of(state.im);
    }
    static DEVICE complex<double> restore(const uint64_t (&words)[2]) {
        return {from_word<double>(words[0]), from_word<double>(words[1])};
    }
};

template <>
struct Words<Scaled<double>> {
    static constexpr int COUNT = 2;
    static constexpr int REGISTERS = 4;  // joining states takes more than their words
    static DEVICE void save(const Scaled<double>& state, uint64_t (&words)[2]) {
        words[0] = word_of(state.value);
        words[1] = static_cast<uint64_t>(state.exponent);
    }
    static DEVICE Scaled<double> restore(const uint64_t (&words)[2]) {
        return {from_word<double>(words[0]), static_cast<int64_t>(words[1])};
    }
};

template <>
struct Words<Scaled<Parts>> {
    static constexpr int COUNT = 3;
    static constexpr int REGISTERS = 3;
    static DEVICE void save(const Scaled<Parts>& state, uint64_t (&words)[3]) {
        words[0] = word_of(state.value.re);
        words[1] = word_of(state.value.im);
        words[2] = static_cast<uint64_t>(state.exponent);
    }
    static DEVICE Scaled<Parts> restore(const uint64_t (&words)[3]) {
        return {{from_word<double>(words[0]), from_word<double>(words[1])},
                static_cast<int64_t>(words[2])};
    }
};

template <>
struct Words<Spread> {
    static constexpr int COUNT = 3;
    static constexpr int REGISTERS = 3;
    static DEVICE void save(const Spread& state, uint64_t (&words)[3]) {
        words[0] = word_of(state.count);
        words[1] = word_of(state.mean);
        words[2] = word_of(state.squares);
    }
    static DEVICE Spread restore(const uint64_t (&words)[3]) {
        return {from_word<double>(words[0]), from_word<double>(words[1]),
                from_word<double>(words[2])};
    }
};

template <class T>
struct Words<Best<T>> {
    static constexpr int COUNT = 2;
    static constexpr int REGISTERS = 4;  // 2 for the words, and 2 for the positions of elements
    static DEVICE void save(const Best<T>& state, uint64_t (&words)[2]) {
        words[0] = word_of(state.value);
        words[1] = static_cast<uint64_t>(state.position);
    }
    static DEVICE Best<T> restore(const uint64_t (&words)[2]) {
        return {from_word<T>(words[0]), static_cast<int64_t>(words[1])};
    }
};

// ---- Elements that are all alike ----------------------------------------------------------------

// Joins the items of N elements, in memory order, in pairs, pairs of pairs, and so on: few items
// are held at a time. `F::neutral()` is an element that does not change the result. Each level is a
// function, because NVRTC 12.9 does not unroll a loop over levels and keeps its items in memory.
template <class F, int First, int N, int Rows, int Length>
DEVICE typename F::Item joined(const typename F::Element (&x)[Rows][Length], int rows) {
    if constexpr (N == 1) {
        return F::item(First / Length < rows ? x[First / Length][First % Length] : F::neutral());
    } else {
        return F::join(joined<F, First, N / 2>(x, rows), joined<F, First + N / 2, N / 2>(x, rows));
    }
}

template <class F, int Rows, int Length>
DEVICE typename F::Item folded(const typename F::Element (&x)[Rows][Length], int rows) {
    return joined<F, 0, Rows * Length>(x, rows);
}

// Type in which sums and products are accumulated.
template <class T>
using wide = choose<is_complex<T>, complex<double>, choose<is_floating<T>, double, uint64_t>>;

// Type in which `of` adds a few elements.
template <class T> struct Narrow { using type = wide<T>; };
template <> struct Narrow<int8_t> { using type = int32_t; };
template <> struct Narrow<uint8_t> { using type = int32_t; };
template <> struct Narrow<int16_t> { using type = int32_t; };
template <> struct Narrow<uint16_t> { using type = int32_t; };
template <> struct Narrow<half> { using type = float; };
template <> struct Narrow<bfloat16> { using type = float; };
template <> struct Narrow<float> { using type = float; };
template <> struct Narrow<complex<float>> { using type = complex<float>; };

template <class T> DEVICE T added(T x, T y) { return x + y; }
template <class T> DEVICE complex<T> added(complex<T> x, complex<T> y) {
    return {x.re + y.re, x.im + y.im};
}

DEVICE bool is_finite(int32_t) { return true; }
template <class T> DEVICE bool is_finite(T x) { return x - x == 0; }
template <class T> DEVICE bool is_finite(complex<T> x) {
    return is_finite(x.re) && is_finite(x.im);
}

template <class T, class ItemType>
struct Sum {
    using Element = T;
    using Item = ItemType;
    using State = wide<T>;

    static DEVICE T neutral() { return T{}; }
    static DEVICE State none() { return State{}; }
    static DEVICE Item item(T x) { return convert<Item>(x); }
    template <class Total> static DEVICE Total join(Total x, Total y) { return added(x, y); }

    template <int Rows, int Length>
    static COMMON State of(const T (&x)[Rows][Length], int rows, const int64_t (&)[Rows], int64_t) {
        const Item found = folded<Sum>(x, rows);
        if constexpr (!is_same<Item, State>)
            if (!is_finite(found)) return folded<Sum<T, State>>(x, rows);
        return convert<State>(found);
    }

    static DEVICE State finish(State x, const Finish& how) {
        if constexpr (is_complex<T>) return {x.re / how.divisor, x.im / how.divisor};
        else if constexpr (is_floating<T>) return x / how.divisor;
        else return x;
    }
};

// Converts a factor, so that threads can multiply in any order: floats are scaled; integers wrap
// anyway.
DEVICE uint64_t wide_factor(uint64_t x) { return x; }
DEVICE Scaled<double> wide_factor(double x) { return scaled(x); }
DEVICE Scaled<Parts> wide_factor(complex<double> x) { return scaled(x); }
DEVICE uint64_t unscaled(uint64_t x) { return x; }

namespace reductions {

template <class T> using sum = Sum<T, typename Narrow<T>::type>;
template <class T> using wide_sum = Sum<T, wide<T>>;  // for results wider than float

template <class T>
struct product {
    using Element = T;
    using Item = wide<T>;
    using State = decltype(wide_factor(Item{}));

    // Number of elements whose product is within double's range for any values.
    static constexpr int RUN = is_same<T, half>                                    ? 32
                               : is_same<T, double> || is_same<T, complex<double>> ? 1
                               : is_floating<T> || is_complex<T>                   ? 4
                                                                                   : 64;

    static DEVICE T neutral() { return convert<T>(1); }
    static DEVICE State none() { return wide_factor(item(neutral())); }
    static DEVICE Item item(T x) { return convert<Item>(x); }
    static DEVICE Item join(Item x, Item y) {
        if constexpr (is_complex<T>)
            return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
        else return x * y;
    }
    template <class Value>
    static DEVICE Scaled<Value> join(const Scaled<Value>& x, const Scaled<Value>& y) {
        return multiplied(x, y);
    }
    template <int First, int N, int Rows, int Length>
    static DEVICE State runs(const T (&x)[Rows][Length], int rows) {
        if constexpr (N <= RUN) return wide_factor(joined<product, First, N>(x, rows));
        else return join(runs<First, N / 2>(x, rows), runs<First + N / 2, N / 2>(x, rows));
    }
    template <int Rows, int Length>
    static COMMON State of(const T (&x)[Rows][Length], int rows, const int64_t (&)[Rows], int64_t) {
        return runs<0, Rows * Length>(x, rows);
    }
    static DEVICE Item finish(const State& x, const Finish&) { return unscaled(x); }
};

// ---- Extremes -----------------------------------------------------------------------------------

// Returns true if x is less than y. -0 is less than 0, so that the result does not depend on the
// order of elements.
template <class T>
DEVICE bool is_less(T x, T y) {
    if constexpr (is_floating<T>)
        return number(x) < number(y) ||
               (number(x) == number(y) && bits_as<bits_of<T>>(x) > bits_as<bits_of<T>>(y) &&
                number(x) == 0);
    else return x < y;
}

template <class T>
DEVICE bool is_nan(T x) {
    if constexpr (is_floating<T>) return number(x) != number(x);
    else return false;
}

// The extreme of one row or more, found by comparisons alone. It may be wrong if any element is NaN.
template <class T>
struct Quick {
    decltype(number(T{})) value;
    bool any_nan;
};

template <bool greatest, class T, int Rows, int Length>
DEVICE Quick<T> quick_extreme(const T (&x)[Rows][Length], int rows) {
    Quick<T> found{number(x[0][0]), false};
#pragma unroll
    for (int k = 0; k < Rows; ++k)
        if (k < rows)
#pragma unroll
            for (int j = 0; j < Length; ++j) {
                const auto each = number(x[k][j]);
                found.any_nan |= each != each;
                found.value = (greatest ? each > found.value : each < found.value) ? each
                                                                                    : found.value;
            }
    return found;
}

template <class T, bool greatest, bool skip_nan>
struct Extreme {
    using Element = T;
    using Item = T;
    using State = T;

    static DEVICE T neutral() {
        if constexpr (skip_nan && is_floating<T>) return convert<T>(limits<double>::nan);
        else return greatest ? lowest<T>() : highest<T>();
    }
    static DEVICE T none() { return neutral(); }
    static DEVICE T item(T x) { return x; }
    static DEVICE T join(T x, T y) {
        if (is_nan(x)) return skip_nan ? y : x;
        if (is_nan(y)) return skip_nan ? x : y;
        return (greatest ? is_less(x, y) : is_less(y, x)) ? y : x;
    }
    template <int Rows, int Length>
    static COMMON T of(const T (&x)[Rows][Length], int rows, const int64_t (&)[Rows], int64_t) {
        if (rows <= 0) return none();
        const Quick<T> quick = quick_extreme<greatest>(x, rows);
        // The sign of a zero counts.
        const bool is_plain = !quick.any_nan && !(is_floating<T> && quick.value == 0);
        return is_plain ? convert<T>(quick.value) : folded<Extreme>(x, rows);
    }
    static DEVICE Same<T> finish(T x, const Finish&) { return {x}; }
};

template <class T> using least = Extreme<T, false, false>;
template <class T> using greatest = Extreme<T, true, false>;
template <class T> using least_number = Extreme<T, false, true>;
template <class T> using greatest_number = Extreme<T, true, true>;

// The position of the first NaN or, without NaN, of the first least or greatest element.
template <class T, bool greatest>
struct Position {
    using Element = T;
    using State = Best<T>;

    static DEVICE State none() { return {T{}, -1}; }
    static DEVICE bool better(T x, T y) {
        if (is_nan(y)) return false;
        return is_nan(x) || (greatest ? number(x) > number(y) : number(x) < number(y));
    }
    static DEVICE State join(const State& x, const State& y) {
        if (x.position < 0) return y;
        if (y.position < 0) return x;
        if (better(x.value, y.value)) return x;
        if (better(y.value, x.value)) return y;
        return x.position < y.position ? x : y;
    }
    template <int Rows, int Length>
    static DEVICE bool ascend(int rows, const int64_t (&positions)[Rows], int64_t step) {
        bool found = Length == 1 || step > 0;
#pragma unroll
        for (int k = 1; k < Rows; ++k) found &= k >= rows || positions[k - 1] < positions[k];
        return found;
    }
    template <int Rows, int Length>
    static COMMON State of(const T (&x)[Rows][Length], int rows, const int64_t (&positions)[Rows],
                           int64_t step) {
        State found = none();
        if (rows <= 0) return found;
        if constexpr (Rows * Length > 16) {  // at once, they would take too many registers
            constexpr int Half = Rows / 2;
            using Elements = const T(&)[Half][Length];
            using Positions = const int64_t(&)[Half];
            const State first = of(reinterpret_cast<Elements>(x[0]), rows,
                                   reinterpret_cast<Positions>(positions[0]), step);
            return join(first, of(reinterpret_cast<Elements>(x[Half]), rows - Half,
                                  reinterpret_cast<Positions>(positions[Half]), step));
        }
        const Quick<T> quick = quick_extreme<greatest>(x, rows);
        const bool ascends = ascend<Rows, Length>(rows, positions, step);
        if (!quick.any_nan && (Rows == 1 || ascends)) {
            int first = 0;
#pragma unroll
            for (int n = Rows * Length - 1; n >= 0; --n)
                if (n / Length < rows && number(x[n / Length][n % Length]) == quick.value) first = n;
            if (Rows == 1 && !ascends) {
#pragma unroll
                for (int j = 0; j < Length; ++j)
                    if (number(x[0][j]) == quick.value) first = j;
            }
            int64_t begin = positions[0];
#pragma unroll
            for (int k = 1; k < Rows; ++k)
                if (first >= k * Length) begin = positions[k];
            return {convert<T>(quick.value), begin + first % Length * step};
        }
#pragma unroll
        for (int k = 0; k < Rows; ++k) {
            T value = x[k][0];
            int at = 0;
#pragma unroll
            for (int j = 1; j < Length; ++j) {
                const bool later_is_first = step < 0 && !better(value, x[k][j]);
                if (later_is_first || better(x[k][j], value)) value = x[k][j], at = j;
            }
            if (k < rows) found = join(found, {value, positions[k] + at * step});
        }
        return found;
    }
    static DEVICE uint64_t finish(const State& x, const Finish&) {
        return static_cast<uint64_t>(x.position);
    }
};

template <class T> using first_least = Position<T, false>;
template <class T> using first_greatest = Position<T, true>;

// ---- Counts -------------------------------------------------------------------------------------

// Count of nonzero elements (NaN is nonzero), or whether any or all elements are nonzero.
template <class T>
struct nonzero {
    using Element = T;
    using Item = int32_t;
    using State = uint64_t;

    static DEVICE T neutral() { return T{}; }
    static DEVICE State none() { return 0; }
    static DEVICE Item item(T x) { return bool(convert<bool8>(x)); }
    template <class Total> static DEVICE Total join(Total x, Total y) { return x + y; }
    template <int Rows, int Length>
    static COMMON State of(const T (&x)[Rows][Length], int rows, const int64_t (&)[Rows], int64_t) {
        return static_cast<State>(folded<nonzero>(x, rows));
    }
    static DEVICE State finish(State found, const Finish& how) {
        if (how.answer == WHETHER_ANY) return found != 0;
        if (how.answer == WHETHER_ALL) return found == static_cast<State>(how.count);
        return found;
    }
};

// ---- Variance -----------------------------------------------------------------------------------

// Variance in one pass: each run of elements has a mean and squared distances from it, and runs are
// joined by the method of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for
// computing sample variances", 1979). Nothing is subtracted that is much greater than the
// distances.
template <class T>
struct variance {
    using Element = T;
    using State = Spread;

    static DEVICE State none() { return {0, 0, 0}; }
    static DEVICE State join(const State& x, const State& y) {
        if (x.count == 0) return y;
        if (y.count == 0) return x;
        const double count = x.count + y.count, share = y.count / count;
        const double apart = y.mean - x.mean;
        return {count, x.mean + apart * share, x.squares + y.squares + apart * apart * x.count * share};
    }

    // Computes the state of a run in the type Work. Returns false if squares may have overflowed or
    // underflowed.
    template <class Work, int Rows, int Length>
    static DEVICE bool spread(const T (&x)[Rows][Length], int rows, State& found) {
        Work sum = 0, off = 0, squares = 0;
#pragma unroll
        for (int k = 0; k < Rows; ++k)
            if (k < rows)
#pragma unroll
                for (int j = 0; j < Length; ++j) sum += Work(number(x[k][j]));
        const Work count = static_cast<Work>(rows * Length), near = sum / count;
#pragma unroll
        for (int k = 0; k < Rows; ++k)
            if (k < rows)
#pragma unroll
                for (int j = 0; j < Length; ++j) {
                    const Work distance = Work(number(x[k][j])) - near;
                    off += distance;
                    squares += distance * distance;
                }
        // `near` is a rounded mean; its error is the mean of the distances from it. Divisions of tiny
        // numbers take a slow path on GPUs, those by a count do not.
        const double all = static_cast<double>(count), shift = static_cast<double>(off) * (1 / all);
        found = {all, static_cast<double>(near) + shift, static_cast<double>(squares)};
        if (is_finite(found.squares)) {  // what overflows stays infinite
            found.squares -= static_cast<double>(off) * shift;
            if (found.squares < 0) found.squares = 0;
        }
        // In float, no square may overflow, and those that count may not underflow.
        return squares > Work(1e-24f) && squares < Work(1e36f);
    }

    template <int Rows, int Length>
    static COMMON State of(const T (&x)[Rows][Length], int rows, const int64_t (&)[Rows], int64_t) {
        State found = none();
        if (rows <= 0) return found;
        if constexpr (!is_same<T, double>)
            if (spread<float>(x, rows, found)) return found;
        spread<double>(x, rows, found);
        return found;
    }

    static DEVICE double finish(const State& x, const Finish& how) {
        const double found = x.squares / how.divisor;
        return how.answer == ROOT ? math::sqrt(found) : found;
    }
};

}  // namespace reductions
