// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Outbox, tokens, and the mail between two endpoints whose network is a single call.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cluster/outbox.h"
#include "cluster/post.h"
#include "cluster/tokens.h"

#define MS       UINT64_C(1000000)
#define PATIENCE (100 * MS)

// --- outbox ---

static void outbox__keeps_the_order(void **state)
{
	struct outbox outbox;
	uint64_t next = 0, n = 0;
	size_t size;

	(void)state;
	assert_true(outbox_make(&outbox, 256));
	assert_null(outbox_front(&outbox, &size));
	for (unsigned i = 0; i < 1000; i++) {
		uint8_t bytes[40];

		memset(bytes, (int)n, sizeof(bytes));
		if (outbox_put(&outbox, bytes, 8 + n % 33))
			n++;
		if (i % 3 == 0)
			continue;
		const uint8_t *front = outbox_front(&outbox, &size);
		if (front == NULL)
			continue;
		assert_int_equal(size, 8 + next % 33);
		for (size_t j = 0; j < size; j++)
			assert_int_equal(front[j], (uint8_t)next);
		outbox_pop(&outbox);
		next++;
	}
	assert_true(next > 300);
	outbox_clear(&outbox);
	assert_null(outbox_front(&outbox, &size));
	outbox_free(&outbox);
}

static void outbox__refuses_what_does_not_fit(void **state)
{
	uint8_t bytes[64] = { 0 };
	struct outbox outbox;

	(void)state;
	assert_true(outbox_make(&outbox, 64));
	assert_false(outbox_put(&outbox, bytes, 57));
	assert_true(outbox_put(&outbox, bytes, 24));
	assert_true(outbox_put(&outbox, bytes, 24));
	assert_false(outbox_put(&outbox, bytes, 0));
	outbox_free(&outbox);
}

// --- tokens ---

static void tokens__are_credited_once(void **state)
{
	struct tokens tokens;
	bool seen[5] = { false };

	(void)state;
	assert_true(tokens_make(&tokens, 5));
	for (unsigned i = 0; i < 5; i++) {
		uint32_t token = tokens_next_credit(&tokens);

		assert_true(token < 5 && !seen[token]);
		seen[token] = true;
		assert_int_equal(tokens.tokens[token].generation, 1);
	}
	assert_int_equal(tokens_next_credit(&tokens), TOKEN_NONE);
	tokens_grant(&tokens, 3, 77, 1);
	assert_int_equal(tokens.n_free, 4);
	assert_int_equal(tokens_find(&tokens, 77), 3);
	tokens_release(&tokens, 3);
	assert_int_equal(tokens_find(&tokens, 77), TOKEN_NONE);
	assert_int_equal(tokens_next_credit(&tokens), 3);
	assert_int_equal(tokens.tokens[3].generation, 2);
	tokens_uncredit(&tokens);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(tokens_next_credit(&tokens), i);
	tokens_free(&tokens);
}

static void tokens__of_one_event_are_found_in_order(void **state)
{
	struct tokens tokens;

	(void)state;
	assert_true(tokens_make(&tokens, 4));
	tokens_grant(&tokens, 2, 5, 1);
	tokens_grant(&tokens, 0, 5 + 16, 1); // of the same bucket
	tokens_grant(&tokens, 1, 5, 2);
	assert_int_equal(tokens_find(&tokens, 5), 2);
	assert_int_equal(tokens_find(&tokens, 5 + 16), 0);
	tokens_release(&tokens, 2);
	assert_int_equal(tokens_find(&tokens, 5), 1);
	tokens_release(&tokens, 0);
	assert_int_equal(tokens_find(&tokens, 5), 1);
	// What was granted before it was credited had left the list.
	assert_int_equal(tokens.n_uncredited, 3);
	tokens_free(&tokens);
}

// --- mail ---

struct side {
	struct control_endpoint *endpoint;
	struct cluster_mail *mail;
	struct side *other;
	unsigned number;
	bool deaf;
	unsigned n_delivered, n_lost, n_restarted, n_own;
	uint32_t next;
};

static uint64_t now;

static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	const struct side *side = context;

	(void)peer;
	if (!side->other->deaf)
		(void)control_receive(side->other->endpoint, bytes, size, now);
	return true;
}

// Records are numbered, and arrive in order and whole.
static void check(struct side *side, const struct ctrl_record *record)
{
	assert_int_equal(record->type, 50000);
	assert_int_equal(load_le32(record->bytes + 4), side->next);
	side->next++;
}

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct side *side = context;

	(void)peer;
	check(side, record);
	side->n_delivered++;
}

static void deliver_own(void *context, const struct ctrl_record *record)
{
	struct side *side = context;

	check(side, record);
	side->n_own++;
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	struct side *side = context;

	if (side->mail != NULL)
		cluster_mail_event(side->mail, peer, event);
	side->n_lost += event == CONTROL_LOST;
	side->n_restarted += event == CONTROL_RESTARTED;
}

