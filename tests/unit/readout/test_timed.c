// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A timed shift, simulated: one scheduler and the readouts of four nodes, each with a clock of its
// own that is known to a few microseconds. Links of 10 Gb/s; blocks of different sizes.
#include "stubs.h"

#include "base/random.h"
#include "sched/sched.h"

#define NODES        4u
#define SLOTS        2048u
#define EVENTS       (1u << 16)
#define LINK         1250000000u // bytes/s
#define SEND_NS      1000000u
#define IDLE_NS      100000u
#define PHASE_NS     (SEND_NS + IDLE_NS)
#define STEP_NS      1000u
#define WARM_UP_NS   (20u * PHASE_NS)
#define RUN_NS       (120u * PHASE_NS)
#define CLOCK_NS     5000000u // from one message about the clock to the next
#define ERROR_US     3        // of what a node knows of the manager's clock
#define SEGMENT_SIZE 8952u
#define OVERHEAD     86u
#define PACKET_NS    7300u  // time of a segment on the link
#define BURST_NS     20000u // of a pacer, see pacing/readout_pace.c

struct system_layout {
	bool folded;  // each node has a builder, too; otherwise builders have nodes of their own
	bool unknown; // nobody tells the nodes the manager's clock
	uint32_t mean_block;
};

static struct simulation {
	struct system_layout layout;
	struct sched *sched;
	uint64_t now; // the manager's clock, ns
	struct node {
		struct readout_logic logic;
		struct readout_counters counters;
		struct block_store store;
		unsigned index;
		unsigned builder; // of the current event
		int64_t ahead;    // the node's clock less the manager's, ns
		double link_free; // time at which its link has sent all packets, ns
	} nodes[NODES];
	struct {
		struct sched_grant grant;
		uint32_t sent; // bytes of payload
	} events[EVENTS];
	// Bytes on the wire since the warm-up
	uint64_t of_link[NODES], in_idle;
	// The present window of each builder's link
	struct {
		uint64_t phase, bytes;
		unsigned node;
	} windows[NODES];
	uint64_t n_windows, window_bytes, conflicts;
	uint64_t outside; // longest time outside of a window, ns
} simulation;

static uint32_t block_size(uint64_t event, unsigned node)
{
	const uint32_t mean = simulation.layout.mean_block;

	return mean / 2 + (uint32_t)(random_mix(event * NODES + node) % mean);
}

static uint32_t event_size(uint64_t event)
{
	uint32_t size = 0;

	for (unsigned i = 0; i < NODES; i++)
		size += block_size(event, i);
	return size;
}

// --- what the links carry ---

static void close_window(unsigned builder)
{
	simulation.n_windows++;
	simulation.window_bytes += simulation.windows[builder].bytes;
	simulation.windows[builder].bytes = 0;
}

static void count_on_link(unsigned node, unsigned builder, uint32_t bytes, uint64_t time)
{
	// A window that begins early, in the idle window before, is that of the next phase.
	const uint64_t now = time + IDLE_NS / 2, phase = now / PHASE_NS;
	const int64_t at = (int64_t)(now % PHASE_NS) - IDLE_NS / 2;
	const uint64_t outside = (uint64_t)(at < 0          ? -at
					    : at >= SEND_NS ? at - SEND_NS + STEP_NS
							    : 0);

	if (simulation.now < WARM_UP_NS)
		return;
	if (simulation.windows[builder].phase != phase) {
		if (simulation.windows[builder].bytes > 0)
			close_window(builder);
		simulation.windows[builder].phase = phase;
		simulation.windows[builder].node = node;
	}
	if (simulation.windows[builder].node != node) {
		simulation.windows[builder].node = node;
		simulation.conflicts++;
	}
	simulation.windows[builder].bytes += bytes;
	simulation.of_link[builder] += bytes;
	simulation.in_idle += outside > 0 ? bytes : 0;
	if (outside > simulation.outside)
		simulation.outside = outside;
}

// A packet leaves when its link has sent those before it.
static void send_over_link(struct node *node, uint32_t bytes)
{
	const double now = (double)simulation.now;

	if (node->link_free < now)
		node->link_free = now;
	count_on_link(node->index, node->builder, bytes, (uint64_t)node->link_free);
	node->link_free += bytes * 1e9 / LINK;
}

static uint32_t wire_bytes(uint32_t size)
{
	return size + (size + SEGMENT_SIZE - 1) / SEGMENT_SIZE * OVERHEAD;
}

// The bytes of an event on the link of its builder.
static uint64_t event_bytes(uint64_t event, unsigned builder)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < NODES; i++)
		if (!simulation.layout.folded || i != builder)
			bytes += wire_bytes(block_size(event, i));
	return bytes;
}

