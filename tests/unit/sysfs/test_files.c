// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The kernel's files, below a directory that stands for the root.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sysfs/cgroup.h"
#include "sysfs/file.h"
#include "sysfs/hugepages.h"
#include "sysfs/mounts.h"

#define MIB ((uint64_t)1 << 20)

static char root[64];

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/evb-sysfs-XXXXXX");
	return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

// Writes a file below the root, and makes the directories on its path.
static void write_file(const char *path, const char *text)
{
	char whole[SYSFS_PATH_SIZE];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		(void)mkdir(whole, 0755); // it may exist
		*at = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void file__reads_texts_and_numbers(void **state)
{
	char text[SYSFS_TEXT_SIZE];

	(void)state;
	write_file("/sys/a", "12\n\n");
	write_file("/sys/b", "-1\n");
	write_file("/sys/c", "7x\n");
	assert_true(sysfs_read(root, text, "/sys/%c", 'a'));
	assert_string_equal(text, "12");
	assert_false(sysfs_read(root, text, "/sys/none"));
	assert_int_equal(sysfs_number(root, 5, "/sys/a"), 12);
	assert_int_equal(sysfs_number(root, 5, "/sys/b"), 5);
	assert_int_equal(sysfs_number(root, 5, "/sys/c"), 5);
	assert_int_equal(sysfs_number(root, 5, "/sys/none"), 5);
	assert_true(sysfs_exists(root, "/sys/a"));
	assert_int_equal(sysfs_access(root, "/sys/a", R_OK), 0);
	assert_int_not_equal(sysfs_access(root, "/sys/none", R_OK), 0);
}

static void file__reads_fields(void **state)
{
	char text[SYSFS_TEXT_SIZE];

	(void)state;
	write_file("/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   1024 kB\nHugepagesize: x\n");
	assert_true(sysfs_field(root, "/proc/meminfo", "MemTotal:", text));
	assert_string_equal(text, "9 kB");
	assert_false(sysfs_field(root, "/proc/meminfo", "Total", text));
	assert_int_equal(sysfs_meminfo(root, "MemAvailable", 3), MIB);
	assert_int_equal(sysfs_meminfo(root, "Hugepagesize", 3), 3);
	assert_int_equal(sysfs_meminfo(root, "Other", 3), 3);
}

static void mounts__of_a_type(void **state)
{
	struct sysfs_mount list[2];

	(void)state;
	write_file("/proc/mounts", "proc /proc proc rw 0 0\n"
				   "nodev /dev/huge hugetlbfs rw,pagesize=2M,uid=1 0 0\n"
				   "nodev /mnt/with\\040blank hugetlbfs rw 0 0\n"
				   "nodev /mnt/third hugetlbfs rw 0 0\n"
				   "cgroup /c cgroup rw,cpu,memory 0 0\n");
	assert_int_equal(sysfs_mounts(root, "hugetlbfs", NULL, list, 2), 2);
	assert_string_equal(list[0].path, "/dev/huge");
	assert_string_equal(list[0].page_size, "2M");
	assert_string_equal(list[1].path, "/mnt/with blank");
	assert_string_equal(list[1].page_size, "");
	assert_int_equal(sysfs_mounts(root, "cgroup", "memory", list, 2), 1);
	assert_int_equal(sysfs_mounts(root, "cgroup", "hugetlb", list, 2), 0);
	assert_int_equal(sysfs_mounts("/nowhere", "proc", NULL, list, 2), 0);
	assert_int_equal(sysfs_page_size("2M"), 2 * MIB);
	assert_int_equal(sysfs_page_size("1G"), 1024 * MIB);
	assert_int_equal(sysfs_page_size("64k"), 65536);
}

static void hugepages__of_nodes_and_sizes(void **state)
{
	struct hugepages hugepages;
	char path[256];

	(void)state;
	write_file("/proc/meminfo", "Hugepagesize: 2048 kB\n");
	write_file("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "8");
	write_file("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "3");
	write_file("/sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages",
		   "2");
	write_file("/sys/devices/system/node/node1/hugepages/hugepages-1048576kB/free_hugepages",
		   "1");
	hugepages_take(&hugepages, root);
	assert_true(hugepages.has_nodes);
	assert_int_equal(hugepages_free(&hugepages, 0), 6 * MIB);
	assert_int_equal(hugepages_free(&hugepages, 1), 1024 * MIB);
	assert_int_equal(hugepages_free(&hugepages, -1), 1030 * MIB);
	assert_int_equal(hugepages_reserved(&hugepages, 0), 16 * MIB);
	assert_int_equal(hugepages_to_reserve(&hugepages, 0, 2 * MIB, 3 * MIB), 8 + 2);
	hugepages_file(&hugepages, 1, 2 * MIB, path, sizeof(path));
	assert_string_equal(
	    path, "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages");
}

static void cgroup__the_tightest_level_counts(void **state)
{
	struct cgroup_facts facts;

	(void)state;
	write_file("/proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	write_file("/proc/self/cgroup", "0::/a/b\n");
	write_file("/sys/fs/cgroup/a/memory.max", "4096\n");
	write_file("/sys/fs/cgroup/a/memory.current", "1000\n");
	write_file("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 600\n");
	write_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
	cgroup_read(&facts, root, 2 * MIB);
	assert_int_equal(facts.memory.limit, 4096);
	assert_int_equal(facts.memory.room, 4096 - 400); // cached files are not in use
	assert_string_equal(facts.memory.file, "/sys/fs/cgroup/a/memory.max");
	assert_true(facts.hugepages.limit == CGROUP_NO_LIMIT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(file__reads_texts_and_numbers),
		TEST(file__reads_fields),
		TEST(mounts__of_a_type),
		TEST(hugepages__of_nodes_and_sizes),
		TEST(cgroup__the_tightest_level_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
