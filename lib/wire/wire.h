// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Common parts of all wire formats: the reasons for which a decoder refuses bytes, and access to
// unaligned little- and big-endian numbers.
//
// Every function of lib/wire is pure: it reads and writes only the bytes that it is given, has no
// state, allocates no memory, and may be called from any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Why a decoder refused bytes. wire_reason() returns the names.
enum wire_error {
	WIRE_OK = 0,
	WIRE_TRUNCATED,     // fewer bytes than the format's headers or its own length field need
	WIRE_BAD_MAGIC,     // the bytes do not begin with the constant of the format
	WIRE_BAD_VERSION,   // a version that this decoder does not know
	WIRE_BAD_LENGTH,    // a length field contradicts another one or the format's limits
	WIRE_BAD_ALIGNMENT, // an alignment or offset that the format does not allow
	WIRE_BAD_CHECKSUM,  // the checksum does not match the bytes
	WIRE_BAD_SOURCE,    // source ids that contradict each other
	WIRE_BAD_EVENT,     // event ids that contradict each other
	WIRE_UNSUPPORTED,   // legal, but not supported by evb (IP fragments, compression)
	WIRE_NO_ROOM,       // an encoder's output does not fit in the given capacity
	WIRE_N_ERRORS
};

// A short lower-case name: "truncated" for WIRE_TRUNCATED, "ok" for WIRE_OK, "unknown" for numbers
// outside the range. Never NULL.
const char *wire_reason(enum wire_error error);

static inline uint16_t load_le16(const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load_le32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load_le64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store_le16(void *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void store_le32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void store_le64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline uint16_t load_be16(const void *p)
{
	return __builtin_bswap16(load_le16(p));
}

static inline uint32_t load_be32(const void *p)
{
	return __builtin_bswap32(load_le32(p));
}

static inline uint64_t load_be64(const void *p)
{
	return __builtin_bswap64(load_le64(p));
}

static inline void store_be16(void *p, uint16_t v)
{
	store_le16(p, __builtin_bswap16(v));
}

static inline void store_be32(void *p, uint32_t v)
{
	store_le32(p, __builtin_bswap32(v));
}

static inline void store_be64(void *p, uint64_t v)
{
	store_le64(p, __builtin_bswap64(v));
}

// Rounds up to a multiple of a power of two.
static inline size_t round_up(size_t n, size_t power_of_two)
{
	return (n + power_of_two - 1) & ~(power_of_two - 1);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "evb runs on little-endian machines");
