// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "builder/builder_role.h"

#include <stdio.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "packet/bundle.h"

#define RATE_MEASURE_US 20000
#define CLOCK_RENEWALS  16  // per second
#define MESSAGES_MOST   32u // handled in one poll, in each direction
#define RECLAIM_POLLS   8u  // polls between two searches for slots that consumers have released
#define GRACE_PART      50u // of a second: for data that a source sent before it was excluded
#define PATIENCE        10u // deadlines that a granted event waits for a segment, at least 1 s

// A link, and the segments that were taken from it and are not placed yet. Between two polls there
// are such segments only while the input is blocked, which means that its next segment waits for a
// slot.
struct input {
	struct link *link;
	struct rte_mbuf *taken[ROLE_BURST];
	unsigned n_taken, at;
	bool blocked;
};

struct builder {
	struct role role;
	struct builder_parameters parameters;
	struct input inputs[BUILDER_MAX_LINKS];
	struct assembly *assembly;
	struct divisor packing;
	struct copy_order order;   // of the segments' payloads
	struct window_watch watch; // of a timed shift
	bool watches;
	unsigned next_input;      // the input that is served next, in turn
	unsigned n_blocked;       // blocked inputs
	bool draining;            // no role puts segments into the links any more
	bool awaits;              // the system waits for a silent source
	bool told_open;           // state of the last MESSAGE_OPEN
	uint64_t deadline;        // TSC cycles
	uint64_t wait_start;      // TSC, 0: waiting neither for consumers nor for a source
	uint64_t waited;          // TSC cycles since the last housekeeping
	uint64_t clock_renewed;   // TSC
	uint64_t clock_period;    // TSC cycles between renewals
	uint64_t ungranted_since; // TSC since when data waits for its grant; 0: no data waits
	unsigned reclaim_in;      // polls before the next search for released slots
	atomic_bool end_of_run;
};

static struct builder *builder_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct builder, role));
}

// Waiting for a slot helps if consumers hold slots, or if other links may deliver the blocks that
// open events miss: sources on different links may be at different events.
static bool should_wait(const struct builder *builder, const struct input *input)
{
	const struct builder_parameters *p = &builder->parameters;
	unsigned n_others_blocked = builder->n_blocked - input->blocked;

	if (p->on_no_slot != NO_SLOT_WAIT)
		return false;
	return evring_outstanding(p->ring) > 0 ||
	       (!builder->draining && n_others_blocked + 1 < p->n_links);
}

// A granted event has a slot, so data without a slot has arrived before its grant, and the spare
// slots for such data are used up. Usually the grant arrives soon, and waiting helps. It never
// arrives for data that was sent to a dead builder and reaches the builder that replaces it: so the
// wait is limited.
static bool should_wait_for_grant(struct builder *builder, uint64_t now)
{
	if (builder->ungranted_since == 0)
		builder->ungranted_since = now;
	return !builder->draining &&
	       now - builder->ungranted_since <
		   rte_get_tsc_hz() / 1000 * builder->parameters.grant_wait_ms;
}

// Places one segment, or counts it as refused. Returns false if the segment must wait for a slot.
static bool place(struct builder *builder, const struct input *input, struct rte_mbuf *mbuf,
		  struct copy_next next, uint64_t now)
{
	bool granted = builder->parameters.to_control != NULL;
	const struct segment *segment = mbuf_segment(mbuf);
	struct assembly *assembly = builder->assembly;
	enum segment_cause cause;
	uint8_t *to = assembly_admit(assembly, segment, now, &cause);

	if (unlikely(to == NULL && cause == SEGMENT_NO_SLOT)) {
		if (assembly_reclaim(assembly, now) > 0)
			to = assembly_admit(assembly, segment, now, &cause);
		if (to == NULL && cause == SEGMENT_NO_SLOT &&
		    (granted ? should_wait_for_grant(builder, now) : should_wait(builder, input)))
			return false;
		if (to == NULL && cause == SEGMENT_NO_SLOT)
			assembly_refuse(assembly, segment, cause);
	}
	if (likely(to != NULL)) {
		mbuf_copy_payload(to, mbuf, segment, next);
		copy_order_note(&builder->order, to, segment->size);
		if (assembly_commit(assembly, segment))
			assembly_complete(assembly, rte_rdtsc());
	}
	return true;
}

// Measures the time during which an input waits for busy consumers, or the system for a source:
// deadlines stand still then.
static void account_wait(struct builder *builder, uint64_t now)
{
	bool waits = builder->awaits || (builder->n_blocked > 0 &&
					 assembly_consumers_are_busy(builder->assembly, now));

	if (builder->wait_start != 0)
		builder->waited += now - builder->wait_start;
	builder->wait_start = waits ? now : 0;
}

