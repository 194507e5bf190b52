// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Discrete events in simulated time. An event is a time, the function that handles it, and two
// numbers for this function. Events are handled in the order of their times; events of the same
// time, in the order in which they were scheduled. So a run depends on nothing but its input, and
// is the same on every machine.
//
// Times are picoseconds from the beginning of the simulation; 64 bits last for 213 days.
//
// Events are not cancelled. A handler that may be too late compares `data`, for example with the
// number of the timer that it has set last, and ignores what is stale.
//
// Memory: 90 kB, and 24 bytes per event. The queue of events grows in chunks when more events are
// pending than ever before; otherwise nothing is allocated. If there is no memory, or more than
// `capacity` events are pending, the run ends with an error.
//
// Threads: one thread calls all functions of an engine; handlers run within sim_run().
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NEVER      UINT64_MAX
#define SIM_NANOSECOND UINT64_C(1000) // picoseconds
#define SIM_SECOND     UINT64_C(1000000000000)

#define SIM_MAX_HANDLERS 256u
#define SIM_MAX_DATA     ((1u << 24) - 1)
#define SIM_MAX_EVENTS   (1u << 30)

struct sim_engine;

// Handles one event. `index` and `data` are those of sim_at(); sim_now() is the time of the event.
typedef void (*sim_handler)(void *context, uint32_t index, uint32_t data);

// capacity: the largest number of pending events, 1 to SIM_MAX_EVENTS. NULL: no memory.
struct sim_engine *sim_engine_create(uint32_t capacity);
void sim_engine_destroy(struct sim_engine *engine);

// Returns the number by which events name this function; at most SIM_MAX_HANDLERS can be added.
unsigned sim_engine_handler(struct sim_engine *engine, sim_handler handler, void *context);

// Says what the handler touches first: `size` bytes at memory + index * size. The engine fetches
// them into the caches before the event is due, if `memory` is not NULL.
void sim_engine_touches(struct sim_engine *engine, unsigned handler, const void *memory,
			size_t size);

// Schedules an event. A `time` that has passed means now. data: at most SIM_MAX_DATA.
void sim_at(struct sim_engine *engine, uint64_t time, unsigned handler, uint32_t index,
	    uint32_t data);

// The time of the event that is being handled; between runs, the end of the last run.
uint64_t sim_now(const struct sim_engine *engine);

// Where sim_now() is stored, for callers that read it for each packet. Lasts as long as the engine.
const uint64_t *sim_clock(const struct sim_engine *engine);

// Handles all events up to and including the time `until`, those included that handlers schedule
// meanwhile, and lets the time be `until`, unless sim_stop() ends it earlier. With SIM_NEVER it
// handles all events there are, and the time is that of the last one. False: an error, after which
// the simulation cannot continue; see sim_engine_error().
bool sim_run(struct sim_engine *engine, uint64_t until);

// sim_run() returns after the event that is being handled.
void sim_stop(struct sim_engine *engine);

// One line: what is wrong, and how to fix it; NULL if nothing is.
const char *sim_engine_error(const struct sim_engine *engine);

uint64_t sim_handled(const struct sim_engine *engine);     // number of events
size_t sim_engine_memory(const struct sim_engine *engine); // bytes
