// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the kernel knows of priority-based flow control on a network interface (IEEE 802.1Qaz; as
// `dcb pfc show dev X` prints it), read over rtnetlink. Control thread.
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

// False if the kernel or the driver of the interface knows nothing of it.
bool dcb_pfc_get(const char *interface, struct dcb_pfc *pfc);

// Decodes one netlink message of `size` bytes; false if it holds no PFC attribute. Pure. `bytes` is
// aligned as struct nlmsghdr.
bool dcb_pfc_decode(const void *bytes, size_t size, struct dcb_pfc *pfc);
