// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Keys of ports and of how segments travel.
#include "config/key_macros.h"

// clang-format off

#define TERABIT 1000000000000ULL

static const struct config_key flow_control_keys[] = {
	{ .name = "mode", WORDS("auto", "off", "hw", "external", "soft"),
	  FIELD(config_flow_control, mode), .standard = "off",
	  .help = "hw: the device pauses and obeys; external: kernel or switch are set up for it, "
		  "it is counted only; soft: evb builds and parses the frames; auto: the first of "
		  "these that the port can do." },
	{ .name = "priority", WHOLE(COUNT), RANGE(0, 7), FIELD(config_flow_control, priority),
	  .standard = "3",
	  .help = "The 802.1p priority that is paused: that of the data." },
	{ .name = "high_water", .type = CONFIG_TYPE_REAL, RANGE(0, 1),
	  FIELD(config_flow_control, high_water), .standard = "0.8",
	  .help = "Share of slots, links or packet pool in use from which on the sender pauses." },
	{ .name = "low_water", .type = CONFIG_TYPE_REAL, RANGE(0, 1),
	  FIELD(config_flow_control, low_water), .standard = "0.6",
	  .help = "Share in use below which it goes on." },
	{ .name = "pause_time", WHOLE(COUNT), RANGE(2, 65535),
	  FIELD(config_flow_control, pause_time), .standard = "65535",
	  .help = "How long one frame pauses, in quanta of 512 bit times; it is sent again at half "
		  "of it." },
	{ .name = "cable", WHOLE(COUNT), RANGE(0, 100000), FIELD(config_flow_control, cable),
	  .standard = "100",
	  .help = "Metres to the other end of the link, for the headroom." },
};
static OBJECT(flow_control, flow_control_keys);

static const struct config_key port_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(config_port, name), .required = true,
	  .help = "What other keys, roles and telemetry call the port." },
	{ .name = "profile", TEXT, FIELD(config_port, profile), .required = true,
	  .help = "The driver profile: a name in pmd-config/, or the path of a profile file." },
	{ .name = "device", TEXT_OR_EMPTY, FIELD(config_port, device),
	  .help = "What the driver opens: a kernel interface, a memif socket, a PCI address, a "
		  "capture file; as the profile says." },
	{ .name = "options", .type = CONFIG_TYPE_OPTIONS, ELEMENTS(config_port, options),
	  RANGE(0, CONFIG_MAX_OPTIONS),
	  .help = "Device arguments for the driver beside the profile's, as name and value." },
	{ .name = "mtu", WHOLE(SIZE), RANGE(64, 65500), FIELD(config_port, mtu),
	  .standard = "1500",
	  .help = "Bytes of a packet behind the Ethernet header." },
	{ .name = "address", .type = CONFIG_TYPE_IPV4, FIELD(config_port, address),
	  .presence = offsetof(struct config_port, has_address),
	  .prefix = offsetof(struct config_port, prefix_length),
	  .help = "IPv4 address of the port, such as \"10.0.0.1/24\" (without a prefix: /32); ARP "
		  "and ICMP echo are answered for it." },
	{ .name = "address6", .type = CONFIG_TYPE_IPV6, FIELD(config_port, address6),
	  .presence = offsetof(struct config_port, has_address6),
	  .help = "IPv6 address of the port, such as \"fd00::1\"; neighbour solicitations and "
		  "ICMPv6 echo are answered for it. RoCE connections are taken at it." },
	{ .name = "mac", .type = CONFIG_TYPE_MAC, FIELD(config_port, mac),
	  .presence = offsetof(struct config_port, has_mac),
	  .help = "Ethernet address to set; without it the device keeps its own." },
	{ .name = "vlan", WHOLE(COUNT), RANGE(0, 4094), FIELD(config_port, vlan),
	  .presence = offsetof(struct config_port, has_vlan),
	  .help = "VLAN whose 802.1Q tag all frames get that the port sends, with the 802.1p "
		  "priority of data (flow_control.priority) or of control messages in it; 0: a tag "
		  "for the priority alone. Without it frames have no tag. What comes in may be "
		  "tagged or not." },
	{ .name = "rx_queues", WHOLE(COUNT), RANGE(1, 64), FIELD(config_port, rx_queues),
	  .standard = "1",
	  .help = "Receive queues, each with a role of its own." },
	{ .name = "rx_descriptors", WHOLE(COUNT), RANGE(0, 32768),
	  FIELD(config_port, rx_descriptors), .standard = "0",
	  .help = "Descriptors of a receive queue; 0: the profile's." },
	{ .name = "tx_descriptors", WHOLE(COUNT), RANGE(0, 32768),
	  FIELD(config_port, tx_descriptors), .standard = "0",
	  .help = "Descriptors of a transmit queue; 0: the profile's." },
	{ .name = "link_timeout", WHOLE(TIME), RANGE(0, HOUR), FIELD(config_port, link_timeout_ns),
	  .standard = "5s",
	  .help = "Longest wait for the link at the start." },
	{ .name = "verify_checksums", .type = CONFIG_TYPE_BOOLEAN,
	  FIELD(config_port, verify_checksums), .standard = "true",
	  .help = "Whether IP and UDP checksums are verified and wrong packets dropped." },
	{ .name = "link_rate", WHOLE(BIT_RATE), RANGE(0, 10 * TERABIT),
	  FIELD(config_port, link_rate), .standard = "0",
	  .help = "Rate of the link, which pacing goes by; 0: what the device says." },
	{ .name = "flow_control", NESTED(flow_control), FIELD(config_port, flow_control),
	  .help = "Priority flow control (802.1Qbb): pausing the sender before packets are lost." },
};
OBJECT(config_port_object, port_keys);

static const struct config_key transport_keys[] = {
	{ .name = "kind", WORDS("udp", "eth", "roce"), FIELD(config_transport, kind),
	  .standard = "udp",
	  .help = "How segments travel: in UDP datagrams, right behind an EtherType, or by RoCE "
		  "v2." },
	{ .name = "udp_port", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_transport, udp_port),
	  .standard = "19522",
	  .help = "First UDP port that is listened to." },
	{ .name = "udp_ports", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_transport, udp_ports),
	  .standard = "1",
	  .help = "How many UDP ports are listened to." },
	{ .name = "ether_type", WHOLE(COUNT), RANGE(0x600, 0xffff),
	  FIELD(config_transport, ether_type), .standard = "0x88B5",
	  .help = "The EtherType of kind eth." },
};
OBJECT(config_transport_object, transport_keys);
