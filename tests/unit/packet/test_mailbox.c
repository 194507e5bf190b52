// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The ring of messages between two roles.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "packet/mailbox.h"
#include "testbed.h"

#define DEPTH 8u
#define LARGE 1024u
#define MANY  100000u

static void put(struct mailbox *mailbox, uint64_t event)
{
	const struct message message = { .kind = MESSAGE_EXPECT,
					 .event = event,
					 .rkey = (uint32_t)event };

	assert_true(mailbox_put(mailbox, &message));
}

static void assert_message(const struct message *message, uint64_t event)
{
	assert_int_equal(message->kind, MESSAGE_EXPECT);
	assert_int_equal(message->event, event);
	assert_int_equal(message->rkey, (uint32_t)event);
}

static void full_mailbox__takes_no_more(void **state)
{
	const struct message message = { .kind = MESSAGE_EXPECT };
	struct message taken;
	struct mailbox mailbox;

	(void)state;
	assert_true(mailbox_make(&mailbox, DEPTH, 0));
	assert_true(mailbox_is_empty(&mailbox));
	for (unsigned i = 0; i < DEPTH; i++) {
		assert_int_equal(mailbox_room(&mailbox), DEPTH - i);
		put(&mailbox, i);
	}
	assert_int_equal(mailbox_room(&mailbox), 0);
	assert_false(mailbox_put(&mailbox, &message));
	assert_int_equal(mailbox_take(&mailbox, &taken, 1), 1);
	assert_message(&taken, 0);
	put(&mailbox, DEPTH);
	assert_false(mailbox_put(&mailbox, &message));
	mailbox_free(&mailbox);
}

static void messages__are_taken_in_order_across_the_end_of_the_ring(void **state)
{
	struct message taken[DEPTH];
	struct mailbox mailbox;
	uint64_t next = 0, expected = 0;

	(void)state;
	assert_true(mailbox_make(&mailbox, DEPTH, 0));
	for (unsigned round = 0; round < 3 * DEPTH; round++) {
		const unsigned n = 1 + round % DEPTH;

		for (unsigned i = 0; i < n; i++)
			put(&mailbox, next++);
		assert_int_equal(mailbox_take(&mailbox, taken, DEPTH), n);
		for (unsigned i = 0; i < n; i++)
			assert_message(&taken[i], expected++);
		assert_true(mailbox_is_empty(&mailbox));
		assert_int_equal(mailbox_take(&mailbox, taken, DEPTH), 0);
	}
	mailbox_free(&mailbox);
}

static void messages_that_are_looked_at__stay_until_they_are_passed(void **state)
{
	const struct message message = { .kind = MESSAGE_EXPECT };
	const struct message *messages;
	struct mailbox mailbox;
	unsigned n;

	(void)state;
	assert_true(mailbox_make(&mailbox, DEPTH, 0));
	for (unsigned i = 0; i < DEPTH; i++)
		put(&mailbox, i);
	messages = mailbox_look(&mailbox, 3, &n);
	assert_int_equal(n, 3);
	assert_false(mailbox_put(&mailbox, &message));
	for (unsigned i = 0; i < 3; i++)
		assert_message(&messages[i], i);
	mailbox_pass(&mailbox, 2);
	assert_int_equal(mailbox_room(&mailbox), 2);
	put(&mailbox, DEPTH);
	put(&mailbox, DEPTH + 1);
	assert_message(mailbox_look(&mailbox, DEPTH, &n), 2);
	assert_int_equal(n, DEPTH - 2); // up to the end of the ring
	mailbox_pass(&mailbox, n);
	assert_message(mailbox_look(&mailbox, DEPTH, &n), DEPTH);
	assert_int_equal(n, 2);
	mailbox_free(&mailbox);
}

// So that a large mailbox whose consumer keeps up uses few cache lines.
static void empty_mailbox__begins_anew_at_its_first_place(void **state)
{
	const struct message *first = NULL;
	struct mailbox mailbox;
	unsigned n;

	(void)state;
	assert_true(mailbox_make(&mailbox, LARGE, 0));
	first = mailbox_look(&mailbox, 1, &n);
	for (unsigned i = 0; i < 3 * LARGE; i++) {
		const struct message *message;

		put(&mailbox, i);
		message = mailbox_look(&mailbox, LARGE, &n);
		assert_int_equal(n, 1);
		assert_message(message, i);
		assert_in_range(message - first, 0, MAILBOX_NEAR);
		assert_int_equal(mailbox_room(&mailbox), LARGE - 1);
		mailbox_pass(&mailbox, 1);
		assert_int_equal(mailbox_room(&mailbox), LARGE);
	}
	mailbox_free(&mailbox);
}

