// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/eal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "port/interrupt_thread.h"
#include "sysfs/hugepages.h"

#define MIB (1024u * 1024u)

static bool started; // control thread only

struct arguments {
	char storage[EAL_MAX_ARGUMENTS][EAL_DEVICE_SIZE];
	char *pointers[EAL_MAX_ARGUMENTS + 1];
	int n;
};

static void add(struct arguments *arguments, const char *text)
{
	if (arguments->n == EAL_MAX_ARGUMENTS)
		return;
	snprintf(arguments->storage[arguments->n], sizeof(arguments->storage[0]), "%s", text);
	arguments->pointers[arguments->n] = arguments->storage[arguments->n];
	arguments->n++;
}

uint64_t eal_memory(uint64_t bytes)
{
	return bytes + bytes / 4 + 64 * MIB;
}

uint64_t eal_free_hugepages(int numa_node)
{
	struct hugepages hugepages;

	hugepages_take(&hugepages, "");
	return hugepages_free(&hugepages, numa_node);
}

uint64_t eal_hugepages_to_reserve(int numa_node, uint64_t missing)
{
	struct hugepages hugepages;

	hugepages_take(&hugepages, "");
	return hugepages_to_reserve(&hugepages, (unsigned)numa_node, 2 * MIB, missing);
}

// "0@0,1@0,2@1": lcore 0 is the control thread, lcore 1 + i the worker on cpus[i].
static void add_lcores(struct arguments *arguments, const struct eal_parameters *parameters)
{
	char text[512];
	int used = snprintf(text, sizeof(text), "0@%u", parameters->cpus[0]);

	for (unsigned i = 0; i < parameters->n_cpus && used < (int)sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, ",%u@%u", i + 1,
				 parameters->cpus[i]);
	add(arguments, "--lcores");
	add(arguments, text);
	add(arguments, "--main-lcore");
	add(arguments, "0");
}

static void add_memory(struct arguments *arguments, const struct eal_parameters *parameters,
		       bool hugepages)
{
	char text[32];

	if (hugepages) {
		add(arguments, "--in-memory");
		add(arguments, "--single-file-segments");
		return;
	}
	add(arguments, "--no-huge");
	add(arguments, "--no-shconf");
	add(arguments, "-m");
	snprintf(text, sizeof(text), "%llu",
		 (unsigned long long)(eal_memory(parameters->memory) / MIB));
	add(arguments, text);
}

static void add_all(struct arguments *arguments, const struct eal_parameters *parameters,
		    bool hugepages)
{
	char text[64];

	add(arguments, "evb");
	add_lcores(arguments, parameters);
	add_memory(arguments, parameters, hugepages);
	snprintf(text, sizeof(text), "--file-prefix=evb-%s", parameters->name);
	add(arguments, text);
	add(arguments, "--iova-mode=va");
	// The EAL and telemetry log harmless warnings, for example of page sizes that are not used.
	// For log types that exist already the last matching pattern applies, for types that are
	// registered later the first.
	add(arguments, "--log-level=lib.telemetry:error");
	add(arguments, "--log-level=*:warning");
	add(arguments, "--log-level=lib.eal:error");
	// Without this argument the EAL probes all network cards of the machine, also the one over
	// which the machine is administered.
	if (parameters->n_pci == 0)
		add(arguments, "--no-pci");
	for (unsigned i = 0; i < parameters->n_pci; i++) {
		add(arguments, "-a");
		add(arguments, parameters->pci[i]);
	}
}

static bool use_hugepages(const struct eal_parameters *parameters)
{
	if (parameters->kind == MEMORY_SHM)
		return false;
	return parameters->kind == MEMORY_HUGEPAGES ||
	       eal_free_hugepages(-1) >= eal_memory(parameters->memory);
}

static bool cpus_are_allowed(const struct eal_parameters *parameters, char *error)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return true; // the EAL reports the error
	for (unsigned i = 0; i < parameters->n_cpus; i++) {
		if (CPU_ISSET(parameters->cpus[i], &allowed))
			continue;
		snprintf(error, EAL_ERROR_SIZE,
			 "lcores: CPU %u is not among those that this process may use: change "
			 "`cpu`, or the cpuset it is started in",
			 parameters->cpus[i]);
		return false;
	}
	return true;
}

int eal_start(const struct eal_parameters *parameters, struct eal_state *state, char *error)
{
	struct arguments arguments = { .n = 0 };
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	size_t used = 0;

	if (!cpus_are_allowed(parameters, error))
		return -1;
	// If the variable is empty, DPDK looks for its runtime directory in /.
	if (runtime != NULL && runtime[0] == '\0')
		unsetenv("XDG_RUNTIME_DIR");
	state->hugepages = use_hugepages(parameters);
	add_all(&arguments, parameters, state->hugepages);
	for (int i = 1; i < arguments.n && used < sizeof(state->arguments); i++)
		used += (size_t)snprintf(state->arguments + used, sizeof(state->arguments) - used,
					 "%s%s", i > 1 ? " " : "", arguments.storage[i]);
	if (rte_eal_init(arguments.n, arguments.pointers) < 0) {
		snprintf(error, EAL_ERROR_SIZE, "DPDK refused to start (%s) with: %s",
			 rte_strerror(rte_errno), state->arguments);
		return -1;
	}
	started = true;
	return 0;
}

void eal_stop(void)
{
	char directory[256], socket_path[300];

	if (!started)
		return;
	snprintf(directory, sizeof(directory), "%s", rte_eal_get_runtime_dir());
	interrupt_thread_settle();
	// The process ends next, so a failure needs no reaction.
	(void)rte_eal_cleanup();
	// DPDK does not remove its runtime directory, which has the appliance's name.
	snprintf(socket_path, sizeof(socket_path), "%s/dpdk_telemetry.v2", directory);
	(void)unlink(socket_path);
	(void)rmdir(directory); // fails if another process of this name has files in it
}
