// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Captures of RoCE v2: what requesters sent, put together to messages, so that it can be sent again
// over other connections.
//
// A connection is what goes from one address to one queue pair of another. Its SENDs and WRITEs are
// put in the order of their packet numbers, and of a packet that is there more than once the first
// counts: what was lost on the wire and sent again is whole. A message of which the capture lacks a
// packet is left out. READs, atomics, answers and connection messages are passed over, and so are
// packets with a wrong ICRC and those that the capture holds the beginning of.
//
// A queue pair number that two connections of one capture used, one after the other, is taken for
// one connection.
//
// Threads: made and freed by one thread; read-only in between.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/generator.h"

// A SEND or WRITE.
struct roce_message {
	uint64_t time_ns; // of its first packet, since that of the capture's first message
	uint64_t at;      // of its bytes in roce_capture.bytes, a multiple of 64
	uint64_t offset;  // WRITE: of its address behind the lowest of the connection
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
	bool is_mixed;                      // other MFPs of it have another source id
	uint64_t mfps;                      // messages that are an MFP
	uint64_t first_message, n_messages; // in roce_capture.messages
	uint64_t lost_messages;             // not whole
};

struct roce_capture {
	struct roce_stream *streams;
	unsigned n_streams;
	struct roce_message *messages; // by stream, in the order in which they were posted
	uint64_t n_messages;
	uint8_t *bytes; // of all messages
	uint64_t n_bytes;

	uint64_t packets;  // of the capture
	uint64_t requests; // SEND and WRITE packets taken
	uint64_t repeated; // the same again
	uint64_t others; // RoCE packets that are none: answers, READs, atomics, connection messages
	uint64_t damaged; // RoCE packets with a wrong ICRC
	uint64_t cut;     // RoCE packets of which the capture holds the first bytes only

	// Of the messages that are MFPs, ends of run left out.
	uint16_t *source_ids; // n_sources, ascending
	unsigned n_sources;
	uint32_t packing;       // most frequent number of fragments; 1 if there is none
	uint64_t events;        // distinct event ids
	uint64_t largest_open;  // most events between their first and last MFP at a time
	uint64_t largest_event; // bytes, sum of an event's MFPs
	uint32_t largest_message;

	// Why reading stopped before the file's end; "": it did not.
	char problem[SOURCE_ERROR_SIZE];
};

// Reads the capture: packets to and from UDP port `udp_port`. Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE]: no capture, no RoCE packet in it, or no whole message.
int roce_capture_read(struct roce_capture **capture, const char *path, uint16_t udp_port,
		      char *error);

void roce_capture_free(struct roce_capture *capture);

// Whether the file is a capture that holds a SEND or WRITE packet with a right ICRC; looks at its
// first packets.
bool roce_capture_is(const char *path, uint16_t udp_port);
