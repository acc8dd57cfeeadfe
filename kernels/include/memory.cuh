// All accesses to global and shared memory: one element, or a pack of elements (at most 16 bytes,
// aligned to its size). In the simulator these functions check bounds and count sectors, lanes and
// bank conflicts.
#pragma once

#include "platform.cuh"

// N elements that move as one.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
    T at[N];
};

#ifdef TENSORLAYOUT_SIMULATOR

// These functions also receive the call site, by default arguments.
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

// For accesses in which some threads of a warp take no part; a load returns zero to these. An `if`
// around the access would also work, but the simulator could not tell which accesses belong
// together.
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

// For an element to which several threads store the same value. The simulator reports any other two
// stores to one byte as a race.
template <class T> DEVICE void store_same(T* to, const T& value) { *to = value; }
template <class T> DEVICE void store_same_if(bool active, T* to, const T& value) {
    if (active) *to = value;
}

#endif
