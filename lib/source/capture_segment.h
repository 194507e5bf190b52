// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Finds the EJFAT segments of a capture. Internal to lib/source. Threads: any.
#pragma once

#include "source/capture.h"
#include "wire/ejfat.h"

#define CAPTURE_ETHERNET 65536u // instead of a port: the segment follows EtherType NET_TYPE_EVB
#define CAPTURE_NO_PORT  UINT32_MAX

// What a packet shows.
struct capture_sight {
	uint32_t port;  // CAPTURE_NO_PORT: neither UDP nor EtherType NET_TYPE_EVB
	bool plausible; // it decodes as a segment, and is no packet of RoCE
	struct ejfat_segment segment;
	const uint8_t *payload;
	size_t captured; // bytes of the payload
};

struct capture_sight capture_look(const struct capture_packet *packet);
