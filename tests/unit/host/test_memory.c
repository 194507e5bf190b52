// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Hugepages, the places for event rings, and the limits of control groups.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE0 "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/"
#define NODE1 "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/"
#define ALL   "/sys/kernel/mm/hugepages/hugepages-2048kB/"

static void write_node(const struct fixture *fixture, unsigned node, const char *reserved,
		       const char *free)
{
	tree_write(fixture, node == 0 ? NODE0 "nr_hugepages" : NODE1 "nr_hugepages", reserved);
	tree_write(fixture, node == 0 ? NODE0 "free_hugepages" : NODE1 "free_hugepages", free);
}

static void judge_hugepages(struct fixture *fixture, uint64_t dead)
{
	report_reset(fixture);
	fixture->check->runs.dead_hugepage_bytes = dead;
	judge_stage(fixture, "hugepages");
}

// --- hugepages -----------------------------------------------------------------------------------

static void hugepages__enough(void **state)
{
	struct fixture *fixture = *state;

	write_node(fixture, 0, "64\n", "60\n");
	judge_hugepages(fixture, 0);
	assert_finding(fixture, HOST_OK, "hugepages", "NUMA node 0: 120 MiB wanted, 120 MiB free",
		       NULL);
	assert_counts(fixture, 1, 0, 0, 0);
}

static void hugepages__too_few_where_they_are_demanded(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	write_node(fixture, 0, "64\n", "59\n");
	judge_hugepages(fixture, 0);
	assert_finding(fixture, HOST_FAIL, "hugepages",
		       "NUMA node 0 has 118 MiB of free hugepages, 120 MiB are wanted",
		       "echo 65 > " NODE0 "nr_hugepages");
	assert_counts(fixture, 0, 0, 1, 1);
	assert_change(fixture, HOST_CHANGE_WRITE, NODE0 "nr_hugepages", "65");
}

static void hugepages__too_few_where_they_are_wished(void **state)
{
	struct fixture *fixture = *state;
	const struct host_finding *finding;

	write_node(fixture, 0, "10\n", "4\n");
	judge_hugepages(fixture, 0);
	finding =
	    assert_finding(fixture, HOST_WARN, "hugepages", "ordinary memory is used", "echo 66 >");
	assert_false(finding->quiet);
	assert_counts(fixture, 0, 1, 0, 1);
	// Who reserves none is not told at each run.
	write_node(fixture, 0, "0\n", "0\n");
	judge_hugepages(fixture, 0);
	finding = assert_finding(fixture, HOST_WARN, "hugepages", NULL, "echo 60 >");
	assert_true(finding->quiet);
}

static void hugepages__of_each_node(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	fixture->plan->n_nodes = 2;
	fixture->plan->nodes[1].hugepage_bytes = 200 * MIB;
	write_node(fixture, 0, "512\n", "512\n"); // plenty in all, and none of it on node 1
	write_node(fixture, 1, "10\n", "10\n");
	judge_hugepages(fixture, 0);
	assert_finding(fixture, HOST_OK, "hugepages", "NUMA node 0", NULL);
	assert_finding(fixture, HOST_FAIL, "hugepages", "NUMA node 1 has 20 MiB",
		       "echo 100 > " NODE1 "nr_hugepages");
	assert_counts(fixture, 1, 0, 1, 1);
}

static void hugepages__of_all_sizes_count(void **state)
{
	struct fixture *fixture = *state;

	write_node(fixture, 0, "0\n", "0\n");
	tree_write(fixture,
		   "/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages",
		   "1\n");
	tree_write(fixture,
		   "/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/free_hugepages",
		   "1\n");
	judge_hugepages(fixture, 0);
	assert_finding(fixture, HOST_OK, "hugepages", "1024 MiB free", NULL);
}

static void hugepages__of_a_kernel_without_numa(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	tree_write(fixture, ALL "nr_hugepages", "0\n");
	tree_write(fixture, ALL "free_hugepages", "0\n");
	judge_hugepages(fixture, 0);
	assert_finding(fixture, HOST_FAIL, "hugepages", NULL, "echo 60 > " ALL "nr_hugepages");
	assert_change(fixture, HOST_CHANGE_WRITE, ALL "nr_hugepages", "60");
}

