// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a decision of the event manager costs: ns a grant (sched_poll), a built event (sched_done)
// and a credit (sched_credit), in a steady state with half of the slots in flight, for numbers of
// builders. Events end in an order that is not that of their grants.
//
//   sched_cost [--cpu N] [--seconds S] [--builders LIST] [--slots N] [--groups N] [--sources N]
//              [--policy round-robin|occupancy|weighted|random]
//              [--shaping none|linear-shift|timed-shift|random] [--credited N] [--rates]
//
// --groups: congestion groups, at most as many as there are builders; 1, the default, means no
// rule. --credited: only the last N builders give credits. --rates: each link has a token bucket,
// of a rate that does not limit.
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "perf_tool.h"
#include "sched/sched.h"

#define MOST_BATCH 512u

static const char *const policies[] = { "round-robin", "occupancy", "weighted", "random" };
static const char *const shapings[] = { "none", "linear-shift", "timed-shift", "random" };

struct load {
	struct sched_parameters parameters;
	uint32_t slots;
	uint32_t groups;
	uint32_t credited; // builders; 0: all
	bool rates;
	double seconds;
};

struct cost {
	double grant_ns, done_ns, credit_ns;
	uint64_t grants;
};

static unsigned parse_name(const char *what, const char *text, const char *const *names)
{
	for (unsigned i = 0; i < 4; i++) {
		if (strcmp(text, names[i]) == 0)
			return i;
	}
	perf_fail("--%s: %s is none of %s, %s, %s, %s", what, text, names[0], names[1], names[2],
		  names[3]);
}

static struct sched *create(const struct load *load, uint32_t n_builders)
{
	struct sched_builder_parameters *builders = calloc(n_builders, sizeof(*builders));
	struct sched_parameters parameters = load->parameters;
	char error[SCHED_ERROR_SIZE];
	struct sched *sched;

	if (builders == NULL)
		perf_fail("out of memory");
	for (uint32_t i = 0; i < n_builders; i++)
		builders[i] = (struct sched_builder_parameters){
			.slots = load->slots,
			.group = i % (load->groups < n_builders ? load->groups : n_builders),
			.weight = 1 + i % 3,
			.port = i,
			.link_rate = load->rates ? UINT64_C(100000000000000) : 0,
		};
	parameters.builders = builders;
	parameters.n_builders = n_builders;
	if (sched_create(&sched, &parameters, error) != 0)
		perf_fail("%s", error);
	free(builders);
	return sched;
}

// All slots of the builders that give credits.
static uint32_t credit_all(struct sched *sched, const struct load *load, uint32_t n_builders)
{
	uint32_t credited =
	    load->credited > 0 && load->credited < n_builders ? load->credited : n_builders;

	for (uint32_t i = 0; i < n_builders; i++) {
		sched_register(sched, i, 1, load->slots, 0);
		for (uint32_t slot = 0; slot < load->slots && i >= n_builders - credited; slot++)
			sched_credit(sched, i, slot, 1, 0);
	}
	return credited * load->slots;
}

static void swap(struct sched_grant *a, struct sched_grant *b)
{
	struct sched_grant other = *a;

	*a = *b;
	*b = other;
}

// Half of a batch's events are in flight when the next is granted: those in `grants`, behind which
// the next are put.
static struct cost measure(struct sched *sched, const struct load *load, uint32_t batch)
{
	static struct sched_grant grants[2 * MOST_BATCH];
	uint64_t start = perf_now_ns(), end = start + (uint64_t)(load->seconds * 1e9);
	uint64_t granting = 0, finishing = 0, crediting = 0, n_done = 0, now = start;
	struct cost cost = { 0 };
	unsigned n = 0;

