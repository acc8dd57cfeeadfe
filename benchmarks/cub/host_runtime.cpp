// CUDA's runtime for programs of nvcc on a machine without a GPU: memory is the host's, and each
// launch calls a hook. Only what CUB and Thrust call.

#include <cuda_runtime_api.h>

#include <cstring>
#include <map>
#include <string>

using Hook = void (*)(const void* fatbin, const char* name, const unsigned* sizes, size_t shared,
                      void** arguments);
using Attribute = int (*)(int);
using Allocate = void* (*)(size_t);
using Release = void (*)(void*);

namespace {
struct Function { const void* fatbin; std::string name; };
std::map<const void*, Function>& functions() {
    static std::map<const void*, Function> all;
    return all;
}
Hook hook;
Attribute attribute;
Allocate allocate;
Release release;
struct Configuration { dim3 grid, block; size_t shared; cudaStream_t stream; } pushed;

cudaError_t launch(const void* f, dim3 grid, dim3 block, void** arguments, size_t shared) {
    auto found = functions().find(f);
    if (found == functions().end()) return cudaErrorInvalidDeviceFunction;
    unsigned sizes[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
    if (hook) hook(found->second.fatbin, found->second.name.c_str(), sizes, shared, arguments);
    return cudaSuccess;
}
}  // namespace

extern "C" {

void set_hooks(Hook launches, Attribute attributes, Allocate allocates, Release releases) {
    hook = launches;
    attribute = attributes;
    allocate = allocates;
    release = releases;
}

// ---- What CuPy's allocator for Thrust calls

char* cupy_malloc(void*, size_t bytes) { return static_cast<char*>(allocate(bytes)); }
int cupy_free(void*, char* pointer) { release(pointer); return 0; }

// ---- What nvcc's code calls

void** __cudaRegisterFatBinary(void* wrapper) {
    // Magic number, version, address of the file.
    return new void*(*reinterpret_cast<void**>(static_cast<char*>(wrapper) + 8));
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void** file, const char* f, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
    functions()[f] = {*file, name};
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
char __cudaInitModule(void**) { return 0; }
cudaError_t __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
    pushed = {grid, block, shared, stream};
    return cudaSuccess;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    *grid = pushed.grid; *block = pushed.block; *shared = pushed.shared;
    *static_cast<cudaStream_t*>(stream) = pushed.stream;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* f) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(f));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t) {
    return launch(kernel, grid, block, arguments, shared);
}

// ---- What CUB calls

cudaError_t cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t) {
    return launch(f, grid, block, arguments, shared);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* f, void** arguments) {
    return launch(f, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    memset(attributes, 0, sizeof *attributes);
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                   int threads, size_t, unsigned) {
    *blocks = 2048 / threads;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* f, int threads,
                                                          size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, shared, 0);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
    *value = attribute ? attribute(which) : 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "error"; }
const char* cudaGetErrorName(cudaError_t) { return "error"; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) { *device = 0; return cudaSuccess; }
cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    *pointer = allocate(bytes);
    return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) { release(pointer); return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
    memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
    memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
    memset(to, value, bytes);
    // A launch of its own on a device; without a kernel that could be read.
    unsigned sizes[] = {1, 1, 1, 1, 1, 1};
    if (hook) hook(nullptr, "memset", sizes, bytes, nullptr);
    return cudaSuccess;
}

}  // extern "C"
