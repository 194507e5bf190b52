// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Flow control on a ring port, which receives what it sends. Where a NIC or the kernel is needed,
// the functions that ask them are the test's.
#include "testbed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "port/flow_control.h"

// One tick a nanosecond, 10 Gb/s.
#define QUANTA 1000
#define PAUSE  51200
#define HIGH   (PAUSE_FULL / 10 * 8)
#define LOW    (PAUSE_FULL / 10 * 6)

#define LOOPBACK 1 // interface index

// --- what stands for NIC and kernel -------------------------------------------------------------

static struct {
	int hw_result;      // 0: the NIC can
	int8_t hw_refused;  // a priority that it cannot, -1: none
	uint8_t hw_on;      // priorities
	bool has_interface; // the port stands on a network interface
	bool kernel_knows;  // of PFC there
	bool driver_counts; // xstats
	struct dcb_pfc kernel;
	uint64_t counted;
} machine;

int __real_rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info);
int __wrap_rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info);
int __wrap_rte_eth_dev_priority_flow_ctrl_set(uint16_t port_id, struct rte_eth_pfc_conf *conf);
int __wrap_rte_eth_xstats_get_names(uint16_t port_id, struct rte_eth_xstat_name *names,
				    unsigned size);
int __wrap_rte_eth_xstats_get_by_id(uint16_t port_id, const uint64_t *ids, uint64_t *values,
				    unsigned size);
bool __wrap_dcb_pfc_get(const char *interface, struct dcb_pfc *pfc);

int __wrap_rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	int result = __real_rte_eth_dev_info_get(port_id, info);

	if (machine.has_interface)
		info->if_index = LOOPBACK;
	return result;
}

int __wrap_rte_eth_dev_priority_flow_ctrl_set(uint16_t port_id, struct rte_eth_pfc_conf *conf)
{
	(void)port_id;
	if (conf->fc.mode == RTE_ETH_FC_NONE) {
		machine.hw_on &= (uint8_t) ~(1u << conf->priority);
		return 0;
	}
	if (machine.hw_result != 0 || conf->priority == machine.hw_refused)
		return machine.hw_result != 0 ? machine.hw_result : -EINVAL;
	assert_int_equal(conf->fc.mode, RTE_ETH_FC_FULL);
	assert_int_equal(conf->fc.pause_time, QUANTA);
	assert_true(conf->fc.high_water > conf->fc.low_water);
	machine.hw_on |= (uint8_t)(1u << conf->priority);
	return 0;
}

int __wrap_rte_eth_xstats_get_names(uint16_t port_id, struct rte_eth_xstat_name *names,
				    unsigned size)
{
	static const char *const all[] = { "rx_good_packets", "rx_priority3_xoff_packets",
					   "pfc_pri3_rx_duration_us" };

	(void)port_id;
	for (unsigned i = 0; i < size && i < RTE_DIM(all); i++)
		strcpy(names[i].name, all[i]);
	return machine.driver_counts ? RTE_DIM(all) : 0;
}

int __wrap_rte_eth_xstats_get_by_id(uint16_t port_id, const uint64_t *ids, uint64_t *values,
				    unsigned size)
{
	(void)port_id;
	for (unsigned i = 0; i < size; i++)
		values[i] = ids[i] * machine.counted;
	return (int)size;
}

bool __wrap_dcb_pfc_get(const char *interface, struct dcb_pfc *pfc)
{
	assert_string_equal(interface, "lo");
	*pfc = machine.kernel;
	return machine.kernel_knows;
}

// --- the bench ----------------------------------------------------------------------------------

struct bench {
	struct config *config;
	struct testbed_port port;
	struct flow_control *fc;
	struct flow_control_parameters parameters;
	char error[FLOW_CONTROL_TEXT_SIZE];
};

