// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Segments out of a socket of the kernel, many with one system call and without a copy in user
// space.
#pragma once

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "wire/ejfat.h"
#include "wire/mfp.h"

#define UDP_STREAM_BATCH 64u // segments in a system call

struct udp_stream {
	int socket;
	uint32_t segment; // most bytes of payload in a segment
	// The kernel is given several segments of one size as one buffer (UDP_SEGMENT of udp(7)).
	// Set it after udp_stream_open().
	bool joins;
	struct mmsghdr messages[UDP_STREAM_BATCH];
	// UDP_SEGMENT of each message
	_Alignas(struct cmsghdr) uint8_t controls[UDP_STREAM_BATCH][CMSG_SPACE(sizeof(uint16_t))];
	struct iovec parts[UDP_STREAM_BATCH][2];
	uint8_t heads[UDP_STREAM_BATCH][EJFAT_RE_SIZE + MFP_HEADER_SIZE];
	unsigned n;
	uint64_t packets, bytes; // sent; bytes of UDP payload
};

// Opens a stream to "10.0.0.2" on a path of this MTU. `from`: the own address that it sends from,
// or NULL. Ends the program if it cannot.
void udp_stream_open(struct udp_stream *stream, const char *from, const char *address,
		     uint16_t port, uint32_t mtu);

// Sends a block, an MFP whose event id is patched on the way. The block must stay as it is until
// the flush.
void udp_stream_put(struct udp_stream *stream, uint16_t source, uint64_t event_id,
		    const uint8_t *block, uint32_t length);

// Sends one segment as it is, but for the event id of an MFP header at its start.
void udp_stream_put_segment(struct udp_stream *stream, const struct ejfat_re *re,
			    const uint8_t *bytes, uint32_t size);

// Sends what is held back.
void udp_stream_flush(struct udp_stream *stream);
