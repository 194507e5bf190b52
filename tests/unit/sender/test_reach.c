// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The sockets of libevb-sender while the MAC addresses of receivers are not known. The kernel, its
// clock and its neighbours are simulated: this file stands for the system calls.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "sender/sender_sockets.h"

#define MS        UINT64_C(1000000)
#define SECOND    (1000 * MS)
#define RECEIVERS 2u
#define QUEUE     4u // datagrams that wait for an address, at most

struct neighbour {
	bool known;
	bool silent;        // the kernel does not report what it drops
	uint64_t answer_ns; // from a request to its answer; UINT64_MAX: none
	uint64_t requested;
	unsigned queued, arrived, dropped; // dropped: without a report
	unsigned n_reports;
	int file, reports_of; // socket of what is queued, and of the reports
};

static struct kernel {
	uint64_t now;
	struct neighbour neighbours[RECEIVERS];
	int failed; // the next call on this socket fails; 0: on none
} kernel;

static struct sender_sockets *sockets;
static unsigned n_given; // segments that the sockets have taken

// --- the kernel ---

int clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){ (time_t)(kernel.now / SECOND), (long)(kernel.now % SECOND) };
	return 0;
}

static void send_one(struct neighbour *neighbour, int file)
{
	if (neighbour->known)
		neighbour->arrived++;
	else if (neighbour->queued == QUEUE)
		neighbour->dropped++;
	else if (neighbour->queued++ == 0)
		neighbour->requested = kernel.now;
	neighbour->file = file;
}

int sendmmsg(int file, struct mmsghdr *messages, unsigned n, int flags)
{
	(void)flags;
	if (kernel.failed != 0 && kernel.failed == file) {
		kernel.failed = 0;
		errno = EHOSTUNREACH;
		return -1;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct sockaddr_in *to = messages[i].msg_hdr.msg_name;

		messages[i].msg_len = 100;
		send_one(&kernel.neighbours[(ntohl(to->sin_addr.s_addr) & 0xFF) - 1], file);
	}
	return (int)n;
}

int ioctl(int file, unsigned long request, ...)
{
	va_list list;
	int *waiting;

	assert_int_equal(request, SIOCOUTQ);
	va_start(list, request);
	waiting = va_arg(list, int *);
	va_end(list);
	*waiting = 0;
	for (unsigned i = 0; i < RECEIVERS; i++)
		if (kernel.neighbours[i].file == file)
			*waiting += (int)kernel.neighbours[i].queued;
	return 0;
}

static ssize_t report(struct msghdr *message, unsigned receiver)
{
	const struct sock_extended_err error = { .ee_errno = EHOSTUNREACH,
						 .ee_origin = SO_EE_ORIGIN_ICMP };
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(0x7F000001 + receiver) };
	struct cmsghdr *part = CMSG_FIRSTHDR(message);

	*part = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(error)),
				  .cmsg_level = IPPROTO_IP,
				  .cmsg_type = IP_RECVERR };
	memcpy(CMSG_DATA(part), &error, sizeof(error));
	message->msg_controllen = part->cmsg_len;
	memcpy(message->msg_name, &to, sizeof(to));
	return 0;
}

ssize_t recvmsg(int file, struct msghdr *message, int flags)
{
	assert_true((flags & MSG_ERRQUEUE) != 0);
	if (kernel.failed == file)
		kernel.failed = 0;
	for (unsigned i = 0; i < RECEIVERS; i++)
		if (kernel.neighbours[i].n_reports > 0 && kernel.neighbours[i].reports_of == file) {
			kernel.neighbours[i].n_reports--;
			return report(message, i);
		}
	errno = EAGAIN;
	return -1;
}

static void pass(uint64_t ns)
{
	kernel.now += ns;
	for (unsigned i = 0; i < RECEIVERS; i++) {
		struct neighbour *at = &kernel.neighbours[i];
		const uint64_t waited = kernel.now - at->requested;

		if (at->queued == 0 || (waited < at->answer_ns && waited < 3 * SECOND))
			continue;
		at->known = waited >= at->answer_ns;
		if (at->known)
			at->arrived += at->queued;
		else if (!at->silent)
			at->n_reports += at->queued;
		if (!at->known && !at->silent)
			kernel.failed = at->reports_of = at->file;
		at->queued = 0;
	}
}

// --- the bench ---

static int set_up(void **state)
{
	const struct sender_receiver receivers[RECEIVERS] = { { 0x7F000001, 9 },
							      { 0x7F000002, 9 } };
	const struct sender_sockets_parameters parameters = { .receivers = receivers,
							      .n_receivers = RECEIVERS,
							      .address = 0x7F000001,
							      .n_sources = 1 };
	char error[SENDER_SOCKETS_ERROR];

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.now = 100 * SECOND;
	n_given = 0;
	sockets = sender_sockets_open(&parameters, error);
	assert_non_null(sockets);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sender_sockets_close(sockets);
	return 0;
}

