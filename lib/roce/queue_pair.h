// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A queue pair: one end of a RoCE v2 connection, or a datagram endpoint. It holds the state of both
// of its halves, the responder (responder.h), which receives a peer's SENDs, WRITEs and READs, and
// the requester (requester.h), which sends them.
//
// Nothing of lib/roce does input or output, knows a clock or allocates after its creation. Times
// are nanoseconds of any steady clock, given as `now`.
//
// Threads: a queue pair and the engines that serve it belong to one thread, the lcore that receives
// its packets. The counters may be read by others at any time (relaxed loads).
#pragma once

#include "wire/roce.h"

#define QP_CACHE_LINE 64u

// An IPv6 address, or an IPv4 address as ::ffff:a.b.c.d, as it stands on the wire.
struct qp_address {
	uint8_t bytes[16];
};

// ip in host order: 10.0.0.1 = 0x0a000001.
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

// What ended a queue pair, and why a message did not get through.
enum qp_cause {
	QP_NO_CAUSE = 0,
	QP_SENT_INVALID,         // we answered NAK 0x61, invalid request
	QP_SENT_ACCESS,          // we answered NAK 0x62, remote access
	QP_SENT_OPERATIONAL,     // we answered NAK 0x63, remote operational
	QP_RECEIVED_INVALID,     // the peer answered NAK 0x61
	QP_RECEIVED_ACCESS,      // the peer answered NAK 0x62
	QP_RECEIVED_OPERATIONAL, // the peer answered NAK 0x63
	QP_RETRIES_EXCEEDED,     // no answer, or sequence NAKs only, retry_count times
	QP_RNR_EXCEEDED,         // receiver not ready, rnr_retry times
	QP_CLOSED,               // closed by us or by the peer with messages unfinished
	QP_N_CAUSES
};

// Why a packet was dropped. Each dropped packet is counted under one of them.
enum qp_drop {
	QP_DROP_STATE,   // the queue pair is not connected, or in error
	QP_DROP_SERVICE, // RC packet for a UC queue pair and the like, a request where none may be
	QP_DROP_PEER,    // not from the peer's address
	QP_DROP_P_KEY,   // another partition
	QP_DROP_Q_KEY,   // UD: another Q_Key
	QP_DROP_AHEAD,   // RC: PSN beyond the expected one
	QP_DROP_DUPLICATE,   // RC: PSN before the expected one: SEND and WRITE re-acknowledged
	QP_DROP_STALE_READ,  // RC: a READ asked for anew that is no longer remembered, or differs
	QP_DROP_GAP,         // UC: belongs to a message of which a packet was lost
	QP_DROP_SEQUENCE,    // MIDDLE or LAST without FIRST, another message inside a message
	QP_DROP_LENGTH,      // payload, padding or DMA length contradict each other or the path MTU
	QP_DROP_ACCESS,      // rkey, range or permission
	QP_DROP_UNSUPPORTED, // atomics, SEND with invalidate, READ or WRITE where not permitted
	QP_DROP_NO_RESOURCE, // the caller had no place for it: RNR NAK, or lost on UC and UD
	QP_DROP_REFUSED,     // the caller refused it for another reason
	QP_DROP_GHOST,       // requester: a response to nothing that is outstanding
	QP_DROP_RESPONSE,    // requester: a response that contradicts its request, or out of order
	QP_N_DROPS
};

// "state", "service", ...; names of causes likewise: "sent_invalid". "unknown" outside. Never NULL.
const char *qp_drop_name(enum qp_drop drop);
const char *qp_cause_name(enum qp_cause cause);
const char *qp_state_name(enum qp_state state);

enum qp_nak {
	QP_NAK_SEQUENCE,    // 0x60
	QP_NAK_INVALID,     // 0x61
	QP_NAK_ACCESS,      // 0x62
	QP_NAK_OPERATIONAL, // 0x63
	QP_N_NAKS
};

// Every packet given to responder_check() or requester_receive() is counted once, as one of
// packets, responses or drops.
struct qp_counters {
	// As responder.
	uint64_t packets; // requests taken
	uint64_t bytes;   // of their payload
	uint64_t messages;
	uint64_t lost;    // UC: packets that are missing, by their PSNs
	uint64_t aborted; // UC: messages that had begun and were not finished
	uint64_t acks_sent;
	uint64_t naks_sent[QP_N_NAKS];
	uint64_t rnr_sent;
	uint64_t reads;        // READ requests taken
	uint64_t reads_again;  // READ requests served again
	uint64_t read_packets; // responses
	uint64_t read_bytes;
	uint64_t cnp_sent;

	// As requester.
	uint64_t sent_packets; // retransmissions included
	uint64_t sent_bytes;
	uint64_t sent_messages; // completed, READs included
	uint64_t failed_messages;
	uint64_t retransmissions; // packets
	uint64_t timeouts;
	uint64_t responses; // taken: ACK, NAK, READ response
	uint64_t acks_received;
	uint64_t naks_received[QP_N_NAKS];
	uint64_t rnr_received;
	uint64_t implied_naks; // an answer beyond a READ that is not answered
	uint64_t data_packets; // READ responses placed
	uint64_t data_bytes;
	uint64_t cnp_received;

