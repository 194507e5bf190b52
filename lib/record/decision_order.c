// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/decision_order.h"

#include <stdlib.h>

#include "base/counter.h"
#include "packet/decision_queue.h"

enum state { EMPTY, EXPECTED, DECIDED };

struct place {
	struct decision_result result;
	uint64_t since_ns; // of its first announcement or decision
	enum state state;
	bool left; // EMPTY: `result` is that of the event that has left it
};

// Events have indices, event_id / packing. The place of index i is places[i & mask].
struct decision_order {
	struct decision_order_parameters parameters;
	uint32_t mask;
	bool begun;       // an event has arrived
	bool left;        // an event has left: earlier ones are late
	bool ended;       // nothing more arrives
	uint64_t next;    // index whose turn it is
	uint64_t end;     // behind the last index that is held
	uint64_t pressed; // indices before this one leave at once: others need their places
	uint64_t begun_ns;
	uint64_t known;   // no index from `next` to this one is held; in doubt it is `next`
	uint64_t first;   // the indices below were complete when this process began
	uint64_t settled; // all events below this index have been announced
	uint32_t held;
	struct decision_order_counters counters;
	struct place places[];
};

uint64_t decision_order_memory(uint32_t window)
{
	return sizeof(struct decision_order) + window * (uint64_t)sizeof(struct place);
}

struct decision_order *decision_order_create(const struct decision_order_parameters *parameters)
{
	struct decision_order *order = calloc(1, decision_order_memory(parameters->window));

	if (order == NULL)
		return NULL;
	order->parameters = *parameters;
	order->mask = parameters->window - 1;
	return order;
}

void decision_order_destroy(struct decision_order *order)
{
	free(order);
}

static struct place *place_of(struct decision_order *order, uint64_t index)
{
	return &order->places[index & order->mask];
}

static void begin(struct decision_order *order, uint64_t index, uint64_t now_ns)
{
	order->begun = true;
	order->begun_ns = now_ns;
	order->next = order->end = order->known = order->pressed = index;
}

enum arrival { ARRIVED, LATE, NO_ROOM };

// Finds the place of an index, and moves the limits of the window to it.
static enum arrival arrive(struct decision_order *order, uint64_t index, uint64_t now_ns,
			   struct place **place)
{
	const uint64_t window = order->parameters.window;

	// Ids come from memory that consumers can write; the limits below must not overflow.
	if (index > UINT64_MAX - 2 * window)
		return LATE;
	if (!order->begun)
		begin(order, index, now_ns);
	if (order->parameters.holds && index >= order->next + DECISION_FARTHEST)
		return LATE; // it would hold back all others
	if (index < order->next && (order->left || order->end - index > window))
		return LATE;
	if (index >= order->next && index - order->next >= window) {
		if (!order->parameters.holds && order->pressed < index - window + 1)
			order->pressed = index - window + 1;
		return NO_ROOM;
	}
	if (index < order->next)
		order->next = order->pressed = order->known = index;
	if (index >= order->end)
		order->end = index + 1;
	if (index < order->known)
		order->known = index;
	*place = place_of(order, index);
	if ((*place)->state == EMPTY) {
		(*place)->left = false;
		(*place)->since_ns = now_ns;
		order->held++;
	}
	return ARRIVED;
}

bool decision_order_expect(struct decision_order *order, uint64_t event_id, uint16_t builder,
			   uint64_t now_ns)
{
	struct place *place;
	const enum arrival arrival =
	    arrive(order, event_id / order->parameters.packing, now_ns, &place);

	if (arrival == LATE)
		counter_add(&order->counters.late, 1);
	if (arrival == ARRIVED && place->state == EMPTY) {
		place->state = EXPECTED;
		place->result = (struct decision_result){
			.event_id = event_id,
			.decide_us = UINT32_MAX,
			.builder = builder,
		};
	}
	return arrival != NO_ROOM;
}

// A decision about an event that has left. The place shows how it left, as long as no other event
// has had it.
static void count_late(struct decision_order *order, uint64_t index)
{
	const struct place *place = place_of(order, index);
	const bool has_decision =
	    index < order->first ||
	    (place->left && place->result.event_id / order->parameters.packing == index &&
	     (place->result.flags & DECISION_TIMED_OUT) == 0);

	counter_add(has_decision ? &order->counters.repeated : &order->counters.late, 1);
}

