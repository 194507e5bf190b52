// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/readout_role.h"

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "node/readout_internal.h"
#include "wire/net.h"

#define MESSAGES_MOST 32u    // taken from the mailbox in one poll
#define QUEUE_MOST    65536u // grants that wait

static struct readout *readout_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct readout, role));
}

static unsigned handle_messages(struct readout *readout, uint64_t now)
{
	struct message messages[MESSAGES_MOST];
	unsigned n = mailbox_take(readout->parameters.from_control, messages, MESSAGES_MOST);

	for (unsigned i = 0; i < n; i++)
		readout_handle_message(readout, &messages[i], now);
	if (n > 0 && readout->sending)
		readout_pace_adapt(&readout->pace, now);
	return n;
}

static unsigned readout_poll(struct role *role, uint64_t now)
{
	struct readout *readout = readout_of(role);
	unsigned done = handle_messages(readout, now), made = 0, sent;

	readout_tend_store(readout, now);
	readout_announce(readout, now);
	if (readout->roce != NULL)
		done += readout_roce_poll(readout->roce, now);
	// Packets that are sent again do not wait for the next event.
	while (readout->roce != NULL && made < ROLE_BURST && readout_send_roce_packet(readout, now))
		made++;
	while (made < ROLE_BURST && readout_step(readout, now))
		made++;
	(void)readout_flush_staged(readout);
	sent = sender_flush(&readout->sender);
	role->backpressured = made == 0 && sent == 0 && readout->sending;
	return role->backpressured ? 0 : done + made + sent;
}

static void readout_housekeep(struct role *role, uint64_t now)
{
	(void)now;
	block_store_housekeep(readout_of(role)->parameters.packets.store);
}

// The run is over or this node leaves: grants that wait are dropped, and other nodes build their
// events.
static bool readout_drain(struct role *role, uint64_t now)
{
	struct readout *readout = readout_of(role);

	if (!readout->draining)
		readout_forget_grants(readout);
	readout->draining = true;
	readout->state = CTRL_STOPPED;
	readout->own_end = readout->static_next;
	(void)readout_poll(role, now);
	if (readout->roce != NULL && !readout_roce_leave(readout->roce, now))
		return false;
	if (readout->sending && readout->local != NULL)
		return false;
	return sender_settle(&readout->sender) && readout->sender.n_out == 0;
}

static void readout_fini(struct role *role)
{
	struct readout *readout = readout_of(role);

	rte_pktmbuf_free_bulk(readout->staged, readout->n_staged);
	sender_fini(&readout->sender);
	readout_roce_destroy(readout->roce);
	send_queue_free(&readout->queue);
	readout_pace_free(&readout->pace);
	rte_free(readout->builders);
	rte_free(readout->indices);
	rte_free(readout);
}

static const struct role_operations readout_operations = {
	.kind = "readout",
	.poll = readout_poll,
	.housekeep = readout_housekeep,
	.drain = readout_drain,
	.fini = readout_fini,
};

// --- creation ---

static bool make_roce(struct readout *readout)
{
	struct readout_roce_parameters parameters;

	if (readout->parameters.roce == NULL)
		return true;
	parameters = *readout->parameters.roce;
	parameters.packets = &readout->packets;
	parameters.sender = &readout->sender;
	readout->roce = readout_roce_create(&parameters);
	return readout->roce != NULL;
}

static bool make_pace(struct readout *readout)
{
	struct readout_pace_parameters parameters = readout->parameters.pace;

	parameters.n_builders = readout->parameters.n_builders;
	parameters.mtu = readout->parameters.packets.mtu;
	parameters.ticks_per_second = readout->hz;
	if (!readout_pace_make(&readout->pace, &parameters, rte_rdtsc()))
		return false;
	for (unsigned i = 0; i < parameters.n_builders; i++)
		if (readout->builders[i].link != NULL)
			readout_pace_set_local(&readout->pace, i);
	return true;
}

static bool copy_tables(struct readout *readout)
{
	const struct readout_parameters *p = &readout->parameters;
	const struct block_store *store = p->packets.store;

	readout->indices = rte_malloc("readout", store->n_sources * sizeof(*readout->indices), 0);
	readout->builders = rte_malloc("readout", p->n_builders * sizeof(*readout->builders), 0);
	if (readout->indices == NULL || readout->builders == NULL)
		return false;
	memcpy(readout->builders, p->builders, p->n_builders * sizeof(*readout->builders));
	for (unsigned i = 0; i < store->n_sources; i++)
		readout->indices[i] = p->sources->index[store->ids[i]];
	return true;
}

static bool make_parts(struct readout *readout)
{
	const struct readout_parameters *p = &readout->parameters;
	uint64_t phase_ticks = (uint64_t)((double)p->phase_ns * 1e-9 * (double)readout->hz);

	sender_init(&readout->sender, p->port_id, p->queue, p->packets.headers, p->faults, p->seed);
	block_packets_init(&readout->packets, &p->packets);
	return copy_tables(readout) &&
	       send_queue_make(&readout->queue, QUEUE_MOST, p->rank, phase_ticks) &&
	       make_pace(readout) && make_roce(readout);
}

struct role *readout_role_create(const struct readout_parameters *parameters)
{
	struct readout *readout = rte_zmalloc_socket("readout", sizeof(*readout),
						     RTE_CACHE_LINE_SIZE, parameters->numa_node);

	if (readout == NULL)
		return NULL;
	readout->role.operations = &readout_operations;
	snprintf(readout->role.name, sizeof(readout->role.name), "%s", parameters->name);
	readout->parameters = *parameters;
	readout->hz = rte_get_tsc_hz();
	readout->frame_overhead = NET_ETH_BESIDE + (parameters->tagged ? NET_VLAN_SIZE : 0);
	readout->own_end = parameters->events > 0 ? parameters->events : UINT64_MAX;
	readout->run_end = UINT64_MAX;
	readout->cycles_per_event =
	    parameters->rate > 0 ? (double)readout->hz / parameters->rate : 0;
	if (!make_parts(readout)) {
		readout_fini(&readout->role);
		return NULL;
	}
	return &readout->role;
}

// --- telemetry ---

const struct readout_counters *readout_role_counters(const struct role *role)
{
	return &readout_of(role)->counters;
}

const struct readout_roce *readout_role_roce(const struct role *role)
{
	return readout_of(role)->roce;
}

const struct sender_counters *readout_role_sender_counters(const struct role *role)
{
	return &readout_of(role)->sender.counters;
}
