// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "plan_bench.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/interface.h"

const char plan_five_roles[] =
    "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}]," SOURCES "," BUILDERS
    ", \"generators\": [{\"name\": \"g\", \"port\": \"wire\"}],"
    "\"writers\": [{\"name\": \"w\"}]}";

static cpu_set_t allowed;
static int n_on_machine;
static int node_of_cpu[64];
static uint64_t free_hugepages[2];

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_numa_available(void);
int __wrap_get_nprocs(void);
int __wrap_numa_node_of_cpu(int cpu);
uint64_t __wrap_eal_free_hugepages(int numa_node);
bool __wrap_interface_of_device(const char *device, char name[INTERFACE_NAME_SIZE]);
bool __wrap_interface_is_veth(const char *interface);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	assert_int_equal(pid, 0);
	assert_int_equal(size, sizeof(allowed));
	*set = allowed;
	return 0;
}

int __wrap_get_nprocs(void)
{
	return n_on_machine;
}

int __wrap_numa_available(void)
{
	return 0;
}

int __wrap_numa_node_of_cpu(int cpu)
{
	return node_of_cpu[cpu];
}

uint64_t __wrap_eal_free_hugepages(int numa_node)
{
	assert_in_range(numa_node, 0, 1);
	return free_hugepages[numa_node];
}

bool __wrap_interface_of_device(const char *device, char name[INTERFACE_NAME_SIZE])
{
	snprintf(name, INTERFACE_NAME_SIZE, "%s", device);
	return strncmp(device, "veth", 4) == 0 || strncmp(device, "eth", 3) == 0;
}

bool __wrap_interface_is_veth(const char *interface)
{
	return strncmp(interface, "veth", 4) == 0;
}

void machine_make(unsigned n_cpus)
{
	CPU_ZERO(&allowed);
	n_on_machine = (int)n_cpus;
	for (unsigned i = 0; i < n_cpus; i++)
		CPU_SET(i, &allowed);
	memset(node_of_cpu, 0, sizeof(node_of_cpu));
	memset(free_hugepages, 0, sizeof(free_hugepages));
}

void machine_forbid_cpu(unsigned cpu)
{
	CPU_CLR(cpu, &allowed);
}

void machine_allow_cpu(unsigned cpu)
{
	CPU_SET(cpu, &allowed);
}

void machine_put_cpu(unsigned cpu, int node)
{
	node_of_cpu[cpu] = node;
}

void machine_set_hugepages(unsigned node, uint64_t bytes)
{
	free_hugepages[node] = bytes;
}

static struct config *parse(const char *text, const char *node)
{
	char error[CONFIG_ERROR_SIZE];
	struct config *config;

	if (config_parse(&config, text, strlen(text), "x.json", node, NULL, 0, error) != 0)
		fail_msg("%s", error);
	return config;
}

struct plan *plan_of(const char *text)
{
	return plan_of_node(text, NULL);
}

struct plan *plan_of_node(const char *text, const char *node)
{
	struct config *config = parse(text, node);
	struct plan *plan = malloc(sizeof(*plan));
	char error[PLAN_ERROR_SIZE];

	assert_non_null(plan);
	if (plan_make(plan, config, error) != 0)
		fail_msg("%s", error);
	return plan;
}

void plan_free(struct plan *plan)
{
	config_free((struct config *)(uintptr_t)plan->config);
	free(plan);
}

void plan_refused(const char *text, const char *expected)
{
	plan_of_node_refused(text, NULL, expected);
}

void plan_of_node_refused(const char *text, const char *node, const char *expected)
{
	struct config *config = parse(text, node);
	struct plan *plan = malloc(sizeof(*plan));
	char error[PLAN_ERROR_SIZE] = "";

	assert_non_null(plan);
	assert_int_equal(plan_make(plan, config, error), -1);
	assert_string_equal(error, expected);
	free(plan);
	config_free(config);
}
