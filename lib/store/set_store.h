// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of a source set (source/source_set.h): all blocks were made before the run. All events
// are ready at once and stay available, whatever is released.
#pragma once

#include "source/source_set.h"
#include "store/block_store.h"

// `set` outlives the store. first_event: event id of event index 0. NULL if memory ran out.
struct block_store *set_store_create(const struct source_set *set, uint64_t first_event);
