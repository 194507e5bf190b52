// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/cluster.h"

static void send_record(void *context, unsigned node, const void *record, size_t size)
{
	struct control_endpoint *endpoint = context;

	if (size > 0 && !control_send(endpoint, node, record, size))
		control_give_up(endpoint, node);
}

static size_t room_for(void *context, unsigned node, size_t largest)
{
	return control_room(context, node, largest);
}

struct cluster_transport cluster_transport_of(struct control_endpoint *endpoint)
{
	return (struct cluster_transport){ endpoint, send_record, room_for };
}
