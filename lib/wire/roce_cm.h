// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// InfiniBand connection management (IBA volume 1, chapter 12), as librdmacm uses it: MADs of 256
// bytes, big-endian, each the payload of a UD SEND_ONLY from queue pair 1 to queue pair 1.
//
//   MAD header, 24 B:
//     0 u8 base version 1 | 1 u8 class 0x07 | 2 u8 class version 2 | 3 u8 method 3 = send
//     4 u16 status 0 | 6 u16 0 | 8 u64 transaction id
//    16 u16 attribute: the message type | 18 u16 0 | 20 u32 0
//   then 232 B of the message; the last bytes are private data, whose size depends on the message:
//     REQ        opens a connection                      92 B of private data
//     MRA        delays the response to a REQ or REP    222
//     REJ        refuses a REQ, or gives up             148
//     REP        accepts a REQ                          196
//     RTU        confirms the REP                       224
//     DREQ, DREP end a connection, and confirm          220, 224
//     SIDR_REQ, SIDR_REP  request and report the queue pair of a UD service   216, 136
//
// Connections of the RDMA IP CM service (annex A11) carry the addresses in the first 36 bytes of
// the private data of REQ and SIDR_REQ:
//     0 u8 version 0 | 1 u8 IP version << 4 | 2 u16 source port
//     4 source address, 20 destination address, 16 B each; an IPv4 address follows 12 zero bytes
// and the destination port in the service id: protocol << 16 | port.
#pragma once

#include "wire/wire.h"

#define ROCE_CM_MAD_SIZE    256u
#define ROCE_CM_QPN         1u
#define ROCE_CM_QKEY        0x80010000u
#define ROCE_CM_INFO_SIZE   72u // additional information of REJ and SIDR_REP, bytes
#define ROCE_CM_IP_SIZE     36u
#define ROCE_CM_SERVICE_TCP 0x01060000u // service id of RDMA_PS_TCP: | port
#define ROCE_CM_NO_LID      0xFFFFu     // RoCE has no LIDs and uses this value

enum roce_cm_attribute {
	ROCE_CM_REQ = 0x10,
	ROCE_CM_MRA = 0x11,
	ROCE_CM_REJ = 0x12,
	ROCE_CM_REP = 0x13,
	ROCE_CM_RTU = 0x14,
	ROCE_CM_DREQ = 0x15,
	ROCE_CM_DREP = 0x16,
	ROCE_CM_SIDR_REQ = 0x17,
	ROCE_CM_SIDR_REP = 0x18,
};

// The message that a REJ or MRA refers to.
enum roce_cm_subject {
	ROCE_CM_ABOUT_REQ = 0,
	ROCE_CM_ABOUT_REP = 1,
	ROCE_CM_ABOUT_OTHER = 2, // no message (REJ: usually a timeout), or a LAP (MRA)
};

enum roce_cm_reason {
	ROCE_CM_NO_QP = 1,
	ROCE_CM_NO_RESOURCES = 3,
	ROCE_CM_TIMEOUT = 4,
	ROCE_CM_UNSUPPORTED = 5,
	ROCE_CM_INVALID_COMM_ID = 6,
	ROCE_CM_INVALID_COMM_INSTANCE = 7,
	ROCE_CM_INVALID_SERVICE_ID = 8, // no listener on this service id
	ROCE_CM_INVALID_TRANSPORT = 9,
	ROCE_CM_STALE_CONNECTION = 10,
	ROCE_CM_INVALID_GID = 12,
	ROCE_CM_INVALID_MTU = 26,
	ROCE_CM_INSUFFICIENT_RESOURCES = 27,
	ROCE_CM_CONSUMER_DEFINED = 28, // refused by the listening application
	ROCE_CM_INVALID_RNR_RETRY = 29,
	ROCE_CM_DUPLICATE_COMM_ID = 30,
	ROCE_CM_INVALID_CLASS_VERSION = 31,
};

// What a reason means, for a line of text; "refused for another reason" if it is not in the enum.
const char *roce_cm_reason_text(unsigned reason);

enum roce_cm_transport {
	ROCE_CM_RC = 0,
	ROCE_CM_UC = 1,
};

enum roce_cm_sidr_status {
	ROCE_CM_SIDR_VALID = 0,
	ROCE_CM_SIDR_NO_SERVICE = 1,
	ROCE_CM_SIDR_REJECTED = 2,
	ROCE_CM_SIDR_NO_QP = 3,
};

// A path of a REQ; "local" is the sender of the REQ. Timeouts, here and below, are codes
// (roce_timeout_ns).
struct roce_cm_path {
	uint8_t local_gid[16];
	uint8_t remote_gid[16];
	uint32_t flow_label; // 20 bits
	uint16_t local_lid, remote_lid;
	uint8_t packet_rate; // 6 bits
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t service_level; // 4 bits
	uint8_t ack_timeout;   // 5 bits
	bool subnet_local;
};

