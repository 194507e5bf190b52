// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the connection manager of a real kernel says, and what it answers.
#include "hosts.h"

#include <string.h>

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
	fail_msg("no message with attribute 0x%x", attribute);
	return 0;
}

// What rxe's kernel says to the real other one is given to us, with our id where that one's was.
static void give_real(const struct conversation *conversation, size_t i, uint32_t our_id,
		      uint32_t our_qpn)
{
	const struct heard *heard = &conversation->packets[i];
	uint8_t mad[ROCE_CM_MAD_SIZE];
	const struct cm_peer source = { .address = heard->source };
	struct roce_cm message;

	assert_int_equal(roce_cm_decode(heard->payload, ROCE_CM_MAD_SIZE, &message), WIRE_OK);
	message.remote_id = our_id;
	if (message.attribute == ROCE_CM_DREQ)
		message.dreq.remote_qpn = our_qpn;
	assert_int_equal(roce_cm_encode(mad, &message), WIRE_OK);
	cm_receive(passive.cm, &heard->packet, mad, &source, now);
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
	open_host(&passive, 0x0A4D0002, 0);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_hosts, close_hosts)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(real__rping_connects_and_leaves),
		TEST(real__rping_is_refused_where_nobody_listens),
		TEST(real__req_is_like_ours),
	};

	return cmocka_run_group_tests_name("connection_real", tests, NULL, NULL);
}
