// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The settings of a port, as the configuration states them (`ports`). Without DPDK, so that the
// configuration can include it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

#define PORT_MAX_OPTIONS 16

#define PORT_MTU_LEAST 64u // bytes
#define PORT_MTU_MOST  65500u
// Values of struct port_settings for "auto" until the configuration is checked.
#define PORT_MTU_AUTO  0u
#define PORT_RATE_AUTO UINT64_MAX

// A "name": "value" pair that is passed to the driver as a device argument.
struct port_option {
	char name[EVB_NAME_SIZE];
	char value[EVB_PATH_SIZE];
};

// The back-end of flow control (port/flow_control.h).
enum flow_control_mode {
	FLOW_CONTROL_AUTO, // the first of hw, external and soft that the port can do
	FLOW_CONTROL_OFF,
	FLOW_CONTROL_HW,       // the device sends and obeys frames, set up through DPDK
	FLOW_CONTROL_EXTERNAL, // the kernel or the switch does; evb only reads its counters
	FLOW_CONTROL_SOFT,     // evb builds and obeys the frames
	FLOW_CONTROL_N_MODES
};

struct flow_control_settings {
	enum flow_control_mode mode;
	uint8_t priority;    // 802.1p, of the data
	double high_water;   // share of slots, links or pool in use from which on the sender pauses
	double low_water;    // share below which it may go on
	uint16_t pause_time; // quanta of 512 bit times
	uint32_t cable;      // metres to the other end, for the headroom
};

// Packets to which addresses a port accepts, in the configuration's order.
enum port_destinations { PORT_DESTINATIONS_OWN, PORT_DESTINATIONS_ANY };

struct port_settings {
	char name[EVB_NAME_SIZE];
	char profile[EVB_PATH_SIZE]; // name of a profile in pmd-config/, or path of a profile file
	char device[EVB_PATH_SIZE];  // kernel interface, memif socket, PCI address, capture file
	struct port_option options[PORT_MAX_OPTIONS]; // device arguments beside the profile's
	unsigned n_options;
	uint32_t mtu;     // bytes after the Ethernet header
	bool mtu_is_auto; // it is that of the kernel's interface
	bool has_address;
	uint32_t address; // IPv4, host order; the port replies to ARP and ICMP echo for it
	uint8_t prefix_length;
	bool has_gateway;
	uint32_t gateway; // IPv4, host order, in the network of the address
	bool has_address6;
	uint8_t address6[16]; // IPv6; the port replies to neighbour solicitations and ICMPv6 echo
	bool has_mac;
	uint8_t mac[6];
	bool has_vlan; // sent frames get a tag
	uint16_t vlan; // 0: the tag states the priority only
	uint32_t rx_queues;
	uint32_t rx_descriptors; // per queue, 0: the profile's
	uint32_t tx_descriptors; // per queue, 0: the profile's
	uint64_t link_timeout_ns;
	bool verify_checksums;
	enum port_destinations destinations;
	uint64_t link_rate;     // bits/s; 0: unknown, or auto
	bool link_rate_is_auto; // what the device reports at the start counts: port_link_rate()
	uint64_t rate_found;    // auto: bits/s of the interface when the file was read; 0: unknown
	struct flow_control_settings flow_control;
};

// The rate of the port's link, bits/s, before the start; 0: not known yet.
static inline uint64_t port_settings_rate(const struct port_settings *port)
{
	return port->link_rate_is_auto ? port->rate_found : port->link_rate;
}

// Whether an IPv4 address, in host order, is in the network of the port's address.
static inline bool port_settings_reach(const struct port_settings *port, uint32_t address)
{
	return port->prefix_length == 0 ||
	       (address ^ port->address) >> (32 - port->prefix_length) == 0;
}

#define PORT_MAX_UDP_RANGES 4

struct port_udp_range {
	uint16_t first; // UDP destination port
	uint16_t count;
	bool segments; // EJFAT segments: they carry a source id
};

// The event traffic that a port receives and sends.
struct port_traffic {
	struct port_udp_range ranges[PORT_MAX_UDP_RANGES];
	unsigned n_ranges;
	uint16_t ether_type; // of segments, 0: none
	const uint16_t *ids; // of the configured sources
	unsigned n_ids;
	uint8_t control_priority, control_dscp; // of the control protocol's frames
};