// Places the blocks of an mbuf, which usually has one. Returns false if one must wait for a slot.
static bool place_all(struct builder *builder, const struct input *input, struct rte_mbuf *mbuf,
		      struct copy_next next, uint64_t now)
{
	do {
		if (!place(builder, input, mbuf, next, now))
			return false;
	} while (
	    bundle_next(mbuf, mbuf_segment(mbuf), builder->parameters.sources, &builder->packing));
	return true;
}

// Where the bytes of a segment are, and their place if that is known.
__attribute__((noinline)) static struct copy_next copy_of(const struct builder *builder,
							  struct rte_mbuf *mbuf)
{
	const struct segment *segment = mbuf_segment(mbuf);
	uint32_t offset;
	const struct rte_mbuf *part = mbuf_payload(mbuf, segment, &offset);

	return (struct copy_next){
		.from = rte_pktmbuf_mtod_offset(part, const uint8_t *, offset),
		.to = assembly_place_of(builder->assembly, segment),
	};
}

// Places or refuses the segments that were taken from a link, up to the first one that must wait.
// Returns the number of mbufs that are done.
static unsigned place_taken(struct builder *builder, struct input *input, uint64_t now)
{
	unsigned first = input->at;
	bool waits = false;

	for (; input->at < input->n_taken && !waits; input->at += !waits) {
		unsigned left = input->n_taken - input->at;
		struct rte_mbuf **mbufs = input->taken + input->at;
		struct copy_next next = COPY_NEXT_UNKNOWN;

		if (left > 2)
			rte_prefetch0(mbuf_segment(mbufs[2]));
		if (left > 1 && copy_wants_next(&builder->order, mbuf_segment(mbufs[1])->size))
			next = copy_of(builder, mbufs[1]);
		waits = !place_all(builder, input, mbufs[0], next, now);
	}
	rte_pktmbuf_free_bulk(input->taken + first, input->at - first);
	builder->n_blocked += (unsigned)waits - (unsigned)input->blocked;
	input->blocked = waits;
	return input->at - first;
}

// Counts the windows in which other nodes send.
static void watch_windows(struct builder *builder, const struct input *input)
{
	const uint16_t *nodes = builder->parameters.nodes_of_sources;

	for (unsigned i = 0; i < input->n_taken; i++) {
		const struct segment *segment = mbuf_segment(input->taken[i]);

		if (nodes[segment->source] != builder->parameters.node)
			window_watch_add(&builder->watch, nodes[segment->source], segment->arrival);
	}
}

static unsigned serve_input(struct builder *builder, struct input *input, uint64_t now)
{
	if (input->at == input->n_taken) {
		input->at = 0;
		input->n_taken = link_dequeue(input->link, input->taken, ROLE_BURST);
		if (unlikely(builder->watches))
			watch_windows(builder, input);
	}
	return input->n_taken > 0 ? place_taken(builder, input, now) : 0;
}

// There is room for the message: serve_control() has checked it.
static void respond(struct builder *builder, enum message_kind kind, const struct message *to)
{
	struct mailbox *out = builder->parameters.to_control;

	*mailbox_place(out) = (struct message){ .kind = (uint16_t)kind, .event = to->event };
	mailbox_commit(out);
}

// What is held without a grant is dropped in its slot: the event may have another one meanwhile.
static void discard(struct builder *builder, const struct message *message)
{
	if ((message->flags & MESSAGE_GRANTED) == 0) {
		(void)assembly_withdraw(builder->assembly, message->slot, message->event);
		return;
	}
	(void)assembly_forget(builder->assembly, message->event * builder->parameters.packing,
			      message->event);
	respond(builder, MESSAGE_DROPPED, message);
}

static void set_sources(struct builder *builder, const struct message *message, uint64_t now)
{
	const struct builder_parameters *p = &builder->parameters;

	for (unsigned i = 0; p->nodes_of_sources != NULL && i < p->sources->n_expected; i++)
		if (p->nodes_of_sources[i] == message->node)
			assembly_set_source(builder->assembly, i, message->event, now);
}

