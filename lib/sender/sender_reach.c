// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sender/sender_reach.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/counter.h"

#define SECOND      UINT64_C(1000000000)
#define ERRORS_MOST 64u          // read from a socket at once
#define REACH_NS    (3 * SECOND) // the kernel requests an address 3 times, once per second
#define DROPPED_NS  (REACH_NS - SECOND / 20)
#define IDLE_NS     SECOND // an address that is not used is forgotten after a minute

bool receivers_make(struct receivers *receivers, unsigned n, uint64_t *not_sent)
{
	*receivers = (struct receivers){ .n = n, .not_sent = not_sent };
	receivers->list = calloc(n, sizeof(*receivers->list));
	for (unsigned i = 0; receivers->list != NULL && i < n; i++)
		receivers->list[i].asks_by = -1;
	return receivers->list != NULL;
}

static void stop_asking(struct receiver *receiver)
{
	if (receiver->asks_by >= 0)
		close(receiver->asks_by);
	receiver->asks_by = -1;
	receiver->asks = false;
}

void receivers_free(struct receivers *receivers)
{
	for (unsigned i = 0; receivers->list != NULL && i < receivers->n; i++)
		stop_asking(&receivers->list[i]);
	free(receivers->list);
}

void receivers_prepare(int file)
{
	const int on = 1;

	(void)setsockopt(file, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	(void)setsockopt(file, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
}

static struct sock_extended_err error_of(struct msghdr *message)
{
	struct sock_extended_err error = { 0 };

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
	     part = CMSG_NXTHDR(message, part))
		if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR)
			memcpy(&error, CMSG_DATA(part), sizeof(error));
	return error;
}

// A datagram for this address was dropped: nobody has responded to ARP.
static void lose(const struct receivers *receivers, const struct sockaddr_in *to)
{
	counter_add(receivers->not_sent, 1);
	for (unsigned i = 0; i < receivers->n; i++) {
		struct receiver *receiver = &receivers->list[i];

		if (receiver->address.sin_addr.s_addr != to->sin_addr.s_addr)
			continue;
		if (receiver->reach == REACH_KNOWN)
			receiver->reach = REACH_UNKNOWN;
		else if (receiver->reach == REACH_WAITS)
			receiver->reach = REACH_LOST;
		receiver->asks = false;
	}
}

unsigned receivers_read_errors(const struct receivers *receivers, int file)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ERRORS_MOST; i++) {
		_Alignas(struct cmsghdr) uint8_t control[256];
		struct sockaddr_in to = { 0 };
		struct msghdr message = { .msg_name = &to,
					  .msg_namelen = sizeof(to),
					  .msg_control = control,
					  .msg_controllen = sizeof(control) };
		struct sock_extended_err error;

		if (recvmsg(file, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			break;
		error = error_of(&message);
		if (error.ee_origin != SO_EE_ORIGIN_ICMP)
			continue;
		n++;
		if (error.ee_errno == EHOSTUNREACH || error.ee_errno == ENETUNREACH)
			lose(receivers, &to);
	}
	return n;
}

static bool has_left(const struct receiver *receiver)
{
	int waiting = 0;

	return receiver->asks_by < 0 || ioctl(receiver->asks_by, SIOCOUTQ, &waiting) != 0 ||
	       waiting == 0;
}

// The first datagram has left, or the kernel has dropped it and reports that. It cannot report
// anything while the loopback device is down.
static void settle(const struct receivers *receivers, struct receiver *receiver, uint64_t now)
{
	if (receiver->asks_by >= 0)
		(void)receivers_read_errors(receivers, receiver->asks_by);
	if (receiver->asks && now - receiver->first_sent >= DROPPED_NS) {
		counter_add(receivers->not_sent, 1);
		receiver->reach = REACH_LOST;
	} else if (receiver->asks) {
		receiver->reach = REACH_KNOWN;
		receiver->last_sent = now;
	}
	stop_asking(receiver);
}

enum reach receivers_reach(const struct receivers *receivers, struct receiver *receiver,
			   uint64_t now)
{
	const uint64_t waited = now - receiver->first_sent;

	if (receiver->reach == REACH_KNOWN && now - receiver->last_sent > IDLE_NS) {
		receiver->reach = REACH_UNKNOWN;
	} else if (receiver->asks && has_left(receiver)) {
		settle(receivers, receiver, now);
	} else if (receiver->reach == REACH_WAITS && waited > REACH_NS) {
		receiver->reach = REACH_LOST;
	}
	return receiver->reach;
}

// A socket with the address and the options of another one; -1: there is none.
static int open_like(int file)
{
	static const struct {
		int level, name;
	} options[] = { { IPPROTO_IP, IP_TOS }, { IPPROTO_IP, IP_MTU_DISCOVER } };
	const int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in own;
	socklen_t size = sizeof(own);
	int value;

	if (other < 0)
		return -1;
	receivers_prepare(other);
	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		socklen_t length = sizeof(value);

		if (getsockopt(file, options[i].level, options[i].name, &value, &length) == 0)
			(void)setsockopt(other, options[i].level, options[i].name, &value, length);
	}
	if (getsockname(file, (struct sockaddr *)&own, &size) == 0 &&
	    bind(other, (const struct sockaddr *)&own, size) == 0)
		return other;
	close(other);
	return -1;
}

int receiver_asks_by(struct receiver *receiver, int file)
{
	stop_asking(receiver);
	receiver->asks_by = open_like(file);
	return receiver->asks_by >= 0 ? receiver->asks_by : file;
}

void receiver_note(struct receiver *receiver, uint64_t now)
{
	receiver->last_sent = now;
	if (receiver->reach == REACH_KNOWN)
		return;
	if (receiver->reach == REACH_UNKNOWN)
		receiver->reach = REACH_WAITS;
	receiver->asks = true;
	receiver->first_sent = now;
}
