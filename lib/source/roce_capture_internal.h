// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Shared by roce_capture.c, which reads the packets of a capture, and roce_capture_messages.c,
// which puts them together to messages.
#pragma once

#include <stddef.h>

#include "source/roce_capture.h"
#include "wire/roce.h"

// A request packet of the capture.
struct roce_record {
	uint32_t stream;
	uint32_t flags;    // of its opcode
	uint64_t number;   // PSN; goes on where PSNs wrap, and where the stream begins again
	uint64_t order;    // in the capture
	size_t n_previous; // index + 1 of the stream's previous record; 0: none
	uint64_t time_ns;
	uint64_t at; // of its payload in roce_reading.bytes
	uint64_t address;
	uint32_t size;
	uint32_t immediate;
	bool solicited;
};

struct roce_reading {
	struct roce_capture *capture;
	struct roce_record *records;
	size_t n_records;
	uint8_t *bytes;
	size_t n_bytes;
};

// Puts the packets together to messages and learns which of them are MFPs. False if memory ran out.
bool roce_capture_assemble(struct roce_reading *reading);
