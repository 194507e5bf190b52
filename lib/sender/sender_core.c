// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdlib.h>

#include "readout/segment_head.h"
#include "sender/sender_core_internal.h"
#include "store/ring_store.h"
#include "wire/net.h"

#define STEPS_MOST 256u // segments in one poll
#define SECOND     UINT64_C(1000000000)
// Bounds of the time in which a node that leaves waits for acknowledgements.
#define LEAVE_LEAST (SECOND / 10)
#define LEAVE_MOST  (SECOND * 3 / 2)

// --- without a system ---

// The run begins with the event of the first block.
static void begin(struct sender_core *core)
{
	struct message message = { .kind = MESSAGE_RUN, .run = 1, .state = CTRL_RUNNING };
	struct block_store *store = core->parameters.readout.store;

	core->has_begun = ring_store_next(store, &message.event) || ring_store_is_finished(store);
	if (core->has_begun)
		readout_logic_message(&core->logic, &message, core->now);
}

// Whether all events of the store are sent.
static bool all_is_sent(const struct sender_core *core)
{
	const struct readout_logic *logic = &core->logic;

	return logic->ended && !logic->sending && logic->static_next == logic->announced &&
	       readout_logic_waiting(logic) == 0 && core->n == 0;
}

// Whether nothing is left that can be sent without a further block.
static bool is_idle(const struct sender_core *core)
{
	const struct readout_logic *logic = &core->logic;

	return !logic->sending && readout_logic_waiting(logic) == 0 && core->n == 0 &&
	       logic->announced == logic->parameters.store->ready &&
	       logic->announced - logic->static_next < logic->parameters.n_builders;
}

// Sends the end-of-run blocks, when all else is sent.
static void end(struct sender_core *core)
{
	const unsigned n_sources = readout_logic_sources(&core->logic);
	const uint64_t n =
	    core->parameters.mfps ? (uint64_t)n_sources * core->parameters.readout.n_builders : 0;

	if (core->ends == 0 && !all_is_sent(core))
		return;
	while (core->ends < n && sender_output_end(core, (unsigned)(core->ends / n_sources),
						   (unsigned)(core->ends % n_sources)))
		core->ends++;
	core->finished = core->ends == n && core->n == 0;
}

static void poll_alone(struct sender_core *core)
{
	if (!core->has_begun)
		begin(core);
	else if (!core->finished)
		end(core);
}

// --- polls ---

unsigned sender_core_poll(struct sender_core *core, uint64_t now)
{
	unsigned done = 0;

	core->now = now;
	if (core->node != NULL)
		sender_node_poll(core);
	else
		poll_alone(core);
	if (core->leaving_since != 0 && core->node != NULL)
		readout_logic_leave(&core->logic);
	readout_logic_tend(&core->logic, now);
	while (done < STEPS_MOST && readout_logic_step(&core->logic, now))
		done++;
	return done + sender_output_flush(core);
}

// --- the end ---

bool sender_core_ended(const struct sender_core *core, const char **why)
{
	*why = NULL;
	return core->node != NULL ? cluster_node_ended(core->node, why) : core->finished;
}

void sender_core_leave(struct sender_core *core)
{
	const char *why;

	if (core->leaving_since != 0)
		return;
	core->leaving_since = core->now;
	if (core->node != NULL && !sender_core_ended(core, &why))
		cluster_node_leave(core->node);
}

// Whether each node that is present has acknowledged all records.
static bool all_is_acknowledged(const struct sender_core *core, uint64_t now)
{
	struct control_state state;

	for (unsigned i = 0; i < core->parameters.cluster.system->n_nodes; i++)
		if (control_state(core->endpoint, i, now, &state) && state.connected &&
		    !state.lost && state.queued > 0)
			return false;
	return true;
}

bool sender_core_left(const struct sender_core *core, uint64_t now)
{
	const uint64_t passed = now - core->leaving_since;
	const char *why;

	if (core->leaving_since == 0)
		return false;
	if (passed > LEAVE_MOST)
		return true;
	if (core->node == NULL)
		return core->finished || is_idle(core);
	return core->n == 0 && !core->logic.sending && passed > LEAVE_LEAST &&
	       all_is_acknowledged(core, now) &&
	       (sender_core_ended(core, &why) || cluster_node_left(core->node));
}

// --- creation ---

static bool make_logic(struct sender_core *core)
{
	struct readout_logic_parameters parameters = core->parameters.readout;
	const uint32_t headers =
	    NET_IPV4_SIZE + NET_UDP_SIZE + segment_head_size(core->parameters.load_balancer);

	parameters.segment_size = core->parameters.mtu - headers;
	parameters.overhead =
	    headers + NET_ETH_SIZE + NET_ETH_BESIDE + (core->parameters.tagged ? NET_VLAN_SIZE : 0);
	parameters.pace.mtu = core->parameters.mtu;
	parameters.ticks_per_second = SECOND;
	parameters.output = &sender_output;
	parameters.context = core;
	core->parameters.readout.ticks_per_second = SECOND;
	return readout_logic_make(&core->logic, &parameters, &core->counters, core->now);
}

struct sender_core *sender_core_create(const struct sender_core_parameters *parameters,
				       uint64_t now, const char **reason)
{
	struct sender_core *core = calloc(1, sizeof(*core));

	*reason = "out of memory";
	if (core == NULL)
		return NULL;
	core->parameters = *parameters;
	core->now = now;
	if (make_logic(core) && sender_output_make(core) &&
	    (!parameters->is_node || sender_node_make(core, reason)))
		return core;
	sender_core_destroy(core);
	return NULL;
}

void sender_core_destroy(struct sender_core *core)
{
	if (core == NULL)
		return;
	sender_node_free(core);
	sender_output_free(core);
	readout_logic_free(&core->logic);
	free(core);
}

void sender_core_view(const struct sender_core *core, struct sender_core_view *view)
{
	struct cluster_node_view node = { 0 };

	if (core->node != NULL)
		cluster_node_view(core->node, &node);
	*view = (struct sender_core_view){
		.readout = core->counters,
		.foreign = core->foreign,
		.malformed = core->malformed,
		.announced = core->logic.announced,
		.released = core->logic.freed,
		.run = core->node != NULL ? node.run : core->logic.run,
		.state = core->node != NULL ? node.state : core->logic.state,
		.registered = node.registered,
		.occupied = core->occupied,
	};
}
