// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/source_set.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define BUNCHES_PER_ORBIT 3564
#define CROSSINGS_PER_US  40 // one each 25 ns

unsigned source_set_patch_odin(uint8_t *mfp, size_t size, uint64_t first_event_id)
{
	struct mfp_fragment fragment;
	struct mfp decoded;
	unsigned index = 0, rewritten = 0;
	size_t offset = 0;

	if (mfp_decode(mfp, size, &decoded) != WIRE_OK)
		return 0;
	for (uint64_t event = first_event_id;
	     mfp_next_fragment(&decoded, &index, &offset, &fragment); event++) {
		struct odin odin;

		if (fragment.type != MFP_TYPE_ODIN ||
		    odin_decode(fragment.payload, fragment.size, &odin) != WIRE_OK)
			continue;
		odin.event_id = event;
		odin.orbit = (uint32_t)(event / BUNCHES_PER_ORBIT);
		odin.bunch = (uint16_t)(event % BUNCHES_PER_ORBIT);
		odin.gps_us = event / CROSSINGS_PER_US;
		odin_encode(mfp + (fragment.payload - mfp), &odin);
		rewritten++;
	}
	return rewritten;
}