static struct bench *bench_open(enum flow_control_mode mode)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	memset(&machine, 0, sizeof(machine));
	machine.hw_result = -ENOTSUP;
	machine.hw_refused = -1;
	bench->config = testbed_config(
	    "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"link_timeout\": \"10ms\","
	    "\"mac\": \"02:00:00:00:00:07\", \"rx_descriptors\": 64}],"
	    "\"sources\": {\"ids\": [1]}, \"builders\": [{\"name\": \"b\"}]}");
	testbed_open_port(&bench->port, &bench->config->ports[0], 1, 1);
	bench->fc = aligned_alloc(PAUSE_CACHE_LINE,
				  RTE_ALIGN_CEIL(sizeof(*bench->fc), (size_t)PAUSE_CACHE_LINE));
	assert_non_null(bench->fc);
	bench->parameters = (struct flow_control_parameters){
		.port_name = "wire",
		.port_id = bench->port.port.id,
		.mode = mode,
		.pause = {
			.priority = 3,
			.high_water = HIGH,
			.low_water = LOW,
			.quanta = QUANTA,
			.bits_per_second = 10000000000,
			.ticks_per_second = 1000000000,
		},
	};
	memcpy(bench->parameters.mac, bench->port.port.mac, 6);
	return bench;
}

static void start(struct bench *bench)
{
	if (flow_control_open(bench->fc, &bench->parameters, bench->error) != 0)
		fail_msg("%s", bench->error);
}

static void expect_refused(struct bench *bench, const char *expected)
{
	assert_int_equal(flow_control_open(bench->fc, &bench->parameters, bench->error), -1);
	assert_string_equal(bench->error, expected);
}

static void bench_close(struct bench *bench)
{
	flow_control_stop(bench->fc);
	port_close(&bench->port.port);
	flow_control_close(bench->fc);
	flow_control_close(bench->fc); // does nothing
	config_free(bench->config);
	free(bench->fc);
	free(bench);
}

static void observe(struct bench *bench, uint32_t slots)
{
	struct pause_occupancy occupancy = { .slots = slots };

	flow_control_observe(bench->fc, 3, &occupancy);
}

// What the port sent, given to the receiving side; the number of frames.
static unsigned take_back(struct bench *bench, uint64_t now)
{
	struct rte_mbuf *mbufs[64];
	unsigned n = rte_eth_rx_burst(bench->port.port.id, 0, mbufs, 64);

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *bytes = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);

		assert_int_equal(rte_pktmbuf_pkt_len(mbufs[i]), 60);
		assert_true(pfc_is_mac_control(bytes, mbufs[i]->data_len));
		flow_control_received(bench->fc, bytes, mbufs[i]->data_len, now);
	}
	rte_pktmbuf_free_bulk(mbufs, n);
	return n;
}

static struct pause_counters counters_of(const struct bench *bench)
{
	struct pause_counters counters;

	flow_control_priority_counters(bench->fc, 3, &counters);
	return counters;
}

static struct flow_control_counters totals_of(const struct bench *bench)
{
	struct flow_control_counters counters;

	flow_control_counters(bench->fc, &counters);
	return counters;
}

// --- soft ---------------------------------------------------------------------------------------

static void soft__a_full_receiver_stops_the_sender(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_SOFT);

	(void)state;
	start(bench);
	assert_int_equal(flow_control_poll(bench->fc, 0), 0);
	observe(bench, HIGH + 1);
	assert_int_equal(flow_control_poll(bench->fc, 100), 1);
	assert_int_equal(take_back(bench, 200), 1);
	assert_true(flow_control_paused(bench->fc, 3, 200));
	assert_false(flow_control_paused(bench->fc, 2, 200));
	// Renewed at half time, and let go.
	assert_int_equal(flow_control_poll(bench->fc, 100 + PAUSE / 2 - 1), 0);
	assert_int_equal(flow_control_poll(bench->fc, 100 + PAUSE / 2), 1);
	assert_int_equal(take_back(bench, PAUSE), 1);
	assert_true(flow_control_paused(bench->fc, 3, 2 * PAUSE - 1));
	observe(bench, LOW - 1);
	assert_int_equal(flow_control_poll(bench->fc, PAUSE + 500), 1);
	assert_int_equal(take_back(bench, PAUSE + 600), 1);
	assert_false(flow_control_paused(bench->fc, 3, PAUSE + 600));
	assert_int_equal(flow_control_poll(bench->fc, PAUSE + 700), 0);
	assert_int_equal(counters_of(bench).xoff_sent, 2);
	assert_int_equal(counters_of(bench).xoff_received, 2);
	assert_int_equal(counters_of(bench).xon_sent, 1);
	assert_int_equal(counters_of(bench).xon_received, 1);
	assert_int_equal(counters_of(bench).pausing_ns, PAUSE + 400);
	assert_in_range(counters_of(bench).paused_ns, 1, PAUSE + 700);
	// Every mbuf came back.
	assert_int_equal(rte_mempool_in_use_count(bench->fc->pool), 0);
	bench_close(bench);
}