static void open_side(struct side *side, struct side *other, unsigned number)
{
	struct control_parameters parameters = control_defaults();
	const uint16_t peer = (uint16_t)(1 - number);
	struct cluster_mail_parameters mail = {
		.self = number,
		.n_nodes = 2,
		.outbox_size = 4096,
		.patience = PATIENCE,
		.context = side,
		.deliver = deliver_own,
		.event = on_event,
	};

	*side = (struct side){ .other = other, .number = number };
	parameters.handlers = (struct control_handlers){ side, deliver, on_event, emit };
	parameters.peers = &peer;
	parameters.n_peers = 1;
	parameters.node = (uint16_t)number;
	parameters.window = 2;
	parameters.session = 100 + number;
	parameters.now = now;
	side->endpoint = control_create(&parameters, NULL);
	assert_non_null(side->endpoint);
	mail.endpoint = side->endpoint;
	side->mail = cluster_mail_create(&mail);
	assert_non_null(side->mail);
}

static void open_both(struct side *sides)
{
	now = 1000 * MS;
	open_side(&sides[0], &sides[1], 0);
	open_side(&sides[1], &sides[0], 1);
}

static void close_both(struct side *sides)
{
	for (unsigned i = 0; i < 2; i++) {
		cluster_mail_destroy(sides[i].mail);
		control_destroy(sides[i].endpoint);
	}
}

static void run(struct side *sides, uint64_t duration)
{
	for (uint64_t end = now + duration; now < end; now += MS / 10)
		for (unsigned i = 0; i < 2; i++) {
			(void)cluster_mail_poll(sides[i].mail, now);
			(void)control_poll(sides[i].endpoint, now);
		}
}

static void send_numbered(struct side *side, unsigned to, uint32_t number)
{
	const struct cluster_post post = cluster_mail_post(side->mail);
	uint8_t record[104] = { 0 };

	store_le16(record, 50000);
	store_le16(record + 2, sizeof(record));
	store_le32(record + 4, number);
	post.send(post.context, to, record, sizeof(record));
}

static void mail__to_oneself_is_delivered_by_the_poll(void **state)
{
	struct side sides[2];

	(void)state;
	open_both(sides);
	for (uint32_t i = 0; i < 20; i++)
		send_numbered(&sides[0], 0, i);
	assert_int_equal(sides[0].n_own, 0);
	(void)cluster_mail_poll(sides[0].mail, now);
	assert_int_equal(sides[0].n_own, 20);
	close_both(sides);
}

static void mail__waits_while_the_window_is_full(void **state)
{
	struct side sides[2];
	struct cluster_post post;

	(void)state;
	open_both(sides);
	post = cluster_mail_post(sides[0].mail);
	run(sides, 200 * MS);
	assert_true(post.room(post.context, 1, 104) > 2 * 104);
	for (uint32_t i = 0; i < 50; i++)
		send_numbered(&sides[0], 1, i);
	assert_int_equal(post.room(post.context, 1, 104), 0);
	assert_true(cluster_mail_waiting(sides[0].mail, 1) > 0);
	run(sides, 50 * MS);
	assert_int_equal(sides[1].n_delivered, 50);
	assert_int_equal(cluster_mail_waiting(sides[0].mail, 1), 0);
	assert_int_equal(cluster_mail_forgotten(sides[0].mail), 0);
	close_both(sides);
}

static void mail__forgets_who_is_sent_too_much(void **state)
{
	struct side sides[2];

	(void)state;
	open_both(sides);
	run(sides, 200 * MS);
	for (uint32_t i = 0; i < 500; i++)
		send_numbered(&sides[0], 1, i);
	run(sides, 10 * MS);
	assert_int_equal(cluster_mail_forgotten(sides[0].mail), 1);
	assert_int_equal(sides[0].n_lost, 1);
	assert_int_equal(cluster_mail_waiting(sides[0].mail, 1), 0);
	run(sides, 500 * MS);
	assert_int_equal(sides[1].n_restarted, 1);
	// And goes on.
	sides[1].next = 7;
	send_numbered(&sides[0], 1, 7);
	run(sides, 10 * MS);
	assert_int_equal(sides[1].next, 8);
	close_both(sides);
}

static void mail__forgets_who_takes_nothing(void **state)
{
	struct side sides[2];

	(void)state;
	open_both(sides);
	run(sides, 200 * MS);
	sides[1].deaf = true;
	for (uint32_t i = 0; i < 30; i++)
		send_numbered(&sides[0], 1, i);
	run(sides, PATIENCE / 2);
	assert_int_equal(cluster_mail_forgotten(sides[0].mail), 0);
	run(sides, PATIENCE);
	assert_int_equal(cluster_mail_forgotten(sides[0].mail), 1);
	close_both(sides);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outbox__keeps_the_order),
		cmocka_unit_test(outbox__refuses_what_does_not_fit),
		cmocka_unit_test(tokens__are_credited_once),
		cmocka_unit_test(tokens__of_one_event_are_found_in_order),
		cmocka_unit_test(mail__to_oneself_is_delivered_by_the_poll),
		cmocka_unit_test(mail__waits_while_the_window_is_full),
		cmocka_unit_test(mail__forgets_who_is_sent_too_much),
		cmocka_unit_test(mail__forgets_who_takes_nothing),
	};

	return cmocka_run_group_tests_name("post", tests, NULL, NULL);
}
