// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sums, latencies, and the identities that hold at any time.
#include "sim_system/internal.h"

#include "base/error_line.h"

// --- latency ---

static void announce_one(struct sim_system *system, uint64_t event)
{
	struct sim_announced *announced = &system->announced[event & system->announced_mask];

	if (announced->event != event)
		*announced = (struct sim_announced){ .event = event };
	if (++announced->n == system->n_readouts)
		announced->at = sim_system_ns(system);
}

void sim_account_announced(struct sim_readout *readout, uint64_t end)
{
	for (; readout->announced < end; readout->announced++)
		announce_one(readout->node->system, readout->announced);
}

void sim_account_published(void *context, uint64_t event, uint64_t now)
{
	const struct sim_node *node = ((struct sim_node_builder *)context)->node;
	struct sim_system *system = node->system;
	const struct sim_announced *announced = &system->announced[event & system->announced_mask];
	const struct sim_tracer *tracer = system->parameters.tracer;

	if (announced->event != event || announced->at == 0)
		return;
	histogram_add(&system->latency.published, now - announced->at);
	if (tracer != NULL)
		tracer->event(tracer->context, node->number, announced->at * SIM_NANOSECOND);
}

const struct sim_latency *sim_system_latency(const struct sim_system *system)
{
	return &system->latency;
}

void sim_system_begin(struct sim_system *system)
{
	system->latency = (struct sim_latency){ 0 };
}

// --- sums ---

static void add_builder(struct sim_node_view *view, const struct sim_builder *builder)
{
	const struct sim_builder_counters *counters = &builder->counters;

	view->complete += counters->complete;
	view->incomplete += counters->incomplete;
	view->discarded += counters->discarded;
	view->payload += counters->payload;
	view->event_wire += counters->event_wire;
	view->placed += counters->placed;
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		view->refused[i] += counters->refused[i];
	for (uint32_t i = 0; i < builder->n_slots; i++)
		view->open += builder->slots[i].state == SIM_SLOT_OPEN ||
			      builder->slots[i].state == SIM_SLOT_HELD;
	view->waiting += builder->n_waiting;
}

void sim_system_node(const struct sim_system *system, unsigned number, struct sim_node_view *view)
{
	const struct sim_node *node = &system->nodes[number];

	*view = node->view;
	for (unsigned i = 0; i < node->n_builders; i++)
		add_builder(view, &node->builders[i].builder);
}

// All fields are sums of 64 bits.
void sim_system_total(const struct sim_system *system, struct sim_node_view *total)
{
	*total = (struct sim_node_view){ 0 };
	for (unsigned i = 0; i < system->parameters.system->n_nodes; i++) {
		const uint64_t *from;
		uint64_t *to = (uint64_t *)total;
		struct sim_node_view view;

		sim_system_node(system, i, &view);
		from = (const uint64_t *)&view;
		for (size_t j = 0; j < sizeof(view) / sizeof(*from); j++)
			to[j] += from[j];
	}
}

void sim_system_packets(const struct sim_system *system, struct sim_packets *packets)
{
	*packets = system->packets;
}

void sim_system_manager(const struct sim_system *system, struct cluster_manager_view *view)
{
	const struct sim_node *node = &system->nodes[system->parameters.system->manager];

	if (node->manager != NULL)
		cluster_manager_view(node->manager, view);
	else
		*view = system->last_view;
}

// --- identities ---

static bool check_segments(const struct sim_system *system, const struct sim_node_view *total,
			   char *error)
{
	const struct sim_packets *packets = &system->packets;
	uint64_t refused = 0, n_held = 0;

	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		refused += total->refused[i];
	for (unsigned i = 0; i < system->n_readouts; i++)
		n_held += system->readouts[i].held != POOL_NONE;
	if (total->sent_segments !=
	    total->received_segments + packets->data_lost + packets->data_underway) {
		(void)error_line(error, SIM_SYSTEM_ERROR_SIZE,
				 "%ju segments were sent; %ju received, %ju lost, %ju are underway",
				 (uintmax_t)total->sent_segments,
				 (uintmax_t)total->received_segments, (uintmax_t)packets->data_lost,
				 (uintmax_t)packets->data_underway);
		return false;
	}
	if (total->received_segments + total->local_segments !=
	    total->placed + refused + total->waiting) {
		(void)error_line(error, SIM_SYSTEM_ERROR_SIZE,
				 "%ju segments came to builders; %ju placed, %ju refused, %ju wait",
				 (uintmax_t)(total->received_segments + total->local_segments),
				 (uintmax_t)total->placed, (uintmax_t)refused,
				 (uintmax_t)total->waiting);
		return false;
	}
	if (system->segments.n_used != packets->data_underway + total->waiting + n_held) {
		(void)error_line(error, SIM_SYSTEM_ERROR_SIZE,
				 "%u segments exist; %ju are underway, %ju wait, %ju are held",
				 system->segments.n_used, (uintmax_t)packets->data_underway,
				 (uintmax_t)total->waiting, (uintmax_t)n_held);
		return false;
	}
	return true;
}

static bool check_frames(const struct sim_system *system, const struct sim_node_view *total,
			 char *error)
{
	const struct sim_packets *packets = &system->packets;

	if (total->control_sent ==
		total->control_received + packets->control_lost + packets->control_underway &&
	    frames_used(&system->frames) == packets->control_underway)
		return true;
	(void)error_line(error, SIM_SYSTEM_ERROR_SIZE,
			 "%ju control frames were sent; %ju received, %ju lost, %ju are underway, "
			 "%u exist",
			 (uintmax_t)total->control_sent, (uintmax_t)total->control_received,
			 (uintmax_t)packets->control_lost, (uintmax_t)packets->control_underway,
			 frames_used(&system->frames));
	return false;
}

static bool check_events(const struct sim_system *system, const struct sim_node_view *total,
			 char *error)
{
	const struct cluster_manager *at =
	    system->nodes[system->parameters.system->manager].manager;
	struct cluster_manager_view manager;
	uint64_t finished, first;

	// A manager that has restarted knows the events when the nodes have registered.
	if (at == NULL || !cluster_manager_knows_events(at))
		return true;
	sim_system_manager(system, &manager);
	first = cluster_manager_first(at);
	finished = manager.complete + manager.incomplete + manager.discarded;
	if (manager.announced == first + finished + manager.outstanding + manager.waiting &&
	    finished <= total->complete + total->incomplete + total->discarded)
		return true;
	(void)error_line(error, SIM_SYSTEM_ERROR_SIZE,
			 "%ju events are announced; %ju finished, %ju granted, %ju wait; builders "
			 "finished %ju",
			 (uintmax_t)manager.announced, (uintmax_t)finished,
			 (uintmax_t)manager.outstanding, (uintmax_t)manager.waiting,
			 (uintmax_t)(total->complete + total->incomplete + total->discarded));
	return false;
}

bool sim_system_check(const struct sim_system *system, char *error)
{
	struct sim_node_view total;

	sim_system_total(system, &total);
	if (system->is_broken) {
		(void)error_line(error, SIM_SYSTEM_ERROR_SIZE, "out of memory");
		return false;
	}
	return check_segments(system, &total, error) && check_frames(system, &total, error) &&
	       check_events(system, &total, error);
}
