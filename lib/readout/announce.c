// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "readout/internal.h"

#include "base/counter.h"

#define UP_SECONDS 2u // to reach all builders when a run begins

void readout_forget_grants(struct readout_logic *logic)
{
	readout_clear_grants(logic);
	readout_pace_clear(&logic->pace);
	if (readout_messages(logic) != NULL)
		readout_messages(logic)->forget(logic->parameters.context);
}

// --- messages of the control role ---

static const struct block_store *store_of(const struct readout_logic *logic)
{
	return logic->parameters.store;
}

// The first event of a run. Where nobody grants, nobody else knows what an earlier process has
// sent.
static uint64_t first_of_run(const struct readout_logic *logic, uint64_t event)
{
	const uint64_t oldest = store_of(logic)->resumes ? store_of(logic)->resumes_at : UINT64_MAX;

	return logic->parameters.is_static && oldest < event ? oldest : event;
}

static void set_run_state(struct readout_logic *logic, const struct message *message, uint64_t now)
{
	if (message->run != logic->run) {
		const uint64_t first = first_of_run(logic, message->event);

		if (readout_messages(logic) != NULL)
			readout_messages(logic)->forget(logic->parameters.context);
		logic->run = message->run;
		logic->first = logic->released = first;
		logic->announced = store_of(logic)->is_shared ? 0 : first;
		logic->begins = true;
		logic->static_next = first;
		logic->run_end = UINT64_MAX;
		logic->ended = logic->unsent = logic->is_up = false;
		logic->start = now;
	}
	logic->state = (enum ctrl_run_state)message->state;
	if (logic->state == CTRL_DRAINING)
		logic->run_end = message->event;
	if (logic->state == CTRL_STOPPED)
		readout_forget_grants(logic);
}

static void release(struct readout_logic *logic, uint64_t event)
{
	if (logic->released < event)
		logic->released = event;
	if (readout_messages(logic) != NULL)
		readout_messages(logic)->released(logic->parameters.context, logic->released);
}

static bool queue_grant(struct readout_logic *logic, const struct message *grant)
{
	if (readout_messages(logic) != NULL)
		readout_messages(logic)->granted(logic->parameters.context, grant);
	return readout_put_grant(logic, grant);
}

// Events that builders request are sent to the builders in turn. Each readout begins the turn with
// another builder.
static void take_grant(struct readout_logic *logic, struct message grant)
{
	// All nodes that share the source get the grant, and one of them has the event.
	if (store_of(logic)->is_shared && (grant.flags & MESSAGE_REQUESTED) == 0 &&
	    block_store_find(logic->parameters.store, grant.event, 0).size == 0)
		return;
	if ((grant.flags & MESSAGE_REQUESTED) != 0) {
		grant.round = 0;
		grant.position = grant.builder;
		grant.n_positions = (uint16_t)logic->parameters.n_builders;
	}
	if ((grant.flags & MESSAGE_BARRIER) != 0)
		phase_gate_set_session(&logic->gate, grant.state);
	if (!queue_grant(logic, &grant))
		counter_add(&logic->counters->gone, 1);
}

void readout_logic_adapt(struct readout_logic *logic, uint64_t now)
{
	if (logic->sending)
		readout_pace_adapt(&logic->pace, now);
}

void readout_logic_message(struct readout_logic *logic, const struct message *message, uint64_t now)
{
	switch (message->kind) {
	case MESSAGE_RUN:
		set_run_state(logic, message, now);
		break;
	case MESSAGE_RELEASE:
		release(logic, message->event);
		break;
	case MESSAGE_THROTTLE:
		logic->throttled = message->state != 0;
		break;
	case MESSAGE_ASSIGN:
		block_store_assign(logic->parameters.store, message->event, message->bytes);
		break;
	case MESSAGE_UNPUBLISHED:
		block_store_unpublished(logic->parameters.store, message->event,
					(message->flags & MESSAGE_REPEATED) != 0);
		break;
	case MESSAGE_SEND:
		take_grant(logic, *message);
		break;
	case MESSAGE_CLOCK:
		if (readout_logic_is_timed(logic))
			shift_windows_set_clock(&logic->windows, (uint32_t)message->bytes,
						message->event);
		break;
	case MESSAGE_PHASE:
		phase_gate_set_session(&logic->gate, message->state);
		phase_gate_set_limit(&logic->gate, (uint32_t)message->event);
		break;
	default:
		break;
	}
}

// --- the block store ---

// Whether a packet of the event may still be made. Packets that were made keep their bytes.
static bool is_in_use(const struct readout_logic *logic, uint64_t event)
{
	return (logic->sending && logic->grant.event == event) ||
	       (readout_messages(logic) != NULL &&
		readout_messages(logic)->holds(logic->parameters.context, event));
}

// The events of the previous run that are in use come first.
static void begin_store(struct readout_logic *logic)
{
	if (logic->sending || (readout_messages(logic) != NULL &&
			       readout_messages(logic)->holds_any(logic->parameters.context)))
		return;
	block_store_begin(logic->parameters.store, logic->first);
	logic->freed = logic->first;
	logic->begins = false;
}

// Nobody confirms in static mode: an event is finished when it is sent.
static void tend_store(struct readout_logic *logic, uint64_t now)
{
	struct block_store *store = logic->parameters.store;
	uint64_t before = logic->freed;

	block_store_poll(store, now);
	if (logic->begins) {
		begin_store(logic);
		return;
	}
	if (logic->parameters.is_static && (logic->sending || readout_logic_waiting(logic) > 0))
		return;
	while (logic->freed < logic->released && !is_in_use(logic, logic->freed))
		logic->freed++;
	if (logic->freed != before)
		block_store_release(store, logic->freed);
}