// Gives the sockets segments for a receiver until they take no more; returns how many it took.
static unsigned give(unsigned receiver, unsigned n)
{
	const struct sender_wire wire = sender_sockets_wire(sockets);
	struct sender_segment segments[SENDER_SEGMENTS];
	unsigned taken = 0, sent = 1;

	for (unsigned i = 0; i < SENDER_SEGMENTS; i++)
		segments[i] = (struct sender_segment){ .receiver = receiver,
						       .head = (const uint8_t *)"head",
						       .head_size = 4 };
	for (; taken < n && sent > 0; taken += sent)
		sent = wire.send(wire.context, segments,
				 n - taken < SENDER_SEGMENTS ? n - taken : SENDER_SEGMENTS);
	n_given += taken;
	return taken;
}

static uint64_t not_sent(void)
{
	return sender_sockets_counters(sockets)->not_sent;
}

// Gives a receiver segments for so long, one per 10 ms.
static unsigned give_for(unsigned receiver, uint64_t ns)
{
	unsigned taken = 0;

	for (uint64_t end = kernel.now + ns; kernel.now < end; pass(10 * MS))
		taken += give(receiver, 1);
	return taken;
}

// --- tests ---

static void late_answer__loses_nothing(void **state)
{
	const struct neighbour *neighbour = &kernel.neighbours[0];

	(void)state;
	kernel.neighbours[0].answer_ns = 2500 * MS;
	assert_int_equal(give(0, 100), 1);
	while (!neighbour->known) {
		assert_int_equal(give(0, 99), 0);
		pass(100 * MS);
	}
	assert_int_equal(give(0, 99), 99);
	assert_int_equal(neighbour->arrived, 100);
	assert_int_equal(neighbour->dropped, 0);
	assert_int_equal(not_sent(), 0);
}

static void assert_counted(bool silent)
{
	const struct neighbour *neighbour = &kernel.neighbours[0];

	kernel.neighbours[0].silent = silent;
	kernel.neighbours[0].answer_ns = UINT64_MAX;
	assert_int_equal(give_for(0, 2900 * MS), 1);
	assert_true(give_for(0, 20 * SECOND) > 1900);
	assert_int_equal(neighbour->dropped, 0);
	assert_int_equal(neighbour->arrived, 0);
	assert_in_range(not_sent(), n_given - QUEUE, n_given);
	kernel.neighbours[0].answer_ns = 10 * MS;
	(void)give_for(0, 5 * SECOND);
	assert_true(neighbour->known && neighbour->arrived > 100);
	assert_int_equal(neighbour->dropped, 0);
	assert_int_equal(neighbour->arrived + not_sent(), n_given);
}

static void no_answer__is_counted(void **state)
{
	(void)state;
	assert_counted(false);
}

static void no_answer_and_no_report__is_counted(void **state)
{
	(void)state;
	assert_counted(true);
}

static void forgotten_address__loses_nothing(void **state)
{
	struct neighbour *neighbour = &kernel.neighbours[0];

	(void)state;
	neighbour->known = true;
	assert_int_equal(give(0, 100), 100);
	pass(100 * SECOND);
	neighbour->known = false;
	neighbour->answer_ns = SECOND;
	assert_int_equal(give(0, 100), 1);
	pass(SECOND);
	assert_int_equal(give(0, 99), 99);
	assert_int_equal(neighbour->arrived, 200);
	assert_int_equal(neighbour->dropped + not_sent(), 0);
}

// A receiver that answered goes away: what the kernel had taken by then is lost, and counted.
static void receiver_that_goes_away__is_counted(void **state)
{
	struct neighbour *neighbour = &kernel.neighbours[0];

	(void)state;
	neighbour->known = true;
	(void)give_for(0, SECOND);
	neighbour->known = false;
	neighbour->answer_ns = UINT64_MAX;
	assert_int_equal(give(0, QUEUE), QUEUE);
	pass(3 * SECOND);
	assert_int_equal(give(0, 10), 1); // it asks again
	assert_int_equal(not_sent(), QUEUE);
	assert_int_equal(neighbour->dropped, 0);
}

static void lost_receiver__does_not_hold_the_others_back(void **state)
{
	(void)state;
	kernel.neighbours[0].answer_ns = UINT64_MAX;
	kernel.neighbours[1].known = true;
	(void)give_for(0, 4 * SECOND);
	n_given = 0;
	for (unsigned i = 0; i < 500; i++) {
		(void)give(0, 1);
		(void)give(1, 1);
		pass(10 * MS);
	}
	assert_int_equal(n_given, 2 * 500);
	assert_int_equal(kernel.neighbours[1].arrived, 500);
	assert_int_equal(kernel.neighbours[0].dropped, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(late_answer__loses_nothing),
		TEST(no_answer__is_counted),
		TEST(no_answer_and_no_report__is_counted),
		TEST(forgotten_address__loses_nothing),
		TEST(receiver_that_goes_away__is_counted),
		TEST(lost_receiver__does_not_hold_the_others_back),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
