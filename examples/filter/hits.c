// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "hits.h"

#include <math.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the payload is little endian"
#endif

#define SEGMENT_FLOATS 5u
#define HIT_FLOATS     2u

// Checks the header. Returns the number of records, or -1.
static int count(const uint8_t *bytes, size_t length, unsigned floats)
{
	uint16_t header[2];

	if (length < PAYLOAD_HEADER)
		return -1;
	memcpy(header, bytes, sizeof(header));
	if (header[0] != PAYLOAD_VERSION || length != PAYLOAD_HEADER + 4 * floats * header[1])
		return -1;
	return header[1];
}

int hits_read_segments(struct hit_event *event, const void *payload, size_t length)
{
	const uint8_t *at = payload;
	const int n = count(at, length, SEGMENT_FLOATS);

	event->n_segments = 0;
	at += PAYLOAD_HEADER;
	for (int i = 0; i < n && i < (int)MAX_SEGMENTS; i++, at += 4 * SEGMENT_FLOATS) {
		float f[SEGMENT_FLOATS];

		memcpy(f, at, sizeof(f)); // fragments may be unaligned
		event->segments[event->n_segments++] =
		    (struct segment){ { f[0], f[1], f[2], f[3] }, f[4] };
	}
	return n < 0 ? -1 : 0;
}

void hits_add(struct hits *hits, double x, double y)
{
	unsigned at = hits->n;

	if (at == MAX_HITS || !isfinite(x) || !isfinite(y))
		return;
	for (; at > 0 && hits->x[at - 1] > x; at--) {
		hits->x[at] = hits->x[at - 1];
		hits->y[at] = hits->y[at - 1];
	}
	hits->x[at] = x;
	hits->y[at] = y;
	hits->n++;
}

int hits_read_station(struct hit_event *event, unsigned station, const void *payload, size_t length)
{
	struct hits *hits = &event->stations[station];
	const uint8_t *at = payload;
	const int n = count(at, length, HIT_FLOATS);

	hits->n = 0;
	at += PAYLOAD_HEADER;
	for (int i = 0; i < n; i++, at += 4 * HIT_FLOATS) {
		float f[HIT_FLOATS];

		memcpy(f, at, sizeof(f));
		hits_add(hits, f[0], f[1]);
	}
	return n < 0 ? -1 : 0;
}

static void write_header(uint8_t *payload, unsigned n)
{
	const uint16_t header[2] = { PAYLOAD_VERSION, (uint16_t)n };

	memcpy(payload, header, sizeof(header));
}

size_t hits_write_segments(const struct hit_event *event, uint8_t *payload)
{
	uint8_t *at = payload + PAYLOAD_HEADER;

	write_header(payload, event->n_segments);
	for (unsigned i = 0; i < event->n_segments; i++, at += 4 * SEGMENT_FLOATS) {
		const struct segment *s = &event->segments[i];
		const float f[SEGMENT_FLOATS] = { (float)s->state.x, (float)s->state.y,
						  (float)s->state.tx, (float)s->state.ty,
						  (float)s->q_over_p };

		memcpy(at, f, sizeof(f));
	}
	return (size_t)(at - payload);
}

size_t hits_write_station(const struct hit_event *event, unsigned station, uint8_t *payload)
{
	const struct hits *hits = &event->stations[station];
	uint8_t *at = payload + PAYLOAD_HEADER;

	write_header(payload, hits->n);
	for (unsigned i = 0; i < hits->n; i++, at += 4 * HIT_FLOATS) {
		const float f[HIT_FLOATS] = { (float)hits->x[i], (float)hits->y[i] };

		memcpy(at, f, sizeof(f));
	}
	return (size_t)(at - payload);
}
