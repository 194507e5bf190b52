// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames that the tests of the steering program send into it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LARGEST 1600
#define OWN     0x0a000002u // 10.0.0.2, evb's
#define PEER    0x0a000001u // 10.0.0.1
#define SOURCE  0x1234
#define PORT    19522

struct frame {
	uint32_t length;
	uint8_t bytes[4096];
};

void append(struct frame *frame, const void *bytes, size_t size);
void append_segment(struct frame *frame, uint16_t source, bool load_balancer);
void begin_udp(struct frame *frame, uint16_t port, uint16_t payload);
struct frame udp_frame(uint16_t port, uint16_t source);
struct frame ethernet_frame(uint16_t ether_type, uint16_t vlan);
struct frame arp_frame(uint16_t operation, uint32_t target);
struct frame tagged(const struct frame *frame, unsigned n);
struct frame ipv6_frame(uint16_t port, uint8_t next_header);