static void count_built(uint64_t event, uint32_t size)
{
	const struct sched_grant *grant = &simulation.events[event % EVENTS].grant;
	uint32_t *sent = &simulation.events[event % EVENTS].sent;

	*sent += size;
	assert_true(*sent <= event_size(event));
	if (*sent < event_size(event))
		return;
	assert_int_equal(sched_done(simulation.sched, grant->builder, event, grant->slot,
				    grant->generation, grant->attempt, SCHED_COMPLETE,
				    event_bytes(event, grant->builder), simulation.now),
			 SCHED_OK);
	assert_int_equal(sched_credit(simulation.sched, grant->builder, grant->slot,
				      grant->generation + 1, simulation.now),
			 SCHED_OK);
}

// --- the output of a readout ---

static struct store_block find_block(struct block_store *store, uint64_t event, unsigned source)
{
	static const uint8_t bytes[1];
	const struct node *node =
	    (const struct node *)((char *)store - offsetof(struct node, store));

	(void)source;
	return (struct store_block){ .bytes = bytes, .size = block_size(event, node->index) };
}

static enum readout_reach find_builder(void *context, unsigned builder)
{
	struct node *node = context;

	node->builder = builder;
	return simulation.layout.folded && builder == node->index ? READOUT_LOCAL : READOUT_REMOTE;
}

static bool send(void *context, const struct packet_segment *at, const struct store_block *block,
		 uint32_t size, uint64_t now)
{
	struct node *node = context;

	(void)block;
	(void)now;
	if (!simulation.layout.folded || node->builder != node->index)
		send_over_link(node, size + OVERHEAD);
	count_built(at->event, size);
	return true;
}

static bool to_control(void *context, const struct message *message)
{
	const struct node *node = context;

	if (message->kind == MESSAGE_ANNOUNCE)
		(void)sched_announce(simulation.sched, node->index, message->event, simulation.now);
	return true;
}

static const struct block_store_operations operations = { .find = find_block };
static const struct readout_output output = {
	.find = find_builder,
	.may_send = stub_may_send,
	.send = send,
	.finish = stub_finish,
	.to_control = to_control,
};

// --- the simulation ---

static uint64_t clock_of(const struct node *node)
{
	return (uint64_t)((int64_t)simulation.now + node->ahead);
}

static void start_sched(void)
{
	struct sched_builder_parameters builders[NODES];
	struct sched_parameters parameters = sched_defaults();
	char error[SCHED_ERROR_SIZE];

	for (unsigned i = 0; i < NODES; i++)
		builders[i] = (struct sched_builder_parameters){
			.slots = SLOTS, .group = i, .weight = 1, .port = i, .link_rate = LINK
		};
	parameters.builders = builders;
	parameters.n_builders = parameters.n_sources = NODES;
	parameters.shaping = SCHED_TIMED_SHIFT;
	parameters.send_window_ns = SEND_NS;
	parameters.idle_window_ns = IDLE_NS;
	parameters.target_utilisation = 1;
	parameters.burst_ns = 5000000;
	parameters.distance = 0;
	if (sched_create(&simulation.sched, &parameters, error) != 0)
		fail_msg("%s", error);
	for (unsigned i = 0; i < NODES; i++) {
		assert_int_equal(sched_register(simulation.sched, i, 1, SLOTS, 0), SCHED_OK);
		for (unsigned slot = 0; slot < SLOTS; slot++)
			assert_int_equal(sched_credit(simulation.sched, i, slot, 1, 0), SCHED_OK);
	}
}

static void start_node(unsigned index)
{
	static const uint16_t ids[] = { 1 };
	const struct message run = { .kind = MESSAGE_RUN, .run = 1, .state = CTRL_RUNNING };
	struct node *node = &simulation.nodes[index];
	const struct readout_logic_parameters parameters = {
		.store = &node->store,
		.n_builders = NODES,
		.n_nodes = 2 * NODES,
		.rank = index,
		.n_senders = NODES,
		.source_buffer = 8192,
		.windows = { .send_ns = SEND_NS,
			     .idle_ns = IDLE_NS,
			     .n_positions = NODES,
			     .is_folded = simulation.layout.folded },
		.pace = { .n_sources = 1,
			  .node_sources = 1,
			  .system_sources = NODES,
			  .paced = true,
			  .timed = true,
			  .mtu = SEGMENT_SIZE + 48 },
		.segment_size = SEGMENT_SIZE,
		.overhead = OVERHEAD,
		.ticks_per_second = 1000000000,
		.output = &output,
		.context = node,
	};

	*node = (struct node){ .store = { .operations = &operations,
					  .ids = ids,
					  .n_sources = 1,
					  .packing = 1,
					  .ready = UINT64_MAX,
					  .end = UINT64_MAX },
			       .index = index,
			       .ahead = 1000000000 + 700000 * (int64_t)index };
	assert_true(readout_logic_make(&node->logic, &parameters, &node->counters, 0));
	for (unsigned i = 0; i < NODES; i++)
		readout_logic_set_builder(&node->logic, i, i,
					  simulation.layout.folded && i == index);
	readout_logic_message(&node->logic, &run, clock_of(node));
}

