// Memory for NumPy's arrays that ends at a page of no access, or that cannot be had at a moment.
//
// The struct is NumPy's PyDataMem_Handler (numpy/ndarraytypes.h, version 1).

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

struct Allocator {
  void* ctx;
  void* (*malloc)(void*, size_t);
  void* (*calloc)(void*, size_t, size_t);
  void* (*realloc)(void*, void*, size_t);
  void (*free)(void*, void*, size_t);
};

struct Handler {
  char name[127];
  uint8_t version;
  Allocator allocator;
};

struct Block {
  char* mapping;
  size_t mapped, size;
};

std::atomic<long> left{-1};  // allocations before the one that fails; negative: none does
std::atomic<bool> guarded{false};
std::mutex lock;
std::map<void*, Block>& blocks = *new std::map<void*, Block>;

bool fails() { return left.load() >= 0 && left.fetch_sub(1) == 0; }

void* allocate(size_t size) {
  if (!guarded) return std::malloc(size ? size : 1);
  const size_t page = sysconf(_SC_PAGESIZE);
  const size_t used = (size + page) / page * page;
  char* mapping = static_cast<char*>(
      mmap(nullptr, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (mapping == MAP_FAILED) return nullptr;
  mprotect(mapping + used, page, PROT_NONE);
  char* found = mapping + used - size;
  std::memset(found, 0xA5, size);  // what nobody wrote is nonsense
  std::lock_guard<std::mutex> held(lock);
  blocks[found] = {mapping, used + page, size};
  return found;
}

void* new_memory(void*, size_t size) { return fails() ? nullptr : allocate(size); }

void* zeroed(void*, size_t count, size_t size) {
  if (fails()) return nullptr;
  void* found = allocate(count * size);
  if (found) std::memset(found, 0, count * size);
  return found;
}

bool taken(void* memory, Block& block) {
  std::lock_guard<std::mutex> held(lock);
  auto found = blocks.find(memory);
  if (found == blocks.end()) return false;
  block = found->second;
  blocks.erase(found);
  return true;
}

void given_back(void*, void* memory, size_t) {
  Block block;
  if (memory && taken(memory, block)) {
    munmap(block.mapping, block.mapped);
  } else {
    std::free(memory);
  }
}

void* resized(void*, void* memory, size_t size) {
  if (fails()) return nullptr;
  Block block;
  if (!memory || !taken(memory, block)) return std::realloc(memory, size ? size : 1);
  void* found = allocate(size);
  if (found) std::memcpy(found, memory, block.size < size ? block.size : size);
  munmap(block.mapping, block.mapped);
  return found;
}

Handler handler = {"tests/fuzz", 1, {nullptr, new_memory, zeroed, resized, given_back}};

}  // namespace

extern "C" {
void* the_handler() { return &handler; }
void fail_after(long count) { left = count; }
long still_left() { return left; }
void guard(int active) { guarded = active; }
}