struct roce_cm_req {
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t qkey;
	uint32_t qpn;          // 24 bits, the sender's
	uint32_t starting_psn; // 24 bits, that the receiver's send queue is to begin with
	uint16_t partition_key;
	uint8_t responder_resources; // largest number of READs that the sender serves at a time
	uint8_t initiator_depth;     // largest number of READs that the sender requests at a time
	uint8_t remote_response_timeout; // 5 bits
	uint8_t local_response_timeout;  // 5 bits
	uint8_t transport;               // 2 bits, enum roce_cm_transport
	uint8_t extended_transport;      // 3 bits
	uint8_t retry_count;             // 3 bits
	uint8_t rnr_retry_count;         // 3 bits
	uint8_t path_mtu;                // 4 bits, a code (roce_mtu_bytes)
	uint8_t max_cm_retries;          // 4 bits
	bool flow_control, srq, rdc_exists;
	struct roce_cm_path primary, alternate;
};

struct roce_cm_rep {
	uint64_t ca_guid;
	uint32_t qkey;
	uint32_t qpn;          // 24 bits, the sender's
	uint32_t starting_psn; // 24 bits, that the receiver's send queue is to begin with
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay; // 5 bits
	uint8_t failover;         // 2 bits
	uint8_t rnr_retry_count;  // 3 bits
	bool flow_control, srq;
};

struct roce_cm_rej {
	uint16_t reason; // enum roce_cm_reason or another number
	uint8_t subject; // enum roce_cm_subject
};

struct roce_cm_mra {
	uint8_t subject;         // enum roce_cm_subject
	uint8_t service_timeout; // 5 bits
};

struct roce_cm_dreq {
	uint32_t remote_qpn; // 24 bits, of the receiver of the DREQ
};

struct roce_cm_sidr_req {
	uint64_t service_id;
	uint16_t partition_key;
};

struct roce_cm_sidr_rep {
	uint64_t service_id;
	uint32_t qpn; // 24 bits
	uint32_t qkey;
	uint8_t status; // enum roce_cm_sidr_status
};

// A message. The attribute selects the valid member of the union; RTU and DREP have none.
struct roce_cm {
	uint64_t transaction;
	enum roce_cm_attribute attribute;
	uint32_t local_id;  // the sender's communication id; SIDR: the request id
	uint32_t remote_id; // the receiver's; 0 in REQ and SIDR
	union {
		struct roce_cm_req req;
		struct roce_cm_rep rep;
		struct roce_cm_rej rej;
		struct roce_cm_mra mra;
		struct roce_cm_dreq dreq;
		struct roce_cm_sidr_req sidr_req;
		struct roce_cm_sidr_rep sidr_rep;
	};
	// Additional information of REJ and SIDR_REP; at most ROCE_CM_INFO_SIZE.
	const uint8_t *info;
	size_t info_size;
	// After decoding, private_size is the full room of the message, and `info` and
	// `private_data` point into the MAD. Before encoding, any size that fits is allowed; zeros
	// follow. NULL if the size is 0.
	const uint8_t *private_data;
	size_t private_size;
};

// The room for private data in a message, bytes; 0 if the attribute is none of the above.
size_t roce_cm_private_room(enum roce_cm_attribute attribute);

// Decodes a MAD. Reserved bits are ignored. Errors: TRUNCATED, BAD_VERSION (of MADs or of the
// class), UNSUPPORTED (another class, method or attribute), BAD_LENGTH (additional information
// longer than its field).
enum wire_error roce_cm_decode(const uint8_t *mad, size_t length, struct roce_cm *message);

// Encodes a message. Errors: NO_ROOM (private data or information does not fit), UNSUPPORTED
// (attribute); the MAD is then unspecified.
enum wire_error roce_cm_encode(uint8_t mad[ROCE_CM_MAD_SIZE], const struct roce_cm *message);

// The addresses in the private data of a REQ or SIDR_REQ.
struct roce_cm_ip {
	uint8_t source[16]; // in the byte order of the wire
	uint8_t destination[16];
	uint16_t source_port;
	uint8_t version; // 4 or 6
};

// True for the service ids of the RDMA IP CM service; *port is then the destination port.
bool roce_cm_ip_service(uint64_t service_id, uint16_t *port);

// Decodes the first ROCE_CM_IP_SIZE bytes of private data. Errors: TRUNCATED, BAD_VERSION (of the
// header, or neither IPv4 nor IPv6).
enum wire_error roce_cm_ip_decode(const uint8_t *private_data, size_t size, struct roce_cm_ip *ip);
void roce_cm_ip_encode(uint8_t private_data[ROCE_CM_IP_SIZE], const struct roce_cm_ip *ip);
