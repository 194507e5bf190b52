// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "asking.h"

struct rig rig;
struct requester_packet sent;

int open_rig(void **state)
{
	(void)state;
	rig_open(&rig, &rig_standard);
	return 0;
}

int close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

void reopen(const struct rig_options *options)
{
	rig_close(&rig);
	rig_open(&rig, options);
}

struct requester_message make_message(uint8_t operation, uint32_t length, uint64_t user)
{
	return (struct requester_message){
		.user = user,
		.address = 0x10000,
		.rkey = 0x77,
		.length = length,
		.operation = operation,
	};
}

void post(uint8_t operation, uint32_t length, uint64_t user)
{
	const struct requester_message message = make_message(operation, length, user);

	assert_true(requester_post(rig.requester, rig.qp, &message));
}

void expect_sent(uint8_t opcode, uint32_t number, bool ack_request)
{
	assert_true(requester_poll(rig.requester, rig.now, &sent));
	assert_ptr_equal(sent.qp, rig.qp);
	assert_int_equal(sent.header.opcode, opcode);
	assert_int_equal(sent.header.psn, local_psn(number));
	assert_int_equal(sent.header.ack_request, ack_request);
	assert_int_equal(sent.header.pad, -sent.size & 3u);
	assert_int_equal(sent.header.destination_qpn,
			 rig.qp->service == ROCE_UD ? 99 : RIG_PEER_QPN);
}

void expect_nothing(void)
{
	assert_false(requester_poll(rig.requester, rig.now, &sent));
}

enum requester_verdict answer(uint8_t syndrome, uint32_t number)
{
	const struct roce_packet packet =
	    rig_response(&rig, ROCE_RC_ACKNOWLEDGE, local_psn(number), syndrome);

	return requester_receive(rig.requester, rig.qp, &packet, &rig.peer, rig.now, &rig.data);
}

void acknowledge(uint32_t number)
{
	assert_int_equal(answer(ROCE_ACK_NO_CREDITS, number), REQUESTER_TAKEN);
}

struct roce_packet make_data(uint8_t opcode, uint32_t number, uint32_t size)
{
	struct roce_packet packet =
	    rig_response(&rig, opcode, local_psn(number), ROCE_ACK_NO_CREDITS);

	packet.payload_size = size;
	packet.pad = (uint8_t)(-size & 3u);
	return packet;
}

enum requester_verdict give_data(uint8_t opcode, uint32_t number, uint32_t size)
{
	const struct roce_packet packet = make_data(opcode, number, size);

	return requester_receive(rig.requester, rig.qp, &packet, &rig.peer, rig.now, &rig.data);
}

void expect_completion(uint64_t user, enum qp_cause cause)
{
	struct requester_completion completion;

	assert_true(requester_completion(rig.requester, &completion));
	assert_ptr_equal(completion.qp, rig.qp);
	assert_int_equal(completion.user, user);
	assert_int_equal(completion.cause, cause);
}

void expect_no_completion(void)
{
	struct requester_completion completion;

	assert_false(requester_completion(rig.requester, &completion));
}

uint64_t timeout(void)
{
	return roce_timeout_ns(14);
}
