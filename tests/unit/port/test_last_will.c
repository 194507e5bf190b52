// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The last will of processes that end in several ways, on the loopback of a network namespace of
// the test; skipped where none can be made.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/last_will.h"

#define ETHER_TYPE 0x88B5u // for experiments (IEEE 802, 9.2.3)
#define FRAMES     3u
#define SIZE       100u
#define PATIENCE   20000 // ms
#define QUIET      100   // ms in which nothing more arrives

static int tap = -1; // receives what is sent

static bool bring_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int control = socket(AF_INET, SOCK_DGRAM, 0);
	bool result = control >= 0 && ioctl(control, SIOCSIFFLAGS, &request) == 0;

	close(control);
	return result;
}

static int enter(void **state)
{
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETHER_TYPE),
		.sll_ifindex = 1,
	};

	(void)state;
	if (unshare(CLONE_NEWNET) != 0 || !bring_up())
		return 0;
	tap = socket(AF_PACKET, SOCK_RAW, htons(ETHER_TYPE));
	assert_true(tap >= 0);
	assert_int_equal(bind(tap, (const struct sockaddr *)&address, sizeof(address)), 0);
	return 0;
}

static void fill(uint8_t frame[SIZE], uint8_t value)
{
	memset(frame, value, SIZE);
	frame[12] = ETHER_TYPE >> 8;
	frame[13] = ETHER_TYPE & 0xFF;
}

// The next frame that somebody has sent; 0: none comes.
static uint8_t receive(int patience)
{
	struct pollfd wait = { .fd = tap, .events = POLLIN };
	uint8_t bytes[SIZE + 1], frame[SIZE];
	struct sockaddr_ll from;
	socklen_t length = sizeof(from);

	do {
		if (poll(&wait, 1, patience) != 1)
			return 0;
		assert_int_equal(
		    recvfrom(tap, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &length),
		    SIZE);
	} while (from.sll_pkttype == PACKET_OUTGOING); // what is sent arrives, too
	fill(frame, bytes[14]);
	assert_memory_equal(bytes, frame, SIZE);
	return bytes[14];
}

static struct last_will *make(void)
{
	char error[LAST_WILL_ERROR_SIZE];
	struct last_will *will = last_will_make("lo", FRAMES, error);

	if (will == NULL) {
		fprintf(stderr, "%s\n", error);
		_exit(2);
	}
	return will;
}

static void set(struct last_will *will, unsigned index, uint8_t value)
{
	uint8_t frame[SIZE];

	fill(frame, value);
	if (!last_will_set(will, index, frame, SIZE))
		_exit(3);
}

static void *stay(void *argument)
{
	while (pause() != 0)
		;
	return argument;
}

static void be_killed(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, stay, NULL) == 0)
		(void)kill(getpid(), SIGKILL);
	(void)stay(NULL);
}

static void crash(void)
{
	(void)signal(SIGSEGV, SIG_DFL);
	(void)raise(SIGSEGV);
}

static void leave(void)
{
	exit(0);
}

// A process that sets its frames and ends.
static void live(void (*end)(void))
{
	struct last_will *will = make();

	set(will, 0, 11);
	set(will, 2, 12);
	set(will, 2, 13);
	end();
}

static void expect_frames(void (*end)(void))
{
	pid_t child;

	if (tap < 0)
		skip();
	child = fork();
	if (child == 0)
		live(end);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(receive(PATIENCE), 11);
	assert_int_equal(receive(PATIENCE), 13);
	assert_int_equal(receive(QUIET), 0);
}

static void will__of_a_process_that_is_killed(void **state)
{
	(void)state;
	expect_frames(be_killed);
}

static void will__of_a_process_that_crashes(void **state)
{
	(void)state;
	expect_frames(crash);
}

static void will__of_a_process_that_returns(void **state)
{
	(void)state;
	expect_frames(leave);
}

// The process stands still and goes on: it has not ended.
static void will__not_of_a_process_that_is_stopped(void **state)
{
	int ready[2], status;
	pid_t child;
	char byte;

	(void)state;
	if (tap < 0)
		skip();
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		set(make(), 0, 21);
		(void)!write(ready[1], "", 1);
		(void)stay(NULL);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(kill(child, SIGSTOP), 0);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_int_equal(receive(QUIET), 0);
	assert_int_equal(kill(child, SIGCONT), 0);
	assert_int_equal(receive(QUIET), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(receive(PATIENCE), 21);
	close(ready[0]);
	close(ready[1]);
}

// Signals to all processes of a terminal or a service come before the process ends. Nobody who
// waits for the end of a pipe waits for the process that sends the frames.
static void will__survives_signals_and_holds_nothing(void **state)
{
	int held[2];
	pid_t child;
	char byte;

	(void)state;
	if (tap < 0)
		skip();
	assert_int_equal(pipe(held), 0);
	child = fork();
	if (child == 0) {
		(void)setpgid(0, 0);
		set(make(), 1, 31);
		close(held[0]);
		(void)signal(SIGTERM, SIG_IGN);
		(void)signal(SIGINT, SIG_IGN);
		(void)kill(0, SIGTERM);
		(void)kill(0, SIGINT);
		close(held[1]);
		(void)stay(NULL);
	}
	close(held[1]);
	assert_int_equal(read(held[0], &byte, 1), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(receive(PATIENCE), 31);
	close(held[0]);
}

static void will__frame_taken_back(void **state)
{
	pid_t child;

	(void)state;
	if (tap < 0)
		skip();
	child = fork();
	if (child == 0) {
		struct last_will *will = make();

		set(will, 0, 41);
		set(will, 1, 42);
		if (last_will_set(will, 0, "", 0))
			_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(receive(PATIENCE), 42);
	assert_int_equal(receive(QUIET), 0);
}

static void will__frame_too_large(void **state)
{
	static const uint8_t frame[LAST_WILL_FRAME_MOST + 1];
	int status;
	pid_t child;

	(void)state;
	if (tap < 0)
		skip();
	child = fork();
	if (child == 0) {
		struct last_will *will = make();

		set(will, 0, 51);
		_exit(last_will_set(will, 0, frame, sizeof(frame)) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(receive(PATIENCE), 51);
}

static void will__without_an_interface(void **state)
{
	char error[LAST_WILL_ERROR_SIZE] = "";

	(void)state;
	assert_null(last_will_make("no-such", 1, error));
	assert_string_equal(error, "no-such: No such device");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(will__of_a_process_that_is_killed),
		cmocka_unit_test(will__of_a_process_that_crashes),
		cmocka_unit_test(will__of_a_process_that_returns),
		cmocka_unit_test(will__not_of_a_process_that_is_stopped),
		cmocka_unit_test(will__survives_signals_and_holds_nothing),
		cmocka_unit_test(will__frame_taken_back),
		cmocka_unit_test(will__frame_too_large),
		cmocka_unit_test(will__without_an_interface),
	};

	return cmocka_run_group_tests_name("last_will", tests, enter, NULL);
}