bool decision_order_decide(struct decision_order *order, const struct decision_result *result,
			   uint64_t now_ns)
{
	struct place *place;
	const enum arrival arrival =
	    arrive(order, result->event_id / order->parameters.packing, now_ns, &place);

	if (arrival == LATE)
		count_late(order, result->event_id / order->parameters.packing);
	if (arrival != ARRIVED)
		return arrival == LATE;
	if (place->state == DECIDED) {
		counter_add(&order->counters.repeated, 1);
	} else {
		place->state = DECIDED;
		place->result = *result;
	}
	return true;
}

void decision_order_refuse(struct decision_order *order)
{
	counter_add(&order->counters.late, 1);
}

// Whether the event, or the first one behind a gap, has waited long enough.
static bool is_due(const struct decision_order *order, const struct place *place, uint64_t now_ns)
{
	return order->ended || now_ns - place->since_ns >= order->parameters.timeout_ns;
}

// How far the turn may pass over ids that nobody announced, up to `found`, the first held index or
// the end: to the settled ones, for others, or if those behind them have waited long enough.
static uint64_t gap_end(const struct decision_order *order, uint64_t found, uint64_t now_ns)
{
	const bool is_held = found < order->end;
	uint64_t to = order->pressed;

	if (is_held && (to >= found || is_due(order, &order->places[found & order->mask], now_ns)))
		return found;
	if (to < order->settled)
		to = order->settled;
	return is_held && to > found ? found : to;
}

// Passes over a gap. Returns false if the turn does not move.
static bool pass_gap(struct decision_order *order, uint64_t now_ns)
{
	uint64_t to = order->known > order->next ? order->known : order->next;

	while (to < order->end && place_of(order, to)->state == EMPTY)
		to++;
	order->known = to;
	to = gap_end(order, to, now_ns);
	if (to <= order->next)
		return false;
	counter_add(&order->counters.skipped, to - order->next);
	order->next = to;
	order->left = true;
	return true;
}

static void count(struct decision_order_counters *counters, uint8_t flags)
{
	if ((flags & DECISION_TIMED_OUT) != 0)
		counter_add(&counters->timed_out, 1);
	else if ((flags & DECISION_UNDECIDED) != 0)
		counter_add(&counters->undecided, 1);
	else if ((flags & DECISION_ACCEPTED) != 0)
		counter_add(&counters->accepted, 1);
	else
		counter_add(&counters->rejected, 1);
}

static void leave(struct decision_order *order, struct place *place, struct decision_result *to)
{
	if (place->state == EXPECTED)
		place->result.flags = DECISION_TIMED_OUT |
				      (order->parameters.accept_timed_out ? DECISION_ACCEPTED : 0);
	place->left = true;
	*to = place->result;
	count(&order->counters, to->flags);
	place->state = EMPTY;
	order->held--;
	order->next++;
	order->left = true;
}

void decision_order_begin(struct decision_order *order, uint64_t index)
{
	if (order->left)
		return;
	order->begun = order->left = true;
	order->first = order->next = order->end = order->known = order->pressed = index;
}

void decision_order_settle(struct decision_order *order, uint64_t index)
{
	if (order->settled < index)
		order->settled = index;
}

uint64_t decision_order_next(const struct decision_order *order)
{
	return order->next;
}

unsigned decision_order_take(struct decision_order *order, uint64_t now_ns,
			     struct decision_result *results, unsigned most)
{
	unsigned n = 0;

	if (!order->begun || (!order->left && !order->ended && order->pressed <= order->next &&
			      now_ns - order->begun_ns < order->parameters.timeout_ns))
		return 0;
	while (n < most && (order->next < order->end || order->next < order->pressed ||
			    order->next < order->settled)) {
		struct place *place = place_of(order, order->next);
		const bool empty = order->next >= order->end || place->state == EMPTY;

		if (empty) {
			if (!pass_gap(order, now_ns))
				break;
		} else if (place->state == DECIDED || order->next < order->pressed ||
			   is_due(order, place, now_ns)) {
			leave(order, place, &results[n++]);
		} else {
			break;
		}
	}
	if (order->next > order->end)
		order->end = order->next;
	return n;
}

void decision_order_end(struct decision_order *order)
{
	order->ended = true;
}

uint32_t decision_order_held(const struct decision_order *order)
{
	return order->held;
}

const struct decision_order_counters *decision_order_counters(const struct decision_order *order)
{
	return &order->counters;
}
