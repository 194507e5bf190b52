// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A copy of many bytes from memory to memory, neither of which is in a cache. A processor fetches
// ahead only within a page, and only after it has seen several lines of it. So this copy fetches
// both the bytes and their destination COPY_AHEAD bytes before it copies, and near the end those of
// the next copy. Fetching does not change memory, so a wrong guess only costs time.
//
// Threads: any.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h> // rte_memcpy() is memcpy() where a sanitizer is used

#include <rte_memcpy.h>

#define COPY_AHEAD       1024u // bytes: what memory delivers within its latency
#define COPY_AHEAD_LEAST 512u  // bytes: shorter copies are over before what they fetch arrives

// What is expected to be copied next.
struct copy_next {
	const uint8_t *from, *to;
};

#define COPY_NEXT_UNKNOWN ((struct copy_next){ NULL, NULL })

// Copies n >= COPY_AHEAD_LEAST bytes, otherwise as copy_ahead(). It is not inlined, because the
// loops around short copies have more registers without it.
void copy_long(uint8_t *to, const uint8_t *from, size_t n, struct copy_next next);

// Copies n bytes, which do not overlap their destination. An address of `next` that is NULL: what
// lies behind these bytes.
static inline void copy_ahead(uint8_t *to, const uint8_t *from, size_t n, struct copy_next next)
{
	if (n < COPY_AHEAD_LEAST)
		rte_memcpy(to, from, n);
	else
		copy_long(to, from, n, next);
}
