// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Tables of queue pairs and of regions, and the names that counters have.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "roce/qp_table.h"
#include "roce/region.h"

static void qp__numbers_are_found_whole(void **state)
{
	struct qp_table table;
	struct queue_pair *qps[1024];

	(void)state;
	assert_true(qp_table_create(&table, 1024));
	assert_null(qp_find(&table, 5));
	for (unsigned i = 0; i < 1024; i++) {
		qps[i] = qp_open(&table, ROCE_RC, QP_NUMBER_AUTO, 0);
		assert_non_null(qps[i]);
		assert_in_range(qps[i]->qpn, 2, 0xFFFFFF);
		assert_int_equal((uintptr_t)qps[i] % QP_CACHE_LINE, 0);
	}
	assert_null(qp_open(&table, ROCE_RC, QP_NUMBER_AUTO, 0));
	assert_int_equal(table.n_open, 1024);
	for (unsigned i = 0; i < 1024; i++) {
		assert_ptr_equal(qp_find(&table, qps[i]->qpn), qps[i]);
		assert_null(qp_find(&table, qps[i]->qpn + 1024));
		assert_null(qp_find(&table, qps[i]->qpn ^ 0x800000));
	}
	qp_table_destroy(&table);
}

static void qp__place_used_again_has_another_number(void **state)
{
	struct qp_table table;
	uint32_t last = 0;

	(void)state;
	assert_true(qp_table_create(&table, 2));
	assert_non_null(qp_open(&table, ROCE_UD, 3, 0)); // takes the other place
	for (unsigned i = 0; i < 10; i++) {
		struct queue_pair *qp = qp_open(&table, ROCE_UC, QP_NUMBER_AUTO, 0);

		assert_int_not_equal(qp->qpn, last);
		assert_null(qp_find(&table, last));
		last = qp->qpn;
		qp_close(&table, qp);
		qp_close(&table, qp);
		assert_int_equal(table.n_open, 1);
		assert_null(qp_find(&table, last));
	}
	qp_table_destroy(&table);
}

static void qp__numbers_are_none_of_management_s(void **state)
{
	struct qp_table table;

	(void)state;
	assert_true(qp_table_create(&table, 65536));
	for (unsigned i = 0; i < 65534; i++)
		assert_non_null(qp_open(&table, ROCE_RC, 2 + i, 0));
	for (unsigned i = 0; i < 3 * 256; i++) { // places 0 and 1
		struct queue_pair *qp = qp_open(&table, ROCE_RC, QP_NUMBER_AUTO, 0);

		assert_in_range(qp->index, 0, 1);
		assert_in_range(qp->qpn, 2, 0xFFFFFF);
		qp_close(&table, qp);
	}
	qp_table_destroy(&table);
}

// Who knows the numbers of an earlier run, or those opened before, does not hit the next ones.
static void qp__numbers_cannot_be_guessed(void **state)
{
	unsigned hits = 0, in_order = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 64; seed++) {
		uint32_t last = 0, numbers[64];
		struct qp_table table, other;

		assert_true(qp_table_create(&table, 1024) && qp_table_create(&other, 1024));
		table.random = random_fork(seed, 1);
		other.random = random_fork(seed + 1000, 1);
		for (unsigned i = 0; i < 64; i++) {
			numbers[i] = qp_open(&table, ROCE_RC, QP_NUMBER_AUTO, 0)->qpn;
			(void)qp_open(&other, ROCE_RC, QP_NUMBER_AUTO, 0);
			in_order += numbers[i] == last + 1;
			last = numbers[i];
		}
		for (unsigned i = 0; i < 64; i++)
			hits += qp_find(&other, numbers[i]) != NULL;
		qp_table_destroy(&table);
		qp_table_destroy(&other);
	}
	assert_in_range(hits, 0, 2); // of 4096, among 64 of 2^24
	assert_in_range(in_order, 0, 2);
}

// Two tables of one address do not choose the same.
static void qp__numbers_of_two_sides_differ(void **state)
{
	struct qp_table receives, sends;

	(void)state;
	assert_true(qp_table_create(&receives, 4096) && qp_table_create(&sends, 4096));
	receives.fixed_mask = sends.fixed_mask = sends.fixed = QP_NUMBER_SIDE;
	for (unsigned i = 0; i < 3 * 4096; i++) {
		struct queue_pair *one = qp_open(&receives, ROCE_RC, QP_NUMBER_AUTO, 0);
		struct queue_pair *other = qp_open(&sends, ROCE_RC, QP_NUMBER_AUTO, 0);

		assert_true(one != NULL && other != NULL);
		assert_true(one->qpn >= 2 && (one->qpn & QP_NUMBER_SIDE) == 0);
		assert_true(other->qpn <= ROCE_24_BITS && (other->qpn & QP_NUMBER_SIDE) != 0);
		assert_ptr_equal(qp_find(&receives, one->qpn), one);
		assert_ptr_equal(qp_find(&sends, other->qpn), other);
		qp_close(&receives, one);
		qp_close(&sends, other);
	}
	qp_table_destroy(&receives);
	qp_table_destroy(&sends);
}