// What a node knows of the clock is wrong by up to ERROR_US.
static void tell_clock(struct node *node)
{
	const int64_t error = (int64_t)(node->index % 3 - 1) * ERROR_US;
	const struct message message = {
		.kind = MESSAGE_CLOCK,
		.event = clock_of(node),
		.bytes = (uint32_t)((int64_t)simulation.now / 1000 + error),
	};

	if (!simulation.layout.unknown)
		readout_logic_message(&node->logic, &message, clock_of(node));
}

static void tell_grants(void)
{
	struct sched_grant grants[32];
	unsigned n = sched_poll(simulation.sched, simulation.now, grants, 32);

	for (unsigned i = 0; i < n; i++) {
		const struct message message = { .kind = MESSAGE_SEND,
						 .event = grants[i].event,
						 .builder = (uint16_t)grants[i].builder,
						 .bytes = grants[i].rate_bytes_per_second,
						 .n_positions = 1 };

		simulation.events[grants[i].event % EVENTS].grant = grants[i];
		simulation.events[grants[i].event % EVENTS].sent = 0;
		for (unsigned j = 0; j < NODES; j++)
			readout_logic_message(&simulation.nodes[j].logic, &message,
					      clock_of(&simulation.nodes[j]));
	}
}

static void step_node(struct node *node, bool tends)
{
	const struct message release = { .kind = MESSAGE_RELEASE,
					 .event = sched_released(simulation.sched) };

	if (tends) {
		readout_logic_message(&node->logic, &release, clock_of(node));
		readout_logic_tend(&node->logic, clock_of(node));
	}
	while (readout_logic_step(&node->logic, clock_of(node)))
		;
}

static void simulate(const struct system_layout *layout)
{
	simulation = (struct simulation){ .layout = *layout };
	start_sched();
	for (unsigned i = 0; i < NODES; i++)
		start_node(i);
	for (; simulation.now < WARM_UP_NS + RUN_NS; simulation.now += STEP_NS) {
		tell_grants();
		for (unsigned i = 0; i < NODES; i++) {
			if (simulation.now % CLOCK_NS == 0)
				tell_clock(&simulation.nodes[i]);
			step_node(&simulation.nodes[i], simulation.now % (10 * STEP_NS) == 0);
		}
	}
	for (unsigned i = 0; i < NODES; i++)
		readout_logic_free(&simulation.nodes[i].logic);
	sched_destroy(simulation.sched);
}

// The rate of a link is b_eff * T_send / (T_send + T_idle), where b_eff is the rate of the link.
static void expect_rates(void)
{
	const double expected = (double)LINK * SEND_NS / PHASE_NS;

	for (unsigned i = 0; i < NODES; i++) {
		const double rate = (double)simulation.of_link[i] / RUN_NS * 1e9;

		assert_in_range(rate / expected * 1000, 970, 1010);
	}
}

static void expect_windows(void)
{
	const double full = (double)LINK / 1e9 * SEND_NS;
	uint64_t all = 0;

	for (unsigned i = 0; i < NODES; i++)
		all += simulation.of_link[i];
	assert_int_equal(simulation.conflicts, 0);
	assert_true(simulation.n_windows >= NODES * (RUN_NS / PHASE_NS - 2));
	assert_true((double)simulation.window_bytes / (double)simulation.n_windows >= 0.9 * full);
	// By the error of a node's clock, and what a burst of its pacer leaves on its link.
	assert_true(simulation.outside <= ERROR_US * 1000 + STEP_NS + BURST_NS + PACKET_NS);
	assert_true((double)simulation.in_idle < 0.005 * (double)all);
}

// --- tests ---

static void windows__are_filled_and_idle_windows_are_empty(void **state)
{
	static const uint32_t means[] = { 2000, 40000 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		simulate(&(struct system_layout){ .mean_block = means[i] });
		expect_rates();
		expect_windows();
	}
}

// The blocks of most events are larger than a window.
static void windows__continue_what_they_do_not_hold(void **state)
{
	(void)state;
	simulate(&(struct system_layout){ .mean_block = 2000000 });
	expect_windows();
	for (unsigned i = 0; i < NODES; i++)
		assert_true(simulation.nodes[i].counters.interrupted > RUN_NS / PHASE_NS / 2);
}

static void folded__needs_no_window_for_its_own_builder(void **state)
{
	(void)state;
	simulate(&(struct system_layout){ .mean_block = 20000, .folded = true });
	expect_rates();
	expect_windows();
	for (unsigned i = 0; i < NODES; i++)
		assert_true(simulation.nodes[i].counters.events > 1000);
}

// Without a common clock, nodes meet at builders: what the other tests measure can fail.
static void without_a_shared_clock__nodes_meet(void **state)
{
	(void)state;
	simulate(&(struct system_layout){ .mean_block = 20000, .unknown = true });
	assert_true(simulation.conflicts > RUN_NS / PHASE_NS);
	assert_true(simulation.outside > 10 * ERROR_US * 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows__are_filled_and_idle_windows_are_empty),
		cmocka_unit_test(windows__continue_what_they_do_not_hold),
		cmocka_unit_test(folded__needs_no_window_for_its_own_builder),
		cmocka_unit_test(without_a_shared_clock__nodes_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
