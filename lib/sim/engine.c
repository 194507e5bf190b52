// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The queue is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) with digits of several bits: it
// is monotone, no event is earlier than the time that was reached. An event is in the list of the
// highest digit in which its time differs from this one, and of the value that the digit has. The
// first event of all is thus in the first list of the lowest level that has one. When the list is
// reached, its events move to lower levels; those of a list of the lowest level have one time, and
// are due. Events of equal times are always in one list, in their order.
//
// Digits are wide, because an event costs an access to memory per level that it passes: with 2 ns
// in the lowest and 4 us in the next one, the events of a packet pass two levels on most links.
#include "sim/engine.h"

#include <stdlib.h>

#define DIGIT_BITS 11u
#define DIGITS     ((64 + DIGIT_BITS - 1) / DIGIT_BITS)
#define VALUES     (1u << DIGIT_BITS)
#define WORDS      (VALUES / 64)
#define CHUNK      4096u
#define NONE       0u // the number of no event: what calloc() gives has empty lists
#define DATA_BITS  24u

struct event {
	uint64_t time;
	uint32_t index;
	uint32_t what; // handler and data
	uint32_t next; // in the list, or of the free ones
	uint32_t reserved;
};

struct list {
	uint32_t first, last; // both NONE: empty
};

// The lists of a digit.
struct level {
	uint32_t words;         // bitmap: those of `values` that are not 0
	uint64_t values[WORDS]; // bitmap: lists with events
	struct list lists[VALUES];
};

struct handler {
	sim_handler function;
	void *context;
};

struct sim_engine {
	struct event *events;
	uint64_t reached; // no event is earlier
	uint64_t now;
	uint32_t first_free;
	uint32_t room, used;  // of `events`, of which number 0 stays unused
	uint32_t due;         // the first of those that are next
	uint32_t levels_used; // bitmap: those with events
	struct level levels[DIGITS];

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
	engine->used = 1;
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

// The digit with a bit.
static inline unsigned digit_of(unsigned bit)
{
	static const uint8_t digits[64] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
		4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5,
	};

	_Static_assert(DIGIT_BITS == 11, "the table is for this width");
	return digits[bit];
}

// Puts an event into its list. Whether the list has one already cannot be predicted, so nothing
// depends on a branch: the successor of no event is that of number 0, which is not read.
static inline void put(struct sim_engine *engine, uint32_t event)
{
	struct event *events = engine->events;
	const uint64_t time = events[event].time, differs = time ^ engine->reached;
	const unsigned number = digit_of(63 - (unsigned)__builtin_clzll(differs | 1));
	const unsigned value = (unsigned)(time >> (number * DIGIT_BITS)) & (VALUES - 1);
	struct level *level = &engine->levels[number];
	struct list *list = &level->lists[value];
	const uint32_t first = list->first, last = list->last;

	events[event].next = NONE;
	events[last].next = event;
	list->first = first != NONE ? first : event;
	list->last = event;
	level->values[value / 64] |= UINT64_C(1) << value % 64;
	level->words |= 1u << value / 64;
	engine->levels_used |= 1u << number;
}

// The number of an event that was never used; NONE: no memory.
__attribute__((noinline)) static uint32_t add_event(struct sim_engine *engine)
{
	const uint32_t room = engine->room + (engine->room < CHUNK ? CHUNK : engine->room / 2);
	struct event *events;

	if (engine->used < engine->room)
		return engine->used++;
	events = realloc(engine->events, room * sizeof(*events));
	if (events == NULL) {
		engine->error =
		    "no memory for more events: simulate fewer nodes or packets at a time";
		return NONE;
	}
	engine->events = events;
	engine->room = room;
	return engine->used++;
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
	if (event != NONE)
		engine->first_free = engine->events[event].next;
	else if ((event = add_event(engine)) == NONE)
		return;
	place = &engine->events[event];
	place->time = time > engine->now ? time : engine->now;
	place->index = index;
	place->what = handler << DATA_BITS | (data & SIM_MAX_DATA);
	engine->pending++;
	put(engine, event);
}

// Takes the first list of a level out of it.
static inline void take_list(struct sim_engine *engine, unsigned number, unsigned value)
{
	struct level *level = &engine->levels[number];

	level->lists[value] = (struct list){ NONE, NONE };
	level->values[value / 64] &= level->values[value / 64] - 1;
	if (level->values[value / 64] == 0)
		level->words &= level->words - 1;
	if (level->words == 0)
		engine->levels_used &= engine->levels_used - 1;
}

// Goes on to the first list; its events move to lower levels, or are due if they have one time.
// False if it begins after `until`. That time is not reached then: until it is, earlier events may
// be scheduled.
static bool advance(struct sim_engine *engine, uint64_t until)
{
	unsigned number, word, value, shift;
	const struct level *level;
	struct list list;
	uint64_t begin;
	bool is_due;

	if (engine->levels_used == 0)
		return false;
	number = (unsigned)__builtin_ctz(engine->levels_used);
	level = &engine->levels[number];
	word = (unsigned)__builtin_ctz(level->words);
	value = 64 * word + (unsigned)__builtin_ctzll(level->values[word]);
	list = level->lists[value];
	is_due = number == 0 || list.first == list.last;
	shift = number * DIGIT_BITS;
	begin = is_due ? engine->events[list.first].time
		       : ((engine->reached >> shift & ~(uint64_t)(VALUES - 1)) | value) << shift;
	if (begin > until)
		return false;
	take_list(engine, number, value);
	engine->reached = begin;
	if (is_due) {
		engine->due = list.first;
		return true;
	}
	for (uint32_t event = list.first, next; event != NONE; event = next) {
		next = engine->events[event].next;
		put(engine, event);
	}
	return true;
}

bool sim_run(struct sim_engine *engine, uint64_t until)
{
	engine->is_stopped = false;
	while (engine->error == NULL && !engine->is_stopped) {
		const uint32_t number = engine->due;
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
		engine->due = event->next;
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
