// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the tests of lib/wire share: byte strings in allocations of exactly their size, so that an
// address sanitizer sees every access beyond.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct bytes {
	uint8_t *data;
	size_t size;
};

struct bytes bytes_from_hex(const char *hex);
struct bytes bytes_copy(const void *data, size_t size);
struct bytes bytes_of_zeros(size_t size);
void bytes_free(struct bytes *bytes);

// Expects that the bytes are those that `hex` spells.
void expect_hex(const void *data, size_t size, const char *hex);

// Expects that `size` bytes at `at` lie within the bytes.
void expect_inside(const uint8_t *bytes, size_t length, const void *at, size_t size);

// Decodes all that can be decoded of the bytes, valid or not, and expects that nothing points
// outside.
typedef void (*bytes_user)(const uint8_t *bytes, size_t size);

// Gives every one of the `size` * 255 byte strings that differ from these in one byte to the user.
void each_mutation(const struct bytes *bytes, bytes_user use);

// Gives every proper prefix to the user.
void each_truncation(const struct bytes *bytes, bytes_user use);

// Reads a file of the shared data; skips the test if it is not there.
struct bytes shared_file(const char *name);

// An IPv4 address (host order) behind 12 zeros, as the IP header of RDMA CM's private data has it.
void bytes_store_ipv4(uint8_t address[16], uint32_t ip);
