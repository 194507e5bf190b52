// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the kernel knows of priority-based flow control on a network interface (IEEE 802.1Qaz, as
// `dcb pfc show dev X` tells), asked over rtnetlink. Control thread.
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DCB_NAME_SIZE  IF_NAMESIZE
#define DCB_PRIORITIES 8

struct dcb_pfc {
	uint8_t enabled;               // bit i: PFC is on for priority i
	uint64_t sent[DCB_PRIORITIES]; // pause frames that ask for this priority
	uint64_t received[DCB_PRIORITIES];
};

// False if the kernel or the interface's driver knows nothing of it.
bool dcb_pfc_get(const char *interface, struct dcb_pfc *pfc);

// Decodes an answer, all of its bytes; false if it says nothing of PFC. Pure.
bool dcb_pfc_decode(const void *bytes, size_t size, struct dcb_pfc *pfc);
