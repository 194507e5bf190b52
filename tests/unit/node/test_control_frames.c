// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control role of a node on a ring port, and the endpoint of its manager, on another node: from
// which frames the role learns the manager's Ethernet address.
#include "testbed.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "node/control_role.h"
#include "wire/net.h"

#define SELF    0u
#define MANAGER 1u
#define PORT    19521u
#define MS      1000000u
#define SECOND  1000u // in ms

struct peer {
	struct control_endpoint *endpoint;
	uint8_t mac[6];
	bool cut, deaf;
	unsigned n_received, n_occupied;
};

static struct bench {
	struct config *config;
	struct testbed_port wire;
	struct rte_mempool *pool;
	struct link *link;
	struct cluster_system system;
	struct cluster_system_node nodes[2];
	struct neighbours neighbours;
	struct role *role;
	struct peer manager;
	struct peer second; // another process with the manager's number
	bool replies;       // the manager's host replies to ARP
	uint64_t ms;
	uint64_t start;
} bench;

static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t manager_mac[6] = { 2, 0, 0, 0, 0, 2 };
static const uint8_t other_mac[6] = { 2, 0, 0, 0, 0, 3 };

static void receive(const void *bytes, unsigned size)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(bench.pool);

	assert_non_null(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)size), bytes, size);
	assert_int_equal(link_enqueue(bench.link, &mbuf, 1), 1);
}

static void receive_datagram(const uint8_t *mac, const void *bytes, size_t size)
{
	uint8_t frame[2000];
	struct net_udp4 udp = {
		.source_ip = bench.system.nodes[MANAGER].address,
		.destination_ip = bench.system.nodes[SELF].address,
		.source_port = PORT,
		.destination_port = PORT,
	};

	memcpy(udp.source_mac.bytes, mac, 6);
	memcpy(udp.destination_mac.bytes, own_mac, 6);
	net_udp4_encode(frame, &udp, (uint16_t)size);
	memcpy(frame + NET_HEADERS_SIZE, bytes, size);
	receive(frame, (unsigned)(NET_HEADERS_SIZE + size));
}

static void receive_arp(const uint8_t *mac)
{
	uint8_t frame[NET_MIN_FRAME];
	struct net_arp arp = {
		.operation = 2,
		.sender_ip = bench.system.nodes[MANAGER].address,
		.target_ip = bench.system.nodes[SELF].address,
	};

	memcpy(arp.sender_mac.bytes, mac, 6);
	memcpy(arp.target_mac.bytes, own_mac, 6);
	net_arp_encode(frame, &arp);
	receive(frame, sizeof(frame));
}

static bool emit(void *context, unsigned to, const uint8_t *bytes, size_t size)
{
	const struct peer *peer = context;

	(void)to;
	if (!peer->cut)
		receive_datagram(peer->mac, bytes, size);
	return true;
}

static void deliver(void *context, unsigned from, const struct ctrl_record *record)
{
	struct peer *peer = context;

	(void)from;
	(void)record;
	peer->n_received++;
}

static void on_event(void *context, unsigned from, enum control_event event)
{
	struct peer *peer = context;

	(void)from;
	peer->n_occupied += event == CONTROL_OCCUPIED;
}

// A process of the manager begins, at an Ethernet address.
static void peer_start(struct peer *peer, uint64_t session, const uint8_t *mac)
{
	static const uint16_t self = SELF;
	struct control_parameters parameters = control_defaults();

	control_destroy(peer->endpoint);
	*peer = (struct peer){ .endpoint = NULL };
	memcpy(peer->mac, mac, 6);
	parameters.handlers =
	    (struct control_handlers){ peer, deliver, on_event, emit, NULL, NULL };
	parameters.peers = &self;
	parameters.n_peers = 1;
	parameters.node = MANAGER;
	parameters.epoch = 1;
	parameters.session = session << 32 | 1;
	parameters.now = bench.ms * MS;
	peer->endpoint = control_create(&parameters, NULL);
	assert_non_null(peer->endpoint);
}

static void hand_over(struct peer *peer, const uint8_t *bytes, const struct net_frame *frame)
{
	if (peer->endpoint != NULL && !peer->cut && !peer->deaf && memcmp(bytes, peer->mac, 6) == 0)
		(void)control_receive(peer->endpoint, bytes + frame->payload_offset,
				      frame->payload_size, bench.ms * MS);
}

