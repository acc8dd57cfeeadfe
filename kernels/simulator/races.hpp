// Races: two threads access one byte, at least one of them stores, and nothing orders the two.
// Blocks are never ordered, threads of a block by barriers only, also those of a warp. Each byte
// remembers who accessed it, so that what one order of threads would hide is found in any.
#pragma once

#include "counting.hpp"

namespace simulator {

// Of a byte that nobody accessed since the launch began, `round` is 0.
struct Visitor {
    uint32_t block, round;
    uint16_t thread, place;
};

// The first of all; the first of the last round; the first of that round in another thread. As blocks
// and rounds follow each other, an access that meets any of another block, or of another thread of
// its round, meets one of these.
struct Visitors {
    Visitor first, last, other;
};

// What is known of some bytes that were always accessed together.
struct Cell {
    Visitors of[MANNERS];
};

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
static Place places[PLACES];
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

static uint16_t number_of(Place place) {
    uint32_t number = (place.line * 31u + reinterpret_cast<uint64_t>(place.file)) % PLACES;
    for (uint32_t tried = 0; tried < PLACES; ++tried, number = (number + 1) % PLACES) {
        if (!places[number].file) places[number] = place;
        if (places[number].line == place.line && places[number].file == place.file) return number;
    }
    report("accesses at more than %u places: too many to look for races", PLACES);
    leave();
}

SIMULATOR_COLD void race(const Access& a, uint64_t address, const Window& home, const char* name,
                         uint32_t manner, const Visitor& met) {
    static const char* const DOES[] = {"loads", "stores", "repeats", "changes"};
    const uint64_t at = address - home.begin;
    char where[128];
    if (name)
        snprintf(where, sizeof where, "%s, which is shared", name);
    else
        snprintf(where, sizeof where, "the allocation of %llu bytes at 0x%llx",
                 (unsigned long long)home.bytes, (unsigned long long)home.begin);
    const Place place = places[met.place];
    report("a race: %s: %s byte %llu of %s; block (%u, %u, %u), thread %u, %s:%d: %s it, and"
           " nothing orders the two",
           whereabouts(a.place), DOES[a.manner], (unsigned long long)at, where,
           met.block % gridDim.x, met.block / gridDim.x % gridDim.y,
           met.block / gridDim.x / gridDim.y, met.thread, base_name(place.file), place.line,
           DOES[manner]);
    leave();
}

// name: of a shared array; null for global memory.
static void look_for_races(const Access& a, const Window& home, const char* name) {
    const Visitor me{block_number, round_serial, static_cast<uint16_t>(threadIdx.x),
                     number_of(a.place)};
    const void* before = reinterpret_cast<const void*>(a.address);
    const bool alone = a.manner == STORES || (a.value && memcmp(before, a.value, a.bytes));
    uint32_t grain;
    for (uint64_t at = a.address; at < a.address + a.bytes; at += grain) {
        Region& region = region_of(at, a.alignment);
        grain = region.grain;
        Cell& cell = region.cells[at % SPAN / grain];
        for (uint32_t manner = 0; manner < MANNERS; ++manner) {
            if (manner == a.manner && !alone) continue;
            const auto& [first, last, other] = cell.of[manner];
            if (!name && first.round && first.block != me.block)
                race(a, at, home, name, manner, first);
            if (last.round != me.round) continue;
            if (last.thread != me.thread) race(a, at, home, name, manner, last);
            if (other.round == me.round) race(a, at, home, name, manner, other);
        }
        auto& [first, last, other] = cell.of[a.manner];
        if (!first.round) first = me;
        if (last.round != me.round) last = me;
        else if (last.thread != me.thread && other.round != me.round) other = me;
    }
}

}  // namespace simulator
