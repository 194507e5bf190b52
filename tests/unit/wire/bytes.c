// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes bytes_of_zeros(size_t size)
{
	struct bytes bytes = { .data = calloc(1, size), .size = size };

	assert_non_null(bytes.data);
	return bytes;
}

struct bytes bytes_copy(const void *data, size_t size)
{
	struct bytes bytes = bytes_of_zeros(size);

	memcpy(bytes.data, data, size);
	return bytes;
}

struct bytes bytes_from_hex(const char *hex)
{
	struct bytes bytes = bytes_of_zeros(strlen(hex) / 2);

	for (size_t i = 0; i < bytes.size; i++) {
		unsigned value;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
		bytes.data[i] = (uint8_t)value;
	}
	return bytes;
}

void bytes_free(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){ 0 };
}

void expect_hex(const void *data, size_t size, const char *hex)
{
	struct bytes expected = bytes_from_hex(hex);

	assert_int_equal(size, expected.size);
	assert_memory_equal(data, expected.data, size);
	bytes_free(&expected);
}

void expect_inside(const uint8_t *bytes, size_t length, const void *at, size_t size)
{
	uintptr_t start = (uintptr_t)bytes, place = (uintptr_t)at;

	assert_true(place >= start);
	assert_true(place - start <= length);
	assert_true(size <= length - (place - start));
}

void each_mutation(const struct bytes *bytes, bytes_user use)
{
	struct bytes mutated = bytes_copy(bytes->data, bytes->size);

	for (size_t i = 0; i < bytes->size; i++) {
		for (unsigned change = 1; change <= UINT8_MAX; change++) {
			mutated.data[i] = (uint8_t)(bytes->data[i] ^ change);
			use(mutated.data, mutated.size);
		}
		mutated.data[i] = bytes->data[i];
	}
	bytes_free(&mutated);
}

void each_truncation(const struct bytes *bytes, bytes_user use)
{
	for (size_t size = 0; size < bytes->size; size++) {
		struct bytes prefix = bytes_copy(bytes->data, size);

		use(prefix.data, prefix.size);
		bytes_free(&prefix);
	}
}

struct bytes shared_file(const char *name)
{
	const char *shared = getenv("EVB_SHARED");
	char path[PATH_MAX];
	struct bytes bytes;
	FILE *file;
	long size;

	snprintf(path, sizeof(path), "%s/data/%s", shared ? shared : REPOSITORY "/../shared", name);
	file = fopen(path, "rb");
	if (!file) {
		print_message("%s is not there\n", path);
		skip();
	}
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	assert_true(size > 0);
	rewind(file);
	bytes = bytes_of_zeros((size_t)size);
	assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
	fclose(file);
	return bytes;
}

void bytes_store_ipv4(uint8_t address[16], uint32_t ip)
{
	memset(address, 0, 12);
	for (unsigned i = 0; i < 4; i++)
		address[12 + i] = (uint8_t)(ip >> (24 - 8 * i));
}
