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
#define FRAGMENT_UNIT 4u // to which fragments are padded, in bytes

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

int config_resolve(struct config_reader *reader, struct config *config)
{
	for (unsigned i = 0; i < config->n_ports; i++)
		resolve_port(&config->ports[i]);
	for (unsigned i = 0; i < config->n_builders; i++)
		if (resolve_builder(reader, config, i))
			return -1;
	return 0;
}