static void deliver_sent(void)
{
	struct rte_mbuf *mbufs[64];
	unsigned n = rte_eth_rx_burst(bench.wire.port.id, 0, mbufs, 64);

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *bytes = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);
		struct net_frame frame;

		assert_int_equal(net_parse(bytes, mbufs[i]->data_len, mbufs[i]->pkt_len, 0, &frame),
				 WIRE_OK);
		if (frame.kind == NET_ARP_IP4 && bench.replies)
			receive_arp(bench.manager.deaf ? bench.second.mac : bench.manager.mac);
		if (frame.kind == NET_UDP4) {
			hand_over(&bench.manager, bytes, &frame);
			hand_over(&bench.second, bytes, &frame);
		}
	}
	rte_pktmbuf_free_bulk(mbufs, n);
}

static void run(unsigned ms)
{
	for (uint64_t end = bench.ms + ms; bench.ms < end; bench.ms++) {
		role_poll(bench.role, bench.start + bench.ms * (rte_get_tsc_hz() / 1000));
		deliver_sent();
		if (bench.manager.endpoint != NULL)
			(void)control_poll(bench.manager.endpoint, bench.ms * MS);
		if (bench.second.endpoint != NULL)
			(void)control_poll(bench.second.endpoint, bench.ms * MS);
	}
}

static void bench_open(bool has_mac)
{
	struct control_role_parameters parameters = {
		.name = "control",
		.control_port = PORT,
		.heartbeat_ns = 100 * MS,
		.heartbeat_timeout_ns = 1000ull * MS,
		.mac = own_mac,
		.mtu = 1500,
		.neighbours = &bench.neighbours,
		.links = &bench.link,
		.n_links = 1,
	};
	char error[CONTROL_ERROR_SIZE];

	memset(&bench, 0, sizeof(bench));
	bench.config =
	    testbed_config("{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}],"
			   "\"sources\": {\"ids\": [1]}, \"builders\": [{\"name\": \"b\"}]}");
	testbed_open_port(&bench.wire, &bench.config->ports[0], 1, 1);
	bench.pool = testbed_pool("control", 1023, control_role_frame_size(1500));
	bench.link = link_create("rx", "control", 512, false, 0);
	bench.system.n_nodes = 2;
	bench.system.nodes = bench.nodes;
	bench.system.self = SELF;
	bench.system.manager = MANAGER;
	bench.system.nodes[SELF] = (struct cluster_system_node){ "r", .address = 0x0a000001 };
	bench.system.nodes[MANAGER] =
	    (struct cluster_system_node){ "m", .manager = true, .address = 0x0a000002,
					  .has_mac = has_mac };
	memcpy(bench.system.nodes[MANAGER].mac, manager_mac, 6);
	assert_true(neighbours_make(&bench.neighbours, 2));
	if (has_mac)
		neighbours_set(&bench.neighbours, MANAGER, manager_mac);
	parameters.node.cluster.system = &bench.system;
	parameters.node.cluster.source_buffer = 16;
	parameters.port_id = bench.wire.port.id;
	parameters.pool = bench.pool;
	bench.replies = true;
	bench.role = control_role_create(&parameters, error);
	assert_non_null(bench.role);
	bench.start = rte_rdtsc();
	peer_start(&bench.manager, 1, manager_mac);
}

static int bench_close(void **state)
{
	(void)state;
	run(2);
	bench.role->operations->fini(bench.role);
	control_destroy(bench.manager.endpoint);
	control_destroy(bench.second.endpoint);
	link_destroy(bench.link);
	port_close(&bench.wire.port);
	assert_int_equal(rte_mempool_in_use_count(bench.pool), 0);
	rte_mempool_free(bench.pool);
	neighbours_free(&bench.neighbours);
	config_free(bench.config);
	return 0;
}

static bool in_session(void)
{
	struct control_state state;

	return control_state(control_role_endpoint(bench.role), MANAGER, bench.ms * MS, &state) &&
	       state.connected && !state.lost;
}

static void assert_at(const uint8_t *mac)
{
	uint8_t known[6];

	assert_true(neighbours_get(&bench.neighbours, MANAGER, known));
	assert_memory_equal(known, mac, 6);
}

static void connect_both(bool has_mac)
{
	bench_open(has_mac);
	run(SECOND);
	assert_true(in_session());
	assert_at(manager_mac);
}

static void send_garbage(unsigned n)
{
	const uint8_t bytes[100] = { 0xa5, 0xa5, 0xa5 };

	for (unsigned i = 0; i < n; i++)
		receive_datagram(other_mac, bytes, sizeof(bytes));
}

// A frame that is well formed and of a session that nobody knows.
static void send_forged(void)
{
	uint8_t bytes[CTRL_OVERHEAD] = { 0 };
	const struct ctrl_header header = {
		.flags = CTRL_ASK, .node = MANAGER, .destination = SELF, .session = 99, .window = 1
	};

	receive_datagram(other_mac, bytes, ctrl_frame_encode(bytes, &header, 0));
}

