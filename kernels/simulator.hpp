// The host side of platform.cuh and memory.cuh: a CUDA grid on a CPU. Blocks run one after the other.
// Threads of a KERNEL run one after the other, those of a BLOCK_KERNEL as fibers that take turns at
// barriers. Every access can be checked and counted. One launch at a time per shared object: the
// state below is global, the caller holds a lock. No C++ library: this file is compiled often.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef THREADS
#define THREADS 256
#endif

#define DEVICE inline
#define SIMULATOR_EXPORT extern "C" __attribute__((visibility("default")))
#define SIMULATOR_COLD static __attribute__((noinline, cold))

namespace simulator {

// ---- What a launch is told, and what it tells: tensorlayout/cuda/simulator.py has the same structs.

enum Check : uint32_t { BOUNDS = 1, INITIALIZED = 2, BARRIERS = 4, COUNT = 8 };
enum Order : uint32_t { FORWARD, REVERSE, RANDOM };
enum Kind : uint32_t { LOAD, STORE, SHARED_LOAD, SHARED_STORE };

// Device memory; written: one byte per byte, 1 where something was stored, or null (not followed).
struct Allocation {
    uint64_t begin, bytes;
    uint8_t* written;
};

// Over accesses of whole warps. units: 32-byte sectors in global memory, wavefronts in shared memory;
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
    void* stacks;             // from simulator_stacks(), of no other running launch
    Tally* tallies;           // one of each Kind; added to
    char* message;            // "" if all went well
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

// ---- Fibers: stacks that take turns on one thread, switched without system calls.

#if defined(__SANITIZE_ADDRESS__)
#define SIMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMULATOR_ASAN 1
#endif
#endif
#ifdef SIMULATOR_ASAN
extern "C" void __sanitizer_start_switch_fiber(void** kept, const void* bottom, size_t bytes);
extern "C" void __sanitizer_finish_switch_fiber(void* kept, const void** bottom, size_t* bytes);
extern "C" void __asan_unpoison_memory_region(const volatile void* from, size_t bytes);
#endif

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(SIMULATOR_PORTABLE_FIBERS)
#define SIMULATOR_ASSEMBLY 1
#else
}
#include <ucontext.h>
namespace simulator {
#endif

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
// Saves the registers that a callee keeps on this stack, its pointer in *from, and goes on from `to`.
extern "C" __attribute__((visibility("hidden"))) void simulator_switch(void** from, void* to);
#ifdef __x86_64__
__asm__(
    ".text\n"
    ".type simulator_switch,@function\n"
    "simulator_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  popq %rcx\n  jmpq *%rcx\n"  // not ret: the processor would predict the fiber left
    ".size simulator_switch, . - simulator_switch\n");
constexpr int SAVED = 6, RETURN_AT = 6;  // words saved; where the return address is among them
#else
__asm__(
    ".text\n"
    ".type simulator_switch,%function\n"
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
    "  ret\n"
    ".size simulator_switch, . - simulator_switch\n");
constexpr int SAVED = 20, RETURN_AT = 1;
#endif
#endif

// A fiber that begins with entry(), which never returns. colour: stacks whose tops share one cache set
// would push each other out of the cache, so each begins some lines lower than the one before.
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

constexpr size_t PAGE = 65536, STACK = 131072;  // the largest page of any Linux; only used parts cost

// ---- The state of the launch that is running.

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

static const Launch* launch;
static const char* kernel;
static bool failed;
static bool in_fibers;
static jmp_buf escape;        // out of a KERNEL
static Window windows[4];     // by Kind
static uint64_t block_serial; // of all blocks ever run
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

// "block (0, 0, 0), thread 5, copy.cu:17"
SIMULATOR_COLD const char* whereabouts(Place place) {
    static char text[512];
    snprintf(text, sizeof text, "block (%u, %u, %u), thread %u, %s:%d", blockIdx.x, blockIdx.y,
             blockIdx.z, threadIdx.x, base_name(place.file), place.line);
    return text;
}

// ---- Counting: the lanes of a warp are matched by call site and by how often each thread passed it.

struct Access {
    Kind kind;
    uint64_t address;
    uint32_t bytes, alignment;
    Place place;
};

struct WarpAccess {
    uint32_t lanes;
    uint64_t address[32];
};

constexpr uint32_t WARPS = (THREADS + 31) / 32, SITES = 512;

struct Site {
    Place place;  // file: null if free
    Kind kind;
    uint32_t bytes;
    uint32_t passes, capacity;
    uint32_t thread_passes[THREADS];
    WarpAccess* warps;  // [pass][warp]
};

static Site sites[SITES];

// Where this thread's next access at a place belongs: one of its warp.
static WarpAccess& next_access(const Access& a) {
    uint32_t slot = (a.place.line * 31u + a.kind * 7u + a.bytes) % SITES;
    for (uint32_t tried = 0;; ++tried, slot = (slot + 1) % SITES) {
        Site& site = sites[slot];
        if (!site.place.file) {
            site.place = a.place;
            site.kind = a.kind;
            site.bytes = a.bytes;
        }
        if (site.place.line == a.place.line && site.kind == a.kind && site.bytes == a.bytes &&
            site.place.file == a.place.file)
            break;
        if (tried == SITES) {
            report("accesses at more than %u places: too many to count", SITES);
            leave();
        }
    }
    Site& site = sites[slot];
    const uint32_t pass = site.thread_passes[threadIdx.x]++;
    if (pass >= site.passes) site.passes = pass + 1;
    if (pass >= site.capacity) {
        const uint32_t more = site.capacity ? 2 * site.capacity : 8;
        const size_t size = WARPS * sizeof(WarpAccess);
        void* grown = realloc(site.warps, more * size);
        if (!grown) {
            report("no memory to count %u passes", more);
            leave();
        }
        site.warps = static_cast<WarpAccess*>(grown);
        memset(site.warps + site.capacity * WARPS, 0, (more - site.capacity) * size);
        site.capacity = more;
    }
    return site.warps[pass * WARPS + threadIdx.x / 32];
}

static void count(const Access& a) {
    WarpAccess& warp = next_access(a);
    warp.lanes |= 1u << threadIdx.x % 32;
    warp.address[threadIdx.x % 32] = a.address;
}

static void sort(uint64_t* values, int n) {  // by insertion: nearly always in order already
    for (int i = 1; i < n; ++i)
        for (int j = i; j > 0 && values[j - 1] > values[j]; --j) {
            const uint64_t swapped = values[j];
            values[j] = values[j - 1];
            values[j - 1] = swapped;
        }
}

// Distinct sectors against what the distinct bytes would fill.
static void tally_global(Tally& tally, const uint64_t* addresses, int n, uint32_t bytes) {
    uint64_t distinct = 0, sectors = 0, sector_end = 0;
    for (int i = 0; i < n; ++i) {
        if (i && addresses[i] == addresses[i - 1]) continue;
        ++distinct;
        const uint64_t first = addresses[i] / 32, last = (addresses[i] + bytes - 1) / 32;
        const uint64_t from = first < sector_end ? sector_end : first;
        if (last + 1 > from) sectors += last + 1 - from, sector_end = last + 1;
    }
    tally.units += sectors;
    tally.ideal += (distinct * bytes + 31) / 32;
}

// 32 banks of 4 bytes; 8-byte accesses go by half warps, 16-byte ones by quarters. A wavefront brings
// one word of each bank, to all lanes that want it.
static void tally_shared(Tally& tally, const WarpAccess& warp, uint32_t bytes) {
    const int lanes = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
    for (int first = 0; first < 32; first += lanes) {
        uint64_t words[32];
        int n = 0;
        for (int lane = first; lane < first + lanes; ++lane)
            if (warp.lanes >> lane & 1)
                for (uint32_t at = 0; at < bytes; at += 4)
                    words[n++] = (warp.address[lane] + at) / 4;
        if (n == 0) continue;
        sort(words, n);
        uint32_t per_bank[32] = {}, most = 0, distinct = 0;
        for (int i = 0; i < n; ++i) {
            if (i && words[i] == words[i - 1]) continue;
            ++distinct;
            const uint32_t here = ++per_bank[words[i] % 32];
            if (here > most) most = here;
        }
        tally.units += most;
        tally.ideal += (distinct + 31) / 32;
    }
}

static void tally_block() {
    for (Site& site : sites) {
        for (uint32_t i = 0; i < site.passes * WARPS; ++i) {
            WarpAccess& warp = site.warps[i];
            if (!warp.lanes) continue;
            uint64_t addresses[32];
            int n = 0;
            for (int lane = 0; lane < 32; ++lane)
                if (warp.lanes >> lane & 1) addresses[n++] = warp.address[lane];
            Tally& tally = launch->tallies[site.kind];
            tally.accesses += 1;
            tally.lanes += n;
            tally.bytes += static_cast<uint64_t>(n) * site.bytes;
            if (site.kind == LOAD || site.kind == STORE) {
                sort(addresses, n);
                tally_global(tally, addresses, n, site.bytes);
            } else {
                tally_shared(tally, warp, site.bytes);
            }
            warp.lanes = 0;
        }
        if (site.passes) memset(site.thread_passes, 0, sizeof site.thread_passes);
        site.passes = 0;
    }
}

// ---- Checks of one access.

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

[[noreturn]] SIMULATOR_COLD void outside(const Access& a) {
    const Allocation *all = launch->allocations, *end = all + launch->allocation_count;
    const Allocation* near = find(a.address);
    const Allocation* above = near ? near + 1 : all;
    if (above < end) {
        const uint64_t up = above->begin - a.address;
        if (!near || up < a.address - (near->begin + near->bytes)) near = above;
    }
    if (!near || near == end)
        report("%s: %s of %u bytes at 0x%llx; no memory is allocated", whereabouts(a.place),
               ACTIONS[a.kind], a.bytes, (unsigned long long)a.address);
    else
        report("%s: %s of %u bytes at 0x%llx, at byte %lld of the nearest allocation, which has %llu"
               " bytes", whereabouts(a.place), ACTIONS[a.kind], a.bytes,
               (unsigned long long)a.address, (long long)(a.address - near->begin),
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
    if (launch->checks & COUNT) count(a);
    if (!(launch->checks & (BOUNDS | INITIALIZED))) return;
    const bool global = a.kind == LOAD || a.kind == STORE;
    Window home{0, 0};
    uint8_t* written = nullptr;
    if (global) {
        const Allocation* found = find(a.address);
        if (found) home = {found->begin, found->bytes}, written = found->written;
        if (!home.holds(a.address, a.bytes)) outside(a);
    } else {
        for (uint32_t i = 0; i < shared_count && !home.bytes; ++i) {
            const SharedArray& array = *shared_arrays[i];
            if (Window{array.begin, array.bytes}.holds(a.address, a.bytes))
                home = {array.begin, array.bytes}, written = array.written;
        }
        if (!home.bytes) outside_shared(a);
    }
    if (a.address % a.alignment) {
        report("%s: %s of %u bytes at 0x%llx, which is no multiple of %u", whereabouts(a.place),
               ACTIONS[a.kind], a.bytes, (unsigned long long)a.address, a.alignment);
        leave();
    }
    if (!(launch->checks & (INITIALIZED | COUNT))) {
        windows[a.kind] = home;
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

template <class T>
inline void look(Kind kind, const T* at, Place place) {
    const uint64_t address = reinterpret_cast<uint64_t>(at);
    if (__builtin_expect(!windows[kind].holds(address, sizeof(T)) || address % alignof(T), 0))
        check({kind, address, sizeof(T), alignof(T), place});
}

#define SIMULATOR_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <class T> inline T load(const T* from, SIMULATOR_PLACE) {
    look(LOAD, from, {file, line});
    return *from;
}
template <class T> inline void store(T* to, const T& value, SIMULATOR_PLACE) {
    look(STORE, to, {file, line});
    *to = value;
}
template <class T> inline T load_shared(const T* from, SIMULATOR_PLACE) {
    look(SHARED_LOAD, from, {file, line});
    return *from;
}
template <class T> inline void store_shared(T* to, const T& value, SIMULATOR_PLACE) {
    look(SHARED_STORE, to, {file, line});
    *to = value;
}

// The same for a thread that takes part only if `active`. Where it does not, its next access here still
// is matched with the next one of the rest of its warp.
template <class T>
inline void sit_out(Kind kind, Place place) {
    if (__builtin_expect(launch->checks & COUNT, 0)) next_access({kind, 0, sizeof(T), 1, place});
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
}

template <class T, size_t count>
struct Shared {
    static_assert(count * sizeof(T) <= SHARED_BYTES, "more than a block has");
    alignas(128) unsigned char memory[count * sizeof(T)];  // the first byte is in bank 0
    uint8_t written[count * sizeof(T)];
    SharedArray array;

    T* open(const char* name) {
        if (array.block != block_serial) {
            array.name = name;
            array.begin = reinterpret_cast<uint64_t>(memory);
            array.bytes = sizeof memory;
            array.written = written;
            open_shared(array);
        }
        return reinterpret_cast<T*>(memory);
    }
};

// ---- Threads of a block that meet at barriers.

static Fiber host, fibers[THREADS];
static uint16_t turns[THREADS];  // in which order threads take turns
static int turn;
static bool finished[THREADS];
static uint32_t alive, waiting;
static Place meeting;  // the barrier of this round, and who came first
static uint32_t first_to_meet, last_to_finish;
static void (*thread_body)(const void*);
static const void* thread_parameters;

static void next_turn(Fiber& from) {
    while (++turn < THREADS) {
        const uint32_t thread = turns[turn];
        if (finished[thread]) continue;
        threadIdx.x = thread;
        switch_fiber(from, fibers[thread]);
        return;
    }
    switch_fiber(from, host);
}

static void fiber_main() {
#ifdef SIMULATOR_ASAN
    const void* bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (!host.stack) host.stack = static_cast<char*>(const_cast<void*>(bottom)), host.bytes = bytes;
#endif
    for (;;) {
        thread_body(thread_parameters);
        const uint32_t thread = threadIdx.x;
        finished[thread] = true;
        last_to_finish = thread;
        --alive;
        next_turn(fibers[thread]);
    }
}

[[noreturn]] SIMULATOR_COLD void leave() {
    if (!in_fibers) _longjmp(escape, 1);
    switch_fiber(fibers[threadIdx.x], host);  // which does not come back
    abort();
}

inline void barrier(SIMULATOR_PLACE) {
    if (!in_fibers) {
        report("%s: a barrier in a KERNEL; declare it as BLOCK_KERNEL", whereabouts({file, line}));
        leave();
    }
    const uint32_t thread = threadIdx.x;
    if (waiting++ == 0) {
        meeting = {file, line};
        first_to_meet = thread;
    } else if ((meeting.line != line || meeting.file != file) && launch->checks & BARRIERS) {
        report("%s: waits at this barrier, while thread %u waits at that of %s:%d",
               whereabouts({file, line}), first_to_meet, base_name(meeting.file), meeting.line);
        leave();
    }
    next_turn(fibers[thread]);
}

// Memory for the fibers of one launch: a page that says who prepared them, then stacks, each above a
// page that nobody may touch. One mapping serves all shared objects, since launches take turns on it.
static void* make_stacks() {
    const size_t bytes = PAGE + THREADS * (PAGE + STACK);
    void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return nullptr;
    for (size_t i = 0; i < THREADS; ++i)
        mprotect(static_cast<char*>(made) + PAGE + i * (PAGE + STACK), PAGE, PROT_NONE);
    return made;
}

static void prepare_fibers() {
    void** owner = static_cast<void**>(launch->stacks);
    const bool ready = *owner == fibers;
    *owner = nullptr;  // until the launch has ended well
#ifndef SIMULATOR_ASAN  // which must learn the stack of this caller
    if (ready) return;
#endif
    char* stacks = static_cast<char*>(launch->stacks) + PAGE;
    for (size_t i = 0; i < THREADS; ++i)
        prepare(fibers[i], stacks + i * (PAGE + STACK) + PAGE, STACK, i, fiber_main);
    host.stack = nullptr;
}

static void shuffle_turns() {
    for (uint32_t i = THREADS - 1; i > 0; --i) {
        const uint32_t other = draw(i + 1);
        const uint16_t swapped = turns[i];
        turns[i] = turns[other];
        turns[other] = swapped;
    }
}

static void run_fibers() {
    memset(finished, 0, sizeof finished);
    alive = THREADS;
    while (alive) {
        if (launch->order == RANDOM) shuffle_turns();
        turn = -1;
        waiting = 0;
        next_turn(host);
        if (failed) return;
        if (waiting && alive < THREADS && launch->checks & BARRIERS) {
            threadIdx.x = first_to_meet;
            report("%s: waits at this barrier, and thread %u has finished without",
                   whereabouts(meeting), last_to_finish);
            return;
        }
    }
}

// ---- A launch.

static bool begin(const Launch& given, const char* name, uint64_t parameter_bytes,
                  uint64_t alignment) {
    launch = &given;
    kernel = name;
    failed = false;
    launch->message[0] = 0;
    operation = static_cast<int>(given.operation);
    gridDim = {given.grid[0], given.grid[1], given.grid[2]};
    random_state = given.seed * 2 + 1;
    const uint32_t exact = INITIALIZED | COUNT;
    const Window window{0, given.checks & (BOUNDS | exact) ? 0 : ~0ull};
    for (Window& each : windows) each = window;
    for (uint32_t i = 0; i < THREADS; ++i) turns[i] = given.order == REVERSE ? THREADS - 1 - i : i;
    // The end of a struct may be padding, which the caller need not send.
    if (given.parameter_bytes > parameter_bytes ||
        given.parameter_bytes + alignment <= parameter_bytes)
        report("takes %llu bytes of parameters, got %llu", (unsigned long long)parameter_bytes,
               (unsigned long long)given.parameter_bytes);
    return !failed;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b) { return b ? greatest_divisor(b, a % b) : a; }

// Calls run_block() for each block, in the launch's order.
template <class RunBlock>
static void run_blocks(RunBlock run_block) {
    const uint64_t x = gridDim.x, y = gridDim.y, blocks = x * y * gridDim.z;
    uint64_t start = 0, step = 1;
    if (launch->order == REVERSE) start = blocks - 1, step = blocks - 1;
    if (launch->order == RANDOM) {
        // A permutation without a table: steps that share no divisor with the number of blocks.
        start = draw(blocks < ~0u ? blocks : ~0u);
        for (step = 1 + draw(blocks < ~0u ? blocks : ~0u); greatest_divisor(blocks, step) != 1;) ++step;
    }
    for (uint64_t i = 0, block = start; i < blocks && !failed; ++i) {
        blockIdx.x = block % x;
        blockIdx.y = block / x % y;
        blockIdx.z = block / x / y;
        ++block_serial;
        shared_count = 0;
        shared_bytes = 0;
        run_block();
        if (launch->checks & COUNT) tally_block();
        block = (block + step) % blocks;
    }
}

template <class Params, void (*body)(const Params&)>
static void run_kernel(const Launch& given, const char* name, const void* parameters) {
    if (!begin(given, name, sizeof(Params), alignof(Params))) return;
    alignas(Params) unsigned char copied[sizeof(Params)] = {};
    memcpy(copied, parameters, given.parameter_bytes);
    const Params& p = *reinterpret_cast<const Params*>(copied);
    in_fibers = false;
    if (_setjmp(escape)) return tally_block();  // so that no lane of it is left for the next launch
    const bool forward = given.order == FORWARD;
    run_blocks([&] {
        if (given.order == RANDOM) shuffle_turns();
        for (uint32_t i = 0; i < THREADS; ++i) {
            threadIdx.x = forward ? i : turns[i];
            body(p);
        }
    });
}

template <class Params, void (*body)(const Params&)>
static void run_block_kernel(const Launch& given, const char* name, const void* parameters) {
    if (!begin(given, name, sizeof(Params), alignof(Params))) return;
    alignas(Params) unsigned char copied[sizeof(Params)] = {};
    memcpy(copied, parameters, given.parameter_bytes);
    thread_parameters = copied;
    thread_body = [](const void* p) { body(*static_cast<const Params*>(p)); };
    in_fibers = true;
    prepare_fibers();
    run_blocks(run_fibers);
    if (!failed) *static_cast<void**>(launch->stacks) = fibers;
}

}  // namespace simulator

using simulator::barrier;

SIMULATOR_EXPORT void* simulator_stacks() { return simulator::make_stacks(); }

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

#define SHARED(T, name, count)                                \
    static simulator::Shared<T, (count)> name##_of_the_block; \
    T* const name = name##_of_the_block.open(#name)
