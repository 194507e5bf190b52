// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The spills that come into the store of a generator, or that it makes.
#include "config/internal.h"

static int check_times(struct config_reader *reader, const struct config_spill *spill, unsigned i)
{
	if (spill->events == 0)
		return config_fail(config_at_element(reader, "generators", i, "spill.events"),
				   "a spill needs at least one event");
	if (spill->period_ns == 0 || spill->period_ns < spill->duration_ns)
		return config_fail(config_at_element(reader, "generators", i, "spill.period"),
				   "must not be shorter than duration");
	return 0;
}

// Whether a generator of this kind decides itself when its events come.
static bool makes_events(enum generator_kind kind)
{
	return kind == GENERATOR_SYNTHETIC || kind == GENERATOR_MDF || kind == GENERATOR_MFP;
}

// Checks the spills of a generator that sends in spills.
static int check_made(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_generator *generator = &config->generators[i];

	if (generator->spill.size > 0)
		return config_fail(
		    config_at_element(reader, "generators", i, "spill.size"),
		    "is for kinds producer and port: here it follows from the events");
	if (generator->rate > 0)
		return config_fail(config_at_element(reader, "generators", i, "rate"),
				   "with a spill the events and the duration of that say it");
	if (config->transport.kind == CONFIG_TRANSPORT_ROCE && reader->node == NULL)
		return config_fail(config_at_element(reader, "generators", i, "spill"),
				   "over RoCE, spills need a node of a system");
	return 0;
}

int config_check_spill(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_generator *generator = &config->generators[i];
	const struct config_spill *spill = &generator->spill;

	if (spill->size == 0 && spill->events == 0 && spill->duration_ns == 0 &&
	    spill->period_ns == 0)
		return 0;
	if (makes_events(generator->kind))
		return check_made(reader, config, i) ? -1 : check_times(reader, spill, i);
	if (spill->size == 0)
		return config_fail(config_at_element(reader, "generators", i, "spill.size"),
				   "is needed with the other keys of a spill");
	if (generator->kind != GENERATOR_PRODUCER && generator->kind != GENERATOR_PORT)
		return config_fail(config_at_element(reader, "generators", i, "spill"),
				   "only kinds synthetic, mdf, mfp, producer and port have spills");
	if (reader->node == NULL)
		return config_fail(config_at_element(reader, "generators", i, "spill"),
				   "needs a node of a system: only grants have a rate");
	return check_times(reader, spill, i);
}

struct production_spill config_production(const struct config_generator *generator)
{
	const struct config_spill *spill = &generator->spill;

	if (!makes_events(generator->kind))
		return (struct production_spill){ 0 };
	return (struct production_spill){ spill->events, spill->duration_ns, spill->period_ns };
}
