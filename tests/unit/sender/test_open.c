// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// libevb-sender over UDP sockets of the machine's own loopback, and what it refuses.
#include "../producer/ring_bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sender/evb_sender.h"
#include "wire/ejfat.h"
#include "wire/mfp.h"

#define LENGTH 5000u

static struct bench files;
static int receiver;
static char receiver_name[64];
static const char *const receivers[] = { receiver_name };
static const uint16_t sources[] = { 9, 4 };

static struct evb_sender_options options(void)
{
	return (struct evb_sender_options){
		.receivers = receivers,
		.n_receivers = 1,
		.sources = sources,
		.n_sources = 2,
		.opaque = true,
		.memory = 1 << 20,
		.max_block = 1 << 16,
		.directory = files.directory,
	};
}

static int set_up(void **state)
{
	struct sockaddr_in own = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(own);

	(void)state;
	bench_make_directory(&files);
	receiver = socket(AF_INET, SOCK_DGRAM, 0);
	assert_true(receiver >= 0);
	assert_int_equal(bind(receiver, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(getsockname(receiver, (struct sockaddr *)&own, &length), 0);
	snprintf(receiver_name, sizeof(receiver_name), "127.0.0.1:%u", ntohs(own.sin_port));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(receiver);
	bench_remove_directory(&files);
	return 0;
}

static void assert_refused(const struct evb_sender_options *with, int rc, const char *expected)
{
	struct evb_sender *sender;

	assert_int_equal(evb_sender_open(&sender, with), rc);
	assert_non_null(strstr(evb_sender_error(sender), expected));
	evb_sender_close(sender);
}

static void receive_block(uint16_t source, uint64_t event)
{
	uint8_t block[LENGTH], expected[LENGTH], bytes[2048];

	for (uint32_t got = 0; got < LENGTH;) {
		const ssize_t size = recv(receiver, bytes, sizeof(bytes), 0);
		struct ejfat_segment at;

		assert_int_equal(ejfat_segment_decode(bytes, (size_t)size, (size_t)size, &at),
				 WIRE_OK);
		assert_int_equal(at.re.data_id, source);
		assert_int_equal(at.re.event_number, event);
		assert_true(at.re.offset + at.payload_size <= LENGTH);
		memcpy(block + at.re.offset, bytes + at.payload_offset, at.payload_size);
		got += at.payload_size;
	}
	ring_fill(expected, LENGTH, source, event);
	assert_memory_equal(block, expected, LENGTH);
}

static void put(struct evb_sender *sender, uint16_t source, uint64_t event)
{
	void *block;

	assert_int_equal(evb_sender_reserve(sender, source, LENGTH, &block), 0);
	ring_fill(block, LENGTH, source, event);
	assert_int_equal(evb_sender_commit(sender, event, LENGTH), 0);
}

static void sender__blocks_arrive(void **state)
{
	const struct evb_sender_options with = options();
	struct evb_sender *sender;
	uint64_t last;

	(void)state;
	assert_int_equal(evb_sender_open(&sender, &with), 0);
	for (uint64_t event = 100; event < 110; event++) {
		put(sender, 4, event);
		put(sender, 9, event);
		receive_block(4, event);
		receive_block(9, event);
	}
	assert_int_equal(evb_sender_last(sender, 9, &last), 1);
	assert_int_equal(last, 109);
	assert_int_equal(evb_sender_put(sender, 5, 1, "x", 1, 0), -EINVAL);
	assert_int_equal(evb_sender_put(sender, 4, 1, "x", 1, 0), -EINVAL);
	assert_int_equal(evb_sender_put(sender, 4, 200, &with, (1 << 16) + 1, 0), -EMSGSIZE);
	assert_int_equal(evb_sender_finish(sender, -1), 1);
	assert_int_equal(evb_sender_put(sender, 4, 200, "x", 1, 0), -EPIPE);
	assert_string_equal(evb_sender_error(sender), "the run is over");
	assert_true(evb_sender_state(sender).over);
	evb_sender_close(sender);
}

// An event without its second source waits; the next process sends it, and the memory is one's at
// a time.
static void sender__the_next_one_goes_on(void **state)
{
	const struct evb_sender_options with = options();
	struct evb_sender *sender;

	(void)state;
	assert_int_equal(evb_sender_open(&sender, &with), 0);
	put(sender, 4, 7);
	assert_refused(&with, -EEXIST, "");
	evb_sender_close(sender);
	assert_int_equal(evb_sender_open(&sender, &with), 0);
	put(sender, 9, 7);
	receive_block(4, 7);
	receive_block(9, 7);
	assert_int_equal(evb_sender_finish(sender, 0) >= 0, 1);
	assert_int_equal(evb_sender_finish(sender, -1), 1);
	evb_sender_close(sender);
}

static void sender__what_is_refused(void **state)
{
	static const char *const bad[] = { "10.0.0:1",        "localhost",  "127.0.0.1:0",
					   "127.0.0.1:70000", "127.0.0.1:", "" };
	static const uint16_t twice[] = { 4, 4 };
	struct evb_sender_options with = { 0 };

	(void)state;
	assert_refused(&with, -EINVAL, "receivers, is needed");
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		with = options();
		with.receivers = &bad[i];
		assert_refused(&with, -EINVAL, "");
	}
	with = options();
	with.sources = twice;
	assert_refused(&with, -EINVAL, "source id 4 is given twice");
	with = options();
	with.n_sources = 0;
	assert_refused(&with, -EINVAL, "sources are needed");
	with = options();
	with.mtu = 100;
	assert_refused(&with, -EINVAL, "mtu is 100");
	with = options();
	with.packing = 10;
	assert_refused(&with, -EINVAL, "packing is 10");
	with = options();
	with.memory = 1000;
	assert_refused(&with, -EINVAL, "twice max_block");
	with = options();
	with.address = "203.0.113.1";
	assert_refused(&with, -EADDRNOTAVAIL, "203.0.113.1 is not an address of this machine");
	with = options();
	with.configuration = "/nowhere.json";
	assert_refused(&with, -EINVAL, "not both");
	with.n_receivers = 0;
	assert_refused(&with, -EINVAL, "/nowhere.json");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sender__blocks_arrive),
		TEST(sender__the_next_one_goes_on),
		TEST(sender__what_is_refused),
	};

	return cmocka_run_group_tests_name("sender", tests, NULL, NULL);
}
