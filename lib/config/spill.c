// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The spills that come into the store of a generator.
#include "config/internal.h"

int config_check_spill(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_generator *generator = &config->generators[i];
	const struct config_spill *spill = &generator->spill;

	if (spill->size == 0) {
		if (spill->events == 0 && spill->duration_ns == 0 && spill->period_ns == 0)
			return 0;
		return config_fail(config_at_element(reader, "generators", i, "spill.size"),
				   "is needed with the other keys of a spill");
	}
	if (generator->kind != GENERATOR_PRODUCER && generator->kind != GENERATOR_PORT)
		return config_fail(config_at_element(reader, "generators", i, "spill"),
				   "only kinds producer and port have spills");
	if (reader->node == NULL)
		return config_fail(config_at_element(reader, "generators", i, "spill"),
				   "needs a node of a system: only grants have a rate");
	if (spill->events == 0)
		return config_fail(config_at_element(reader, "generators", i, "spill.events"),
				   "a spill needs at least one event");
	if (spill->period_ns == 0 || spill->period_ns < spill->duration_ns)
		return config_fail(config_at_element(reader, "generators", i, "spill.period"),
				   "must not be shorter than duration");
	return 0;
}
