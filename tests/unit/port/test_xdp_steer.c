// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The BPF program, run by the kernel on single packets (BPF_PROG_TEST_RUN), steering the loopback
// interface of a namespace of the test's own.
#include "fake_driver.h"
#include "steer_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf_common.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/xdp.h"
#include "wire/ejfat.h"
#include "wire/net.h"

static const char *unable; // why nothing can be tested here
static struct fake_driver driver;
static struct xdp *xdp;
static int program = -1; // ours

// --- set-up --------------------------------------------------------------------------------------

static int enter_namespace(void **state)
{
	char error[XDP_ERROR_SIZE];
	struct xdp *trial;

	(void)state;
	if (unshare(CLONE_NEWNET) != 0) {
		unable = "needs root for a network namespace";
		return 0;
	}
	if (xdp_prepare(&trial, "wire", "lo", error) == 0) {
		struct bpf_object *object = bpf_object__open_file(trial->object_path, NULL);

		if (object == NULL || bpf_object__load(object) != 0)
			unable = "the kernel takes no BPF programs here";
		bpf_object__close(object);
	} else {
		unable = "the loopback interface cannot be steered here";
	}
	xdp_close(trial);
	return 0;
}

static void need_bpf(void)
{
	if (unable == NULL)
		return;
	print_message("skipped: %s\n", unable);
	skip();
}

static const struct port_traffic no_traffic;
static const uint8_t own6[16] = { 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2 };

static uint32_t attached_program(void)
{
	uint32_t id = 0;

	assert_int_equal(bpf_xdp_query_id((int)if_nametoindex("lo"), 0, &id), 0);
	return id;
}

static void open_steering(const struct xdp_rules *rules)
{
	char error[XDP_ERROR_SIZE] = "";

	if (xdp_prepare(&xdp, "wire", "lo", error) != 0)
		fail_msg("%s", error);
	fake_driver_open(&driver, xdp->object_path, (int)if_nametoindex("lo"));
	if (xdp_steer(xdp, rules, error) != 0)
		fail_msg("%s", error);
	program = bpf_prog_get_fd_by_id(attached_program());
	assert_true(program >= 0);
}

static int close_steering(void **state)
{
	(void)state;
	if (program >= 0)
		close(program);
	program = -1;
	xdp_close(xdp);
	xdp = NULL;
	fake_driver_close(&driver);
	return 0;
}

static int open_default(void **state)
{
	static const uint16_t ids[] = { 1, SOURCE, 0xffff };
	static const struct port_traffic traffic = {
		.ranges = { { .first = PORT, .count = 2, .segments = true },
			    { .first = 4791, .count = 1 } },
		.n_ranges = 2,
		.ether_type = NET_TYPE_EVB,
		.ids = ids,
		.n_ids = 3,
	};
	struct xdp_rules rules = {
		.traffic = &traffic,
		.own_address = OWN,
		.has_own_address6 = true,
		.largest_frame = LARGEST,
	};

	(void)state;
	memcpy(rules.own_address6, own6, sizeof(own6));
	if (unable == NULL)
		open_steering(&rules);
	return 0;
}

// --- verdicts ------------------------------------------------------------------------------------

static uint32_t run(const struct frame *frame)
{
	struct xdp_md context = { .data_end = frame->length };
	struct bpf_test_run_opts options = {
		.sz = sizeof(options),
		.data_in = frame->bytes,
		.data_size_in = frame->length,
		.ctx_in = &context,
		.ctx_size_in = sizeof(context),
	};

	assert_int_equal(bpf_prog_test_run_opts(program, &options), 0);
	return options.retval;
}

static uint32_t action_of(enum steer_cause cause)
{
	if (cause == STEER_PASSED)
		return XDP_PASS;
	return cause == STEER_REDIRECTED ? XDP_REDIRECT : XDP_DROP;
}

// The packet has this fate, and counts once, under this cause alone, with all its bytes.
static void assert_fate(const struct frame *frame, enum steer_cause expected)
{
	struct xdp_counters before, after;

	assert_true(xdp_counters(xdp, &before));
	assert_int_equal(run(frame), action_of(expected));
	assert_true(xdp_counters(xdp, &after));
	for (unsigned cause = 0; cause < STEER_N_CAUSES; cause++) {
		uint64_t packets = after.causes[cause].packets - before.causes[cause].packets;
		uint64_t bytes = after.causes[cause].bytes - before.causes[cause].bytes;

		if (packets != (cause == expected))
			fail_msg("counted under cause %u, expected %u", cause, expected);
		assert_int_equal(bytes, cause == expected ? frame->length : 0);
	}
}

