// The host side of platform.cuh: a CUDA grid on a CPU, one thread after the other.
#pragma once

#include <cstdint>

#ifndef THREADS
#define THREADS 256
#endif

#define DEVICE inline
