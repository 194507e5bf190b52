// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Captures of RoCE v2: the messages that requesters sent, so that they can be sent again over other
// connections.
//
// A connection is all traffic from one address to one queue pair of another address. The packets of
// its SENDs and WRITEs are sorted by packet number; of packets with the same number the first
// counts, so that a message is whole if a packet was lost on the wire and sent again. A message
// that lacks a packet is left out. READs, atomics, responses and connection messages are skipped,
// and so are packets with a wrong ICRC and packets of which the capture has only the first bytes.
//
// If two connections of one capture used the same queue pair number, one after the other, they
// count as one connection, also if the later one begins again with the packet numbers of the
// earlier one (roce_capture_runs.h). A later run that repeats all bytes of the earlier one counts
// as sent again.
//
// Threads: made and freed by one thread; read-only in between.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/generator.h"

// A SEND or WRITE.
struct roce_message {
	uint64_t time_ns; // of its first packet, since that of the capture's first message
	uint64_t at;      // offset of its bytes in roce_capture.bytes, a multiple of 64
	uint64_t offset;  // WRITE: of its address from the lowest address of the connection
	uint32_t size;
	uint32_t immediate;
	bool is_write, has_immediate, solicited;
};

struct roce_stream {
	uint8_t source[16], destination[16]; // addresses as in IPv6 (IPv4: ::ffff:a.b.c.d)
	uint32_t qpn;                        // of the receiver
	uint32_t source_qpn;                 // UD; else 0
	uint32_t first_psn;
	uint8_t service;                    // enum roce_service: RC, UC or UD
	uint16_t source_id;                 // of its first MFP
	bool is_mixed;                      // some MFPs have another source id
	uint64_t mfps;                      // messages that are an MFP
	uint64_t first_message, n_messages; // in roce_capture.messages
	uint64_t lost_messages;             // messages that are not whole
};

struct roce_capture {
	struct roce_stream *streams;
	unsigned n_streams;
	struct roce_message *messages; // by stream, in the order in which they were posted
	uint64_t n_messages;
	uint8_t *bytes; // of all messages
	uint64_t n_bytes;

	uint64_t packets;  // of the capture
	uint64_t requests; // SEND and WRITE packets
	uint64_t repeated; // requests with the number of an earlier one
	uint64_t others;   // other RoCE packets: responses, READs, atomics, connection messages
	uint64_t damaged;  // RoCE packets with a wrong ICRC
	uint64_t cut;      // RoCE packets of which the capture has only the first bytes

	// Of the messages that are MFPs, except end-of-run MFPs
	uint16_t source_ids[65536]; // n_sources, ascending
	unsigned n_sources;
	uint32_t packing;       // most frequent number of fragments; 1 if there is none
	uint64_t events;        // distinct event ids
	uint64_t largest_open;  // largest number of events between their first and last MFP
	uint64_t largest_event; // bytes, sum of the MFPs of one event
	uint32_t largest_message;

	// The reason why reading stopped before the end of the file; "": it did not.
	char problem[SOURCE_ERROR_SIZE];
};

// Reads the capture: packets to and from UDP port `udp_port`. Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE]: no capture, no RoCE packet in it, or no whole message.
int roce_capture_read(struct roce_capture **capture, const char *path, uint16_t udp_port,
		      char *error);

void roce_capture_free(struct roce_capture *capture);

// Whether the file is a capture with a SEND or WRITE packet of correct ICRC among its first `most`
// packets (UINT64_MAX: all).
bool roce_capture_is(const char *path, uint16_t udp_port, uint64_t most);
