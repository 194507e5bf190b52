// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Keys of RoCE v2.
#include "config/key_macros.h"

#define MAXIMUM_24_BITS 0xffffff
#define FIRST_QPN       2 // 0 and 1 are for management

// clang-format off

static const struct config_key queue_pair_keys[] = {
	{ .name = "source", WHOLE(COUNT), RANGE(0, 65535), FIELD(config_queue_pair, source),
	  .presence = offsetof(struct config_queue_pair, has_source),
	  .help = "Id of the source that sends on it: of MFPs of others nothing is taken. Without it "
		  "any may; generators send on those with one." },
	{ .name = "type", WORDS("rc", "uc", "ud"), FIELD(config_queue_pair, service),
	  .standard = "rc",
	  .help = "Its transport service: reliable, unreliable, datagram." },
	{ .name = "local_qpn", WHOLE(COUNT), RANGE(FIRST_QPN, MAXIMUM_24_BITS),
	  FIELD(config_queue_pair, local_qpn), .required = true,
	  .help = "Its number here." },
	{ .name = "local_psn", WHOLE(COUNT), RANGE(0, MAXIMUM_24_BITS),
	  FIELD(config_queue_pair, local_psn), .standard = "0",
	  .help = "Number of the first packet that is sent from here." },
	{ .name = "remote_qpn", WHOLE(COUNT), RANGE(FIRST_QPN, MAXIMUM_24_BITS),
	  FIELD(config_queue_pair, remote_qpn), .required = true,
	  .help = "Its number at the other end." },
	{ .name = "remote_psn", WHOLE(COUNT), RANGE(0, MAXIMUM_24_BITS),
	  FIELD(config_queue_pair, remote_psn), .standard = "0",
	  .help = "Number of the first packet that is expected from there." },
	{ .name = "address", .type = CONFIG_TYPE_IP, FIELD(config_queue_pair, address),
	  .required = true,
	  .help = "Address of the other end; generators send to destination.address." },
	{ .name = "mac", .type = CONFIG_TYPE_MAC, FIELD(config_queue_pair, mac),
	  .presence = offsetof(struct config_queue_pair, has_mac),
	  .help = "Ethernet address that answers go to; without it the one that packets come "
		  "from." },
	{ .name = "rkey", WHOLE(COUNT), RANGE(0, UINT32_MAX), FIELD(config_queue_pair, rkey),
	  .standard = "0",
	  .help = "Key of the memory region that WRITE goes to." },
	{ .name = "virtual_address", WHOLE(COUNT), RANGE(0, UINT64_MAX),
	  FIELD(config_queue_pair, virtual_address), .standard = "0",
	  .help = "Where that region begins." },
	{ .name = "size", WHOLE(SIZE), RANGE(0, 64 * TIB), FIELD(config_queue_pair, size),
	  .standard = "0",
	  .help = "Its size; 0: there is none." },
};
static OBJECT(queue_pair, queue_pair_keys);

static const struct config_key roce_keys[] = {
	{ .name = "udp_port", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_roce, udp_port),
	  .standard = "4791",
	  .help = "UDP port of RoCE packets." },
	{ .name = "icrc", WORDS("verify", "sample", "ignore"), FIELD(config_roce, icrc),
	  .standard = "verify",
	  .help = "Whether the checksum of received packets is verified; sample: of one in "
		  "sample_one_in." },
	{ .name = "sample_one_in", WHOLE(COUNT), RANGE(1, 1000000),
	  FIELD(config_roce, sample_one_in), .standard = "64",
	  .help = "Of icrc sample: packets of which one is verified." },
	{ .name = "service", WORDS("rc", "uc", "ud"), FIELD(config_roce, service),
	  .standard = "rc",
	  .help = "Transport service that readout nodes ask for: reliable, unreliable, datagram." },
	{ .name = "operation", WORDS("send", "send_imm", "write", "write_imm", "read"),
	  FIELD(config_roce, operation), .standard = "send",
	  .help = "How an MFP gets to its builder: by SEND or RDMA WRITE of the readout node, without "
		  "or with immediate data; read: by RDMA READ of the builder, of event_manager.mode "
		  "pull." },
	{ .name = "path_mtu", WHOLE(SIZE), RANGE(256, 4096), .power_of_two = true, OR_AUTO(0),
	  FIELD(config_roce, path_mtu), .standard = "auto",
	  .help = "Payload of a full packet; auto: the largest that the port's mtu has room for." },
	{ .name = "connection", WORDS("static", "cm", "feroce"), FIELD(config_roce, connection),
	  .standard = "cm",
	  .help = "How connections are made: static, as queue_pairs says; cm, by RDMA CM; feroce, "
		  "by the manager of FERoCE boards." },
	{ .name = "cm_service", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_roce, cm_service),
	  .standard = "19523",
	  .help = "Port number that RDMA CM listens to." },
	{ .name = "max_queue_pairs", WHOLE(COUNT), RANGE(1, 65536), .power_of_two = true,
	  FIELD(config_roce, max_queue_pairs), .standard = "1024",
	  .help = "Queue pairs that there is room for, a power of two." },
	{ .name = "ack_every", WHOLE(COUNT), RANGE(1, 65536), FIELD(config_roce, ack_every),
	  .standard = "16",
	  .help = "Packets of which at least one is acknowledged." },
	{ .name = "window", WHOLE(COUNT), RANGE(1, 65536), FIELD(config_roce, window),
	  .standard = "128",
	  .help = "Packets in flight of a queue pair." },
	{ .name = "timeout", WHOLE(COUNT), RANGE(0, 31), FIELD(config_roce, timeout),
	  .standard = "14",
	  .help = "Wait for an acknowledgement, as n in 4.096 us * 2^n." },
	{ .name = "retry_count", WHOLE(COUNT), RANGE(0, 7), FIELD(config_roce, retry_count),
	  .standard = "7",
	  .help = "How often a packet is sent again before the connection is given up." },
	{ .name = "rnr_retry", WHOLE(COUNT), RANGE(0, 7), FIELD(config_roce, rnr_retry),
	  .standard = "7",
	  .help = "The same where the receiver is not ready; 7: without end." },
	{ .name = "rnr_timer", WHOLE(COUNT), RANGE(0, 31), FIELD(config_roce, rnr_timer),
	  .standard = "12",
	  .help = "How long a sender waits when no slot is free, as coded in the NAK (12: 640 us)." },
	{ .name = "cnp_interval", WHOLE(TIME), RANGE(0, SECOND), FIELD(config_roce, cnp_interval_ns),
	  .standard = "50us",
	  .help = "Least time between two congestion notifications of a queue pair." },
	{ .name = "dcqcn", .type = CONFIG_TYPE_BOOLEAN, FIELD(config_roce, dcqcn),
	  .standard = "true",
	  .help = "Whether senders go slower when they are notified." },
	{ .name = "q_key", WHOLE(COUNT), RANGE(0, UINT32_MAX), FIELD(config_roce, q_key),
	  .standard = "0x11111111",
	  .help = "Q_Key of service ud." },
	{ .name = "partition_key", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_roce, partition_key),
	  .standard = "0xffff",
	  .help = "P_Key of all packets." },
	{ .name = "queue_pairs", LIST(queue_pair), ELEMENTS(config_roce, queue_pairs),
	  RANGE(0, CONFIG_MAX_QUEUE_PAIRS),
	  .help = "The connections of connection static." },
};
OBJECT(config_roce_object, roce_keys);
