// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RDMA connection manager, message by message: two of ours with each other, real ones, and
// peers that get lost, restart or flood.
#include "conversation.h"

#include <stdlib.h>
#include <string.h>

#include "roce/connection.h"
#include "source/random.h"

#define PORT     7174
#define TIMEOUT  1000000u // ns until a message is sent again
#define PATIENCE 5000000u // ns until the caller has answered
#define RETRIES  3u

// One that has a connection manager.
struct host {
	struct qp_table table;
	struct cm *cm;
	struct qp_address address;
	struct cm_event event;
};

static struct host passive, active;
static uint64_t now, seed;

static struct cm_parameters parameters_of(struct host *host, uint32_t ip)
{
	host->address = qp_address_ipv4(ip);
	return (struct cm_parameters){
		.table = &host->table,
		.address = host->address,
		.guid = ip,
		.seed = ++seed, // as at another start
		.response_timeout = TIMEOUT,
		.accept_timeout = PATIENCE,
		.connections = 32,
		.half_open = 8,
		.half_open_of_peer = 4,
		.of_peer = 12,
		.path_mtu = 4096,
		.retries = RETRIES,
		.timeout_code = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.max_reads = 4,
	};
}

static void open_host(struct host *host, uint32_t ip)
{
	struct cm_parameters parameters;

	memset(host, 0, sizeof(*host));
	parameters = parameters_of(host, ip);
	assert_true(qp_table_create(&host->table, 64));
	host->cm = cm_create(&parameters);
	assert_non_null(host->cm);
}

static int open_hosts(void **state)
{
	(void)state;
	now = 1000000000;
	open_host(&passive, 0x0A4D0002);
	open_host(&active, 0x0A4D0001);
	assert_true(cm_listen(passive.cm, PORT));
	return 0;
}

static int close_hosts(void **state)
{
	(void)state;
	cm_destroy(passive.cm);
	cm_destroy(active.cm);
	qp_table_destroy(&passive.table);
	qp_table_destroy(&active.table);
	return 0;
}

// What a datagram says. It must cross the wire as bytes.
static struct roce_cm message_of(const struct cm_datagram *datagram)
{
	uint8_t bytes[ROCE_MAX_HEADERS_SIZE + ROCE_CM_MAD_SIZE + ROCE_ICRC_SIZE] = { 0 };
	size_t size = roce_headers_encode(bytes, &datagram->header);
	struct roce_packet parsed;
	struct roce_cm message;

	memcpy(bytes + size, datagram->mad, ROCE_CM_MAD_SIZE);
	size += ROCE_CM_MAD_SIZE + ROCE_ICRC_SIZE;
	assert_int_equal(roce_parse(bytes, size, size, &parsed), WIRE_OK);
	assert_int_equal(parsed.opcode, ROCE_UD_SEND_ONLY);
	assert_int_equal(parsed.destination_qpn, ROCE_CM_QPN);
	assert_int_equal(parsed.deth.qkey, ROCE_CM_QKEY);
	assert_int_equal(parsed.payload_size, ROCE_CM_MAD_SIZE);
	assert_int_equal(roce_cm_decode(datagram->mad, ROCE_CM_MAD_SIZE, &message), WIRE_OK);
	return message;
}

static void deliver(struct host *to, const struct host *from, const struct cm_datagram *datagram)
{
	cm_receive(to->cm, &datagram->header, datagram->mad, &from->address, now);
}

// The next message of a host, which must be this one.
static struct cm_datagram expect_message(struct host *host, enum roce_cm_attribute attribute)
{
	struct cm_datagram datagram;

	assert_true(cm_poll(host->cm, now, &datagram));
	assert_int_equal(message_of(&datagram).attribute, attribute);
	return datagram;
}

static void expect_no_message(struct host *host)
{
	struct cm_datagram datagram;

	assert_false(cm_poll(host->cm, now, &datagram));
}

static void expect_event(struct host *host, enum cm_event_kind kind)
{
	assert_true(cm_next_event(host->cm, &host->event));
	assert_int_equal(host->event.kind, kind);
}

static void expect_no_event(struct host *host)
{
	assert_false(cm_next_event(host->cm, &host->event));
}