static uint64_t missed(void)
{
	struct xdp_counters counters;

	assert_true(xdp_counters(xdp, &counters));
	return xdp_missed(&counters);
}

static void assert_udp_fate(uint16_t port, uint16_t source, enum steer_cause expected)
{
	struct frame frame = udp_frame(port, source);

	assert_fate(&frame, expected);
}

// --- the tests -----------------------------------------------------------------------------------

static void segments__of_admitted_sources_are_redirected(void **state)
{
	struct steer_counter counter;

	(void)state;
	need_bpf();
	assert_udp_fate(PORT, SOURCE, STEER_REDIRECTED);
	assert_udp_fate(PORT + 1, 0xffff, STEER_REDIRECTED);
	assert_true(xdp_source_counter(xdp, SOURCE, &counter));
	assert_int_equal(counter.packets, 1);
	assert_int_equal(counter.bytes, udp_frame(PORT, SOURCE).length);
	assert_true(xdp_source_counter(xdp, 1, &counter));
	assert_int_equal(counter.packets, 0);
	assert_false(xdp_source_counter(xdp, 2, &counter));
}

static void segments__of_others_are_dropped(void **state)
{
	struct xdp_stranger strangers[4];

	(void)state;
	need_bpf();
	for (unsigned i = 0; i < 3; i++)
		assert_udp_fate(PORT, 2, STEER_UNKNOWN_SOURCE);
	assert_int_equal(xdp_strangers(xdp, strangers, 4), 1);
	assert_int_equal(strangers[0].address, PEER);
	assert_int_equal(strangers[0].id, 2);
	assert_int_equal(strangers[0].packets, 3);
}

static void segments__behind_a_load_balancers_header(void **state)
{
	struct frame frame;

	(void)state;
	need_bpf();
	begin_udp(&frame, PORT, EJFAT_LB_SIZE + EJFAT_RE_SIZE + 100);
	append_segment(&frame, SOURCE, true);
	assert_fate(&frame, STEER_REDIRECTED);
	begin_udp(&frame, PORT, EJFAT_LB_SIZE + EJFAT_RE_SIZE + 100);
	append_segment(&frame, 3, true);
	assert_fate(&frame, STEER_UNKNOWN_SOURCE);
}

// evb counts them under their exact cause.
static void segments__that_are_malformed_are_redirected(void **state)
{
	struct frame frame = udp_frame(PORT, 2);

	(void)state;
	need_bpf();
	frame.bytes[NET_HEADERS_SIZE] = 0x20; // another version
	assert_fate(&frame, STEER_REDIRECTED);
	begin_udp(&frame, PORT, 3); // too short for a header
	append(&frame, "\x10\0\0", 3);
	assert_fate(&frame, STEER_REDIRECTED);
	begin_udp(&frame, PORT, 18); // ends within the second header
	append(&frame, "LB\2\1\0\0\0\0\0\0\0\0\0\0\0\0\x10", 18);
	assert_fate(&frame, STEER_REDIRECTED);
}

static void other_ports__are_the_kernels(void **state)
{
	(void)state;
	need_bpf();
	assert_udp_fate(PORT - 1, SOURCE, STEER_PASSED);
	assert_udp_fate(PORT + 2, SOURCE, STEER_PASSED);
	assert_udp_fate(22, 2, STEER_PASSED);
	assert_udp_fate(4791, 2, STEER_REDIRECTED); // no source id to look at
}

static void ip__of_other_kinds_is_the_kernels(void **state)
{
	struct frame frame = udp_frame(PORT, SOURCE);

	(void)state;
	need_bpf();
	frame.bytes[23] = 6; // TCP
	assert_fate(&frame, STEER_PASSED);
	frame = udp_frame(PORT, SOURCE);
	frame.bytes[20] |= 0x20; // first fragment: evb counts it
	assert_fate(&frame, STEER_REDIRECTED);
	frame.bytes[21] = 5; // a later one
	assert_fate(&frame, STEER_PASSED);
	frame = udp_frame(PORT, SOURCE);
	frame.bytes[14] = 0x44; // header too short: its last four bytes are no UDP ports
	frame.bytes[32] = PORT >> 8;
	frame.bytes[33] = PORT & 255;
	assert_fate(&frame, STEER_PASSED);
}

