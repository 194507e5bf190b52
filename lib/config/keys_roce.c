// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Keys of RoCE v2.
#include "config/key_macros.h"

#define MAXIMUM_24_BITS 0xffffff
#define FIRST_QPN       2 // InfiniBand reserves queue pairs 0 and 1 for management

// clang-format off

static const struct config_key queue_pair_keys[] = {
	{ .name = "source", WHOLE(COUNT), RANGE(0, 65535), FIELD(roce_static_pair, source),
	  .presence = offsetof(struct roce_static_pair, has_source),
	  .help = "The only source that may send on it. Without it any source may; "
		  "generators need it." },
	{ .name = "type", WORDS("rc", "uc", "ud"), FIELD(roce_static_pair, service),
	  .standard = "rc",
	  .help = "Transport service: reliable, unreliable, datagram." },
	{ .name = "local_qpn", WHOLE(COUNT), RANGE(FIRST_QPN, MAXIMUM_24_BITS),
	  FIELD(roce_static_pair, local_qpn), .required = true,
	  .help = "Local number." },
	{ .name = "local_psn", WHOLE(COUNT), RANGE(0, MAXIMUM_24_BITS),
	  FIELD(roce_static_pair, local_psn), .standard = "0",
	  .help = "Number of the first packet sent." },
	{ .name = "remote_qpn", WHOLE(COUNT), RANGE(FIRST_QPN, MAXIMUM_24_BITS),
	  FIELD(roce_static_pair, remote_qpn), .required = true,
	  .help = "Number at the other end." },
	{ .name = "remote_psn", WHOLE(COUNT), RANGE(0, MAXIMUM_24_BITS),
	  FIELD(roce_static_pair, remote_psn), .standard = "0",
	  .help = "Number of the first packet expected." },
	{ .name = "address", .type = CONFIG_TYPE_IP, FIELD(roce_static_pair, address),
	  .required = true,
	  .help = "Address of the other end; generators send to destination.address." },
	{ .name = "mac", .type = CONFIG_TYPE_MAC, FIELD(roce_static_pair, mac),
	  .presence = offsetof(struct roce_static_pair, has_mac),
	  .help = "Address for responses; without it the sender's." },
	{ .name = "rkey", WHOLE(COUNT), RANGE(0, UINT32_MAX), FIELD(roce_static_pair, rkey),
	  .standard = "0",
	  .help = "Key of the memory region for WRITE." },
	{ .name = "virtual_address", WHOLE(COUNT), RANGE(0, UINT64_MAX),
	  FIELD(roce_static_pair, virtual_address), .standard = "0",
	  .help = "Address of that region." },
	{ .name = "size", WHOLE(SIZE), RANGE(0, 64 * TIB), FIELD(roce_static_pair, size),
	  .standard = "0",
	  .help = "Size of that region; 0: none." },
};
static OBJECT(queue_pair, queue_pair_keys);

