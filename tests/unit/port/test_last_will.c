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

static pid_t start(void (*live)(void))
{
	pid_t child;

	if (tap < 0)
		skip();
	child = fork();
	if (child == 0) {
		live();
		_exit(0);
	}
	return child;
}

// A process lives, and ends by itself.
static void run(void (*live)(void))
{
	int status;
	const pid_t child = start(live);

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

static void kill_and_expect(pid_t child, uint8_t frame)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(receive(PATIENCE), frame);
}

static void set_frames(void)
{
	struct last_will *will = make();

	set(will, 0, 11);
	set(will, 2, 12);
	set(will, 2, 13);
}

static void be_killed(void)
{
	pthread_t thread;

	set_frames();
	if (pthread_create(&thread, NULL, stay, NULL) == 0)
		(void)kill(getpid(), SIGKILL);
	(void)stay(NULL);
}

static void crash(void)
{
	set_frames();
	(void)signal(SIGSEGV, SIG_DFL);
	(void)raise(SIGSEGV);
}

static void leave(void)
{
	set_frames();
	exit(0);
}

static void expect_frames(void (*live)(void))
{
	run(live);
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

static int pipe_ends[2];

static void stay_with_a_frame(void)
{
	set(make(), 0, 21);
	(void)!write(pipe_ends[1], "", 1);
	(void)stay(NULL);
}

// The process stands still and goes on: it has not ended.
static void will__not_of_a_process_that_is_stopped(void **state)
{
	int status;
	pid_t child;
	char byte;

	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	child = start(stay_with_a_frame);
	assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
	assert_int_equal(kill(child, SIGSTOP), 0);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_int_equal(receive(QUIET), 0);
	assert_int_equal(kill(child, SIGCONT), 0);
	assert_int_equal(receive(QUIET), 0);
	kill_and_expect(child, 21);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void signal_all(void)
{
	(void)setpgid(0, 0);
	set(make(), 1, 31);
	close(pipe_ends[0]);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)kill(0, SIGTERM);
	(void)kill(0, SIGINT);
	close(pipe_ends[1]);
	(void)stay(NULL);
}

// Signals to all processes of a terminal or a service come before the process ends. Nobody who
// waits for the end of a pipe waits for the process that sends the frames.
static void will__survives_signals_and_holds_nothing(void **state)
{
	pid_t child;
	char byte;

	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	child = start(signal_all);
	close(pipe_ends[1]);
	assert_int_equal(read(pipe_ends[0], &byte, 1), 0);
	kill_and_expect(child, 31);
	close(pipe_ends[0]);
}

static void take_back(void)
{
	struct last_will *will = make();

	set(will, 0, 41);
	set(will, 1, 42);
	if (!last_will_set(will, 0, "", 0))
		_exit(3);
}

static void will__frame_taken_back(void **state)
{
	(void)state;
	run(take_back);
	assert_int_equal(receive(PATIENCE), 42);
	assert_int_equal(receive(QUIET), 0);
}

static void offer_too_large(void)
{
	static const uint8_t frame[LAST_WILL_FRAME_MOST + 1];
	struct last_will *will = make();

	set(will, 0, 51);
	if (last_will_set(will, 0, frame, sizeof(frame)))
		_exit(3);
}

static void will__frame_too_large(void **state)
{
	(void)state;
	run(offer_too_large);
	assert_int_equal(receive(PATIENCE), 51);
}

// The first descriptors are free: the socket gets one of them.
static void close_standard_files(void)
{
	for (int i = 0; i < 3; i++)
		close(i);
	set(make(), 0, 61);
}

static void will__of_a_process_without_standard_files(void **state)
{
	(void)state;
	run(close_standard_files);
	assert_int_equal(receive(PATIENCE), 61);
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
		cmocka_unit_test(will__of_a_process_without_standard_files),
		cmocka_unit_test(will__without_an_interface),
	};

	return cmocka_run_group_tests_name("last_will", tests, enter, NULL);
}
