// The host side of platform.cuh and memory.cuh: a CUDA grid on a CPU, every access of which can be
// checked and counted. No library of C++: these headers are compiled often.
#pragma once

#include "atomics.hpp"
#include "blocks.hpp"

#define SIMULATOR_EXPORT extern "C" __attribute__((visibility("default")))

using simulator::ballot;
using simulator::barrier;
using simulator::shuffle;
using simulator::shuffle_down;
using simulator::shuffle_up;

SIMULATOR_EXPORT void* simulator_stacks() { return simulator::make_stacks(THREADS); }

// SIMULATOR_OPERATIONS("add subtract"): the names of the functors that simulator::operation picks.
#define SIMULATOR_OPERATIONS(names) \
    SIMULATOR_EXPORT const char* simulator_operations() { return names; }

// The parameters are the last argument, so that their type may have commas in it.
#define SIMULATOR_KERNEL(run, name, ...)                                                       \
    static void name##_thread(const __VA_ARGS__& p);                                           \
    SIMULATOR_EXPORT void name(const simulator::Launch* launch, const void* parameters) {      \
        simulator::run<__VA_ARGS__, name##_thread>(*launch, #name, parameters);                \
    }                                                                                          \
    static void name##_thread([[maybe_unused]] const __VA_ARGS__& p)

#define KERNEL(name, ...) SIMULATOR_KERNEL(run_kernel, name, __VA_ARGS__)
#define BLOCK_KERNEL(name, ...) SIMULATOR_KERNEL(run_block_kernel, name, __VA_ARGS__)

#define SHARED(T, name, count)                                                                 \
    constexpr size_t name##_start = simulator::shared_start(alignof(T), SHARED_ALIGNMENT);     \
    alignas(simulator::BANK_LINE) static unsigned char                                         \
        name##_memory[name##_start + sizeof(T) * (count)];                                     \
    static simulator::SharedRecord<sizeof(T) * (count)> name##_record;                         \
    T(&name)[count] =                                                                          \
        name##_record.template open<T, (count)>(name##_memory + name##_start, #name)
