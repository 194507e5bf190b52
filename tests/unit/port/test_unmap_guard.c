// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the interrupt thread of EAL unmaps waits for the lcores, and nothing else does.
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include <rte_alarm.h>
#include <rte_cycles.h>

#include "port/unmap_guard.h"
#include "testbed.h"

#define SIZE 4096u

static atomic_uint waited;
static atomic_bool may_pass, unmapped;
static void *memory;

static void wait_for_test(void *context)
{
	assert_ptr_equal(context, &waited);
	atomic_fetch_add(&waited, 1);
	while (!atomic_load(&may_pass))
		rte_delay_us_sleep(100);
}

// As the driver: on the interrupt thread.
static void unmap(void *context)
{
	(void)context;
	(void)munmap(memory, SIZE);
	atomic_store(&unmapped, true);
}

static bool is_mapped(void)
{
	return msync(memory, SIZE, MS_ASYNC) == 0;
}

static void map(void)
{
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	atomic_store(&waited, 0);
	atomic_store(&may_pass, false);
	atomic_store(&unmapped, false);
}

static void interrupt_thread__unmaps_when_the_lcores_allow_it(void **state)
{
	(void)state;
	map();
	unmap_guard_set(wait_for_test, &waited);
	assert_int_equal(rte_eal_alarm_set(1, unmap, NULL), 0);
	while (atomic_load(&waited) == 0)
		rte_delay_us_sleep(100);
	assert_true(is_mapped());
	assert_false(atomic_load(&unmapped));
	atomic_store(&may_pass, true);
	while (!atomic_load(&unmapped))
		rte_delay_us_sleep(100);
	assert_false(is_mapped());
	assert_int_equal(atomic_load(&waited), 1);
	unmap_guard_set(NULL, NULL);
}

static void interrupt_thread__unmaps_at_once_without_lcores(void **state)
{
	(void)state;
	map();
	assert_int_equal(rte_eal_alarm_set(1, unmap, NULL), 0);
	while (!atomic_load(&unmapped))
		rte_delay_us_sleep(100);
	assert_false(is_mapped());
}

static void other_threads__unmap_at_once(void **state)
{
	(void)state;
	map();
	unmap_guard_set(wait_for_test, &waited);
	assert_int_equal(munmap(memory, SIZE), 0);
	assert_false(is_mapped());
	assert_int_equal(atomic_load(&waited), 0);
	assert_int_equal(munmap((char *)memory + 1, SIZE), -1);
	assert_int_equal(errno, EINVAL);
	unmap_guard_set(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupt_thread__unmaps_when_the_lcores_allow_it),
		cmocka_unit_test(interrupt_thread__unmaps_at_once_without_lcores),
		cmocka_unit_test(other_threads__unmap_at_once),
	};

	return cmocka_run_group_tests_name("unmap_guard", tests, testbed_start, testbed_stop);
}
