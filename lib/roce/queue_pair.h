// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A queue pair: one end of a RoCE v2 connection, or a datagram endpoint. It holds the state of both
// of its halves: the responder (responder.h) receives a peer's SENDs, WRITEs and READs; the
// requester (requester.h) sends them.
//
// lib/roce does no input or output, reads no clock, and allocates memory only when an object is
// created. Times are nanoseconds of any steady clock, passed as `now`.
//
// Threads: a queue pair, its responder and its requester belong to one thread, the lcore that
// receives its packets. Other threads may read the counters at any time (relaxed loads).
#pragma once

#include "wire/roce.h"

#define QP_CACHE_LINE 64u

// An IPv6 address, or an IPv4 address as ::ffff:a.b.c.d, as it stands on the wire.
struct qp_address {
	uint8_t bytes[16];
};

// `ip` is in host order: 10.0.0.1 = 0x0a000001.
static inline struct qp_address qp_address_ipv4(uint32_t ip)
{
	struct qp_address address = { { 0 } };

	address.bytes[10] = 0xFF;
	address.bytes[11] = 0xFF;
	store_be32(address.bytes + 12, ip);
	return address;
}

static inline bool qp_address_is(const struct qp_address *a, const struct qp_address *b)
{
	return ((load_le64(a->bytes) ^ load_le64(b->bytes)) |
		(load_le64(a->bytes + 8) ^ load_le64(b->bytes + 8))) == 0;
}

static inline bool qp_address_is_ipv4(const struct qp_address *address)
{
	return load_le64(address->bytes) == 0 && load_le32(address->bytes + 8) == 0xFFFF0000u;
}

enum qp_state {
	QP_FREE = 0,
	QP_OPEN,  // has a number; receives and sends nothing yet
	QP_READY, // connected
	QP_ERROR, // ended by a fatal NAK or a retry limit, see queue_pair.cause; silent until
		  // closed
};

// The cause that ended a queue pair; also the result of each message (QP_NO_CAUSE: success).
enum qp_cause {
	QP_NO_CAUSE = 0,
	QP_SENT_INVALID,         // we sent NAK 0x61, invalid request
	QP_SENT_ACCESS,          // we sent NAK 0x62, remote access
	QP_SENT_OPERATIONAL,     // we sent NAK 0x63, remote operational
	QP_RECEIVED_INVALID,     // the peer sent NAK 0x61
	QP_RECEIVED_ACCESS,      // the peer sent NAK 0x62
	QP_RECEIVED_OPERATIONAL, // the peer sent NAK 0x63
	QP_RETRIES_EXCEEDED,     // no response, or sequence NAKs only, retry_count times
	QP_RNR_EXCEEDED,         // the receiver was not ready rnr_retry times
	QP_CLOSED,               // closed by us or by the peer before all messages were completed
	QP_N_CAUSES
};

// Why a packet was dropped. Each dropped packet is counted under one cause.
enum qp_drop {
	QP_DROP_STATE,   // the queue pair is not connected, or in error
	QP_DROP_SERVICE, // a packet of another service, or a response where only requests may come
	QP_DROP_PEER,    // not from the peer's address
	QP_DROP_P_KEY,   // the packet belongs to another partition
	QP_DROP_Q_KEY,   // UD: the Q_Key is not ours
	QP_DROP_AHEAD,   // RC: PSN beyond the expected one
	QP_DROP_DUPLICATE, // RC: PSN before the expected one; SEND and WRITE are acknowledged again
	QP_DROP_STALE_READ,  // RC: a repeated READ request that differs from the first, or is
			     // forgotten
	QP_DROP_GAP,         // UC: belongs to a message that has lost a packet
	QP_DROP_SEQUENCE,    // MIDDLE or LAST without FIRST, or FIRST inside another message
	QP_DROP_LENGTH,      // payload, padding or DMA length contradict each other or the path MTU
	QP_DROP_ACCESS,      // rkey, range or permission
	QP_DROP_UNSUPPORTED, // atomics, SEND with invalidate, READ or WRITE where not permitted
	QP_DROP_NO_RESOURCE, // the caller had no memory for it: RNR NAK on RC, lost on UC and UD
	QP_DROP_REFUSED,     // the caller refused it for another reason
	QP_DROP_GHOST,       // requester: a response, but no request with its PSN is outstanding
	QP_DROP_RESPONSE, // requester: a response out of order, or one that contradicts its request
	QP_N_DROPS
};

