// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RDMA connection manager, message by message: two of ours with each other.
#include "hosts.h"

#include <string.h>

#define SERVICE_UDP 0x01110000u // service id of RDMA_PS_UDP: | port

static void connect__both_know_all_of_each_other(void **state)
{
	const struct queue_pair *a, *b;
	uint32_t id = connect_active();

	(void)state;
	exchange(NULL, 0);
	expect_event(&passive, CM_REQUESTED);
	assert_int_equal(passive.event.port, PORT);
	assert_int_equal(passive.event.service, ROCE_RC);
	assert_true(qp_address_is(&passive.event.peer.address, &active.address));
	assert_memory_equal(passive.event.private_data, "hello", 5);
	assert_null(passive.event.qp);
	expect_no_event(&active);
	assert_true(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	exchange(NULL, 0);
	expect_event(&active, CM_ESTABLISHED);
	assert_int_equal(active.event.id, id);
	assert_ptr_equal(active.event.user, &active);
	assert_memory_equal(active.event.private_data, "welcome", 7);
	expect_event(&passive, CM_ESTABLISHED);
	assert_ptr_equal(passive.event.user, &passive);
	a = active.event.qp;
	b = passive.event.qp;
	assert_int_equal(a->state, QP_READY);
	assert_int_equal(b->state, QP_READY);
	assert_int_equal(a->peer_qpn, b->qpn);
	assert_int_equal(b->peer_qpn, a->qpn);
	assert_int_equal(a->expected_psn, b->first_psn);
	assert_int_equal(b->expected_psn, a->first_psn);
	assert_true(qp_address_is(&a->peer, &passive.address));
	assert_true(qp_address_is(&b->peer, &active.address));
	assert_int_equal(a->path_mtu, 1024);
	assert_int_equal(b->path_mtu, 1024);
	assert_int_equal(a->access, QP_MAY_READ);
	assert_int_equal(b->access, QP_MAY_WRITE);
	assert_int_equal(a->max_reads, 4);
	assert_int_equal(b->max_reads, 4);
	assert_ptr_equal(a->user, &active);
	assert_ptr_equal(b->user, &passive);
}

static void disconnect__either_side(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct host *leaver = i ? &passive : &active, *left = i ? &active : &passive;
		uint32_t ids[2];

		establish(ids);
		assert_true(cm_disconnect(leaver->cm, ids[i], now));
		assert_false(cm_disconnect(leaver->cm, ids[i], now));
		exchange(NULL, 0);
		expect_event(left, CM_DISCONNECTED);
		assert_int_equal(left->event.qp->state, QP_ERROR);
		expect_event(leaver, CM_DISCONNECTED);
		cm_release(active.cm, ids[0]);
		cm_release(passive.cm, ids[1]);
		assert_int_equal(cm_open_connections(active.cm), 0);
		assert_int_equal(cm_open_connections(passive.cm), 0);
		assert_int_equal(active.table.n_open, 0);
		assert_int_equal(passive.table.n_open, 0);
	}
}

