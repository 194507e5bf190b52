// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The object `roce` of the configuration. Read-only once it is loaded.
#pragma once

#include "wire/roce.h"

#define ROCE_MAX_STATIC_PAIRS 4096 // entries of `roce.queue_pairs` in the configuration

// Whether the ICRC of received packets is verified.
enum roce_icrc_check {
	ROCE_ICRC_VERIFY,
	ROCE_ICRC_SAMPLE, // one of sample_one_in packets
	ROCE_ICRC_IGNORE,
};

// The operation that moves a block from its source to its builder.
enum roce_operation {
	ROCE_OPERATION_SEND,
	ROCE_OPERATION_SEND_IMM,
	ROCE_OPERATION_WRITE,
	ROCE_OPERATION_WRITE_IMM,
	ROCE_OPERATION_READ, // the builder reads it
};

static inline bool roce_operation_writes(enum roce_operation operation)
{
	return operation == ROCE_OPERATION_WRITE || operation == ROCE_OPERATION_WRITE_IMM;
}

static inline bool roce_operation_has_immediate(enum roce_operation operation)
{
	return operation == ROCE_OPERATION_SEND_IMM || operation == ROCE_OPERATION_WRITE_IMM;
}

// How queue pairs are connected.
enum roce_connection_method {
	ROCE_CONNECTION_STATIC, // by `queue_pairs` of the configuration
	ROCE_CONNECTION_CM,     // RDMA CM over queue pair 1
	ROCE_CONNECTION_FEROCE, // the messages of FERoCE boards over UDP (connection.h)
};

// A connection whose numbers are all in the configuration.
struct roce_static_pair {
	uint16_t source; // id of the source that sends on it, if has_source; else any source may
	bool has_source;
	enum roce_service service;
	uint32_t local_qpn, local_psn; // 24 bits
	uint32_t remote_qpn, remote_psn;
	uint8_t address[16]; // of the peer; IPv4 as ::ffff:a.b.c.d
	bool has_mac;
	uint8_t mac[6]; // destination of responses, if has_mac; else the MAC address that the
			// peer's packets come from
	uint32_t rkey;  // rkey, virtual address and size of the region for WRITE
	uint64_t virtual_address;
	uint64_t size; // bytes; 0: no region
};

struct roce_settings {
	uint16_t udp_port;
	enum roce_icrc_check icrc;
	uint32_t sample_one_in;
	enum roce_service service;
	enum roce_operation operation; // of readout nodes and generators
	uint32_t
	    path_mtu; // 256 to 4096 bytes, a power of two; 0: the largest that fits the port's MTU
	enum roce_connection_method connection;
	uint16_t cm_service;      // port number that RDMA CM listens to
	uint32_t max_queue_pairs; // a power of two
	uint64_t idle_timeout_ns; // after which others may take a connection's place; 0: never
	uint32_t ack_every;       // one of at most so many packets is acknowledged
	uint32_t window;          // packets in flight per queue pair
	uint8_t timeout;          // ACK timeout, 4.096 us * 2^timeout
	uint8_t retry_count;
	uint8_t rnr_retry; // 7: without limit
	uint8_t rnr_timer; // as coded in the AETH
	uint64_t cnp_interval_ns;
	bool dcqcn;
	uint32_t q_key;
	uint16_t partition_key;
	struct roce_static_pair queue_pairs[ROCE_MAX_STATIC_PAIRS];
	unsigned n_queue_pairs;
};