// Names for telemetry: "state", "service", ..., and for causes "sent_invalid", ... "unknown" for a
// value outside the enum. Never NULL.
const char *qp_drop_name(unsigned drop);
const char *qp_cause_name(enum qp_cause cause);

enum qp_nak {
	QP_NAK_SEQUENCE,    // 0x60
	QP_NAK_INVALID,     // 0x61
	QP_NAK_ACCESS,      // 0x62
	QP_NAK_OPERATIONAL, // 0x63
	QP_N_NAKS
};

// responder_check() and requester_receive() count each packet once, under packets, responses or
// drops.
struct qp_counters {
	// Responder.
	uint64_t packets; // requests accepted
	uint64_t bytes;   // of their payload
	uint64_t messages;
	uint64_t lost;    // UC: packets lost, by the gaps in the PSNs
	uint64_t aborted; // UC: messages that began but lost a packet
	uint64_t acks_sent;
	uint64_t naks_sent[QP_N_NAKS];
	uint64_t rnr_sent;
	uint64_t reads;        // READ requests accepted
	uint64_t reads_again;  // READ requests served again
	uint64_t read_packets; // responses
	uint64_t read_bytes;
	uint64_t cnp_sent;

	// Requester.
	uint64_t sent_packets; // retransmissions included
	uint64_t sent_bytes;
	uint64_t sent_messages; // completed messages, READs included
	uint64_t failed_messages;
	uint64_t retransmissions; // packets
	uint64_t timeouts;
	uint64_t responses; // accepted ACKs, NAKs and READ responses
	uint64_t acks_received;
	uint64_t naks_received[QP_N_NAKS];
	uint64_t rnr_received;
	uint64_t implied_naks; // responses that skip an outstanding READ, whose response was lost
	uint64_t data_packets; // READ responses accepted
	uint64_t data_bytes;
	uint64_t cnp_received;

	uint64_t drops[QP_N_DROPS];
	uint64_t icrc_errors; // packets with a wrong ICRC; counted by the caller, which drops them
};

static inline void qp_count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

// Only qp_table.c, responder*.c and requester*.c write these fields; other files may read them.
struct queue_pair {
	// First cache line: what the responder needs for most packets.
	uint32_t qpn;      // 24 bits; all of them are compared
	uint32_t peer_qpn; // 24 bits
	uint8_t state;     // enum qp_state
	uint8_t service;   // enum roce_service: RC, UC or UD
	uint8_t receiving; // the message in progress: 0, QP_RECEIVING_SEND or QP_RECEIVING_WRITE
	uint8_t silent; // RC: a NAK was sent, no other until the expected PSN arrives; UC: the rest
			// of the message is dropped
	uint16_t partition_key; // the membership bit does not matter
	uint16_t path_mtu;      // bytes
	uint32_t expected_psn;
	uint32_t msn;        // messages completed, 24 bits
	uint32_t newest_psn; // of the last SEND or WRITE accepted
	uint32_t owed_psn;   // of the last packet that requested an ACK
	uint16_t owed;       // requests for an ACK since the last ACK
	uint8_t owed_nak;    // syndrome of a NAK that follows the pending READ responses; 0: none
	uint8_t access;      // QP_MAY_WRITE | QP_MAY_READ
	uint32_t offset;     // of the next byte, in the message
	uint32_t left;       // bytes of the WRITE that have not arrived
	uint32_t rkey;       // of the WRITE
	uint64_t address;    // of the WRITE's next byte
	void *user;          // the caller's