static void qp__wanted_numbers(void **state)
{
	struct qp_table table;
	struct queue_pair *qp;

	(void)state;
	assert_true(qp_table_create(&table, 16));
	assert_null(qp_open(&table, ROCE_RC, 1, 0));
	assert_null(qp_open(&table, ROCE_RC, 0x1000000, 0));
	assert_null(qp_open(&table, ROCE_CONGESTION, QP_NUMBER_AUTO, 0));
	qp = qp_open(&table, ROCE_RC, 0xABCDE5, 7);
	assert_non_null(qp);
	assert_int_equal(qp->qpn, 0xABCDE5);
	assert_int_equal(qp->state, QP_OPEN);
	assert_int_equal(qp->opened, 7);
	assert_null(qp_open(&table, ROCE_RC, 0xABCDF5, 0)); // the same place
	qp_close(&table, qp);
	assert_non_null(qp_open(&table, ROCE_RC, 0xABCDF5, 0));
	qp_table_destroy(&table);
	assert_false(qp_table_create(&table, 0));
	assert_false(qp_table_create(&table, 1));
	assert_false(qp_table_create(&table, 1000));
	assert_false(qp_table_create(&table, 2 * QP_TABLE_MOST));
}

static void qp__connection_out_of_range_changes_nothing(void **state)
{
	const struct qp_connection good = { .path_mtu = 1024 };
	struct qp_connection bad[10];
	struct qp_table table;
	struct queue_pair *qp;

	(void)state;
	assert_true(qp_table_create(&table, 16));
	qp = qp_open(&table, ROCE_RC, QP_NUMBER_AUTO, 0);
	for (unsigned i = 0; i < 10; i++)
		bad[i] = good;
	bad[0].peer_qpn = 1u << 24;
	bad[1].local_psn = 1u << 24;
	bad[2].peer_psn = 1u << 24;
	bad[3].path_mtu = 0;
	bad[4].path_mtu = 1500;
	bad[5].path_mtu = 8192;
	bad[6].timeout_code = 32;
	bad[7].retry_count = 8;
	bad[8].rnr_retry = 8;
	bad[9].access = 4;
	for (unsigned i = 0; i < 10; i++) {
		assert_false(qp_connect(qp, &bad[i]));
		assert_int_equal(qp->state, QP_OPEN);
	}
	qp->counters.packets = 5;
	assert_true(qp_connect(qp, &good));
	assert_int_equal(qp->state, QP_READY);
	qp->receiving = QP_RECEIVING_SEND;
	qp_fail(qp, QP_RETRIES_EXCEEDED);
	qp_fail(qp, QP_CLOSED);
	assert_int_equal(qp->cause, QP_RETRIES_EXCEEDED); // the first
	assert_true(qp_connect(qp, &good));               // anew
	assert_int_equal(qp->state, QP_READY);
	assert_int_equal(qp->receiving, 0);
	assert_int_equal(qp->cause, QP_NO_CAUSE);
	assert_int_equal(qp->counters.packets, 5);
	qp_close(&table, qp);
	assert_false(qp_connect(qp, &good));
	qp_table_destroy(&table);
}

static void region__is_found_by_its_rkey_alone(void **state)
{
	uint8_t memory[16];
	struct region regions[] = {
		{ .address = 1, .length = 16, .rkey = 2 << 8 | 76 }, // does not exist
		{ .memory = memory, .address = 1, .length = 16, .rkey = 2 << 8 | 77 },
	};
	const struct region_table table = { .regions = regions, .n = 2 };

	(void)state;
	assert_ptr_equal(region_at(&table, 2 << 8 | 77, 0, 1, 16), memory);
	assert_null(region_find(&table, 2 << 8 | 76));
	assert_null(region_find(&table, 2 << 8 | 78));
	assert_null(region_find(&table, 1 << 8 | 77));
	assert_null(region_find(&table, 0));
}

static void region__bounds_at_the_end_of_the_addresses(void **state)
{
	uint8_t memory[16];
	struct region region = { .memory = memory, .address = UINT64_MAX - 16, .length = 16 };
	const struct region_table table = { .regions = &region, .n = 1 };

	(void)state;
	assert_ptr_equal(region_at(&table, 0, 0, UINT64_MAX - 1, 1), memory + 15);
	assert_null(region_at(&table, 0, 0, UINT64_MAX, 1));
	assert_null(region_at(&table, 0, 0, UINT64_MAX - 1, UINT64_MAX));
	assert_null(region_at(&table, 0, 0, UINT64_MAX - 16, 17));
	assert_null(region_at(&table, 0, REGION_READ, UINT64_MAX - 1, 1));
}

static void names__of_everything(void **state)
{
	(void)state;
	for (unsigned i = 0; i < QP_N_DROPS; i++)
		assert_string_not_equal(qp_drop_name(i), "unknown");
	for (unsigned i = 0; i < QP_N_CAUSES; i++)
		assert_string_not_equal(qp_cause_name((enum qp_cause)i), "unknown");
	assert_string_equal(qp_drop_name(QP_N_DROPS), "unknown");
	assert_string_equal(qp_cause_name(QP_N_CAUSES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qp__numbers_are_found_whole),
		cmocka_unit_test(qp__place_used_again_has_another_number),
		cmocka_unit_test(qp__numbers_are_none_of_management_s),
		cmocka_unit_test(qp__numbers_cannot_be_guessed),
		cmocka_unit_test(qp__numbers_of_two_sides_differ),
		cmocka_unit_test(qp__wanted_numbers),
		cmocka_unit_test(qp__connection_out_of_range_changes_nothing),
		cmocka_unit_test(region__is_found_by_its_rkey_alone),
		cmocka_unit_test(region__bounds_at_the_end_of_the_addresses),
		cmocka_unit_test(names__of_everything),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
