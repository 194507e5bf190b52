// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Where a frame belongs: to the segments, or to a protocol handler. No bytes of it are touched.
#pragma once

#include "rx/handler.h"
#include "rx/rx_role.h"

static inline bool rx_is_udp(const struct net_frame *frame)
{
	return frame->kind == NET_UDP4 || frame->kind == NET_UDP6;
}

static inline bool rx_carries_segment(const struct rx_parameters *parameters,
				      const struct net_frame *frame)
{
	if (likely(rx_is_udp(frame)))
		return (uint16_t)(frame->destination_port - parameters->udp_port) <
		       parameters->udp_ports;
	return frame->kind == NET_ETHER_PAYLOAD;
}

static inline bool rx_accepts(const struct rx_handler *handler, const struct net_frame *frame)
{
	return (handler->kinds & RX_ACCEPTS(frame->kind)) != 0 &&
	       (!rx_is_udp(frame) || frame->destination_port == handler->udp_ports[0] ||
		frame->destination_port == handler->udp_ports[1]);
}