	// Second cache line: peer, responses.
	struct qp_address peer __attribute__((aligned(QP_CACHE_LINE)));
	uint64_t next_cnp;                          // ns; no CNP is sent before
	uint32_t qkey;                              // UD
	uint32_t index;                             // in the table
	uint16_t read_head, read_tail, read_next;   // remembered READs, see responder_read.c
	uint8_t responder_listed, requester_listed; // in the engines' lists
	uint8_t completion_listed;
	uint8_t cause; // enum qp_cause

	// Third and fourth cache lines: the requester.
	uint32_t first_psn __attribute__((aligned(QP_CACHE_LINE))); // oldest PSN not acknowledged
	uint32_t next_psn;                                          // PSN of the next packet
	uint32_t end_psn;           // one past the newest PSN ever sent
	uint32_t post_psn;          // first PSN of the next message posted
	uint32_t ack_requested_psn; // one past the newest packet that requested an ACK, since the
				    // last go-back
	// Serial numbers of messages; the low bits are the index in the ring. reaped <= done <=
	// current <= posted.
	uint32_t reaped;            // oldest message whose completion is not reported
	uint32_t done;              // oldest message not completed
	uint32_t current;           // message that next_psn belongs to; equal to posted if none
	uint32_t posted;            // serial number of the next message posted
	uint32_t since_ack_request; // packets
	uint32_t window;    // largest number of unacknowledged packets, if below the requester's
	uint16_t reads_out; // READs sent that have no complete response
	uint8_t retries, rnr_retries; // left
	uint8_t recovering; // went back once for a lost READ response; the timeout handles the next
			    // loss
	uint8_t waits_rnr;  // waits until `resume`, after an RNR NAK
	uint8_t timeout_code;    // of the ACK timeout; 0: no timeout
	uint8_t retry_count;     // 0..7
	uint8_t rnr_retry_count; // 7: without limit
	uint8_t max_reads;
	uint64_t deadline;    // ns of the ACK timeout; UINT64_MAX: not running
	uint64_t resume;      // ns; no packet goes out earlier (RNR NAK)
	uint64_t next_send;   // ns; next packet by the rate
	uint64_t ns_per_byte; // fixed point, 32 bits of fraction; 0: no limit

	uint64_t opened; // ns

	struct qp_counters counters __attribute__((aligned(QP_CACHE_LINE)));
};

_Static_assert(offsetof(struct queue_pair, peer) == QP_CACHE_LINE &&
		   offsetof(struct queue_pair, first_psn) == 2 * QP_CACHE_LINE &&
		   offsetof(struct queue_pair, counters) == 4 * QP_CACHE_LINE,
	       "the lines of a queue pair are as they say");

// The number of packets of a message.
static inline uint32_t qp_count_packets(const struct queue_pair *qp, uint32_t length)
{
	unsigned shift = (unsigned)__builtin_ctz(qp->path_mtu);

	return length == 0 ? 1 : ((length - 1) >> shift) + 1;
}

#define QP_RECEIVING_SEND  1u
#define QP_RECEIVING_WRITE 2u
#define QP_MAY_WRITE       1u
#define QP_MAY_READ        2u

// How to connect a queue pair. Fields that do not apply to its service are ignored.
struct qp_connection {
	struct qp_address peer; // UD: ignored, any peer may send
	uint32_t peer_qpn;
	uint32_t local_psn;     // the first PSN that we send
	uint32_t peer_psn;      // the first PSN that the peer sends
	uint32_t path_mtu;      // 256, 512, 1024, 2048 or 4096
	uint32_t qkey;          // UD
	uint16_t partition_key; // ROCE_DEFAULT_P_KEY
	uint8_t access;         // QP_MAY_WRITE | QP_MAY_READ
	uint8_t timeout_code;   // ACK timeout 4.096 us * 2^code, 1..31; 0: no timeout
	uint8_t retry_count;    // 0..7
	uint8_t rnr_retry;      // 0..7; 7: without limit
	uint8_t max_reads;      // largest number of our READs outstanding, at least 1
	void *user;
};
