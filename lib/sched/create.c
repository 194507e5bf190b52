// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "sched/sched_internal.h"

#define WRONG(error, ...) error_line(error, SCHED_ERROR_SIZE, __VA_ARGS__)

#define LONGEST_PHASE_NS UINT64_C(1000000000000)
#define LINK_TURN        (UINT64_C(1) << 20) // at weight 1

enum named { GROUPS, PORTS };

struct sched_parameters sched_defaults(void)
{
	return (struct sched_parameters){
		.mode = SCHED_PUSH,
		.policy = SCHED_ROUND_ROBIN,
		.shaping = SCHED_LINEAR_SHIFT,
		.distance = SCHED_DISTANCE_AUTO,
		.relax_after_ns = 100000,
		.phase_share = 1,
		.target_utilisation = 0.9,
		.burst_ns = 200000,
		.event_bytes = 100000,
		.cut_ns = 100000,
		.recover_ns = 1000000,
		.queue = 4096,
		.unfinished = 16384,
		.throttle_level = SCHED_THROTTLE_75,
	};
}

static int out_of_range(char *error, const char *name, uint64_t value, uint64_t least,
			uint64_t most)
{
	return WRONG(error, "%s is %ju; expected %ju to %ju", name, (uintmax_t)value,
		     (uintmax_t)least, (uintmax_t)most);
}

static int check_share(const char *name, double value, char *error)
{
	if (value > 0 && value <= 1) // not NaN
		return 0;
	return WRONG(error, "%s is %g; expected above 0 and at most 1", name, value);
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
		if (builder->port >= SCHED_MAX_BUILDERS) {
			snprintf(name, sizeof(name), "builders[%u].port", i);
			return out_of_range(error, name, builder->port, 0, SCHED_MAX_BUILDERS - 1);
		}
	}
	return 0;
}

// The builders of a port agree on its link.
static int check_ports(const struct sched_parameters *parameters, char *error)
{
	const struct sched_builder_parameters *first[SCHED_MAX_BUILDERS] = { NULL };

	for (uint32_t i = 0; i < parameters->n_builders; i++) {
		const struct sched_builder_parameters *builder = &parameters->builders[i];
		const struct sched_builder_parameters **of_port = &first[builder->port];

		if (*of_port == NULL)
			*of_port = builder;
		if ((*of_port)->link_rate != builder->link_rate ||
		    (*of_port)->window != builder->window)
			return WRONG(error,
				     "builders[%u] has port %u, and not the link_rate and window "
				     "of another builder of this port",
				     i, builder->port);
	}
	return 0;
}

// The number of congestion groups, or of ports, that the builders name.
static uint32_t count(const struct sched_parameters *parameters, enum named which)
{
	bool named[SCHED_MAX_BUILDERS] = { false };
	uint32_t n = 0;

	for (uint32_t i = 0; i < parameters->n_builders; i++) {
		const struct sched_builder_parameters *builder = &parameters->builders[i];
		bool *is_named = &named[which == GROUPS ? builder->group : builder->port];

		n += !*is_named;
		*is_named = true;
	}
	return n;
}

static bool has_rounds(const struct sched_parameters *parameters)
{
	return parameters->shaping == SCHED_LINEAR_SHIFT ||
	       parameters->shaping == SCHED_RANDOM_ORDER;
}

static int check_rules(const struct sched_parameters *parameters, char *error)
{
	uint32_t n_groups = count(parameters, GROUPS);

	if (parameters->mode > SCHED_PULL || parameters->policy > SCHED_RANDOM ||
	    parameters->shaping > SCHED_RANDOM_ORDER)
		return WRONG(error, "mode, policy or shaping is none of those that exist");
	if (parameters->distance != SCHED_DISTANCE_AUTO && parameters->distance >= n_groups)
		return WRONG(error,
			     "distance is %u with %u congestion groups; expected less than the "
			     "number of groups, or automatic",
			     parameters->distance, n_groups);
	if (parameters->strict &&
	    (parameters->policy != SCHED_ROUND_ROBIN || parameters->mode == SCHED_STATIC))
		return WRONG(error, "strict is for the policy round-robin in the modes push and "
				    "pull");
	if (parameters->barrier && !has_rounds(parameters))
		return WRONG(error, "barrier needs rounds; expected the shaping linear-shift or "
				    "random");
	if (parameters->phase_barrier > 0 &&
	    (!has_rounds(parameters) || parameters->mode != SCHED_PUSH))
		return WRONG(error,
			     "phase_barrier needs phases of rounds; expected the mode push and the "
			     "shaping linear-shift or random");
	if (parameters->phase_barrier > SCHED_MAX_PHASE_BARRIER)
		return out_of_range(error, "phase_barrier", parameters->phase_barrier, 0,
				    SCHED_MAX_PHASE_BARRIER);
	if (parameters->shaping == SCHED_TIMED_SHIFT &&
	    (parameters->send_window_ns == 0 || parameters->send_window_ns > LONGEST_PHASE_NS))
		return out_of_range(error, "send_window_ns", parameters->send_window_ns, 1,
				    LONGEST_PHASE_NS);
	if (parameters->shaping == SCHED_TIMED_SHIFT &&
	    parameters->idle_window_ns > LONGEST_PHASE_NS)
		return out_of_range(error, "idle_window_ns", parameters->idle_window_ns, 0,
				    LONGEST_PHASE_NS);
	if (parameters->throttle_level > SCHED_THROTTLE_87_5)
		return out_of_range(error, "throttle_level", parameters->throttle_level,
				    SCHED_THROTTLE_NEVER, SCHED_THROTTLE_87_5);
	return 0;
}