static void full_mailbox__that_has_begun_anew_holds_its_depth(void **state)
{
	static struct message taken[LARGE];
	struct mailbox mailbox;
	uint64_t next = 0, expected = 0;

	(void)state;
	assert_true(mailbox_make(&mailbox, LARGE, 0));
	for (unsigned round = 0; round < 8; round++) {
		for (unsigned i = 0; i < MAILBOX_NEAR + 3 * round; i++)
			put(&mailbox, next++);
		assert_int_equal(mailbox_take(&mailbox, taken, LARGE), MAILBOX_NEAR + 3 * round);
		expected = next;
		for (unsigned i = 0; i < LARGE; i++)
			put(&mailbox, next++);
		assert_int_equal(mailbox_room(&mailbox), 0);
		assert_false(mailbox_put(&mailbox, &(struct message){ .event = next }));
		assert_int_equal(mailbox_take(&mailbox, taken, LARGE), LARGE);
		for (unsigned i = 0; i < LARGE; i++)
			assert_message(&taken[i], expected++);
	}
	mailbox_free(&mailbox);
}

static void mailbox__works_beyond_all_numbers_of_places(void **state)
{
	struct message taken;
	struct mailbox mailbox;

	(void)state;
	for (uint64_t from = 0; from <= UINT64_C(1) << 32; from += UINT64_C(1) << 29) {
		assert_true(mailbox_make(&mailbox, DEPTH, 0));
		atomic_store(&mailbox.ring->producer.n_put, (uint32_t)(from - DEPTH));
		atomic_store(&mailbox.ring->consumer.n_taken, (uint32_t)(from - DEPTH));
		mailbox.ring->producer.seen = (uint32_t)(from - DEPTH);
		for (unsigned i = 0; i < 3 * DEPTH; i++) {
			assert_int_equal(mailbox_room(&mailbox), DEPTH);
			put(&mailbox, i);
			assert_int_equal(mailbox_take(&mailbox, &taken, 1), 1);
			assert_message(&taken, i);
		}
		mailbox_free(&mailbox);
	}
}

static void *produce(void *argument)
{
	for (uint64_t event = 0; event < MANY;) {
		const struct message message = { .kind = MESSAGE_EXPECT,
						 .event = event,
						 .rkey = (uint32_t)event };

		if (mailbox_put(argument, &message))
			event++;
		else
			sched_yield();
	}
	return NULL;
}

static void messages_of_another_thread__arrive_whole_and_in_order(void **state)
{
	const uint32_t *depth = *state;
	struct mailbox mailbox;
	pthread_t producer;

	assert_true(mailbox_make(&mailbox, *depth, 0));
	assert_int_equal(pthread_create(&producer, NULL, produce, &mailbox), 0);
	for (uint64_t expected = 0; expected < MANY;) {
		unsigned n;
		const struct message *messages = mailbox_look(&mailbox, *depth, &n);

		for (unsigned i = 0; i < n; i++)
			assert_message(&messages[i], expected++);
		mailbox_pass(&mailbox, n);
		if (n == 0)
			sched_yield();
	}
	assert_int_equal(pthread_join(producer, NULL), 0);
	assert_true(mailbox_is_empty(&mailbox));
	mailbox_free(&mailbox);
}

int main(void)
{
	static uint32_t depths[] = { DEPTH, LARGE };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_mailbox__takes_no_more),
		cmocka_unit_test(messages__are_taken_in_order_across_the_end_of_the_ring),
		cmocka_unit_test(messages_that_are_looked_at__stay_until_they_are_passed),
		cmocka_unit_test(empty_mailbox__begins_anew_at_its_first_place),
		cmocka_unit_test(full_mailbox__that_has_begun_anew_holds_its_depth),
		cmocka_unit_test(mailbox__works_beyond_all_numbers_of_places),
		cmocka_unit_test_prestate(messages_of_another_thread__arrive_whole_and_in_order,
					  &depths[0]),
		cmocka_unit_test_prestate(messages_of_another_thread__arrive_whole_and_in_order,
					  &depths[1]),
	};

	return cmocka_run_group_tests_name("mailbox", tests, testbed_start, testbed_stop);
}
