// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/pause_device.h"

static void names__of_the_drivers(void **state)
{
	static const struct {
		const char *name;
		enum pause_figure figure;
		unsigned priority;
	} names[] = {
		{ "rx_prio3_pause", PAUSE_XOFF_RECEIVED, 3 },
		{ "tx_prio0_pause", PAUSE_XOFF_SENT, 0 },
		{ "rx_prio7_pause_duration", PAUSE_PAUSED_US, 7 },
		{ "tx_prio7_pause_duration", PAUSE_PAUSING_US, 7 },
		{ "rx_priority_5_xoff.nic", PAUSE_XOFF_RECEIVED, 5 },
		{ "tx_priority_5_xon.nic", PAUSE_XON_SENT, 5 },
		{ "port.rx_priority_1_xon", PAUSE_XON_RECEIVED, 1 },
		{ "port.tx_priority_1_xoff", PAUSE_XOFF_SENT, 1 },
		{ "rx_priority2_xon_packets", PAUSE_XON_RECEIVED, 2 },
		{ "tx_priority2_xoff_packets", PAUSE_XOFF_SENT, 2 },
		{ "rx_pfc_ena_frames_pri4", PAUSE_XOFF_RECEIVED, 4 },
		{ "tx_pfc_ena_frames_pri4", PAUSE_XOFF_SENT, 4 },
		{ "pfc_pri6_rx_duration_us", PAUSE_PAUSED_US, 6 },
		{ "pfc_pri6_tx_duration_us", PAUSE_PAUSING_US, 6 },
		{ "mac_rx_pfc_pri3_pkt_num", PAUSE_XOFF_RECEIVED, 3 },
		{ "mac_tx_pfc_pri3_pkt_num", PAUSE_XOFF_SENT, 3 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum pause_figure figure = PAUSE_N_FIGURES;
		unsigned priority = 99;

		assert_true(pause_name_parse(names[i].name, &figure, &priority));
		assert_int_equal(figure, names[i].figure);
		assert_int_equal(priority, names[i].priority);
	}
}

static void names__of_something_else(void **state)
{
	static const char *const names[] = {
		"",
		"rx_prio",
		"rx_prio3",
		"rx_prio8_pause",
		"rx_prio33_pause",
		"rx_prio3_packets",
		"rx_prio3_pause_transition",
		"xrx_prio3_pause",
		"rx_good_packets",
		"rx_xoff_packets",
		"tx_priority2_xon_to_xoff_packets",
		"rx_pfc_ena_frames_pri44",
		"rx_pfc_ena_frames_pri",
	};
	enum pause_figure figure;
	unsigned priority;

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(pause_name_parse(names[i], &figure, &priority));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names__of_the_drivers),
		cmocka_unit_test(names__of_something_else),
	};

	return cmocka_run_group_tests_name("pause_names", tests, NULL, NULL);
}
