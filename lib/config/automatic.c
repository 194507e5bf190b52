// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The values of keys for which the file contains "auto" and which follow from other keys or from
// this machine.
#include "config/internal.h"

#include "port/interface.h"
#include "wire/mep.h"
#include "wire/mfp.h"

#define MTU_UNKNOWN   1500u
#define SLOT_UNKNOWN  (4ull << 20)
#define SLOT_UNIT     4096u
#define SLOT_MOST     (4ull << 30)
#define FRAGMENT_UNIT 4u    // to which fragments are padded, in bytes
#define HEADERS_MOST  80u   // of a packet within the MTU, in bytes
#define ROCE_DATA     4096u // of a full RoCE packet, at most
#define DEPTH_LEAST   4096u
#define DEPTH_LARGE   1024u // at least, of packets above MTU_LARGE
#define MTU_LARGE     9600u
#define DEPTH_BYTES   (32u << 20) // of the packets in a link whose depth is automatic

static void resolve_port(struct port_settings *port)
{
	char interface[INTERFACE_NAME_SIZE];
	const bool mtu = port->mtu == PORT_MTU_AUTO, rate = port->link_rate == PORT_RATE_AUTO;
	const bool is_here = (mtu || rate) && interface_of_device(port->device, interface);

	if (mtu) {
		port->mtu_is_auto = is_here;
		port->mtu = is_here ? interface_mtu(interface) : MTU_UNKNOWN;
		if (port->mtu < PORT_MTU_LEAST)
			port->mtu = PORT_MTU_LEAST;
		if (port->mtu > PORT_MTU_MOST)
			port->mtu = PORT_MTU_MOST;
	}
	if (rate) {
		port->link_rate_is_auto = true;
		port->link_rate = 0;
		port->rate_found = is_here ? interface_link_rate(interface) : 0;
	}
}

// A quarter more than an event of all sources whose fragments have the stated size.
static uint64_t find_slot_size(const struct config_sources *sources)
{
	const uint64_t block =
	    mfp_data_offset(sources->packing) +
	    sources->packing * round_up((uint64_t)sources->fragment_size, FRAGMENT_UNIT);
	const uint64_t event = mep_header_size(sources->n_ids, MEP_DEFAULT_ALIGN) +
			       sources->n_ids * round_up(block, MEP_DEFAULT_ALIGN);

	return round_up(event + event / 4, SLOT_UNIT);
}

static int resolve_builder(struct config_reader *reader, struct config *config, unsigned i)
{
	struct config_builder *builder = &config->builders[i];
	const struct config_sources *sources = &config->sources;

	if (builder->slot_size != CONFIG_SLOT_AUTO)
		return 0;
	builder->slot_size = SLOT_UNKNOWN;
	if (sources->fragment_size == 0)
		return 0;
	builder->slot_size_is_auto = true;
	builder->slot_size = find_slot_size(sources);
	if (builder->slot_size <= SLOT_MOST)
		return 0;
	return config_fail(config_at_element(reader, "builders", i, "slot_size"),
			   "auto is %.1f GiB for %u sources, packing %u and fragment_size %u: at "
			   "most 4 GiB are possible",
			   (double)builder->slot_size / (1u << 30), sources->n_ids,
			   sources->packing, sources->fragment_size);
}

static uint32_t least_mtu(const struct config *config)
{
	uint32_t least = config->n_ports > 0 ? PORT_MTU_MOST : MTU_UNKNOWN;

	for (unsigned i = 0; i < config->n_ports; i++)
		if (config->ports[i].mtu < least)
			least = config->ports[i].mtu;
	return least;
}

// Bytes of blocks in a full packet, at least.
static uint32_t data_of_packet(const struct config *config, uint32_t mtu)
{
	const uint32_t data = mtu - HEADERS_MOST;

	if (config->transport.kind != CONFIG_TRANSPORT_ROCE)
		return data;
	if (config->roce.path_mtu != 0)
		return config->roce.path_mtu;
	return data < ROCE_DATA ? data / 2 : ROCE_DATA; // auto: a power of two
}

static uint64_t power_of_two_below(uint64_t n)
{
	return UINT64_C(1) << (63 - __builtin_clzll(n));
}

// With an event manager a builder is sent no more than what its slots hold. A link with room for
// all of it never fills, however late the builder is.
static uint32_t find_depth(const struct config *config, uint32_t mtu, uint32_t least)
{
	const uint64_t most = power_of_two_below(DEPTH_BYTES / mtu);
	uint64_t packets = 1;

	for (unsigned i = 0; i < config->n_builders; i++) {
		const struct config_builder *builder = &config->builders[i];
		const uint64_t event = builder->slot_size / data_of_packet(config, mtu) +
				       config->sources.n_ids; // a part of a packet of each

		if (builder->slots * event > packets)
			packets = builder->slots * event;
	}
	packets = power_of_two_below(2 * packets - 1);
	if (packets > most)
		packets = most;
	return packets > least ? (uint32_t)packets : least;
}

static void resolve_links(const struct config_reader *reader, struct config *config)
{
	const uint32_t mtu = least_mtu(config);
	const uint32_t least = mtu > MTU_LARGE ? DEPTH_LARGE : DEPTH_LEAST;

	if (config->links.depth != CONFIG_DEPTH_AUTO)
		return;
	config->links.depth =
	    reader->node != NULL && config->event_manager.sched.mode != SCHED_STATIC
		? find_depth(config, mtu, least)
		: least;
}

int config_resolve(struct config_reader *reader, struct config *config)
{
	for (unsigned i = 0; i < config->n_ports; i++)
		resolve_port(&config->ports[i]);
	for (unsigned i = 0; i < config->n_builders; i++)
		if (resolve_builder(reader, config, i))
			return -1;
	resolve_links(reader, config);
	return 0;
}
