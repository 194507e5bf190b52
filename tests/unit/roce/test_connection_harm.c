// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Peers that restart, flood, or say what they have no business to say.
#include "hosts.h"

#include <string.h>

static void restart_active(void)
{
	cm_destroy(active.cm);
	qp_table_destroy(&active.table);
	open_host(&active, 0x0A4D0001, 0);
}

static void drop_messages(struct host *host)
{
	struct cm_datagram datagram;

	while (cm_poll(host->cm, now, &datagram))
		;
}

// A peer that has forgotten everything connects anew, with other numbers and another GUID: once the
// old connection is silent, it ends.
static void restart__of_the_peer(void **state)
{
	uint32_t ids[2], others[2];

	(void)state;
	establish(ids);
	restart_active();
	establish(others);
	assert_int_equal(passive.table.n_open, 2);
	now += SILENCE - 1;
	expect_no_message(&passive);
	now += 1;
	expect_message(&passive, ROCE_CM_DREQ); // once
	expect_event(&passive, CM_DISCONNECTED);
	assert_int_equal(passive.event.id, ids[1]);
	assert_int_equal(passive.event.qp->state, QP_ERROR);
	cm_release(passive.cm, ids[1]);
	now += 10 * SILENCE;
	expect_no_message(&passive);
	assert_int_equal(cm_open_connections(passive.cm), 1);
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

// Accepts whoever requests, and releases what has ended. The event is left at the last one that was
// established.
static void serve(struct host *host)
{
	struct cm_event event;

	while (cm_next_event(host->cm, &event)) {
		if (event.kind == CM_REQUESTED)
			(void)cm_accept(host->cm, event.id, &acceptance, now);
		else if (event.kind == CM_ESTABLISHED)
			host->event = event;
		else
			cm_release(host->cm, event.id);
	}
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
	message.req.ca_guid = 7;
	assert_int_equal(roce_cm_encode(changed.mad, &message), WIRE_OK);
	return changed;
}

// Delivers the REQ of a peer.
static void request_from(const struct cm_datagram *req, uint32_t peer, uint32_t number)
{
	const struct host from = { .address = qp_address_ipv4(0x0B000000 + peer) };
	const struct cm_datagram its = any_req(req, &from.address, 1000 + number);

	deliver(&passive, &from, &its);
}

// The active side has requested, and the REP is on its way.
static void open_half(struct cm_datagram *req, struct cm_datagram *rep)
{
	connect_active();
	*req = expect_message(&active, ROCE_CM_REQ);
	deliver(&passive, &active, req);
	serve(&passive);
	*rep = expect_message(&passive, ROCE_CM_REP);
}

// Those who do not see the REPs make room for others, at random.
static void flood__of_requests_is_bounded(void **state)
{
	struct cm_datagram req, answer;
	uint32_t ids[2];

	(void)state;
	establish(ids);
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	for (uint32_t i = 0; i < 10000; i++) {
		request_from(&req, i / 10, i);
		serve(&passive);
		while (cm_poll(passive.cm, now, &answer))
			assert_int_equal(message_of(&answer).attribute, ROCE_CM_REP);
		assert_true(cm_open_connections(passive.cm) <= 1 + 8);
	}
	assert_int_equal(cm_counters(passive.cm)->no_resources, 0);
	assert_in_range(cm_counters(passive.cm)->early_drops, 10000 - 8, 10000);
	assert_int_equal(passive.table.n_open, cm_open_connections(passive.cm));
	assert_int_equal(qp_find(&passive.table, passive.event.qp->qpn)->state, QP_READY);
	deliver(&passive, &active, &req);
	serve(&passive);
	exchange(NULL, 0);
	expect_event(&active, CM_ESTABLISHED);
	now += PATIENCE;
	for (unsigned i = 0; i < 100; i++, now += PATIENCE) {
		drop_messages(&passive);
		serve(&passive);
	}
	assert_int_equal(cm_open_connections(passive.cm), 2);
}

static void flood__of_one_peer_leaves_room_for_others(void **state)
{
	struct cm_datagram req;

	(void)state;
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	for (uint32_t i = 0; i < 100; i++) {
		request_from(&req, 0, i);
		drop_messages(&passive);
	}
	assert_int_equal(cm_open_connections(passive.cm), 4); // half_open_of_peer
	deliver(&passive, &active, &req);
	assert_int_equal(cm_open_connections(passive.cm), 5);
}

// Whose connection was dropped in such a flood learns it from the response to its RTU.
static void flood__who_is_dropped_is_told(void **state)
{
	struct cm_datagram req, rep, message;

	(void)state;
	open_half(&req, &rep);
	for (uint32_t i = 0; i < 200; i++) {
		request_from(&req, i, i);
		serve(&passive);
		drop_messages(&passive);
	}
	deliver(&active, &passive, &rep);
	expect_event(&active, CM_ESTABLISHED);
	message = expect_message(&active, ROCE_CM_RTU);
	deliver(&passive, &active, &message);
	message = expect_message(&passive, ROCE_CM_REJ);
	assert_int_equal(message_of(&message).rej.reason, ROCE_CM_INVALID_COMM_ID);
	deliver(&active, &passive, &message);
	expect_event(&active, CM_DISCONNECTED);
}

// Data proves a connection from the moment it arrives, also if the manager has not polled since.
static void flood__who_has_sent_data_is_not_dropped(void **state)
{
	struct cm_datagram req, rep;
	struct queue_pair *qp;

	(void)state;
	open_half(&req, &rep);
	qp = qp_find(&passive.table, message_of(&rep).rep.qpn);
	qp->expected_psn = roce_psn_add(qp->expected_psn, 1);
	for (uint32_t i = 0; i < 200; i++) {
		request_from(&req, i, i);
		serve(&passive);
	}
	assert_int_equal(passive.event.kind, CM_ESTABLISHED);
	assert_ptr_equal(passive.event.qp, qp);
	assert_int_equal(qp->state, QP_READY);
}

// A peer of this number connects. NULL if it is refused.
static struct queue_pair *join(const struct cm_datagram *req, uint32_t number)
{
	struct host peer = { .address = qp_address_ipv4(0x0B000000 + number) };
	struct roce_cm rtu = { .attribute = ROCE_CM_RTU, .local_id = 1000 + number };
	struct cm_datagram its = any_req(req, &peer.address, 1000 + number), answer;

	deliver(&passive, &peer, &its);
	serve(&passive);
	do {
		assert_true(cm_poll(passive.cm, now, &answer));
	} while (message_of(&answer).attribute == ROCE_CM_DREQ); // to who made room
	if (message_of(&answer).attribute == ROCE_CM_REJ)
		return NULL;
	rtu.remote_id = message_of(&answer).local_id;
	assert_int_equal(roce_cm_encode(its.mad, &rtu), WIRE_OK);
	deliver(&passive, &peer, &its);
	serve(&passive);
	return passive.event.qp;
}

// Of a full table those make room who have been silent for long; nobody does who sends.
static void idle__makes_room_where_it_is_needed(void **state)
{
	struct queue_pair *qps[32];
	struct cm_datagram req;
	uint32_t sends;

	(void)state;
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	for (uint32_t i = 0; i < 32; i++) {
		qps[i] = join(&req, i);
		assert_non_null(qps[i]);
	}
	assert_null(join(&req, 100)); // all have just come
	now += IDLE;
	drop_messages(&passive);
	assert_int_equal(cm_open_connections(passive.cm), 32);
	for (unsigned i = 0; i < 16; i++)
		qps[i]->counters.packets++;
	sends = qps[0]->qpn;
	for (uint32_t i = 0; i < 40; i++) {
		(void)join(&req, 200 + i);
		drop_messages(&passive);
	}
	assert_int_equal(cm_counters(passive.cm)->idle, 16);
	assert_ptr_equal(qp_find(&passive.table, sends), qps[0]);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(qps[i]->state, QP_READY);
	assert_int_equal(cm_open_connections(passive.cm), 32);
}

// A REQ with address and queue pair of a peer that sends: anybody may say that.
static void live_peer__is_not_replaced(void **state)
{
	struct host peer = { .address = qp_address_ipv4(0x0B000000) };
	struct cm_datagram req, forged;
	struct queue_pair *qp;

	(void)state;
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	qp = join(&req, 0);
	forged = any_req(&req, &peer.address, 1000);
	for (unsigned i = 0; i < 100; i++) {
		const struct cm_datagram before = forged;
		struct roce_cm message = message_of(&before);

		message.req.starting_psn = i;
		message.local_id = i % 2 != 0 ? 1000 : i;
		assert_int_equal(roce_cm_encode(forged.mad, &message), WIRE_OK);
		now += SILENCE - 1;
		qp->counters.packets++;
		deliver(&passive, &peer, &forged);
		serve(&passive);
		expect_no_message(&passive);
		assert_int_equal(cm_open_connections(passive.cm), 1);
	}
	assert_int_equal(cm_counters(passive.cm)->kept, 100);
	// And of one that is silent: only a peer that gets the REP ends it.
	now += SILENCE;
	deliver(&passive, &peer, &forged);
	serve(&passive);
	expect_message(&passive, ROCE_CM_REP);
	assert_int_equal(qp->state, QP_READY);
	for (unsigned i = 0; i < 10; i++, now += PATIENCE) {
		drop_messages(&passive);
		serve(&passive);
	}
	assert_int_equal(cm_open_connections(passive.cm), 1);
	assert_int_equal(qp->state, QP_READY);
	now += SILENCE;
	assert_ptr_not_equal(join(&req, 0), qp);
	assert_int_equal(qp->state, QP_FREE);
	assert_int_equal(cm_open_connections(passive.cm), 1);
}

// A half-open connection cannot be kept by MRAs.
static void half_open__ends_though_mras_go_on(void **state)
{
	struct host peer = { .address = qp_address_ipv4(0x0B000000) };
	struct roce_cm mra = { .attribute = ROCE_CM_MRA,
			       .local_id = 1000,
			       .mra = { .service_timeout = 31 } };
	struct cm_datagram req, datagram;
	uint64_t begun = now;

	(void)state;
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	datagram = any_req(&req, &peer.address, 1000);
	deliver(&passive, &peer, &datagram);
	serve(&passive);
	datagram = expect_message(&passive, ROCE_CM_REP);
	mra.remote_id = message_of(&datagram).local_id;
	assert_int_equal(roce_cm_encode(datagram.mad, &mra), WIRE_OK);
	datagram.header = req.header;
	while (cm_open_connections(passive.cm) > 0 && now - begun < 1000000000000) {
		deliver(&passive, &peer, &datagram);
		drop_messages(&passive);
		serve(&passive);
		now += TIMEOUT;
	}
	assert_in_range(now - begun, 60000000000, 61000000000);
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
		TEST(flood__who_is_dropped_is_told),
		TEST(flood__who_has_sent_data_is_not_dropped),
		TEST(idle__makes_room_where_it_is_needed),
		TEST(live_peer__is_not_replaced),
		TEST(half_open__ends_though_mras_go_on),
		TEST(bounds__of_established_connections),
		TEST(strangers__change_nothing),
		TEST(garbage__is_counted),
	};

	return cmocka_run_group_tests_name("connection_harm", tests, NULL, NULL);
}
