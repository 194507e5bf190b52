// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Captures the packets that a port receives in a pcapng file, with nanosecond timestamps. It runs
// on the control thread alone: it is made for samples and not for line rate.
#pragma once

#include <signal.h>
#include <stdint.h>

#include "port/settings.h"

#define PORT_CAPTURE_ERROR_SIZE 2048

struct port_capture_parameters {
	const struct port_settings *port;
	const char *path;     // of the file; it has a temporary name until it is complete
	uint64_t packets;     // to capture; 0: no limit
	uint64_t limit_bytes; // of captured packets; 0: no limit
	uint64_t duration_ns; // 0: no limit
	const volatile sig_atomic_t *stop; // not 0: stop; read between bursts
};

struct port_capture_counters {
	uint64_t packets, bytes; // in the file
	uint64_t missed;         // packets that the port lost (port_missed())
};

// Starts the EAL, opens the port, captures, closes the port and ends the EAL. It can be called once
// per process. Returns 0, or -1 with one line in error[PORT_CAPTURE_ERROR_SIZE]; after an error of
// the file, the packets that were captured before remain under the temporary name.
int port_capture(const struct port_capture_parameters *parameters,
		 struct port_capture_counters *counters, char *error);
