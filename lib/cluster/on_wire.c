// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/on_wire.h"

#include "wire/ejfat.h"
#include "wire/mep.h"
#include "wire/net.h"

static uint32_t headers_of(const struct config *config, bool load_balancer)
{
	uint32_t size = EJFAT_RE_SIZE;

	if (config->transport.kind != CONFIG_TRANSPORT_ETH)
		size += NET_IPV4_SIZE + NET_UDP_SIZE;
	return load_balancer ? size + EJFAT_LB_SIZE : size;
}

void on_wire_make(struct on_wire *wire, const struct config *config)
{
	const struct config_cluster *cluster = &config->cluster;
	bool load_balancer = false;
	uint32_t mtu = UINT32_MAX, headers;

	for (unsigned i = 0; i < cluster->n_nodes; i++) {
		const struct config_cluster_node *node = &cluster->nodes[i];

		// Without generators boards send, which no node stands for.
		if (node->mtu < mtu && (node->n_sources > 0 || cluster->n_sources == 0))
			mtu = node->mtu;
		load_balancer |= node->load_balancer;
	}
	headers = headers_of(config, load_balancer);
	*wire = (struct on_wire){
		.n_sources =
		    cluster->n_sources > 0 ? cluster->n_sources : config->sources.n_expected,
		.payload = mtu > headers ? mtu - headers : 1,
		.overhead = NET_ETH_SIZE + headers + NET_ETH_BESIDE,
	};
}

uint64_t on_wire_bytes(const struct on_wire *wire, uint64_t bytes, uint32_t n_local)
{
	uint64_t header = mep_header_size(wire->n_sources, MEP_DEFAULT_ALIGN);
	uint64_t block = bytes > header ? (bytes - header) / wire->n_sources : 0;
	uint64_t segments = (block + wire->payload - 1) / wire->payload;

	if (n_local >= wire->n_sources)
		return 0;
	return (wire->n_sources - n_local) * (block + segments * wire->overhead);
}

double on_wire_efficiency(const struct on_wire *wire)
{
	return (double)wire->payload / (double)(wire->payload + wire->overhead);
}
