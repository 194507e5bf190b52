// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "readout/internal.h"

#include "base/counter.h"

#define SEEK_PART 5u // of a second: longest wait for the MAC address of a builder's node

static void skip_event(struct readout_logic *logic)
{
	logic->cursor.source = readout_logic_sources(logic);
}

// --- the next event and its builder ---

static bool is_gone(const struct readout_logic *logic, uint64_t event)
{
	const struct block_store *store = logic->parameters.store;

	if (!logic->parameters.is_static && event < logic->released)
		return true;
	// An earlier process may have announced it.
	if (store->resumes && event < store->ready)
		return false;
	return event >= logic->announced && !store->is_shared;
}

// Whether the store has yet to take what an earlier process announced and did not send: grants of
// it may be here already.
static bool is_inheriting(const struct readout_logic *logic)
{
	const struct block_store *store = logic->parameters.store;

	return store->resumes && (logic->run == 0 || logic->begins || store->is_inheriting);
}

// Begins the next event; false if none may begin.
static bool next_event(struct readout_logic *logic, uint64_t now)
{
	if (logic->sending)
		return true;
	if (is_inheriting(logic))
		return false;
	if (logic->parameters.is_static)
		readout_grant_statically(logic);
	if (!readout_take_grant(logic, now))
		return false;
	readout_pace_begin(&logic->pace, logic->grant.builder, logic->grant.bytes, now);
	if (readout_logic_is_timed(logic))
		readout_pace_begin_window(&logic->pace, logic->windows.begins);
	logic->sending = true;
	logic->reach = READOUT_SOUGHT;
	logic->sought_since = now;
	if (is_gone(logic, logic->grant.event)) {
		counter_add(&logic->counters->gone, 1);
		skip_event(logic);
	} else if (logic->cursor.offset > 0) {
		logic->block = block_store_find(logic->parameters.store, logic->cursor.event,
						logic->cursor.source);
	}
	return true;
}

// Whether the destination of the current event is known. The manager granted the event to the
// builder a moment ago, so its node is reachable and ARP finds its address soon; if not, the event
// is given up.
static bool find_destination(struct readout_logic *logic, uint64_t now)
{
	const struct readout_logic_parameters *p = &logic->parameters;

	if (logic->reach == READOUT_SOUGHT)
		logic->reach = p->output->find(p->context, logic->grant.builder);
	if (logic->reach != READOUT_SOUGHT)
		return true;
	if (now - logic->sought_since < p->ticks_per_second / SEEK_PART)
		return false;
	counter_add(&logic->counters->unreachable, 1);
	skip_event(logic);
	return true;
}

// --- segments ---

// Whether one more segment may go to the builder of the current event.
static bool may_send(struct readout_logic *logic, uint64_t now)
{
	const struct readout_logic_parameters *p = &logic->parameters;

	if (!p->output->may_send(p->context, now))
		return false;
	if (logic->reach == READOUT_LOCAL || readout_pace_ready(&logic->pace, now))
		return true;
	counter_add(&logic->counters->held_pace, 1);
	return false;
}

static void count_segment(struct readout_logic *logic, uint32_t size, uint64_t now)
{
	if (logic->reach == READOUT_LOCAL)
		counter_add(&logic->counters->local_segments, 1);
	else
		readout_pace_take(&logic->pace, size + logic->parameters.overhead, now);
	counter_add(&logic->counters->segments, 1);
	counter_add(&logic->counters->payload_bytes, size);
}

static bool send_segment(struct readout_logic *logic, uint64_t now)
{
	const struct readout_logic_parameters *p = &logic->parameters;
	struct packet_segment *cursor = &logic->cursor;
	const struct store_block *block = &logic->block;
	uint32_t size;

	if (cursor->offset == 0 || block->is_temporary)
		logic->block = block_store_find(p->store, cursor->event, cursor->source);
	if (block->size == 0) {
		cursor->source++;
		return true;
	}
	size = block->size - cursor->offset;
	if (size > p->segment_size)
		size = p->segment_size;
	if (!p->output->send(p->context, cursor, block, size, now)) {
		counter_add(&logic->counters->no_buffer, 1);
		return false;
	}
	count_segment(logic, size, now);
	cursor->offset += size;
	if (cursor->offset == block->size) {
		counter_add(&logic->counters->blocks, 1);
		cursor->offset = 0;
		cursor->source++;
	}
	return true;
}

// --- one step ---

static bool send_some(struct readout_logic *logic, uint64_t now)
{
	if (readout_messages(logic) != NULL && logic->reach == READOUT_REMOTE)
		return readout_messages(logic)->step(logic->parameters.context, now);
	return may_send(logic, now) && send_segment(logic, now);
}

// Reports an event that a builder requested as sent; false if the mailbox is full.
static bool report_sent(struct readout_logic *logic)
{
	struct message message;

	if ((logic->grant.flags & MESSAGE_REQUESTED) == 0)
		return true;
	message = logic->grant;
	message.kind = MESSAGE_SENT;
	return logic->parameters.output->to_control(logic->parameters.context, &message);
}

// The rest of the event waits for its next window.
static bool interrupt(struct readout_logic *logic)
{
	if (!logic->parameters.output->finish(logic->parameters.context))
		return false;
	counter_add(&logic->counters->interrupted, 1);
	readout_return_grant(logic);
	logic->sending = false;
	return true;
}

// Ends the current event, whose segments are all sent; false if that must wait.
static bool end_event(struct readout_logic *logic)
{
	if (!logic->parameters.output->finish(logic->parameters.context) || !report_sent(logic))
		return false;
	logic->sending = false;
	readout_end_phase(logic);
	counter_add(&logic->counters->events, 1);
	return true;
}

bool readout_logic_step(struct readout_logic *logic, uint64_t now)
{
	if (!next_event(logic, now))
		return false;
	if (readout_logic_is_sent(logic))
		return end_event(logic);
	if (!find_destination(logic, now))
		return false;
	if (readout_logic_is_sent(logic))
		return end_event(logic);
	if (readout_window_is_over(logic, now))
		return interrupt(logic);
	if (!send_some(logic, now))
		return false;
	if (readout_logic_is_sent(logic))
		(void)end_event(logic); // or the next step does
	return true;
}