static void ip__with_options_is_looked_behind(void **state)
{
	struct frame plain = udp_frame(PORT, 2), frame = { .length = 0 };

	(void)state;
	need_bpf();
	append(&frame, plain.bytes, NET_ETH_SIZE + NET_IPV4_SIZE);
	append(&frame, "\1\1\1\1\1\1\1\1", 8);
	append(&frame, plain.bytes + frame.length - 8, plain.length - frame.length + 8);
	frame.bytes[14] = 0x47;
	assert_fate(&frame, STEER_UNKNOWN_SOURCE);
}

static void icmp__to_the_own_address_is_redirected(void **state)
{
	struct frame frame = udp_frame(PORT, SOURCE);

	(void)state;
	need_bpf();
	frame.bytes[23] = NET_PROTO_ICMP;
	assert_fate(&frame, STEER_REDIRECTED);
	frame.bytes[33] = 9; // to another address
	assert_fate(&frame, STEER_PASSED);
}

static void ipv6__by_its_port(void **state)
{
	struct frame frame = ipv6_frame(PORT, NET_PROTO_UDP);

	(void)state;
	need_bpf();
	assert_fate(&frame, STEER_REDIRECTED);
	frame = ipv6_frame(22, NET_PROTO_UDP);
	assert_fate(&frame, STEER_PASSED);
	frame = ipv6_frame(PORT, 58);
	assert_fate(&frame, STEER_PASSED);
}

// Echo requests to the own address, and solicitations for it that go to a multicast address.
static void icmp6__of_the_own_address_is_redirected(void **state)
{
	static const uint8_t group[16] = { 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 2 };
	struct frame frame = ipv6_frame(PORT, NET_PROTO_ICMP6);
	uint8_t *ip = frame.bytes + NET_ETH_SIZE, *message = ip + NET_IPV6_SIZE;

	(void)state;
	need_bpf();
	memcpy(ip + 24, own6, sizeof(own6));
	message[0] = 128; // echo request
	assert_fate(&frame, STEER_REDIRECTED);
	memcpy(ip + 24, group, sizeof(group));
	assert_fate(&frame, STEER_PASSED);
	message[0] = 135; // neighbour solicitation
	memcpy(message + 8, own6, sizeof(own6));
	assert_fate(&frame, STEER_REDIRECTED);
	message[23] ^= 1;
	assert_fate(&frame, STEER_PASSED);
	message[23] ^= 1;
	frame.length = NET_ETH_SIZE + NET_IPV6_SIZE + 23;
	assert_fate(&frame, STEER_PASSED);
}

static void arp__of_the_own_address_is_redirected(void **state)
{
	struct frame frame = arp_frame(1, OWN);

	(void)state;
	need_bpf();
	assert_fate(&frame, STEER_REDIRECTED);
	frame = arp_frame(2, OWN);
	assert_fate(&frame, STEER_REDIRECTED);
	frame = arp_frame(1, OWN + 1);
	assert_fate(&frame, STEER_PASSED);
}

static void ether_types(void **state)
{
	struct frame frame = ethernet_frame(NET_TYPE_EVB, 0);

	(void)state;
	need_bpf();
	append_segment(&frame, SOURCE, false);
	assert_fate(&frame, STEER_REDIRECTED);
	frame = ethernet_frame(NET_TYPE_EVB, 0);
	append_segment(&frame, 2, false);
	assert_fate(&frame, STEER_UNKNOWN_SOURCE);
	frame = ethernet_frame(0x88b6, 0);
	append_segment(&frame, 2, false);
	assert_fate(&frame, STEER_PASSED);
	frame = ethernet_frame(0x8808, 0); // pause
	append_segment(&frame, 2, false);
	assert_fate(&frame, STEER_REDIRECTED);
}

static void ether_types__where_none_carries_segments(void **state)
{
	const struct xdp_rules rules = { .traffic = &no_traffic, .largest_frame = LARGEST };
	struct frame frame = ethernet_frame(0, 0); // a length, which may be 0

	(void)state;
	need_bpf();
	open_steering(&rules);
	append_segment(&frame, 2, false);
	assert_fate(&frame, STEER_PASSED);
}

