// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/on_wire.h"

#include "wire/ctrl.h"
#include "wire/ejfat.h"
#include "wire/mep.h"
#include "wire/net.h"
#include "wire/roce.h"

static uint32_t headers_of(const struct config *config, bool load_balancer)
{
	uint32_t size = EJFAT_RE_SIZE;

	if (config->transport.kind == CONFIG_TRANSPORT_ROCE)
		return NET_IPV4_SIZE + NET_UDP_SIZE + ROCE_BTH_SIZE + ROCE_ICRC_SIZE;
	if (config->transport.kind != CONFIG_TRANSPORT_ETH)
		size += NET_IPV4_SIZE + NET_UDP_SIZE;
	return load_balancer ? size + EJFAT_LB_SIZE : size;
}

static uint32_t payload_of(const struct config *config, uint32_t mtu, uint32_t headers)
{
	uint32_t payload = mtu > headers ? mtu - headers : 1;

	if (config->transport.kind != CONFIG_TRANSPORT_ROCE)
		return payload;
	if (config->roce.path_mtu != 0)
		return config->roce.path_mtu;
	return roce_path_mtu(mtu) != 0 ? roce_path_mtu(mtu) : payload;
}

// Where events are few each message is a frame: the grant, that the event counts, that it is
// released, an acknowledgement; where builders ask, also that each node has sent.
static uint32_t control_of(const struct config *config)
{
	const struct config_cluster *cluster = &config->cluster;
	const uint32_t frame =
	    NET_ETH_SIZE + NET_IPV4_SIZE + NET_UDP_SIZE + CTRL_OVERHEAD + NET_ETH_BESIDE;
	uint32_t n_senders = 0;

	if (config->event_manager.mode == CONFIG_MODE_STATIC)
		return 0;
	for (unsigned i = 0; i < cluster->n_nodes; i++)
		n_senders += cluster->nodes[i].n_sources > 0;
	if (config->event_manager.mode != CONFIG_MODE_PULL)
		n_senders = 0;
	return 4 * frame + CTRL_GRANT_SIZE + CTRL_PROGRESS_SIZE + CTRL_RELEASE_SIZE +
	       n_senders * (frame + CTRL_PROGRESS_SIZE);
}

void on_wire_make(struct on_wire *wire, const struct config *config)
{
	const struct config_cluster *cluster = &config->cluster;
	bool load_balancer = false, tagged = false;
	uint32_t mtu = UINT32_MAX, headers;

	for (unsigned i = 0; i < cluster->n_nodes; i++) {
		const struct config_cluster_node *node = &cluster->nodes[i];

		// Without generators boards send, which no node stands for.
		if (node->mtu < mtu && (node->n_sources > 0 || cluster->n_sources == 0))
			mtu = node->mtu;
		load_balancer |= node->load_balancer;
		tagged |= node->tagged;
	}
	headers = headers_of(config, load_balancer);
	*wire = (struct on_wire){
		.n_sources =
		    cluster->n_sources > 0 ? cluster->n_sources : config->sources.n_expected,
		.payload = payload_of(config, mtu, headers),
		.overhead = NET_ETH_SIZE + (tagged ? NET_VLAN_SIZE : 0) + headers + NET_ETH_BESIDE,
		.control = control_of(config),
	};
}

uint64_t on_wire_bytes(const struct on_wire *wire, uint64_t bytes, uint32_t n_local)
{
	uint64_t header = mep_header_size(wire->n_sources, MEP_DEFAULT_ALIGN);
	uint64_t block = bytes > header ? (bytes - header) / wire->n_sources : 0;
	uint64_t segments = (block + wire->payload - 1) / wire->payload;

	if (n_local >= wire->n_sources || block == 0)
		return 0;
	return (wire->n_sources - n_local) * (block + segments * wire->overhead) + wire->control;
}

double on_wire_efficiency(const struct on_wire *wire)
{
	return (double)wire->payload / (double)(wire->payload + wire->overhead);
}
