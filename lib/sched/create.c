// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched_internal.h"

#define LONGEST_PHASE_NS UINT64_C(1000000000000)

struct sched_parameters sched_defaults(void)
{
	return (struct sched_parameters){
		.mode = SCHED_PUSH,
		.policy = SCHED_ROUND_ROBIN,
		.shaping = SCHED_LINEAR_SHIFT,
		.distance = SCHED_DISTANCE_AUTO,
		.relax_after_ns = 100000,
		.target_utilisation = 0.9,
		.burst_ns = 200000,
		.event_bytes = 100000,
		.cut = 0.5,
		.step = 0.0625,
		.floor = 0.0625,
		.cut_ns = 100000,
		.recover_ns = 1000000,
		.congested_share = 0.01,
		.congested_fill = 0.5,
		.queue = 4096,
		.unfinished = 16384,
		.throttle_level = 3,
	};
}

static int wrong(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(char *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, SCHED_ERROR_SIZE, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static int out_of_range(char *error, const char *name, uint64_t value, uint64_t least,
			uint64_t most)
{
	return wrong(error, "%s is %ju; expected %ju to %ju", name, (uintmax_t)value,
		     (uintmax_t)least, (uintmax_t)most);
}

// Above 0 and at most 1; not NaN.
static bool is_share(double value)
{
	return value > 0 && value <= 1;
}

static int check_builders(const struct sched_parameters *parameters, char *error)
{
	for (uint32_t i = 0; i < parameters->n_builders; i++) {
		const struct sched_builder_parameters *builder = &parameters->builders[i];
		char name[32];

		if (builder->slots < 1 || builder->slots > SCHED_MAX_SLOTS) {
			snprintf(name, sizeof(name), "builders[%u].slots", i);
			return out_of_range(error, name, builder->slots, 1, SCHED_MAX_SLOTS);
		}
		if (builder->group >= SCHED_MAX_BUILDERS) {
			snprintf(name, sizeof(name), "builders[%u].group", i);
			return out_of_range(error, name, builder->group, 0, SCHED_MAX_BUILDERS - 1);
		}
		if (builder->weight < 1 || builder->weight > SCHED_MAX_WEIGHT) {
			snprintf(name, sizeof(name), "builders[%u].weight", i);
			return out_of_range(error, name, builder->weight, 1, SCHED_MAX_WEIGHT);
		}
	}
	return 0;
}

static uint32_t count_groups(const struct sched_parameters *parameters)
{
	bool named[SCHED_MAX_BUILDERS] = { false };
	uint32_t n = 0;

	for (uint32_t i = 0; i < parameters->n_builders; i++) {
		n += !named[parameters->builders[i].group];
		named[parameters->builders[i].group] = true;
	}
	return n;
}

static int check_rules(const struct sched_parameters *parameters, char *error)
{
	uint32_t n_groups = count_groups(parameters);

	if (parameters->mode > SCHED_PULL || parameters->policy > SCHED_RANDOM ||
	    parameters->shaping > SCHED_CREDIT_WINDOW)
		return wrong(error, "mode, policy or shaping is none of those that exist");
	if (parameters->distance != SCHED_DISTANCE_AUTO && parameters->distance >= n_groups)
		return wrong(error,
			     "distance is %u with %u congestion groups; expected less than the "
			     "number of groups, or automatic",
			     parameters->distance, n_groups);
	if (parameters->strict &&
	    (parameters->policy != SCHED_ROUND_ROBIN || parameters->mode == SCHED_STATIC))
		return wrong(error, "strict is for the policy round-robin in the modes push and "
				    "pull");
	if (parameters->barrier && parameters->shaping == SCHED_ALL_AT_ONCE)
		return wrong(error, "barrier needs rounds; expected a shaping other than none");
	if (parameters->shaping == SCHED_TIMED_SHIFT &&
	    (parameters->send_window_ns == 0 || parameters->send_window_ns > LONGEST_PHASE_NS))
		return out_of_range(error, "send_window_ns", parameters->send_window_ns, 1,
				    LONGEST_PHASE_NS);
	if (parameters->shaping == SCHED_TIMED_SHIFT &&
	    parameters->idle_window_ns > LONGEST_PHASE_NS)
		return out_of_range(error, "idle_window_ns", parameters->idle_window_ns, 0,
				    LONGEST_PHASE_NS);
	if (parameters->throttle_level > 4)
		return out_of_range(error, "throttle_level", parameters->throttle_level, 0, 4);
	return 0;
}

static int check_rates(const struct sched_parameters *parameters, char *error)
{
	const struct {
		const char *name;
		double value;
		bool below_one;
	} shares[] = {
		{ "target_utilisation", parameters->target_utilisation, false },
		{ "cut", parameters->cut, true },
		{ "step", parameters->step, false },
		{ "floor", parameters->floor, false },
	};

	for (unsigned i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		if (!is_share(shares[i].value) || (shares[i].below_one && shares[i].value == 1))
			return wrong(error, "%s is %g; expected above 0 and %s 1", shares[i].name,
				     shares[i].value, shares[i].below_one ? "below" : "at most");
	}
	if (parameters->recover_ns == 0)
		return wrong(error, "recover_ns is 0; expected at least 1");
	return 0;
}

static int check(const struct sched_parameters *parameters, char *error)
{
	uint32_t unfinished = parameters->unfinished;
	int ret;

	if (parameters->n_builders < 1 || parameters->n_builders > SCHED_MAX_BUILDERS)
		return out_of_range(error, "n_builders", parameters->n_builders, 1,
				    SCHED_MAX_BUILDERS);
	if (parameters->n_sources < 1 || parameters->n_sources > SCHED_MAX_SOURCES)
		return out_of_range(error, "n_sources", parameters->n_sources, 1,
				    SCHED_MAX_SOURCES);
	if (parameters->queue == 0)
		return wrong(error, "queue is 0; expected at least 1");
	if (unfinished == 0 || unfinished > SCHED_MAX_EVENTS ||
	    (unfinished & (unfinished - 1)) != 0)
		return wrong(error, "unfinished is %u; expected a power of two, at most %u",
			     unfinished, SCHED_MAX_EVENTS);
	if (parameters->first_event > INT64_MAX)
		return out_of_range(error, "first_event", parameters->first_event, 0, INT64_MAX);
	ret = check_builders(parameters, error);
	if (ret == 0)
		ret = check_rules(parameters, error);
	return ret == 0 ? check_rates(parameters, error) : ret;
}

// `sched` is where the carver's memory begins, or a stand-in when measuring.
static void layout(struct sched *sched, struct carver *carver,
		   const struct sched_parameters *parameters)
{
	// The scheduler itself comes first.
	carve(carver, 1, sizeof(*sched));
	sched->parameters = *parameters;
	sched->parameters.builders = NULL;
	sched->builders = carve(carver, parameters->n_builders, sizeof(*sched->builders));
	sources_layout(sched, carver);
	events_layout(sched, carver);
	credits_layout(sched, carver, parameters->builders);
	candidates_layout(sched, carver, parameters->builders);
	rounds_layout(sched, carver);
	timers_layout(sched, carver);
	if (carver->memory != NULL)
		pace_layout(sched, parameters->builders);
}

static size_t measure(const struct sched_parameters *parameters)
{
	struct carver carver = { NULL, 0 };
	struct sched sched;

	memset(&sched, 0, sizeof(sched));
	layout(&sched, &carver, parameters);
	return carver.used;
}

uint64_t sched_memory(const struct sched_parameters *parameters)
{
	char error[SCHED_ERROR_SIZE];

	return check(parameters, error) == 0 ? measure(parameters) : 0;
}

int sched_create(struct sched **sched, const struct sched_parameters *parameters, char *error)
{
	struct carver carver = { NULL, 0 };
	int ret = check(parameters, error);
	size_t size;

	if (ret != 0)
		return ret;
	size = measure(parameters);
	carver.memory = aligned_alloc(CARVER_ALIGNMENT, size);
	if (carver.memory == NULL) {
		snprintf(error, SCHED_ERROR_SIZE,
			 "no memory for the scheduler's %zu bytes; fewer slots, builders or "
			 "unfinished events take less",
			 size);
		return -ENOMEM;
	}
	memset(carver.memory, 0, size);
	*sched = (struct sched *)carver.memory;
	layout(*sched, &carver, parameters);
	return 0;
}

void sched_destroy(struct sched *sched)
{
	free(sched);
}
