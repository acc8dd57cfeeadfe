// Blocks run one after the other. The threads of a KERNEL run one after the other too, those of a
// BLOCK_KERNEL as fibers that take turns at barriers and at exchanges within a warp.
#pragma once

#include <pthread.h>
#include <signal.h>

#include "checks.hpp"
#include "fibers.hpp"

namespace simulator {

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

// Threads whose warp is complete go on in the same round, after all others had their first turn.
static bool released[THREADS], first_turns_over;
static int released_count;

static void next_turn(Fiber& from) {
    for (;;) {
        while (++turn < THREADS) {
            const uint32_t thread = turns[turn];
            if (first_turns_over ? !released[thread] : finished[thread]) continue;
            if (first_turns_over) released[thread] = false, --released_count;
            threadIdx.x = thread;
            switch_fiber(from, fibers[thread]);
            return;
        }
        if (!released_count) break;
        first_turns_over = true;
        turn = -1;
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

// ---- Threads of a warp that exchange values. They all come, or the launch fails.

constexpr uint32_t WARP = THREADS / WARPS;
static struct {
    uint32_t count;  // threads that wait
    Place place;     // of the exchange, and who came first
    uint32_t first;
} exchanges[WARPS];
static uint64_t exchanged[2][THREADS];  // of this exchange, and of the one before
static uint8_t which_exchange[THREADS];

// Returns the values of all 32 threads of the warp.
inline const uint64_t* exchange(uint64_t value, Place place) {
    if (!in_fibers) {
        report("%s: an exchange within a warp in a KERNEL; declare it as BLOCK_KERNEL",
               whereabouts(place));
        leave();
    }
    const uint32_t thread = threadIdx.x, first = thread / WARP * WARP;
    auto& meeting = exchanges[thread / WARP];
    uint64_t* const values = exchanged[which_exchange[thread] ^= 1];
    values[thread] = value;
    if (meeting.count++ == 0) {
        meeting.place = place;
        meeting.first = thread;
    } else if (meeting.place.line != place.line || meeting.place.file != place.file) {
        report("%s: exchanges here, while thread %u of its warp does at %s:%d", whereabouts(place),
               meeting.first, base_name(meeting.place.file), meeting.place.line);
        leave();
    }
    if (meeting.count < WARP) {
        next_turn(fibers[thread]);
    } else {
        meeting.count = 0;
        for (uint32_t i = first; i < first + WARP; ++i) released[i] = i != thread;
        released_count += WARP - 1;
    }
    return values + first;
}

template <class T> T exchanged_value(T value, uint32_t lane, Place place) {
    static_assert(sizeof(T) <= 8);
    uint64_t word = 0;
    memcpy(&word, &value, sizeof(T));
    memcpy(&value, exchange(word, place) + lane, sizeof(T));
    return value;
}

template <class T> T shuffle(T value, uint32_t lane, SIMULATOR_PLACE) {
    return exchanged_value(value, lane % WARP, {file, line});
}
template <class T> T shuffle_down(T value, uint32_t lanes, SIMULATOR_PLACE) {
    const uint32_t own = threadIdx.x % WARP;
    return exchanged_value(value, own + lanes < WARP ? own + lanes : own, {file, line});
}
template <class T> T shuffle_up(T value, uint32_t lanes, SIMULATOR_PLACE) {
    const uint32_t own = threadIdx.x % WARP;
    return exchanged_value(value, own >= lanes ? own - lanes : own, {file, line});
}
inline uint32_t ballot(bool vote, SIMULATOR_PLACE) {
    const uint64_t* const votes = exchange(vote, {file, line});
    uint32_t found = 0;
    for (uint32_t i = 0; i < WARP; ++i) found |= static_cast<uint32_t>(votes[i]) << i;
    return found;
}

// The first word of the stacks says whose fibers are ready on them.
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
    memset(released, 0, sizeof released);
    released_count = 0;
    for (auto& each : exchanges) each.count = 0;
    alive = THREADS;
    while (alive) {
        if (launch->order == RANDOM) shuffle_turns();
        turn = -1;
        first_turns_over = false;
        waiting = 0;
        ++round_serial;
        next_turn(host);
        if (failed) return;
        for (const auto& each : exchanges) {
            if (!each.count) continue;
            threadIdx.x = each.first;
            report("%s: waits for its warp; %u of 32 threads have not come",
                   whereabouts(each.place), WARP - each.count);
            return;
        }
        if (waiting && alive < THREADS && launch->checks & BARRIERS) {
            threadIdx.x = first_to_meet;
            report("%s: waits at this barrier, and thread %u has finished without",
                   whereabouts(meeting), last_to_finish);
            return;
        }
    }
}

// ---- Traps of the processor inside a kernel: a message, where the process would end.

constexpr int TRAPS[] = {SIGFPE, SIGSEGV, SIGBUS};
static struct sigaction kept_actions[3];
static pthread_t launching_thread;

SIMULATOR_COLD void trapped(int signal) {
    if (!pthread_equal(pthread_self(), launching_thread)) {  // not ours: as if we were not here
        for (int i = 0; i < 3; ++i)
            if (TRAPS[i] == signal) sigaction(signal, &kept_actions[i], nullptr);
        return;  // and it happens again
    }
    report("block (%u, %u, %u), thread %u: %s", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
           signal == SIGFPE ? "division of an integer by zero, or of the lowest one by -1"
                            : "access to memory that is not there");
    leave();
}

static void catch_traps(bool on) {
#ifndef SIMULATOR_ASAN  // which has a better message
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = trapped;
    action.sa_flags = SA_NODEFER;  // for it is left by a jump
    launching_thread = pthread_self();
    for (int i = 0; i < 3; ++i)
        on ? sigaction(TRAPS[i], &action, &kept_actions[i])
           : sigaction(TRAPS[i], &kept_actions[i], nullptr);
#endif
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
    const Window window{0, given.checks & (BOUNDS | EXACT) ? 0 : ~0ull};
    for (auto& kind : windows)
        for (Window& each : kind) each = window;
    for (uint32_t i = 0; i < THREADS; ++i) turns[i] = given.order == REVERSE ? THREADS - 1 - i : i;
    // The end of a struct may be padding, which the caller need not send.
    if (given.parameter_bytes > parameter_bytes ||
        given.parameter_bytes + alignment <= parameter_bytes)
        report("takes %llu bytes of parameters, got %llu", (unsigned long long)parameter_bytes,
               (unsigned long long)given.parameter_bytes);
    return !failed;
}

static void end() {
    catch_traps(false);
    forget_races();
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b) {
    return b ? greatest_divisor(b, a % b) : a;
}

// Calls run_block() for each block, in the launch's order.
template <class RunBlock>
static void run_blocks(RunBlock run_block) {
    const uint64_t x = gridDim.x, y = gridDim.y, blocks = x * y * gridDim.z;
    uint64_t start = 0, step = 1;
    if (launch->order == REVERSE) start = blocks - 1, step = blocks - 1;
    if (launch->order == RANDOM) {
        // A permutation without a table: steps that share no divisor with the number of blocks.
        const uint32_t below = blocks < ~0u ? blocks : ~0u;
        start = draw(below);
        step = 1 + draw(below);
        while (greatest_divisor(blocks, step) != 1) ++step;
    }
    for (uint64_t i = 0, block = start; i < blocks && !failed; ++i) {
        blockIdx.x = block % x;
        blockIdx.y = block / x % y;
        blockIdx.z = block / x / y;
        ++block_serial;
        ++round_serial;
        block_number = static_cast<uint32_t>(block);
        shared_count = 0;
        shared_bytes = 0;
        run_block();
        if (launch->checks & COUNT) tally_block();
        block = (block + step) % blocks;
    }
}

constexpr uint64_t PARAMETER_BYTES = 4096;  // that a launch can carry

// Compiled once: a file may have many kernels, or none.
[[maybe_unused]] static __attribute__((noinline)) void
run_threads(const Launch& given, const char* name, const void* parameters, uint64_t bytes,
            uint64_t alignment, void (*body)(const void*)) {
    if (!begin(given, name, bytes, alignment)) return;
    alignas(16) unsigned char copied[PARAMETER_BYTES] = {};
    memcpy(copied, parameters, given.parameter_bytes);
    in_fibers = false;
    catch_traps(true);
    if (_setjmp(escape)) {
        end();
        return tally_block();  // so that no lane of it is left for the next launch
    }
    const bool forward = given.order == FORWARD;
    run_blocks([&] {
        if (given.order == RANDOM) shuffle_turns();
        for (uint32_t i = 0; i < THREADS; ++i) {
            threadIdx.x = forward ? i : turns[i];
            body(copied);
        }
    });
    end();
}

template <class Params, void (*body)(const Params&)>
static void run_kernel(const Launch& given, const char* name, const void* parameters) {
    static_assert(sizeof(Params) <= PARAMETER_BYTES, "more parameters than a launch can carry");
    run_threads(given, name, parameters, sizeof(Params), alignof(Params),
                [](const void* p) { body(*static_cast<const Params*>(p)); });
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
    catch_traps(true);
    run_blocks(run_fibers);
    end();
    if (!failed) *static_cast<void**>(launch->stacks) = fibers;
}

}  // namespace simulator
