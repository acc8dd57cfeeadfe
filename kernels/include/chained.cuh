// Elements that are in no memory: a chain of functions makes each, as it is read, of the elements that its
// operands have in the same slot, or of the one element that an operand is.
//
// Who includes this has a `Frame` with the operands' addresses, `from`, and the chain's numbers; and
// ELEMENTS, types of the operands; SINGLE, whether each is one element; CHAIN, as fuse.cu has it.
#pragma once

#include "memory.cuh"
#include "operations.cuh"
#include "sectors.cuh"

CHAIN

// Where an element would be.
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

constexpr bool IS_SINGLE[] = {SINGLE};

// Elements of an operand that belong to a pack; of those wider than its own, several packs.
template <class T, int Length, bool Single>
struct Run {
    static constexpr int EACH = sizeof(T) * Length < 16 ? Length : 16 / sizeof(T);
    Pack<T, EACH> packs[Length / EACH];

    DEVICE Run(const void* from, bool active, int64_t slot) {
#pragma unroll
        for (int k = 0; k < Length / EACH; ++k) {
            const T* const here = static_cast<const T*>(from) + slot + k * EACH;
            packs[k] = load_if(active, reinterpret_cast<const Pack<T, EACH>*>(here));
        }
    }
    DEVICE T at(int j) const { return packs[j / EACH].at[j % EACH]; }
};
template <class T, int Length>
struct Run<T, Length, true> {
    T one;

    DEVICE Run(const void* from, bool active, int64_t)
        : one(load_if(active, static_cast<const T*>(from))) {}
    DEVICE T at(int) const { return one; }
};

// `Length` elements that follow each other.
template <class T, int Length, class = typename Below<OPERANDS>::type, class = Types<ELEMENTS>>
struct Made;
template <class T, int Length, int... N, class... E>
struct Made<T, Length, Numbers<N...>, Types<E...>>
    : Numbered<N, Run<E, Length, IS_SINGLE[N]>>... {
    const Scalar* numbers;

    DEVICE Made(bool active, const From<T>& from)
        : Numbered<N, Run<E, Length, IS_SINGLE[N]>>{{from.p->from[N], active, from.slot}}...,
          numbers(from.p->numbers) {}

    DEVICE T at(int j) const {
        return chain(numbers, Numbered<N, Run<E, Length, IS_SINGLE[N]>>::pack.at(j)...);
    }
};

template <class T> DEVICE T load_if(bool active, const From<T>& from) {
    return Made<T, 1>(active, from).at(0);
}
template <class T> DEVICE T load(const From<T>& from) { return load_if(true, from); }
