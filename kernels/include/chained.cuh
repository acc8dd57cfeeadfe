// Reads elements that are in no memory. A chain of functions computes each element when it is read.
// An argument is the operand's element in the same slot; or the only element of an operand; or, for
// a broadcast operand, the element whose offset a walk computes from the slot.
//
// A file that includes this header defines a `Frame` with the operands' addresses (`from`), the
// chain's numbers (`numbers`) and the walk (`places`). It also defines ELEMENTS, the operands'
// types; READ, how each operand is read; and CHAIN, as in fuse.cu.
#pragma once

#include "memory.cuh"
#include "operations.cuh"
#include "sectors.cuh"

CHAIN

// Stands for the address of an element that is in no memory.
template <class T>
struct From {
    const Frame* p;
    int64_t slot;
    DEVICE From operator+(int64_t further) const { return {p, slot + further}; }
};

template <class T> DEVICE From<T> first_of(const Frame& p) { return {&p, 0}; }
template <class T> DEVICE uint64_t number_of(const From<T>& from) {
    return static_cast<uint64_t>(from.slot);
}

template <class T> DEVICE uint32_t shift_at(const From<T>& from) {
    return shift_at(reinterpret_cast<const T*>(from.slot * sizeof(T)));
}

enum Reads { SAME_SLOT, ONE_ELEMENT, WHOLE_PACKS, BROADCAST };
constexpr Reads HOW[] = {READ};

// Returns the offset of an element in a broadcast operand.
template <int N> DEVICE int64_t place_of(const Frame& p, bool active, int64_t slot) {
    int32_t place[OPERANDS];
    p.places.offsets(active ? static_cast<uint32_t>(slot) : 0, place);
    return place[N];
}

// `Length` elements of an operand; they are several packs if they exceed 16 bytes.
template <class T, int Length, int N, Reads How = HOW[N]>
struct Run {
    static constexpr int EACH = sizeof(T) * Length < 16 ? Length : 16 / sizeof(T);
    Pack<T, EACH> packs[Length / EACH];

    DEVICE Run(const Frame& p, bool active, int64_t slot) {
        if constexpr (How == WHOLE_PACKS) slot = place_of<N>(p, active, slot);
#pragma unroll
        for (int k = 0; k < Length / EACH; ++k) {
            const T* const here = static_cast<const T*>(p.from[N]) + slot + k * EACH;
            packs[k] = load_if(active, reinterpret_cast<const Pack<T, EACH>*>(here));
        }
    }
    DEVICE T at(int j) const { return packs[j / EACH].at[j % EACH]; }
};
template <class T, int Length, int N>
struct Run<T, Length, N, ONE_ELEMENT> {
    T one;

    DEVICE Run(const Frame& p, bool active, int64_t)
        : one(load_if(active, static_cast<const T*>(p.from[N]))) {}
    DEVICE T at(int) const { return one; }
};
template <class T, int Length, int N>
struct Run<T, Length, N, BROADCAST> {
    T each[Length];

    DEVICE Run(const Frame& p, bool active, int64_t slot) {
#pragma unroll
        for (int j = 0; j < Length; ++j) {
            const T* const here = static_cast<const T*>(p.from[N]);
            each[j] = load_if(active, here + place_of<N>(p, active, slot + j));
        }
    }
    DEVICE T at(int j) const { return each[j]; }
};

// `Length` consecutive elements.
template <class T, int Length, class = typename Below<OPERANDS>::type, class = Types<ELEMENTS>>
struct Made;
template <class T, int Length, int... N, class... E>
struct Made<T, Length, Numbers<N...>, Types<E...>>
    : Numbered<N, Run<E, Length, N>>... {
    const Scalar* numbers;

    DEVICE Made(bool active, const From<T>& from)
        : Numbered<N, Run<E, Length, N>>{{*from.p, active, from.slot}}...,
          numbers(from.p->numbers) {}

    DEVICE T at(int j) const {
        return chain(numbers, Numbered<N, Run<E, Length, N>>::pack.at(j)...);
    }
};

template <class T> DEVICE T load_if(bool active, const From<T>& from) {
    return Made<T, 1>(active, from).at(0);
}
template <class T> DEVICE T load(const From<T>& from) { return load_if(true, from); }
