// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Events of the next microseconds are in a ring of slots, of 1 ns each. A slot is reached with all
// its events, which are then sorted by time; mostly it is one. The ring spans the present window of
// 2 us and the next one. Later events are in a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) of
// windows, with digits of several bits: an event is in the list of the highest digit in which its
// window differs from that which was reached, and of the value that the digit has. When a window
// is entered, the events of the next one move from the heap to the ring, before others are
// scheduled there: so events of equal times keep their order.
//
// The next slot is reached before the handler of the last event that is due is called: where the
// next event is and what it will touch is then known when that handler returns. An event that a
// handler schedules for a slot that was reached, or for one before it, is put among those that are
// due. If there are more than MAX_EARLY of them, the slot is as if it had not been reached: among
// those that are due, an event is put by comparison with each of them.
//
// An event that is scheduled for the present time is in a list of its own. It comes after all
// others of this time, which were scheduled before.
#include "sim/engine.h"

#include <stdlib.h>

#define SLOT_BITS   10u // of a time within a slot
#define WINDOW_BITS 11u // of a slot within a window
#define SLOTS       (2u << WINDOW_BITS)
#define WORD_BITS   64u
#define WORDS       (SLOTS / WORD_BITS)

#define DIGIT_BITS 11u
#define DIGITS     ((64 - SLOT_BITS - WINDOW_BITS + DIGIT_BITS - 1) / DIGIT_BITS)
#define VALUES     (1u << DIGIT_BITS)
#define CHUNK      4096u
#define MAX_EARLY  16u
#define NONE       0u // the number of no event: what calloc() gives has empty lists
#define DATA_BITS  24u
#define SORT_RUNS  32u

// What is seldom needed costs nothing where it is not.
#define NOINLINE __attribute__((noinline))

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

// The lists of a digit of the heap.
struct level {
	uint64_t words;                      // bitmap: those of `values` that are not 0
	uint64_t values[VALUES / WORD_BITS]; // bitmap: lists with events
	struct list lists[VALUES];
};

struct handler {
	sim_handler function;
	void *context;
	uintptr_t memory; // see sim_engine_touches()
	size_t size;
};

struct sim_engine {
	uint64_t now;
	struct event *events;
	uint64_t reached;  // time: earlier events are in no slot
	uint64_t ring_end; // last time of the ring
	uint64_t window;   // first slot of the present window, from the beginning of the simulation
	uint32_t first_free;
	uint32_t due;      // list: events of the slots that were reached, in their order
	struct list later; // of those scheduled for the present time: they follow
	bool is_stopped;
	uint32_t n_early; // events put among those that are due, since a slot was reached
	uint64_t handled;
	uint64_t words;         // bitmap: those of `filled` that are not 0
	uint64_t filled[WORDS]; // bitmap: slots with events
	uint32_t newest[SLOTS]; // list of each slot, the newest event first
	struct handler handlers[SIM_MAX_HANDLERS];

	uint64_t far_reached; // window: no event of the heap is earlier
	uint32_t levels_used; // bitmap: those with events
	struct level levels[DIGITS];

	const char *error;
	uint32_t room, used; // of `events`, of which number 0 stays unused
	uint32_t capacity;
	unsigned n_handlers;
};

_Static_assert(WORDS <= WORD_BITS && VALUES / WORD_BITS <= WORD_BITS, "a bitmap of bitmaps");

void sim_engine_destroy(struct sim_engine *engine)
{
	if (engine == NULL)
		return;
	free(engine->events);
	free(engine);
}

static void fail(struct sim_engine *engine, const char *error)
{
	engine->error = error;
	engine->is_stopped = true;
}

unsigned sim_engine_handler(struct sim_engine *engine, sim_handler function, void *context)
{
	if (engine->n_handlers == SIM_MAX_HANDLERS) {
		fail(engine, "too many kinds of events: at most 256 handlers");
		return SIM_MAX_HANDLERS - 1;
	}
	engine->handlers[engine->n_handlers] = (struct handler){ function, context, 0, 0 };
	return engine->n_handlers++;
}

void sim_engine_touches(struct sim_engine *engine, unsigned handler, const void *memory,
			size_t size)
{
	engine->handlers[handler].memory = (uintptr_t)memory;
	engine->handlers[handler].size = size;
}