static void hugepages__of_another_default_size(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	tree_write(fixture, "/proc/meminfo", "MemTotal: 1 kB\nHugepagesize:       32768 kB\n");
	tree_write(fixture,
		   "/sys/devices/system/node/node0/hugepages/hugepages-32768kB/nr_hugepages", "1");
	tree_write(fixture,
		   "/sys/devices/system/node/node0/hugepages/hugepages-32768kB/free_hugepages",
		   "1");
	judge_hugepages(fixture, 0);
	assert_finding(fixture, HOST_FAIL, "hugepages", NULL,
		       "echo 4 > /sys/devices/system/node/node0/hugepages/hugepages-32768kB/");
}

static void hugepages__held_by_dead_runs(void **state)
{
	struct fixture *fixture = *state;

	write_node(fixture, 0, "64\n", "0\n");
	judge_hugepages(fixture, 64 * MIB);
	assert_finding(fixture, HOST_WARN, "hugepages", "dead runs hold 64 MiB", NULL);
}

static void hugepages__not_used(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->memory.kind = MEMORY_SHM;
	write_node(fixture, 0, "0\n", "0\n");
	judge_hugepages(fixture, 0);
	assert_counts(fixture, 1, 0, 0, 0);
}

static void hugepages__without_any_files(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	judge_hugepages(fixture, 0);
	// There is nothing that could be written.
	assert_counts(fixture, 0, 0, 1, 0);
}

static void hugepages__described_without_a_plan(void **state)
{
	struct fixture *fixture = *state;

	write_node(fixture, 0, "64\n", "60\n");
	free(fixture->plan);
	fixture->plan = NULL;
	judge_hugepages(fixture, 0);
	assert_finding(fixture, HOST_OK, "hugepages",
		       "NUMA node 0: 64 pages of 2 MiB reserved, 60 free", NULL);
}

// --- event rings ---------------------------------------------------------------------------------

static void judge_mounts(struct fixture *fixture, const struct mounts_facts *facts, bool hugepages)
{
	report_reset(fixture);
	fixture->check->mounts = *facts;
	fixture->check->hugepages_suffice = hugepages;
	judge_facts(fixture, "event rings");
}

static const struct mounts_facts roomy = {
	.default_page = 2 * MIB,
	.has_shm = true,
	.shm_free = 1024 * MIB,
	.shm_size = 1024 * MIB,
	.available = 2048 * MIB,
};

static void mounts_read__finds_hugetlbfs(void **state)
{
	struct fixture *fixture = *state;
	const struct mounts_facts *facts = &fixture->check->mounts;

	tree_write(fixture, "/proc/meminfo", "MemAvailable: 1024 kB\nHugepagesize: 2048 kB\n");
	tree_write(fixture, "/proc/mounts",
		   "proc /proc proc rw 0 0\n"
		   "nodev /dev/hugepages hugetlbfs rw,relatime,pagesize=2M 0 0\n"
		   "nodev /mnt/huge\\0401G hugetlbfs rw,relatime,pagesize=1024M 0 0\n"
		   "nodev /mnt/plain hugetlbfs rw,relatime 0 0\n");
	tree_folder(fixture, "/dev/hugepages");
	tree_folder(fixture, "/dev/shm");
	judge_stage(fixture, "event rings");
	assert_int_equal(facts->n_hugetlbfs, 3);
	assert_string_equal(facts->hugetlbfs[0].path, "/dev/hugepages");
	assert_int_equal(facts->hugetlbfs[0].page, 2 * MIB);
	assert_true(facts->hugetlbfs[0].usable);
	assert_string_equal(facts->hugetlbfs[1].path, "/mnt/huge 1G");
	assert_int_equal(facts->hugetlbfs[1].page, 1024 * MIB);
	assert_false(facts->hugetlbfs[1].usable); // hidden by something else
	assert_int_equal(facts->hugetlbfs[2].page, 2 * MIB);
	assert_true(facts->has_shm);
	assert_int_equal(facts->available, MIB);
}

static void mounts__missing_where_hugepages_are_demanded(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	judge_mounts(fixture, &roomy, true);
	assert_finding(fixture, HOST_FAIL, "event rings", "no hugetlbfs is mounted",
		       "mount -t hugetlbfs -o pagesize=2M nodev /dev/hugepages");
	assert_counts(fixture, 0, 0, 1, 1);
	assert_change(fixture, HOST_CHANGE_MOUNT, "/dev/hugepages", "2M");
}

