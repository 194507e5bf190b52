// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Parts of an output and of a store that do nothing: for the tests of a readout in which they have
// no effect.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "readout/readout_logic.h"

// A block of 64 bytes of each event and source.
static inline struct store_block stub_find_block(struct block_store *store, uint64_t event,
						 unsigned source)
{
	static const uint8_t bytes[64];

	(void)store;
	(void)event;
	(void)source;
	return (struct store_block){ .bytes = bytes, .size = sizeof(bytes) };
}

static inline bool stub_may_send(void *context, uint64_t now)
{
	(void)context;
	(void)now;
	return true;
}

static inline bool stub_finish(void *context)
{
	(void)context;
	return true;
}
