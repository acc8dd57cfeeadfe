// Does not compile.
#include "memory.cuh"

struct Params {
    float* to;
};
KERNEL(broken, Params) { store(p.from, 1.0f); }