static void refuse__by_the_caller_and_by_nobody_listening(void **state)
{
	struct cm_destination to = destination(PORT + 1);

	(void)state;
	assert_int_not_equal(cm_connect(active.cm, &to, now), 0);
	exchange(NULL, 0);
	expect_event(&active, CM_REFUSED);
	assert_int_equal(active.event.reason, ROCE_CM_INVALID_SERVICE_ID);
	cm_release(active.cm, active.event.id);
	connect_active();
	exchange(NULL, 0);
	expect_event(&passive, CM_REQUESTED);
	assert_true(cm_refuse(passive.cm, passive.event.id, ROCE_CM_CONSUMER_DEFINED));
	assert_false(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	exchange(NULL, 0);
	expect_event(&active, CM_REFUSED);
	assert_int_equal(active.event.reason, ROCE_CM_CONSUMER_DEFINED);
	assert_int_equal(active.event.qp->state, QP_ERROR);
	cm_release(active.cm, active.event.id);
	expect_no_event(&passive);
	assert_int_equal(cm_open_connections(active.cm), 0);
	assert_int_equal(cm_open_connections(passive.cm), 0);
}

// A REQ as the active side sends it, with one thing changed.
static void refuse__what_the_req_must_not_say(void **state)
{
	static const unsigned reasons[] = { ROCE_CM_INVALID_TRANSPORT, ROCE_CM_INVALID_GID,
					    ROCE_CM_INVALID_GID,       ROCE_CM_INVALID_GID,
					    ROCE_CM_INVALID_MTU,       ROCE_CM_INVALID_MTU,
					    ROCE_CM_INVALID_SERVICE_ID };
	struct cm_datagram req;

	(void)state;
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	for (unsigned i = 0; i < 7; i++) {
		struct cm_datagram changed = req, rej;
		struct roce_cm message = message_of(&req);

		message.req.transport = i == 0 ? 3 : 0;
		message.req.primary.local_gid[15] ^= i == 1;
		message.req.primary.remote_gid[15] ^= i == 2;
		message.req.path_mtu = i == 4 ? 0 : i == 5 ? 6 : 3;
		message.req.service_id += i == 6 ? 0x0B0000 : 0; // of RDMA_PS_UDP
		assert_int_equal(roce_cm_encode(changed.mad, &message), WIRE_OK);
		changed.mad[24 + 140 + 19] ^= i == 3; // source address of the private data
		deliver(&passive, &active, &changed);
		rej = expect_message(&passive, ROCE_CM_REJ);
		message = message_of(&rej);
		assert_int_equal(message.rej.reason, reasons[i]);
		assert_int_equal(message.rej.subject, ROCE_CM_ABOUT_REQ);
		assert_int_equal(message.remote_id, message_of(&req).local_id);
		expect_no_event(&passive);
	}
	assert_int_equal(cm_open_connections(passive.cm), 0);
	deliver(&passive, &active, &req);
	expect_event(&passive, CM_REQUESTED);
}

static void timeout__of_each_message(void **state)
{
	uint32_t ids[2];

	(void)state;
	// The REQ is not answered.
	connect_active();
	for (unsigned i = 0; i <= RETRIES; i++) {
		expect_message(&active, ROCE_CM_REQ);
		expect_no_message(&active);
		now += TIMEOUT - 1;
		expect_no_message(&active);
		now += 1;
	}
	expect_no_message(&active);
	expect_event(&active, CM_FAILED);
	assert_int_equal(active.event.reason, ROCE_CM_TIMEOUT);
	cm_release(active.cm, active.event.id);
	// Nor the REP.
	connect_active();
	exchange(NULL, 0);
	expect_event(&passive, CM_REQUESTED);
	assert_true(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	for (unsigned i = 0; i <= RETRIES; i++) {
		expect_message(&passive, ROCE_CM_REP);
		expect_no_message(&passive);
		now += TIMEOUT;
	}
	expect_message(&passive, ROCE_CM_REJ);
	expect_event(&passive, CM_FAILED);
	assert_int_equal(passive.event.qp->state, QP_ERROR);
	cm_release(passive.cm, passive.event.id);
	assert_int_equal(passive.table.n_open, 0);
	close_hosts(state);
	open_hosts(state);
	// Nor the DREQ.
	establish(ids);
	assert_true(cm_disconnect(active.cm, ids[0], now));
	for (unsigned i = 0; i <= RETRIES; i++) {
		expect_message(&active, ROCE_CM_DREQ);
		now += TIMEOUT;
	}
	expect_no_message(&active);
	expect_event(&active, CM_DISCONNECTED);
}

static void timeout__of_the_caller(void **state)
{
	(void)state;
	connect_active();
	exchange(NULL, 0);
	expect_event(&passive, CM_REQUESTED);
	now += PATIENCE;
	exchange(NULL, 0);
	expect_event(&passive, CM_FAILED);
	assert_false(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	cm_release(passive.cm, passive.event.id);
	expect_event(&active, CM_REFUSED);
	assert_int_equal(active.event.reason, ROCE_CM_TIMEOUT);
	assert_int_equal(cm_open_connections(passive.cm), 0);
	cm_release(active.cm, active.event.id);
	// One that was not even told of is forgotten.
	connect_active();
	exchange(NULL, 0);
	now += PATIENCE;
	exchange(NULL, 0);
	expect_no_event(&passive);
	assert_int_equal(cm_open_connections(passive.cm), 0);
}

static void lost__each_message_once(void **state)
{
	struct cm_datagram req, rep, rtu, dreq, drep;
	uint32_t id;

	(void)state;
	id = connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	deliver(&passive, &active, &req);
	deliver(&passive, &active, &req); // again, before it is answered
	expect_event(&passive, CM_REQUESTED);
	expect_no_event(&passive);
	assert_true(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	rep = expect_message(&passive, ROCE_CM_REP);
	deliver(&passive, &active, &req); // the REP was lost
	rep = expect_message(&passive, ROCE_CM_REP);
	deliver(&active, &passive, &rep);
	rtu = expect_message(&active, ROCE_CM_RTU);
	deliver(&active, &passive, &rep); // the RTU was lost
	rtu = expect_message(&active, ROCE_CM_RTU);
	expect_event(&active, CM_ESTABLISHED);
	deliver(&passive, &active, &rtu);
	deliver(&passive, &active, &rtu);
	deliver(&passive, &active, &req);
	expect_event(&passive, CM_ESTABLISHED);
	expect_no_event(&passive);
	expect_no_event(&active);
	assert_true(cm_disconnect(active.cm, id, now));
	dreq = expect_message(&active, ROCE_CM_DREQ);
	deliver(&passive, &active, &dreq);
	drep = expect_message(&passive, ROCE_CM_DREP);
	expect_event(&passive, CM_DISCONNECTED);
	deliver(&passive, &active, &dreq); // the DREP was lost
	drep = expect_message(&passive, ROCE_CM_DREP);
	cm_release(passive.cm, passive.event.id);
	deliver(&passive, &active, &dreq); // and again, after all is forgotten
	drep = expect_message(&passive, ROCE_CM_DREP);
	expect_no_event(&passive);
	deliver(&active, &passive, &drep);
	expect_event(&active, CM_DISCONNECTED);
	deliver(&active, &passive, &drep);
	expect_no_event(&active);
}

static void lost__rtu_but_data_comes(void **state)
{
	struct cm_datagram rep;
	struct queue_pair *qp;

	(void)state;
	connect_active();
	exchange(NULL, 0);
	expect_event(&passive, CM_REQUESTED);
	assert_true(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	rep = expect_message(&passive, ROCE_CM_REP);
	expect_no_message(&passive);
	expect_no_event(&passive);
	qp = qp_find(&passive.table, message_of(&rep).rep.qpn);
	assert_non_null(qp);
	qp->expected_psn++;
	expect_no_message(&passive);
	expect_event(&passive, CM_ESTABLISHED);
	now += 10 * TIMEOUT;
	expect_no_message(&passive);
	expect_no_event(&passive);
}

static void error__of_the_queue_pair_ends_the_connection(void **state)
{
	uint32_t ids[2];

	(void)state;
	establish(ids);
	passive.event.qp->state = QP_ERROR;
	passive.event.qp->cause = QP_SENT_ACCESS;
	exchange(NULL, 0);
	expect_event(&passive, CM_DISCONNECTED);
	assert_int_equal(passive.event.qp->cause, QP_SENT_ACCESS);
	expect_event(&active, CM_DISCONNECTED);
}

// Connections made and ended while any message may be lost.
static void lost__any_message_at_random(void **state)
{
	struct random random = random_fork(7, 7);
	unsigned established = 0;

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		uint32_t id = connect_active(), other = 0;
		bool both = false, ended[2] = { false, false };

		for (unsigned step = 0; step < 40 && !(ended[0] && (other == 0 || ended[1]));
		     step++) {
			exchange(&random, 0.3);
			while (cm_next_event(passive.cm, &passive.event)) {
				if (passive.event.kind == CM_REQUESTED) {
					other = passive.event.id;
					ended[1] = false;
					cm_accept(passive.cm, other, &acceptance, now);
				} else if (passive.event.kind != CM_ESTABLISHED) {
					cm_release(passive.cm, passive.event.id);
					ended[1] = passive.event.id == other;
				}
			}
			while (cm_next_event(active.cm, &active.event)) {
				if (active.event.kind == CM_ESTABLISHED) {
					both = true;
					assert_true(cm_disconnect(active.cm, id, now));
				} else {
					cm_release(active.cm, id);
					ended[0] = true;
				}
			}
			now += TIMEOUT / 2;
		}
		assert_true(ended[0]);
		established += both;
		// What the passive side never heard the end of, another REQ or a DREQ ends.
		if (other != 0 && !ended[1])
			cm_disconnect(passive.cm, other, now);
		for (unsigned step = 0; step < 20; step++) {
			exchange(NULL, 0);
			while (cm_next_event(passive.cm, &passive.event)) {
				if (passive.event.kind >= CM_REFUSED)
					cm_release(passive.cm, passive.event.id);
			}
			now += TIMEOUT;
		}
		assert_int_equal(cm_open_connections(active.cm), 0);
		assert_int_equal(cm_open_connections(passive.cm), 0);
		assert_int_equal(active.table.n_open, 0);
		assert_int_equal(passive.table.n_open, 0);
	}
	assert_in_range(established, 400, 500);
}

static void sidr__is_refused(void **state)
{
	const struct roce_cm request = {
		.attribute = ROCE_CM_SIDR_REQ,
		.local_id = 77,
		.transaction = 5,
		.sidr_req = { .service_id = SERVICE_UDP | 7174 },
	};
	struct cm_datagram datagram, response;
	struct roce_cm message;

	(void)state;
	connect_active();
	datagram = expect_message(&active, ROCE_CM_REQ);
	assert_int_equal(roce_cm_encode(datagram.mad, &request), WIRE_OK);
	deliver(&passive, &active, &datagram);
	response = expect_message(&passive, ROCE_CM_SIDR_REP);
	message = message_of(&response);
	assert_int_equal(message.local_id, 77);
	assert_int_equal(message.transaction, 5);
	assert_int_equal(message.sidr_rep.service_id, SERVICE_UDP | 7174);
	assert_int_equal(message.sidr_rep.status, ROCE_CM_SIDR_NO_SERVICE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_hosts, close_hosts)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connect__both_know_all_of_each_other),
		TEST(disconnect__either_side),
		TEST(refuse__by_the_caller_and_by_nobody_listening),
		TEST(refuse__what_the_req_must_not_say),
		TEST(timeout__of_each_message),
		TEST(timeout__of_the_caller),
		TEST(lost__each_message_once),
		TEST(lost__rtu_but_data_comes),
		TEST(error__of_the_queue_pair_ends_the_connection),
		TEST(lost__any_message_at_random),
		TEST(sidr__is_refused),
	};

	return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
