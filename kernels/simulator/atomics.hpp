// Atomic operations on the CPU: threads of a launch take turns, so a load and a store are enough.
#pragma once

#include "checks.hpp"

namespace simulator {

template <Kind Loading = LOAD, Kind Storing = STORE, class T, class Change>
inline T exchange(T* at, Change change, Place place) {
    look(Loading, at, place, ATOMIC);
    look(Storing, at, place, ATOMIC);
    const T before = *at;
    *at = change(before);
    return before;
}

template <class T> inline T atomic_add(T* at, T value, SIMULATOR_PLACE) {
    const auto sum = [=](T old) {
        if constexpr (T(0.5) != T(0)) return old + value;  // floats; integers wrap, as on a GPU
        else return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(value));
    };
    return exchange(at, sum, {file, line});
}
inline void atomic_add_shared(uint32_t* at, uint32_t value, SIMULATOR_PLACE) {
    exchange<SHARED_LOAD, SHARED_STORE>(at, [=](uint32_t old) { return old + value; },
                                        {file, line});
}
template <class T> inline T atomic_min(T* at, T value, SIMULATOR_PLACE) {
    return exchange(at, [=](T old) { return value < old ? value : old; }, {file, line});
}
template <class T> inline T atomic_max(T* at, T value, SIMULATOR_PLACE) {
    return exchange(at, [=](T old) { return value > old ? value : old; }, {file, line});
}
template <class T> inline T atomic_cas(T* at, T expected, T value, SIMULATOR_PLACE) {
    return exchange(at, [=](T old) { return old == expected ? value : old; }, {file, line});
}

template <class T> inline void atomic_max_if(bool active, T* at, T value, SIMULATOR_PLACE) {
    if (active) {
        atomic_max(at, value, file, line);
        return;
    }
    sit_out<T>(LOAD, {file, line});
    sit_out<T>(STORE, {file, line});
}

[[noreturn]] SIMULATOR_COLD void wait_forever(Place place) {
    report("%s: waits for a value that no block before has published", whereabouts(place));
    leave();
}

// A value moves in words of 4 bytes.
template <class T>
inline void look_at_words(Kind kind, const T* at, Place place) {
    for (size_t k = 0; k < sizeof(T) / 4; ++k)
        look(kind, reinterpret_cast<const uint32_t*>(at) + k, place, ATOMIC);
}

// Blocks run one after the other, so a flag that is not set would never be.
template <class T>
inline void publish(T* to, const T& value, uint32_t* flag, SIMULATOR_PLACE) {
    look_at_words(STORE, to, {file, line});
    look(STORE, flag, {file, line}, ATOMIC);
    memcpy(to, &value, sizeof(T));
    *flag = 1;
}
template <class T> inline void publish_word(T* at, T value, SIMULATOR_PLACE) {
    exchange(at, [=](T) { return value; }, {file, line});
}
template <class T> inline T wait_for_word(const T* at, SIMULATOR_PLACE) {
    look(LOAD, at, {file, line}, ATOMIC);
    if (*at == 0) wait_forever({file, line});
    return *at;
}
template <class T>
inline T published(const T* from, const uint32_t* flag, SIMULATOR_PLACE) {
    look(LOAD, flag, {file, line}, ATOMIC);
    look_at_words(LOAD, from, {file, line});
    if (*flag == 0) wait_forever({file, line});
    T value;
    memcpy(&value, from, sizeof(T));
    return value;
}

}  // namespace simulator
