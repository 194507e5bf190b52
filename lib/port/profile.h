// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Driver profiles: what is known of a DPDK driver and how evb sets it up, one JSON file a driver in
// pmd-config/, each value with its reason. They are part of the program; a configuration may name
// a file instead. Keys of a profile:
//
//   driver               DPDK's name of the driver, "net_af_packet"
//   summary              one line for people
//   bus                  "pci": `device` is the address of a PCI device
//   device_argument      the device argument that takes the configuration's `device`
//   queues_argument      the one that takes the number of queues
//   queues               most rx or tx queues
//   rx_descriptors, tx_descriptors   a queue, unless the configuration says otherwise
//   maximum_mtu          bytes
//   mtu_is_free          the driver passes larger frames than it lets one configure
//   minimum_buffer       bytes of packet that an mbuf must have room for
//   arguments            further device arguments
//   jumbo_minimum_buffer, jumbo_arguments   instead of these for MTUs above 1500
//   linger_ms            how long a port that was sent on stays open after the last packet: what
//                        its peer has not fetched is lost when it closes
//   needs_address        senders of UDP must state where they are: a kernel is on the other side
//   partial_checksums    packets of a sender on the same host come with unfinished checksums
//   capabilities         Linux capabilities that a process needs for it
//   documents            where the driver is described
//   tried                what of it was run, and on what
//   why                  the reasons, by key or argument
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/settings.h"

#define PROFILE_MAX_ARGUMENTS 16
#define PROFILE_ERROR_SIZE    512

struct profile {
	char name[EVB_PATH_SIZE];
	char driver[EVB_NAME_SIZE];
	char device_argument[EVB_NAME_SIZE]; // empty: takes none
	char queues_argument[EVB_NAME_SIZE]; // empty: takes none
	uint32_t queues;
	uint32_t rx_descriptors;
	uint32_t tx_descriptors;
	uint32_t maximum_mtu;
	uint32_t minimum_buffer; // for the port's MTU
	uint32_t linger_ms;
	bool is_pci;
	bool mtu_is_free;
	bool partial_checksums;
	bool needs_address;
	struct port_option arguments[PROFILE_MAX_ARGUMENTS]; // for the port's MTU
	unsigned n_arguments;
	char capabilities[EVB_PATH_SIZE]; // separated by spaces
};

// The built-in profiles, ended by a NULL name.
struct profile_text {
	const char *name;
	const char *text;
};
extern const struct profile_text profile_texts[];

// Loads the profile that a port names, as it applies to the port's MTU. Returns 0, or -1 with one
// line in error[PROFILE_ERROR_SIZE].
int profile_load(struct profile *profile, const struct port_settings *port, char *error);

// Whether the driver needs a PCI bus (an argument of the form 0000:00:00.0 as device).
bool profile_is_pci(const struct profile *profile, const struct port_settings *port);