static void garbage__gives_no_address(void **state)
{
	(void)state;
	connect_both(false);
	for (unsigned i = 0; i < 300; i++) {
		send_garbage(1);
		send_forged();
		run(1);
		assert_at(manager_mac);
	}
	run(3 * SECOND);
	assert_true(in_session());
	assert_int_equal(control_counters(control_role_endpoint(bench.role), MANAGER)->lost, 0);
}

static void garbage__before_the_first_session(void **state)
{
	uint8_t known[6];

	(void)state;
	bench_open(false);
	bench.replies = false;
	bench.manager.cut = true;
	send_garbage(10);
	send_forged();
	run(10);
	assert_false(neighbours_get(&bench.neighbours, MANAGER, known));
}

static void configured_address__is_never_replaced(void **state)
{
	const struct control_role_counters *counters;

	(void)state;
	connect_both(true);
	counters = control_role_counters(bench.role);
	receive_arp(other_mac);
	send_garbage(1);
	memcpy(bench.manager.mac, other_mac, 6);
	run(3 * SECOND);
	receive_arp(other_mac);
	run(10);
	assert_at(manager_mac);
	assert_int_equal(counters->arp_requests, 0);
}

static void arp_reply__that_nobody_asked_for(void **state)
{
	(void)state;
	connect_both(false);
	receive_arp(other_mac);
	run(1);
	assert_at(manager_mac);
	run(SECOND);
	assert_true(in_session());
}

// The process lives, and its port has another address.
static void address__follows_the_session(void **state)
{
	(void)state;
	connect_both(false);
	memcpy(bench.manager.mac, other_mac, 6);
	run(SECOND / 2);
	assert_at(other_mac);
	assert_true(in_session());
}

static void lost_peer__is_asked_for_again(void **state)
{
	uint64_t requests;

	(void)state;
	connect_both(false);
	requests = control_role_counters(bench.role)->arp_requests;
	bench.manager.cut = true;
	bench.replies = false;
	run(5 * SECOND);
	assert_false(in_session());
	assert_in_range(control_role_counters(bench.role)->arp_requests - requests, 3, 6);
	bench.replies = true;
	peer_start(&bench.manager, 2, other_mac);
	run(SECOND);
	assert_at(other_mac);
	assert_true(in_session());
}

// Its refusal goes to where it is, not to the process that it would replace.
static void second_process__is_told_at_its_own_address(void **state)
{
	(void)state;
	connect_both(false);
	peer_start(&bench.second, 2, other_mac);
	run(2 * SECOND);
	assert_at(manager_mac);
	assert_true(in_session());
	assert_int_equal(bench.second.n_occupied, 1);
	assert_int_equal(bench.manager.n_occupied, 0);
}

// It sends, and nothing arrives at it: the other process takes its place, at its own address.
static void second_process__of_one_that_does_not_receive(void **state)
{
	struct control_state second;

	(void)state;
	connect_both(false);
	bench.manager.deaf = true;
	peer_start(&bench.second, 2, other_mac);
	run(3 * SECOND);
	assert_at(other_mac);
	assert_true(control_state(bench.second.endpoint, SELF, bench.ms * MS, &second));
	assert_true(second.connected && !second.lost);
}

// The frames of one node do not come from the address of another.
static void frame__from_the_address_of_another_node(void **state)
{
	uint8_t bytes[CTRL_OVERHEAD] = { 0 };
	const struct ctrl_header header = {
		.flags = CTRL_ASK, .node = 2, .destination = SELF, .session = 99, .window = 1
	};
	uint64_t foreign;

	(void)state;
	connect_both(false);
	foreign = control_role_counters(bench.role)->foreign;
	receive_datagram(other_mac, bytes, ctrl_frame_encode(bytes, &header, 0));
	run(1);
	assert_int_equal(control_role_counters(bench.role)->foreign, foreign + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(garbage__gives_no_address, bench_close),
		cmocka_unit_test_teardown(garbage__before_the_first_session, bench_close),
		cmocka_unit_test_teardown(configured_address__is_never_replaced, bench_close),
		cmocka_unit_test_teardown(arp_reply__that_nobody_asked_for, bench_close),
		cmocka_unit_test_teardown(address__follows_the_session, bench_close),
		cmocka_unit_test_teardown(lost_peer__is_asked_for_again, bench_close),
		cmocka_unit_test_teardown(second_process__is_told_at_its_own_address, bench_close),
		cmocka_unit_test_teardown(second_process__of_one_that_does_not_receive,
					  bench_close),
		cmocka_unit_test_teardown(frame__from_the_address_of_another_node, bench_close),
	};

	return cmocka_run_group_tests_name("control_frames", tests, testbed_start, testbed_stop);
}