static void vlan__tags_are_looked_behind(void **state)
{
	struct frame plain = udp_frame(PORT, SOURCE), other = udp_frame(22, SOURCE), frame;

	(void)state;
	need_bpf();
	for (unsigned n = 1; n <= 2; n++) {
		frame = tagged(&plain, n);
		assert_fate(&frame, STEER_REDIRECTED);
		frame = tagged(&other, n);
		assert_fate(&frame, STEER_PASSED);
	}
	frame = tagged(&plain, 3);
	assert_fate(&frame, STEER_PASSED);
	frame = ethernet_frame(NET_TYPE_EVB, 100);
	append_segment(&frame, 2, false);
	assert_fate(&frame, STEER_UNKNOWN_SOURCE);
}

static void addresses__are_looked_at_while_any_is_listed(void **state)
{
	struct frame six = ipv6_frame(PORT, NET_PROTO_UDP);
	struct xdp_stranger stranger;

	(void)state;
	need_bpf();
	assert_int_equal(xdp_change_address(xdp, PEER + 9, true), 0);
	assert_int_equal(xdp_change_address(xdp, PEER + 9, true), -EEXIST);
	assert_udp_fate(PORT, SOURCE, STEER_UNKNOWN_ADDRESS);
	assert_udp_fate(4791, SOURCE, STEER_UNKNOWN_ADDRESS);
	assert_udp_fate(22, SOURCE, STEER_PASSED);
	assert_int_equal(xdp_strangers(xdp, &stranger, 1), 1);
	assert_int_equal(stranger.id, STEER_NO_ID);
	assert_int_equal(stranger.packets, 2);
	assert_int_equal(xdp_change_address(xdp, PEER, true), 0);
	assert_udp_fate(PORT, SOURCE, STEER_REDIRECTED);
	assert_udp_fate(PORT, 2, STEER_UNKNOWN_SOURCE);
	assert_fate(&six, STEER_UNKNOWN_ADDRESS); // the list is of IPv4
	assert_int_equal(xdp_change_address(xdp, PEER, false), 0);
	assert_int_equal(xdp_change_address(xdp, PEER, false), -ENOENT);
	assert_udp_fate(PORT, SOURCE, STEER_UNKNOWN_ADDRESS);
	assert_int_equal(xdp_change_address(xdp, PEER + 9, false), 0);
	assert_udp_fate(PORT, SOURCE, STEER_REDIRECTED);
}

static void sources__change_while_it_runs(void **state)
{
	struct steer_counter counter;

	(void)state;
	need_bpf();
	assert_int_equal(xdp_change_source(xdp, 2, true), 0);
	assert_int_equal(xdp_change_source(xdp, 2, true), -EEXIST);
	assert_udp_fate(PORT, 2, STEER_REDIRECTED);
	assert_int_equal(xdp_change_source(xdp, 2, false), 0);
	assert_int_equal(xdp_change_source(xdp, 2, false), -ENOENT);
	assert_udp_fate(PORT, 2, STEER_UNKNOWN_SOURCE);
	assert_int_equal(xdp_change_source(xdp, 2, true), 0);
	assert_true(xdp_source_counter(xdp, 2, &counter));
	assert_int_equal(counter.packets, 0);
	for (unsigned id = 0x2000; id < 0x2000 + STEER_MAX_SOURCES - 4; id++)
		assert_int_equal(xdp_change_source(xdp, (uint16_t)id, true), 0);
	assert_int_equal(xdp_change_source(xdp, 3, true), -E2BIG);
}

static void frames__that_do_not_fit_are_dropped(void **state)
{
	struct frame frame = udp_frame(PORT, SOURCE);
	static const uint8_t filler[LARGEST + 1];

	(void)state;
	need_bpf();
	append(&frame, filler, LARGEST - frame.length);
	assert_fate(&frame, STEER_REDIRECTED);
	append(&frame, filler, 1);
	assert_fate(&frame, STEER_TOO_LONG);
	frame.bytes[37] = 22; // not evb's: the kernel may have it
	assert_fate(&frame, STEER_PASSED);
	assert_int_equal(missed(), 1);
}

static void queues__without_socket_are_counted(void **state)
{
	(void)state;
	need_bpf();
	fake_driver_remove_socket(&driver);
	assert_udp_fate(PORT, SOURCE, STEER_NO_SOCKET);
	assert_udp_fate(22, SOURCE, STEER_PASSED);
	assert_int_equal(missed(), 1);
	fake_driver_insert_socket(&driver);
	assert_udp_fate(PORT, SOURCE, STEER_REDIRECTED);
}

