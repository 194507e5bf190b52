// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reading of capture files, pcap or pcapng, of Ethernet frames.
//
// Threads: a capture belongs to one thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/generator.h"

struct capture;

struct capture_packet {
	const uint8_t *bytes; // until the next call for this capture
	uint32_t captured;    // bytes at hand
	uint32_t length;      // bytes of the frame on the wire, without FCS
	uint64_t time_ns;     // since 1970
};

// Opens a capture. Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE]: no capture file, or
// another link type than Ethernet.
int capture_open(struct capture **capture, const char *path, char *error);

// The next packet. False behind the last one, or where the file cannot be read further.
bool capture_next(struct capture *capture, struct capture_packet *packet);

// Why capture_next() said false before the end of the file (a last packet cut short, as a capture
// leaves that was killed; or corruption), in one line; NULL if it did not.
const char *capture_problem(const struct capture *capture);

void capture_close(struct capture *capture);
