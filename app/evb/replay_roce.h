// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// `evb replay` of captures of RoCE: the messages of the captured connections are sent again, over
// connections that replay makes itself, to another appliance or to builders in the same process.
#pragma once

#include <cjson/cJSON.h>

#include "source/roce_capture.h"

struct replay_roce {
	const char *capture;
	const char *deadline;
	double speed;
	// To another appliance; NULL where the events are built here
	const char *to, *to_mac;
	const char *profile, *device, *address, *mtu;
};

// Prints one line about the content of the capture.
void replay_roce_print(const struct roce_capture *capture, const char *path);

// A configuration, without writers, that sends the capture's messages. NULL after one line on
// stderr.
cJSON *replay_roce_compose(const struct replay_roce *replay, const struct roce_capture *capture);

// What configurations for captures of all kinds share: a builder whose slots fit the largest event
// (bytes) and the largest number of events that the capture has open at a time; and the generator
// that sends the capture, of this kind.
void replay_compose_builder(cJSON *root, const struct replay_roce *replay, uint64_t largest_event,
			    uint64_t largest_open, unsigned n_sources, uint32_t packing);
void replay_compose_generator(cJSON *root, const struct replay_roce *replay, const char *kind);
