// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "system/on_wire.h"

#include "wire/ctrl.h"
#include "wire/ejfat.h"
#include "wire/mep.h"
#include "wire/net.h"
#include "wire/roce.h"

static uint32_t headers_of(const struct on_wire_parameters *parameters, bool load_balancer)
{
	uint32_t size = EJFAT_RE_SIZE;

	if (parameters->transport == ON_WIRE_ROCE)
		return NET_IPV4_SIZE + NET_UDP_SIZE + ROCE_BTH_SIZE + ROCE_ICRC_SIZE;
	if (parameters->transport == ON_WIRE_UDP)
		size += NET_IPV4_SIZE + NET_UDP_SIZE;
	return load_balancer ? size + EJFAT_LB_SIZE : size;
}

static uint32_t payload_of(const struct on_wire_parameters *parameters, uint32_t mtu,
			   uint32_t headers)
{
	uint32_t payload = mtu > headers ? mtu - headers : 1;

	if (parameters->transport != ON_WIRE_ROCE)
		return payload;
	if (parameters->path_mtu != 0)
		return parameters->path_mtu;
	return roce_path_mtu(mtu) != 0 ? roce_path_mtu(mtu) : payload;
}

// At low event rates each control message has its own frame: GRANT, PROGRESS, RELEASE and an
// acknowledgement; in pull mode also the PROGRESS of each node that has sent data.
static uint32_t control_of(const struct on_wire_parameters *parameters)
{
	const struct cluster_system *system = parameters->system;
	const uint32_t frame = NET_ETH_SIZE + NET_IPV4_SIZE + NET_UDP_SIZE + CTRL_HEADER_SIZE +
			       (parameters->keyed ? CTRL_SEAL_SIZE : CTRL_CRC_SIZE) +
			       NET_ETH_BESIDE;
	uint32_t n_senders = 0;

	if (parameters->mode == SCHED_STATIC)
		return 0;
	for (unsigned i = 0; i < system->n_nodes && parameters->mode == SCHED_PULL; i++)
		n_senders += system->nodes[i].n_sources > 0;
	return 4 * frame + CTRL_GRANT_SIZE + CTRL_PROGRESS_SIZE + CTRL_RELEASE_SIZE +
	       n_senders * (frame + CTRL_PROGRESS_SIZE);
}

void on_wire_make(struct on_wire *wire, const struct on_wire_parameters *parameters)
{
	const struct cluster_system *system = parameters->system;
	bool load_balancer = false, tagged = false;
	uint32_t mtu = UINT32_MAX, headers;

	for (unsigned i = 0; i < system->n_nodes; i++) {
		const struct cluster_system_node *node = &system->nodes[i];

		// In a system without generators the senders are boards, which are not nodes.
		if (node->mtu < mtu && (node->n_sources > 0 || system->n_sources == 0))
			mtu = node->mtu;
		load_balancer |= node->load_balancer;
		tagged |= node->tagged;
	}
	headers = headers_of(parameters, load_balancer);
	*wire = (struct on_wire){
		.n_sources = system->n_sources > 0 && !system->shares_source
				 ? system->n_sources
				 : parameters->n_expected,
		.payload = payload_of(parameters, mtu, headers),
		.overhead = NET_ETH_SIZE + (tagged ? NET_VLAN_SIZE : 0) + headers + NET_ETH_BESIDE,
		.control = control_of(parameters),
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
