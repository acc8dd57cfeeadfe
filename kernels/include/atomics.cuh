// Atomic operations on global memory for int32_t, uint32_t, int64_t and uint64_t, which return the
// previous value, and additions in shared memory, which return nothing. They are relaxed: they do
// not order other accesses. The last digits of sums of floats depend on the order of threads.
#pragma once

#include "dtypes.cuh"
#include "memory.cuh"

#ifdef TENSORLAYOUT_SIMULATOR

using simulator::atomic_add;
using simulator::atomic_add_shared;
using simulator::atomic_cas;
using simulator::atomic_max;
using simulator::atomic_max_if;
using simulator::atomic_min;

#else

// CUDA has these for unsigned integers only. In two's complement they are the same for signed ones.
template <class T> struct WordOf { using Type = T; };
template <> struct WordOf<int32_t> { using Type = uint32_t; };
template <> struct WordOf<int64_t> { using Type = uint64_t; };

template <class T> DEVICE T atomic_add(T* at, T value) {
    using Word = typename WordOf<T>::Type;
    return static_cast<T>(atomicAdd(reinterpret_cast<Word*>(at), static_cast<Word>(value)));
}
DEVICE void atomic_add_shared(uint32_t* at, uint32_t value) { atomicAdd(at, value); }
template <class T> DEVICE T atomic_cas(T* at, T expected, T value) {
    using Word = typename WordOf<T>::Type;
    return static_cast<T>(atomicCAS(reinterpret_cast<Word*>(at), static_cast<Word>(expected),
                                    static_cast<Word>(value)));
}
template <class T> DEVICE T atomic_min(T* at, T value) { return atomicMin(at, value); }
template <class T> DEVICE T atomic_max(T* at, T value) { return atomicMax(at, value); }

// Takes part only if `active`, as `store_if` does.
template <class T> DEVICE void atomic_max_if(bool active, T* at, T value) {
    if (active) atomicMax(at, value);
}

#endif

// Values that blocks hand on to others of the same launch. One thread publishes a value, at most once;
// the flag was 0 before the launch. Readers wait, so only blocks that have started may be waited for:
// blocks that take their numbers by an atomic addition wait for lower numbers.
#ifdef TENSORLAYOUT_SIMULATOR
using simulator::publish;
using simulator::publish_word;
using simulator::published;
using simulator::wait_for_word;
#else
// The same for a word that is not 0, which needs no flag.
template <class T> DEVICE void publish_word(T* at, T value) {
    *static_cast<volatile T*>(at) = value;
}
template <class T> DEVICE T wait_for_word(const T* at) {
    T found;
    do found = *static_cast<const volatile T*>(at);
    while (found == 0);
    return found;
}
template <class T> struct PublishedWords {
    uint32_t at[sizeof(T) / 4];
};
template <class T> DEVICE void publish(T* to, const T& value, uint32_t* flag) {
    const auto words = bits_as<PublishedWords<T>>(value);
    volatile uint32_t* const at = reinterpret_cast<volatile uint32_t*>(to);
#pragma unroll
    for (int k = 0; k < static_cast<int>(sizeof(T) / 4); ++k) at[k] = words.at[k];
    __threadfence();
    *static_cast<volatile uint32_t*>(flag) = 1;
}
template <class T> DEVICE T published(const T* from, const uint32_t* flag) {
    while (*static_cast<const volatile uint32_t*>(flag) == 0) {}
    __threadfence();
    const volatile uint32_t* const at = reinterpret_cast<const volatile uint32_t*>(from);
    PublishedWords<T> words;
#pragma unroll
    for (int k = 0; k < static_cast<int>(sizeof(T) / 4); ++k) words.at[k] = at[k];
    return bits_as<T>(words);
}
#endif

// Replaces an element of 4 or 8 bytes by change(element).
template <class T, class Change>
DEVICE void atomic_change(T* at, Change change) {
    using Word = bits_of<T>;
    Word* const word = reinterpret_cast<Word*>(at);
    Word seen = atomic_cas(word, Word(0), Word(0));  // a load
    for (;;) {
        const Word before = atomic_cas(word, seen, bits_as<Word>(change(bits_as<T>(seen))));
        if (before == seen) return;
        seen = before;
    }
}
