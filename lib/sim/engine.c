// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The queue is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) with digits of several bits: it
// is monotone, no event is earlier than the last one that was taken. An event is in the list of
// the highest digit in which its time differs from this last time, and of the value that the digit
// has. The first event of all is thus in the first list of the lowest level that has one; when the
// list is reached, its earliest time becomes the last time, and its events move to lower levels.
// Events of equal times are always in one list, in their order; those of the last time are `due`.
#include "sim/engine.h"

#include <stdlib.h>

#define DIGIT_BITS 5u
#define DIGITS     ((64 + DIGIT_BITS - 1) / DIGIT_BITS)
#define VALUES     (1u << DIGIT_BITS)
#define CHUNK      4096u
#define NONE       UINT32_MAX
#define DATA_BITS  24u

struct event {
	uint64_t time;
	uint32_t index;
	uint32_t what; // handler and data
	uint32_t next; // in the list, or of the free ones
	uint32_t reserved;
};

struct list {
	uint32_t first, last;
};

struct handler {
	sim_handler function;
	void *context;
};

struct sim_engine {
	struct event *events;
	uint64_t last; // time up to which all events have been taken
	uint64_t now;
	uint32_t first_free;
	uint32_t room, used; // of `events`
	struct list due;
	uint32_t levels;         // bitmap: those with events
	uint32_t values[DIGITS]; // bitmaps: lists with events
	struct list lists[DIGITS][VALUES];

	uint64_t handled;
	const char *error;
	uint32_t pending;
	uint32_t capacity;
	unsigned n_handlers;
	bool is_stopped;
	struct handler handlers[SIM_MAX_HANDLERS];
};

struct sim_engine *sim_engine_create(uint32_t capacity)
{
	struct sim_engine *engine;

	if (capacity == 0 || capacity > SIM_MAX_EVENTS)
		return NULL;
	engine = calloc(1, sizeof(*engine));
	if (engine == NULL)
		return NULL;
	engine->capacity = capacity;
	engine->first_free = NONE;
	engine->due.first = NONE;
	return engine;
}

void sim_engine_destroy(struct sim_engine *engine)
{
	if (engine == NULL)
		return;
	free(engine->events);
	free(engine);
}

unsigned sim_engine_handler(struct sim_engine *engine, sim_handler function, void *context)
{
	if (engine->n_handlers == SIM_MAX_HANDLERS) {
		engine->error = "too many kinds of events: at most 256 handlers";
		return SIM_MAX_HANDLERS - 1;
	}
	engine->handlers[engine->n_handlers] = (struct handler){ function, context };
	return engine->n_handlers++;
}

static inline void append(struct sim_engine *engine, struct list *list, uint32_t event)
{
	engine->events[list->last].next = event;
	list->last = event;
}

// Puts an event that is not before `last` into its list.
static inline void put(struct sim_engine *engine, uint32_t event)
{
	const uint64_t time = engine->events[event].time, differs = time ^ engine->last;
	unsigned level, value;
	struct list *list;

	engine->events[event].next = NONE;
	if (differs == 0) {
		if (engine->due.first == NONE)
			engine->due = (struct list){ event, event };
		else
			append(engine, &engine->due, event);
		return;
	}
	level = (63 - (unsigned)__builtin_clzll(differs)) / DIGIT_BITS;
	value = (unsigned)(time >> (level * DIGIT_BITS)) & (VALUES - 1);
	list = &engine->lists[level][value];
	if ((engine->values[level] >> value & 1) != 0) {
		append(engine, list, event);
		return;
	}
	*list = (struct list){ event, event };
	engine->values[level] |= 1u << value;
	engine->levels |= 1u << level;
}

// Room for one more event, where none is free.
static bool grow(struct sim_engine *engine)
{
	const uint32_t room = engine->room + (engine->room < CHUNK ? CHUNK : engine->room / 2);
	struct event *events;

	if (engine->used < engine->room)
		return true;
	events = realloc(engine->events, room * sizeof(*events));
	if (events == NULL) {
		engine->error =
		    "no memory for more events: simulate fewer nodes or packets at a time";
		return false;
	}
	engine->events = events;
	engine->room = room;
	return true;
}

void sim_at(struct sim_engine *engine, uint64_t time, unsigned handler, uint32_t index,
	    uint32_t data)
{
	uint32_t event = engine->first_free;
	struct event *place;

	if (engine->pending == engine->capacity) {
		engine->error = "too many events are pending: give the engine a larger capacity";
		return;
	}
	if (event == NONE) {
		if (!grow(engine))
			return;
		event = engine->used++;
	} else {
		engine->first_free = engine->events[event].next;
	}
	place = &engine->events[event];
	place->time = time > engine->now ? time : engine->now;
	place->index = index;
	place->what = handler << DATA_BITS | (data & SIM_MAX_DATA);
	engine->pending++;
	put(engine, event);
}

// The first list that is not due; *level is its level. NULL: no events.
static const struct list *first_list(const struct sim_engine *engine, unsigned *level)
{
	if (engine->levels == 0)
		return NULL;
	*level = (unsigned)__builtin_ctz(engine->levels);
	return &engine->lists[*level][__builtin_ctz(engine->values[*level])];
}

static uint64_t earliest(const struct sim_engine *engine, const struct list *list)
{
	uint64_t time = SIM_NEVER;

	for (uint32_t event = list->first; event != NONE; event = engine->events[event].next) {
		if (engine->events[event].time < time)
			time = engine->events[event].time;
	}
	return time;
}

// Makes the events of the next time due. False if there are none up to `until`. That time is not
// taken as the last one before it is certain: until then earlier events may be scheduled.
static bool advance(struct sim_engine *engine, uint64_t until)
{
	unsigned level;
	const struct list *list = first_list(engine, &level);
	uint32_t event, next;
	uint64_t time;

	if (list == NULL)
		return false;
	time = earliest(engine, list);
	if (time > until)
		return false;
	engine->values[level] &= engine->values[level] - 1;
	if (engine->values[level] == 0)
		engine->levels &= ~(1u << level);
	engine->last = time;
	for (event = list->first; event != NONE; event = next) {
		next = engine->events[event].next;
		put(engine, event);
	}
	return true;
}

bool sim_run(struct sim_engine *engine, uint64_t until)
{
	engine->is_stopped = false;
	while (engine->error == NULL && !engine->is_stopped) {
		const uint32_t number = engine->due.first;
		struct event *event;
		const struct handler *handler;
		uint32_t index, what;

		if (number == NONE) {
			if (!advance(engine, until))
				break;
			continue;
		}
		event = &engine->events[number];
		index = event->index;
		what = event->what;
		engine->now = event->time;
		engine->due.first = event->next;
		event->next = engine->first_free;
		engine->first_free = number;
		engine->pending--;
		engine->handled++;
		handler = &engine->handlers[what >> DATA_BITS];
		handler->function(handler->context, index, what & SIM_MAX_DATA);
	}
	if (engine->error == NULL && !engine->is_stopped && until != SIM_NEVER &&
	    until > engine->now)
		engine->now = until;
	return engine->error == NULL;
}

uint64_t sim_now(const struct sim_engine *engine)
{
	return engine->now;
}

void sim_stop(struct sim_engine *engine)
{
	engine->is_stopped = true;
}

const char *sim_engine_error(const struct sim_engine *engine)
{
	return engine->error;
}

uint64_t sim_handled(const struct sim_engine *engine)
{
	return engine->handled;
}

size_t sim_engine_memory(const struct sim_engine *engine)
{
	return sizeof(*engine) + engine->room * sizeof(*engine->events);
}