// Whatever is cut off from a packet, nothing is read beyond its end (the kernel would not have
// loaded the program) and each piece counts once.
static void frames__cut_off_anywhere(void **state)
{
	struct frame whole[] = { udp_frame(PORT, SOURCE), ipv6_frame(PORT, NET_PROTO_UDP),
				 arp_frame(1, OWN) };
	struct xdp_counters counters;
	uint64_t sum = 0, sent = 0;

	(void)state;
	need_bpf();
	for (unsigned i = 0; i < 3; i++)
		for (uint32_t length = NET_ETH_SIZE; length <= whole[i].length; length++) {
			struct frame frame = whole[i];

			frame.length = length;
			(void)run(&frame);
			sent++;
		}
	assert_true(xdp_counters(xdp, &counters));
	for (unsigned cause = 0; cause < STEER_N_CAUSES; cause++)
		sum += counters.causes[cause].packets;
	assert_int_equal(sum, sent);
}

// --- attaching -----------------------------------------------------------------------------------

static void steer__takes_only_what_the_driver_opened(void **state)
{
	const struct xdp_rules rules = { .traffic = &no_traffic, .largest_frame = LARGEST };
	int of_another_port = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	(void)state;
	need_bpf();
	assert_true(of_another_port >= 0);
	open_steering(&rules);
	assert_int_equal(xdp->n_sockets, 1);
	assert_int_equal(xdp->sockets[0], driver.socket);
	close(of_another_port);
}

static void link__goes_with_the_steering(void **state)
{
	(void)state;
	need_bpf();
	assert_int_equal(attached_program() != 0, 1);
	assert_string_equal(xdp_mode(xdp), "generic"); // all that a loopback interface can
	assert_false(xdp->zero_copy);
	assert_string_equal(xdp->report, "lo: XDP generic mode, copying");
	xdp_close(xdp);
	xdp = NULL;
	assert_int_equal(attached_program(), 0);
}

static void prepare__removes_what_a_killed_start_left(void **state)
{
	char error[XDP_ERROR_SIZE];
	struct xdp *killed;

	(void)state;
	need_bpf();
	assert_int_equal(xdp_prepare(&killed, "wire", "lo", error), 0);
	fake_driver_open(&driver, killed->object_path, (int)if_nametoindex("lo"));
	assert_int_not_equal(attached_program(), 0);
	assert_int_equal(xdp_prepare(&xdp, "wire", "lo", error), 0);
	assert_int_equal(attached_program(), 0);
	xdp_close(killed);
}

static void prepare__leaves_what_is_in_use(void **state)
{
	char error[XDP_ERROR_SIZE], expected[XDP_ERROR_SIZE];
	struct xdp *second;

	(void)state;
	need_bpf();
	assert_int_equal(xdp_prepare(&second, "wire", "lo", error), -1);
	snprintf(expected, sizeof(expected),
		 "interface lo: another evb receives from it (XDP program %u)", attached_program());
	assert_string_equal(error, expected);
	xdp_close(second);
	assert_udp_fate(PORT, SOURCE, STEER_REDIRECTED);
}

static void prepare__leaves_programs_of_others(void **state)
{
	const struct bpf_insn pass[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
					 { .code = BPF_JMP | BPF_EXIT } };
	char error[XDP_ERROR_SIZE], expected[XDP_ERROR_SIZE];
	int index = (int)if_nametoindex("lo"), other;

	(void)state;
	need_bpf();
	other = bpf_prog_load(BPF_PROG_TYPE_XDP, "firewall", "GPL", pass, 2, NULL);
	assert_true(other >= 0);
	assert_int_equal(bpf_xdp_attach(index, other, 0, NULL), 0);
	assert_int_equal(xdp_prepare(&xdp, "wire", "lo", error), -1);
	snprintf(expected, sizeof(expected),
		 "interface lo: XDP program %u firewall is attached to it: end its owner, or: ip "
		 "link set dev lo xdp off",
		 attached_program());
	assert_string_equal(error, expected);
	assert_int_equal(bpf_xdp_detach(index, 0, NULL), 0);
	close(other);
}

static void prepare__of_no_interface(void **state)
{
	char error[XDP_ERROR_SIZE];

	(void)state;
	need_bpf();
	assert_int_equal(xdp_prepare(&xdp, "wire", "no-such-if", error), -1);
	assert_string_equal(error, "interface no-such-if: there is none of this name");
}