static void mounts__missing_where_hugepages_are_wished(void **state)
{
	struct fixture *fixture = *state;

	judge_mounts(fixture, &roomy, true);
	assert_finding(fixture, HOST_WARN, "event rings", "no hugetlbfs is mounted", NULL);
	assert_finding(fixture, HOST_OK, "event rings", "/dev/shm, 16 MiB", NULL);
	assert_counts(fixture, 1, 1, 0, 1);
	// Where packets do not lie in hugepages either, none is missed.
	judge_mounts(fixture, &roomy, false);
	assert_counts(fixture, 1, 0, 0, 0);
}

static void mounts__of_somebody_else(void **state)
{
	struct fixture *fixture = *state;
	struct mounts_facts facts = roomy;

	facts.n_hugetlbfs = 1;
	strcpy(facts.hugetlbfs[0].path, "/dev/hugepages");
	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	judge_mounts(fixture, &facts, true);
	assert_finding(fixture, HOST_FAIL, "event rings", "may not be written", "chown ");
	facts.hugetlbfs[0].usable = true;
	judge_mounts(fixture, &facts, true);
	assert_finding(fixture, HOST_OK, "event rings", "/dev/hugepages, 16 MiB", NULL);
	assert_counts(fixture, 1, 0, 0, 0);
}

static void shm__too_small(void **state)
{
	struct fixture *fixture = *state;
	struct mounts_facts facts = roomy;

	fixture->config->memory.kind = MEMORY_SHM;
	facts.shm_free = 15 * MIB;
	facts.shm_size = 64 * MIB;
	judge_mounts(fixture, &facts, false);
	assert_finding(fixture, HOST_FAIL, "event rings",
		       "/dev/shm has 15 MiB free, the slots take 16 MiB",
		       "mount -o remount,size=65M /dev/shm");
	facts.shm_free = 16 * MIB;
	judge_mounts(fixture, &facts, false);
	assert_counts(fixture, 1, 0, 0, 0);
	facts.available = 15 * MIB;
	judge_mounts(fixture, &facts, false);
	assert_finding(fixture, HOST_FAIL, "event rings", "15 MiB of memory are available", NULL);
	facts.has_shm = false;
	judge_mounts(fixture, &facts, false);
	assert_finding(fixture, HOST_FAIL, "event rings", "there is no /dev/shm", NULL);
}

static void directory__of_the_configuration(void **state)
{
	struct fixture *fixture = *state;
	struct mounts_facts facts = roomy;

	strcpy(fixture->config->event_ring.directory, "/mnt/rings");
	judge_mounts(fixture, &facts, true);
	assert_finding(fixture, HOST_FAIL, "event rings", "there is no /mnt/rings", "mkdir");
	facts.directory_exists = true;
	judge_mounts(fixture, &facts, true);
	assert_finding(fixture, HOST_FAIL, "event rings", "/mnt/rings may not be written", NULL);
	facts.directory_usable = true;
	facts.directory_free = 15 * MIB;
	judge_mounts(fixture, &facts, true);
	assert_finding(fixture, HOST_FAIL, "event rings", "15 MiB free", NULL);
	facts.directory_hugepages = true; // whose room is another stage's
	judge_mounts(fixture, &facts, true);
	assert_counts(fixture, 1, 0, 0, 0);
}

static void mounts__not_wanted_without_builders(void **state)
{
	struct fixture *fixture = *state;

	fixture->config->n_builders = 0;
	fixture->config->memory.kind = MEMORY_HUGEPAGES;
	judge_mounts(fixture, &roomy, true);
	assert_counts(fixture, 1, 0, 0, 0);
}

// --- control groups ------------------------------------------------------------------------------

static void judge_cgroup(struct fixture *fixture, bool hugepages)
{
	report_reset(fixture);
	fixture->check->hugepages.default_page = 2 * MIB;
	fixture->check->hugepages_suffice = hugepages;
	judge_facts(fixture, "cgroup");
}

static void cgroup__none(void **state)
{
	struct fixture *fixture = *state;

	judge_cgroup(fixture, true);
	assert_finding(fixture, HOST_OK, "cgroup", "no limit", NULL);
}

