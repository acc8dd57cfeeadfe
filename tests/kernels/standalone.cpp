// The kernels of these files as a program of its own, for the sanitizers of the compiler. Its
// argument says what to run: "right", several right kernels, whose results are compared; or a
// faulty kernel. The simulator's own checks are off: what is found, the sanitizers have found.
#include <string_view>
#include <vector>

#include "faulty.cu"
#include "right.cu"

using Exported = void (*)(const simulator::Launch*, const void*);

static void* const stacks = simulator_stacks();

template <class Params>
void run(Exported kernel, uint32_t x, uint32_t y, const Params& parameters) {
    char message[512];
    simulator::Launch launch = {};
    launch.grid[0] = x;
    launch.grid[1] = y;
    launch.grid[2] = 1;
    launch.stacks = stacks;
    launch.message = message;
    launch.message_bytes = sizeof message;
    launch.parameter_bytes = sizeof parameters;
    for (const uint32_t order : {simulator::FORWARD, simulator::REVERSE, simulator::RANDOM}) {
        launch.order = order;
        kernel(&launch, &parameters);
        if (*message) puts(message), exit(2);
    }
}

static void expect(bool right, const char* what) {
    if (!right) printf("%s: wrong\n", what), exit(3);
}

static void run_right() {
    const int rows = 96, columns = 64, n = rows * columns;
    std::vector<float> from(n), to(n);
    for (int i = 0; i < n; ++i) from[i] = float(i);

    run(increment, n / THREADS, 1, Increment<float>{to.data(), from.data(), n - 1});
    expect(to[0] == 1 && to[n - 2] == n - 1 && to[n - 1] == 0, "increment");

    for (const Exported kernel : {transpose_tiles, transpose_in_one_bank}) {
        run(kernel, columns / 32, rows / 32, Transpose{to.data(), from.data(), rows, columns});
        for (int i = 0; i < n; ++i)
            expect(to[i] == from[i % rows * columns + i / rows], "transpose");
    }

    std::vector<int32_t> ones(5 * THREADS, 1), sums(5);
    run(sum_blocks, 5, 1, Increment<int32_t>{sums.data(), ones.data(), 5});
    for (const int32_t sum : sums) expect(sum == THREADS, "sum_blocks");

    run(meet_once, 100, 1, Nothing{});
    puts("right");
}

int main(int, char** arguments) {
    const std::string_view what = arguments[1];
    std::vector<float> memory(THREADS, 1.0f);
    const Copy copy{memory.data(), memory.data(), THREADS};
    int32_t quotient = 0;
    if (what == "right") run_right();
    if (what == "store_one_too_many") run(store_one_too_many, 2, 1, copy);
    if (what == "load_before_the_first") run(load_before_the_first, 1, 1, copy);
    if (what == "load_misaligned") run(load_misaligned, 1, 1, copy);
    if (what == "store_past_the_tile") run(store_past_the_tile, 1, 1, copy);
    if (what == "divide") run(divide, 1, 1, Divide{&quotient, INT32_MIN, -1});
}
