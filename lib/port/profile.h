// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Driver profiles: the properties of a DPDK driver, and the settings with which evb uses it.
// pmd-config/ has one JSON file per driver, which states the reason for each value. The profiles
// are built into the program; a configuration may name a file instead. Keys of a profile:
//
//   driver               DPDK's name of the driver, "net_af_packet"
//   summary              one line for people
//   bus                  "pci": `device` is the address of a PCI device
//   device_argument      name of the device argument for the configuration's `device`
//   queues_argument      name of the device argument for the number of queues
//   queues               largest number of rx or tx queues
//   rx_descriptors, tx_descriptors   default number of descriptors per queue
//   maximum_mtu          bytes
//   mtu_is_free          the driver passes larger frames than its largest configurable MTU allows
//   minimum_buffer       bytes of a packet for which an mbuf must have room
//   arguments            further device arguments
//   jumbo_minimum_buffer, jumbo_arguments, jumbo_rx_descriptors, jumbo_tx_descriptors
//                        replace the above for MTUs above jumbo_above
//   jumbo_above          bytes, 1500 if not stated
//   linger_ms            time for which a port stays open after the last packet was sent; packets
//                        that the peer has not fetched are lost when the port closes
//   close_on_interrupt_thread   another thread may not close a port while the driver handles the
//                        end of its peer
//   needs_address        the peer is a kernel, so UDP packets need a source address
//   partial_checksums    packets from the same host may have unfinished checksums
//   capabilities         Linux capabilities that the process needs
//   documents            documentation of the driver
//   tried                the tests that were run with the driver, and the hardware used
//   why                  the reasons for the values, by key or argument
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/settings.h"

#define PROFILE_MAX_ARGUMENTS 16
#define PROFILE_ERROR_SIZE    640

struct profile {
	char name[EVB_PATH_SIZE];
	char driver[EVB_NAME_SIZE];
	char device_argument[EVB_NAME_SIZE]; // empty: the driver has none
	char queues_argument[EVB_NAME_SIZE]; // empty: the driver has none
	uint32_t queues;
	uint32_t rx_descriptors; // per queue: the port's, or the profile's if the port states none
	uint32_t tx_descriptors; // likewise
	uint32_t maximum_mtu;
	uint32_t minimum_buffer; // for the port's MTU
	uint32_t linger_ms;
	bool is_pci;
	bool mtu_is_free;
	bool partial_checksums;
	bool needs_address;
	bool close_on_interrupt_thread;
	struct port_option arguments[PROFILE_MAX_ARGUMENTS]; // for the port's MTU
	unsigned n_arguments;
	char capabilities[EVB_PATH_SIZE]; // separated by spaces
};

// The built-in profiles. The name of the last entry is NULL.
struct profile_text {
	const char *name;
	const char *text;
};
extern const struct profile_text profile_texts[];

// Loads the profile that a port names, with the values for the port's MTU and the port's numbers of
// descriptors. Returns 0, or -1 with one line in error[PROFILE_ERROR_SIZE].
int profile_load(struct profile *profile, const struct port_settings *port, char *error);

// Checks whether a port names the device that its profile needs. Returns 0, or -1 with one line in
// error[PROFILE_ERROR_SIZE].
int profile_check_device(const struct profile *profile, const struct port_settings *port,
			 char *error);

// Whether the port's device is a kernel interface or a network card, which belongs to one port.
bool profile_owns_device(const struct profile *profile, const struct port_settings *port);

// Whether the port is on a PCI device, so that its device has the form 0000:00:00.0.
bool profile_is_pci(const struct profile *profile, const struct port_settings *port);