	sched_announce(sched, 0, INT64_MAX / 2, now);
	while (now < end) {
		uint64_t after_grants, after_dones;
		unsigned kept;

		now = perf_now_ns();
		kept = n;
		n += sched_poll(sched, now, grants + n, batch);
		after_grants = perf_now_ns();
		granting += after_grants - now;
		cost.grants += n - kept;
		for (unsigned i = 0; i < n / 2; i++)
			swap(&grants[i], &grants[(i * 7919u) % n]);
		kept = n / 2;
		now = perf_now_ns();
		for (unsigned i = kept; i < n; i++)
			sched_done(sched, grants[i].builder, grants[i].event, grants[i].slot,
				   grants[i].generation, grants[i].attempt, SCHED_COMPLETE, 100000,
				   now);
		after_dones = perf_now_ns();
		for (unsigned i = kept; i < n; i++)
			sched_credit(sched, grants[i].builder, grants[i].slot,
				     grants[i].generation + 1, now);
		finishing += after_dones - now;
		now = perf_now_ns();
		crediting += now - after_dones;
		n_done += n - kept;
		n = kept;
	}
	if (cost.grants == 0 || n_done == 0)
		perf_fail("nothing was granted");
	cost.grant_ns = (double)granting / (double)cost.grants;
	cost.done_ns = (double)finishing / (double)n_done;
	cost.credit_ns = (double)crediting / (double)n_done;
	return cost;
}

static cJSON *run(const struct load *load, uint32_t n_builders)
{
	struct sched *sched = create(load, n_builders);
	uint32_t n_slots = credit_all(sched, load, n_builders);
	struct cost cost =
	    measure(sched, load, n_slots / 2 < MOST_BATCH ? n_slots / 2 : MOST_BATCH);
	const struct sched_counters *counters = sched_counters(sched);
	cJSON *result = cJSON_CreateObject();

	cJSON_AddNumberToObject(result, "builders", n_builders);
	cJSON_AddNumberToObject(result, "grant_ns", cost.grant_ns);
	cJSON_AddNumberToObject(result, "done_ns", cost.done_ns);
	cJSON_AddNumberToObject(result, "credit_ns", cost.credit_ns);
	cJSON_AddNumberToObject(result, "grants", (double)cost.grants);
	cJSON_AddNumberToObject(result, "relaxed", (double)counters->relaxed);
	cJSON_AddNumberToObject(result, "empty_positions", (double)counters->empty_positions);
	sched_destroy(sched);
	return result;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 's' },
		{ "builders", required_argument, NULL, 'b' },
		{ "slots", required_argument, NULL, 'l' },
		{ "groups", required_argument, NULL, 'g' },
		{ "sources", required_argument, NULL, 'o' },
		{ "policy", required_argument, NULL, 'p' },
		{ "shaping", required_argument, NULL, 'h' },
		{ "credited", required_argument, NULL, 'e' },
		{ "rates", no_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	struct load load = {
		.parameters = sched_defaults(), .slots = 16, .groups = 1, .seconds = 0.2
	};
	struct perf_list builders = perf_parse_list("builders", "4,16,64,256,1024");
	cJSON *results = cJSON_CreateArray(), *result = cJSON_CreateObject();
	int option;

	load.parameters.n_sources = 1;
	load.parameters.shaping = SCHED_ALL_AT_ONCE;
	load.parameters.send_window_ns = 1;
	load.parameters.unfinished = 1u << 16;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 's')
			load.seconds = perf_parse_number("seconds", optarg, 1e-3);
		else if (option == 'b')
			builders = perf_parse_list("builders", optarg);
		else if (option == 'l')
			load.slots = (uint32_t)perf_parse_number("slots", optarg, 1);
		else if (option == 'g')
			load.groups = (uint32_t)perf_parse_number("groups", optarg, 1);
		else if (option == 'o')
			load.parameters.n_sources =
			    (uint32_t)perf_parse_number("sources", optarg, 1);
		else if (option == 'p')
			load.parameters.policy = parse_name("policy", optarg, policies);
		else if (option == 'h')
			load.parameters.shaping = parse_name("shaping", optarg, shapings);
		else if (option == 'e')
			load.credited = (uint32_t)perf_parse_number("credited", optarg, 1);
		else if (option == 'r')
			load.rates = true;
		else
			return 1;
	}
	for (unsigned i = 0; i < builders.n; i++)
		cJSON_AddItemToArray(results, run(&load, builders.values[i]));
	cJSON_AddItemToObject(result, "cases", results);
	perf_print(result);
	return 0;
}