static void steer__without_a_driver(void **state)
{
	const struct xdp_rules rules = { .traffic = &no_traffic, .largest_frame = LARGEST };
	char error[XDP_ERROR_SIZE];

	(void)state;
	need_bpf();
	assert_int_equal(xdp_prepare(&xdp, "wire", "lo", error), 0);
	assert_int_equal(xdp_steer(xdp, &rules, error), -1);
	assert_string_equal(error,
			    "interface lo: the driver opened no AF_XDP socket that evb can find");
}

static void explain__tells_what_was_refused(void **state)
{
	char error[XDP_ERROR_SIZE];

	(void)state;
	need_bpf();
	assert_int_equal(xdp_prepare(&xdp, "wire", "lo", error), 0);
	xdp_explain(xdp, error);
	assert_non_null(strstr(error, "it takes the BPF program, so the socket was refused"));
	assert_int_equal(attached_program(), 0);
}

// The queue is another socket's: the driver failed after it had attached its copy.
static void explain__of_a_socket_that_was_refused(void **state)
{
	char error[XDP_ERROR_SIZE];

	(void)state;
	need_bpf();
	assert_int_equal(xdp_prepare(&xdp, "wire", "lo", error), 0);
	fake_driver_open(&driver, xdp->object_path, (int)if_nametoindex("lo"));
	xdp_explain(xdp, error);
	assert_non_null(strstr(error, "it takes the BPF program, so the socket was refused"));
}

// CAP_SYS_ADMIN is not among the capabilities that the driver needs.
static void prepare__without_the_right_to_read_names(void **state)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all[2], fewer[2];
	char error[XDP_ERROR_SIZE];
	struct xdp *second;
	int result;

	(void)state;
	need_bpf();
	assert_int_equal(syscall(SYS_capget, &header, all), 0);
	memcpy(fewer, all, sizeof(fewer));
	fewer[0].effective &= ~(1u << CAP_SYS_ADMIN);
	assert_int_equal(syscall(SYS_capset, &header, fewer), 0);
	result = xdp_prepare(&second, "wire", "lo", error);
	assert_int_equal(syscall(SYS_capset, &header, all), 0);
	assert_int_equal(result, -1);
	assert_non_null(strstr(error, "whose name only a process with CAP_SYS_ADMIN can read"));
	assert_non_null(strstr(error, "one that was killed left it"));
	xdp_close(second);
}

#define STEERED(test) cmocka_unit_test_setup_teardown(test, open_default, close_steering)
#define ALONE(test)   cmocka_unit_test_teardown(test, close_steering)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEERED(segments__of_admitted_sources_are_redirected),
		STEERED(segments__of_others_are_dropped),
		STEERED(segments__behind_a_load_balancers_header),
		STEERED(segments__that_are_malformed_are_redirected),
		STEERED(other_ports__are_the_kernels),
		STEERED(ip__of_other_kinds_is_the_kernels),
		STEERED(ip__with_options_is_looked_behind),
		STEERED(icmp__to_the_own_address_is_redirected),
		STEERED(ipv6__by_its_port),
		STEERED(icmp6__of_the_own_address_is_redirected),
		STEERED(arp__of_the_own_address_is_redirected),
		STEERED(ether_types),
		ALONE(ether_types__where_none_carries_segments),
		STEERED(vlan__tags_are_looked_behind),
		STEERED(addresses__are_looked_at_while_any_is_listed),
		STEERED(sources__change_while_it_runs),
		STEERED(frames__that_do_not_fit_are_dropped),
		STEERED(queues__without_socket_are_counted),
		STEERED(frames__cut_off_anywhere),
		ALONE(steer__takes_only_what_the_driver_opened),
		STEERED(link__goes_with_the_steering),
		ALONE(prepare__removes_what_a_killed_start_left),
		STEERED(prepare__leaves_what_is_in_use),
		ALONE(prepare__leaves_programs_of_others),
		ALONE(prepare__of_no_interface),
		ALONE(steer__without_a_driver),
		ALONE(explain__of_a_socket_that_was_refused),
		STEERED(prepare__without_the_right_to_read_names),
		ALONE(explain__tells_what_was_refused),
	};

	return cmocka_run_group_tests_name("xdp steer", tests, enter_namespace, NULL);
}
