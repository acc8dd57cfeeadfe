// Every access to memory, checked and counted as the launch asks.
#pragma once

#include "races.hpp"

namespace simulator {

static const char* const ACTIONS[] = {"load", "store", "load from shared memory",
                                      "store to shared memory"};

// The last allocation that begins at or below the address, or null.
static const Allocation* find(uint64_t address) {
    uint64_t low = 0, high = launch->allocation_count;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (launch->allocations[middle].begin <= address) low = middle + 1;
        else high = middle;
    }
    return low ? launch->allocations + low - 1 : nullptr;
}

constexpr long long FAR = 1ll << 32;  // beyond that, no allocation is to blame

[[noreturn]] SIMULATOR_COLD void outside(const Access& a) {
    const Allocation *all = launch->allocations, *end = all + launch->allocation_count;
    const Allocation* near = find(a.address);
    const Allocation* above = near ? near + 1 : all;
    if (above < end) {
        const uint64_t up = above->begin - a.address, down = near ? a.address - near->begin : ~0ull;
        if (!near || (down > near->bytes && up < down - near->bytes)) near = above;
    }
    const long long at = near && near != end ? a.address - near->begin : -FAR;
    if (at <= -FAR || at >= static_cast<long long>(near->bytes) + FAR)
        report("%s: %s of %u bytes at 0x%llx, far from all allocations", whereabouts(a.place),
               ACTIONS[a.kind], a.bytes, (unsigned long long)a.address);
    else
        report("%s: %s of %u bytes at 0x%llx, at byte %lld of the nearest allocation, which has"
               " %llu bytes",
               whereabouts(a.place), ACTIONS[a.kind], a.bytes, (unsigned long long)a.address, at,
               (unsigned long long)near->bytes);
    leave();
}

[[noreturn]] SIMULATOR_COLD void outside_shared(const Access& a) {
    const SharedArray* near = nullptr;
    uint64_t least = ~0ull;
    for (uint32_t i = 0; i < shared_count; ++i) {
        const SharedArray* array = shared_arrays[i];
        const uint64_t away = a.address < array->begin ? array->begin - a.address
                                                       : a.address - array->begin;
        if (away < least) least = away, near = array;
    }
    if (near)
        report("%s: %s of %u bytes, at byte %lld of the nearest array, %s, which has %llu bytes",
               whereabouts(a.place), ACTIONS[a.kind], a.bytes, (long long)(a.address - near->begin),
               near->name, (unsigned long long)near->bytes);
    else
        report("%s: %s, and the block has none", whereabouts(a.place), ACTIONS[a.kind]);
    leave();
}

static __attribute__((noinline)) void check(const Access& a) {
    if (launch->checks & COUNT)  // what is aligned to a part of it only moves in such parts
        for (uint32_t at = 0; at < a.bytes; at += a.alignment)
            count({a.kind, a.address + at, a.alignment, a.alignment, a.place, a.manner, nullptr});
    if (!(launch->checks & (BOUNDS | INITIALIZED | RACES))) return;
    const bool global = a.kind == LOAD || a.kind == STORE;
    Window home{0, 0};
    uint8_t* written = nullptr;
    const char* name = nullptr;
    if (global) {
        const Allocation* found = find(a.address);
        if (found) home = {found->begin, found->bytes}, written = found->written;
        if (!home.holds(a.address, a.bytes)) outside(a);
    } else {
        for (uint32_t i = 0; i < shared_count && !home.bytes; ++i) {
            const SharedArray& array = *shared_arrays[i];
            if (Window{array.begin, array.bytes}.holds(a.address, a.bytes))
                home = {array.begin, array.bytes}, written = array.written, name = array.name;
        }
        if (!home.bytes) outside_shared(a);
    }
    if (a.address % a.alignment) {
        report("%s: %s of %u bytes at 0x%llx, which is no multiple of %u", whereabouts(a.place),
               ACTIONS[a.kind], a.bytes, (unsigned long long)a.address, a.alignment);
        leave();
    }
    if (launch->checks & RACES) look_for_races(a, home, name);
    if (!(launch->checks & EXACT)) {
        windows[a.kind][oldest_window[a.kind]++ % WINDOWS] = home;
        return;
    }
    if (!written || !(launch->checks & INITIALIZED)) return;
    written += a.address - home.begin;
    if (a.kind == STORE || a.kind == SHARED_STORE) memset(written, 1, a.bytes);
    else if (const void* unset = memchr(written, 0, a.bytes)) {
        const uint64_t at = a.address - home.begin + (static_cast<const uint8_t*>(unset) - written);
        report("%s: %s of byte %llu of %llu, which was never written", whereabouts(a.place),
               ACTIONS[a.kind], (unsigned long long)at, (unsigned long long)home.bytes);
        leave();
    }
}

// Whether another of the allocations used last holds these bytes.
static __attribute__((noinline)) bool seen(Kind kind, uint64_t address, uint64_t bytes) {
    for (uint32_t i = 1; i < WINDOWS; ++i)
        if (windows[kind][i].holds(address, bytes)) return true;
    return false;
}