static void serve_message(struct builder *builder, const struct message *message, uint64_t now)
{
	uint64_t id = message->event * builder->parameters.packing;

	switch (message->kind) {
	case MESSAGE_EXPECT:
		builder->ungranted_since = 0;
		if (!assembly_expect(builder->assembly, id, message->event, now))
			respond(builder, MESSAGE_REFUSED, message);
		break;
	case MESSAGE_PUBLISH:
		// If the event is not held any more, the manager grants it again.
		respond(builder,
			assembly_publish(builder->assembly, message->slot, message->event,
					 (message->flags & MESSAGE_REPEATED) != 0, now)
			    ? MESSAGE_PUBLISHED
			    : MESSAGE_REFUSED,
			message);
		break;
	case MESSAGE_DISCARD:
		discard(builder, message);
		break;
	case MESSAGE_AWAIT:
		// What the source sends again takes its time.
		if (message->state == 0)
			builder->waited += builder->deadline;
		builder->awaits = message->state != 0;
		break;
	case MESSAGE_SOURCES:
		set_sources(builder, message, now);
		break;
	case MESSAGE_CLOCK:
		shift_windows_set_clock(&builder->watch.windows, (uint32_t)message->bytes,
					message->event);
		break;
	default:
		break;
	}
}

static uint16_t flags_of(const struct assembly_report *report)
{
	const uint16_t discarded = report->slot == ASSEMBLY_NO_SLOT ? MESSAGE_DISCARDED : 0;

	return discarded | (report->ungranted ? MESSAGE_UNGRANTED : 0);
}

// Sends up to `most` messages; there is room for them.
static void send_reports(struct builder *builder, unsigned most)
{
	struct mailbox *out = builder->parameters.to_control;
	const struct assembly_report *report;

	while (most-- > 0 && (report = assembly_take_report(builder->assembly)) != NULL) {
		*mailbox_place(out) = (struct message){
			.kind = report->freed ? MESSAGE_FREED : MESSAGE_BUILT,
			.event = report->index,
			.bytes = report->bytes,
			.slot = report->slot,
			.time = report->released,
			.n_missing = report->n_missing,
			.flags = flags_of(report),
		};
		mailbox_commit(out);
	}
}

// Without a grant a builder reclaims slots when it has none left. The event manager grants only
// slots that are reported as free, so they are reported soon after their release.
static void reclaim(struct builder *builder, uint64_t now)
{
	if (builder->reclaim_in > 0) {
		builder->reclaim_in--;
		return;
	}
	builder->reclaim_in = RECLAIM_POLLS - 1;
	if (evring_outstanding(builder->parameters.ring) > 0)
		(void)assembly_reclaim(builder->assembly, now);
}

// Exchanges messages with the control role. Returns the number of messages that were served. It is
// not inlined: the loop over segments in builder_poll() has more registers without it.
__attribute__((noinline)) static unsigned serve_control(struct builder *builder, uint64_t now)
{
	struct mailbox *out = builder->parameters.to_control;
	struct mailbox *in = builder->parameters.from_control;
	const struct message *messages;
	unsigned most = MESSAGES_MOST, n;

	if (out != NULL) {
		reclaim(builder, now);
		send_reports(builder, RTE_MIN(mailbox_room(out), MESSAGES_MOST));
		most = RTE_MIN(mailbox_room(out), MESSAGES_MOST); // each may have a response
	}
	messages = mailbox_look(in, most, &n);
	for (unsigned i = 0; i < n; i++)
		serve_message(builder, &messages[i], now);
	mailbox_pass(in, n);
	return n;
}

static unsigned builder_poll(struct role *role, uint64_t now)
{
	struct builder *builder = builder_of(role);
	unsigned n_links = builder->parameters.n_links, done = 0;
	unsigned n_messages = 0;

	if (builder->parameters.from_control != NULL)
		n_messages = serve_control(builder, now);

	for (unsigned i = 0; i < n_links && done == 0; i++) {
		done = serve_input(builder, &builder->inputs[builder->next_input], now);
		if (++builder->next_input == n_links)
			builder->next_input = 0;
	}
	if (unlikely(builder->n_blocked > 0 || builder->wait_start != 0 || builder->awaits)) {
		role->backpressured = builder->n_blocked > 0;
		account_wait(builder, now);
	}
	evring_set_used(builder->parameters.ring, evring_slots(builder->parameters.ring) -
						      assembly_free_slots(builder->assembly));
	return done + n_messages;
}

// In mode static the manager learns only from this when nothing is left to build.
static void tell_open(struct builder *builder)
{
	const bool open = assembly_open_events(builder->assembly) > 0 || builder->n_blocked > 0;
	const struct message message = { .kind = MESSAGE_OPEN, .state = open };

	if (builder->parameters.states != NULL && open != builder->told_open &&
	    mailbox_put(builder->parameters.states, &message))
		builder->told_open = open;
}

static void builder_housekeep(struct role *role, uint64_t now)
{
	struct builder *builder = builder_of(role);

	if (now - builder->clock_renewed > builder->clock_period) {
		builder->clock_renewed = now;
		assembly_renew_clock(builder->assembly, tick_moment_read(rte_rdtsc));
	}
	assembly_housekeep(builder->assembly, now, builder->waited);
	builder->waited = 0;
	if (assembly_end_of_run(builder->assembly))
		atomic_store_explicit(&builder->end_of_run, true, memory_order_release);
	tell_open(builder);
}

