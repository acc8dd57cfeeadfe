// Every thread changes the same few words, by each atomic operation.
#include "atomics.cuh"

template <class T>
struct Words {
    T* words;        // sum, least, greatest, first, greatest of the even
    const T* values; // one for each thread
    uint32_t count;
};

template <class T>
DEVICE void change(const Words<T>& p) {
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.count) return;
    const T value = load(p.values + i);
    atomic_add(p.words, value);
    atomic_min(p.words + 1, value);
    atomic_max(p.words + 2, value);
    if (atomic_cas(p.words + 3, static_cast<T>(0), static_cast<T>(7)) != 0)
        atomic_cas(p.words + 3, static_cast<T>(0), static_cast<T>(9));
    atomic_max_if(value % 2 == 0, p.words + 4, value);
}

KERNEL(change_int32, Words<int32_t>) { change(p); }
KERNEL(change_uint32, Words<uint32_t>) { change(p); }
KERNEL(change_int64, Words<int64_t>) { change(p); }
KERNEL(change_uint64, Words<uint64_t>) { change(p); }
KERNEL(change_outside, Words<int32_t>) { atomic_add(p.words + 5, 1); }

// Each thread's first change is overtaken by an addition of 1.
KERNEL(change_overtaken, Words<int32_t>) {
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.count) return;
    bool overtaken = false;
    atomic_change(p.words, [&](int32_t old) {
        if (!overtaken) atomic_add(p.words, 1);
        overtaken = true;
        return old + load(p.values + i);
    });
}