int sched_check(const struct sched_parameters *parameters, char *error)
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
		return WRONG(error, "queue is 0; expected at least 1");
	if (unfinished == 0 || unfinished > SCHED_MAX_EVENTS ||
	    (unfinished & (unfinished - 1)) != 0)
		return WRONG(error, "unfinished is %u; expected a power of two, at most %u",
			     unfinished, SCHED_MAX_EVENTS);
	if (parameters->first_event > INT64_MAX)
		return out_of_range(error, "first_event", parameters->first_event, 0, INT64_MAX);
	ret = check_builders(parameters, error);
	if (ret == 0)
		ret = check_ports(parameters, error);
	if (ret == 0)
		ret = check_rules(parameters, error);
	if (ret == 0)
		ret = check_share("phase_share", parameters->phase_share, error);
	if (ret == 0)
		ret = check_share("target_utilisation", parameters->target_utilisation, error);
	if (ret == 0 && parameters->recover_ns == 0)
		ret = WRONG(error, "recover_ns is 0; expected at least 1");
	return ret;
}

// Allocates memory that is all zero. It is written here, so that no page fault occurs later.
// Returns NULL if memory ran out here or in an earlier call.
static void *allocate(struct sched *sched, size_t n, size_t size)
{
	size_t bytes = (n * size + SCHED_ALIGNMENT - 1) & ~(size_t)(SCHED_ALIGNMENT - 1);
	void *memory = NULL;

	if (sched->n_allocations == 0 || sched->allocations[sched->n_allocations - 1] != NULL)
		memory = aligned_alloc(SCHED_ALIGNMENT, bytes);
	if (memory != NULL)
		memset(memory, 0, bytes);
	sched->allocations[sched->n_allocations++] = memory;
	return memory;
}

// Sorts the builders by group: numbers the groups in the order of their first builders, and sets
// the rank of each builder and the range of ranks of each group's selector. Returns the number of
// groups.
static uint32_t sort_builders(struct sched *sched, const struct sched_builder_parameters *builders)
{
	struct sched_candidates *candidates = &sched->candidates;
	uint32_t numbers[SCHED_MAX_BUILDERS], n_groups = 0, rank = 0;

	memset(numbers, 0xFF, sizeof(numbers));
	for (uint32_t i = 0; i < sched->parameters.n_builders; i++) {
		uint32_t *number = &numbers[candidates->distance > 0 ? builders[i].group : 0];

		if (*number == SCHED_NONE)
			*number = n_groups++;
		sched->builders[i].group = *number;
	}
	for (uint32_t group = 0; group < n_groups; group++) {
		candidates->groups[group].selector.first = rank;
		for (uint32_t i = 0; i < sched->parameters.n_builders; i++)
			if (sched->builders[i].group == group) {
				candidates->by_rank[rank] = (uint16_t)i;
				sched->builders[i].rank = rank++;
			}
		candidates->groups[group].selector.end = rank;
	}
	return n_groups;
}

static uint32_t rule_distance(const struct sched_parameters *parameters)
{
	uint32_t others = count(parameters, GROUPS) - 1;

	if (parameters->mode == SCHED_STATIC)
		return 0;
	if (parameters->distance != SCHED_DISTANCE_AUTO)
		return parameters->distance;
	return others < parameters->n_sources ? others : parameters->n_sources;
}

static void start_candidates(struct sched *sched, const struct sched_builder_parameters *builders,
			     uint64_t *nodes, struct share *shares)
{
	const struct sched_parameters *parameters = &sched->parameters;
	struct sched_candidates *candidates = &sched->candidates;

	candidates->policy = policy_of(parameters->policy);
	candidates->distance = rule_distance(parameters);
	candidates->waits_since = SCHED_NEVER;
	candidates->n_groups = sort_builders(sched, builders);
	for (uint32_t i = 0; i < candidates->n_groups; i++) {
		struct selector *selector = &candidates->groups[i].selector;
		uint32_t first = selector->first, n = selector->end - first;

		selector_start(selector, &candidates->ready, first, selector->end, nodes, shares,
			       parameters->seed + i + 1);
		nodes += 2 * ranking_leaves(n);
		shares += n;
	}
	selector_start(&candidates->fresh, &candidates->fresh_ready, 0, candidates->n_groups, nodes,
		       shares, parameters->seed);
}