// Has messages cross until there are none. `loss`: probability of each.
static void exchange(struct random *random, double loss)
{
	struct cm_datagram datagram;
	bool found;

	do {
		found = cm_poll(active.cm, now, &datagram);
		if (found && (random == NULL || random_uniform(random) >= loss))
			deliver(&passive, &active, &datagram);
		if (cm_poll(passive.cm, now, &datagram)) {
			found = true;
			if (random == NULL || random_uniform(random) >= loss)
				deliver(&active, &passive, &datagram);
		}
	} while (found);
}

static struct cm_destination destination(uint16_t port)
{
	return (struct cm_destination){
		.peer = passive.address,
		.port = port,
		.service = ROCE_RC,
		.path_mtu = 1024,
		.user = &active,
		.domain = 3,
		.access = QP_MAY_READ,
		.private_size = 5,
		.private_data = (const uint8_t *)"hello",
	};
}

static const struct cm_acceptance acceptance = {
	.user = &passive,
	.domain = 9,
	.access = QP_MAY_WRITE,
	.private_size = 7,
	.private_data = (const uint8_t *)"welcome",
};

static uint32_t connect_active(void)
{
	const struct cm_destination to = destination(PORT);
	uint32_t id = cm_connect(active.cm, &to, now);

	assert_int_not_equal(id, 0);
	return id;
}

// Both ends of an established connection: their ids in ids[0] (active) and ids[1].
static void establish(uint32_t ids[2])
{
	ids[0] = connect_active();
	exchange(NULL, 0);
	expect_event(&passive, CM_REQUESTED);
	ids[1] = passive.event.id;
	assert_true(cm_accept(passive.cm, ids[1], &acceptance, now));
	exchange(NULL, 0);
	expect_event(&active, CM_ESTABLISHED);
	expect_event(&passive, CM_ESTABLISHED);
}

