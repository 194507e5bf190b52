// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of a port: boards send segments to the port during the run, and the rx roles of the
// port pass them to this store over links. The store puts them together into blocks
// (store/block_assembly.h), which are sent from where they lie.
//
// If the store is full, it drops segments, or, where it holds back, takes nothing from its links
// until it has room, so that the rx roles stop receiving and the port pauses the boards.
#pragma once

#include <stdbool.h>

#include "packet/source_table.h"
#include "pipeline/link.h"
#include "store/block_assembly.h"

#define PORT_STORE_LINKS 64 // rx queues of a port

struct port_store_parameters {
	struct block_assembly_parameters assembly; // `memory` is the store's
	const struct source_table *sources;        // of the rx roles; outlives the store
	int numa_node;
};

// Control thread. NULL if memory ran out, or no source is expected in this run.
struct block_store *port_store_create(const struct port_store_parameters *parameters);

// Adds the link from an rx role, at most PORT_STORE_LINKS. Control thread, before the roles run.
void port_store_connect(struct block_store *store, struct link *link);

// Frees the segments that wait in the links, and counts them as late. Control thread, when the
// roles have ended, and before the links and the port are closed.
void port_store_flush(struct block_store *store);

// Whether the store is one of a port. The next four are for such stores only. Any thread.
bool port_store_is(const struct block_store *store);

const struct block_assembly_counters *port_store_counters(const struct block_store *store);
const struct block_memory *port_store_memory(const struct block_store *store);

// How many further events have room, with all their blocks of the largest size. *begun is the
// number of events that have begun.
uint32_t port_store_room(const struct block_store *store, uint64_t *begun);

// Adds what the store has counted of a source, given by its index in the source table.
void port_store_add_source(const struct block_store *store, unsigned source,
			   struct block_assembly_source_counters *sum);
