// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a datagram with EJFAT headers: the payload of what decodes lies inside datagram and
// buffer, the headers encode to themselves but for reserved bits, and no more than them is looked
// at.
#include "fuzz.h"

#include "wire/ejfat.h"

static void check_lb(const uint8_t *data, size_t size)
{
	uint8_t bytes[EJFAT_LB_SIZE];
	struct ejfat_lb lb;

	if (ejfat_lb_decode(data, size, &lb) != WIRE_OK)
		return;
	FUZZ_CHECK(ejfat_has_lb(data, size));
	ejfat_lb_encode(bytes, &lb);
	FUZZ_CHECK(memcmp(bytes, data, 4) == 0);
	FUZZ_CHECK(lb.version == 2 || memcmp(bytes + 4, data + 4, 2) == 0);
	FUZZ_CHECK(memcmp(bytes + 6, data + 6, EJFAT_LB_SIZE - 6) == 0);
}

static void check_re(const uint8_t *data, const struct ejfat_re *re)
{
	uint8_t bytes[EJFAT_RE_SIZE];

	ejfat_re_encode(bytes, re);
	FUZZ_CHECK((bytes[0] & 0xF0) == (data[0] & 0xF0));
	FUZZ_CHECK(memcmp(bytes + 2, data + 2, EJFAT_RE_SIZE - 2) == 0);
}

// With only the headers at hand the result is the same.
static void check_headers_suffice(const uint8_t *data, size_t size, enum wire_error expected,
				  const struct ejfat_segment *segment)
{
	const size_t headers = EJFAT_LB_SIZE + EJFAT_RE_SIZE;
	const size_t at_hand = size < headers ? size : headers;
	uint8_t *copy = fuzz_copy(data, at_hand);
	struct ejfat_segment again;

	FUZZ_CHECK(ejfat_segment_decode(copy, at_hand, size, &again) == expected);
	if (expected == WIRE_OK) {
		FUZZ_CHECK(again.payload_offset == segment->payload_offset);
		FUZZ_CHECK(again.payload_size == segment->payload_size);
	}
	fuzz_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ejfat_segment segment = { 0 };
	enum wire_error error = ejfat_segment_decode(data, size, size, &segment);

	check_lb(data, size);
	check_headers_suffice(data, size, error, &segment);
	if (error)
		return 0;
	FUZZ_CHECK(segment.payload_size >= 1);
	// Behind the first block of several there is another header, and a byte at least.
	if ((size_t)segment.payload_offset + segment.payload_size != size) {
		FUZZ_CHECK((segment.re.flags & EJFAT_RE_MORE) != 0 && segment.re.offset == 0);
		FUZZ_CHECK(segment.payload_size == segment.re.length);
		FUZZ_CHECK(segment.payload_offset + segment.payload_size + EJFAT_RE_SIZE < size);
	}
	FUZZ_CHECK(segment.re.offset <= segment.re.length);
	FUZZ_CHECK(segment.payload_size <= segment.re.length - segment.re.offset);
	check_re(data + segment.payload_offset - EJFAT_RE_SIZE, &segment.re);
	return 0;
}