static void connect__both_know_all_of_each_other(void **state)
{
	const struct queue_pair *a, *b;
	uint32_t id = connect_active();

	(void)state;
	exchange(NULL, 0);
	expect_event(&passive, CM_REQUESTED);
	assert_int_equal(passive.event.port, PORT);
	assert_int_equal(passive.event.service, ROCE_RC);
	assert_true(qp_address_is(&passive.event.peer, &active.address));
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
	assert_int_equal(a->domain, 3);
	assert_int_equal(b->domain, 9);
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
	assert_true(cm_refuse(passive.cm, passive.event.id, ROCE_CM_CONSUMER_DEFINED,
			      (const uint8_t *)"no", 2));
	assert_false(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	exchange(NULL, 0);
	expect_event(&active, CM_REFUSED);
	assert_int_equal(active.event.reason, ROCE_CM_CONSUMER_DEFINED);
	assert_memory_equal(active.event.private_data, "no", 2);
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
	(void)state;
	connect_active();
	exchange(NULL, 0);
	expect_event(&passive, CM_REQUESTED);
	cm_heard(passive.cm, passive.event.id); // no data may come yet
	expect_no_event(&passive);
	assert_true(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	cm_heard(passive.cm, passive.event.id);
	expect_event(&passive, CM_ESTABLISHED);
	cm_heard(passive.cm, passive.event.id);
	expect_no_event(&passive);
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

// A peer that has forgotten everything opens the same queue pair again.
static void restart__of_the_peer(void **state)
{
	uint32_t ids[2], old;

	(void)state;
	establish(ids);
	old = passive.event.qp->qpn;
	cm_destroy(active.cm);
	qp_table_destroy(&active.table);
	open_host(&active, 0x0A4D0001);
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
	open_host(&passive, 0x0A4D0002);
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

static void sidr__tells_of_datagram_queue_pairs(void **state)
{
	struct roce_cm ask = { .attribute = ROCE_CM_SIDR_REQ,
			       .local_id = 77,
			       .transaction = 5,
			       .sidr_req = { .service_id = ROCE_CM_SERVICE_UDP | 7174 } };
	struct cm_datagram datagram;
	struct queue_pair *qp = qp_open(&passive.table, ROCE_UD, QP_NUMBER_AUTO, now);

	(void)state;
	qp->qkey = 0x01234567;
	assert_true(cm_announce(passive.cm, 7174, qp));
	connect_active();
	datagram = expect_message(&active, ROCE_CM_REQ);
	for (unsigned i = 0; i < 2; i++) {
		struct cm_datagram answer;
		struct roce_cm told;

		ask.sidr_req.service_id += i;
		assert_int_equal(roce_cm_encode(datagram.mad, &ask), WIRE_OK);
		deliver(&passive, &active, &datagram);
		answer = expect_message(&passive, ROCE_CM_SIDR_REP);
		told = message_of(&answer);
		assert_int_equal(told.local_id, 77);
		assert_int_equal(told.transaction, 5);
		assert_int_equal(told.sidr_rep.status,
				 i ? ROCE_CM_SIDR_NO_SERVICE : ROCE_CM_SIDR_VALID);
		assert_int_equal(told.sidr_rep.qpn, i ? 0 : qp->qpn);
		assert_int_equal(told.sidr_rep.qkey, i ? 0 : qp->qkey);
	}
}

// The next CM message of a capture that comes from an address; its index.
static size_t next_cm(const struct conversation *conversation, size_t from,
		      enum roce_cm_attribute attribute, struct roce_cm *message)
{
	for (size_t i = from; i < conversation->n; i++) {
		const struct heard *heard = &conversation->packets[i];

		if (heard->packet.destination_qpn == ROCE_CM_QPN &&
		    roce_cm_decode(heard->payload, heard->packet.payload_size, message) ==
			WIRE_OK &&
		    message->attribute == attribute)
			return i;
	}
	fail_msg("no %s", roce_cm_name(attribute));
	return 0;
}

// What rxe's kernel says to the real other one is given to us, with our id where that one's was.
static void give_real(const struct conversation *conversation, size_t i, uint32_t our_id,
		      uint32_t our_qpn)
{
	const struct heard *heard = &conversation->packets[i];
	uint8_t mad[ROCE_CM_MAD_SIZE];
	struct roce_cm message;

	assert_int_equal(roce_cm_decode(heard->payload, ROCE_CM_MAD_SIZE, &message), WIRE_OK);
	message.remote_id = our_id;
	if (message.attribute == ROCE_CM_DREQ)
		message.dreq.remote_qpn = our_qpn;
	assert_int_equal(roce_cm_encode(mad, &message), WIRE_OK);
	cm_receive(passive.cm, &heard->packet, mad, &heard->source, now);
}

static void real__rping_connects_and_leaves(void **state)
{
	struct conversation conversation = conversation_read("rping_mtu9000");
	struct roce_cm real, ours;
	struct cm_datagram answer;
	size_t at;

	(void)state;
	at = next_cm(&conversation, 0, ROCE_CM_REQ, &real);
	give_real(&conversation, at, 0, 0);
	expect_event(&passive, CM_REQUESTED);
	assert_int_equal(passive.event.peer_qpn, real.req.qpn);
	assert_true(cm_accept(passive.cm, passive.event.id, &acceptance, now));
	answer = expect_message(&passive, ROCE_CM_REP);
	ours = message_of(&answer);
	next_cm(&conversation, at, ROCE_CM_REP, &real);
	assert_int_equal(ours.transaction, real.transaction);
	assert_int_equal(ours.remote_id, real.remote_id);
	assert_int_equal(ours.rep.responder_resources, real.rep.responder_resources);
	assert_int_equal(ours.rep.initiator_depth, real.rep.initiator_depth);
	assert_int_equal(ours.rep.target_ack_delay, real.rep.target_ack_delay);
	assert_int_equal(ours.rep.rnr_retry_count, real.rep.rnr_retry_count);
	assert_int_equal(ours.rep.flow_control, real.rep.flow_control);
	assert_int_equal(ours.rep.srq, real.rep.srq);
	at = next_cm(&conversation, at, ROCE_CM_RTU, &real);
	give_real(&conversation, at, ours.local_id, 0);
	expect_event(&passive, CM_ESTABLISHED);
	assert_int_equal(passive.event.qp->path_mtu, 4096);
	assert_int_equal(passive.event.qp->retry_count, 7);
	at = next_cm(&conversation, at, ROCE_CM_DREQ, &real);
	give_real(&conversation, at, ours.local_id, ours.rep.qpn);
	answer = expect_message(&passive, ROCE_CM_DREP);
	ours = message_of(&answer);
	assert_int_equal(ours.transaction, real.transaction);
	assert_int_equal(ours.remote_id, real.local_id);
	expect_event(&passive, CM_DISCONNECTED);
	conversation_free(&conversation);
}

static void real__rping_is_refused_where_nobody_listens(void **state)
{
	struct conversation conversation = conversation_read("rping_reject");
	struct roce_cm real, ours;
	struct cm_datagram answer;
	size_t at;

	(void)state;
	cm_destroy(passive.cm);
	qp_table_destroy(&passive.table);
	open_host(&passive, 0x0A4D0002);
	at = next_cm(&conversation, 0, ROCE_CM_REQ, &real);
	give_real(&conversation, at, 0, 0);
	answer = expect_message(&passive, ROCE_CM_REJ);
	ours = message_of(&answer);
	next_cm(&conversation, at, ROCE_CM_REJ, &real);
	assert_int_equal(ours.rej.reason, real.rej.reason);
	assert_int_equal(ours.rej.subject, real.rej.subject);
	assert_int_equal(ours.transaction, real.transaction);
	assert_int_equal(ours.remote_id, real.remote_id);
	expect_no_event(&passive);
	conversation_free(&conversation);
}

// Our REQ says what the real one's says, in all that is not a number of its own.
static void real__req_is_like_ours(void **state)
{
	struct conversation conversation = conversation_read("rping_mtu9000");
	struct roce_cm real, ours;
	struct cm_datagram req;
	struct roce_cm_ip ip;

	(void)state;
	next_cm(&conversation, 0, ROCE_CM_REQ, &real);
	connect_active();
	req = expect_message(&active, ROCE_CM_REQ);
	ours = message_of(&req);
	assert_true(ours.req.service_id == real.req.service_id);
	assert_int_equal(ours.req.qkey, real.req.qkey);
	assert_int_equal(ours.req.partition_key, real.req.partition_key);
	assert_int_equal(ours.req.transport, real.req.transport);
	assert_int_equal(ours.req.retry_count, real.req.retry_count);
	assert_int_equal(ours.req.max_cm_retries, real.req.max_cm_retries);
	assert_int_equal(ours.req.primary.local_lid, real.req.primary.local_lid);
	assert_int_equal(ours.req.primary.remote_lid, real.req.primary.remote_lid);
	assert_int_equal(ours.req.primary.hop_limit, real.req.primary.hop_limit);
	assert_int_equal(ours.req.primary.subnet_local, real.req.primary.subnet_local);
	assert_memory_equal(ours.req.primary.local_gid, real.req.primary.local_gid, 16);
	assert_memory_equal(ours.req.primary.remote_gid, real.req.primary.remote_gid, 16);
	assert_int_equal(roce_cm_ip_decode(ours.private_data, ours.private_size, &ip), WIRE_OK);
	assert_memory_equal(ours.private_data + 4, real.private_data + 4, 32); // both addresses
	conversation_free(&conversation);
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
		TEST(connect__both_know_all_of_each_other),
		TEST(disconnect__either_side),
		TEST(refuse__by_the_caller_and_by_nobody_listening),
		TEST(refuse__what_the_req_must_not_say),
		TEST(timeout__of_each_message),
		TEST(timeout__of_the_caller),
		TEST(lost__each_message_once),
		TEST(lost__rtu_but_data_comes),
		TEST(lost__any_message_at_random),
		TEST(restart__of_the_peer),
		TEST(restart__of_us),
		TEST(flood__of_requests_is_bounded),
		TEST(flood__of_one_peer_leaves_room_for_others),
		TEST(bounds__of_established_connections),
		TEST(strangers__change_nothing),
		TEST(sidr__tells_of_datagram_queue_pairs),
		TEST(real__rping_connects_and_leaves),
		TEST(real__rping_is_refused_where_nobody_listens),
		TEST(real__req_is_like_ours),
		TEST(garbage__is_counted),
	};

	return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