// Fetches what the handler of an event that comes soon will touch. Event 0 is none; it is zero.
static inline void fetch(const struct sim_engine *engine, uint32_t number)
{
	const struct event *event = &engine->events[number];
	const struct handler *handler = &engine->handlers[event->what >> DATA_BITS];

	__builtin_prefetch((const void *)(handler->memory + event->index * handler->size), 1);
}

// Puts an event of a later window into the heap. The successor of no event is that of number 0,
// which is not read.
NOINLINE static void put_far(struct sim_engine *engine, uint32_t number)
{
	struct event *events = engine->events;
	const uint64_t window = events[number].time >> (SLOT_BITS + WINDOW_BITS);
	const unsigned bit = 63 - (unsigned)__builtin_clzll((window ^ engine->far_reached) | 1);
	const unsigned digit = bit / DIGIT_BITS;
	const unsigned value = (unsigned)(window >> (digit * DIGIT_BITS)) & (VALUES - 1);
	struct level *level = &engine->levels[digit];
	struct list *list = &level->lists[value];

	events[number].next = NONE;
	events[list->last].next = number;
	if (list->first == NONE)
		list->first = number;
	list->last = number;
	level->values[value / WORD_BITS] |= UINT64_C(1) << value % WORD_BITS;
	level->words |= UINT64_C(1) << value / WORD_BITS;
	engine->levels_used |= 1u << digit;
}

// Puts an event into the ring, which spans its time.
static inline void put_near(struct sim_engine *engine, uint32_t number, struct event *event)
{
	const unsigned at = (unsigned)(event->time >> SLOT_BITS) % SLOTS;

	event->next = engine->newest[at];
	engine->newest[at] = number;
	engine->filled[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
	engine->words |= UINT64_C(1) << at / WORD_BITS;
}

// Puts an event behind the others that are scheduled for the present time.
NOINLINE static void put_now(struct sim_engine *engine, uint32_t number, struct event *event)
{
	event->time = engine->now;
	event->next = NONE;
	engine->events[engine->later.last].next = number;
	if (engine->later.first == NONE)
		engine->later.first = number;
	engine->later.last = number;
}

// Puts the events that are due later than now back into the ring. Those of now stay: the events in
// `later` come behind them.
NOINLINE static void look_back(struct sim_engine *engine)
{
	struct event *events = engine->events;
	uint32_t *at = &engine->due, number, next;

	while (*at != NONE && events[*at].time <= engine->now)
		at = &events[*at].next;
	number = *at;
	*at = NONE;
	for (; number != NONE; number = next) {
		next = events[number].next;
		put_near(engine, number, &events[number]);
	}
	engine->reached = engine->now + 1;
}

// Puts an event that is earlier than `reached` behind those that are due before it or with it.
NOINLINE static void put_due(struct sim_engine *engine, uint32_t number, struct event *event)
{
	struct event *events = engine->events;
	uint32_t *at = &engine->due;

	if (event->time <= engine->now) {
		put_now(engine, number, event);
		return;
	}
	if (++engine->n_early > MAX_EARLY) {
		look_back(engine);
		put_near(engine, number, event);
		return;
	}
	while (*at != NONE && events[*at].time <= event->time)
		at = &events[*at].next;
	event->next = *at;
	*at = number;
}

// Makes an event that was never used the first free one. False: there may be no more, or there is
// no memory.
static bool add_event(struct sim_engine *engine)
{
	const uint32_t room = engine->room + (engine->room < CHUNK ? CHUNK : engine->room / 2);
	struct event *events = engine->events;

	if (engine->used > engine->capacity) {
		fail(engine, "too many events are pending: give the engine a larger capacity");
		return false;
	}
	if (engine->used >= engine->room) {
		events = realloc(events, room * sizeof(*events));
		if (events == NULL) {
			fail(engine, "no memory for more events: simulate fewer nodes or packets "
				     "at a time");
			return false;
		}
		engine->events = events;
		engine->room = room;
	}
	events[NONE] = (struct event){ 0 };
	events[engine->used].next = NONE;
	engine->first_free = engine->used++;
	return true;
}

NOINLINE static void at_with_new_event(struct sim_engine *engine, uint64_t time, unsigned handler,
				       uint32_t index, uint32_t data)
{
	if (add_event(engine))
		sim_at(engine, time, handler, index, data);
}

void sim_at(struct sim_engine *engine, uint64_t time, unsigned handler, uint32_t index,
	    uint32_t data)
{
	const uint32_t number = engine->first_free;
	struct event *event;

	if (number == NONE) {
		at_with_new_event(engine, time, handler, index, data);
		return;
	}
	time = time > engine->now ? time : engine->now;
	event = &engine->events[number];
	engine->first_free = event->next;
	event->time = time;
	event->index = index;
	event->what = handler << DATA_BITS | (data & SIM_MAX_DATA);
	if (time > engine->ring_end)
		put_far(engine, number);
	else if (time < engine->reached)
		put_due(engine, number, event);
	else
		put_near(engine, number, event);
}

// The first list of the heap. There is one.
static void first_far(const struct sim_engine *engine, unsigned *digit, unsigned *value)
{
	const struct level *level;
	unsigned word;

	*digit = (unsigned)__builtin_ctz(engine->levels_used);
	level = &engine->levels[*digit];
	word = (unsigned)__builtin_ctzll(level->words);
	*value = WORD_BITS * word + (unsigned)__builtin_ctzll(level->values[word]);
}

// Takes a list, the first of its level, out of the heap. Returns its first event.
static uint32_t take_far(struct sim_engine *engine, unsigned digit, unsigned value)
{
	struct level *level = &engine->levels[digit];
	const uint32_t first = level->lists[value].first;

	level->lists[value] = (struct list){ NONE, NONE };
	level->values[value / WORD_BITS] &= level->values[value / WORD_BITS] - 1;
	if (level->values[value / WORD_BITS] == 0)
		level->words &= level->words - 1;
	if (level->words == 0)
		engine->levels_used &= engine->levels_used - 1;
	return first;
}

// The first window of a list of the heap.
static uint64_t window_of(const struct sim_engine *engine, unsigned digit, unsigned value)
{
	const unsigned shift = digit * DIGIT_BITS;

	return ((engine->far_reached >> shift & ~(uint64_t)(VALUES - 1)) | value) << shift;
}

// Lets the ring end with this window.
NOINLINE static void extend(struct sim_engine *engine, uint64_t window)
{
	while (engine->levels_used != 0) {
		unsigned digit, value;
		uint32_t next;

		first_far(engine, &digit, &value);
		if (window_of(engine, digit, value) > window)
			break;
		engine->far_reached = window_of(engine, digit, value);
		for (uint32_t number = take_far(engine, digit, value); number != NONE;
		     number = next) {
			struct event *event = &engine->events[number];

			next = event->next;
			if (event->time >> (SLOT_BITS + WINDOW_BITS) <= window)
				put_near(engine, number, event);
			else
				put_far(engine, number);
		}
	}
	engine->window = (window - 1) << WINDOW_BITS;
	engine->ring_end = ((window + 1) << (SLOT_BITS + WINDOW_BITS)) - 1;
}

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
	extend(engine, 1);
	return engine;
}

