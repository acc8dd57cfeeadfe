// Races: two threads access one byte, at least one of them stores, and nothing orders the two.
// Blocks are never ordered, threads of a block by barriers only, also those of a warp. Each byte
// remembers who accessed it, so that what one order of threads would hide is found in any.
#pragma once

#include "counting.hpp"

namespace simulator {

// An access; `round` is 0 if there was none since the launch began.
struct Visit {
    uint32_t block, round;
    uint16_t thread, place;
};

// What is known of some bytes that were always accessed together. An access that meets any meets one
// of these: blocks and rounds follow each other, and once two blocks were here, or two threads in one
// round, and did not meet, all visits since then were of their one manner.
struct Cell {
    Visit visits[MANNERS + 2];  // of each manner the first visit of the last round; and
};
constexpr int BEFORE = MANNERS,   // by a block before, in the manner of a later one
              OTHER = BEFORE + 1;  // by a second thread of its round, in the manner of the first

constexpr uint64_t SPAN = 4096;
struct Region {
    uint64_t number;  // address / SPAN
    uint32_t grain;   // bytes of a cell
    Cell* cells;
    Region* next;
};

constexpr uint32_t BUCKETS = 4096, PLACES = 1024;
static Region* regions[BUCKETS];  // by number
static bool any_regions;
static struct {
    Place place;
    Manner manner;
} places[PLACES];
static uint32_t round_serial;  // of the stretch between two barriers of a block; of all in a launch
static uint32_t block_number;

static void forget_races() {
    round_serial = 0;
    if (!any_regions) return;
    for (Region*& bucket : regions)
        while (Region* region = bucket) {
            bucket = region->next;
            free(region->cells);
            free(region);
        }
    any_regions = false;
}

static void* zeros(size_t count, size_t bytes) {
    void* made = calloc(count, bytes);
    if (made) return made;
    report("no memory to look for races");
    leave();
}

// The region that holds an address, its cells of at most `grain` bytes.
static Region& region_of(uint64_t address, uint32_t grain) {
    const uint64_t number = address / SPAN;
    Region*& bucket = regions[number % BUCKETS];
    Region* region = bucket;
    while (region && region->number != number) region = region->next;
    if (!region) {
        Cell* cells = static_cast<Cell*>(zeros(SPAN / grain, sizeof(Cell)));
        region = static_cast<Region*>(zeros(1, sizeof(Region)));
        *region = {number, grain, cells, bucket};
        bucket = region;
        any_regions = true;
    } else if (region->grain > grain) {
        Cell* cells = static_cast<Cell*>(zeros(SPAN / grain, sizeof(Cell)));
        for (uint64_t i = 0; i < SPAN / grain; ++i)
            cells[i] = region->cells[i * grain / region->grain];
        free(region->cells);
        region->cells = cells;
        region->grain = grain;
    }
    return *region;
}

static uint16_t number_of(Place place, Manner manner) {
    uint32_t number = (place.line * 31u + manner) % PLACES;
    for (uint32_t tried = 0; tried < PLACES; ++tried, number = (number + 1) % PLACES) {
        auto& known = places[number];
        if (!known.place.file) known = {place, manner};
        if (known.place.line == place.line && known.place.file == place.file &&
            known.manner == manner)
            return number;
    }
    report("accesses at more than %u places: too many to look for races", PLACES);
    leave();
}

SIMULATOR_COLD void race(const Access& a, uint64_t at, const Window& home, const char* name,
                         const Visit& met) {
    static const char* const DOES[] = {"loads", "stores", "repeats", "changes"};
    char where[128];
    if (name)
        snprintf(where, sizeof where, "%s, which is shared", name);
    else
        snprintf(where, sizeof where, "the allocation of %llu bytes at 0x%llx",
                 (unsigned long long)home.bytes, (unsigned long long)home.begin);
    const auto& [place, manner] = places[met.place];
    report("a race: %s: %s byte %llu of %s; block (%u, %u, %u), thread %u, %s:%d: %s it, and"
           " nothing orders the two",
           whereabouts(a.place), DOES[a.manner], (unsigned long long)(at - home.begin), where,
           met.block % gridDim.x, met.block / gridDim.x % gridDim.y,
           met.block / gridDim.x / gridDim.y, met.thread, base_name(place.file), place.line,
           DOES[manner]);
    leave();
}

// name: of a shared array; null for global memory.
static void look_for_races(const Access& a, const Window& home, const char* name) {
    const uint16_t thread = threadIdx.x;
    const Visit me{block_number, round_serial, thread, number_of(a.place, a.manner)};
    const void* before = reinterpret_cast<const void*>(a.address);
    const bool alone = a.manner == STORES || (a.value && memcmp(before, a.value, a.bytes));
    uint64_t at = a.address;
    const auto meet = [&](const Visit& visit) {
        if (!visit.round || (places[visit.place].manner == a.manner && !alone)) return;
        if (visit.block != me.block ? !name : visit.round == me.round && visit.thread != thread)
            race(a, at, home, name, visit);
    };
    for (uint32_t grain; at < a.address + a.bytes; at += grain) {
        Region& region = region_of(at, a.alignment);
        grain = region.grain;
        Cell& cell = region.cells[at % SPAN / grain];
        for (const Visit& visit : cell.visits) meet(visit);
        Visit& last = cell.visits[a.manner];
        if (last.round == me.round) {
            if (last.thread != thread) cell.visits[OTHER] = me;
        } else {
            if (last.round && last.block != me.block) cell.visits[BEFORE] = last;
            last = me;
        }
    }
}

}  // namespace simulator
