// CuPy's sorts, which are Thrust's, for float32 alone: its own file with another dispatcher of types.

#define INCLUDE_GUARD_CUPY_TYPE_DISPATCHER_H
#include <cuda_fp16.h>
#include <thrust/device_ptr.h>

#include <cupy/complex.cuh>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

template <class F, class... Arguments>
void dtype_dispatcher(int type, F function, Arguments&&... arguments) {
    if (type != 9) throw std::runtime_error("a type that cupy_sorts.cu does not have");
    function.template operator()<float>(std::forward<Arguments>(arguments)...);
}

#include <cupy_thrust.cu>
