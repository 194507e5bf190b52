// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RoCE packets of a capture, in the order in which they were seen.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "roce/queue_pair.h"

struct heard {
	struct roce_packet packet;
	struct qp_address source, destination;
	const uint8_t *payload; // packet.payload_size bytes
};

struct conversation {
	struct heard *packets;
	size_t n;
	uint8_t *bytes; // of all frames
};

// Reads vectors/roce/NAME.pcap of the shared data; skips the test if it is not there.
struct conversation conversation_read(const char *name);
void conversation_free(struct conversation *conversation);