// Withdraws the events that are still held at the end: the manager has not published them in time,
// so other builders build them.
static void withdraw_held(struct builder *builder)
{
	const struct assembly_report *report;

	while ((report = assembly_take_report(builder->assembly)) != NULL)
		if (!report->freed)
			(void)assembly_withdraw(builder->assembly, report->slot, report->index);
}

// The control thread requests the drain only after the roles that feed the links have stopped.
static bool builder_drain(struct role *role, uint64_t now)
{
	struct builder *builder = builder_of(role);

	builder->draining = true;
	if (builder_poll(role, now) > 0 || builder->n_blocked > 0)
		return false;
	assembly_flush(builder->assembly, now);
	if (builder->parameters.to_control != NULL)
		withdraw_held(builder);
	if (builder->parameters.is_one_of_many_runs)
		evring_end_run(builder->parameters.ring);
	else
		evring_end(builder->parameters.ring);
	return true;
}

static void builder_fini(struct role *role)
{
	struct builder *builder = builder_of(role);

	for (unsigned i = 0; i < builder->parameters.n_links; i++) {
		struct input *input = &builder->inputs[i];

		rte_pktmbuf_free_bulk(input->taken + input->at, input->n_taken - input->at);
	}
	assembly_destroy(builder->assembly);
	rte_free(builder);
}

static const struct role_operations builder_operations = {
	.kind = "builder",
	.poll = builder_poll,
	.housekeep = builder_housekeep,
	.drain = builder_drain,
	.fini = builder_fini,
};

// Measures the rate of the TSC: in virtual machines the stated rate is wrong by some tenths of a
// percent.
static uint64_t ticks_per_second(void)
{
	struct tick_moment start = tick_moment_read(rte_rdtsc);

	rte_delay_us_sleep(RATE_MEASURE_US);
	return tick_moments_rate(start, tick_moment_read(rte_rdtsc));
}

struct role *builder_role_create(const struct builder_parameters *parameters)
{
	uint64_t hz = ticks_per_second();
	struct assembly_parameters assembly_parameters = {
		.ring = parameters->ring,
		.sources = parameters->sources,
		.packing = parameters->packing,
		.payload = parameters->payload,
		.on_incomplete = parameters->on_incomplete,
		.deadline = (uint64_t)((double)parameters->deadline_ns * 1e-9 * (double)hz),
		.ticks_per_second = hz,
		.start = tick_moment_read(rte_rdtsc),
		.guarded = parameters->guarded,
		.held_back = parameters->held_back || parameters->n_links > 1,
		.granted = parameters->to_control != NULL,
		.spare = parameters->spare,
	};
	struct builder *builder;

	if (parameters->n_links < 1 || parameters->n_links > BUILDER_MAX_LINKS)
		return NULL;
	builder = rte_zmalloc_socket("builder", sizeof(*builder), RTE_CACHE_LINE_SIZE,
				     parameters->numa_node);
	if (builder == NULL)
		return NULL;
	assembly_parameters.grace = RTE_MIN(hz / GRACE_PART, assembly_parameters.deadline);
	assembly_parameters.patience = RTE_MAX(PATIENCE * assembly_parameters.deadline, hz);
	builder->assembly = assembly_create(&assembly_parameters);
	if (builder->assembly == NULL) {
		rte_free(builder);
		return NULL;
	}
	builder->role.operations = &builder_operations;
	builder->clock_period = hz / CLOCK_RENEWALS;
	builder->packing = divisor_make(parameters->packing);
	builder->deadline = assembly_parameters.deadline;
	snprintf(builder->role.name, sizeof(builder->role.name), "%s", parameters->name);
	builder->parameters = *parameters;
	builder->parameters.windows.ticks_per_second = hz;
	builder->watches = parameters->windows.send_ns > 0 && parameters->nodes_of_sources != NULL;
	if (builder->watches)
		window_watch_make(&builder->watch, &builder->parameters.windows);
	for (unsigned i = 0; i < parameters->n_links; i++)
		builder->inputs[i].link = parameters->links[i];
	return &builder->role;
}

const struct assembly *builder_role_assembly(const struct role *role)
{
	return builder_of(role)->assembly;
}

const struct window_watch_counters *builder_role_windows(const struct role *role)
{
	return &builder_of(role)->watch.counters;
}

bool builder_role_end_of_run(const struct role *role)
{
	return atomic_load_explicit(&builder_of(role)->end_of_run, memory_order_acquire);
}
