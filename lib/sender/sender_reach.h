// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whether the kernel can send to a receiver at once.
//
// Datagrams to a receiver whose MAC address is not known wait in the kernel, which holds only some
// of them and drops the others without a report. Therefore one datagram is sent first, and the
// others wait until it has left the machine. The same is done after a pause, in which the kernel
// may have forgotten the address, and when it reports that nobody responds any more. If nobody
// responds for 3 s, the receiver is given up, so that the others get their datagrams; one datagram
// at a time goes on asking. That datagram is sent by a socket of its own with the same port, whose
// queue tells whether it has left.
//
// Threads: one.
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum reach {
	REACH_UNKNOWN,
	REACH_WAITS, // for its first datagram to leave
	REACH_KNOWN,
	REACH_LOST, // nobody has responded for long
};

struct receiver {
	struct sockaddr_in address;
	enum reach reach;
	bool asks;           // the first datagram may still wait in the kernel
	int asks_by;         // its socket; -1: none
	uint64_t first_sent; // ns, CLOCK_MONOTONIC, as all times here
	uint64_t last_sent;  // any datagram
};

struct receivers {
	struct receiver *list;
	unsigned n;
	uint64_t *not_sent; // counts the datagrams that the kernel has taken and dropped
};

// False if memory ran out; call receivers_free() even then.
bool receivers_make(struct receivers *receivers, unsigned n, uint64_t *not_sent);
void receivers_free(struct receivers *receivers);

// Prepares a socket of datagrams to receivers, before it is bound.
void receivers_prepare(int file);

// Reads what the kernel reports about datagrams that it has taken from a socket. Returns the number
// of reports from the network.
unsigned receivers_read_errors(const struct receivers *receivers, int file);

// The present state. UNKNOWN: one datagram may be sent. WAITS: none. KNOWN: any number.
enum reach receivers_reach(const struct receivers *receivers, struct receiver *receiver,
			   uint64_t now);

// Whether a lost receiver gets no datagram now; otherwise one may be sent.
static inline bool receiver_is_given_up(const struct receiver *receiver)
{
	return receiver->reach == REACH_LOST && receiver->asks;
}

// The socket for the next datagram to a receiver whose state is not KNOWN. It has the address of
// `file`, which is returned if there can be no other.
int receiver_asks_by(struct receiver *receiver, int file);

// A datagram has been sent to the receiver.
void receiver_note(struct receiver *receiver, uint64_t now);
