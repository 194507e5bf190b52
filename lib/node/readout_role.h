// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The readout role: the sources of one generator in a node of a system. It runs the logic of
// readouts (readout/readout_logic.h) on the data plane; the blocks lie in a block store
// (store/block_store.h).
//
// Segments for a builder of the same process go to it over a link. Segments for other builders
// leave the port in UDP datagrams, behind an EtherType, or as RoCE messages (readout_roce.h), in
// the same order and at the same rate.
#pragma once

#include "packet/mailbox.h"
#include "packet/neighbours.h"
#include "packet/source_table.h"
#include "pipeline/link.h"
#include "pipeline/role.h"
#include "port/flow_control.h"
#include "rdma/readout_roce.h"
#include "readout/readout_logic.h"
#include "tx/block_packets.h"
#include "tx/sender.h"

// A builder of the system.
struct readout_builder {
	struct link *link; // to a builder of this process; NULL: the builder is on another node
	unsigned first;    // the first of the builders with which it shares the link of their port
	unsigned node;     // the next three are those of a builder on another node
	uint32_t address;  // IPv4 of the node, host order
	uint16_t udp_port;
};

struct readout_parameters {
	const char *name;
	struct block_packets_parameters packets;
	const struct source_table *sources;
	// By number in the system, logic.n_builders of them; copied.
	const struct readout_builder *builders;
	// store, pace.mtu, segment_size, overhead, ticks_per_second, output and context are filled
	// in.
	struct readout_logic_parameters logic;
	const struct faults *faults;
	struct rte_mempool *bundles; // mbufs with bundles_buffer_size() bytes; NULL: no bundles
	uint64_t seed;               // of the faults
	uint16_t port_id;
	uint16_t queue; // tx queue of this lcore
	bool tagged;    // frames of the port have a VLAN tag
	const struct neighbours *neighbours;
	struct flow_control *flow_control; // of the port; NULL: none
	unsigned data_priority;            // 802.1p, that pauses are obeyed for
	// NULL: not by RoCE. Its packets and sender are filled in.
	const struct readout_roce_parameters *roce;
	struct mailbox *from_control, *to_control;
	int numa_node;
};

// Control thread. NULL if memory ran out.
struct role *readout_role_create(const struct readout_parameters *parameters);

// NULL where the role does not send by RoCE.
const struct readout_roce *readout_role_roce(const struct role *role);

const struct readout_counters *readout_role_counters(const struct role *role);
const struct sender_counters *readout_role_sender_counters(const struct role *role);