// Joins two lists in the order of their times; of equal ones, those of `older` come first.
static uint32_t merge(struct event *events, uint32_t older, uint32_t newer)
{
	uint32_t first = NONE, *end = &first;

	while (older != NONE && newer != NONE) {
		uint32_t *from = events[newer].time < events[older].time ? &newer : &older;

		*end = *from;
		end = &events[*from].next;
		*from = *end;
	}
	*end = older != NONE ? older : newer;
	return first;
}

// Takes as many events from a list that has the newest one first as are in the order of time.
// Returns them, the oldest first.
static inline uint32_t take_run(struct event *events, uint32_t *newest)
{
	uint32_t run = NONE, event = *newest, next;

	do {
		next = events[event].next;
		events[event].next = run;
		run = event;
		event = next;
	} while (next != NONE && events[next].time <= events[run].time);
	*newest = next;
	return run;
}

// A merge sort of the runs of a list; the first one has been taken.
NOINLINE static uint32_t sort(struct event *events, uint32_t run, uint32_t newest)
{
	uint32_t runs[SORT_RUNS] = { run }; // number i has 2^i of them; the higher, the newer
	uint32_t sorted = NONE, n_runs = 1;

	while (newest != NONE) {
		uint32_t i;

		run = take_run(events, &newest);
		for (i = 0; runs[i] != NONE; i++) {
			run = merge(events, run, runs[i]);
			runs[i] = NONE;
		}
		runs[i] = run;
		n_runs = i < n_runs ? n_runs : i + 1;
	}
	for (uint32_t i = 0; i < n_runs; i++)
		sorted = merge(events, sorted, runs[i]);
	return sorted;
}

