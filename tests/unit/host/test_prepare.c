// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Changes, the file that remembers them, and putting them back: on a tree of files.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/change.h"
#include "host/host.h"

#define PAGES    "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"
#define FREE     "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages"
#define GOVERNOR "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
#define IRQ      "/proc/irq/7/smp_affinity_list"

static char lines[8][512]; // that were told, with the outcome
static unsigned n_lines;
static char error[STATE_ERROR_SIZE];

static void tell(void *context, enum prepare_outcome outcome, const char *line)
{
	(void)context;
	assert_true(n_lines < 8);
	snprintf(lines[n_lines++], sizeof(lines[0]), "%d %.500s", (int)outcome, line);
}

static void state_path(const struct fixture *fixture, char path[128])
{
	snprintf(path, 128, "%s/run/evb/state.json", fixture->root);
}

static int prepare(struct fixture *fixture)
{
	char path[128];

	state_path(fixture, path);
	n_lines = 0;
	return host_prepare(&fixture->system, &fixture->report, path, tell, NULL, error);
}

static int restore(struct fixture *fixture)
{
	char path[128];

	state_path(fixture, path);
	n_lines = 0;
	return host_restore(&fixture->system, path, tell, NULL, error);
}

static bool has_state(const struct fixture *fixture)
{
	char path[128];

	state_path(fixture, path);
	return access(path, F_OK) == 0;
}

static int make(void **state)
{
	struct fixture *fixture;

	if (fixture_make(state) != 0)
		return -1;
	if (setenv("RUNTIME_DIRECTORY", "/run", 1) != 0)
		return -1;
	fixture = *state;
	tree_folder(fixture, "/run");
	tree_write(fixture, PAGES, "3\n");
	tree_write(fixture, GOVERNOR, "powersave\n");
	tree_write(fixture, IRQ, "0-1\n");
	return 0;
}

static void add(struct fixture *fixture, const char *file, const char *value)
{
	report_change(&fixture->report, HOST_CHANGE_WRITE, file, "%s", value);
}

static void prepare__and_restore(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PAGES, "61");
	add(fixture, GOVERNOR, "performance");
	assert_int_equal(prepare(fixture), 0);
	tree_assert(fixture, PAGES, "61");
	tree_assert(fixture, GOVERNOR, "performance");
	assert_int_equal(n_lines, 2);
	assert_string_equal(lines[0], "0 " PAGES ": 3 to 61");
	assert_true(has_state(fixture));
	assert_int_equal(restore(fixture), 0);
	tree_assert(fixture, PAGES, "3");
	tree_assert(fixture, GOVERNOR, "powersave");
	assert_string_equal(lines[0], "0 " GOVERNOR ": back to powersave"); // the last one first
	assert_false(has_state(fixture));
	assert_int_equal(restore(fixture), 0); // there is nothing more
	assert_int_equal(n_lines, 0);
}

static void prepare__twice_keeps_what_was_there_first(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PAGES, "61");
	assert_int_equal(prepare(fixture), 0);
	assert_int_equal(prepare(fixture), 0); // nothing to do
	assert_int_equal(n_lines, 0);
	report_reset(fixture);
	add(fixture, PAGES, "100");
	assert_int_equal(prepare(fixture), 0);
	tree_assert(fixture, PAGES, "100");
	assert_int_equal(restore(fixture), 0);
	tree_assert(fixture, PAGES, "3");
}

static void prepare__without_anything_to_change(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(prepare(fixture), 0);
	assert_false(has_state(fixture));
	add(fixture, PAGES, "3");
	assert_int_equal(prepare(fixture), 0);
	assert_false(has_state(fixture));
}

static void prepare__goes_on_after_a_failure(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "/sys/nowhere", "1");
	add(fixture, PAGES, "61");
	assert_int_equal(prepare(fixture), 1);
	assert_string_equal(lines[0], "3 /sys/nowhere: No such file or directory");
	tree_assert(fixture, PAGES, "61");
	assert_int_equal(restore(fixture), 0);
	tree_assert(fixture, PAGES, "3");
	assert_int_equal(n_lines, 1);
}

static void restore__leaves_what_others_changed(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PAGES, "61");
	add(fixture, IRQ, "1");
	assert_int_equal(prepare(fixture), 0);
	tree_write(fixture, PAGES, "99\n");
	assert_int_equal(restore(fixture), 0);
	tree_assert(fixture, PAGES, "99");
	tree_assert(fixture, IRQ, "0-1");
	assert_string_equal(lines[1], "2 " PAGES ": is 99 by now, left alone (was 3, set to 61)");
	assert_false(has_state(fixture));
}

