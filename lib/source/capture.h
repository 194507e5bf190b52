// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads capture files of Ethernet frames, in pcap or pcapng format (libpcap).
//
// Threads: a capture belongs to one thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/generator.h"

struct capture;

struct capture_packet {
	const uint8_t *bytes; // until the next call for this capture
	uint32_t captured;    // bytes in the capture
	uint32_t length;      // bytes of the frame on the wire, without FCS
	uint64_t time_ns;     // since 1970
};

// Opens a capture. Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE]: the file is not a
// capture, or its link type is not Ethernet.
int capture_open(struct capture **capture, const char *path, char *error);

// Reads the next packet. False at the end of the file, or if the file cannot be read further.
bool capture_next(struct capture *capture, struct capture_packet *packet);

// The reason, in one line, why capture_next() returned false before the end of the file: the file
// is corrupt, or its last packet is incomplete because the capturing process was killed. NULL if
// the end was reached.
const char *capture_problem(const struct capture *capture);

void capture_close(struct capture *capture);
