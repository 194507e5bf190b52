// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Peers that restart, flood, or say what they have no business to say.
#include "hosts.h"

#include <string.h>

// A peer that has forgotten everything opens the same queue pair again.
static void restart__of_the_peer(void **state)
{
	uint32_t ids[2], old;

	(void)state;
	establish(ids);
	old = passive.event.qp->qpn;
	cm_destroy(active.cm);
	qp_table_destroy(&active.table);
	open_host(&active, 0x0A4D0001, 0);
	connect_active();
	exchange(NULL, 0);
	expect_event(&passive, CM_DISCONNECTED);
	assert_int_equal(passive.event.id, ids[1]);
	assert_int_equal(passive.event.qp->state, QP_ERROR);
	expect_event(&passive, CM_REQUESTED);
	cm_release(passive.cm, ids[1]);
	assert_true(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	exchange(NULL, 0);
	expect_event(&passive, CM_ESTABLISHED);
	assert_int_not_equal(passive.event.qp->qpn, old);
	expect_event(&active, CM_ESTABLISHED);
	assert_int_equal(cm_counters(passive.cm)->restarted, 1);
}

// Our own restart: the peer's messages name a connection that we never made.
static void restart__of_us(void **state)
{
	struct cm_datagram dreq, drep;
	uint32_t ids[2];

	(void)state;
	establish(ids);
	cm_destroy(passive.cm);
	qp_table_destroy(&passive.table);
	open_host(&passive, 0x0A4D0002, 0);
	assert_true(cm_disconnect(active.cm, ids[0], now));
	dreq = expect_message(&active, ROCE_CM_DREQ);
	deliver(&passive, &active, &dreq);
	drep = expect_message(&passive, ROCE_CM_DREP);
	deliver(&active, &passive, &drep);
	expect_event(&active, CM_DISCONNECTED);
}

// A REQ of any peer: the active side's, with other numbers.
static struct cm_datagram any_req(const struct cm_datagram *req, const struct qp_address *from,
				  uint32_t number)
{
	struct roce_cm message = message_of(req);
	struct cm_datagram changed = *req;
	uint8_t private_data[92];

	memcpy(private_data, message.private_data, sizeof(private_data));
	memcpy(private_data + 4 + 12, from->bytes + 12, 4);
	memcpy(message.req.primary.local_gid, from->bytes, 16);
	message.private_data = private_data;
	message.local_id = number;
	message.req.qpn = number & ROCE_24_BITS;
	assert_int_equal(roce_cm_encode(changed.mad, &message), WIRE_OK);
	return changed;
}

static void flood__of_requests_is_bounded(void **state)
{
	struct cm_datagram req, answer;
	uint32_t ids[2];
	unsigned n = 0;

	(void)state;
	establish(ids);
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	for (uint32_t i = 0; i < 10000; i++) {
		struct host peer = { .address = qp_address_ipv4(0x0B000000 + i / 10) };
		struct cm_datagram flood = any_req(&req, &peer.address, 1000 + i);

		deliver(&passive, &peer, &flood);
		while (cm_poll(passive.cm, now, &answer)) {
			assert_int_equal(message_of(&answer).attribute, ROCE_CM_REJ);
			assert_int_equal(message_of(&answer).rej.reason, ROCE_CM_NO_RESOURCES);
			n++;
		}
		assert_true(cm_open_connections(passive.cm) <= 1 + 8);
	}
	assert_int_equal(n, 10000 - 8);
	assert_int_equal(cm_counters(passive.cm)->no_resources, 10000 - 8);
	// Who is connected stays so; the others make room when their time is over.
	assert_int_equal(passive.table.n_open, 1);
	now += PATIENCE;
	while (cm_poll(passive.cm, now, &answer))
		assert_int_equal(message_of(&answer).rej.reason, ROCE_CM_TIMEOUT);
	assert_int_equal(cm_open_connections(passive.cm), 1);
	expect_no_event(&passive);
	deliver(&passive, &active, &req);
	expect_event(&passive, CM_REQUESTED);
}

static void flood__of_one_peer_leaves_room_for_others(void **state)
{
	struct cm_datagram req, answer;

	(void)state;
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	for (uint32_t i = 0; i < 100; i++) {
		struct host peer = { .address = qp_address_ipv4(0x0B000000) };
		struct cm_datagram flood = any_req(&req, &peer.address, 1000 + i);

		deliver(&passive, &peer, &flood);
		while (cm_poll(passive.cm, now, &answer))
			assert_int_equal(message_of(&answer).rej.reason, ROCE_CM_NO_RESOURCES);
	}
	assert_int_equal(cm_open_connections(passive.cm), 4); // half_open_of_peer
	deliver(&passive, &active, &req);
	assert_int_equal(cm_open_connections(passive.cm), 5);
}

static void bounds__of_established_connections(void **state)
{
	uint32_t ids[2];

	(void)state;
	for (unsigned i = 0; i < 12; i++)
		establish(ids);
	assert_int_equal(cm_open_connections(passive.cm), 12);
	{
		const struct cm_destination to = destination(PORT);

		assert_int_equal(cm_connect(active.cm, &to, now), 0); // of_peer, on this side
	}
}

static void strangers__change_nothing(void **state)
{
	struct host stranger = { .address = qp_address_ipv4(0x0A4D0003) };
	struct cm_datagram dreq, datagram;
	uint32_t ids[2];

	(void)state;
	establish(ids);
	assert_true(cm_disconnect(active.cm, ids[0], now));
	dreq = expect_message(&active, ROCE_CM_DREQ);
	deliver(&passive, &stranger, &dreq); // right, but for its sender
	expect_message(&passive, ROCE_CM_DREP);
	expect_no_event(&passive);
	datagram = dreq;
	datagram.header.deth.qkey = 1;
	deliver(&passive, &active, &datagram);
	datagram = dreq;
	datagram.header.deth.source_qpn = 2;
	deliver(&passive, &active, &datagram);
	datagram = dreq;
	datagram.header.payload_size = 255;
	deliver(&passive, &active, &datagram);
	assert_int_equal(cm_counters(passive.cm)->malformed, 3);
	assert_int_equal(cm_counters(passive.cm)->strangers, 1);
	expect_no_message(&passive);
	expect_no_event(&passive);
	deliver(&passive, &active, &dreq);
	expect_event(&passive, CM_DISCONNECTED);
}

// Any bytes do no harm.
static void garbage__is_counted(void **state)
{
	struct random random = random_fork(3, 3);
	struct cm_datagram req, datagram;
	uint32_t ids[2];

	(void)state;
	establish(ids);
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	for (unsigned i = 0; i < 200000; i++) {
		static const enum roce_cm_attribute attributes[] = {
			ROCE_CM_REQ, ROCE_CM_REP,  ROCE_CM_RTU,      ROCE_CM_REJ,     ROCE_CM_MRA,
			ROCE_CM_REQ, ROCE_CM_DREP, ROCE_CM_SIDR_REQ, ROCE_CM_SIDR_REP
		};
		struct cm_datagram changed = req;

		store_be16(changed.mad + 16, attributes[random_next(&random) % 9]);
		if (random_next(&random) % 2) // to a connection of ours
			store_be32(changed.mad + 28, ids[1]);
		for (unsigned j = random_next(&random) % 6; j > 0; j--)
			changed.mad[16 + random_next(&random) % 240] =
			    (uint8_t)random_next(&random);
		deliver(&passive, &active, &changed);
		while (cm_poll(passive.cm, now, &datagram))
			message_of(&datagram);
		while (cm_next_event(passive.cm, &passive.event)) {
			if (passive.event.kind == CM_REQUESTED)
				cm_accept(passive.cm, passive.event.id, &acceptance, now);
			else if (passive.event.kind >= CM_REFUSED)
				cm_release(passive.cm, passive.event.id);
		}
		assert_true(cm_open_connections(passive.cm) <= 12);
		now += 1000;
	}
	assert_int_equal(cm_open_connections(passive.cm), passive.table.n_open);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_hosts, close_hosts)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(restart__of_the_peer),
		TEST(restart__of_us),
		TEST(flood__of_requests_is_bounded),
		TEST(flood__of_one_peer_leaves_room_for_others),
		TEST(bounds__of_established_connections),
		TEST(strangers__change_nothing),
		TEST(garbage__is_counted),
	};

	return cmocka_run_group_tests_name("connection_harm", tests, NULL, NULL);
}
