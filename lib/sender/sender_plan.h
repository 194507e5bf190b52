// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What follows from the options of a sender, and from the configuration of its system.
#pragma once

#include "config/config.h"
#include "sender/evb_sender.h"
#include "sender/sender_core.h"
#include "sender/sender_sockets.h"
#include "store/ring_store.h"

#define SENDER_ERROR_SIZE CONFIG_ERROR_SIZE

struct sender_plan {
	struct config *config; // NULL: no system
	uint16_t *ids;         // [ring.n_ids], ascending
	char name[EVB_NAME_SIZE];
	char directory[EVB_PATH_SIZE]; // empty: none is given
	struct sender_receiver receivers[EVB_MAX_SYSTEM_BUILDERS];
	struct control_keys keys;
	struct ring_store_parameters ring;
	struct sender_sockets_parameters sockets;
	struct sender_core_parameters core; // without the wire and the store
};

// The plan must not be moved: its members point to each other. Returns 0, or a negative errno with
// one line in error[SENDER_ERROR_SIZE]; call sender_plan_free() even then.
int sender_plan_make(struct sender_plan *plan, const struct evb_sender_options *options,
		     char *error);
void sender_plan_free(struct sender_plan *plan);
