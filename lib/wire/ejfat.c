// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/ejfat.h"

#define LB_NEXT_PROTOCOL 1

// Exported functions are not inlined, because the library is position-independent.
static inline bool has_lb(const uint8_t *bytes, size_t length)
{
	return length >= 2 && bytes[0] == 'L' && bytes[1] == 'B';
}

bool ejfat_has_lb(const uint8_t *bytes, size_t length)
{
	return has_lb(bytes, length);
}

enum wire_error ejfat_lb_decode(const uint8_t *bytes, size_t length, struct ejfat_lb *lb)
{
	if (length < EJFAT_LB_SIZE)
		return WIRE_TRUNCATED;
	if (!ejfat_has_lb(bytes, length))
		return WIRE_BAD_MAGIC;
	if ((bytes[2] != 2 && bytes[2] != 3) || bytes[3] != LB_NEXT_PROTOCOL)
		return WIRE_BAD_VERSION;
	lb->version = bytes[2];
	lb->slot_select = lb->version == 3 ? load_be16(bytes + 4) : 0;
	lb->entropy = load_be16(bytes + 6);
	lb->tick = load_be64(bytes + 8);
	return WIRE_OK;
}

void ejfat_lb_encode(uint8_t bytes[EJFAT_LB_SIZE], const struct ejfat_lb *lb)
{
	bytes[0] = 'L';
	bytes[1] = 'B';
	bytes[2] = lb->version;
	bytes[3] = LB_NEXT_PROTOCOL;
	store_be16(bytes + 4, lb->version == 3 ? lb->slot_select : 0);
	store_be16(bytes + 6, lb->entropy);
	store_be64(bytes + 8, lb->tick);
}

enum wire_error ejfat_re_decode(const uint8_t *bytes, size_t length, struct ejfat_re *re)
{
	if (length < EJFAT_RE_SIZE)
		return WIRE_TRUNCATED;
	if (bytes[0] >> 4 != EJFAT_RE_VERSION)
		return WIRE_BAD_VERSION;
	re->flags = bytes[1] & (EJFAT_RE_REPEATED | EJFAT_RE_MORE);
	re->data_id = load_be16(bytes + 2);
	re->offset = load_be32(bytes + 4);
	re->length = load_be32(bytes + 8);
	re->event_number = load_be64(bytes + 12);
	return WIRE_OK;
}

void ejfat_re_encode(uint8_t bytes[EJFAT_RE_SIZE], const struct ejfat_re *re)
{
	bytes[0] = EJFAT_RE_VERSION << 4;
	bytes[1] = re->flags;
	store_be16(bytes + 2, re->data_id);
	store_be32(bytes + 4, re->offset);
	store_be32(bytes + 8, re->length);
	store_be64(bytes + 12, re->event_number);
}

enum wire_error ejfat_segment_decode(const uint8_t *bytes, size_t header_bytes, size_t length,
				     struct ejfat_segment *segment)
{
	struct ejfat_lb lb;
	size_t start = 0;
	enum wire_error error;

	if (has_lb(bytes, header_bytes)) {
		error = ejfat_lb_decode(bytes, header_bytes, &lb);
		if (error)
			return error;
		start = EJFAT_LB_SIZE;
	}
	error = ejfat_re_decode(bytes + start, header_bytes - start, &segment->re);
	if (error)
		return error;
	start += EJFAT_RE_SIZE;
	length -= start;
	if (length == 0 || (uint64_t)segment->re.offset + length > segment->re.length) {
		// What is too long may be several blocks: the usual segment costs no test of that.
		if ((segment->re.flags & EJFAT_RE_MORE) == 0 || segment->re.offset != 0 ||
		    length <= EJFAT_RE_SIZE || segment->re.length >= length - EJFAT_RE_SIZE)
			return WIRE_BAD_LENGTH;
		length = segment->re.length;
		if (length == 0)
			return WIRE_BAD_LENGTH;
	}
	segment->payload_offset = (uint32_t)start;
	segment->payload_size = (uint32_t)length;
	return WIRE_OK;
}