static void restore__of_what_is_gone(void **state)
{
	struct fixture *fixture = *state;
	char path[256];

	add(fixture, GOVERNOR, "performance");
	assert_int_equal(prepare(fixture), 0);
	snprintf(path, sizeof(path), "%s" GOVERNOR, fixture->root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(restore(fixture), 0);
	assert_string_equal(lines[0], "2 " GOVERNOR ": is gone");
	assert_false(has_state(fixture));
}

static void write_state(const struct fixture *fixture, const char *text, unsigned mode)
{
	char path[128];

	tree_write(fixture, "/run/evb/state.json", text);
	state_path(fixture, path);
	assert_int_equal(chmod(path, mode), 0);
}

static void state__that_evb_did_not_write(void **state)
{
	static const char *const texts[] = {
		"",
		"nonsense",
		"{\"changes\": [{\"kind\": \"write\", \"target\": \"/etc/passwd\"}]}",
		"{\"changes\": [{\"kind\": \"write\", \"target\": \"/sys/../etc/passwd\"}]}",
		"{\"changes\": [{\"kind\": \"write\"}]}",
		"{\"changes\": [{\"kind\": \"format-disk\", \"target\": \"/sys/x\"}]}",
		"{\"changes\": [{\"kind\": \"remove-folders\", \"target\": \"/sys/x\"}]}",
		"{\"changes\": [{\"kind\": \"mtu\", \"target\": \"../x\"}]}",
		"{\"changes\": [7]}",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_state(fixture, texts[i], 0600);
		assert_int_equal(restore(fixture), -1);
		assert_non_null(strstr(error, "is not as evb wrote it"));
	}
	write_state(fixture, "{\"changes\": []}", 0622);
	assert_int_equal(restore(fixture), -1);
	assert_non_null(strstr(error, "others may write it"));
}

static void state__of_two_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct state first = { 0 };
	char path[128];

	state_path(fixture, path);
	assert_int_equal(state_open(&first, path, error), 0);
	add(fixture, PAGES, "61");
	assert_int_equal(prepare(fixture), -1);
	assert_non_null(strstr(error, "is at work"));
	tree_assert(fixture, PAGES, "3");
	state_close(&first);
	assert_int_equal(prepare(fixture), 0);
}

static void change__kinds_have_names(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < HOST_N_CHANGE_KINDS; kind++)
		assert_int_equal(change_kind_of(change_kind_name((enum host_change_kind)kind)),
				 kind);
	assert_int_equal(change_kind_of("nothing"), HOST_N_CHANGE_KINDS);
}

static void check__prepare_and_check_again(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	fixture->config->n_builders = 0;
	tree_write(fixture, FREE, "3\n");
	tree_write(fixture, "/sys/devices/system/cpu/online", "0-3\n");
	tree_write(fixture, "/proc/self/status", "Cpus_allowed_list:\t0-3\n");
	host_check(&fixture->system, fixture->plan, &fixture->report);
	assert_finding(fixture, HOST_FAIL, "hugepages", "6 MiB", NULL);
	assert_finding(fixture, HOST_WARN, "governor", "powersave", NULL);
	assert_finding(fixture, HOST_WARN, "interrupts", "IRQ 7", NULL);
	assert_counts(fixture, report_count(&fixture->report, HOST_OK), 2, 1, 3);
	assert_int_equal(prepare(fixture), 0);
	tree_assert(fixture, PAGES, "60");
	tree_assert(fixture, GOVERNOR, "performance");
	tree_assert(fixture, IRQ, "2-3");
	tree_write(fixture, FREE, "60\n"); // as the kernel would
	report_reset(fixture);
	host_check(&fixture->system, fixture->plan, &fixture->report);
	assert_counts(fixture, report_count(&fixture->report, HOST_OK), 0, 0, 0);
	assert_int_equal(restore(fixture), 0);
	tree_assert(fixture, PAGES, "3");
	tree_assert(fixture, GOVERNOR, "powersave");
	tree_assert(fixture, IRQ, "0-1");
}

static void preflight__stops_at_the_first_cause(void **state)
{
	struct fixture *fixture = *state;
	const struct host_finding *failure;

	// No CPU, too few hugepages, no mount.
	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	tree_write(fixture, FREE, "3\n");
	tree_write(fixture, "/sys/devices/system/cpu/online", "0\n");
	tree_write(fixture, "/proc/self/status", "Cpus_allowed_list:\t0\n");
	failure = host_preflight(&fixture->system, fixture->plan, &fixture->report);
	assert_non_null(failure);
	assert_string_equal(failure->stage, "CPUs");
	assert_int_equal(report_count(&fixture->report, HOST_FAIL), 1);
	tree_write(fixture, "/sys/devices/system/cpu/online", "0-1\n");
	tree_write(fixture, "/proc/self/status", "Cpus_allowed_list:\t0-1\n");
	report_reset(fixture);
	failure = host_preflight(&fixture->system, fixture->plan, &fixture->report);
	assert_non_null(failure);
	assert_string_equal(failure->stage, "hugepages");
	tree_write(fixture, FREE, "60\n");
	report_reset(fixture);
	failure = host_preflight(&fixture->system, fixture->plan, &fixture->report);
	assert_non_null(failure);
	assert_string_equal(failure->stage, "event rings");
	fixture->config->n_builders = 0;
	report_reset(fixture);
	assert_null(host_preflight(&fixture->system, fixture->plan, &fixture->report));
	// What only spoils a measurement is for those who ask.
	assert_int_equal(report_count(&fixture->report, HOST_WARN), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(prepare__and_restore),
		TEST(prepare__twice_keeps_what_was_there_first),
		TEST(prepare__without_anything_to_change),
		TEST(prepare__goes_on_after_a_failure),
		TEST(restore__leaves_what_others_changed),
		TEST(restore__of_what_is_gone),
		TEST(state__that_evb_did_not_write),
		TEST(state__of_two_at_once),
		TEST(change__kinds_have_names),
		TEST(check__prepare_and_check_again),
		TEST(preflight__stops_at_the_first_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
