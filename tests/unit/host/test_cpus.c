// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// CPUs of lcores: whether they are there, their own, fast, and left alone by interrupts.
#include "fixture.h"

#include <stdio.h>

#define CPUS            "/sys/devices/system/cpu/"
#define MOST_INTERRUPTS 256 // that are looked at

static void make_machine(const struct fixture *fixture, const char *online, const char *allowed,
			 const char *isolated)
{
	char status[128];

	snprintf(status, sizeof(status), "Name:\tevb\nCpus_allowed_list:\t%s\nCapEff:\t0\n",
		 allowed);
	tree_write(fixture, CPUS "online", online);
	tree_write(fixture, CPUS "isolated", isolated);
	tree_write(fixture, "/proc/self/status", status);
}

static void judge(struct fixture *fixture)
{
	report_reset(fixture);
	judge_stage(fixture, "CPUs");
	judge_stage(fixture, "isolation");
	judge_stage(fixture, "governor");
}

static void cpus__of_lcores(void **state)
{
	struct fixture *fixture = *state;

	make_machine(fixture, "0-3\n", "0-3", "\n");
	judge(fixture);
	assert_finding(fixture, HOST_OK, "CPUs", "lcores on CPU 0-1", NULL);
	assert_counts(fixture, 3, 0, 0, 0);
}

static void cpus__that_are_not_there(void **state)
{
	struct fixture *fixture = *state;

	make_machine(fixture, "0\n", "0", "\n");
	judge(fixture);
	assert_finding(fixture, HOST_FAIL, "CPUs", "CPU 1 is not there or offline, 0 are online",
		       NULL);
}

static void cpus__that_are_not_allowed(void **state)
{
	struct fixture *fixture = *state;

	make_machine(fixture, "0-3\n", "0,2-3", "\n");
	judge(fixture);
	assert_finding(fixture, HOST_FAIL, "CPUs",
		       "CPU 1 is not among those that this process may use, 0,2-3", "--cpuset");
}

static void isolation__for_lcores_that_poll(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->idle.policy = CONFIG_IDLE_POLL;
	make_machine(fixture, "0-3\n", "0-3", "1\n");
	judge(fixture);
	assert_finding(fixture, HOST_WARN, "isolation", "on CPU 0 share it", "isolcpus=0");
	make_machine(fixture, "0-3\n", "0-3", "0-1\n");
	judge(fixture);
	assert_finding(fixture, HOST_OK, "isolation", "all lcores", NULL);
	make_machine(fixture, "0-3\n", "0-3", "\n");
	fixture->config->idle.policy = CONFIG_IDLE_ADAPTIVE;
	judge(fixture);
	assert_finding(fixture, HOST_OK, "isolation", "not needed", NULL);
}

static void governor__of_the_lcores_only(void **state)
{
	struct fixture *fixture = *state;

	make_machine(fixture, "0-3\n", "0-3", "\n");
	tree_write(fixture, CPUS "cpu0/cpufreq/scaling_governor", "performance\n");
	tree_write(fixture, CPUS "cpu1/cpufreq/scaling_governor", "powersave\n");
	tree_write(fixture, CPUS "cpu2/cpufreq/scaling_governor", "powersave\n");
	judge(fixture);
	assert_finding(fixture, HOST_WARN, "governor", "CPU 1: powersave", "performance");
	assert_counts(fixture, 2, 1, 0, 1);
	assert_change(fixture, HOST_CHANGE_WRITE, CPUS "cpu1/cpufreq/scaling_governor",
		      "performance");
}

// --- interrupts ----------------------------------------------------------------------------------

static void write_interrupt(const struct fixture *fixture, unsigned number, const char *wanted,
			    const char *effective)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", number);
	tree_write(fixture, path, wanted);
	if (effective == NULL)
		return;
	snprintf(path, sizeof(path), "/proc/irq/%u/effective_affinity_list", number);
	tree_write(fixture, path, effective);
}

static void judge_interrupts(struct fixture *fixture)
{
	report_reset(fixture);
	judge_stage(fixture, "interrupts");
}

static void interrupts__that_go_to_lcores(void **state)
{
	struct fixture *fixture = *state;

	tree_write(fixture, CPUS "online", "0-3\n");
	tree_write(fixture, "/proc/irq/default_smp_affinity", "f\n");
	write_interrupt(fixture, 30, "0-3\n", "1\n");
	write_interrupt(fixture, 24, "1\n", "1\n");
	write_interrupt(fixture, 26, "0-3\n", "2\n"); // goes elsewhere now
	write_interrupt(fixture, 27, "0\n", NULL);    // an older kernel
	write_interrupt(fixture, 28, "\n", "\n");
	judge_interrupts(fixture);
	assert_finding(fixture, HOST_WARN, "interrupts", "IRQ 24, 27, 30 go to",
		       "echo 2-3 > /proc/irq/N/smp_affinity_list");
	assert_counts(fixture, 0, 1, 0, 3);
	assert_change(fixture, HOST_CHANGE_WRITE, "/proc/irq/30/smp_affinity_list", "2-3");
	assert_change(fixture, HOST_CHANGE_WRITE, "/proc/irq/24/smp_affinity_list", "2-3");
}

static void interrupts__where_all_cpus_have_lcores(void **state)
{
	struct fixture *fixture = *state;

	tree_write(fixture, CPUS "online", "0-1\n");
	write_interrupt(fixture, 24, "1\n", "1\n");
	judge_interrupts(fixture);
	assert_counts(fixture, 1, 0, 0, 0);
}

static void interrupts__without_end(void **state)
{
	struct fixture *fixture = *state;

	tree_write(fixture, CPUS "online", "0-3\n");
	for (unsigned i = 0; i < MOST_INTERRUPTS + 5; i++)
		write_interrupt(fixture, 1000 + i, "0\n", "0\n");
	judge_interrupts(fixture);
	assert_finding(fixture, HOST_WARN, "interrupts", "and 250 more", NULL);
	assert_counts(fixture, 0, 1, 0, MOST_INTERRUPTS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cpus__of_lcores),
		TEST(cpus__that_are_not_there),
		TEST(cpus__that_are_not_allowed),
		TEST(isolation__for_lcores_that_poll),
		TEST(governor__of_the_lcores_only),
		TEST(interrupts__that_go_to_lcores),
		TEST(interrupts__where_all_cpus_have_lcores),
		TEST(interrupts__without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