static void soft__the_bytes_on_the_wire(void **state)
{
	static const uint8_t begin[] = { 0x01, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 7,    0x88,
					 0x08, 1,    1,    0, 8, 0, 0, 0, 0, 0, 0, 0x03, 0xE8 };
	struct bench *bench = bench_open(FLOW_CONTROL_SOFT);
	struct rte_mbuf *mbuf;
	const uint8_t *bytes;

	(void)state;
	start(bench);
	observe(bench, PAUSE_FULL);
	assert_int_equal(flow_control_poll(bench->fc, 1), 1);
	assert_int_equal(rte_eth_rx_burst(bench->port.port.id, 0, &mbuf, 1), 1);
	assert_int_equal(mbuf->data_len, 60);
	bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	assert_memory_equal(bytes, begin, sizeof(begin));
	for (unsigned i = sizeof(begin); i < 60; i++)
		assert_int_equal(bytes[i], 0);
	rte_pktmbuf_free(mbuf);
	bench_close(bench);
}

static void soft__a_full_queue_is_tried_again(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_SOFT);
	uint64_t now = 0;

	(void)state;
	start(bench);
	observe(bench, PAUSE_FULL);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(flow_control_poll(bench->fc, now += PAUSE / 2), 1);
	now += PAUSE / 2;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(flow_control_poll(bench->fc, now), 0);
	assert_int_equal(totals_of(bench).send_failed, 5);
	assert_int_equal(counters_of(bench).xoff_sent, 64);
	assert_int_equal(take_back(bench, now), 64);
	assert_int_equal(flow_control_poll(bench->fc, now), 1);
	assert_int_equal(take_back(bench, now), 1);
	assert_int_equal(rte_mempool_in_use_count(bench->fc->pool), 0);
	bench_close(bench);
}

static void soft__frames_in_the_port_survive_until_it_closes(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_SOFT);

	(void)state;
	start(bench);
	observe(bench, PAUSE_FULL);
	assert_int_equal(flow_control_poll(bench->fc, 1), 1);
	assert_int_equal(rte_mempool_in_use_count(bench->fc->pool), 1);
	flow_control_stop(bench->fc);
	port_close(&bench->port.port);
	assert_int_equal(rte_mempool_in_use_count(bench->fc->pool), 0);
	bench_close(bench);
}

static void soft__release_at_the_end(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_SOFT);

	(void)state;
	start(bench);
	assert_true(flow_control_release(bench->fc, 1));
	assert_int_equal(take_back(bench, 1), 0);
	observe(bench, PAUSE_FULL);
	assert_int_equal(flow_control_poll(bench->fc, 2), 1);
	assert_true(flow_control_release(bench->fc, 3));
	assert_int_equal(take_back(bench, 4), 2);
	assert_false(flow_control_paused(bench->fc, 3, 4));
	assert_int_equal(counters_of(bench).xon_sent, 1);
	bench_close(bench);
}

static void soft__without_a_tx_queue_it_obeys_only(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_SOFT);
	struct pfc_frame xoff = { .priorities = 8, .quanta = { [3] = 1 } };
	uint8_t bytes[PFC_FRAME_SIZE];

	(void)state;
	bench->parameters.tx_queue = -1;
	start(bench);
	assert_non_null(strstr(bench->fc->report, "it sends none"));
	observe(bench, PAUSE_FULL);
	assert_int_equal(flow_control_poll(bench->fc, 1), 0);
	assert_int_equal(totals_of(bench).send_failed, 0);
	pfc_encode(bytes, &xoff);
	flow_control_received(bench->fc, bytes, sizeof(bytes), 10);
	assert_true(flow_control_paused(bench->fc, 3, 10));
	bench_close(bench);
}