// --- announcing ---

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// The first event that the run does not have.
static uint64_t end_of_events(const struct readout_logic *logic)
{
	uint64_t end = least(logic->own_end, logic->run_end);

	// A number of events: no event gets an index once the run drains.
	if (store_of(logic)->is_shared)
		return logic->state == CTRL_DRAINING || store_of(logic)->end != UINT64_MAX
			   ? store_of(logic)->offered
			   : logic->own_end;
	return least(end, store_of(logic)->end);
}

// The first event that the readout does not have yet.
static uint64_t produced(const struct readout_logic *logic, uint64_t now)
{
	const struct block_store *store = store_of(logic);
	uint64_t end =
	    least(end_of_events(logic), store->is_shared ? store->offered : store->ready);

	if (!store->is_shared)
		end = least(end, logic->released + logic->parameters.source_buffer);
	if (production_is_limited(&logic->production))
		end = least(end, (store->is_shared ? 0 : logic->first) +
				     production_made(&logic->production, now - logic->start));
	return end > logic->announced ? end : logic->announced;
}

static bool reaches_all(struct readout_logic *logic)
{
	const struct readout_logic_parameters *p = &logic->parameters;

	if (readout_messages(logic) != NULL)
		return readout_messages(logic)->is_connected(p->context);
	if (logic->sending)
		return false; // its builder stays the one that was looked up last
	for (unsigned i = 0; i < p->n_builders; i++)
		if (p->output->find(p->context, i) == READOUT_SOUGHT)
			return false;
	return true;
}

// The builders wait for events that are announced. Therefore nothing is announced before all
// builders can be reached, by RoCE or at the addresses of their nodes, or the time for that is
// over.
static bool is_up(struct readout_logic *logic, uint64_t now)
{
	if (!logic->is_up)
		logic->is_up = reaches_all(logic) ||
			       now - logic->start > UP_SECONDS * logic->parameters.ticks_per_second;
	return logic->is_up;
}

static bool may_announce(struct readout_logic *logic, uint64_t now)
{
	if ((logic->state != CTRL_RUNNING && logic->state != CTRL_DRAINING) || logic->begins ||
	    !is_up(logic, now))
		return false;
	if (!logic->throttled || logic->state != CTRL_RUNNING)
		return true;
	counter_add(&logic->counters->throttled, 1);
	return false;
}

static void count_full(struct readout_logic *logic, uint64_t event)
{
	bool full = event == logic->released + logic->parameters.source_buffer;

	counter_add(&logic->counters->full, full && !logic->was_full);
	logic->was_full = full;
}

// Static mode: whether an event below the end has to be sent, or to be acknowledged.
static bool has_unsent(const struct readout_logic *logic)
{
	return logic->static_next < end_of_events(logic) || logic->sending ||
	       readout_logic_waiting(logic) > 0 ||
	       (readout_messages(logic) != NULL &&
		readout_messages(logic)->holds_any(logic->parameters.context));
}

static void announce(struct readout_logic *logic, uint64_t now)
{
	struct message message = { .kind = MESSAGE_ANNOUNCE, .run = logic->run };
	bool unsent;

	if (!may_announce(logic, now))
		return;
	message.event = produced(logic, now);
	count_full(logic, message.event);
	// Events may be announced behind the end of the run before the end is known.
	if (message.event >= end_of_events(logic))
		message.flags = MESSAGE_LAST;
	unsent = message.flags != 0 && logic->parameters.is_static && has_unsent(logic);
	if (message.event == logic->announced && (message.flags != 0) == logic->ended &&
	    unsent == logic->unsent)
		return;
	if (unsent)
		message.flags |= MESSAGE_UNSENT;
	if (!logic->parameters.output->to_control(logic->parameters.context, &message))
		return;
	logic->announced = message.event;
	logic->ended = message.flags != 0;
	logic->unsent = unsent;
}

void readout_logic_tend(struct readout_logic *logic, uint64_t now)
{
	tend_store(logic, now);
	announce(logic, now);
	readout_tell_phase(logic);
}

// --- static mode ---

// Messages remember the grants of a limited number of events. Nothing but this bounds how many
// events wait for a builder that is late: a further grant would make that of an older event void.
static bool has_places(const struct readout_logic *logic, uint64_t event, uint64_t end)
{
	const struct readout_messages *messages = readout_messages(logic);

	for (; messages != NULL && event < end; event++)
		if (messages->holds(logic->parameters.context, event))
			return false;
	return true;
}

void readout_grant_statically(struct readout_logic *logic)
{
	const struct readout_logic_parameters *p = &logic->parameters;
	uint64_t n = p->n_builders, round = logic->static_next / n;
	uint64_t end = least((round + 1) * n, end_of_events(logic));

	if (readout_logic_waiting(logic) > 0 || end > logic->announced ||
	    end == logic->static_next || !has_places(logic, logic->static_next, end))
		return;
	for (uint64_t event = logic->static_next; event < end; event++) {
		const struct message message = {
			.kind = MESSAGE_SEND,
			.event = event,
			.round = round + 1,
			.builder = (uint16_t)(event % n),
			.position = (uint16_t)(event % n),
			.n_positions = (uint16_t)(n > p->n_nodes ? n : p->n_nodes),
		};

		(void)queue_grant(logic, &message); // the queue was empty
	}
	logic->static_next = end;
	logic->released = end; // no builder confirms
}
