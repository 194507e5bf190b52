// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "tx/pcap_role.h"

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "wire/net.h"

struct pcap {
	struct role role;
	struct pcap_parameters parameters;
	struct sender sender;
	struct capture *capture;
	struct capture_packet next;
	bool has_next, at_end;
	uint64_t start;    // TSC at which the first packet left
	uint64_t first_ns; // its time in the capture
	double cycles_per_ns;
	atomic_bool finished;
	struct pcap_counters counters __rte_cache_aligned;
};

static struct pcap *pcap_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct pcap, role));
}

static bool is_due(struct pcap *pcap, uint64_t now)
{
	double speed = pcap->parameters.speed;

	if (speed <= 0)
		return true;
	if (pcap->start == 0) {
		pcap->start = now;
		pcap->first_ns = pcap->next.time_ns;
	}
	// A packet that is older than the first one of the capture is due at once.
	return pcap->next.time_ns <= pcap->first_ns ||
	       (double)(now - pcap->start) * speed >=
		   (double)(pcap->next.time_ns - pcap->first_ns) * pcap->cycles_per_ns;
}

// Whether the current packet can be sent; counts it if not.
static bool is_sendable(struct pcap *pcap)
{
	const struct capture_packet *packet = &pcap->next;

	if (packet->captured < packet->length) {
		counter_add(&pcap->counters.truncated, 1);
		return false;
	}
	if (packet->length > pcap->parameters.mtu + NET_ETH_SIZE + 2 * NET_VLAN_SIZE) {
		counter_add(&pcap->counters.oversized, 1);
		return false;
	}
	return true;
}

// Makes the next packet that can be sent the current one; false at the end of the capture.
static bool have_packet(struct pcap *pcap)
{
	while (!pcap->has_next && !pcap->at_end) {
		if (!capture_next(pcap->capture, &pcap->next)) {
			pcap->at_end = true;
			return false;
		}
		counter_add(&pcap->counters.packets, 1);
		pcap->has_next = is_sendable(pcap);
	}
	return pcap->has_next;
}

static bool send_packet(struct pcap *pcap)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pcap->parameters.buffers);
	char *to;

	if (mbuf == NULL)
		return false;
	to = rte_pktmbuf_append(mbuf, (uint16_t)pcap->next.length);
	if (to == NULL) { // the pool's mbufs have room for the MTU
		rte_pktmbuf_free(mbuf);
		pcap->has_next = false;
		return true;
	}
	memcpy(to, pcap->next.bytes, pcap->next.length);
	sender_put(&pcap->sender, mbuf, NET_ETH_SIZE, false);
	pcap->has_next = false;
	return true;
}

static unsigned pcap_poll(struct role *role, uint64_t now)
{
	struct pcap *pcap = pcap_of(role);
	unsigned made = 0, sent;

	while (made < ROLE_BURST && sender_room(&pcap->sender, 1) && have_packet(pcap) &&
	       is_due(pcap, now) && send_packet(pcap))
		made++;
	if (pcap->at_end && sender_settle(&pcap->sender) && pcap->sender.n_out == 0)
		atomic_store_explicit(&pcap->finished, true, memory_order_release);
	sent = sender_flush(&pcap->sender);
	role->backpressured = sent == 0 && pcap->sender.n_out > 0;
	return role->backpressured ? 0 : made + sent;
}

static bool pcap_drain(struct role *role, uint64_t now)
{
	struct pcap *pcap = pcap_of(role);

	pcap->at_end = true;
	pcap->has_next = false;
	(void)pcap_poll(role, now);
	return pcap_role_finished(role);
}

static void pcap_fini(struct role *role)
{
	struct pcap *pcap = pcap_of(role);

	sender_fini(&pcap->sender);
	capture_close(pcap->capture);
	rte_free(pcap);
}

static const struct role_operations pcap_operations = {
	.kind = "source",
	.poll = pcap_poll,
	.drain = pcap_drain,
	.fini = pcap_fini,
};

struct role *pcap_role_create(const struct pcap_parameters *parameters, char *error)
{
	struct pcap *pcap =
	    rte_zmalloc_socket("pcap", sizeof(*pcap), RTE_CACHE_LINE_SIZE, parameters->numa_node);

	if (pcap == NULL) {
		snprintf(error, SOURCE_ERROR_SIZE, "out of memory");
		return NULL;
	}
	if (capture_open(&pcap->capture, parameters->file, error) != 0) {
		rte_free(pcap);
		return NULL;
	}
	pcap->role.operations = &pcap_operations;
	snprintf(pcap->role.name, sizeof(pcap->role.name), "%s", parameters->name);
	pcap->parameters = *parameters;
	pcap->cycles_per_ns = (double)rte_get_tsc_hz() * 1e-9;
	sender_init(&pcap->sender, parameters->port_id, parameters->queue, parameters->buffers,
		    parameters->faults, parameters->seed);
	return &pcap->role;
}

const struct pcap_counters *pcap_role_counters(const struct role *role)
{
	return &pcap_of(role)->counters;
}

const struct sender_counters *pcap_role_sender_counters(const struct role *role)
{
	return &pcap_of(role)->sender.counters;
}

const char *pcap_role_problem(const struct role *role)
{
	return capture_problem(pcap_of(role)->capture);
}

bool pcap_role_finished(const struct role *role)
{
	return atomic_load_explicit(&pcap_of(role)->finished, memory_order_acquire);
}
