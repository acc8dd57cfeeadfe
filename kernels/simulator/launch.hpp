// What a launch is told and what it tells, and the state of the one that runs. One at a
// time per shared object: the caller holds a lock.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

constexpr int THREADS = 256;

#if defined(__SANITIZE_ADDRESS__)
#define SIMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMULATOR_ASAN 1
#endif
#endif

#define DEVICE inline
#define SIMULATOR_COLD static __attribute__((noinline, cold))

namespace simulator {

constexpr uint32_t BOUNDS = 1, INITIALIZED = 2, BARRIERS = 4, COUNT = 8, RACES = 16;  // checks
constexpr uint32_t EXACT = INITIALIZED | COUNT | RACES;  // that must see every access
enum Order : uint32_t { FORWARD, REVERSE, RANDOM };
enum Kind : uint32_t { LOAD, STORE, SHARED_LOAD, SHARED_STORE };
enum Manner : uint32_t { LOADS, STORES, REPEATS, ATOMIC, MANNERS };  // in which threads may meet

// Device memory; written: one byte per byte, 1 where something was stored, or null (not followed).
struct Allocation {
    uint64_t begin, bytes;
    uint8_t* written;
};

// Over accesses of whole warps. units: 32-byte sectors in global memory, wavefronts in shared;
// ideal: the fewest that could have brought the same bytes.
struct Tally {
    uint64_t accesses, lanes, bytes, units, ideal;
};

struct Launch {
    uint32_t grid[3], operation;
    uint32_t checks, order;
    uint64_t seed;
    const Allocation* allocations;  // in order of address, apart from each other
    uint64_t allocation_count;
    void* stacks;    // from simulator_stacks(), of no other running launch
    Tally* tallies;  // one of each Kind; added to
    char* message;   // "" if all went well
    uint64_t message_bytes;
    uint64_t parameter_bytes;
};

struct Index {
    uint32_t x, y, z;
};

}  // namespace simulator

static simulator::Index threadIdx, blockIdx, gridDim;
static constexpr simulator::Index blockDim{THREADS, 1, 1};

namespace simulator {

static int operation;  // which functor: an index into the names of SIMULATOR_OPERATIONS

struct Place {
    const char* file;
    int line;
};

// Addresses that may be used without a further look; of one allocation.
struct Window {
    uint64_t begin, bytes;
    bool holds(uint64_t address, uint64_t size) const {
        const uint64_t at = address - begin;
        return at < bytes && bytes - at >= size;
    }
};

constexpr uint64_t SHARED_BYTES = 48 * 1024;  // of a block, without asking for more

struct SharedArray {
    const char* name;
    uint64_t begin, bytes;
    uint8_t* written;
    uint64_t block;  // which block used it last
};

// One allocation each: a kernel may load from three in turn. With two, that costs 30 ns a thread
// instead of 5 (2026-11, 2-core AMD EPYC (Zen 4), g++ 12.2).
constexpr uint32_t WINDOWS = 3;

static const Launch* launch;
static const char* kernel;
static bool failed;
static bool in_fibers;
static jmp_buf escape;         // out of a KERNEL
static Window windows[4][WINDOWS];  // by Kind; those seen last
static uint32_t oldest_window[4];
static uint64_t block_serial;  // of all blocks ever run
static SharedArray* shared_arrays[32];
static uint32_t shared_count;
static uint64_t shared_bytes;
static uint64_t random_state;

static uint32_t draw(uint32_t below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(((random_state >> 32) * below) >> 32);
}

// ---- Errors: written once into the launch's message; the launch ends, the process goes on.

SIMULATOR_COLD void report(const char* format, ...) __attribute__((format(printf, 1, 2)));
SIMULATOR_COLD void report(const char* format, ...) {
    if (failed) return;
    failed = true;
    const int used = snprintf(launch->message, launch->message_bytes, "%s: ", kernel);
    va_list values;
    va_start(values, format);
    vsnprintf(launch->message + used, launch->message_bytes - used, format, values);
    va_end(values);
}

[[noreturn]] SIMULATOR_COLD void leave();

SIMULATOR_COLD const char* base_name(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// "block (0, 0, 0), thread 5, copy/copy.cu:17"
SIMULATOR_COLD const char* whereabouts(Place place) {
    static char text[512];
    snprintf(text, sizeof text, "block (%u, %u, %u), thread %u, %s:%d", blockIdx.x, blockIdx.y,
             blockIdx.z, threadIdx.x, base_name(place.file), place.line);
    return text;
}

}  // namespace simulator
