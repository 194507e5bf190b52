// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "steer_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "port/xdp.h"
#include "wire/ejfat.h"
#include "wire/net.h"

void append(struct frame *frame, const void *bytes, size_t size)
{
	assert_true(frame->length + size <= sizeof(frame->bytes));
	memcpy(frame->bytes + frame->length, bytes, size);
	frame->length += (uint32_t)size;
}

void append_segment(struct frame *frame, uint16_t source, bool load_balancer)
{
	struct ejfat_re re = { .data_id = source, .length = 100 };
	struct ejfat_lb lb = { .version = 2 };
	uint8_t header[EJFAT_LB_SIZE + EJFAT_RE_SIZE];
	static const uint8_t payload[100];

	if (load_balancer) {
		ejfat_lb_encode(header, &lb);
		append(frame, header, EJFAT_LB_SIZE);
	}
	ejfat_re_encode(header, &re);
	append(frame, header, EJFAT_RE_SIZE);
	append(frame, payload, sizeof(payload));
}

void begin_udp(struct frame *frame, uint16_t port, uint16_t payload)
{
	const struct net_udp4 header = {
		.source_ip = PEER,
		.destination_ip = OWN,
		.source_port = 40000,
		.destination_port = port,
	};

	frame->length = (uint32_t)net_udp4_encode(frame->bytes, &header, payload);
}

struct frame udp_frame(uint16_t port, uint16_t source)
{
	struct frame frame;

	begin_udp(&frame, port, EJFAT_RE_SIZE + 100);
	append_segment(&frame, source, false);
	return frame;
}

struct frame ethernet_frame(uint16_t ether_type, uint16_t vlan)
{
	static const struct net_mac mac = { { 2, 0, 0, 0, 0, 1 } };
	struct frame frame;

	frame.length = (uint32_t)net_eth_encode(frame.bytes, &mac, &mac, vlan, ether_type);
	return frame;
}

struct frame arp_frame(uint16_t operation, uint32_t target)
{
	const struct net_arp arp = { .operation = operation,
				     .sender_ip = PEER,
				     .target_ip = target };
	struct frame frame = { .length = NET_MIN_FRAME };

	net_arp_encode(frame.bytes, &arp);
	return frame;
}

// With n VLAN tags put in behind the Ethernet addresses.
struct frame tagged(const struct frame *frame, unsigned n)
{
	static const uint8_t tags[] = { 0x88, 0xa8, 0, 5, 0x81, 0, 0, 100, 0x81, 0, 0, 200 };
	struct frame result = { .length = 0 };

	append(&result, frame->bytes, 12);
	append(&result, tags, n * NET_VLAN_SIZE);
	append(&result, frame->bytes + 12, frame->length - 12);
	return result;
}

struct frame ipv6_frame(uint16_t port, uint8_t next_header)
{
	uint8_t ip[NET_IPV6_SIZE] = { 0x60 }, udp[NET_UDP_SIZE];
	struct frame frame = ethernet_frame(NET_TYPE_IPV6, 0);

	ip[6] = next_header;
	append(&frame, ip, sizeof(ip));
	memset(udp, 0, sizeof(udp));
	udp[2] = (uint8_t)(port >> 8);
	udp[3] = (uint8_t)port;
	append(&frame, udp, sizeof(udp));
	append_segment(&frame, SOURCE, false);
	return frame;
}
