// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Capturing what a port receives into a pcapng file, with nanosecond timestamps. Control thread:
// it is a tool for taking samples, on one thread, not for line rate.
#pragma once

#include <signal.h>
#include <stdint.h>

#include "port/settings.h"

#define PORT_CAPTURE_ERROR_SIZE 2048

struct port_capture_parameters {
	const struct port_settings *port;
	const char *path;    // of the file, made anew under a temporary name and renamed when whole
	const char *comment; // of the file; NULL: one that names the port
	uint64_t packets;    // to capture, 0: no end
	uint64_t limit_bytes;              // of packets, 0: no end
	uint64_t duration_ns;              // 0: no end
	const volatile sig_atomic_t *stop; // looked at between bursts
};

struct port_capture_counters {
	uint64_t packets, bytes; // in the file
	uint64_t missed;         // by the port: there was no buffer or no time for them
};

// Starts the EAL, opens the port, captures, and ends both again: once in a process. Returns 0, or
// -1 with one line in error[PORT_CAPTURE_ERROR_SIZE]; packets that were captured before an error
// of the file stay under the temporary name.
int port_capture(const struct port_capture_parameters *parameters,
		 struct port_capture_counters *counters, char *error);
