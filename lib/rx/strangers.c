// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx/strangers.h"

#include <string.h>

// Places differ by address: a sender that tries many UDP ports or VLANs has one place.
static bool is_same(const struct origin *a, const struct origin *b)
{
	struct source_address of_a = origin_to_address(a), of_b = origin_to_address(b);

	return of_a.kind == of_b.kind && memcmp(of_a.bytes, of_b.bytes, sizeof(of_a.bytes)) == 0;
}

static unsigned set_of(const struct origin *origin)
{
	uint64_t mixed = origin->ip6[0] ^ origin->ip6[1] ^ (uint32_t)origin->key;

	return (unsigned)(mixed * 0x9E3779B97F4A7C15 >> 60) % STRANGERS_SETS;
}

// The place of the sender, else an empty one, else that of the least refused sender.
static struct stranger *place_of(struct strangers *strangers, const struct origin *origin)
{
	struct stranger *set = &strangers->places[set_of(origin) * STRANGERS_WAYS];
	struct stranger *least = set;

	for (unsigned i = 0; i < STRANGERS_WAYS; i++) {
		if (set[i].segments > 0 && is_same(&set[i].origin, origin))
			return &set[i];
		if (set[i].segments < least->segments)
			least = &set[i];
	}
	return least;
}

void strangers_note(struct strangers *strangers, const struct origin *origin, uint32_t source,
		    enum segment_cause cause)
{
	struct stranger *place = place_of(strangers, origin);
	bool is_known = place->segments > 0 && is_same(&place->origin, origin);
	struct stranger noted = {
		.origin = *origin,
		.segments = is_known ? place->segments + 1 : 1,
		.source = source,
		.cause = cause,
	};

	seqlock_begin_write(&strangers->lock);
	seqlock_copy(place, &noted, sizeof(noted));
	seqlock_end_write(&strangers->lock);
}

bool strangers_read(const struct strangers *strangers, unsigned index, struct stranger *stranger)
{
	unsigned begun;

	do {
		begun = seqlock_begin_read(&strangers->lock);
		seqlock_copy(stranger, &strangers->places[index], sizeof(*stranger));
	} while (seqlock_is_disturbed(&strangers->lock, begun));
	return stranger->segments > 0;
}
