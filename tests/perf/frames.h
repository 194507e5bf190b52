// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Blocks and packets that the benchmark's native tools send or parse.
#pragma once

#include <stdint.h>

#include "wire/ejfat.h"
#include "wire/net.h"

// Ethernet, IPv4, UDP and RE header.
#define FRAME_HEADERS (NET_HEADERS_SIZE + EJFAT_RE_SIZE)
#define FRAME_PORT    19522

// An MFP of `packing` fragments of `size` bytes each; *length is its size. Event id 0, to be
// patched by mfp_patch_event_id(). The caller frees it. Ends the program if it cannot be made.
uint8_t *frame_make_mfp(uint16_t source_id, unsigned packing, unsigned size, uint32_t *length);

// Writes the headers of one segment: FRAME_HEADERS bytes.
void frame_headers(uint8_t *frame, const struct ejfat_re *re, uint16_t payload_size);
