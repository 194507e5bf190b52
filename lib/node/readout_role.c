// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/readout_role.h"

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "node/readout_internal.h"
#include "wire/net.h"

#define MESSAGES_MOST 32u // taken from the mailbox in one poll

static struct readout_role *readout_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct readout_role, role));
}

static unsigned handle_messages(struct readout_role *readout, uint64_t now)
{
	struct mailbox *mailbox = readout->parameters.from_control;
	unsigned n;
	const struct message *messages = mailbox_look(mailbox, MESSAGES_MOST, &n);

	for (unsigned i = 0; i < n; i++)
		readout_logic_message(&readout->logic, &messages[i], now);
	mailbox_pass(mailbox, n);
	if (n > 0)
		readout_logic_adapt(&readout->logic, now);
	return n;
}

static unsigned readout_poll(struct role *role, uint64_t now)
{
	struct readout_role *readout = readout_of(role);
	unsigned done = handle_messages(readout, now), made = 0, sent;

	readout_logic_tend(&readout->logic, now);
	if (readout->roce != NULL)
		done += readout_roce_poll(readout->roce, now);
	// Packets that are sent again do not wait for the next event.
	while (readout->roce != NULL && made < ROLE_BURST && readout_send_roce_packet(readout, now))
		made++;
	while (made < ROLE_BURST && readout_logic_step(&readout->logic, now))
		made++;
	readout_close_bundles(readout);
	(void)readout_flush_staged(readout);
	sent = sender_flush(&readout->sender);
	role->backpressured = made == 0 && sent == 0 && readout->logic.sending;
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
	struct readout_role *readout = readout_of(role);

	readout_logic_leave(&readout->logic);
	(void)readout_poll(role, now);
	if (readout->roce != NULL && !readout_roce_leave(readout->roce, now))
		return false;
	if (readout->logic.sending && readout->logic.reach == READOUT_LOCAL)
		return false;
	return sender_settle(&readout->sender) && readout->sender.n_out == 0 &&
	       readout->bundles.n_open == 0;
}

static void readout_fini(struct role *role)
{
	struct readout_role *readout = readout_of(role);

	rte_pktmbuf_free_bulk(readout->staged, readout->n_staged);
	bundles_free(&readout->bundles);
	sender_fini(&readout->sender);
	readout_roce_destroy(readout->roce);
	readout_logic_free(&readout->logic);
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

static bool make_roce(struct readout_role *readout)
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

static bool make_logic(struct readout_role *readout)
{
	struct readout_logic_parameters parameters = readout->parameters.logic;

	parameters.store = readout->parameters.packets.store;
	parameters.pace.mtu = readout->parameters.packets.mtu;
	parameters.segment_size = readout->packets.segment_size;
	parameters.overhead = readout->packets.headers_size + readout->frame_overhead;
	parameters.ticks_per_second = rte_get_tsc_hz();
	parameters.output = &readout->output;
	parameters.context = readout;
	readout->output = readout_packets;
	if (readout->roce != NULL)
		readout->output.messages = &readout_roce_messages;
	if (!readout_logic_make(&readout->logic, &parameters, &readout->counters, rte_rdtsc()))
		return false;
	for (unsigned i = 0; i < parameters.n_builders; i++)
		readout_logic_set_builder(&readout->logic, i, readout->builders[i].first,
					  readout->builders[i].link != NULL);
	return true;
}

static bool copy_tables(struct readout_role *readout)
{
	const struct readout_parameters *p = &readout->parameters;
	const struct block_store *store = p->packets.store;
	const size_t size = p->logic.n_builders * sizeof(*readout->builders);

	readout->indices = rte_malloc("readout", store->n_sources * sizeof(*readout->indices), 0);
	readout->builders = rte_malloc("readout", size, 0);
	if (readout->indices == NULL || readout->builders == NULL)
		return false;
	memcpy(readout->builders, p->builders, size);
	for (unsigned i = 0; i < store->n_sources; i++)
		readout->indices[i] = p->sources->index[store->ids[i]];
	return true;
}

static bool make_parts(struct readout_role *readout)
{
	const struct readout_parameters *p = &readout->parameters;

	sender_init(&readout->sender, p->port_id, p->queue, p->packets.headers, p->faults, p->seed);
	block_packets_init(&readout->packets, &p->packets);
	readout->bundles.packets = &readout->packets;
	readout->bundles.pool = p->bundles;
	if (!copy_tables(readout))
		return false;
	readout->bundles.indices = readout->indices;
	return make_roce(readout) && make_logic(readout);
}

struct role *readout_role_create(const struct readout_parameters *parameters)
{
	struct readout_role *readout = rte_zmalloc_socket(
	    "readout", sizeof(*readout), RTE_CACHE_LINE_SIZE, parameters->numa_node);

	if (readout == NULL)
		return NULL;
	readout->role.operations = &readout_operations;
	snprintf(readout->role.name, sizeof(readout->role.name), "%s", parameters->name);
	readout->parameters = *parameters;
	readout->frame_overhead = NET_ETH_BESIDE + (parameters->tagged ? NET_VLAN_SIZE : 0);
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
