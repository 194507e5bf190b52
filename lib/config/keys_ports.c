// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Keys of ports and of the transport of segments.
#include "config/key_macros.h"

// clang-format off

#define TERABIT 1000000000000ULL

static const struct config_key flow_control_keys[] = {
	{ .name = "mode", WORDS("auto", "off", "hw", "external", "soft"),
	  FIELD(flow_control_settings, mode), .standard = "off",
	  .help = "hw: the device pauses and obeys; external: kernel or switch do, evb only "
		  "counts; soft: evb builds and parses the frames; auto: the first of these "
		  "that the port supports." },
	{ .name = "priority", WHOLE(COUNT), RANGE(0, 7), FIELD(flow_control_settings, priority),
	  .standard = "3",
	  .help = "The paused 802.1p priority: that of the data." },
	{ .name = "high_water", .type = CONFIG_TYPE_REAL, RANGE(0, 1),
	  FIELD(flow_control_settings, high_water), .standard = "0.8",
	  .help = "Used share of slots, links or packet pool that pauses the sender." },
	{ .name = "low_water", .type = CONFIG_TYPE_REAL, RANGE(0, 1),
	  FIELD(flow_control_settings, low_water), .standard = "0.6",
	  .help = "Used share at which the sender continues." },
	{ .name = "pause_time", WHOLE(COUNT), RANGE(2, 65535),
	  FIELD(flow_control_settings, pause_time), .standard = "65535",
	  .help = "Duration of a pause in quanta of 512 bit times; it is renewed after half "
		  "of it." },
	{ .name = "cable", WHOLE(COUNT), RANGE(0, 100000), FIELD(flow_control_settings, cable),
	  .standard = "100",
	  .help = "Length of the link in metres, for the headroom." },
};
static OBJECT(flow_control, flow_control_keys);

static const struct config_key port_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(port_settings, name),
	  .help = "Name of the port. A single one needs none: wire." },
	{ .name = "profile", TEXT, FIELD(port_settings, profile), .required = true,
	  .help = "Driver profile: a name in pmd-config/, or a path." },
	{ .name = "device", TEXT_OR_EMPTY, FIELD(port_settings, device),
	  .help = "Kernel interface, memif socket, PCI address or capture file, as the "
		  "profile requires." },
	{ .name = "options", .type = CONFIG_TYPE_OPTIONS, ELEMENTS(port_settings, options),
	  RANGE(0, PORT_MAX_OPTIONS),
	  .help = "Device arguments in addition to those of the profile." },
	{ .name = "mtu", WHOLE(SIZE), RANGE(PORT_MTU_LEAST, PORT_MTU_MOST), OR_AUTO(PORT_MTU_AUTO),
	  FIELD(port_settings, mtu), .standard = "1500",
	  .help = "Largest payload of an Ethernet frame; auto: that of the kernel's interface, "
		  "1500 if the device has none on this machine." },
	{ .name = "address", .type = CONFIG_TYPE_IPV4, OPTIONAL(port_settings, address),
	  .prefix = offsetof(struct port_settings, prefix_length),
	  .help = "Address of the port, such as \"10.0.0.1/24\" (/32 without a prefix); evb "
		  "replies to ARP and ping." },
	{ .name = "gateway", .type = CONFIG_TYPE_IPV4, OPTIONAL(port_settings, gateway),
	  .help = "Router to receivers of generators outside the port's network." },
	{ .name = "address6", .type = CONFIG_TYPE_IPV6, OPTIONAL(port_settings, address6),
	  .help = "Address of the port, such as \"fd00::1\"; evb replies to neighbour "
		  "solicitations and ping, and accepts RoCE connections." },
	{ .name = "mac", .type = CONFIG_TYPE_MAC, OPTIONAL(port_settings, mac),
	  .help = "Address to set. Without it: the device's." },
	{ .name = "vlan", WHOLE(COUNT), RANGE(0, 4094), OPTIONAL(port_settings, vlan),
	  .help = "VLAN of the 802.1Q tag of sent frames, with the 802.1p priority of data "
		  "(flow_control.priority) or control messages; 0: priority only. Without it:"
		  " untagged. Received frames may have any tag." },
	{ .name = "rx_queues", WHOLE(COUNT), RANGE(1, 64), FIELD(port_settings, rx_queues),
	  .standard = "1",
	  .help = "Receive queues, each with its own role." },
	{ .name = "rx_descriptors", WHOLE(COUNT), RANGE(0, 32768),
	  FIELD(port_settings, rx_descriptors), .standard = "0",
	  .help = "Descriptors of a receive queue; 0: the profile's." },
	{ .name = "tx_descriptors", WHOLE(COUNT), RANGE(0, 32768),
	  FIELD(port_settings, tx_descriptors), .standard = "0",
	  .help = "Descriptors of a transmit queue; 0: the profile's." },
	{ .name = "link_timeout", WHOLE(TIME), RANGE(0, HOUR), FIELD(port_settings, link_timeout_ns),
	  .standard = "5s",
	  .help = "Longest wait for the link at start." },
	{ .name = "verify_checksums", .type = CONFIG_TYPE_BOOLEAN,
	  FIELD(port_settings, verify_checksums), .standard = "true",
	  .help = "Whether wrong IP and UDP checksums are dropped." },
	{ .name = "destinations", WORDS("own", "any"), FIELD(port_settings, destinations),
	  .standard = "own",
	  .help = "Accepted destination addresses; any: for a mirror port. Profiles pcap, "
		  "ring and null accept any." },
	{ .name = "link_rate", WHOLE(BIT_RATE), RANGE(0, 10 * TERABIT), OR_AUTO(PORT_RATE_AUTO),
	  FIELD(port_settings, link_rate), .standard = "0",
	  .help = "Link rate for pacing; auto: that which the kernel's interface or the card "
		  "reports at the start; 0: unknown." },
	{ .name = "flow_control", NESTED(flow_control), FIELD(port_settings, flow_control),
	  .help = "Priority flow control (802.1Qbb)." },
};
OBJECT(config_port_object, port_keys);

static const struct config_key transport_keys[] = {
	{ .name = "kind", WORDS("udp", "eth", "roce"), FIELD(config_transport, kind),
	  .standard = "udp",
	  .help = "UDP, an EtherType of its own, or RoCE v2." },
	{ .name = "udp_port", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_transport, udp_port),
	  .standard = "19522",
	  .help = "First UDP port of the data." },
	{ .name = "udp_ports", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_transport, udp_ports),
	  .standard = "1",
	  .help = "Number of UDP ports of the data." },
	{ .name = "ether_type", WHOLE(COUNT), RANGE(0x600, 0xffff),
	  FIELD(config_transport, ether_type), .standard = "0x88B5",
	  .help = "EtherType of kind eth." },
};
OBJECT(config_transport_object, transport_keys);