static const struct config_key roce_keys[] = {
	{ .name = "udp_port", WHOLE(COUNT), RANGE(1, 65535), FIELD(roce_settings, udp_port),
	  .standard = "4791",
	  .help = "UDP port of RoCE packets." },
	{ .name = "icrc", WORDS("verify", "sample", "ignore"), FIELD(roce_settings, icrc),
	  .standard = "verify",
	  .help = "Whether the ICRC of received packets is verified; sample: that of one in "
		  "sample_one_in." },
	{ .name = "sample_one_in", WHOLE(COUNT), RANGE(1, 1000000),
	  FIELD(roce_settings, sample_one_in), .standard = "64",
	  .help = "With icrc sample: packets per verified packet." },
	{ .name = "service", WORDS("rc", "uc", "ud"), FIELD(roce_settings, service),
	  .standard = "rc",
	  .help = "Transport service of readout nodes: reliable, unreliable, datagram." },
	{ .name = "operation", WORDS("send", "send_imm", "write", "write_imm", "read"),
	  FIELD(roce_settings, operation), .standard = "send",
	  .help = "Transfer of an MFP: SEND or RDMA WRITE by the readout node, without or "
		  "with immediate data; read: RDMA READ by the builder, with "
		  "event_manager.mode pull." },
	{ .name = "path_mtu", WHOLE(SIZE), RANGE(256, 4096), .power_of_two = true, OR_AUTO(0),
	  FIELD(roce_settings, path_mtu), .standard = "auto",
	  .help = "Payload of a full packet; auto: the largest for the port's mtu." },
	{ .name = "connection", WORDS("static", "cm", "feroce"), FIELD(roce_settings, connection),
	  .standard = "cm",
	  .help = "static: as in queue_pairs; cm: by RDMA CM; feroce: by the manager of "
		  "FERoCE boards." },
	{ .name = "cm_service", WHOLE(COUNT), RANGE(1, 65535), FIELD(roce_settings, cm_service),
	  .standard = "19523",
	  .help = "Port number of RDMA CM." },
	{ .name = "max_queue_pairs", WHOLE(COUNT), RANGE(1, 65536), .power_of_two = true,
	  FIELD(roce_settings, max_queue_pairs), .standard = "1024",
	  .help = "Largest number of queue pairs." },
	{ .name = "idle_timeout", WHOLE(TIME), RANGE(0, 24 * HOUR), FIELD(roce_settings, idle_timeout_ns),
	  .standard = "1min",
	  .help = "Silence after which a connection ends if others need its place; 0: it never does." },
	{ .name = "ack_every", WHOLE(COUNT), RANGE(1, 65536), FIELD(roce_settings, ack_every),
	  .standard = "16",
	  .help = "Most packets per acknowledgement." },
	{ .name = "window", WHOLE(COUNT), RANGE(1, 65536), FIELD(roce_settings, window),
	  .standard = "128",
	  .help = "Packets in flight per queue pair." },
	{ .name = "timeout", WHOLE(COUNT), RANGE(0, 31), FIELD(roce_settings, timeout),
	  .standard = "14",
	  .help = "Longest wait for an acknowledgement, as n in 4.096 us * 2^n." },
	{ .name = "retry_count", WHOLE(COUNT), RANGE(0, 7), FIELD(roce_settings, retry_count),
	  .standard = "7",
	  .help = "Retransmissions before the connection is given up." },
	{ .name = "rnr_retry", WHOLE(COUNT), RANGE(0, 7), FIELD(roce_settings, rnr_retry),
	  .standard = "7",
	  .help = "Retransmissions after RNR NAKs; 7: without limit." },
	{ .name = "rnr_timer", WHOLE(COUNT), RANGE(0, 31), FIELD(roce_settings, rnr_timer),
	  .standard = "12",
	  .help = "Wait of a sender when no slot is free, as coded in the NAK (12: 640 us)." },
	{ .name = "cnp_interval", WHOLE(TIME), RANGE(0, SECOND), FIELD(roce_settings, cnp_interval_ns),
	  .standard = "50us",
	  .help = "Shortest interval of congestion notifications of a queue pair." },
	{ .name = "dcqcn", .type = CONFIG_TYPE_BOOLEAN, FIELD(roce_settings, dcqcn),
	  .standard = "true",
	  .help = "Whether senders slow down on congestion notifications." },
	{ .name = "q_key", WHOLE(COUNT), RANGE(0, UINT32_MAX), FIELD(roce_settings, q_key),
	  .standard = "0x11111111",
	  .help = "Q_Key of service ud." },
	{ .name = "partition_key", WHOLE(COUNT), RANGE(1, 65535), FIELD(roce_settings, partition_key),
	  .standard = "0xffff",
	  .help = "P_Key of all packets." },
	{ .name = "queue_pairs", LIST(queue_pair), ELEMENTS(roce_settings, queue_pairs),
	  RANGE(0, ROCE_MAX_STATIC_PAIRS),
	  .help = "The connections with connection static." },
};
OBJECT(config_roce_object, roce_keys);
