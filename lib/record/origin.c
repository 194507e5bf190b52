// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/origin.h"

bool origin_of(const struct evb_event *event, uint64_t *event_id)
{
	struct evb_source block = { .payload = event->data, .payload_length = event->length };
	struct evb_mep mep;
	unsigned stage = 0;

	while (stage < ORIGIN_STAGES &&
	       evb_mep_open(&mep, block.payload, block.payload_length) == 0 && mep.n_sources > 0) {
		*event_id = mep.event_id;
		stage++;
		if (evb_mep_source(&mep, 0, &block) != 0 || (block.flags & EVB_SOURCE_OPAQUE) == 0)
			break;
	}
	return stage > 1;
}
