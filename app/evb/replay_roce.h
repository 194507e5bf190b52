// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// `evb replay` for captures of RoCE. It sends the messages of the captured connections again, over
// new connections, to another appliance or to builders in the same process.
#pragma once

#include <cjson/cJSON.h>

#include "source/roce_capture.h"

struct replay_roce {
	const char *capture;
	uint64_t deadline_ns; // for which an event waits for missing data
	double speed;
	// IP and MAC address of another appliance; NULL: this process builds the events.
	const char *to, *to_mac;
	const char *profile, *device, *address, *gateway, *mtu;
};

// Prints one line about the content of the capture.
void replay_roce_print(const struct roce_capture *capture, const char *path);

// Prints one line if messages are not whole in the capture; true if so.
bool replay_roce_print_lost(const struct roce_capture *capture, const char *path);

// Creates a configuration, without writers, that sends the capture's messages. NULL after one line
// on stderr.
cJSON *replay_roce_compose(const struct replay_roce *replay, const struct roce_capture *capture);

// Adds the parts that configurations for captures of all kinds have: a builder, whose slots have
// room for the largest event (bytes) and whose number of slots is enough for the largest number of
// events that are open at the same time in the capture; and a generator of this kind, which sends
// the capture.
void replay_compose_builder(cJSON *root, const struct replay_roce *replay, uint64_t largest_event,
			    uint64_t largest_open, unsigned n_sources, uint32_t packing);
void replay_compose_generator(cJSON *root, const struct replay_roce *replay, const char *kind);
