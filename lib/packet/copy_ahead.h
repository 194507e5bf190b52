// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A copy of many bytes from memory to memory, neither of which is in a cache. A processor fetches
// ahead only within a page, and only after it has seen several lines of it. So this copy fetches
// both the bytes and their destination COPY_AHEAD bytes before it copies, and near the end those of
// the next copy. Fetching does not change memory, so a wrong guess only costs time.
//
// Only processors of Intel gain by it: on a Xeon the builder takes up to 14 % less time, on an EPYC
// of AMD (Zen 3) 10 to 20 % more, with the destination alone 5 to 12 % more. The others use
// rte_memcpy().
//
// Threads: any.
#pragma once

#include <stdbool.h>
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

// Whether copy_ahead() fetches ahead when it copies n bytes, on this processor.
static inline bool copy_fetches_ahead(size_t n)
{
#ifdef RTE_ARCH_X86
	return n >= COPY_AHEAD_LEAST && __builtin_cpu_is("intel");
#else
	(void)n;
	return false;
#endif
}

// Copies n >= COPY_AHEAD_LEAST bytes, fetching ahead, otherwise as copy_ahead(). It is not inlined,
// because the loops around short copies have more registers without it.
void copy_long(uint8_t *to, const uint8_t *from, size_t n, struct copy_next next);

// Copies n bytes, which do not overlap their destination. An address of `next` that is NULL: what
// lies behind these bytes.
static inline void copy_ahead(uint8_t *to, const uint8_t *from, size_t n, struct copy_next next)
{
	if (copy_fetches_ahead(n))
		copy_long(to, from, n, next);
	else
		rte_memcpy(to, from, n);
}