static void start_builders(struct sched *sched, const struct sched_builder_parameters *builders,
			   struct sched_slot *slots)
{
	for (uint32_t i = 0; i < sched->parameters.n_builders; i++) {
		struct sched_builder *builder = &sched->builders[i];

		builder->blocks = SCHED_BLOCK_ABSENT | SCHED_BLOCK_CREDIT;
		builder->weight = builders[i].weight;
		builder->turn = LINK_TURN;
		if (sched->parameters.policy == SCHED_WEIGHTED)
			builder->turn /= builder->weight;
		builder->slots = slots;
		builder->most_slots = builders[i].slots;
		builder->first_free = SCHED_NONE;
		builder->oldest = SCHED_NONE;
		builder->newest = SCHED_NONE;
		slots += builders[i].slots;
	}
}

static void start_rounds(struct sched *sched)
{
	const struct sched_parameters *parameters = &sched->parameters;
	uint32_t n_ports = count(parameters, PORTS);
	struct sched_rounds *rounds = &sched->rounds;

	rounds->used = has_rounds(parameters);
	rounds->n_positions = 1;
	if (rounds->used)
		rounds->n_positions =
		    n_ports > parameters->n_sources ? n_ports : parameters->n_sources;
}

static void start_events(struct sched *sched)
{
	uint64_t first = sched->parameters.first_event;

	sched->events.mask = sched->parameters.unfinished - 1;
	sched->events.released = first;
	sched->events.next = first;
	sched->events.frontier = first;
	for (uint32_t i = 0; i < sched->parameters.n_sources; i++) {
		sched->announced[i] = first;
		ranking_put(&sched->sources, i, first);
	}
}

// Allocates and initialises all parts. Returns false if memory ran out.
static bool start(struct sched *sched, const struct sched_builder_parameters *builders)
{
	uint32_t n_builders = sched->parameters.n_builders, n_sources = sched->parameters.n_sources;
	uint64_t *nodes = allocate(sched, 8 * (size_t)n_builders, sizeof(*nodes));
	uint64_t *source_nodes = allocate(sched, 4 * (size_t)n_sources, sizeof(*nodes));
	uint64_t *throttled_nodes = allocate(sched, 4 * (size_t)n_builders, sizeof(*nodes));
	struct share *shares = allocate(sched, 2 * (size_t)n_builders, sizeof(*shares));
	struct sched_slot *slots;
	size_t n_slots = 0;

	for (uint32_t i = 0; i < n_builders; i++)
		n_slots += builders[i].slots;
	slots = allocate(sched, n_slots, sizeof(*slots));
	sched->builders = allocate(sched, n_builders, sizeof(*sched->builders));
	sched->links = allocate(sched, n_builders, sizeof(*sched->links));
	sched->candidates.groups = allocate(sched, n_builders, sizeof(struct sched_group));
	sched->announced = allocate(sched, n_sources, sizeof(*sched->announced));
	sched->rounds.members = allocate(sched, n_builders, sizeof(*sched->rounds.members));
	sched->events.places =
	    allocate(sched, sched->parameters.unfinished, sizeof(*sched->events.places));
	if (sched->events.places == NULL)
		return false;
	ranking_start(&sched->sources, source_nodes, n_sources);
	ranking_start(&sched->throttled, throttled_nodes, n_builders);
	start_rounds(sched);
	start_builders(sched, builders, slots);
	pace_start(sched, builders);
	start_candidates(sched, builders, nodes, shares);
	start_events(sched);
	return true;
}

uint64_t sched_memory(const struct sched_parameters *parameters)
{
	const uint64_t n_builders = parameters->n_builders, n_sources = parameters->n_sources;
	uint64_t n_slots = 0;

	for (uint32_t i = 0; i < n_builders; i++)
		n_slots += parameters->builders[i].slots;
	return sizeof(struct sched) + n_slots * sizeof(struct sched_slot) +
	       n_builders *
		   (12 * sizeof(uint64_t) + 2 * sizeof(struct share) +
		    sizeof(struct sched_builder) + sizeof(struct sched_link) +
		    sizeof(struct sched_group) + sizeof(*((struct sched *)NULL)->rounds.members)) +
	       n_sources * (4 * sizeof(uint64_t) + sizeof(*((struct sched *)NULL)->announced)) +
	       parameters->unfinished * (uint64_t)sizeof(*((struct sched *)NULL)->events.places);
}

int sched_create(struct sched **created, const struct sched_parameters *parameters, char *error)
{
	int ret = sched_check(parameters, error);
	struct sched *sched;

	if (ret != 0)
		return ret;
	sched = aligned_alloc(SCHED_ALIGNMENT, (sizeof(*sched) + SCHED_ALIGNMENT - 1) &
						   ~(size_t)(SCHED_ALIGNMENT - 1));
	if (sched != NULL)
		*sched = (struct sched){ .parameters = *parameters };
	if (sched == NULL || !start(sched, parameters->builders)) {
		sched_destroy(sched);
		return WRONG(error, "no memory for the scheduler; fewer slots, builders or "
				    "unfinished events take less");
	}
	sched->parameters.builders = NULL; // the caller may now free the array
	*created = sched;
	return 0;
}

void sched_destroy(struct sched *sched)
{
	if (sched == NULL)
		return;
	for (unsigned i = 0; i < sched->n_allocations; i++)
		free(sched->allocations[i]);
	free(sched);
}