template <class T>
inline void look(Kind kind, const T* at, Place place, Manner manner, const T* value = nullptr) {
    static_assert(sizeof(T) <= 16, "one access moves at most 16 bytes");
    const uint64_t address = reinterpret_cast<uint64_t>(at);
    if (__builtin_expect(address % alignof(T), 0) ||
        (!windows[kind][0].holds(address, sizeof(T)) && !seen(kind, address, sizeof(T))))
        check({kind, address, sizeof(T), alignof(T), place, manner, value});
}

#define SIMULATOR_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <class T> inline T load(const T* from, SIMULATOR_PLACE) {
    look(LOAD, from, {file, line}, LOADS);
    return *from;
}
template <class T> inline void store(T* to, const T& value, SIMULATOR_PLACE) {
    look(STORE, to, {file, line}, STORES);
    *to = value;
}
template <class T> inline void store_same(T* to, const T& value, SIMULATOR_PLACE) {
    look(STORE, to, {file, line}, REPEATS, &value);
    *to = value;
}
template <class T> inline T load_shared(const T* from, SIMULATOR_PLACE) {
    look(SHARED_LOAD, from, {file, line}, LOADS);
    return *from;
}
template <class T> inline void store_shared(T* to, const T& value, SIMULATOR_PLACE) {
    look(SHARED_STORE, to, {file, line}, STORES);
    *to = value;
}

// The same for a thread that takes part only if `active`. Where it does not, its next access here
// still is matched with the next one of the rest of its warp.
template <class T>
inline void sit_out(Kind kind, Place place) {
    if (__builtin_expect(launch->checks & COUNT, 0))
        for (uint32_t at = 0; at < sizeof(T); at += alignof(T))  // as they are counted
            next_access({kind, 0, alignof(T), alignof(T), place, LOADS, nullptr});
}

template <class T> inline T load_if(bool active, const T* from, SIMULATOR_PLACE) {
    if (active) return load(from, file, line);
    sit_out<T>(LOAD, {file, line});
    return T{};
}
template <class T> inline void store_if(bool active, T* to, const T& value, SIMULATOR_PLACE) {
    if (active) return store(to, value, file, line);
    sit_out<T>(STORE, {file, line});
}
template <class T>
inline void store_same_if(bool active, T* to, const T& value, SIMULATOR_PLACE) {
    if (active) return store_same(to, value, file, line);
    sit_out<T>(STORE, {file, line});
}
template <class T> inline T load_shared_if(bool active, const T* from, SIMULATOR_PLACE) {
    if (active) return load_shared(from, file, line);
    sit_out<T>(SHARED_LOAD, {file, line});
    return T{};
}
template <class T>
inline void store_shared_if(bool active, T* to, const T& value, SIMULATOR_PLACE) {
    if (active) return store_shared(to, value, file, line);
    sit_out<T>(SHARED_STORE, {file, line});
}

// ---- Shared memory: blocks run one after the other, so one array serves them all.

static __attribute__((noinline)) void open_shared(SharedArray& array) {
    array.block = block_serial;
    shared_bytes += array.bytes;
    if (shared_count == 32 || shared_bytes > SHARED_BYTES) {
        report("%u shared arrays of %llu bytes together; a block has %llu", shared_count + 1,
               (unsigned long long)shared_bytes, (unsigned long long)SHARED_BYTES);
        leave();
    }
    shared_arrays[shared_count++] = &array;
    if (launch->checks & INITIALIZED) memset(array.written, 0, array.bytes);
    // What the block before left would make a forgotten barrier look right.
    memset(reinterpret_cast<void*>(array.begin), 0xA5 + launch->order, array.bytes);
}

// Where an array begins in its memory: at an odd multiple of its alignment, so that an access that
// needs more is found to be misaligned, as it may be on a GPU.
constexpr size_t shared_start(size_t of_elements, size_t of_arrays) {
#ifdef SIMULATOR_ASAN
    return 0;  // address sanitizers watch both ends of the memory
#else
    return of_elements > of_arrays ? of_elements : of_arrays;
#endif
}

#ifdef SIMULATOR_ASAN
constexpr size_t BANK_LINE = 64;  // GCC watches the ends of no global that asks for more
#else
constexpr size_t BANK_LINE = 128;  // bytes of all banks
#endif

// What is known of one array; its memory is apart, so that address sanitizers see its ends.
template <size_t bytes>
struct SharedRecord {
    static_assert(bytes <= SHARED_BYTES, "more shared memory than a block has");
    uint8_t written[bytes];
    SharedArray array;

    template <class T, size_t count>
    T (&open(unsigned char* memory, const char* name))[count] {
        if (array.block != block_serial) {
            array.name = name;
            array.begin = reinterpret_cast<uint64_t>(memory);
            array.bytes = bytes;
            array.written = written;
            open_shared(array);
        }
        return *reinterpret_cast<T(*)[count]>(memory);
    }
};

}  // namespace simulator