static void make_version2(const struct fixture *fixture, const char *maximum, const char *current)
{
	tree_write(fixture, "/proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	tree_write(fixture, "/proc/self/cgroup", "0::/a/b\n");
	tree_write(fixture, "/sys/fs/cgroup/a/b/memory.max", "max\n");
	tree_write(fixture, "/sys/fs/cgroup/a/memory.max", maximum);
	tree_write(fixture, "/sys/fs/cgroup/a/memory.current", current);
	tree_write(fixture, "/sys/fs/cgroup/a/memory.stat",
		   "anon 5\nfile 20971520\ninactive_file 10485760\nactive_file 7\n");
}

static void cgroup__memory_of_version_2(void **state)
{
	struct fixture *fixture = *state;

	// 120 MiB of packets and slots, and what the program takes
	make_version2(fixture, "104857600\n", "0\n");
	judge_cgroup(fixture, false);
	assert_finding(fixture, HOST_FAIL, "cgroup",
		       "/sys/fs/cgroup/a/memory.max allows 100 MiB of memory, 216 MiB are wanted",
		       "--memory");
	// In hugepages they do not count.
	judge_cgroup(fixture, true);
	assert_counts(fixture, 1, 0, 0, 0);
	// Enough in all, but used by others; cache that can go counts as free.
	make_version2(fixture, "314572800\n", "115343360\n");
	judge_cgroup(fixture, false);
	assert_finding(fixture, HOST_WARN, "cgroup", "leaves 200 of 300 MiB", NULL);
	make_version2(fixture, "314572800\n", "52428800\n");
	judge_cgroup(fixture, false);
	assert_finding(fixture, HOST_OK, "cgroup", "leaves 260 of 300 MiB", NULL);
}

static void cgroup__memory_of_version_1(void **state)
{
	struct fixture *fixture = *state;

	tree_write(fixture, "/proc/mounts",
		   "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
		   "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
		   "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n");
	tree_write(fixture, "/proc/self/cgroup", "5:memory,hugetlb:/job\n1:cpu:/\n0::/\n");
	tree_write(fixture, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	tree_write(fixture, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "104857600\n");
	tree_write(fixture, "/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "0\n");
	judge_cgroup(fixture, false);
	assert_finding(fixture, HOST_FAIL, "cgroup",
		       "/sys/fs/cgroup/memory/job/memory.limit_in_bytes allows 100 MiB", NULL);
}

static void cgroup__hugepages(void **state)
{
	struct fixture *fixture = *state;

	make_version2(fixture, "max\n", "0\n");
	tree_write(fixture, "/sys/fs/cgroup/a/b/hugetlb.2MB.max", "134217728\n");
	tree_write(fixture, "/sys/fs/cgroup/a/b/hugetlb.2MB.current", "10485760\n");
	judge_cgroup(fixture, true);
	assert_finding(fixture, HOST_FAIL, "cgroup",
		       "/sys/fs/cgroup/a/b/hugetlb.2MB.max leaves 118 MiB of hugepages, 120 MiB",
		       "hugepages-2Mi");
	// Who does not use them is not hindered.
	judge_cgroup(fixture, false);
	assert_finding(fixture, HOST_OK, "cgroup", "118 of 128 MiB of hugepages", NULL);
	tree_write(fixture, "/sys/fs/cgroup/a/b/hugetlb.2MB.current", "0\n");
	judge_cgroup(fixture, true);
	assert_counts(fixture, 1, 0, 0, 0);
}

static void cgroup__in_a_container(void **state)
{
	struct fixture *fixture = *state;

	// The path is the host's, the mount that of the group itself.
	tree_write(fixture, "/proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	tree_write(fixture, "/proc/self/cgroup", "0::/machine.slice/libpod-1\n");
	tree_write(fixture, "/sys/fs/cgroup/memory.max", "1048576\n");
	judge_cgroup(fixture, false);
	assert_finding(fixture, HOST_FAIL, "cgroup", "/sys/fs/cgroup/memory.max allows 1 MiB",
		       NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hugepages__enough),
		TEST(hugepages__too_few_where_they_are_demanded),
		TEST(hugepages__too_few_where_they_are_wished),
		TEST(hugepages__of_each_node),
		TEST(hugepages__of_all_sizes_count),
		TEST(hugepages__of_a_kernel_without_numa),
		TEST(hugepages__of_another_default_size),
		TEST(hugepages__held_by_dead_runs),
		TEST(hugepages__not_used),
		TEST(hugepages__without_any_files),
		TEST(hugepages__described_without_a_plan),
		TEST(mounts_read__finds_hugetlbfs),
		TEST(mounts__missing_where_hugepages_are_demanded),
		TEST(mounts__missing_where_hugepages_are_wished),
		TEST(mounts__of_somebody_else),
		TEST(shm__too_small),
		TEST(directory__of_the_configuration),
		TEST(mounts__not_wanted_without_builders),
		TEST(cgroup__none),
		TEST(cgroup__memory_of_version_2),
		TEST(cgroup__memory_of_version_1),
		TEST(cgroup__hugepages),
		TEST(cgroup__in_a_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
