// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The reaction of hosts to ECN: one flow alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sim/engine.h"
#include "sim_traffic/congestion.h"

#define LINE     UINT64_C(12500000000) // bytes/s: 100 Gb/s
#define BYTES    1250u
#define TIME     UINT64_C(100000) // ps, of a packet at this rate
#define INTERVAL (50000 * SIM_NANOSECOND)

static struct congestion *begin(void)
{
	struct congestion *congestion =
	    congestion_create(&(struct congestion_parameters){ LINE, INTERVAL });

	assert_non_null(congestion);
	return congestion;
}

static void marks__are_notified_once_per_interval_and_flow(void **state)
{
	struct congestion *congestion = begin();

	(void)state;
	assert_true(congestion_marked(congestion, 1, 2, TIME));
	assert_false(congestion_marked(congestion, 1, 2, TIME + INTERVAL - 1));
	assert_true(congestion_marked(congestion, 1, 3, TIME + 1));
	assert_true(congestion_marked(congestion, 2, 1, TIME + 1));
	assert_true(congestion_marked(congestion, 1, 2, TIME + INTERVAL));
	congestion_destroy(congestion);
}

// The first notification halves the rate, but for 1 / 1024.
static void notification__halves_the_rate_of_its_flow_alone(void **state)
{
	struct congestion *congestion = begin();

	(void)state;
	congestion_marked(congestion, 1, 2, TIME);
	congestion_sent(congestion, 1, 2, BYTES, TIME);
	assert_true(congestion_ready_at(congestion, 1, 2) <= TIME);
	congestion_notified(congestion, 1, 2, TIME);
	congestion_sent(congestion, 1, 2, BYTES, TIME);
	assert_in_range(congestion_ready_at(congestion, 1, 2) - TIME, 2 * TIME - TIME / 256,
			2 * TIME);
	assert_int_equal(congestion_ready_at(congestion, 1, 3), 0);
	assert_int_equal(congestion_ready_at(congestion, 2, 1), 0);
	congestion_destroy(congestion);
}

static void reduced_flow__is_back_at_the_rate_of_the_link(void **state)
{
	struct congestion *congestion = begin();
	uint64_t now = TIME, packets = 0;

	(void)state;
	congestion_marked(congestion, 1, 2, now);
	congestion_notified(congestion, 1, 2, now);
	for (bool is_limited = true; is_limited; packets++) {
		congestion_sent(congestion, 1, 2, BYTES, now);
		is_limited = congestion_ready_at(congestion, 1, 2) > now;
		now = is_limited ? congestion_ready_at(congestion, 1, 2) : now;
		assert_true(packets < 10000000);
	}
	assert_true(packets > 1);
	congestion_destroy(congestion);
}

static void many_flows__are_all_remembered(void **state)
{
	struct congestion *congestion = begin();

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		assert_true(congestion_marked(congestion, i, i + 1, TIME));
		congestion_notified(congestion, i, i + 1, TIME);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		congestion_sent(congestion, i, i + 1, BYTES, TIME);
		assert_true(congestion_ready_at(congestion, i, i + 1) > TIME);
		assert_false(congestion_marked(congestion, i, i + 1, TIME + 1));
	}
	congestion_destroy(congestion);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks__are_notified_once_per_interval_and_flow),
		cmocka_unit_test(notification__halves_the_rate_of_its_flow_alone),
		cmocka_unit_test(reduced_flow__is_back_at_the_rate_of_the_link),
		cmocka_unit_test(many_flows__are_all_remembered),
	};

	return cmocka_run_group_tests_name("congestion", tests, NULL, NULL);
}
