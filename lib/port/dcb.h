// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The kernel's settings and counters of priority-based flow control (PFC) of a network interface
// (IEEE 802.1Qaz), read over rtnetlink. `dcb pfc show dev X` prints the same. Control thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DCB_PRIORITIES 8

struct dcb_pfc {
	uint8_t enabled;               // bit i: PFC is on for priority i
	uint64_t sent[DCB_PRIORITIES]; // pause frames, by priority
	uint64_t received[DCB_PRIORITIES];
};

// False if the kernel or the interface's driver does not support PFC.
bool dcb_pfc_get(const char *interface, struct dcb_pfc *pfc);

// Decodes one netlink message of `size` bytes. `bytes` is aligned as struct nlmsghdr. False if the
// message has no PFC attribute. Pure.
bool dcb_pfc_decode(const void *bytes, size_t size, struct dcb_pfc *pfc);
