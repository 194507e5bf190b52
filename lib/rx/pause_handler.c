// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx/own_handlers.h"

static enum rx_verdict receive(void *context, struct rx_packet *packet)
{
	struct flow_control *flow_control = context;

	if (!flow_control_is_for(packet->bytes, packet->header_bytes))
		return RX_NOT_MINE;
	flow_control_received(flow_control, packet->bytes, packet->header_bytes, packet->now);
	return RX_FREE;
}

struct rx_handler rx_pause_handler(struct flow_control *flow_control)
{
	return (struct rx_handler){
		.context = flow_control,
		.kinds = RX_ACCEPTS(NET_OTHER),
		.counter = offsetof(struct rx_counters, pause),
		.receive = receive,
	};
}