static void soft__counts_what_is_no_pause_frame(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_SOFT);
	struct pfc_frame pause = { .is_pause = true, .quanta = { 9 } };
	uint8_t bytes[PFC_FRAME_SIZE];

	(void)state;
	start(bench);
	pfc_encode(bytes, &pause);
	flow_control_received(bench->fc, bytes, sizeof(bytes), 10); // not the protocol
	assert_int_equal(totals_of(bench).ignored, 1);
	bytes[15] = 0x77;
	flow_control_received(bench->fc, bytes, sizeof(bytes), 10); // another opcode
	assert_int_equal(totals_of(bench).ignored, 2);
	flow_control_received(bench->fc, bytes, 15, 10); // cut off
	bytes[0] = 0;
	bytes[15] = 0x01;
	flow_control_received(bench->fc, bytes, sizeof(bytes), 10); // to somebody else
	assert_int_equal(totals_of(bench).malformed, 2);
	assert_false(flow_control_paused(bench->fc, 3, 10));
	bench_close(bench);
}

static void soft__the_links_rate(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_SOFT);
	struct rte_eth_link link;

	(void)state;
	assert_int_equal(rte_eth_link_get_nowait(bench->port.port.id, &link), 0);
	bench->parameters.pause.bits_per_second = 0;
	start(bench);
	assert_int_equal(bench->fc->bits_per_second, link.link_speed * 1000000ull);
	flow_control_watch(bench->fc);
	assert_int_equal(bench->fc->bits_per_second, link.link_speed * 1000000ull);
	bench_close(bench);
}

// --- the choice ---------------------------------------------------------------------------------

static void auto__soft_where_nobody_else_can(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_AUTO);

	(void)state;
	start(bench);
	assert_int_equal(bench->fc->mode, FLOW_CONTROL_SOFT);
	assert_string_equal(bench->fc->report,
			    "PFC by the NIC cannot be had of driver net_ring (Operation not "
			    "supported); the kernel has no interface of this port; evb builds and "
			    "obeys PFC frames; XOFF above 80 %, XON below 60 %");
	assert_non_null(bench->fc->pool);
	bench_close(bench);
}

static void auto__hw_before_all(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_AUTO);

	(void)state;
	machine.hw_result = 0;
	bench->parameters.pause.priority = 5;
	start(bench);
	assert_int_equal(bench->fc->mode, FLOW_CONTROL_HW);
	assert_int_equal(machine.hw_on, 0x20);
	assert_string_equal(bench->fc->report, "driver net_ring has the NIC do PFC");
	// Nothing is left for software to do.
	observe(bench, PAUSE_FULL);
	assert_int_equal(flow_control_poll(bench->fc, 1), 0);
	assert_true(flow_control_release(bench->fc, 2));
	flow_control_stop(bench->fc);
	assert_int_equal(machine.hw_on, 0);
	bench_close(bench);
}

static void auto__hw_of_the_priority_or_soft(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_AUTO);

	(void)state;
	machine.hw_result = 0;
	machine.hw_refused = 3;
	start(bench);
	assert_int_equal(bench->fc->mode, FLOW_CONTROL_SOFT);
	assert_int_equal(machine.hw_on, 0);
	bench_close(bench);
}

static void auto__external_where_the_kernel_does_it(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_AUTO);

	(void)state;
	machine.has_interface = true;
	machine.kernel_knows = true;
	machine.kernel.enabled = 0x08;
	machine.kernel.received[3] = 1000;
	start(bench);
	assert_int_equal(bench->fc->mode, FLOW_CONTROL_EXTERNAL);
	assert_string_equal(bench->fc->report,
			    "PFC by the NIC cannot be had of driver net_ring (Operation not "
			    "supported); the kernel has PFC on lo on for priorities 0x08 of 0x08; "
			    "its frames are counted by the kernel");
	machine.kernel.received[3] += 7;
	machine.kernel.sent[3] += 5;
	assert_int_equal(counters_of(bench).xoff_received, 0); // as of the last watch
	flow_control_watch(bench->fc);
	assert_int_equal(counters_of(bench).xoff_received, 7);
	assert_int_equal(counters_of(bench).xoff_sent, 5);
	bench_close(bench);
}

static void auto__not_external_for_other_priorities(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_AUTO);

	(void)state;
	machine.has_interface = true;
	machine.kernel_knows = true;
	machine.kernel.enabled = 0x10;
	start(bench);
	assert_int_equal(bench->fc->mode, FLOW_CONTROL_SOFT);
	assert_non_null(
	    strstr(bench->fc->report, "the kernel has PFC on lo on for priorities 0x10 of 0x08"));
	bench_close(bench);
}

