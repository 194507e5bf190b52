// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The file of a producer ring, on the appliance's side: it is made, or adopted from a dead process.
// Control thread.
#pragma once

#include "producer/producer_layout.h"
#include "producer/producer_ring.h"

struct producer_file {
	struct producer_view view; // its descriptor has the owner's lock
	struct evring_guard *guard;
	int hold; // descriptor of the place's lock file, with this ring's byte
	char place[EVRING_PLACE_SIZE];
	char path[PRODUCER_PATH_SIZE];
	uint64_t page_size; // bytes
	bool adopted;
};

// As producer_ring_open().
int producer_file_open(struct producer_file *file,
		       const struct producer_ring_parameters *parameters, char *error);

// Unmaps the file, and removes it if `remove` is set.
void producer_file_close(struct producer_file *file, bool remove);