// Reaches the first slot of a word of the ring, which has one; it is number `from` from the present
// window on.
static inline void reach(struct sim_engine *engine, unsigned word, unsigned from)
{
	const unsigned bit = (unsigned)__builtin_ctzll(engine->filled[word]);
	uint32_t *newest = &engine->newest[word * WORD_BITS + bit];

	engine->filled[word] &= engine->filled[word] - 1;
	if (engine->filled[word] == 0)
		engine->words &= ~(UINT64_C(1) << word);
	engine->reached = (engine->window + from * WORD_BITS + bit + 1) << SLOT_BITS;
	engine->n_early = 0;
	engine->due = take_run(engine->events, newest);
	if (*newest != NONE) {
		engine->due = sort(engine->events, engine->due, *newest);
		*newest = NONE;
	}
}

// Reaches the next slot that has events. False: none begins by `until`. It is not reached then.
NOINLINE static bool reach_slot(struct sim_engine *engine, uint64_t until)
{
	const unsigned turn = (unsigned)(engine->window / WORD_BITS) % WORDS;
	const uint64_t words = engine->words >> turn | engine->words
							   << (WORD_BITS - turn) % WORD_BITS;
	const unsigned from = (unsigned)__builtin_ctzll(words), word = (from + turn) % WORDS;
	const uint64_t slot =
	    engine->window + from * WORD_BITS + (unsigned)__builtin_ctzll(engine->filled[word]);

	if (slot << SLOT_BITS > until)
		return false;
	reach(engine, word, from);
	if (from >= WORDS / 2)
		extend(engine, (engine->window >> WINDOW_BITS) + 2);
	return true;
}

// Reaches the next slot of the present window, if it has one with events. What is needed for the
// next event is then known before the present one is handled.
static inline void look_ahead(struct sim_engine *engine)
{
	const unsigned turn = (unsigned)(engine->window / WORD_BITS) % WORDS;
	const uint32_t words = (uint32_t)(engine->words >> turn);
	unsigned from;

	if (words == 0)
		return;
	from = (unsigned)__builtin_ctz(words);
	reach(engine, from + turn, from);
}

// Enters the first window of the heap that may have events. False: it begins after `until`, or
// there is none.
NOINLINE static bool reach_far(struct sim_engine *engine, uint64_t until)
{
	unsigned digit, value;
	uint64_t window;

	if (engine->levels_used == 0)
		return false;
	first_far(engine, &digit, &value);
	window = window_of(engine, digit, value);
	if (window << (SLOT_BITS + WINDOW_BITS) > until)
		return false;
	extend(engine, window + 1);
	return true;
}

// Takes the next event. NONE: there is none until then.
NOINLINE static uint32_t take(struct sim_engine *engine, uint64_t until)
{
	uint32_t number;

	while ((number = engine->due) == NONE && engine->later.first == NONE) {
		if (!(engine->words != 0 ? reach_slot(engine, until) : reach_far(engine, until)))
			return NONE;
	}
	if (engine->later.first != NONE &&
	    (number == NONE || engine->events[number].time > engine->now)) {
		number = engine->later.first;
		engine->later.first = engine->events[number].next;
		if (engine->later.first == NONE)
			engine->later.last = NONE;
		return number;
	}
	if (engine->events[number].time > until)
		return NONE;
	engine->due = engine->events[number].next;
	return number;
}

bool sim_run(struct sim_engine *engine, uint64_t until)
{
	engine->is_stopped = engine->error != NULL || until < engine->now;
	while (!engine->is_stopped) {
		const struct handler *handler;
		uint32_t number = engine->due, index, what;
		struct event *event;

		if (number == NONE || engine->later.first != NONE) {
			number = take(engine, until);
			if (number == NONE)
				break;
			event = &engine->events[number];
		} else {
			event = &engine->events[number];
			if (event->time > until)
				break;
			engine->due = event->next;
		}
		index = event->index;
		what = event->what;
		engine->now = event->time;
		event->next = engine->first_free;
		engine->first_free = number;
		engine->handled++;
		if (engine->due == NONE)
			look_ahead(engine);
		fetch(engine, engine->due);
		handler = &engine->handlers[what >> DATA_BITS];
		handler->function(handler->context, index, what & SIM_MAX_DATA);
	}
	if (!engine->is_stopped && until != SIM_NEVER)
		engine->now = until;
	return engine->error == NULL;
}

const uint64_t *sim_clock(const struct sim_engine *engine)
{
	return &engine->now;
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