static void external__the_drivers_counters(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_EXTERNAL);

	(void)state;
	machine.driver_counts = true;
	machine.counted = 100;
	start(bench);
	assert_string_equal(bench->fc->report,
			    "asked for; the kernel has no interface of this port; its frames are "
			    "counted by DPDK's driver");
	machine.counted = 105;
	flow_control_watch(bench->fc);
	// The first and the second statistic count 1 and 2 a unit.
	assert_int_equal(counters_of(bench).xoff_received, 5);
	assert_int_equal(counters_of(bench).paused_ns, 10000);
	assert_int_equal(counters_of(bench).xoff_sent, 0);
	bench_close(bench);
}

static void external__that_nobody_counts(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_EXTERNAL);

	(void)state;
	machine.has_interface = true;
	start(bench);
	assert_int_equal(bench->fc->mode, FLOW_CONTROL_EXTERNAL);
	assert_string_equal(
	    bench->fc->report,
	    "asked for; the kernel knows nothing of PFC on lo; nobody here counts its frames");
	flow_control_watch(bench->fc);
	assert_int_equal(counters_of(bench).xoff_received, 0);
	bench_close(bench);
}

static void off__does_nothing(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_OFF);
	struct pfc_frame xoff = { .priorities = 8, .quanta = { [3] = 9 } };
	uint8_t bytes[PFC_FRAME_SIZE];

	(void)state;
	memset(&bench->parameters.pause, 0, sizeof(bench->parameters.pause)); // not looked at
	start(bench);
	assert_int_equal(bench->fc->mode, FLOW_CONTROL_OFF);
	observe(bench, PAUSE_FULL);
	assert_int_equal(flow_control_poll(bench->fc, 1), 0);
	pfc_encode(bytes, &xoff);
	flow_control_received(bench->fc, bytes, sizeof(bytes), 10);
	assert_false(flow_control_paused(bench->fc, 3, 10));
	assert_int_equal(totals_of(bench).ignored, 1);
	assert_int_equal(counters_of(bench).xoff_received, 0);
	bench_close(bench);
}

static void refused__what_cannot_be(void **state)
{
	struct bench *bench = bench_open(FLOW_CONTROL_HW);

	(void)state;
	expect_refused(bench, "port wire: flow control: PFC by the NIC cannot be had of driver "
			      "net_ring (Operation not supported)");
	bench->parameters.pause.low_water = HIGH;
	expect_refused(bench, "port wire: flow control: the low-water mark must be below the "
			      "high-water mark");
	bench_close(bench);
}

static void names__of_the_modes(void **state)
{
	(void)state;
	assert_string_equal(flow_control_mode_name(FLOW_CONTROL_AUTO), "auto");
	assert_string_equal(flow_control_mode_name(FLOW_CONTROL_EXTERNAL), "external");
	assert_string_equal(flow_control_mode_name(FLOW_CONTROL_N_MODES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(soft__a_full_receiver_stops_the_sender),
		cmocka_unit_test(soft__the_bytes_on_the_wire),
		cmocka_unit_test(soft__a_full_queue_is_tried_again),
		cmocka_unit_test(soft__frames_in_the_port_survive_until_it_closes),
		cmocka_unit_test(soft__release_at_the_end),
		cmocka_unit_test(soft__without_a_tx_queue_it_obeys_only),
		cmocka_unit_test(soft__counts_what_is_no_pause_frame),
		cmocka_unit_test(soft__the_links_rate),
		cmocka_unit_test(auto__soft_where_nobody_else_can),
		cmocka_unit_test(auto__hw_before_all),
		cmocka_unit_test(auto__hw_of_the_priority_or_soft),
		cmocka_unit_test(auto__external_where_the_kernel_does_it),
		cmocka_unit_test(auto__not_external_for_other_priorities),
		cmocka_unit_test(external__the_drivers_counters),
		cmocka_unit_test(external__that_nobody_counts),
		cmocka_unit_test(off__does_nothing),
		cmocka_unit_test(refused__what_cannot_be),
		cmocka_unit_test(names__of_the_modes),
	};

	return cmocka_run_group_tests_name("flow_control", tests, testbed_start, testbed_stop);
}
