// Fibers: stacks that take turns on one thread, switched without system calls.
#pragma once

#include <setjmp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "launch.hpp"

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(SIMULATOR_PORTABLE_FIBERS)
#define SIMULATOR_ASSEMBLY 1
#else
#include <ucontext.h>
#endif

#ifdef SIMULATOR_ASAN
extern "C" void __sanitizer_start_switch_fiber(void** kept, const void* bottom, size_t bytes);
extern "C" void __sanitizer_finish_switch_fiber(void* kept, const void** bottom, size_t* bytes);
extern "C" void __asan_unpoison_memory_region(const volatile void* from, size_t bytes);
#endif

namespace simulator {

struct Fiber {
    char* stack;  // its lowest byte; null: the stack of the caller
    size_t bytes;
    void* sanitizer;
#ifdef SIMULATOR_ASSEMBLY
    void* pointer;  // the stack pointer, with the callee-saved registers above it
#else
    ucontext_t context;
    jmp_buf registers;
    bool started;
#endif
};

#ifdef SIMULATOR_ASSEMBLY
// Saves the registers that a callee keeps on this stack, its pointer in *from; goes on from `to`.
extern "C" __attribute__((visibility("hidden"))) void simulator_switch(void** from, void* to)
    __asm__("simulator_switch");
#ifdef __x86_64__
// No `ret` at the end: the processor would expect to return within the fiber that is left. A
// barrier cost 30 ns a thread with it, 15 without (2026-11, 2-core AMD EPYC (Zen 4), g++ 12.2).
__asm__(
    ".text\n"
    "simulator_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  popq %rcx\n  jmpq *%rcx\n");
constexpr int SAVED = 6, RETURN_AT = 6;  // words saved; where the return address is among them
#else
__asm__(
    ".text\n"
    "simulator_switch:\n"
    "  stp x29, x30, [sp, #-160]!\n"
    "  stp x19, x20, [sp, #16]\n  stp x21, x22, [sp, #32]\n  stp x23, x24, [sp, #48]\n"
    "  stp x25, x26, [sp, #64]\n  stp x27, x28, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp, #16]\n  ldp x21, x22, [sp, #32]\n  ldp x23, x24, [sp, #48]\n"
    "  ldp x25, x26, [sp, #64]\n  ldp x27, x28, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  ldp x29, x30, [sp], #160\n"
    "  ret\n");
constexpr int SAVED = 20, RETURN_AT = 1;
#endif
#endif

// A fiber that begins with entry(), which never returns. colour: stacks whose tops share a cache
// set would push each other out of the cache, so each begins a line lower than the one before.
static void prepare(Fiber& fiber, char* stack, size_t bytes, size_t colour, void (*entry)()) {
    fiber.stack = stack;
    fiber.bytes = bytes;
    fiber.sanitizer = nullptr;
#ifdef SIMULATOR_ASAN
    __asan_unpoison_memory_region(stack, bytes);  // left by a launch that failed
#endif
#ifdef SIMULATOR_ASSEMBLY
    void** top = reinterpret_cast<void**>(stack + bytes - 32 - (colour % 64) * 64);
    void** frame = top - SAVED;
    memset(frame, 0, (SAVED + 2) * sizeof(void*));
    frame[RETURN_AT] = reinterpret_cast<void*>(entry);
    fiber.pointer = frame;
#else
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stack;
    fiber.context.uc_stack.ss_size = bytes - (colour % 64) * 64;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, entry, 0);
    fiber.started = false;
#endif
}

static void switch_fiber(Fiber& from, Fiber& to) {
#ifdef SIMULATOR_ASAN
    __sanitizer_start_switch_fiber(&from.sanitizer, to.stack, to.bytes);
#endif
#ifdef SIMULATOR_ASSEMBLY
    simulator_switch(&from.pointer, to.pointer);
#else
    if (_setjmp(from.registers) == 0) {
        from.started = true;
        if (to.started) _longjmp(to.registers, 1);
        to.started = true;
        setcontext(&to.context);
    }
#endif
#ifdef SIMULATOR_ASAN
    __sanitizer_finish_switch_fiber(from.sanitizer, nullptr, nullptr);
#endif
}

constexpr size_t PAGE = 65536;    // the largest of any Linux
constexpr size_t STACK = 131072;  // what is never touched costs no memory

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

// Memory for `count` stacks: a page for the owner's use, then each above a page that nobody may
// touch. One mapping serves all shared objects of a process, since launches take turns on it.
static void* make_stacks(size_t count) {
    void* made = mmap(nullptr, PAGE + count * (PAGE + STACK), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return nullptr;
    for (size_t i = 0; i < count; ++i)
        mprotect(static_cast<char*>(made) + PAGE + i * (PAGE + STACK), PAGE, PROT_NONE);
    return made;
}

}  // namespace simulator
