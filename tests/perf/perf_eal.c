// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "perf_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "port/eal.h"

#define LOOK_US 10000 // between two looks at the workers

bool perf_start_eal(const struct perf_list *cpus, uint64_t memory)
{
	char name[32], error[EAL_ERROR_SIZE];
	struct eal_parameters parameters = {
		.name = name,
		.cpus = cpus->values,
		.n_cpus = cpus->n,
		.memory = memory,
		.kind = MEMORY_AUTO,
	};
	struct eal_state state;

	snprintf(name, sizeof(name), "perf-%d", getpid());
	if (eal_start(&parameters, &state, error) != 0)
		perf_fail("%s", error);
	(void)atexit(eal_stop); // leaves no files behind
	return state.hugepages;
}

void perf_wait_workers(void)
{
	unsigned lcore;

	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		while (rte_eal_get_lcore_state(lcore) == RUNNING)
			usleep(LOOK_US);
		rte_eal_wait_lcore(lcore);
	}
}
