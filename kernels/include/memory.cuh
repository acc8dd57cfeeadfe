// Every access to global and shared memory: one element, or a pack of them (at most 16 bytes, aligned
// to its size). On the simulator these check bounds and count sectors, lanes and bank conflicts.
#pragma once

#include "platform.cuh"

// N elements that move as one.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
    T at[N];
};

#ifdef TENSORLAYOUT_SIMULATOR

// They take the place of the call as well, by default arguments.
using simulator::load;
using simulator::load_if;
using simulator::load_shared;
using simulator::load_shared_if;
using simulator::store;
using simulator::store_if;
using simulator::store_same;
using simulator::store_same_if;
using simulator::store_shared;
using simulator::store_shared_if;

#else

template <class T> DEVICE T load(const T* from) { return *from; }
template <class T> DEVICE void store(T* to, const T& value) { *to = value; }
template <class T> DEVICE T load_shared(const T* from) { return *from; }
template <class T> DEVICE void store_shared(T* to, const T& value) { *to = value; }

// For threads of which some take no part in an access of their warp: the value is then zero. An `if`
// around the access would do as well, but the simulator could not tell which accesses belong together.
template <class T> DEVICE T load_if(bool active, const T* from) { return active ? *from : T{}; }
template <class T> DEVICE void store_if(bool active, T* to, const T& value) {
    if (active) *to = value;
}
template <class T> DEVICE T load_shared_if(bool active, const T* from) {
    return active ? *from : T{};
}
template <class T> DEVICE void store_shared_if(bool active, T* to, const T& value) {
    if (active) *to = value;
}

// For an element that several threads store to, each the same value: to the simulator, any other two
// stores to one byte are a race.
template <class T> DEVICE void store_same(T* to, const T& value) { *to = value; }
template <class T> DEVICE void store_same_if(bool active, T* to, const T& value) {
    if (active) *to = value;
}

#endif