	uint64_t drops[QP_N_DROPS];
	uint64_t icrc_errors; // the caller counts: packets with a wrong ICRC go no further
};

static inline void qp_count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

// Only qp_table.c, responder*.c and requester*.c write these fields; others may read them.
struct queue_pair {
	// First line: what the responder needs for every packet.
	uint32_t qpn;      // 24 bits, all of them compared
	uint32_t peer_qpn; // 24 bits
	uint8_t state;     // enum qp_state
	uint8_t service;   // enum roce_service: RC, UC or UD
	uint8_t receiving; // the message that has begun: 0, QP_RECEIVING_SEND or _WRITE
	uint8_t silent;    // a NAK or RNR NAK was sent: wait for the expected PSN. UC: drop message
	uint16_t partition_key; // the membership bit does not matter
	uint16_t path_mtu;      // bytes
	uint32_t expected_psn;
	uint32_t msn;        // messages completed, 24 bits
	uint32_t newest_psn; // of the last SEND or WRITE taken: what duplicates are answered with
	uint32_t owed_psn;   // of the last packet that asked for an ACK
	uint16_t owed;       // ACKs that are owed
	uint8_t owed_nak;    // syndrome of a NAK that READ responses are in front of; 0: none
	uint8_t access;      // QP_MAY_WRITE | QP_MAY_READ
	uint32_t offset;     // of the next byte, in the message
	uint32_t left;       // bytes of a WRITE that are to come
	uint32_t rkey;       // of the WRITE
	uint64_t address;    // of the WRITE's next byte

	// Second line: peer, answers.
	struct qp_address peer __attribute__((aligned(QP_CACHE_LINE)));
	uint64_t next_cnp;                        // ns: no CNP before
	uint32_t qkey;                            // UD
	uint32_t index;                           // in the table
	uint16_t read_head, read_tail, read_next; // READs that are remembered; see responder_read.c
	uint8_t responder_listed, requester_listed; // in the engines' lists
	uint8_t completion_listed;
	uint8_t cause;   // enum qp_cause
	uint8_t aborted; // UC: a message had begun, and the caller has not been told of its end

	// Third and fourth line: the requester.
	uint32_t first_psn __attribute__((aligned(QP_CACHE_LINE))); // oldest not acknowledged
	uint32_t next_psn;                                          // to send
	uint32_t end_psn;                                           // behind the newest ever sent
	uint32_t post_psn;                                          // of the message posted next
	uint32_t asked_psn; // behind the newest that asked for an ACK, since we went back
	// Messages by serial number, place in the ring by its low bits:
	// reaped <= done <= current <= posted.
	uint32_t reaped;            // completions before it were told
	uint32_t done;              // oldest not completed
	uint32_t current;           // that next_psn belongs to, or posted
	uint32_t posted;            // next free number
	uint32_t since_ack_request; // packets
	uint32_t window;    // packets that may be unacknowledged, if fewer than the requester's
	uint16_t reads_out; // READs sent and not answered
	uint8_t retries, rnr_retries; // left
	uint8_t recovering;           // went back once for a missing response: not again
	uint8_t waits_rnr;            // for the time that an RNR NAK stated
	uint8_t timeout_code;         // of the ACK timeout; 0: none
	uint8_t retry_count;          // 0..7
	uint8_t rnr_retry_count;      // 7: for ever
	uint8_t max_reads;
	uint64_t deadline;    // ns of the ACK timeout; UINT64_MAX: not running
	uint64_t resume;      // ns: nothing is sent before (RNR)
	uint64_t next_send;   // ns: by rate
	uint64_t ns_per_byte; // 32 bits of fraction; 0: as fast as can be

	void *user;      // the caller's
	uint64_t opened; // ns

	struct qp_counters counters __attribute__((aligned(QP_CACHE_LINE)));
};

_Static_assert(offsetof(struct queue_pair, peer) == QP_CACHE_LINE &&
		   offsetof(struct queue_pair, first_psn) == 2 * QP_CACHE_LINE &&
		   offsetof(struct queue_pair, counters) == 4 * QP_CACHE_LINE,
	       "the lines of a queue pair are as they say");

#define QP_RECEIVING_SEND  1u
#define QP_RECEIVING_WRITE 2u
#define QP_MAY_WRITE       1u
#define QP_MAY_READ        2u

// How to connect a queue pair. What does not apply to its service is not looked at.
struct qp_connection {
	struct qp_address peer; // UD: not looked at, anybody may send
	uint32_t peer_qpn;
	uint32_t local_psn;     // the first that we send
	uint32_t peer_psn;      // the first that the peer sends
	uint32_t path_mtu;      // 256, 512, 1024, 2048 or 4096
	uint32_t qkey;          // UD
	uint16_t partition_key; // ROCE_DEFAULT_P_KEY
	uint8_t access;         // QP_MAY_WRITE | QP_MAY_READ
	uint8_t timeout_code;   // ACK timeout 4.096 us * 2^code, 1..31; 0: never
	uint8_t retry_count;    // 0..7
	uint8_t rnr_retry;      // 0..7, 7: for ever
	uint8_t max_reads;      // READs that we have outstanding, at least 1
	void *user;
};
