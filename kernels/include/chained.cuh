// Elements that are in no memory: a chain of functions makes each, as it is read, of the elements that its
// operands have in the same slot. Of an operand whose step is 0, that is the first one.
//
// Who includes this has a `Frame` with the operands' addresses `from`, their steps and the chain's
// numbers; ELEMENTS, types of the operands; and CHAIN, as fuse.cu has it.
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

// Elements of an operand that belong to a pack; of those wider than its own, several packs.
template <class T, int Length>
struct Run {
    static constexpr int EACH = sizeof(T) * Length < 16 ? Length : 16 / sizeof(T);
    Pack<T, EACH> packs[Length / EACH];

    DEVICE Run(const Frame& p, int n, bool active, int64_t slot) {
        const T* const from = static_cast<const T*>(p.from[n]);
        const T one = p.step[n] ? T{} : load_if(active, from);
#pragma unroll
        for (int k = 0; k < Length / EACH; ++k) {
            const T* const here = from + slot + k * EACH;
            if (p.step[n]) packs[k] = load_if(active, reinterpret_cast<const Pack<T, EACH>*>(here));
            else
#pragma unroll
                for (T& each : packs[k].at) each = one;
        }
    }
    DEVICE T at(int j) const { return packs[j / EACH].at[j % EACH]; }
};

// `Length` elements that follow each other.
template <class T, int Length, class = typename Below<OPERANDS>::type, class = Types<ELEMENTS>>
struct Made;
template <class T, int Length, int... N, class... E>
struct Made<T, Length, Numbers<N...>, Types<E...>> : Numbered<N, Run<E, Length>>... {
    const Scalar* numbers;

    DEVICE Made(bool active, const From<T>& from)
        : Numbered<N, Run<E, Length>>{Run<E, Length>(*from.p, N, active, from.slot)}...,
          numbers(from.p->numbers) {}

    DEVICE T at(int j) const { return chain(numbers, Numbered<N, Run<E, Length>>::pack.at(j)...); }
};

template <class T> DEVICE T load_if(bool active, const From<T>& from) {
    return Made<T, 1>(active, from).at(0);
}
template <class T> DEVICE T load(const From<T>& from) { return load_if(true, from); }
